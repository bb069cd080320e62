# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The page of `perigee view` in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
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
        TypeError: `runs` is something else, or empty.
        RecordError: the folder has no records.
        UntrustedError, PluginError, ScenarioError: the scenario cannot be rebuilt.
    """
    from perigee_lab.view import page

    if isinstance(runs, Run):
        chosen: Sequence[Run] = [runs]
    elif isinstance(runs, (str, Path)):
        chosen = find_records(runs)
    else:
        chosen = list(runs) if isinstance(runs, Iterable) else [runs]
        odd = [type(run).__name__ for run in chosen if not isinstance(run, Run)]
        if odd or not chosen:
            given = odd[0] if odd else "none"
            raise TypeError(f"runs must be a Run, several (as run_all returns them), or a record's folder, not {given}")
    return Page(page(chosen, trust=trust), height_px)
