# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Summaries of comparisons: tables, summary.csv, and completion of a folder."""

from __future__ import annotations

import csv
import io
import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError
from perigee_lab.results import flow_file
from perigee_lab.results.columns import COLUMNS as DEFINED
from perigee_lab.results.columns import TABLE
from perigee_lab.results.metrics import Row, flow_rows, mean_and_interval
from perigee_lab.results.record import comparable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from perigee_lab.results.run import Run

# (column, heading, format); the table of a terminal.
COLUMNS = [(c.name, c.heading, c.form) for c in TABLE]
SUMMARY = "summary.csv"


def experiment(run: Run) -> list[str]:
    """The scenario without the keys that may differ within a comparison."""
    return comparable(run.manifest.scenario_toml, [(f.path, f.sha256) for f in run.manifest.files])


def refuse_mixed(runs: Sequence[Run]) -> None:
    """Raises RecordError if runs of one scheme are of several scenarios: they have no common mean."""
    first: dict[str, list[str]] = {}
    for run in runs:
        if first.setdefault(run.cc, experiment(run)) != experiment(run):
            raise RecordError(f"the runs of {run.cc} are of several scenarios, with no common mean: give one's folder")


def summary_csv(runs: Sequence[Run], without: Collection[str] = ()) -> str:
    """A row per run, then a row per flow if runs have several, unless `flow_file` has these.

    `without` names columns to leave out.
    """
    flows = lambda: [row for r in runs for row in flow_rows(r)]  # noqa: E731
    return rows_csv([r.summary for r in runs], flow_count(runs), flows, without)


def flow_count(runs: Sequence[Run]) -> int:
    """Number of flows of all runs."""
    return sum(r.rows("flow_totals") for r in runs)


def flow_parts(runs: Sequence[Run]) -> list[Callable[[], list[Row]]]:
    """Functions that compute the rows of flows, run by run."""
    return [partial(flow_rows, r) for r in runs]


def rows_csv(runs: list[Row], flow_count: int, flows: Callable[[], list[Row]], without: Collection[str] = ()) -> str:
    """CSV of rows of runs; `flows` computes the `flow_count` rows of flows."""
    rows = runs + flows() if len(runs) < flow_count <= flow_file.MOST_IN_CSV else runs
    used = {name for row in rows for name in row}
    return as_csv(rows, [c.name for c in DEFINED if c.name in used and c.name not in without])


def as_csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Rows as CSV; missing values are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([quoting.csv(name) for name in columns])
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.9g}"
    return "" if value is None else quoting.csv(value)


def as_data(results: Sequence[Run], folder: Path | None) -> dict[str, Any]:
    """Results as JSON; missing numbers are null."""
    return {
        "out": None if folder is None else str(folder),
        "flows": None if folder is None or not (folder / flow_file.FILE).exists() else str(folder / flow_file.FILE),
        "runs": [
            {**finite(r.summary), "warnings": list(r.manifest.warnings), "wall_s": r.manifest.wall_s} for r in results
        ],
        "schemes": [{"cc": cc, **_means(rows)} for cc, rows in by_scheme(results).items()],
        "groups": [finite(row) for r in results for row in r.by_group],
        "remarks": about_seeds(results),
    }


def finite(row: Row) -> Row:
    """Converts NaN and infinities to None for JSON."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def _means(rows: list[Row]) -> dict[str, Any]:
    found = {}
    for name, _, _ in COLUMNS:
        mean, half = spread(rows, name)
        found[name] = finite({"mean": mean, "half_width_95": half})
    return found


def spread(rows: Sequence[Row], name: str) -> tuple[float, float]:
    """Mean of a column over runs, and half of its 95 % interval; NaN if all have the same value."""
    values = [float(r.get(name, math.nan)) for r in rows]
    mean, half = mean_and_interval(values)
    return mean, half if len(set(values)) > 1 else math.nan


def shown(rows: Sequence[Row], name: str, form: str, between: str = " ± ") -> str:
    """A cell: the mean, and the interval if there is one."""
    mean, half = spread(rows, name)
    if math.isnan(mean):
        return "-"
    return form.format(mean) + ("" if math.isnan(half) else between + form.format(half))


def about_seeds(runs: Sequence[Run]) -> list[str]:
    """Notes of a table on seeds and means."""
    seeds = sorted({r.seed for r in runs})
    found = []
    if len(seeds) > 1:
        words = f"seeds {seeds[0]} to {seeds[-1]}" if seeds[-1] - seeds[0] == len(seeds) - 1 else f"{len(seeds)} seeds"
        same = [cc for cc, own in _runs_by_scheme(runs).items() if len(own) > 1 and identical(own)]
        if len(same) == len({r.cc for r in runs}):
            found.append(f"nothing random: the runs of {words} are identical, so that there are no intervals")
        else:
            text = f"means over {words}, which vary {varied(runs[0])}; ± half of the 95 % t-interval, none where equal"
            found.append(text + (f"; nothing random: the runs of {', '.join(same)} are identical" if same else ""))
    split = [r.cc for r in runs if r.summary.get("rtt_over") == "flows"]
    if split:
        of = "" if len(set(split)) == len({r.cc for r in runs}) else f" of {', '.join(dict.fromkeys(split))}"
        found.append(f"RTTs and inflation{of}: means over the flows, whose base RTTs may differ")
    return found


def statistics_of(rows: Iterable[Row]) -> list[str]:
    """Statistics of the RTTs of runs (`rtt_over`), without duplicates; one per scenario."""
    return sorted({over for r in rows if (over := r.get("rtt_over"))})


def varied(run: Run) -> str:
    """Properties that vary with the seed in a comparison, as text."""
    section = ""
    for line in run.manifest.scenario_toml.splitlines():
        section = line if line.startswith("[") else section
        if section == "[run]" and line.startswith("vary = "):
            return ", ".join(re.findall(r'"([a-z]+)"', line))
    return "all that is drawn"


def identical(runs: Sequence[Run]) -> bool:
    """Whether all tables of these runs are identical to the bit."""
    first = runs[0].manifest.tables
    return all(r.manifest.tables == first for r in runs)


def _runs_by_scheme(runs: Sequence[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for r in runs:
        found.setdefault(r.cc, []).append(r)
    return found


def by_scheme(runs: Sequence[Run]) -> dict[str, list[Row]]:
    """Summaries of the runs of each scheme."""
    found: dict[str, list[Row]] = {}
    for r in runs:
        found.setdefault(r.cc, []).append(r.summary)
    return found
