# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Execution of a job in this process: the only module that calls the core for a run."""

from __future__ import annotations

import importlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.files import inner
from perigee_lab.extensions import distributions, trust
from perigee_lab.extensions.congestion import class_in, find, with_params
from perigee_lab.results import summary_cache
from perigee_lab.results.run import Run, from_core
from perigee_lab.results.writer import RecordWriter
from perigee_lab.runs.backends import SIMULATOR, Backend, by_key
from perigee_lab.runs.stories import Program, Stories, of_scenario

if TYPE_CHECKING:
    from perigee_lab.common.columns import Column
    from perigee_lab.runs.job import Job

Batches = Callable[[str, "list[Column]"], None]
"""Callback with the name of a table and further rows of it."""
Make = Callable[[Batches | None], Run | None]
"""Function that executes a run once, with tables in memory or streamed; returns None if it was
stopped."""
GoOn = Callable[[float], bool]
"""Callback with the completed fraction of a run, from 0 to 1; False stops the run."""
Functions = dict[str, Callable[..., Any]]
SENDERS = "senders.pcapng"
"""The capture at the senders of flows; other captures may be next to it."""


class BrokenRunError(_core.HostsError):
    """A host of a run ended or hung. Within a process, the error has the partial results."""

    found: tuple[str, dict[str, list[Column]]] = ("{}", {})
    """Manifest and tables, as returned by `simulate`."""
    run: Run | None = None
    """The partial run, as returned by `perform`."""
    results: Sequence[Run] = ()
    """All available runs of the comparison."""


@dataclass
class Guests:
    """Programs on real hosts."""

    stories: Stories
    """Programs of the scenario, followed by others."""
    others: Sequence[Program] = ()
    writable: Sequence[Path] = ()
    """Folders that the programs may change."""

    keyboard: Callable[[float], bytes | None] | None = None
    """Input of a terminal; waits for keys up to a time in seconds."""

    def as_core(self) -> _core._Programs:
        """Argument of the core."""
        programs = [p.as_core() for p in self.others]
        writable = list(self.writable)
        return {"programs": programs, "writable": writable, "listener": self.stories, "keyboard": self.keyboard}

    def checked(self, go_on: Callable[[int], bool] | None) -> Callable[[int], bool]:
        """A callback for progress that also raises the exceptions of the programs' callback."""

        def progress(now_ns: int) -> bool:
            self.stories.check()
            return go_on is None or go_on(now_ns)

        return progress


def guests_of(core: _core.Scenario, backend: Backend) -> Guests | None:
    """The programs of a scenario, if the backend has hosts for them."""
    programs = of_scenario(core) if backend.has_hosts else []
    return Guests(Stories(programs)) if programs else None


@dataclass
class Opened:
    """A job with its parsed scenario and loaded classes; the network is built on first use."""

    job: Job
    core: _core.Scenario
    classes: dict[str, type]
    backend: Backend = SIMULATOR
    _world: list[_core.World] = field(default_factory=list)

    def check(self, cc: str) -> None:
        """Rejects schemes that cannot run. Raises ScenarioError and RunError."""
        self.world().check(cc, self.classes, self.backend.as_core())

    def forget_world(self) -> None:
        """Drops the network; it is rebuilt on the next use."""
        self._world.clear()

    def world(self) -> _core.World:
        """The network and flows, which are built once. Raises ScenarioError."""
        if not self._world:
            self._world.append(self.core.world(self.job.seed))
        return self._world[0]


def opened(
    job: Job,
    permission: trust.Permission,
    functions: Functions | None = None,
    classes: Mapping[str, type] | None = None,
) -> Opened:
    """Parses a job's scenario and loads its permitted code; `functions`, `classes` are in memory.

    Raises:
        UntrustedError: code is not permitted to run.
        PluginError: code cannot be used.
        ScenarioError: the scenario is wrong.
        RecordError: the kernel that it names is not available.
    """
    with trust.permitted(permission) as refused:
        try:
            core = _core.Scenario.parse(job.toml, job.scenario, job.folder, [], functions)
        except _core.ScenarioError:
            if refused:
                raise refused[0] from None
            raise
        given = dict(classes or {})
        for name, where in job.classes.items():
            if name not in given:
                given[name] = class_in(Path(where.path), where.name, permission)
        own = {n: find(n, Path(job.folder), permission) for n in core.plugins() if n not in given}
        if job.kernel is not None:
            permission.check_programs([p.line for p in of_scenario(core)])
        return Opened(job, core, with_params({**own, **given}, core), by_key(job.kernel))


@dataclass(frozen=True)
class Sink:
    """A handler of results (`module:function` in this package).

    The function is called with the run's `Make` and these arguments; it returns the run, or None if
    stopped.
    """

    call: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    """Arguments that are output paths; the first is the result, the others are temporary."""

    @property
    def target(self) -> Path:
        """The result, which is a folder or a file."""
        return Path(self.arguments[self.places[0]])

    def moved(self, folder: Path) -> Sink:
        """The sink with its paths in another folder."""
        names = {n: v for n in self.places if (v := self.arguments[n]) is not None}
        return replace(self, arguments={**self.arguments, **{n: str(folder / Path(v).name) for n, v in names.items()}})

    def __call__(self, make: Make) -> Run | None:
        """Executes the run and stores it."""
        module, _, name = self.call.partition(":")
        package = module.split(".")[0]
        if package != "perigee_lab" and package not in distributions.packages():
            raise ValueError(f"{self.call} is no function of perigee_lab or of a distribution that extends it")
        found: Run | None = getattr(importlib.import_module(module), name)(make, **self.arguments)
        return found


