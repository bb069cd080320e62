# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Execution of a plan in worker processes or in this process; completed runs are reused.

Short plans run in this process, one run after the other, and so do plans with classes or functions
that exist only in memory. All others run in workers (`perigee_lab.runs.executor`).
"""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import sys
import tempfile
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.files import (
    PARTIAL,
    RecordError,
    forget_empty,
    fresh,
    is_claimed,
    make_ready,
    own_matches,
    removed,
)
from perigee_lab.common.messages import complain
from perigee_lab.extensions import trust as trusts
from perigee_lab.extensions.congestion import file_of, named, with_params
from perigee_lab.extensions.trust import Permission
from perigee_lab.results.conclusion import forget_conclusions
from perigee_lab.results.manifest import MANIFEST
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import Results, Run, find_records, open_record
from perigee_lab.results.summary import SUMMARY, experiment
from perigee_lab.results.writer import OLD
from perigee_lab.runs import job, work
from perigee_lab.runs.backends import SIMULATOR, Backend
from perigee_lab.runs.executor import Outcome, Task, partial_of
from perigee_lab.runs.machines import HERE, Machines
from perigee_lab.runs.work import Sink, capture_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perigee_lab.runs.job import Job
    from perigee_lab.runs.scenario import Scenario

POLL_S = 0.1
# Plans with a shorter estimate end before workers would have started.
SHORT_S = 1.5
# Interval in s at which Python code in a stopped run is interrupted, and number of interrupts.
GRACE_S, TRIES = 1.0, 4
RECORD = "perigee_lab.runs.work:store_record"
POLICY = "policy:"
"""Prefix of a scheme given as `--cc policy:FILE`."""


class Interrupted(Exception):  # noqa: N818 - not an error
    """An interrupt by the user; `results` are the completed runs."""

    def __init__(self, results: Results) -> None:
        """Stores the completed runs."""
        super().__init__("interrupted")
        self.results = results


@dataclass(frozen=True)
class Plan:
    """Runs to execute, which are checked as far as possible before any of them starts."""

    jobs: list[Job]
    permission: Permission
    first: work.Opened
    """The first job, with its network."""
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    classes: Mapping[str, type] = field(default_factory=dict)
    out: Path | None = None
    force: bool = False
    command: list[str] = field(default_factory=list)

    @staticmethod
    def of(
        scenario: Scenario,
        cc: Sequence[str | type],
        *,
        seeds: Sequence[int] | None = None,
        pcap: bool = False,
        backend: Backend = SIMULATOR,
        command: Sequence[str] = (),
    ) -> Plan:
        """Resolves schemes and seeds, builds the first network and checks that its flows can run.

        Code among `cc` is from the user if `trust.Said` marks it, and otherwise from the scenario.
        """
        scenario, cc = with_policy(scenario, cc)
        core = scenario.core
        asked, plugins = named(cc)
        names = core.schemes(asked, backend.as_core())
        chosen = list(seeds) if seeds is not None else list(range(core.seed, core.seed + core.runs))
        classes = {**scenario.classes(), **plugins}
        # Parameters are checked here; each run passes them to the class.
        with_params(classes, core)
        # Errors of a scenario as it was loaded refer to its own file.
        world = core.world(chosen[0])
        for name in names:
            try:
                world.check(name, classes, backend.as_core())
            except _core.RunError as error:
                # No code has run yet, so the user can fix this error.
                raise RecordError(str(error)) from None
        jobs = job.of(scenario, chosen, names, classes, capture=pcap, kernel=backend.key)
        # The user has named the files of these classes; other names are from the scenario.
        own = {f.resolve() for c in plugins.values() if (f := file_of(c)) is not None}
        permission = replace(scenario.permission, files=scenario.permission.files | own)
        first = work.opened(jobs[0], permission, scenario.functions, classes)
        return Plan(jobs, permission, first, scenario.functions, classes, command=list(command))

    @staticmethod
    def of_jobs(jobs: list[Job], permission: Permission, command: Sequence[str] = ()) -> Plan:
        """A plan of jobs from a file. Raises JobError if files are missing or have changed."""
        wrong = list(dict.fromkeys(p for j in jobs for p in job.problems(j)))
        if wrong:
            raise job.JobError("the job cannot be run here: " + "; ".join(wrong))
        first = work.opened(jobs[0], permission)
        for cc in jobs[0].schemes:
            first.check(cc)
        return Plan(jobs, permission, first, command=list(command))

    def into(self, out: Path, *, force: bool = False) -> Plan:
        """The plan with a folder for its records.

        Raises RecordError if the folder has content from another plan, unless `force`.
        """
        plan = replace(self, out=out, force=force)
        if not force:
            plan._refuse_others(out)
        return plan

    def _refuse_others(self, out: Path) -> None:
        kept = "earlier results are kept unless you say --force (in Python: force=True)"
        for j in self.jobs:
            for cc in j.schemes:
                folder = run_folder(out, cc, j.seed)
                if (folder / MANIFEST).exists():
                    if self.stays or open_record(folder).manifest.key != j.key(cc):
                        raise RecordError(f"{folder} exists and is not the result of this run; {kept}")
                elif folder.exists():
                    raise RecordError(f"{folder} exists; {kept}")
        mine = self.jobs[0].comparable()
        for manifest in out.glob(f"*/seed*/{MANIFEST}"):
            if not manifest.parent.name.endswith((PARTIAL, OLD)):
                run = open_record(manifest.parent)
                if experiment(run) != mine:
                    raise RecordError(f"{run.folder} exists and is of another scenario; {kept}")

    def missing(self) -> list[tuple[Job, str]]:
        """Runs that are not complete in the folder of the plan."""
        every = [(j, cc) for j in self.jobs for cc in j.schemes]
        if self.out is None or self.force:
            return every
        return [(j, cc) for j, cc in every if not self._is_there(run_folder(self.out, cc, j.seed))]

    def replaces(self, folder: Path) -> bool:
        """Whether a record may be overwritten, as it ended early and is run again."""
        return self.force or ((folder / MANIFEST).exists() and not self._is_there(folder))

    def _is_there(self, folder: Path) -> bool:
        """Whether a record exists; if hosts can fail, whether it is complete."""
        if not (folder / MANIFEST).exists():
            return False
        return not self.first.backend.has_hosts or "broken" not in open_record(folder).manifest

    @property
    def size(self) -> int:
        """Number of runs."""
        return sum(len(j.schemes) for j in self.jobs)

    @property
    def stays(self) -> bool:
        """Whether the plan's code exists only in this process."""
        in_memory = [c for c in self.classes.values() if file_of(c) is None]
        return bool(self.functions or in_memory or not sys.executable)

    @property
    def in_real_time(self) -> bool:
        """Whether runs are in real time, and therefore one after the other."""
        return self.first.backend.in_real_time

    @property
    def runs_python(self) -> bool:
        """Whether schemes or functions of a sky are Python code, which may loop forever."""
        return bool(self.first.classes) or any(f.path.endswith(".py") for f in self.jobs[0].files)

    def resumed(self) -> int:
        """Number of runs that an earlier call has completed."""
        return self.size - len(self.missing())

    def refuse_cluster(self) -> None:
        """Raises RecordError if other machines cannot run the plan."""
        if self.stays:
            raise RecordError("--cluster: code that exists in this process only cannot be sent; put it into a file")
        if self.first.backend.has_hosts:
            raise RecordError("--cluster: real hosts run on this machine only; leave --cluster or --backend out")


