# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Executor of tasks (each a job and a scheme) in worker processes.

Comparisons, studies and clusters share its interface. A worker takes a group, which is the tasks of
one job, and builds the network once for all of them. If there are fewer groups than cores, the
schemes of a group run on several threads. Workers that ignore a request to stop are killed, and
workers exit by themselves if this process does, so that no child survives. This process has no
threads, since an interrupt may arrive at any moment.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import json
import os
import selectors
import subprocess
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common import interpreter
from perigee_lab.common.files import PARTIAL, forget_empty, removed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perigee_lab.extensions.trust import Permission
    from perigee_lab.runs.job import Job
    from perigee_lab.runs.work import Sink

POLL_S = 0.25
# Timeouts after an interrupt, for runs (which check for interrupts five times a second) and for
# saving.
GRACE_S, SAVING_S = 1.5, 15.0


class RemoteError(Exception):
    """Traceback of a plug-in that failed in a worker, as text."""


class WorkerError(_core.RunError):
    """A worker ended without an answer."""


@dataclass(frozen=True)
class Task:
    """One scheme of a job, and the sink of its results."""

    job: Job
    cc: str
    sink: Sink
    capture: Path | None = None
    partial: Path | None = None
    """Partial output that a killed worker may leave behind."""
    cost_s: float = 0.0
    """Estimated cost; a cluster starts with the longest tasks."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task: completed or failed."""

    task: Task
    error: BaseException | None = None
    cost_s: float = 0.0


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    answers: int
    buffer: bytes = b""
    group: dict[int, Task] = field(default_factory=dict)
    saving: set[int] = field(default_factory=set)
    threads: int = 1


