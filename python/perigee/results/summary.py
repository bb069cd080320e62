# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs side by side: the columns that tables show, summary.csv, and what ends a comparison on disk."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from perigee.common.files import write_text
from perigee.results.metrics import Row, flow_rows, mean_and_interval
from perigee.results.record import Run, comparable, find_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# (column, heading, format); the table of a terminal.
COLUMNS = [
    ("goodput_mbps", "goodput\nMbit/s", "{:.2f}"),
    ("share", "of achiev-\nable", "{:.1%}"),
    ("rtt_mean_ms", "mean RTT\nms", "{:.1f}"),
    ("rtt_median_ms", "median\nms", "{:.1f}"),
    ("rtt_p95_ms", "p95\nms", "{:.1f}"),
    ("rtt_p99_ms", "p99\nms", "{:.1f}"),
    ("inflation", "delay\ninflation", "{:.3f}"),
    ("queue_mean_ms", "mean\nqueue ms", "{:.2f}"),
    ("retransmits", "retrans-\nmits", "{:.0f}"),
    ("jain", "Jain", "{:.3f}"),
    ("path_changes", "path\nchanges", "{:.0f}"),
    ("outages", "outages", "{:.0f}"),
    ("no_path_s", "no path\ns", "{:.1f}"),
]
# Shown beside the table where objects or transfers were complete.
COMPLETION_COLUMNS = [
    ("completions", "completed", "{:.0f}"),
    ("completion_mean_s", "mean s", "{:.3f}"),
    ("completion_median_s", "median s", "{:.3f}"),
    ("completion_p95_s", "p95 s", "{:.3f}"),
    ("completion_p99_s", "p99 s", "{:.3f}"),
]
SUMMARY = "summary.csv"
# Its rows per flow beyond which only the totals are written.
MAX_FLOW_ROWS = 1000


def forget_conclusions(folder: Path) -> None:
    """A folder that is being written to has no summary."""
    for name in (SUMMARY, "report.html"):
        (folder / name).unlink(missing_ok=True)


def conclude(folder: Path, latest: Run, *, report: bool) -> list[Run]:
    """Writes report.html and, last of all, summary.csv: a folder that has one is complete.

    Records that --force left in the folder belong there if they are of the same experiment as the latest run; the
    others are returned.
    """
    found = find_records(folder)
    runs = [r for r in found if experiment(r) == experiment(latest)]
    if report:
        # The report needs this module.
        from perigee.results.report import write_report

        write_report(runs, folder / "report.html")
    write_text(folder / SUMMARY, summary_csv(runs))
    return [r for r in found if r not in runs]


def experiment(run: Run) -> list[str]:
    """The scenario without what runs of one comparison may differ in."""
    return comparable(run.manifest.scenario_toml)


def summary_csv(runs: Sequence[Run]) -> str:
    """A row per run, then a row per flow."""
    rows = [r.summary for r in runs]
    flows = [row for r in runs for row in flow_rows(r)]
    if len(runs) < len(flows) <= MAX_FLOW_ROWS:
        rows = rows + flows
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.9g}"
    return "" if value is None else value


def as_data(results: Sequence[Run], folder: Path | None) -> dict[str, Any]:
    """Results as JSON (numbers that do not exist are null)."""
    return {
        "out": None if folder is None else str(folder),
        "runs": [
            {**finite(r.summary), "warnings": list(r.manifest.warnings), "wall_s": r.manifest.wall_s} for r in results
        ],
        "schemes": [{"cc": cc, **_means(rows)} for cc, rows in by_scheme(results).items()],
    }


def finite(row: Row) -> Row:
    """Numbers that do not exist become None: JSON has no NaN."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def _means(rows: list[Row]) -> dict[str, Any]:
    found = {}
    for name, _, _ in COLUMNS:
        mean, half = mean_and_interval([float(r.get(name, math.nan)) for r in rows])
        found[name] = finite({"mean": mean, "half_width_95": half})
    return found


def by_scheme(runs: Sequence[Run]) -> dict[str, list[Row]]:
    """Summaries of the runs of each scheme."""
    found: dict[str, list[Row]] = {}
    for r in runs:
        found.setdefault(r.cc, []).append(r.summary)
    return found


def one_line(heading: str) -> str:
    """A heading without its line break."""
    return heading.replace("-\n", "").replace("\n", " ")
