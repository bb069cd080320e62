# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The files in a folder that cover all of its runs: report, rows of flows, summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_lab.common.files import write_text
from perigee_lab.results import flow_file
from perigee_lab.results.report import write_report
from perigee_lab.results.run import find_records
from perigee_lab.results.summary import SUMMARY, experiment, flow_count, flow_parts, summary_csv

if TYPE_CHECKING:
    from pathlib import Path

    from perigee_lab.results.run import Run


def forget_conclusions(folder: Path) -> None:
    """Removes summaries and the report: a folder with runs in progress has none."""
    for name in (SUMMARY, flow_file.FILE, "report.html"):
        (folder / name).unlink(missing_ok=True)


def conclude(folder: Path, latest: Run, *, report: bool) -> list[Run]:
    """Writes report.html, the rows of many flows and, finally, summary.csv.

    summary.csv marks the folder as complete.

    Existing records in the folder are included if they belong to the same experiment as the latest
    run; the others are returned.
    """
    found = find_records(folder)
    runs = [r for r in found if experiment(r) == experiment(latest)]
    if report:
        write_report(runs, folder / "report.html")
    flow_file.write(folder, len(runs), flow_count(runs), flow_parts(runs))
    write_text(folder / SUMMARY, summary_csv(runs))
    return [r for r in found if r not in runs]