class Executor:
    """Runs groups of tasks on a number of cores."""

    def __init__(
        self,
        cores: int,
        permission: Permission,
        on_outcome: Callable[[Outcome], None],
        on_progress: Callable[[float], None] | None = None,
        about: Mapping[str, Any] | None = None,
        threads: int = 1,
    ) -> None:
        """`on_outcome` is called for each task, `on_progress` with the number of completed tasks.

        That number includes fractions of tasks in progress; `about` is added to the manifests;
        `threads` are those of one run.
        """
        self.cores, self.permission, self.on_outcome, self.on_progress = cores, permission, on_outcome, on_progress
        self.about = dict(about or {})
        self.threads = threads
        self.workers: list[_Worker] = []
        self.shares: dict[int, float] = {}
        self.waiting: deque[list[Task]] = deque()
        self.selector = selectors.DefaultSelector()
        self.stopped = False

    def stop(self) -> None:
        """Makes `run` return before all tasks are done."""
        self.stopped = True

    def run(self, tasks: Sequence[Task]) -> None:
        """Runs all tasks.

        If it ends early, so do the runs, and the completed tasks have been reported.
        """
        self.waiting = deque(groups_of(tasks))
        try:
            for _ in range(min(self.cores, len(self.waiting))):
                self._begin()
            while not self.stopped and (self.waiting or any(w.group for w in self.workers)):
                self._step(POLL_S)
        finally:
            self._end()

    def _begin(self) -> None:
        source, sink = os.pipe()
        command = interpreter.command("perigee_lab.runs.worker", str(sink))
        try:
            # Workers have their own session: Ctrl-C in a terminal reaches only this process, which
            # notifies them.
            process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(sink,), start_new_session=True)
        finally:
            os.close(sink)
        worker = _Worker(process, source)
        self.workers.append(worker)
        self.selector.register(source, selectors.EVENT_READ, worker)
        self._feed(worker)

    def _feed(self, worker: _Worker) -> None:
        """Gives the next group to an idle worker, or its cores to the others."""
        if self.waiting:
            tasks = self.waiting.popleft()
            worker.group = {id(t): t for t in tasks}
            message = message_of(tasks, self.permission, self.about)
            self._send(worker, **message, run_threads=self.threads)
        self._spread()

    def _spread(self) -> None:
        """Distributes the cores over the groups in progress."""
        busy = [w for w in self.workers if w.group]
        for i, worker in enumerate(busy):
            threads = max(1, (self.cores + i) // len(busy))
            if threads != worker.threads:
                worker.threads = threads
                self._send(worker, threads=threads)

    def _send(self, worker: _Worker, **message: Any) -> None:
        assert worker.process.stdin is not None
        try:
            worker.process.stdin.write(json.dumps(message).encode() + b"\n")
            worker.process.stdin.flush()
        except BrokenPipeError:
            # The worker has ended; `_step` handles the end of its answers.
            pass

    def _step(self, timeout_s: float) -> None:
        for ready, _ in self.selector.select(timeout_s):
            worker: _Worker = ready.data
            data = os.read(worker.answers, 1 << 16)
            if not data:
                self._lost(worker)
                continue
            *lines, worker.buffer = (worker.buffer + data).split(b"\n")
            for line in lines:
                self._answer(worker, json.loads(line))
        if self.on_progress is not None:
            self.on_progress(sum(self.shares.values()))

    def _answer(self, worker: _Worker, message: dict[str, Any]) -> None:
        if message.get("idle"):
            # The remaining tasks had not started when the worker was stopped.
            worker.group.clear()
            self._feed(worker)
            return
        number = message["task"]
        if "share" in message:
            self.shares[number] = min(1.0, message["share"])
        elif "saving" in message:
            worker.saving.add(number)
        else:
            task = worker.group.pop(number)
            worker.saving.discard(number)
            error = raised(message["error"]) if "error" in message else None
            if error is not None or message["done"]:
                self.shares[number] = 1.0
                self.on_outcome(Outcome(task, error, message.get("cost_s", 0.0)))

    def _lost(self, worker: _Worker) -> None:
        """Handles a worker that exited: fails its tasks, and replaces it."""
        self.selector.unregister(worker.answers)
        self.workers.remove(worker)
        worker.process.communicate()
        code = worker.process.returncode
        os.close(worker.answers)
        how = f"signal {-code}" if code < 0 else f"code {code}"
        for task in worker.group.values():
            _remove(task)
            said = f"the worker that ran {task.cc}, seed {task.job.seed} ended ({how}): out of memory, or killed"
            self.on_outcome(Outcome(task, WorkerError(said)))
        if self.waiting:
            self._begin()

    def _end(self) -> None:
        """Stops all workers, collects finished tasks, and kills workers that do not stop."""
        self.waiting.clear()
        for worker in self.workers:
            self._send(worker, stop=True)
        begin = time.monotonic()
        try:
            while any(w.group for w in self.workers):
                waited = time.monotonic() - begin
                if waited > (SAVING_S if any(w.saving for w in self.workers) else GRACE_S):
                    break
                self._step(POLL_S / 5)
        finally:
            for worker in self.workers:
                _over(worker.process, 0.0 if worker.group else GRACE_S)
                os.close(worker.answers)
                for task in worker.group.values():
                    _remove(task)
            self.workers.clear()
            self.selector.close()


def groups_of(tasks: Sequence[Task]) -> list[list[Task]]:
    """The tasks of each job together: they share its network."""
    groups: dict[int, list[Task]] = {}
    for task in tasks:
        groups.setdefault(id(task.job), []).append(task)
    return list(groups.values())


def message_of(tasks: Sequence[Task], may: Permission, about: Mapping[str, Any]) -> dict[str, Any]:
    """The message that describes a group to a worker."""
    rows = [
        {"id": id(t), "cc": t.cc, "call": t.sink.call, "arguments": dict(t.sink.arguments), "places": [*t.sink.places]}
        | {"capture": None if t.capture is None else str(t.capture)}
        for t in tasks
    ]
    permission = {
        "everything": may.everything,
        "files": [*map(str, may.files)],
        "modules": [*may.modules],
        "sealed": [*map(str, may.sealed)],
        "programs": may.programs,
    }
    return {"job": dataclasses.asdict(tasks[0].job), "tasks": rows, "about": dict(about), "may": permission}


def _over(process: subprocess.Popen[bytes], patience_s: float) -> None:
    """Ends a worker: an idle worker exits by itself and flushes the output of its plug-ins."""
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()


def _remove(task: Task) -> None:
    """Removes the partial output of a killed worker."""
    for path in (task.capture, task.partial):
        if path is not None:
            removed(path)
            forget_empty(path.parent)


def partial_of(folder: Path) -> Path:
    """Path of a record until it is complete."""
    return folder.with_name(folder.name + PARTIAL)


def raised(sent: dict[str, Any]) -> BaseException:
    """The exception that a worker has sent."""
    error = _made(sent)
    if sent["cause"] is not None:
        error.__cause__ = RemoteError(sent["cause"])
    return error


def _made(sent: dict[str, Any]) -> BaseException:
    module, kind, arguments = sent["module"], sent["kind"], sent["arguments"]
    if "file" in sent:
        found = OSError(*arguments[:2]) if len(arguments) > 1 else OSError(*arguments)
        found.filename = sent["file"]
        return found
    if module == "perigee_lab" or module.startswith("perigee_lab.") or module == "_core":
        home: Any = _core if module in {"_core", "perigee_lab._core"} else importlib.import_module(module)
        cls = getattr(home, kind, None)
        if isinstance(cls, type) and issubclass(cls, Exception):
            error: BaseException = cls.__new__(cls)
            error.args = tuple(arguments)
            return error
    if isinstance(getattr(builtins, kind, None), type):
        return _core.RunError(f"{kind}: {' '.join(map(str, arguments))}")
    return _core.RunError(sent["trace"])
