# SPDX-License-Identifier: Apache-2.0 OR MIT
"""List of the commands, and their loader.

The command NAME is `command` in the module `perigee_lab.cli.NAME` (`-` becomes `_`, and a keyword
of Python gets a trailing one): a function with Typer's annotations, or a `typer.Typer` of
subcommands. Its summary is the first line of its docstring or help. A function returns the exit
code of the process; None is 0.
"""

from __future__ import annotations

import keyword
from collections import UserDict
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from perigee_lab.cli.help_texts import PlainContext, Subcommands, plain, summary
from perigee_lab.extensions import distributions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# In the order of `perigee --help`.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Getting started": ("doctor", "init", "check", "run", "judge", "schemes", "columns", "new-cc"),
    "Results": ("report", "why", "view", "compare", "trace", "verify", "pack"),
    "Networks (no traffic)": ("paths", "sky", "timeline", "diff", "export", "weather", "demand"),
    "Many runs": ("sweep", "results", "run-job", "study"),
    "Real hosts and real paths": (
        "kernel",
        "exec",
        "shell",
        "emulate",
        "measure",
        "import",
        "fit",
        "gateway",
        "orbcc",
        "port",
        "dissector",
    ),
    "Learned congestion control": ("train", "policy"),
    "Maintenance": ("validate", "bench", "schema", "trust", "completion", "help"),
}

# Former names, for one version: they work but are not listed.
FORMER = ("cells",)
# Commands of separate distributions, with the package to install.
SEPARATE = {"study": "perigee-lab-studies"}


def module_of(name: str) -> str:
    """The module of a built-in command."""
    word = name.replace("-", "_")
    return f"perigee_lab.cli.{word}_" if keyword.iskeyword(word) else f"perigee_lab.cli.{word}"


def built(name: str, command: Callable[..., int | None] | typer.Typer) -> Any:
    """The command that Typer builds from a function or an app, with plain help."""
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    if isinstance(command, typer.Typer):
        holder.add_typer(command, name=name, cls=Subcommands)
    else:
        holder.command(name, hidden=name in FORMER)(command)
    return plain(typer.main.get_group(holder).commands[name])


class Commands(UserDict[str, Any]):
    """The built-in commands by name; modules are imported on first lookup."""

    def __init__(self) -> None:
        """Enters all of `SECTIONS` and `FORMER`, without importing any."""
        names = (name for section in SECTIONS.values() for name in section if name not in SEPARATE)
        super().__init__(dict.fromkeys([*names, *FORMER]))

    def __getitem__(self, name: str) -> Any:
        """Imports the command. Raises KeyError if there is none."""
        if self.data[name] is None:
            self.data[name] = built(name, import_module(module_of(name)).command)
        return self.data[name]


class Grouped(typer.core.TyperGroup):
    """The commands in sections, including those of other distributions."""

    context_class = PlainContext

    def __init__(self, **given: Any) -> None:
        """Called by Typer; commands that are registered on the app are not in `SECTIONS`."""
        super().__init__(**given)
        self.commands = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Built-in commands, then those of installed distributions."""
        return [*self.commands, *(name for name in distributions.commands() if name not in self.commands)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A built-in command, or one of an installed distribution, which is imported here."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        entry = distributions.commands().get(cmd_name)
        if entry is not None:
            return built(cmd_name, entry.load())
        if cmd_name in SEPARATE:
            wheel = SEPARATE[cmd_name]
            ctx.fail(f"{cmd_name!r} comes with {wheel}: pip install {wheel}, or make setup in a clone")
        return None

    def invoke(self, ctx: Any) -> Any:
        """Runs a command and ends with the exit code that it returns."""
        ctx.exit(super().invoke(ctx) or 0)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the sections, with the remaining commands at the end."""
        for title, lines in self._sections(ctx, self.list_commands(ctx)):
            with formatter.section(title):
                formatter.write_dl(lines)

    def _sections(self, ctx: Any, names: list[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        known = {name for section in SECTIONS.values() for name in section}
        others = tuple(name for name in names if name not in known and name not in FORMER)
        for title, section in {**SECTIONS, "More": others}.items():
            commands = [(name, self.get_command(ctx, name)) for name in section if name in names]
            lines = [(f"{name:<10}", summary(command)) for name, command in commands]
            if lines:
                yield title, lines
