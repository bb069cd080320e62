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
"""Of the header of an archive."""
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


@dataclass(frozen=True)
class Expected:
    """Which result an archive should hold."""

    name: str
    """That of `name_of`."""
    key: str
    """Of job and scheme, which the manifest of a record has."""

    @staticmethod
    def of(task: Task) -> Expected:
        """That of a task."""
        return Expected(name_of(task), task.job.key(task.cc))


def pack(made: Path, name: str | None = None) -> bytes:
    """A file or folder as one archive, with the name of the result. Tables are compressed already."""
    data = io.BytesIO()
    header = {} if name is None else {NAME: name}
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT, pax_headers=header) as archive:
        archive.add(made, arcname=made.name)
    return data.getvalue()


def unpack(data: bytes, target: Path, *, force: bool, expected: Expected | None = None) -> bool:
    """Places what an archive holds, as `place` does.

    Raises RecordError where it is damaged, or not the result that is expected.
    """
    with scratch(target) as folder:
        try:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(folder, filter="data")
                name = archive.pax_headers.get(NAME)
        except tarfile.TarError as error:
            raise RecordError(f"the result that was sent for {target} is damaged: {error}") from None
        made = folder / target.name
        if expected is not None:
            _check(made, target, name, expected)
        return place(made, target, force=force)


def _check(made: Path, target: Path, name: str | None, expected: Expected) -> None:
    """Raises RecordError for another result than what is expected; `name` is that of its archive."""
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
            with naming(Path(self._path(name))), open(beside, "xb") as file:
                file.write(data)
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
