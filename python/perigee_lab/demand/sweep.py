# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweep of a demand: a record for every combination of values, and a table with a row for each."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError, inner, make_ready, write_text
from perigee_lab.demand import paired, record
from perigee_lab.results import cells
from perigee_lab.results.beside import counted
from perigee_lab.results.cells import CELLS, TABLE, Axis, Cell, Index
from perigee_lab.runs.scenario import open_file
from perigee_lab.runs.sweep import axes_of, combinations, folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pandas as pd

    from perigee_lab.runs.scenario import Scenario

    Begin = Callable[[record.Progress], Callable[[], None]]


@dataclass(frozen=True)
class DemandSweep:
    """Scenarios of a sweep, one for each cell of the index."""

    index: Index
    scenarios: tuple[Scenario, ...]
    warnings: list[str]
    """Those of all cells, each once."""


def plan(
    path: Path, sets: Sequence[str], axes: Sequence[Axis], *, zip_values: bool = False, trust: bool = False
) -> DemandSweep:
    """Reads the scenario, and checks the demand of every cell.

    `axes` replace those of `[sweep]` with the same key. Raises RecordError and ScenarioError.
    """
    from perigee_lab import _core

    base = open_file(path, list(sets), trust=trust)
    every = axes_of(base, axes, path)
    zip_values = zip_values or base.core.sweep_zip()
    made: list[Cell] = []
    scenarios: list[Scenario] = []
    warned: Counter[str] = Counter()
    for values in combinations(every, zip_values=zip_values):
        own_sets = [f"{a.key}={v}" for a, v in zip(every, values, strict=True)]
        by_user = [s for a, s in zip(every, own_sets, strict=True) if a in axes]
        scenario = open_file(path, [*sets, "sweep={}", *own_sets], trust=trust, said=[*sets, *by_user])
        warned.update(json.loads(_core.Demand(scenario.core).describe())["warnings"])
        made.append(Cell(folder_of(every, values), values))
        scenarios.append(scenario)
    index = Index(cells.FORMAT, base.name, tuple(every), tuple(made), zip_values)
    return DemandSweep(index, tuple(scenarios), counted(warned, len(made), "cells"))


def execute(
    planned: DemandSweep,
    out: Path,
    *,
    force: bool = False,
    threads: int | None = None,
    begin: Callable[[Cell], AbstractContextManager[Begin]] = lambda _: nullcontext(lambda _: lambda: None),
) -> pd.DataFrame:
    """Computes missing records into `out`, and writes sweep.csv; complete ones are kept.

    Returns a row per cell: the swept keys, `folder`, and the means of `paired.METRICS` for traffic
    to the terminals; those of traffic from them end in `_up`. `begin` gives the context of each
    cell's computation, with the argument of that name of `record.compute`.

    Raises:
        RecordError: the folder has another sweep or other files.
    """
    make_ready(out)
    if (out / cells.INDEX).exists() and not force:
        known = sorted(a.key for a in cells.read_index(out).axes)
        if known != sorted(a.key for a in planned.index.axes):
            raise RecordError(f"{out} has a sweep of {', '.join(known)}: choose another folder, or say --force")
    (out / TABLE).unlink(missing_ok=True)
    cells.write_index(out, planned.index)
    rows: list[dict[str, Any]] = []
    for cell, scenario in zip(planned.index.cells, planned.scenarios, strict=True):
        folder = inner(inner(out / CELLS) / cell.folder)
        with begin(cell) as report:
            found = record.compute(scenario, folder, force=force, threads=threads, begin=report)
        rows.append(_row(planned.index, cell, found))
    import pandas as pd

    frame = pd.DataFrame(rows)
    write_text(out / TABLE, quoting.csv_frame(frame, "%.7g"))
    return frame


def _row(index: Index, cell: Cell, found: record.Record) -> dict[str, Any]:
    keys = {a.key: cells.bare(v) for a, v in zip(index.axes, cell.values, strict=True)}
    down, up = (paired.metrics(found, direction)[1] for direction in (0, 1))
    # The path is the same for both directions.
    return {
        **keys,
        "folder": f"{CELLS}/{cell.folder}",
        **down,
        **{f"{k}_up": v for k, v in up.items() if k != "rtt_ms"},
    }
