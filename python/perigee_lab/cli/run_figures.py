# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of the runs of folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.cli.options import check_free
from perigee_lab.cli.output import save
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from perigee_lab.results.run import Results


def plot_runs(
    folders: Sequence[Path], where: Sequence[str], metrics: Sequence[str], flow: str | None, plot: Path, *, force: bool
) -> None:
    """Draws the runs of folders over their seeds, or writes the figure and its means as a page (.html)."""
    check_free(plot, force=force)
    with writing(folders[0]):
        found = _chosen(folders, where)
    if plot.suffix == ".html":
        with writing(plot):
            found.page(metrics, flow).save(plot)
    else:
        save(found.plot_seeds(metrics, flow), plot)
    say(f"{plot} is written")


def _chosen(folders: Sequence[Path], where: Sequence[str]) -> Results:
    """The runs that meet conditions."""
    from perigee_lab.results import dataset
    from perigee_lab.results.joined import open_runs
    from perigee_lab.results.run import Results

    found = open_runs(*folders)
    if not where:
        return found
    kept = {Path(r) for f in folders for r in dataset.query(f, where, ["record"])["record"].to_pylist()}
    if not kept:
        stop(dataset.unmet(folders[0], where))
    return Results([run for run in found if run.folder in kept], found.out)
