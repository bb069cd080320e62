# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What `perigee --help` lists: the commands by what they are for, each in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from perigee_lab.extensions import distributions

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTIONS: dict[str, dict[str, str]] = {
    "To begin": {
        "doctor": "Check the installation and run a small test",
        "init": "Write a commented scenario to start from",
        "check": "Find mistakes in a scenario, and say what a run will cost",
        "run": "Run a scenario; table, record and report",
        "schemes": "List the congestion controls and their parameters",
        "columns": "Say what the columns of the tables mean",
        "new-cc": "Write the skeleton of your own congestion control",
    },
    "Look at results": {
        "report": "Write the report page of a record again",
        "view": "Show satellites, paths and flows over time, in the browser",
        "compare": "Put two records side by side",
        "trace": "Print the packets of a flow at some time",
        "verify": "Run a record again and compare every bit",
    },
    "Look at a network, without packets": {
        "paths": "RTT, links and satellites of paths over time",
        "sky": "Map of satellites and coverage, at an instant or over hours",
        "timeline": "Save or plot a network over time",
        "diff": "Compare two saved timelines",
        "export": "Write a network for other tools",
        "weather": "Write a time series of rain for a place",
    },
    "Many runs": {
        "sweep": "Run every combination of some values",
        "cells": "List, filter and plot what a sweep left",
        "results": "List the runs of several folders, a row each",
        "run-job": "Run saved jobs, here or on another machine",
        "study": "Make the figures and tables of published studies again",
    },
    "Real hosts and real paths": {
        "kernel": "Build and list the Linux kernels of real hosts",
        "exec": "Run programs on Linux under a scenario's network",
        "shell": "Open a shell on such a host",
        "emulate": "Put programs behind a scenario's network in real time",
        "measure": "Measure a real path: probes, downloads, uploads",
        "import": "Turn captures, logs and other tools' networks into ours",
        "fit": "Make a scenario of a measured path",
        "dissector": "Print where the Wireshark dissector of telemetry is",
    },
    "Learned congestion control": {
        "train": "Train a policy",
        "policy": "Look into a policy, test it, import one",
    },
    "The laboratory itself": {
        "validate": "Compare the simulator with measured Linux and ns-3",
        "bench": "Measure the simulator's speed",
        "schema": "Print the keys of scenario files, for editors",
        "trust": "Allow a Python file to be run by scenarios and records",
    },
}


# Commands that distributions of their own bring: what to install.
SEPARATE = {"study": "perigee-lab-studies"}


def _command(name: str, app: typer.Typer) -> Any:
    """The command of another distribution, in the looks of the built-in ones."""
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    holder.add_typer(app, name=name)
    return typer.main.get_group(holder).commands[name]


class Grouped(typer.core.TyperGroup):
    """The commands in sections instead of one long list; those of other distributions among them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Built-in commands, then those of installed distributions."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in distributions.commands() if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A built-in command, or that of an installed distribution, which is imported here."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        entry = distributions.commands().get(cmd_name)
        if entry is not None:
            return _command(cmd_name, entry.load())
        if cmd_name in SEPARATE:
            wheel = SEPARATE[cmd_name]
            ctx.fail(f"{cmd_name!r} comes with {wheel}: pip install {wheel}, or make setup in a clone")
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the sections; what belongs to none comes last."""
        names = self.list_commands(ctx)
        for title, lines in self._sections(ctx, names):
            with formatter.section(title):
                formatter.write_dl(lines)

    def _sections(self, ctx: Any, names: list[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        known = {name for section in SECTIONS.values() for name in section}
        for title, section in SECTIONS.items():
            yield title, [(f"{name:<9}", text) for name, text in section.items() if name in names]
        if others := [(f"{name:<9}", self._summary(ctx, name)) for name in names if name not in known]:
            yield "More", others

    def _summary(self, ctx: Any, name: str) -> str:
        command = self.get_command(ctx, name)
        return "" if command is None else str(command.get_short_help_str(limit=100))
