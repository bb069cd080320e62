# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The page of `perigee view` in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.results.embedded import Page
from perigee_lab.results.run import Run, find_records

if TYPE_CHECKING:
    from collections.abc import Sequence


def show(runs: Run | Sequence[Run] | str | Path, *, height_px: int = 720, trust: bool = False) -> Page:
    """The globe (or network diagram) of runs: displayed in notebooks, `save(FILE)` writes it.

    Args:
        runs: a run, several (as `run_all` returns them), or the folder of a record.
        height_px: height of the frame in a notebook.
        trust: run the Python code that the scenario names.

    Raises:
        RecordError: the folder has no records.
        UntrustedError, PluginError, ScenarioError: the scenario cannot be rebuilt.
    """
    from perigee_lab.view import page

    if isinstance(runs, Run):
        chosen: Sequence[Run] = [runs]
    elif isinstance(runs, (str, Path)):
        chosen = find_records(runs)
    else:
        chosen = list(runs)
    return Page(page(chosen, trust=trust), height_px)