def with_policy(scenario: Scenario, cc: Sequence[str | type]) -> tuple[Scenario, list[str | type]]:
    """The scenario with the file from `policy:FILE`, and the schemes with `policy` in its place.

    Raises RecordError for two files, since a scheme has one set of options, and ScenarioError for a
    file that is not a policy.
    """
    named_files = [c for c in cc if isinstance(c, str) and c.startswith(POLICY)]
    if not named_files:
        return scenario, list(cc)
    if len(set(named_files)) > 1:
        raise RecordError(
            f"{' and '.join(named_files)}: one policy:FILE a run; run them one by one and see them side by side with "
            "perigee compare"
        )
    file = Path(named_files[0].removeprefix(POLICY)).resolve()
    with trusts.permitted(scenario.permission):
        core = _core.Scenario.parse(
            scenario.absolute().toml,
            scenario.core.name,
            Path.cwd(),
            [f"cc.policy.weights={quoting.toml(str(file))}"],
            scenario.functions,
        )
    names: list[str | type] = ["policy" if c in named_files else c for c in cc]
    return type(scenario)(core, Path.cwd(), scenario.permission, scenario.functions), names


def execute(plan: Plan, *, machines: Machines = HERE, progress: Callable[[float], None] | None = None) -> Results:
    """Executes missing runs. On Ctrl-C, completed runs are kept and `Interrupted` is raised."""
    if machines.cluster is not None:
        plan.refuse_cluster()
    todo = plan.missing()
    if todo:
        # This is checked before anything is written.
        machines.check()
    if plan.out is not None:
        make_ready(plan.out)
        forget_conclusions(plan.out)
    _, cpu_s = plan.first.world().estimate(plan.first.backend.as_core())
    short = not plan.runs_python and (len(todo) <= 1 or cpu_s * len(todo) < SHORT_S) and machines.cluster is None
    if plan.stays and len(todo) > 1 and sys.stderr.isatty():
        complain("code that exists in this process only runs here, one run after the other")
    with contextlib.ExitStack() as stack:
        folder = plan.out
        if folder is None and not (short or plan.stays or plan.in_real_time):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="perigee-")))
        here = short or plan.stays or plan.in_real_time
        try:
            runs = (
                _here(plan, todo, machines.threads, progress)
                if here
                else _in_workers(plan, todo, folder, machines, progress)
            )
        except work.BrokenRunError as error:
            error.results = _kept(plan, error)
            raise
        return Results([_found(plan, runs, j, cc) for j in plan.jobs for cc in j.schemes], plan.out)


