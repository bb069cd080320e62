# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs a plan: schemes x seeds, several at once, records written as they finish."""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from perigee import _core
from perigee.congestion import files, named
from perigee.files import RecordError, make_ready
from perigee.interrupt import Ear, listening
from perigee.record import Run, from_core, run_folder
from perigee.scenario import Results
from perigee.summary import SUMMARY, forget_conclusions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perigee.scenario import Scenario

POLL_S = 0.2
# Patience with runs after Ctrl-C, how often Python code that goes on is interrupted, and patience with what is saved.
GRACE_S, TRIES, SAVING_S = 1.0, 4, 15.0


class Interrupted(Exception):  # noqa: N818 - it is no error
    """The user stopped; `results` are the runs that were complete."""

    def __init__(self, results: Results) -> None:
        """Keeps what was complete."""
        super().__init__("interrupted")
        self.results = results


@dataclass(frozen=True)
class Plan:
    """What will be run, checked as far as possible before anything runs."""

    scenario: Scenario
    tasks: list[tuple[str, int]]
    out: Path | None = None
    force: bool = False
    pcap: bool = False
    command: list[str] = field(default_factory=list)
    plugins: dict[str, type] = field(default_factory=dict)

    @staticmethod
    def of(
        scenario: Scenario,
        cc: Sequence[str | type],
        *,
        seeds: Sequence[int] | None = None,
        out: str | Path | None = None,
        force: bool = False,
        pcap: bool = False,
        command: Sequence[str] = (),
    ) -> Plan:
        """Resolves schemes and seeds, and refuses to overwrite."""
        core = scenario.core
        asked, plugins = named(cc)
        names = core.schemes(asked)
        plugins = {**scenario.classes(), **plugins}
        chosen = list(seeds) if seeds is not None else list(range(core.seed, core.seed + core.runs))
        tasks = [(name, seed) for seed in chosen for name in names]
        folder = None if out is None else Path(out)
        if pcap and folder is None:
            raise RecordError("a capture needs a folder: give out=")
        if folder is not None and not force:
            taken = [run_folder(folder, *t) for t in tasks if run_folder(folder, *t).exists()]
            taken += [p for p in [folder / SUMMARY] if p.exists()]
            if taken:
                raise RecordError(f"{taken[0]} exists; earlier results are kept unless you say --force")
        return Plan(scenario, tasks, folder, force, pcap, list(command), plugins)


@dataclass
class _Shared:
    """What the workers of a plan share."""

    plan: Plan
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    worlds: dict[int, _core.World] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)
    done: dict[tuple[str, int], float] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)

    def world(self, seed: int) -> _core.World:
        """The world of a seed: made once, shared by its schemes."""
        with self.lock:
            if seed not in self.worlds:
                self.worlds[seed] = self.plan.scenario.core.world(seed)
            return self.worlds[seed]

    def release(self, seed: int) -> None:
        """Forgets a world when its last scheme is through."""
        with self.lock:
            self.left[seed] -= 1
            if self.left[seed] == 0:
                self.worlds.pop(seed, None)


def execute(plan: Plan, *, jobs: int | None = None, progress: Callable[[float], None] | None = None) -> Results:
    """Runs everything. On Ctrl-C, what is complete is kept and `Interrupted` is raised.

    Threads are started and waited for without being interrupted: an exception in the midst of that would leave runs
    that nobody knows of, or locks that nobody gives back.
    """
    shared = _Shared(plan)
    for _, seed in plan.tasks:
        shared.left[seed] = shared.left.get(seed, 0) + 1
    # The first world is built (and its flows checked) before anything is written or removed.
    first = shared.world(plan.tasks[0][1])
    for cc in dict.fromkeys(cc for cc, _ in plan.tasks):
        first.check(cc, plan.plugins)
    if plan.out is not None:
        make_ready(plan.out)
        forget_conclusions(plan.out)
    workers = max(1, min(jobs or os.cpu_count() or 1, len(plan.tasks)))
    with listening() as ear:
        pool = ThreadPoolExecutor(workers, thread_name_prefix="run")
        futures: list[Future[Run | None]] = []
        try:
            futures.extend(pool.submit(_one, shared, cc, seed) for cc, seed in plan.tasks)
            _wait(futures, shared, progress, ear)
        except BaseException as error:
            shared.stop.set()
            under_way = {f for f in futures if not f.cancel()}
            if not isinstance(error, KeyboardInterrupt) and _ended(under_way, ear):
                raise
            _end(under_way, shared, ear)
            done = [f for f in under_way if f.done() and f.exception() is None]
            complete = [r for f in futures if f in done and (r := f.result()) is not None]
            raise Interrupted(Results(complete, plan.out)) from None
        finally:
            pool.shutdown(wait=False)
        runs = [r for f in futures if (r := f.result()) is not None]
    return Results(runs, plan.out)


