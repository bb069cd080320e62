# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of the cells of sweeps."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.cli.options import check_free
from perigee_lab.cli.output import save
from perigee_lab.common import quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say
from perigee_lab.common.terminal import empty_table, print_table, table_console

if TYPE_CHECKING:
    from perigee_lab.results.cells import Sweep


SHOWN = ("goodput_mbps", "share", "rtt_mean_ms", "inflation", "retransmits", "jain")


# Columns described by `rtt_over`.
RTTS = {"rtt_mean_ms", "rtt_median_ms", "rtt_p95_ms", "rtt_p99_ms", "inflation", "inflation_min"}


# Maximum number of cells printed on a terminal; sweep.csv has all.
MOST_LINES = 60


def show_cells(
    folder: Path,
    where: Sequence[str],
    names: Sequence[str],
    plot: Path | None,
    x: str | None,
    y: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Prints means per cell of a sweep, or plots the first column. Raises RecordError."""
    check_free(plot, force=force)
    if plot is None and (x or y):
        stop("--x and --y are axes of a plot: they need --plot FILE")
    from perigee_lab.results.paired import WORDS

    found, columns = _chosen(folder, where, names)
    if words := [n for n in columns if n in WORDS]:
        stop(f"--columns: {words[0]} is no number and has no mean")
    if plot is not None and plot.suffix == ".html":
        if x or y:
            stop("--x and --y are axes of a figure: a page has a slider for every key")
        with writing(plot):
            found.page(list(names)).save(plot)
        say(f"{plot} is written")
    elif plot is not None:
        try:
            save(found.plot(columns[0], x, y), plot)
        except ValueError as error:
            stop(f"{plot}: {error}")
        say(f"{plot} is written")
    elif as_json:
        print(json.dumps(finite({"keys": found.keys, "cells": found.means(columns)}), indent=1))
    else:
        print_cells(found, columns)


def csv_of_runs(folder: Path, where: Sequence[str], names: Sequence[str]) -> str:
    """The runs of a sweep as CSV, one per row. Raises RecordError."""
    from perigee_lab.results.summary import as_csv

    found, columns = _chosen(folder, where, names)
    labels = [*found.keys, "cc", "seed"]
    return as_csv(found.rows, [*labels, *(n for n in columns if n not in labels)])


def _chosen(folder: Path, where: Sequence[str], names: Sequence[str]) -> tuple[Sweep, list[str]]:
    """The cells that meet conditions, and the columns to show."""
    from perigee_lab.results.cells import INDEX, of_runs, open_sweep
    from perigee_lab.results.columns import COLUMNS

    with writing(folder):
        is_sweep = (folder / INDEX).exists() or not any(folder.glob("*/*/manifest.json"))
        found = (open_sweep if is_sweep else of_runs)(folder).where(dict(_condition(w) for w in where))
    columns = [*names] or usual_columns(found)
    unknown = [n for n in columns if n not in {c.name for c in COLUMNS}]
    if unknown:
        stop(f"--columns: there is no column {unknown[0]!r}: `perigee columns` lists them")
    return found, columns


def _condition(text: str) -> tuple[str, str]:
    key, sign, value = text.rpartition("=")
    if not sign or not key:
        stop(f"--where {text!r}: write KEY=VALUE, such as queue=1bdp")
    return key.strip(), value.strip()


def usual_columns(found: Sweep) -> list[str]:
    """The usual columns that at least one run has."""
    return [n for n in SHOWN if any(isinstance(v := r.get(n), (int, float)) and not math.isnan(v) for r in found.rows)]


def print_cells(found: Sweep, names: list[str]) -> None:
    """Means per cell, with 95 % intervals for several seeds."""
    from perigee_lab.results.columns import COLUMNS
    from perigee_lab.results.rtt_over import FLOWS
    from perigee_lab.results.summary import statistics_of

    forms = {c.name: c.form for c in COLUMNS}
    console = table_console()
    table = empty_table(plain=not console.is_terminal)
    for key in [*found.keys, "cc", "runs"]:
        table.add_column(quoting.cell(key), no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    rows = found.means(names)
    for row in rows[:MOST_LINES]:
        cells = [f"{row[k]:g}" if isinstance(row[k], float) else str(row[k]) for k in [*found.keys, "cc", "runs"]]
        table.add_row(*map(quoting.cell, cells), *(_shown(row, n, forms[n]) for n in names))
    print_table(console, table)
    if rows[MOST_LINES:]:
        table_of_all = found.folder / ("sweep.csv" if found.keys else "summary.csv")
        say(f"and {len(rows) - MOST_LINES} more; all are in {table_of_all}; --where KEY=VALUE filters")
    seeds = sorted({r["seed"] for r in found.rows})
    if len(seeds) > 1:
        say(f"means over {len(seeds)} seeds; ± half of the 95 % t-interval, none where all are equal")
    over = statistics_of(found.rows)
    if FLOWS in over and RTTS & set(names):
        of = "" if len(over) == 1 else " of some cells (column rtt_over)"
        say(f"RTTs and inflation{of}: means over the flows, whose base RTTs may differ")


def print_groups(found: Sweep, names: list[str]) -> None:
    """Means per cell of each group of flows; nothing if there is none."""
    from perigee_lab.results.cells import Sweep
    from perigee_lab.results.columns import COLUMNS

    if not found.groups:
        return
    forms = {c.name: c.form for c in COLUMNS}
    console = table_console()
    table = empty_table(plain=not console.is_terminal)
    for key in ["group", *found.keys, "cc", "runs"]:
        table.add_column(quoting.cell(key), no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for group in list(dict.fromkeys(row["group"] for row in found.groups)):
        own = Sweep(found.folder, found.index, [row for row in found.groups if row["group"] == group])
        for row in own.means(names)[:MOST_LINES]:
            cells = [f"{row[k]:g}" if isinstance(row[k], float) else str(row[k]) for k in [*found.keys, "cc", "runs"]]
            table.add_row(*map(quoting.cell, [group, *cells]), *(_shown(row, n, forms[n]) for n in names))
    print_table(console, table)


def _shown(row: dict[str, Any], name: str, form: str) -> str:
    mean, half = row[name], row[f"{name}_half_95"]
    if math.isnan(mean):
        return "-"
    return form.format(mean) + ("" if math.isnan(half) else " ± " + form.format(half))


def finite(data: Any) -> Any:
    """The value without NaN, which JSON lacks."""
    if isinstance(data, dict):
        return {k: finite(v) for k, v in data.items()}
    if isinstance(data, list):
        return [finite(v) for v in data]
    return None if isinstance(data, float) and math.isnan(data) else data
