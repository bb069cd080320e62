# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.cli.options import count
from perigee_lab.common import quoting
from perigee_lab.common.messages import say
from perigee_lab.common.terminal import empty_table, print_table, table_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.metrics import Row
    from perigee_lab.results.run import Run


def scheme_table(schemes: dict[str, list[Row]], *, width: int, plain: bool) -> Any:
    """Means, with 95 % intervals if runs differ."""
    from perigee_lab.results.summary import COLUMNS, shown

    cells = {cc: [shown(rows, name, form, "\n±") for name, _, form in COLUMNS] for cc, rows in schemes.items()}
    return _by_scheme([heading for _, heading, _ in COLUMNS], cells, width=width, plain=plain)


def print_groups(out: Any, runs: Sequence[Run]) -> None:
    """Prints a table for each group of flows, with schemes in the order of the main table."""
    from perigee_lab.results.beside import groups
    from perigee_lab.results.record import in_order

    for table in groups(in_order(runs)):
        cells = {cc: [cell.replace(" ± ", "\n±") for cell in row] for cc, row in table.cells.items()}
        say(f"group {table.group}:")
        print_table(out, _by_scheme(table.heads, cells, width=out.width, plain=not out.is_terminal))


def _by_scheme(headings: Sequence[str], cells: dict[str, list[str]], *, width: int, plain: bool) -> Any:
    """A row per scheme.

    Words of headings are divided where the width requires it; where that does not suffice, metrics
    become rows.
    """
    from rich.console import Console

    from perigee_lab.results.columns import one_line

    for divided in (False, True):
        made = empty_table(plain=plain)
        made.add_column("scheme", no_wrap=True)
        for heading in headings:
            made.add_column(heading if divided else heading.replace("-\n", ""), justify="right", no_wrap=True)
        for cc, values in cells.items():
            made.add_row(quoting.cell(cc), *values)
        if Console(width=10 * width, emoji=False).measure(made).maximum <= width:
            return made
    made = empty_table(plain=plain)
    made.add_column("", no_wrap=True)
    for cc in cells:
        made.add_column(quoting.cell(cc), justify="right", no_wrap=True)
    for k, heading in enumerate(headings):
        made.add_row(one_line(heading), *(values[k] for values in cells.values()))
    return made


def print_record(folder: Path) -> None:
    """Prints the table of a record, its warnings, and its location."""
    from perigee_lab.results.beside import beside, said_once
    from perigee_lab.results.flow_file import where
    from perigee_lab.results.run import find_records
    from perigee_lab.results.summary import about_seeds, by_scheme

    runs = find_records(folder)
    out = table_console()
    print_table(out, scheme_table(by_scheme(runs), width=out.width, plain=not out.is_terminal))
    print_groups(out, runs)
    for line in [*beside(runs), *about_seeds(runs), *_facts(runs[0])]:
        say(line)
    warnings = [w for r in runs for w in r.manifest.warnings]
    if warnings:
        print("Warnings:")
        for warning in said_once(warnings):
            say(f"  {warning}")
    for line in where(folder):
        say(line)
    say(f"record: {folder}, report: {folder / 'report.html'}")


def _facts(run: Run) -> list[str]:
    m = run.manifest
    began = m["measured"]["began"] if m["measured"]["began_ns"] else "unknown"
    return [f"{count(run.rows('flow_totals'), 'flow')}, {m.duration_ns / 1e9:g} s; time 0 is {began}"]