def _ended(under_way: set[Future[Run | None]], ear: Ear) -> bool:
    """Waits for runs that were told to stop; False if the user does not want to wait."""
    while under_way and not ear.count:
        _, under_way = wait(under_way, timeout=POLL_S)
    return not under_way


def _end(under_way: set[Future[Run | None]], shared: _Shared, ear: Ear) -> None:
    """Ends runs that were told to stop, or gives them up.

    The simulator stops by itself. Python code in it that does not come back gets a KeyboardInterrupt of its own; a run
    that is being saved is waited for, unless the user loses patience.
    """
    came, tries, end = ear.count, 0, time.monotonic() + SAVING_S
    _, pending = wait(under_way, timeout=GRACE_S)
    while pending and tries < TRIES and ear.count == came and time.monotonic() < end:
        tries += _interrupt(shared)
        _, pending = wait(pending, timeout=GRACE_S)


def _interrupt(shared: _Shared) -> bool:
    """Raises KeyboardInterrupt in threads that are asking a scheme or a function of a sky; whether there are any."""
    threads = {*shared.running, *_core.plugin_threads()}
    for ident in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt))
    return bool(threads)


def _wait(
    futures: list[Future[Run | None]], shared: _Shared, progress: Callable[[float], None] | None, ear: Ear
) -> None:
    pending = set(futures)
    while pending:
        ear.check()
        finished, pending = wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
        for f in finished:
            f.result()
        if progress is not None:
            progress(sum(shared.done.values()) / len(futures))
    ear.check()


def _one(shared: _Shared, cc: str, seed: int) -> Run | None:
    """One run; None if it was stopped."""
    me = threading.get_ident()
    shared.running.add(me)
    try:
        return _run(shared, cc, seed)
    finally:
        shared.running.discard(me)


def _run(shared: _Shared, cc: str, seed: int) -> Run | None:
    plan = shared.plan
    if shared.stop.is_set():
        return None
    duration = plan.scenario.core.duration_ns
    folder = None if plan.out is None else run_folder(plan.out, cc, seed)

    def hear(now_ns: int) -> bool:
        shared.done[cc, seed] = now_ns / duration
        return not shared.stop.is_set()

    world = shared.world(seed)
    capture = _capture_path(folder) if plan.pcap and folder is not None else None
    try:
        begin, begin_cpu = time.perf_counter(), time.thread_time()
        manifest, tables, stopped = world.run(cc, capture, hear, plan.plugins)
        wall_s, cpu_s = time.perf_counter() - begin, time.thread_time() - begin_cpu
        # What is complete is kept: nothing interrupts its saving.
        shared.running.discard(threading.get_ident())
        if stopped:
            return None
        run = from_core(manifest, tables, _provenance(plan, wall_s, cpu_s))
        if folder is not None:
            run.save(folder, force=plan.force, extra=_move_capture(capture))
        shared.done[cc, seed] = 1.0
        return run
    finally:
        if capture is not None:
            capture.unlink(missing_ok=True)
        del world
        shared.release(seed)


def _capture_path(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder.with_name(folder.name + ".pcapng.partial")


def _move_capture(capture: Path | None) -> Callable[[Path], None] | None:
    if capture is None:
        return None

    def move(folder: Path) -> None:
        capture.rename(folder / "senders.pcapng")

    return move


def _provenance(plan: Plan, wall_s: float, cpu_s: float) -> dict[str, object]:
    """What depends on the machine and the moment: manifest only, never a table."""
    return {
        "version": _core.__version__,
        "wall_s": round(wall_s, 3),
        "cpu_s": round(cpu_s, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()},
        "command": plan.command,
        "files": [{"path": str(f), "sha256": _file_hash(f)} for f in [*plan.scenario.core.files, *files(plan.plugins)]],
    }


def _file_hash(path: Path) -> str | None:
    import hashlib

    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
