# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweeps: a scenario with all combinations of values of some keys (or their n-th values together), schemes and seeds.

All cells are checked before the first run. The runs of all cells share the cores. Each has its own
record, so that an interrupted sweep resumes, and a sweep with additional values runs only these.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.files import RecordError, claimed, inner, is_claimed, make_ready, own_matches
from perigee_lab.common.quantities import repeated
from perigee_lab.extensions import trust as trusts
from perigee_lab.results import cells, dataset
from perigee_lab.results.beside import counted
from perigee_lab.results.cells import CELLS, INDEX, TABLE, Axis, Cell, Index
from perigee_lab.results.run import Results
from perigee_lab.runs.backends import SIMULATOR, Backend
from perigee_lab.runs.cost import Cost, cost_of
from perigee_lab.runs.machines import HERE, Machines
from perigee_lab.runs.runner import Interrupted, Plan, execute, task_of
from perigee_lab.runs.scenario import Scenario, open_file, overrides

if TYPE_CHECKING:
    from collections.abc import Callable

    from perigee_lab.runs.executor import Outcome

MOST_CELLS = 10_000
# Maximum length of the human-readable part of a folder's name.
READABLE = 80


@dataclass
class SweepPlan:
    """Runs to execute, with a checked plan for each cell."""

    index: Index
    plans: list[Plan]
    costs: list[Cost] = field(default_factory=list)
    """Cost of one run of each cell."""
    cores: list[_core.Scenario] = field(default_factory=list)
    """The scenario of each cell as it was loaded, with the places of the file."""
    failed: list[str] = field(default_factory=list)
    unable: set[str] = field(default_factory=set)
    """Those of `failed` caused by the machine: a record that cannot be written, a worker that ended."""

    @property
    def size(self) -> int:
        """Number of runs."""
        return sum(p.size for p in self.plans)

    @property
    def cost(self) -> Cost:
        """Estimated cost of all runs."""
        return sum((c.times(p.size) for c, p in zip(self.costs, self.plans, strict=True)), Cost())

    @property
    def warnings(self) -> list[str]:
        """Warnings about the scenarios of the cells, each once; those of some cells with their number."""
        of = Counter(w for core in self.cores for w in dict.fromkeys(core.warnings))
        return counted(of, len(self.cores), "cells")

    def into(self, out: Path, *, force: bool = False) -> SweepPlan:
        """The plan with a folder. Raises RecordError if that has other content, unless `force`."""
        plans = [p.into(out / CELLS / c.folder, force=force) for p, c in zip(self.plans, self.index.cells, strict=True)]
        return replace(self, plans=plans)

    def resumed(self) -> int:
        """Number of runs that an earlier call has completed."""
        return sum(p.resumed() for p in self.plans)


