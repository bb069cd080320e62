# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transfer of results (folders of records, files of digests) from workers to their final places.

Results appear atomically. If several attempts at the same run complete, since a worker that is
presumed dead may continue, one result is kept.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import PARTIAL, RecordError, forget_empty, naming
from perigee_lab.results import manifest as manifests
from perigee_lab.results.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from perigee_lab.runs.executor import Task
    from perigee_lab.runs.work import Sink

    T = TypeVar("T")

NAME = "PERIGEE.result"
"""Key of the name of the result in the header of an archive."""
# Errors of a rename to an existing folder.
TAKEN = {errno.ENOTEMPTY, errno.EEXIST}
# Temporary errors of a network file system: another machine has changed the file, or the server is
# down.
TRANSIENT = {errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EREMOTEIO}
TRIES, PAUSE_S = 6, 0.5


def retried(act: Callable[[], T]) -> T:
    """Result of an action, which is repeated for up to 2.5 s after transient errors. Raises OSError."""
    for _ in range(TRIES - 1):
        try:
            return act()
        except OSError as error:
            if error.errno not in TRANSIENT:
                raise
            time.sleep(PAUSE_S)
    return act()


def is_complete(target: Path) -> bool:
    """Whether there is a complete result at `target`."""
    return target.is_file() or (target / MANIFEST).is_file()


@contextmanager
def scratch(target: Path) -> Iterator[Path]:
    """A temporary folder for one attempt, next to `target` and thus on the same file system.

    It is removed at the end.
    """
    folder = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}{PARTIAL}")
    retried(lambda: folder.mkdir(parents=True))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        forget_empty(folder.parent)


def forget_scratch(target: Path) -> None:
    """Removes the scratch folders of killed attempts at a result."""
    for folder in target.parent.glob(f"{target.name}.*{PARTIAL}"):
        shutil.rmtree(folder, ignore_errors=True)


def place(made: Path, target: Path, *, force: bool) -> bool:
    """Moves a result to its place atomically.

    Returns False if there is a result already, unless `force` replaces it. Raises OSError.
    """
    with naming(target):
        retried(lambda: target.parent.mkdir(parents=True, exist_ok=True))
        if made.is_file():
            retried(lambda: made.replace(target))
            return True
        try:
            retried(lambda: made.rename(target))
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
        # Restores the existing result.
        with suppress(OSError):
            old.rename(target)
        raise


@dataclass(frozen=True)
class Expected:
    """Identity of the result that an archive must contain."""

    name: str
    """The name, as returned by `name_of`."""
    key: str
    """The key of job and scheme, as in the record's manifest."""

    @staticmethod
    def of(task: Task) -> Expected:
        """The identity of a task's result."""
        return Expected(name_of(task), task.job.key(task.cc))


def pack(made: Path, name: str | None = None) -> bytes:
    """Packs a file or folder into an archive, with the name of the result in its header.

    The archive is not compressed, since tables are.
    """
    data = io.BytesIO()
    header = {} if name is None else {NAME: name}
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT, pax_headers=header) as archive:
        archive.add(made, arcname=made.name)
    return data.getvalue()


def unpack(data: bytes, target: Path, *, force: bool, expected: Expected | None = None) -> bool:
    """Unpacks an archive and moves its content to its place, as `place` does.

    Raises:
        RecordError: the archive is damaged, or is not the expected result.
    """
    with scratch(target) as folder:
        try:
            # Only plain archives: compressed or sparse ones may unpack to any size.
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
                if sum(member.size for member in archive.getmembers()) > len(data):
                    raise RecordError(f"the received result for {target} is damaged: it is larger than its archive")
                archive.extractall(folder, filter="data")
                name = archive.pax_headers.get(NAME)
        except tarfile.TarError as error:
            raise RecordError(f"the received result for {target} is damaged: {error}") from None
        made = folder / target.name
        if expected is not None:
            _check(made, target, name, expected)
        return place(made, target, force=force)


def _check(made: Path, target: Path, name: str | None, expected: Expected) -> None:
    """Raises RecordError for an unexpected result; `name` is the name in its archive."""
    other = name != expected.name
    if made.is_dir():
        # Archives of earlier versions have no name.
        other = name not in (None, expected.name) or manifests.read(made / MANIFEST).key != expected.key
    if other:
        raise RecordError(
            f"the object {expected.name}.tar of the store is not the result for {target}: remove it and repeat the "
            "command"
        )


def name_of(task: Task) -> str:
    """Name of a task's result, the same on all machines; equal names imply equal contents."""
    places = task.sink.places
    arguments = {k: v for k, v in task.sink.arguments.items() if k not in places and k != "force"}
    content = [task.job.key(task.cc), task.sink.call, arguments]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Store:
    """An object store (`s3://bucket/folder`, or another fsspec URL) with one archive per result."""

    def __init__(self, url: str) -> None:
        """Opens the store. Raises RecordError if its file system is not installed."""
        self.url = url.rstrip("/")
        try:
            import fsspec

            self.files, self.root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise RecordError(
                f"--store {url}: {error} (for s3://, install s3fs: pip install 'perigee-lab[cluster]')"
            ) from None

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}.tar"

    def names(self) -> set[str]:
        """Names of the stored results. Raises RecordError if the store is unreadable."""
        self.files.invalidate_cache()
        try:
            found = self.files.ls(self.root, detail=False)
        except FileNotFoundError:
            return set()
        except Exception as error:  # from any client library of the store
            raise RecordError(f"--store {self.url} cannot be read: {error}") from None
        return {Path(f).name.removesuffix(".tar") for f in found if f.endswith(".tar")}

    def put(self, name: str, data: bytes) -> None:
        """Stores a result atomically. Raises OSError, or an error of the store's client library."""
        if "file" in self.files.protocol:
            os.makedirs(self.root, exist_ok=True)
            partial = f"{self._path(name)}.{uuid.uuid4().hex[:12]}{PARTIAL}"
            with naming(Path(self._path(name))), open(partial, "xb") as file:
                file.write(data)
            os.replace(partial, self._path(name))
        else:
            self.files.pipe_file(self._path(name), data)

    def get(self, name: str) -> bytes:
        """Reads a stored result. Raises OSError, or an error of the store's client library."""
        self.files.invalidate_cache()
        found: bytes = self.files.cat_file(self._path(name))
        return found


def absolute(sink: Sink) -> dict[str, Any]:
    """Arguments of a sink with absolute paths, for a process in another working directory."""
    given = sink.arguments
    return {k: str(Path(v).absolute()) if k in sink.places and v is not None else v for k, v in given.items()}
