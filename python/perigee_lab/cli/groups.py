# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What `perigee --help` lists: the commands by what they are for, each in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

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


class Grouped(typer.core.TyperGroup):
    """Lists the commands in sections instead of one long list."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the sections; what belongs to none comes last."""
        names = self.list_commands(ctx)
        for title, lines in self._sections(names):
            with formatter.section(title):
                formatter.write_dl(lines)

    def _sections(self, names: list[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        known = {name for section in SECTIONS.values() for name in section}
        for title, section in SECTIONS.items():
            yield title, [(f"{name:<9}", text) for name, text in section.items() if name in names]
        if others := [(name, "") for name in names if name not in known]:
            yield "More", others
