# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Form of the help texts of all commands."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_WIDTH = 50
# Widest first column of a list with descriptions beside it.
MOST_FIRST = 32
# Words for values, for options that do not name theirs.
_VALUES = {
    "int": "N",
    "float": "X",
    "Path": "PATH",
    "path": "PATH",
    "str": "TEXT",
    "text": "TEXT",
    "integer": "N",
    "dir": "DIR",
}

_Group: Any = typer.core.TyperGroup
_Context: Any = _Group.context_class
_Formatter: Any = _Context.formatter_class


class Formatter(_Formatter):  # type: ignore[misc]
    """Help as wide as the terminal, without hyphenation, in which nothing is cut."""

    def __init__(self, width: int | None = None, **_: object) -> None:
        """The width is that of the terminal if none is given."""
        super().__init__(width=width or max(shutil.get_terminal_size().columns - 2, LEAST_WIDTH))

    def write_text(self, text: str) -> None:
        """Writes paragraphs."""
        indent = " " * self.current_indent
        paragraphs = [" ".join(p.split()) for p in text.replace("\b\n", "").split("\n\n")]
        self.write("\n\n".join(_filled(p, self.width, indent, indent) for p in paragraphs if p) + "\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], *_: object, **__: object) -> None:
        """Writes a list with descriptions; those of long entries start on the next line."""
        rows = [(first, " ".join(second.split())) for first, second in rows]
        most = max(LEAST_WIDTH // 2, min(MOST_FIRST, self.width // 2))
        column = max((len(first) for first, _ in rows if len(first) <= most), default=most) + 2
        indent = " " * self.current_indent
        below = indent + " " * column
        for first, second in rows:
            begin = f"{indent}{first:<{column}}"
            if len(first) > column - 2:
                self.write(f"{indent}{first}\n")
                begin = below
            self.write((_filled(second, self.width, begin, below) if second else begin.rstrip()) + "\n")


def _filled(text: str, width: int, first: str, rest: str) -> str:
    filled = textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return filled or first.rstrip()


class PlainContext(_Context):  # type: ignore[misc]
    """Context of all commands, with our formatter."""

    formatter_class = Formatter


class Subcommands(_Group):  # type: ignore[misc]
    """A group of subcommands, with their summaries in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, summary(c)) for name, c in found if c is not None and not c.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def summary(command: Any) -> str:
    """The first line of a command's help, without its full stop."""
    return (command.help or "").partition("\n")[0].removesuffix(".")


def plain(command: Any) -> Any:
    """The command with help of our form, `-h`, and values in capitals; subcommands likewise."""
    command.context_class = PlainContext
    command.context_settings = {"help_option_names": ["-h", "--help"], **(command.context_settings or {})}
    for parameter in command.params:
        if parameter.metavar is None:
            parameter.metavar = _value(parameter)
        if parameter.param_type_name == "argument":
            _shape(parameter)
    for inner in getattr(command, "commands", {}).values():
        plain(inner)
    return command


def _shape(argument: Any) -> None:
    """Has an argument appear as NAME, [NAME] or NAME..., without its type."""
    name = f"{argument.metavar}" if argument.required else f"[{argument.metavar}]"
    many = "" if argument.nargs == 1 or name.rstrip("]").endswith("...") else "..."
    record = argument.get_help_record
    argument.get_usage_pieces = lambda _: [name + many]
    argument.get_help_record = lambda ctx: None if (found := record(ctx)) is None else (argument.metavar, found[1])


def _value(parameter: Any) -> str | None:
    """The word for the value of a parameter; None for switches, choices and words of others."""
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper().replace("_", "-")
    if getattr(parameter, "is_flag", False) or getattr(parameter, "count", False):
        return None
    kind = getattr(parameter, "type_descriptor", None)
    if kind is not None and getattr(kind, "is_choice", False):
        return None
    shown = str(parameter.type.name) if hasattr(parameter, "type") else parameter.display_type(None) or ""
    word = shown.strip("<>").removesuffix(" range").split("[")[-1].strip("]")
    return _VALUES.get(word)
