# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Execution of a group of tasks in a worker process of a cluster.

A result is written to its place if the worker shares the caller's folder, or to an object store if
one is named; otherwise, it is returned with the answer.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import PARTIAL, fresh, has_no_room
from perigee_lab.runs import transfer
from perigee_lab.runs.connect import module
from perigee_lab.runs.worker import described, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Minimum interval between progress reports, and between checks for cancellation.
REPORT_S = 1.0
# Networks are built one at a time: permissions and the parser's cache are per process.
_opening = threading.Lock()


def about() -> dict[str, str]:
    """Properties that must agree with the caller's."""
    import platform

    from perigee_lab import _core
    from perigee_lab.runs.job import core_version

    return {"core": core_version(), "version": _core.__version__, "python": platform.python_version()}


def work_off(message: str, way: dict[str, Any]) -> dict[str, Any]:
    """Runs the tasks of a group, described by `message` as JSON.

    Keys of `way`: `sign`, a file that is visible if the folder is shared; `store`, the URL of the
    object store; `topic` for progress reports; `core`, the build of Perigee.

    Returns `answers`, one per task, as a worker on this machine would send them; `data` has
    archives of results that could not be written to their places.
    """
    worker = module("distributed").get_worker()
    group = json.loads(message)
    me = {"worker": worker.address, **about()}
    if me["core"] != way["core"]:
        return {**me, "answers": [], "other_core": True}
    report = _reporter(worker, way["topic"])
    answers: list[dict[str, Any]] = []
    data: dict[int, bytes] = {}
    try:
        with _opening:
            at = opened(group)
            at.world()
    except BaseException as error:
        return {**me, "answers": [{"task": t["id"], "error": described(error)} for t in group["tasks"]], "data": {}}
    shared = way["sign"] is not None and Path(way["sign"]).exists()
    store = None if way["store"] is None else transfer.Store(way["store"])
    for task in group["tasks"]:
        begin = time.perf_counter()
        try:
            done = _one(at, group, task, shared=shared, store=store, report=report, data=data)
            answers.append({"task": task["id"], "done": done, "cost_s": time.perf_counter() - begin})
        except BaseException as error:
            answers.append({"task": task["id"], "error": described(error)})
            if has_no_room(error):
                # Later tasks would fail as well, while other machines have room.
                break
        if not report(task["id"], 1.0):
            break
    return {**me, "answers": answers, "data": data}


def _one(
    at: Any,
    group: dict[str, Any],
    task: dict[str, Any],
    *,
    shared: bool,
    store: transfer.Store | None,
    report: Callable[[int, float], bool],
    data: dict[int, bytes],
) -> bool:
    from perigee_lab.runs import work

    sink = work.Sink(task["call"], task["arguments"], tuple(task["places"]))
    target, force = sink.target, bool(sink.arguments.get("force", False))
    if shared and store is None and not force and transfer.is_complete(target):
        # An earlier attempt, on a worker that has since died, has written the result.
        return True
    with _folder(target, shared=shared and store is None) as folder:
        here = sink.moved(folder)
        capture = None if task["capture"] is None else Path(here.arguments["capture"])
        if capture is not None:
            fresh(capture)

        def make(batches: Any) -> Any:
            go_on = lambda share: report(task["id"], share)  # noqa: E731
            return work.perform(at, task["cc"], go_on, batches=batches, capture=capture, about=group["about"])

        with _at_home(folder, target):
            run = here(make)
        if run is None:
            return False
        if store is not None:
            store.put(task["name"], transfer.pack(here.target, task["name"]))
        elif shared:
            transfer.place(here.target, target, force=force)
        else:
            data[task["id"]] = transfer.pack(here.target)
    return True


@contextmanager
def _folder(target: Path, *, shared: bool) -> Iterator[Path]:
    """Folder of a result in progress, next to its place or in a temporary folder."""
    if shared:
        with transfer.scratch(target) as folder:
            yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="perigee-", suffix=PARTIAL) as name:
            yield Path(name)


@contextmanager
def _at_home(folder: Path, target: Path) -> Iterator[None]:
    """Rewrites errors so that they name the target instead of the temporary file."""
    try:
        yield
    except OSError as error:
        if isinstance(error.filename, str) and error.filename.startswith(str(folder)):
            error.filename = str(target.parent) + error.filename.removeprefix(str(folder))
        raise


def _reporter(worker: Any, topic: str) -> Callable[[int, float], bool]:
    """Reports the progress of a task; returns whether the result is still wanted."""
    key = worker.get_current_task()
    last_s = 0.0

    def report(task: int, share: float) -> bool:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s < REPORT_S and share < 1.0:
            return True
        last_s = now_s
        worker.log_event(topic, {"task": task, "share": share})
        # If the caller is gone or has cancelled the task, the task has been released.
        state = worker.state.tasks.get(key)
        return state is not None and state.state != "cancelled"

    return report
