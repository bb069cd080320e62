# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runner of cases without digests.

Each digest is stored when its run ends: if the process is killed, at most the runs in progress are
lost, and the next call runs the remaining cases.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from perigee_lab import _core
from perigee_lab.common.files import has_no_room
from perigee_lab.extensions.trust import NOTHING, Permission
from perigee_lab.runs import job
from perigee_lab.runs.executor import Task
from perigee_lab.runs.scenario import Scenario, overrides
from perigee_lab.runs.work import Sink
from perigee_studies import beside
from perigee_studies.cache import Cache, key_of
from perigee_studies.model import SCENARIOS
from perigee_studies.model import Outcome as CaseOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from perigee_lab.runs.executor import Outcome
    from perigee_lab.runs.machines import Machines
    from perigee_studies.model import Ask, Case, Experiment

DIGEST = "perigee_studies.cache:store"
MAX_ERROR = 300


@dataclass(frozen=True)
class Planned:
    """A case, the name of its digest, and the duration of its run."""

    case: Case
    key: str
    simulated_s: float
    scenario: Scenario
    kernel: str | None
    """Key of the kernel of real hosts; None = the simulator."""


@dataclass(frozen=True)
class Failure:
    """A failed run."""

    experiment: str
    case: Case
    error: str


@dataclass
class Progress:
    """Progress over all runs, for the terminal."""

    total: int
    cached: int
    done: int = 0
    eta_s: float = math.nan
    now: str = ""
    what: str = "runs"
    """Unit of the count."""