def _kept(plan: Plan, error: work.BrokenRunError) -> Results:
    """The available results of a comparison in which one run ended early."""
    if plan.out is None:
        return Results([] if error.run is None else [error.run])
    folders = [run_folder(plan.out, cc, j.seed) for j in plan.jobs for cc in j.schemes]
    return Results([open_record(f) for f in folders if (f / MANIFEST).exists()], plan.out)


def _found(plan: Plan, runs: dict[tuple[str, int], Run], j: Job, cc: str) -> Run:
    """A run of this call, or the existing record."""
    done = runs.get((cc, j.seed))
    if done is not None:
        return done
    assert plan.out is not None, "without a folder everything has been run"
    return open_record(run_folder(plan.out, cc, j.seed))


def _in_workers(
    plan: Plan,
    todo: list[tuple[Job, str]],
    out: Path | None,
    machines: Machines,
    progress: Callable[[float], None] | None,
) -> dict[tuple[str, int], Run]:
    assert out is not None
    done: dict[tuple[str, int], Run] = {}
    errors: list[BaseException] = []

    def on_outcome(outcome: Outcome) -> None:
        if outcome.error is not None:
            errors.append(outcome.error)
            executor.stop()
            return
        cc, seed = outcome.task.cc, outcome.task.job.seed
        run = open_record(run_folder(out, cc, seed))
        if plan.out is None:
            # Its folder is removed after all runs have been loaded.
            for name in run.tables:
                run.table(name)
            run.folder = None
        done[cc, seed] = run

    before = plan.size - len(todo)
    on_progress = None if progress is None else lambda n: progress((before + n) / plan.size)
    executor = machines.pool(plan.permission, on_outcome, on_progress, {"command": plan.command})
    try:
        executor.run([task_of(plan, j, cc, out) for j, cc in todo])
    except KeyboardInterrupt:
        raise Interrupted(Results(list(done.values()), plan.out)) from None
    if errors:
        raise errors[0]
    return done


