# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transfer of results to their places: the folder of a record, or the file of a digest.

Partial results are never visible. If two attempts at the same run complete (a worker that is
presumed dead may continue), one is kept.
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
"""Key for the name of the result in the header of an archive."""
TAKEN = {errno.ENOTEMPTY, errno.EEXIST}
# Errors of a network file system if another machine has changed the file or the server is down.
PASSING = {errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EREMOTEIO}
TRIES, PAUSE_S = 6, 0.5


def patiently(act: Callable[[], T]) -> T:
    """Retries an action that a network file system may reject temporarily."""
    for _ in range(TRIES - 1):
        try:
            return act()
        except OSError as error:
            if error.errno not in PASSING:
                raise
            time.sleep(PAUSE_S)
    return act()


def is_there(target: Path) -> bool:
    """Whether a complete result is in its place."""
    return target.is_file() or (target / MANIFEST).is_file()


@contextmanager
def scratch(target: Path) -> Iterator[Path]:
    """A temporary folder next to `target` (on the same file system), private to this attempt."""
    folder = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}{PARTIAL}")
    patiently(lambda: folder.mkdir(parents=True))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        forget_empty(folder.parent)


def forget_scratch(target: Path) -> None:
    """Removes the scratch folders that killed attempts at a result have left."""
    for folder in target.parent.glob(f"{target.name}.*{PARTIAL}"):
        shutil.rmtree(folder, ignore_errors=True)


def place(made: Path, target: Path, *, force: bool) -> bool:
    """Moves a result to its place atomically.

    Returns False if another attempt was first, unless `force`.
    """
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
        # Keeps the existing result.
        with suppress(OSError):
            old.rename(target)
        raise


@dataclass(frozen=True)
class Expected:
    """Identity of the result that an archive should contain."""

    name: str
    """The name, as returned by `name_of`."""
    key: str
    """The key of job and scheme, as in the record's manifest."""

    @staticmethod
    def of(task: Task) -> Expected:
        """The identity of a task's result."""
        return Expected(name_of(task), task.job.key(task.cc))


def pack(made: Path, name: str | None = None) -> bytes:
    """Packs a file or folder, with the name of the result.

    Adds no compression, since tables are compressed.
    """
    data = io.BytesIO()
    header = {} if name is None else {NAME: name}
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT, pax_headers=header) as archive:
        archive.add(made, arcname=made.name)
    return data.getvalue()


def unpack(data: bytes, target: Path, *, force: bool, expected: Expected | None = None) -> bool:
    """Moves the content of an archive to its place, as `place` does.

    Raises RecordError if the archive is damaged or is not the expected result.
    """
    with scratch(target) as folder:
        try:
            # Plain only: a compressed archive, or one with holes, may unpack to any size.
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
                if sum(member.size for member in archive.getmembers()) > len(data):
                    raise RecordError(
                        f"the result that was sent for {target} is damaged: it is larger than its archive"
                    )
                archive.extractall(folder, filter="data")
                name = archive.pax_headers.get(NAME)
        except tarfile.TarError as error:
            raise RecordError(f"the result that was sent for {target} is damaged: {error}") from None
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
            f"the object {expected.name}.tar of the store is not the result for {target}, but another one: remove it, "
            "and the same call makes it again"
        )


def name_of(task: Task) -> str:
    """Name of a task's result on any machine; results with the same name have the same content."""
    places = task.sink.places
    arguments = {k: v for k, v in task.sink.arguments.items() if k not in places and k != "force"}
    content = [task.job.key(task.cc), task.sink.call, arguments]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Store:
    """An object store (`s3://bucket/folder`, or another fsspec URL) with one archive per result."""

    def __init__(self, url: str) -> None:
        """Opens the store. Raises RecordError if it cannot be used."""
        self.url = url.rstrip("/")
        try:
            import fsspec

            self.files, self.root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise RecordError(f"--store {url}: {error}: pip install 'perigee-lab[cluster]' has s3fs") from None

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}.tar"

    def names(self) -> set[str]:
        """Names of the stored results. Raises RecordError."""
        self.files.invalidate_cache()
        try:
            found = self.files.ls(self.root, detail=False)
        except FileNotFoundError:
            return set()
        except Exception as error:  # from any client library of the store
            raise RecordError(f"--store {self.url} cannot be read: {error}") from None
        return {Path(f).name.removesuffix(".tar") for f in found if f.endswith(".tar")}

    def put(self, name: str, data: bytes) -> None:
        """Stores a result; objects appear atomically."""
        if "file" in self.files.protocol:
            os.makedirs(self.root, exist_ok=True)
            beside = f"{self._path(name)}.{uuid.uuid4().hex[:12]}{PARTIAL}"
            with naming(Path(self._path(name))), open(beside, "xb") as file:
                file.write(data)
            os.replace(beside, self._path(name))
        else:
            self.files.pipe_file(self._path(name), data)

    def get(self, name: str) -> bytes:
        """Reads a stored result."""
        self.files.invalidate_cache()
        found: bytes = self.files.cat_file(self._path(name))
        return found


def absolute(sink: Sink) -> dict[str, Any]:
    """The arguments of a sink with absolute paths, for a process in another folder."""
    given = sink.arguments
    return {k: str(Path(v).absolute()) if k in sink.places and v is not None else v for k, v in given.items()}
