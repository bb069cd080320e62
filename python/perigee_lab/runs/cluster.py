# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Executor on the machines of a Dask cluster (`pip install 'perigee-lab[cluster]'`).

Groups are submitted longest first, and more of them than there are threads, so that a cluster with
automatic scaling sees pending work. Dask reruns the groups of a worker that died; this module
handles groups with workers that die repeatedly, a lost scheduler and full disks. A result is stored
once (`perigee_lab.runs.transfer`), however many attempts complete.
"""

from __future__ import annotations

import json
import queue
import time
import uuid
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.files import RecordError, has_no_room
from perigee_lab.common.messages import complain
from perigee_lab.runs import remote, transfer
from perigee_lab.runs.connect import connected
from perigee_lab.runs.executor import Outcome, WorkerError, groups_of, message_of, raised
from perigee_lab.runs.job import core_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from perigee_lab.extensions.trust import Permission
    from perigee_lab.runs.executor import Task
    from perigee_lab.runs.machines import Machines

POLL_S = 0.25
# Number of groups submitted in advance, so that no thread idles and a scaling cluster sees pending
# work.
AHEAD, AHEAD_PER_THREAD = 32, 3
# Attempts at a group before it is considered the cause of its workers' deaths. Dask reruns a task
# three times in each attempt.
ATTEMPTS = 4
# Dask's exception for a task after the deaths of its workers.
KILLED = "KilledWorker"
# Timeout for a lost scheduler, and time without workers before a warning.
BACK_S, LONELY_S = 120.0, 15.0


@dataclass
class _Group:
    tasks: list[Task]
    attempts: int = 0
    future: Any = None
    allowed: frozenset[str] = frozenset()
    """Workers that may run the group; empty = all. Dask waits for these even if they have died."""
    shares: dict[int, float] = field(default_factory=dict)

    @property
    def cost_s(self) -> float:
        return sum(t.cost_s for t in self.tasks)


class ClusterExecutor:
    """Counterpart of `perigee_lab.runs.executor.Executor` on a cluster."""

    def __init__(
        self,
        machines: Machines,
        permission: Permission,
        on_outcome: Callable[[Outcome], None],
        on_progress: Callable[[float], None] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Takes the arguments of `Executor`."""
        self.machines, self.permission, self.about = machines, permission, dict(about or {})
        self.on_outcome, self.on_progress = on_outcome, on_progress
        self.waiting: deque[_Group] = deque()
        self.running: dict[str, _Group] = {}
        self.ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.full: set[str] = set()
        self.known: set[str] = set()
        self.no_room_since: float | None = None
        self.topic = f"perigee-{uuid.uuid4().hex}"
        self.done = 0
        self.stopped = False
        self.said: set[str] = set()
        self.store = None if machines.store is None else transfer.Store(machines.store)
        self.signs: dict[Path, Path] = {}

    def stop(self) -> None:
        """Makes `run` return before all tasks are done."""
        self.stopped = True

    def run(self, tasks: Sequence[Task]) -> None:
        """Runs all tasks; if it ends early, the completed tasks have been reported.

        Raises RecordError if the cluster is unavailable or has been lost.
        """
        tasks = self._fetched(list(tasks))
        if not tasks:
            return
        try:
            with connected(self.machines) as self.cluster:
                self._begin(tasks)
                while not self.stopped and (self.waiting or self.running):
                    self._submit()
                    self._take()
                    self._look()
                self._release()
        finally:
            for sign in self.signs.values():
                sign.unlink(missing_ok=True)
            for task in tasks:
                transfer.forget_scratch(task.sink.target)

    # ---- before ----------------------------------------------------------------------------------

    def _fetched(self, tasks: list[Task]) -> list[Task]:
        """Fetches results that other calls left in the store; returns the remaining tasks."""
        if self.store is None:
            return tasks
        names, left = self.store.names(), []
        for task in tasks:
            name = transfer.name_of(task)
            # With `force`, the stored result may be the one that is to be replaced.
            if name in names and not task.sink.arguments.get("force", False):
                self._told(Outcome(task, self._placed(task, self.store.get(name))))
            else:
                left.append(task)
        return left

    def _begin(self, tasks: list[Task]) -> None:
        self._check_workers()
        self.cluster.client.subscribe_topic(self.topic, self._heard)
        self.known |= set(self.cluster.workers())
        groups = groups_of(tasks)
        threads = self.cluster.threads()
        if len(groups) < threads:
            # A network is then built several times, which costs nothing on idle machines.
            pieces = -(-threads // len(groups))
            groups = [g[i::pieces] for g in groups for i in range(min(pieces, len(g)))]
        made = [_Group(g) for g in groups]
        self.waiting = deque(sorted(made, key=lambda g: -g.cost_s))

    def _check_workers(self) -> None:
        """Rejects workers with another build of Perigee: their results would differ."""
        try:
            found = self.cluster.client.run(remote.about)
        except ModuleNotFoundError as error:
            raise RecordError(f"the workers of the cluster lack {error.name}: install perigee-lab there") from None
        for worker, about in found.items():
            if not isinstance(about, dict):
                raise RecordError(f"worker {worker} cannot run Perigee: {about}")
            if about["core"] != core_version():
                raise RecordError(other_core(worker, about))

    def _sign(self, task: Task) -> str:
        """Creates a file by which workers detect that they share the result's folder."""
        folder = task.sink.target.parent
        while not folder.exists():
            folder = folder.parent
        if folder not in self.signs:
            sign = folder / f".perigee-shared-{uuid.uuid4().hex}"
            sign.touch()
            self.signs[folder] = sign
        return str(self.signs[folder].absolute())

    # ---- meanwhile -------------------------------------------------------------------------------

    def _submit(self) -> None:
        allowed = self._with_room() if self.full else []
        if self.full and not allowed and self.known - self.full:
            # Workers with full disks get no further groups; pending groups are left for new
            # workers.
            return
        most = AHEAD + AHEAD_PER_THREAD * self.cluster.threads()
        while self.waiting and len(self.running) < most:
            group = self.waiting.popleft()
            message = message_of(group.tasks, self.permission, self.about)
            for row, task in zip(message["tasks"], group.tasks, strict=True):
                row["arguments"] = transfer.absolute(task.sink)
                row["name"] = transfer.name_of(task) if self.store is not None else None
            way = {
                "sign": None if self.store is not None else self._sign(group.tasks[0]),
                "store": self.machines.store,
                "topic": self.topic,
                "core": core_version(),
            }
            key = f"perigee-{group.tasks[0].job.scenario}-{uuid.uuid4().hex}"
            where = {"workers": allowed, "allow_other_workers": False} if allowed else {}
            group.allowed = frozenset(allowed)
            group.future = self.cluster.client.submit(
                remote.work_off,
                json.dumps(message),
                way,
                key=key,
                pure=False,
                priority=int(group.cost_s * 1000),
                **where,
            )
            group.future.add_done_callback(lambda f: self.ended.put(f.key))
            self.running[key] = group

    def _with_room(self) -> list[str]:
        return [w for w in self.cluster.workers() if w not in self.full]

    def _take(self) -> None:
        """Handles groups that have ended."""
        with suppress(queue.Empty):
            key = self.ended.get(timeout=POLL_S)
            while True:
                group = self.running.pop(key, None)
                if group is not None:
                    self._ended(group)
                key = self.ended.get_nowait()

    def _ended(self, group: _Group) -> None:
        future, group.future = group.future, None
        if future.status == "finished":
            try:
                self._answered(group, future.result(timeout=BACK_S))
            except (OSError, TimeoutError) as lost:
                # The worker that held the answer is gone, or the scheduler is.
                self._again(group, lost)
        elif future.status == "error":
            error = future.exception()
            if type(error).__name__ == KILLED:
                self._again(group, error)
            else:
                self._give_up(group, error)
        else:
            # The group was cancelled or lost, but not by this process.
            self.waiting.appendleft(group)
        future.release()

    def _answered(self, group: _Group, told: dict[str, Any]) -> None:
        if told.get("other_core"):
            raise RecordError(other_core(told["worker"], told))
        open_tasks = {id(t): t for t in group.tasks}
        for answer in told["answers"]:
            error = raised(answer["error"]) if "error" in answer else None
            if error is not None and has_no_room(error) and self._has_others(told["worker"], error):
                continue
            task = open_tasks.pop(answer["task"])
            group.shares.pop(answer["task"], None)
            if error is None and not answer["done"]:
                open_tasks[id(task)] = task
                continue
            if error is None:
                error = self._arrived(task, told["data"].get(answer["task"]))
            self._told(Outcome(task, error, answer.get("cost_s", 0.0)))
        if open_tasks:
            group.tasks = list(open_tasks.values())
            self.waiting.appendleft(group)

    def _arrived(self, task: Task, data: bytes | None) -> BaseException | None:
        """Stores a result in its place; returns None on success."""
        if data is not None:
            return self._placed(task, data)
        if self.store is not None:
            return self._placed(task, self.store.get(transfer.name_of(task)))
        return None if seen(task.sink.target) else WorkerError(f"{task.sink.target} has not come from the worker")

    def _placed(self, task: Task, data: bytes) -> BaseException | None:
        try:
            force = bool(task.sink.arguments.get("force", False))
            expected = None if self.store is None else transfer.Expected.of(task)
            transfer.unpack(data, task.sink.target, force=force, expected=expected)
        except (OSError, RecordError) as error:
            return error
        return None

    def _has_others(self, worker: str, error: BaseException) -> bool:
        """Whether workers with room remain, after the disk of this one has filled."""
        self.full.add(worker)
        self.known |= set(self.cluster.workers())
        # A restarting worker is absent only briefly: `known` retains it.
        if not self.known - self.full:
            return False
        self._say(f"{worker} has no room ({error}): its runs go to the others")
        return True

    def _again(self, group: _Group, error: BaseException) -> None:
        group.attempts += 1
        if group.attempts < ATTEMPTS:
            self.waiting.appendleft(group)
        else:
            self._give_up(group, error)

    def _give_up(self, group: _Group, error: BaseException | None) -> None:
        for task in group.tasks:
            said = f"{task.cc}, seed {task.job.seed}: {type(error).__name__}: {error}"
            if type(error).__name__ == KILLED:
                said = (
                    f"the workers that ran {task.cc}, seed {task.job.seed} ended, one by one: out of memory, or killed"
                )
            self._told(Outcome(task, WorkerError(said)))

    def _told(self, outcome: Outcome) -> None:
        self.done += 1
        self.on_outcome(outcome)

    def _heard(self, event: Any) -> None:
        """Receives progress reports of workers; runs on a thread of the client."""
        _, message = event
        for group in list(self.running.values()):
            if any(id(t) == message["task"] for t in group.tasks):
                group.shares[message["task"]] = min(1.0, message["share"])

    def _look(self) -> None:
        """Reports the overall progress, and whatever blocks it."""
        if not self.cluster.is_there():
            self._say("the scheduler has gone; waiting for it to come back")
            self.cluster.come_back(BACK_S)
            self.cluster.client.subscribe_topic(self.topic, self._heard)
            self.waiting.extendleft(self.running.values())
            self.running.clear()
            self.full.clear()
        if self.cluster.lonely_s() > LONELY_S:
            self.cluster.refuse_without_jobs()
            self._say("the cluster has no workers yet; waiting for some")
        if self.full:
            self._look_for_room()
        if self.on_progress is not None:
            parts = sum(sum(g.shares.values()) for g in list(self.running.values()))
            self.on_progress(self.done + parts)

    def _look_for_room(self) -> None:
        """Takes back the groups of dead workers.

        Raises RecordError if no worker with room appears.
        """
        there = set(self.cluster.workers())
        self.known |= there
        for key, group in list(self.running.items()):
            if group.allowed and not group.allowed & there:
                del self.running[key]
                group.future.release()
                group.future = None
                self.waiting.appendleft(group)
        if there - self.full or not self.known - self.full:
            # A worker has room; or none ever had, and the runs fail on the full workers.
            self.no_room_since = None
            return
        self.no_room_since = self.no_room_since or time.monotonic()
        self._say("no worker with room is left; waiting for one")
        if time.monotonic() - self.no_room_since > BACK_S:
            raise RecordError(
                f"for {BACK_S:.0f} s there has been no worker with room on its disk: free some on "
                f"{', '.join(sorted(self.full))}, or start others; what is complete is kept, the same call resumes"
            )

    def _say(self, text: str) -> None:
        """Prints a message, but only once."""
        if text not in self.said:
            self.said.add(text)
            complain(text)

    def _release(self) -> None:
        """Releases groups that are no longer wanted; workers cancel runs in progress."""
        left = [g.future for g in self.running.values() if g.future is not None]
        if left:
            with suppress(Exception):
                self.cluster.client.cancel(left, force=True)


def seen(target: Path) -> bool:
    """Whether a result is in its place.

    Network file systems show the files of other machines with a delay.
    """
    for _ in range(transfer.TRIES):
        if transfer.is_complete(target):
            return True
        time.sleep(transfer.PAUSE_S)
    return False


def other_core(worker: str, about: Mapping[str, Any]) -> str:
    """Message about a worker with another build of Perigee."""
    # Earlier builds report no version.
    theirs = f"{about.get('version', 'an older version')} (build {str(about['core'])[:8]})"
    ours = f"{_core.__version__} (build {core_version()[:8]})"
    return (
        f"worker {worker} has Perigee {theirs}, here is {ours}: another build may give other numbers; install the same "
        "wheel there"
    )
