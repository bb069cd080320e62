# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Results on their way from where a run was made to where they belong: a record's folder, or a digest's file.

Nobody sees a half of one, and of two attempts at the same run (a worker that was taken for dead may go on) one stays.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import tarfile
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee.common.files import PARTIAL, RecordError, forget_empty, naming
from perigee.results.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from perigee.runs.executor import Task
    from perigee.runs.work import Sink

    T = TypeVar("T")

TAKEN = {errno.ENOTEMPTY, errno.EEXIST}
# A network file system answers so when another machine has changed what one looks at; or when its server is away.
PASSING = {errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EREMOTEIO}
TRIES, PAUSE_S = 6, 0.5


def patiently(act: Callable[[], T]) -> T:
    """Does what a network file system may refuse for a moment, a few times."""
    for _ in range(TRIES - 1):
        try:
            return act()
        except OSError as error:
            if error.errno not in PASSING:
                raise
            time.sleep(PAUSE_S)
    return act()


def is_there(target: Path) -> bool:
    """Whether a whole result stands at its place."""
    return target.is_file() or (target / MANIFEST).is_file()


@contextmanager
def scratch(target: Path) -> Iterator[Path]:
    """A folder beside `target` (on the same file system) that only this attempt knows; it goes with the block."""
    folder = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}{PARTIAL}")
    patiently(lambda: folder.mkdir(parents=True))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        forget_empty(folder.parent)


def forget_scratch(target: Path) -> None:
    """Removes what killed attempts at a result have left beside it."""
    for folder in target.parent.glob(f"{target.name}.*{PARTIAL}"):
        shutil.rmtree(folder, ignore_errors=True)


def place(made: Path, target: Path, *, force: bool) -> bool:
    """Gives a result its name, at one stroke; False if another attempt was first. With `force` the new one stays."""
    with naming(target):
        patiently(lambda: target.parent.mkdir(parents=True, exist_ok=True))
        if made.is_file():
            patiently(lambda: made.replace(target))
            return True
        try:
            patiently(lambda: made.rename(target))
        except OSError as error:
            if error.errno not in TAKEN:
                raise
        else:
            return True
        if not force:
            return False
        _exchange(made, target)
        return True


def _exchange(made: Path, target: Path) -> None:
    old = made.with_name(made.name + ".before")
    target.rename(old)
    try:
        made.rename(target)
    except OSError:
        # What was there is kept.
        with suppress(OSError):
            old.rename(target)
        raise


def pack(made: Path) -> bytes:
    """A file or folder as one archive. Tables are compressed already."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(made, arcname=made.name)
    return data.getvalue()


def unpack(data: bytes, target: Path, *, force: bool) -> bool:
    """Places what an archive holds, as `place` does. Raises RecordError where it is damaged."""
    with scratch(target) as folder:
        try:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise RecordError(f"the result that was sent for {target} is damaged: {error}") from None
        return place(folder / target.name, target, force=force)


def name_of(task: Task) -> str:
    """Names the result of a task wherever it is made: the same name, the same content."""
    places = task.sink.places
    arguments = {k: v for k, v in task.sink.arguments.items() if k not in places and k != "force"}
    content = [task.job.key(task.cc), task.sink.call, arguments]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Store:
    """An object store (`s3://bucket/folder`, or whatever else fsspec knows) with an archive for each result."""

    def __init__(self, url: str) -> None:
        """Opens it. Raises RecordError where it cannot be used."""
        self.url = url.rstrip("/")
        try:
            import fsspec

            self.files, self.root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise RecordError(f"--store {url}: {error}: pip install 'perigee-lab[cluster]' has s3fs") from None

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}.tar"

    def names(self) -> set[str]:
        """The results that are there. Raises RecordError."""
        self.files.invalidate_cache()
        try:
            found = self.files.ls(self.root, detail=False)
        except FileNotFoundError:
            return set()
        except Exception as error:  # of whatever client speaks to it
            raise RecordError(f"--store {self.url} cannot be read: {error}") from None
        return {Path(f).name.removesuffix(".tar") for f in found if f.endswith(".tar")}

    def put(self, name: str, data: bytes) -> None:
        """Stores a result; objects appear whole."""
        if "file" in self.files.protocol:
            os.makedirs(self.root, exist_ok=True)
            beside = f"{self._path(name)}.{uuid.uuid4().hex[:12]}{PARTIAL}"
            Path(beside).write_bytes(data)
            os.replace(beside, self._path(name))
        else:
            self.files.pipe_file(self._path(name), data)

    def get(self, name: str) -> bytes:
        """A result that is there."""
        self.files.invalidate_cache()
        found: bytes = self.files.cat_file(self._path(name))
        return found


def absolute(sink: Sink) -> dict[str, Any]:
    """The arguments of a sink for a process that works in another folder."""
    given = sink.arguments
    return {k: str(Path(v).absolute()) if k in sink.places and v is not None else v for k, v in given.items()}