def plan_of(
    path: Path,
    sets: Sequence[str],
    axes: Sequence[Axis],
    cc: Sequence[str | type] = (),
    *,
    seeds: Sequence[int] | None = None,
    backend: Backend = SIMULATOR,
    zip_values: bool = False,
    trust: bool = False,
    command: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> SweepPlan:
    """Reads the scenario, and checks every cell.

    `axes` replace those of `[sweep]` with the same key. With `zip_values`, or `zip = true` there,
    the n-th values of all keys are run together instead of all combinations. Raises RecordError, naming the cell, and
    the errors of `Plan.of`.
    """
    base = open_file(path, list(sets), trust=trust)
    every = axes_of(base, axes, path)
    zip_values = zip_values or base.core.sweep_zip()
    chosen = combinations(every, zip_values=zip_values)
    made: list[Cell] = []
    plans: list[Plan] = []
    costs: list[Cost] = []
    cores: list[_core.Scenario] = []
    for n, values in enumerate(chosen):
        cell = Cell(folder_of(every, values), values)
        own_sets = [f"{a.key}={v}" for a, v in zip(every, values, strict=True)]
        # Values in the file's own [sweep] are from the file, not from the user.
        by_user = [s for a, s in zip(every, own_sets, strict=True) if a in axes]
        # A cell is opened without this section, which applies to the sweep.
        scenario = open_file(path, [*sets, "sweep={}", *own_sets], trust=trust, said=[*sets, *by_user])
        plan = Plan.of(scenario, cc, seeds=seeds, backend=backend, command=command)
        costs.append(cost_of(plan))
        # A thousand networks do not fit into memory.
        plan.first.forget_world()
        plans.append(plan)
        cores.append(scenario.core)
        made.append(cell)
        if progress is not None:
            progress(n + 1, len(chosen))
    return SweepPlan(Index(cells.FORMAT, base.name, tuple(every), tuple(made), zip_values), plans, costs, cores)


def axes_of(base: Scenario, axes: Sequence[Axis], path: Path) -> list[Axis]:
    """Swept keys of the scenario's `[sweep]`, replaced and extended by `axes`. Raises RecordError without any."""
    given = {a.key: a for a in axes}
    own = [Axis(key, tuple(values)) for key, values, _ in base.core.sweep()]
    every = [given.pop(a.key, a) for a in own] + list(given.values())
    if not every:
        raise RecordError(
            f"{path}: nothing is swept: give --set KEY=A,B,C (more than one value), or write a [sweep] into the file"
        )
    return every


def combinations(axes: Sequence[Axis], *, zip_values: bool) -> list[tuple[str, ...]]:
    """Values of each cell.

    Raises RecordError for too many cells, values that are given twice, or that cannot be zipped.
    """
    if zip_values:
        return _together(axes)
    check_size(axes)
    for a in axes:
        if (twice := repeated(map(cells.bare, a.values))) is not None:
            raise RecordError(f"{a.key}: {twice} is given twice: give each value once, in any notation")
    return list(itertools.product(*(a.values for a in axes)))


def _together(axes: Sequence[Axis]) -> list[tuple[str, ...]]:
    """The n-th values of all keys. Raises RecordError unless they are equal in number and distinct."""
    first = axes[0]
    for a in axes:
        if len(a.values) != len(first.values):
            counts = f"{a.key} has {len(a.values)} values, {first.key} has {len(first.values)}"
            raise RecordError(f"{counts}: a zipped sweep has one value of each key per cell")
    found = list(zip(*(a.values for a in axes), strict=True))
    check_size([first])
    for n, values in enumerate(found):
        if values in found[:n]:
            shown = ", ".join(f"{a.key} = {v}" for a, v in zip(axes, values, strict=True))
            raise RecordError(f"the combination {shown} is given twice")
    return found


def check_size(axes: Sequence[Axis]) -> None:
    """Raises RecordError for too many cells."""
    n = 1
    for a in axes:
        n *= len(a.values)
    if n > MOST_CELLS:
        shape = " x ".join(f"{len(a.values)} ({a.key})" for a in axes)
        raise RecordError(f"{shape} = {n} cells; at most {MOST_CELLS}: sweep fewer values, or fewer keys at once")


def folder_of(axes: Sequence[Axis], values: Sequence[str]) -> str:
    """A human-readable name that ends in a hash over all values."""
    words = [f"{a.key.rpartition('.')[2].strip(chr(34))}={cells.bare(v)}" for a, v in zip(axes, values, strict=True)]
    readable = re.sub(r"[^\w.=,+-]+", "_", ",".join(words))[:READABLE]
    whole = json.dumps([[a.key, v] for a, v in zip(axes, values, strict=True)])
    return f"{readable}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def unfinished(plan: SweepPlan, name: str, base: Path) -> Path | None:
    """The latest folder base/NAME or base/NAME-N that a killed call left incomplete."""
    found = [p for p in own_matches(base, f"{name}*") if (p / INDEX).is_file()]
    for at in sorted(found, key=lambda p: (p / INDEX).stat().st_mtime_ns, reverse=True):
        with contextlib.suppress(RecordError):
            if cells.read_index(at) == plan.index and not (at / TABLE).exists() and not is_claimed(at):
                # This rejects a folder of another scenario with the same name.
                plan.into(at)
                return at
    return None


def execute_sweep(
    plan: SweepPlan, out: Path, *, machines: Machines = HERE, progress: Callable[[float], None] | None = None
) -> cells.Sweep:
    """Executes missing runs into `out`, gathers the results and writes sweep.csv.

    Failures of single runs, which `plan.failed` lists, do not end the others. On Ctrl-C, completed
    runs are kept and `Interrupted` is raised.
    """
    if machines.cluster is not None:
        plan.plans[0].refuse_cluster()
    if any(p.missing() for p in plan.plans):
        # This is checked before anything is written.
        machines.check()
    make_ready(out)
    (out / TABLE).unlink(missing_ok=True)
    cells.write_index(out, plan.index)
    if any(p.stays for p in plan.plans):
        _here(plan, progress)
    else:
        _in_workers(plan, machines, progress)
    sweep = cells.gather(out, plan.index)
    if not sweep.rows:
        raise RecordError(f"no run of the sweep was completed: {plan.failed[0] if plan.failed else 'nothing was run'}")
    if not plan.failed:
        dataset.write(sweep)
        cells.write_table(sweep)
    return sweep


def _here(plan: SweepPlan, progress: Callable[[float], None] | None) -> None:
    for n, one in enumerate(plan.plans):
        if one.missing():
            execute(one)
        if progress is not None:
            progress((n + 1) / len(plan.plans))


def _in_workers(plan: SweepPlan, machines: Machines, progress: Callable[[float], None] | None) -> None:
    tasks = []
    for one, cost in zip(plan.plans, plan.costs, strict=True):
        assert one.out is not None, "a sweep has a folder"
        inner(inner(one.out.parent) / one.out.name)
        tasks += [task_of(one, j, cc, one.out, cost_s=cost.cpu_s, summarize=True) for j, cc in one.missing()]
    if not tasks:
        return
    before = plan.size - len(tasks)

    # Imported on use, as elsewhere: it is not needed to plan.
    from perigee_lab.runs.executor import WorkerError

    def on_outcome(outcome: Outcome) -> None:
        if outcome.error is not None:
            task = outcome.task
            plan.failed.append(f"{task.sink.arguments['folder']}: {outcome.error}")
            if isinstance(outcome.error, (RecordError, WorkerError, OSError)):
                plan.unable.add(plan.failed[-1])

    first = plan.plans[0]
    on_progress = None if progress is None else lambda n: progress((before + n) / plan.size)
    permission = trusts.together(p.permission for p in plan.plans)
    executor = machines.pool(permission, on_outcome, on_progress, {"command": first.command})
    try:
        executor.run(tasks)
    except KeyboardInterrupt:
        raise Interrupted(Results([], None)) from None


def sweep(
    path: str | Path,
    keys: Mapping[str, Sequence[object]] | None = None,
    cc: str | type | Sequence[str | type] = (),
    *,
    seeds: Sequence[int] | None = None,
    out: str | Path,
    sets: Mapping[str, object] | None = None,
    zip_values: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    store: str | None = None,
    force: bool = False,
    trust: bool = False,
    progress: Callable[[float], None] | None = None,
) -> cells.Sweep:
    """Runs every combination of the values of `keys` and of the file's `[sweep]`, into `out`.

    With `zip_values` (or `zip = true` in the file) the n-th values of all keys are run together.
    Completed runs there are skipped. Returns the results: `frame()` is a tidy frame with one row
    per run and one column per key; `cluster` and `store` as for `perigee sweep`
    (docs/how-to/cluster.md). Raises ScenarioError, RecordError; RunError if a run failed, after all
    others have finished; TypeError for a Scenario in place of its file.
    """
    if not isinstance(path, (str, Path)):
        raise TypeError(f"path is a {type(path).__name__}: a sweep reads the scenario's file, and sets={{KEY: VALUE}}")
    machines = Machines(jobs, cluster, store)
    schemes = [cc] if isinstance(cc, (str, type)) else list(cc)
    axes = [Axis(key, tuple(_values(key, list(values), zip_values))) for key, values in (keys or {}).items()]
    given: dict[str, Any] = {"seeds": seeds, "zip_values": zip_values, "trust": trust}
    plan = plan_of(Path(path), overrides(sets, {}), axes, trusts.said(schemes), **given)
    with claimed(Path(out)):
        plan = plan.into(Path(out), force=force)
        found = execute_sweep(plan, Path(out), machines=machines, progress=progress)
    if plan.failed:
        raise _core.RunError(
            f"{len(plan.failed)} of {plan.size} runs failed, the others are in {out}: {plan.failed[0]}"
        )
    return found


def _values(key: str, values: list[object], zip_values: bool) -> list[str]:
    if not values:
        raise RecordError(f"{key}: the list of values is empty")
    found = [line.partition("=")[2] for v in values for line in overrides({"v": v}, {})]
    if not zip_values and repeated(map(cells.bare, found)) is not None:
        raise RecordError(f"{key}: a value is given twice: {', '.join(found)}")
    return found
