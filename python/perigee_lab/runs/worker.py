# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Worker process (see `common.interpreter`): jobs on standard input, outcomes on a descriptor.

Messages are lines of JSON. A worker runs one group of tasks at a time: the schemes of a job, on the
number of threads that the parent requests (the simulator releases the interpreter's lock). The
network of a job is built once. The process ends at the end of its input, when its parent has ended
for whatever reason.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perigee_lab.runs.work import Opened

# Minimum interval between progress reports of a task.
REPORT_S = 0.25


class Worker:
    """Executor of the groups of tasks in its input."""

    def __init__(self, source: Any, answers: Any) -> None:
        """Reads lines from `source`, writes lines to `answers`."""
        self.source, self.answers = source, answers
        self.writing = threading.Lock()
        self.changed = threading.Condition()
        self.group: dict[str, Any] | None = None
        self.waiting: deque[dict[str, Any]] = deque()
        self.threads = 1
        self.stopping = False

    def serve(self) -> None:
        """Runs until stopped."""
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.group is not None or self.stopping)
                group, self.group = self.group, None
            if group is None:
                return
            self._work(group)

    def _listen(self) -> None:
        for line in self.source:
            message = json.loads(line)
            with self.changed:
                self.threads = message.get("threads", self.threads)
                self.stopping = self.stopping or message.get("stop", False)
                if "job" in message:
                    self.group = message
                self.changed.notify_all()
        # The input has ended: no process is left to read a result.
        os._exit(1)

    def report(self, **message: Any) -> None:
        """Sends a message."""
        with self.writing:
            self.answers.write(json.dumps(message) + "\n")
            self.answers.flush()

    def _work(self, group: dict[str, Any]) -> None:
        try:
            at = opened(group)
            at.world()
        except BaseException as error:
            for task in group["tasks"]:
                self.report(task=task["id"], error=described(error))
        else:
            self._share(at, group)
        self.report(idle=True)

    def _share(self, at: Any, group: dict[str, Any]) -> None:
        """Distributes the tasks of a group over the requested number of threads."""
        self.waiting = deque(group["tasks"])
        working = 0

        def take() -> None:
            nonlocal working
            while True:
                with self.changed:
                    if not self.waiting or self.stopping or working > self.threads:
                        working -= 1
                        self.changed.notify_all()
                        return
                    task = self.waiting.popleft()
                self._one(at, group, task)

        with self.changed:
            while True:
                while self.waiting and not self.stopping and working < self.threads:
                    working += 1
                    threading.Thread(target=take, daemon=True).start()
                if working == 0:
                    return
                self.changed.wait()

    def _one(self, at: Any, group: dict[str, Any], task: dict[str, Any]) -> None:
        from perigee_lab.runs import work

        last_s = time.monotonic()

        def go_on(share: float) -> bool:
            nonlocal last_s
            if time.monotonic() - last_s > REPORT_S:
                last_s = time.monotonic()
                self.report(task=task["id"], share=share)
            return not self.stopping

        def make(batches: Any) -> Any:
            about, threads = group["about"], group.get("run_threads", 1)
            run = work.perform(at, task["cc"], go_on, batches=batches, capture=capture, about=about, threads=threads)
            if run is not None:
                self.report(task=task["id"], saving=True)
            return run

        capture = None if task["capture"] is None else Path(task["capture"])
        begin = time.perf_counter()
        try:
            if capture is not None:
                from perigee_lab.common.files import fresh

                fresh(capture)
            run = work.Sink(task["call"], task["arguments"])(make)
            self.report(task=task["id"], done=run is not None, cost_s=time.perf_counter() - begin)
        except BaseException as error:
            self.report(task=task["id"], error=described(error))
        finally:
            if capture is not None:
                shutil.rmtree(capture, ignore_errors=True)


def opened(group: dict[str, Any]) -> Opened:
    """Opens the job of a group. Raises as `work.opened` does."""
    from perigee_lab.extensions import trust
    from perigee_lab.runs import job, work

    may = group["may"]
    permission = trust.Permission(
        may["everything"],
        frozenset(map(Path, may["files"])),
        frozenset(may["modules"]),
        frozenset(map(Path, may["sealed"])),
        may["programs"],
    )
    return work.opened(job.from_json(group["job"]), permission)


def described(error: BaseException) -> dict[str, Any]:
    """An exception as JSON data, with its cause, which locates the failure of a plug-in."""
    import traceback

    cause = error.__cause__
    found: dict[str, Any] = {
        "kind": type(error).__name__,
        "module": type(error).__module__,
        "arguments": [a if isinstance(a, (str, int, type(None))) else str(a) for a in error.args],
        "cause": None if cause is None else "".join(traceback.format_exception(cause)),
        "trace": "".join(traceback.format_exception(error)),
    }
    if isinstance(error, OSError):
        found["file"] = None if error.filename is None else str(error.filename)
    return found


def _die_with_parent() -> None:
    """Ends this process with its parent, even if a plug-in blocks it; Linux only."""
    if sys.platform == "linux":
        import ctypes

        # PR_SET_PDEATHSIG of prctl(2), SIGKILL.
        ctypes.CDLL(None).prctl(1, 9)


def main() -> None:
    """Entry point."""
    _die_with_parent()
    # The input and output of plug-ins are not part of the protocol.
    source = os.fdopen(os.dup(0), encoding="utf-8")
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    os.dup2(sys.stdin.fileno(), 0)
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as answers:
        Worker(source, answers).serve()
        for stream in (sys.stdout, sys.stderr):
            # None where the caller has closed it (`>&-`).
            if stream is not None:
                stream.flush()
        # Skips the shutdown of the interpreter, which would wait for a timeline that is still being
        # computed.
        answers.flush()
        os._exit(0)
