# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Expectations on the command line: table, files for CI, exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.common import quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import UNDECIDED, UNMET
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say
from perigee_lab.common.terminal import empty_table, print_table, table_console

if TYPE_CHECKING:
    from perigee_lab.judge.verdicts import Finding

JunitOption = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write the verdicts on [[expect]] as JUnit XML.")
]
TapOption = Annotated[
    Path | None, typer.Option("--tap", metavar="FILE", help="Write the verdicts on [[expect]] as TAP.")
]


@dataclass(frozen=True)
class Outlets:
    """Files for the verdicts, which are replaced."""

    junit: Path | None = None
    tap: Path | None = None

    def check(self) -> None:
        """Ends the command, before any run, if a file cannot be written."""
        for file in (self.junit, self.tap):
            if file is not None and not file.parent.is_dir():
                stop(f"{file}: the folder {file.parent} does not exist: create it, or choose another file")
            if file is not None and file.is_dir():
                stop(f"{file} is a folder: give a file")

    def write(self, groups: Mapping[str, Sequence[Finding]], problems: Mapping[str, str]) -> None:
        """Writes the files. Groups with a problem did not run to their end."""
        from perigee_lab.judge.formats import write

        if self.junit is not None:
            with writing(self.junit):
                write(groups, self.junit, None, problems)
        if self.tap is not None:
            with writing(self.tap):
                write(groups, None, self.tap, problems)


def conclude_expectations(name: str, findings: Sequence[Finding], outlets: Outlets, *, quiet: bool) -> int:
    """Prints and writes the findings. Returns the exit code."""
    outlets.write({name: findings}, {})
    if not findings:
        if not quiet and (outlets.junit or outlets.tap):
            print("the scenario has no [[expect]]: the files contain no tests", file=sys.stderr)
        return 0
    if not quiet:
        print_findings(findings)
    return exit_code(findings)


def exit_code(findings: Sequence[Finding], *, strict: bool = True) -> int:
    """4 for a failed expectation, 5 for an undecided one or, if `strict`, an unobservable one."""
    from perigee_lab.judge.verdicts import Verdict

    verdicts = {f.verdict for f in findings}
    if Verdict.FAILED in verdicts:
        return UNMET
    open_ones = {Verdict.UNDECIDED, Verdict.NOT_OBSERVABLE} if strict else {Verdict.UNDECIDED}
    return UNDECIDED if verdicts & open_ones else 0


def print_findings(findings: Sequence[Finding]) -> None:
    """A table with a line per finding, and a line with their numbers."""
    console = table_console()
    table = empty_table(plain=not console.is_terminal)
    has_cells = any(f.cell for f in findings)
    headings = [*(["cell"] if has_cells else []), "expected", "scheme", "bound", "value", "runs", "verdict"]
    for heading in headings:
        table.add_column(heading, no_wrap=heading not in ("expected", "verdict"))
    for f in findings:
        verdict = f.verdict.value + (f": {f.detail}" if f.detail else "")
        row = [f.expectation.title, f.cc, f.expectation.bound(), f.shown(), str(f.runs), verdict]
        table.add_row(*map(quoting.cell, [*([f.cell] if has_cells else []), *row]))
    print_table(console, table)
    say(f"expectations: {tally(findings)}")


def tally(findings: Sequence[Finding]) -> str:
    """Number of findings by verdict, as text."""
    from perigee_lab.judge.verdicts import Verdict

    counts = {v: sum(f.verdict is v for f in findings) for v in Verdict}
    return ", ".join(f"{n} {v.value}" for v, n in counts.items() if n)