def task_of(plan: Plan, j: Job, cc: str, out: Path, *, cost_s: float = 0.0, summarize: bool = False) -> Task:
    """A run of a plan as a task for an executor, recorded in `out`; `cost_s` is in core seconds."""
    folder = run_folder(out, cc, j.seed)
    capture = capture_of(folder) if j.capture else None
    force = plan.replaces(folder)
    arguments = {"folder": str(folder), "force": force, "capture": None if capture is None else str(capture)}
    sink = Sink(RECORD, {**arguments, "summarize": summarize}, ("folder", "capture"))
    return Task(j, cc, sink, capture, partial_of(folder), cost_s)


# ---- in this process -----------------------------------------------------------------------------


def _here(
    plan: Plan, todo: list[tuple[Job, str]], threads: int, progress: Callable[[float], None] | None
) -> dict[tuple[str, int], Run]:
    """Executes runs serially on a thread that can be abandoned; this thread handles Ctrl-C."""
    done: dict[tuple[str, int], Run] = {}
    errors: list[BaseException] = []
    stop = threading.Event()
    share = [0.0]

    def go_on(part: float) -> bool:
        share[0] = part
        return not stop.is_set()

    def work_off() -> None:
        at = plan.first
        try:
            for j, cc in todo:
                if stop.is_set():
                    return
                at = at if at.job is j else work.opened(j, plan.permission, dict(plan.functions), plan.classes)
                run = _one(plan, at, cc, go_on, threads)
                if run is None:
                    return
                done[cc, j.seed] = run
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work_off, name="perigee-run", daemon=True)
    before = plan.size - len(todo)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(POLL_S)
            if progress is not None:
                progress((before + len(done) + share[0] * (len(done) < len(todo))) / plan.size)
    except BaseException as error:
        stop.set()
        _give_up(thread)
        _forget_partial(plan, todo)
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(Results(list(done.values()), plan.out)) from None
        raise
    if errors:
        raise errors[0]
    return done


def _one(plan: Plan, at: work.Opened, cc: str, go_on: work.GoOn, threads: int) -> Run | None:
    folder = None if plan.out is None else run_folder(plan.out, cc, at.job.seed)
    capture = capture_of(folder) if at.job.capture and folder is not None else None
    if at.job.capture and capture is None:
        raise RecordError("a capture needs a folder: give out=")
    if capture is not None:
        fresh(capture)

    def make(batches: work.Batches | None) -> Run | None:
        about = {"command": plan.command}
        return work.perform(at, cc, go_on, batches=batches, capture=capture, about=about, threads=threads)

    try:
        if folder is None:
            return make(None)
        force = plan.replaces(folder)
        return work.store_record(make, str(folder), force=force, capture=None if capture is None else str(capture))
    finally:
        if capture is not None:
            shutil.rmtree(capture, ignore_errors=True)


def _forget_partial(plan: Plan, todo: Sequence[tuple[Job, str]]) -> None:
    """Removes what an abandoned run has written: hosts in real time may not return in time."""
    for j, cc in todo if plan.out is not None else []:
        assert plan.out is not None
        folder = run_folder(plan.out, cc, j.seed)
        for left in (capture_of(folder), partial_of(folder)):
            removed(left)
        forget_empty(folder.parent)


def _give_up(thread: threading.Thread) -> None:
    """Waits for a stopped run, and interrupts Python code in it that does not return."""
    if thread.ident is None:
        return
    for _ in range(TRIES):
        thread.join(GRACE_S)
        if not thread.is_alive():
            return
        for ident in {thread.ident, *_core.plugin_threads()}:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt))


def unfinished(jobs: Sequence[Job], base: Path) -> Path | None:
    """The latest folder base/NAME or base/NAME-N that a killed call of the jobs left incomplete."""
    name = jobs[0].scenario
    keys = {j.key(cc) for j in jobs for cc in j.schemes}
    folders = [
        p for p in own_matches(base, f"{name}*") if p.name == name or p.name.removeprefix(f"{name}-").isdecimal()
    ]
    for folder in sorted(folders, key=lambda p: p.stat().st_mtime_ns, reverse=True):
        with contextlib.suppress(RecordError):
            found = {r.manifest.key for r in find_records(folder)}
            if found <= keys and not (folder / SUMMARY).exists() and not is_claimed(folder):
                return folder
    return None