@dataclass
class Plan:
    """All cases of several experiments, by experiment; equal cases are run once."""

    ask: Ask
    planned: dict[str, list[Planned]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    kernel: str | None = None
    """Key of the kernel of cases on real hosts."""

    @staticmethod
    def of(
        experiments: Sequence[Experiment],
        ask: Ask,
        cases: Callable[[Experiment, Ask], list[Case]] = beside.cases,
        kernel: str | None = None,
    ) -> Plan:
        """Loads and checks every scenario; an invalid scenario fails only its own cases."""
        plan = Plan(ask, kernel=kernel)
        for experiment in experiments:
            rows = plan.planned.setdefault(experiment.name, [])
            for case in filter(ask.chosen, cases(experiment, ask)):
                try:
                    rows.append(_planned(case, kernel))
                except (_core.ScenarioError, OSError) as error:
                    plan.failures.append(Failure(experiment.name, case, in_short(error)))
        return plan

    def unique(self) -> dict[str, tuple[str, Planned]]:
        """Every run once, with the first experiment that needs it."""
        found: dict[str, tuple[str, Planned]] = {}
        for name, rows in self.planned.items():
            for p in rows:
                found.setdefault(p.key, (name, p))
        return found


def _planned(case: Case, kernel: str | None) -> Planned:
    here = kernel if case.run_as else None
    scenario = Scenario(_core.Scenario.load(SCENARIOS / case.scenario, overrides(case.sets, {})))
    return Planned(case, key_of(case, scenario, here), scenario.core.duration_ns / 1e9, scenario, here)


def in_short(error: BaseException) -> str:
    """An error as one line.

    For a scenario, this is the first problem, without the overrides that led to it.
    """
    if isinstance(error, _core.ScenarioError):
        problems = json.loads(error.args[1])
        more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
        return f"{problems[0]['key']}: {problems[0]['message']}{more}"
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return text if len(text) <= MAX_ERROR else text[:MAX_ERROR] + " …"


class Runner:
    """Runs a plan in worker processes."""

    def __init__(
        self, plan: Plan, cache: Cache, machines: Machines, on_progress: Callable[[Progress], None] | None = None
    ) -> None:
        """`on_progress` is called a few times a second."""
        self.plan, self.cache, self.machines, self.on_progress = plan, cache, machines, on_progress
        self.cost: dict[tuple[str, str], list[float]] = {}

    def run(self, *, force: bool = False) -> list[Failure]:
        """Runs missing cases (or all with `force`) and returns all failures."""
        unique = self.plan.unique()
        todo = {k: v for k, v in unique.items() if force or not self.cache.has(k)}
        if todo:
            self.machines.check()
        self.cache.sweep()
        progress = Progress(len(unique), len(unique) - len(todo), now=next((name for name, _ in todo.values()), ""))
        failures = list(self.plan.failures)
        # The order is that of the gallery: long runs first would delay the results of short
        # experiments. Schemes of the same network are adjacent, so that it is built once.
        made = self._tasks(todo)
        tasks = {id(task): (task, *todo[key]) for key, task in made.items()}
        keys = {id(task): key for key, task in made.items()}
        pending = dict(tasks)
        full: list[BaseException] = []

        def on_outcome(outcome: Outcome) -> None:
            _, name, planned = pending.pop(id(outcome.task))
            if outcome.error is None:
                self.cost.setdefault((name, planned.case.cc), []).append(outcome.cost_s / planned.simulated_s)
                self.cache.note(keys[id(outcome.task)], outcome.cost_s)
            elif has_no_room(outcome.error):
                full.append(outcome.error)
                executor.stop()
            else:
                failures.append(Failure(name, planned.case, in_short(outcome.error)))
            progress.done += 1
            progress.now = name
            progress.eta_s = self._eta((name, p) for _, name, p in pending.values())

        tell = self.on_progress
        on_progress = None if tell is None else lambda _: tell(progress)
        # The programs of real hosts are companions of schemes, which this package has.
        permission = NOTHING if self.plan.kernel is None else Permission(programs=True)
        executor = self.machines.pool(permission, on_outcome, on_progress)
        executor.run([task for task, _, _ in tasks.values()])
        if full:
            raise full[0]
        return failures

    def _tasks(self, todo: Mapping[str, tuple[str, Planned]]) -> dict[str, Task]:
        """Tasks by the names of their digests; tasks with the same network share a job."""
        groups: dict[tuple[str, int, str | None], list[tuple[str, Planned]]] = {}
        for key, (_, p) in todo.items():
            groups.setdefault((p.scenario.core.toml, p.case.seed, p.kernel), []).append((key, p))
        found = {}
        for (_, seed, kernel), rows in groups.items():
            schemes = list(dict.fromkeys(p.case.scheme for _, p in rows))
            [shared] = job.of(rows[0][1].scenario, [seed], schemes, {}, kernel=kernel)
            for key, p in rows:
                path = self.cache.path(key)
                sink = Sink(DIGEST, {"path": str(path), "keep": asdict(p.case.keep)}, ("path",))
                found[key] = Task(shared, p.case.scheme, sink, cost_s=p.simulated_s)
        return found

    def _eta(self, pending: Iterable[tuple[str, Planned]]) -> float:
        """Estimate of the remaining seconds, from the cost of a simulated second so far."""
        every = [c for costs in self.cost.values() for c in costs]
        if not every:
            return math.nan
        of_name: dict[str, list[float]] = {}
        for (name, _), costs in self.cost.items():
            of_name.setdefault(name, []).extend(costs)
        exact = {k: sum(v) / len(v) for k, v in self.cost.items()}
        rough = {k: sum(v) / len(v) for k, v in of_name.items()}
        whole = sum(every) / len(every)
        left: float = sum(p.simulated_s * exact.get((name, p.case.cc), rough.get(name, whole)) for name, p in pending)
        return left / self.machines.cores


def took(plan: Plan, cache: Cache, experiment: str) -> float | None:
    """Wall-clock time in s of an experiment's runs in sequence; with a kernel, of those on real hosts.

    None if that of any run is unknown.
    """
    chosen = [p for p in plan.planned[experiment] if plan.kernel is None or p.kernel is not None]
    each = [cache.took(key) for key in dict.fromkeys(p.key for p in chosen)]
    known = [cost_s for cost_s in each if cost_s is not None]
    return sum(known) if known and len(known) == len(each) else None


def outcomes(plan: Plan, cache: Cache, experiment: str) -> list[CaseOutcome]:
    """Outcomes of an experiment's cases in order, without cases that have none."""
    found = []
    for p in plan.planned[experiment]:
        digest = cache.read(p.key)
        if digest is not None:
            found.append(CaseOutcome(p.case, digest))
    return found