def simulate(
    world: _core.World,
    cc: str,
    classes: dict[str, type] | None = None,
    capture: Path | None = None,
    go_on: Callable[[int], bool] | None = None,
    batches: Batches | None = None,
    backend: Backend = SIMULATOR,
    guests: Guests | None = None,
    threads: int = 1,
) -> tuple[str, dict[str, list[Column]], bool]:
    """Output of the core for a run: manifest (JSON), tables, and whether it was stopped.

    `capture` is the folder for captures. `go_on` periodically receives the simulated time in ns;
    False stops the run. With `batches`, which receives the rows, no tables are returned. `threads`
    are those of the simulator; no result depends on them. Raises RunError, BrokenRunError if a host
    has ended, and what the callback of `guests` raises.
    """
    pcap = None if capture is None else capture / SENDERS
    given = None if guests is None else guests.as_core()
    core = {**backend.as_core(), "threads": threads} if threads > 1 and backend == SIMULATOR else backend.as_core()
    progress = go_on if guests is None else guests.checked(go_on)
    try:
        with backend.running():
            manifest, tables, stopped = world.run(cc, pcap, progress, classes, batches, core, given)
    finally:
        if guests is not None:
            guests.stories.check()
    why = json.loads(manifest).get("broken") if stopped else None
    if why is not None:
        error = BrokenRunError(why)
        error.found = manifest, tables
        raise error
    return manifest, tables, stopped


def perform(
    at: Opened,
    cc: str,
    go_on: GoOn,
    *,
    batches: Batches | None = None,
    capture: Path | None = None,
    about: Mapping[str, Any],
    guests: Guests | None = None,
    threads: int = 1,
) -> Run | None:
    """Runs one scheme; None if it was stopped. `about` is added to the manifest.

    With `batches`, which receives the rows as they arrive, the run has a manifest and no tables.
    Raises RunError, BrokenRunError.
    """
    world = at.world()
    if len(at.job.schemes) == 1:
        world.expect_one_run()
    duration = at.core.duration_ns
    guests = guests or guests_of(at.core, at.backend)
    # Of several threads, those of the simulator are most of the process.
    cpu_time = time.thread_time if threads == 1 else time.process_time
    begin, begin_cpu = time.perf_counter(), cpu_time()
    tell = lambda now_ns: go_on(now_ns / duration)  # noqa: E731
    broken: BrokenRunError | None = None
    try:
        manifest, tables, stopped = simulate(world, cc, at.classes, capture, tell, batches, at.backend, guests, threads)
    except BrokenRunError as error:
        broken, (manifest, tables), stopped = error, error.found, False
    wall_s, cpu_s = time.perf_counter() - begin, cpu_time() - begin_cpu
    if stopped:
        return None
    about_hosts = at.backend.about()
    hosts = {} if about_hosts is None else {"kernel": about_hosts}
    told = {} if guests is None else {"programs": guests.stories.as_json()}
    run = from_core(manifest, tables, {**_of_the_moment(at.job, cc, wall_s, cpu_s), **hosts, **told, **about})
    run.attached = {} if guests is None else guests.stories.files()
    if broken is not None:
        broken.run = run
        raise broken
    return run


def _of_the_moment(job: Job, cc: str, wall_s: float, cpu_s: float) -> dict[str, object]:
    """Properties of the machine and of the time of the run, which are only in the manifest."""
    return {
        "version": _core.__version__,
        "wall_s": round(wall_s, 3),
        "cpu_s": round(cpu_s, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()},
        "files": [{"path": f.path, "sha256": f.sha256} for f in job.needed()],
        "key": job.key(cc),
    }


def capture_of(folder: Path) -> Path:
    """Folder for the captures of a record until it is complete; `fresh` creates it."""
    return folder.with_name(folder.name + ".pcapng.partial")


def store_record(
    make: Make, folder: str, *, force: bool, capture: str | None = None, summarize: bool = False
) -> Run | None:
    """A sink: the record of a run in its folder, written during the run, with its captures.

    `summarize` stores the summary next to the tables (`perigee_lab.results.summary_cache`), from which many
    runs are gathered later. Raises BrokenRunError if a host has ended, after writing the partial
    record.
    """
    broken: BrokenRunError | None = None

    def extra(partial: Path) -> None:
        if run is not None:
            run.write_attached(partial, Path(folder))
        if capture is not None:
            for file in Path(capture).iterdir():
                file.rename(partial / file.name)
        if summarize and run is not None:
            summary_cache.store(run, partial)

    inner(Path(folder).parent)
    with RecordWriter(Path(folder), force=force) as writer:
        try:
            run = make(writer)
        except BrokenRunError as error:
            broken, run = error, error.run
        if run is not None:
            writer.finish(run.manifest, extra)
            run.folder = Path(folder)
        if broken is not None:
            told = BrokenRunError(f"{broken}\nwhat there is of this run is in {folder}")
            told.run = run
            raise told from None
        return run
