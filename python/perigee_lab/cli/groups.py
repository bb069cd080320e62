# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sections of `perigee --help`, and lazy loading of the commands in them.

The command NAME is `command` in the module `perigee_lab.cli.NAME` (`-` becomes `_`, and keywords of
Python get a trailing `_`): a function with Typer's annotations, or a `typer.Typer` of subcommands.
Its summary is the first line of its docstring or help. A function returns the exit code of the
process; None is 0.
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

# Commands by section, in the order of `perigee --help`.
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
    "Maintenance": ("validate", "bench", "schema", "capi", "trust", "completion", "help"),
}

# Former names, kept for one version: they work but are not listed.
FORMER = ("cells",)
# Commands of separate distributions, and the package to install for each.
SEPARATE = {"study": "perigee-lab-studies"}


def module_of(name: str) -> str:
    """Name of the module of a built-in command."""
    word = name.replace("-", "_")
    return f"perigee_lab.cli.{word}_" if keyword.iskeyword(word) else f"perigee_lab.cli.{word}"


def built(name: str, command: Callable[..., int | None] | typer.Typer) -> Any:
    """Builds a click command from a function or a Typer app, with plain help."""
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    if isinstance(command, typer.Typer):
        holder.add_typer(command, name=name, cls=Subcommands)
    else:
        holder.command(name, hidden=name in FORMER)(command)
    return plain(typer.main.get_group(holder).commands[name])


class Commands(UserDict[str, Any]):
    """The built-in commands by name; modules are imported on first lookup."""

    def __init__(self) -> None:
        """Lists all of `SECTIONS` and `FORMER` without importing their modules."""
        names = (name for section in SECTIONS.values() for name in section if name not in SEPARATE)
        super().__init__(dict.fromkeys([*names, *FORMER]))

    def __getitem__(self, name: str) -> Any:
        """The command, imported on first use. Raises KeyError if there is none."""
        if self.data[name] is None:
            self.data[name] = built(name, import_module(module_of(name)).command)
        return self.data[name]


class Grouped(typer.core.TyperGroup):
    """Group of all commands, in sections, including those of other distributions."""

    context_class = PlainContext

    def __init__(self, **given: Any) -> None:
        """Called by Typer; replaces the commands registered on the app by `Commands`."""
        super().__init__(**given)
        self.commands = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Built-in commands, then those of installed distributions."""
        return [*self.commands, *(name for name in distributions.commands() if name not in self.commands)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported if necessary; None if there is none.

        Fails with the package to install for a command of a distribution that is not installed.
        """
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        entry = distributions.commands().get(cmd_name)
        if entry is not None:
            return built(cmd_name, entry.load())
        if cmd_name in SEPARATE:
            wheel = SEPARATE[cmd_name]
            ctx.fail(f"{cmd_name!r} requires {wheel}: run `pip install {wheel}`, or `make setup` in a clone")
        return None

    def invoke(self, ctx: Any) -> Any:
        """Runs a command and exits with the code that it returns."""
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
