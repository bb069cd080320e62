# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs the cases whose digests are missing.

Each digest is stored as soon as its run ends: whatever kills this process loses at most the runs under way, and the
next call goes on with the others.
"""

from __future__ import annotations

import json
import math
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perigee import _core
from perigee.files import has_no_room
from perigee.interrupt import listening
from perigee.record import from_core
from perigee.scenario import Scenario, overrides
from perigee.study.cache import Cache, key_of
from perigee.study.digest import condense
from perigee.study.model import SCENARIOS, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from perigee.interrupt import Ear
    from perigee.study.model import Ask, Case, Experiment

POLL_S = 0.5
# Patience with runs under way after Ctrl-C; a network that is being built cannot be told to stop.
GRACE_S = 4.0
MAX_ERROR = 300


@dataclass(frozen=True)
class Planned:
    """A case with the name of its digest and its length."""

    case: Case
    key: str
    simulated_s: float
    scenario: Scenario


@dataclass(frozen=True)
class Failure:
    """A run that did not work."""

    experiment: str
    case: Case
    error: str


@dataclass
class Progress:
    """How far the whole set is; for the screen."""

    total: int
    cached: int
    done: int = 0
    eta_s: float = math.nan
    now: str = ""


@dataclass
class Plan:
    """All cases of some experiments, by experiment; equal cases are run once."""

    ask: Ask
    planned: dict[str, list[Planned]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    @staticmethod
    def of(experiments: Sequence[Experiment], ask: Ask) -> Plan:
        """Loads and checks every scenario; one that is wrong is a failure of its case only."""
        plan = Plan(ask)
        for experiment in experiments:
            rows = plan.planned.setdefault(experiment.name, [])
            for case in experiment.cases(ask):
                try:
                    rows.append(_planned(case))
                except (_core.ScenarioError, OSError) as error:
                    plan.failures.append(Failure(experiment.name, case, in_short(error)))
        return plan

    def unique(self) -> dict[str, tuple[str, Planned]]:
        """Every run once, with the first experiment that wants it."""
        found: dict[str, tuple[str, Planned]] = {}
        for name, rows in self.planned.items():
            for p in rows:
                found.setdefault(p.key, (name, p))
        return found


def _planned(case: Case) -> Planned:
    scenario = Scenario(_core.Scenario.load(SCENARIOS / case.scenario, overrides(case.sets, {})))
    return Planned(case, key_of(case, scenario), scenario.core.duration_ns / 1e9, scenario)


def in_short(error: BaseException) -> str:
    """An error in one line; of a scenario's problems the first, without the overrides that led to it."""
    if isinstance(error, _core.ScenarioError):
        problems = json.loads(error.args[1])
        more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
        return f"{problems[0]['key']}: {problems[0]['message']}{more}"
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return text if len(text) <= MAX_ERROR else text[:MAX_ERROR] + " …"


class Worlds:
    """Networks that several schemes share: each is built once, and forgotten after its last run."""

    def __init__(self) -> None:
        """Empty."""
        self.lock = threading.Lock()
        self.left: dict[tuple[str, int], int] = {}
        self.built: dict[tuple[str, int], Future[_core.World]] = {}

    def expect(self, planned: Iterable[Planned]) -> None:
        """Counts the runs of each network."""
        for p in planned:
            self.left[self._key(p)] = self.left.get(self._key(p), 0) + 1

    @staticmethod
    def _key(p: Planned) -> tuple[str, int]:
        return p.scenario.core.toml, p.case.seed

    @contextmanager
    def of(self, p: Planned) -> Iterator[_core.World]:
        """The network of a run while it runs."""
        key = self._key(p)
        with self.lock:
            mine = key not in self.built
            future = self.built.setdefault(key, Future())
        try:
            if mine:
                try:
                    future.set_result(p.scenario.core.world(p.case.seed))
                except BaseException as error:
                    future.set_exception(error)
                    raise
            yield future.result()
        finally:
            with self.lock:
                self.left[key] -= 1
                if self.left[key] == 0:
                    self.built.pop(key, None)


class Runner:
    """Runs a plan with a number of threads (the simulator works outside the interpreter's lock)."""

    def __init__(self, plan: Plan, cache: Cache, jobs: int, hear: Callable[[Progress], None] | None = None) -> None:
        """`hear` is told of the progress about twice a second."""
        self.plan, self.cache, self.jobs, self.hear = plan, cache, jobs, hear
        self.stop = threading.Event()
        self.cost: dict[tuple[str, str], list[float]] = {}
        self.lock = threading.Lock()
        self.worlds = Worlds()

    def run(self, *, force: bool = False) -> list[Failure]:
        """Runs what is missing (or everything with `force`) and returns all failures."""
        self.cache.sweep()
        unique = self.plan.unique()
        todo = {k: v for k, v in unique.items() if force or not self.cache.has(k)}
        progress = Progress(len(unique), len(unique) - len(todo), now=next((name for name, _ in todo.values()), ""))
        self.worlds.expect(p for _, p in todo.values())
        failures = list(self.plan.failures)
        # Long runs first would starve short experiments of early results; order is that of the gallery. Schemes of one
        # network come together, so that it is built once.
        with listening() as ear:
            pool = ThreadPoolExecutor(max(1, self.jobs), thread_name_prefix="study")
            futures: dict[Future[None], tuple[str, Planned]] = {}
            try:
                for name, p in todo.values():
                    futures[pool.submit(self._one, name, p)] = (name, p)
                failures += self._wait(futures, progress, ear)
            except BaseException:
                self.stop.set()
                wait([f for f in futures if not f.cancel()], timeout=GRACE_S)
                raise
            finally:
                pool.shutdown(wait=False)
        return failures

    def _wait(self, futures: dict[Future[None], tuple[str, Planned]], progress: Progress, ear: Ear) -> list[Failure]:
        failures = []
        pending = set(futures)
        while pending:
            ear.check()
            finished, pending = wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
            for f in finished:
                name, planned = futures[f]
                error = f.exception()
                if error is not None:
                    if has_no_room(error):
                        raise error
                    failures.append(Failure(name, planned.case, in_short(error)))
                progress.done += 1
                progress.now = name
            progress.eta_s = self._eta(futures[f] for f in pending)
            if self.hear is not None:
                self.hear(progress)
        return failures

    def _one(self, name: str, planned: Planned) -> None:
        if self.stop.is_set():
            return
        case = planned.case
        begin = time.perf_counter()
        with self.worlds.of(planned) as world:
            manifest, tables, stopped = world.run(case.cc, None, lambda _: not self.stop.is_set())
        if stopped:
            return
        run = from_core(manifest, tables, {})
        self.cache.write(planned.key, condense(run, case.keep))
        with self.lock:
            self.cost.setdefault((name, case.cc), []).append((time.perf_counter() - begin) / planned.simulated_s)

    def _eta(self, pending: Iterable[tuple[str, Planned]]) -> float:
        """Seconds until all is done: what each simulated second of (experiment, scheme) cost so far, over the jobs."""
        with self.lock:
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
        return left / max(1, self.jobs)


def outcomes(plan: Plan, cache: Cache, experiment: str) -> list[Outcome]:
    """What is there of an experiment's cases, in their order."""
    found = []
    for p in plan.planned[experiment]:
        digest = cache.read(p.key)
        if digest is not None:
            found.append(Outcome(p.case, digest))
    return found
