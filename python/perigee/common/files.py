# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Files and folders that are written: wholly there or not at all, and by one process at a time."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTIAL = ".partial"
LOCK = ".perigee.lock"


class RecordError(Exception):
    """A record is missing, damaged, or in the way."""


NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
REMEDIES = {
    **dict.fromkeys(NO_ROOM, "make room there, or write elsewhere"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a place that you may write to"),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG), "choose another name"),
}


def has_no_room(error: BaseException) -> bool:
    """Whether nothing more can be written: then it makes no sense to go on with other files."""
    return isinstance(error, OSError) and error.errno in NO_ROOM


def cannot_write(path: Path, error: OSError) -> str:
    """One line for a person: the file that the error names, or else `path`; what happened; the remedy."""
    named = Path(error.filename) if isinstance(error.filename, str) else path
    if named in path.parents:
        # A folder on the way, which was to be made.
        named = path
    what = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
    remedy = REMEDIES.get(error.errno or 0)
    return f"cannot write {named}: {what}" + (f"; {remedy}" if remedy else "")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of the block name `path`, not the name that it has while it is being written, and never none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def sha256_of(path: Path) -> str:
    """SHA-256 of a file of any size, hexadecimal."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


@contextmanager
def written(path: Path, *, folders: bool = False) -> Iterator[Path]:
    """A name beside `path` to write to.

    It becomes `path` when the block ends well and goes when it does not. What is no plain file (a pipe, /dev/stdout) is
    written directly. Missing folders are made if `folders` says so. An `OSError` names `path`.
    """
    partial = path.with_name(path.name + PARTIAL)
    if path.exists() and not path.is_file():
        partial = path
    try:
        with naming(path):
            if folders:
                path.parent.mkdir(parents=True, exist_ok=True)
            yield partial
            if partial != path:
                partial.replace(path)
    finally:
        if partial != path:
            _remove(partial)


@contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """As `written`, for a folder. One that holds something already is filled where it stands."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        yield folder
        return
    partial = folder.with_name(folder.name + PARTIAL)
    _remove(partial)
    try:
        yield partial
        if folder.exists():
            folder.rmdir()
        partial.replace(folder)
    finally:
        _remove(partial)


def _remove(partial: Path) -> None:
    if partial.is_dir() and not partial.is_symlink():
        shutil.rmtree(partial, ignore_errors=True)
    else:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def forget_empty(folder: Path) -> None:
    """Removes a folder in which nothing is."""
    with suppress(OSError):
        folder.rmdir()


def write_text(path: Path, text: str) -> None:
    """Writes a file that is either wholly there or not at all. An `OSError` names it."""
    with written(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        if partial != path:
            os.fsync(file.fileno())


@contextmanager
def claimed(folder: Path, *, fresh: bool = False) -> Iterator[None]:
    """Makes a folder, unless it is there, and keeps other processes from claiming it.

    The system forgets the claim when the process dies. What was made (also before, if `fresh`) goes again if nothing
    came into it.

    Raises:
        RecordError: it cannot be written to, or is claimed.
    """
    made = [folder] if fresh else [p for p in (folder, *folder.parents) if not p.exists()]
    descriptor = None
    try:
        make_ready(folder)
        descriptor = _lock(folder)
        yield
    finally:
        if descriptor is not None:
            # Under the lock, so that nobody else's file goes.
            with suppress(OSError):
                (folder / LOCK).unlink()
            os.close(descriptor)
        for p in made:
            with suppress(OSError):
                p.rmdir()


def refuse_file(folder: Path) -> None:
    """Raises RecordError if a file stands where a folder is wanted."""
    if folder.exists() and not folder.is_dir():
        raise RecordError(f"cannot write to {folder}: it is a file, a folder is wanted")


def make_ready(folder: Path) -> None:
    """Makes sure that a folder can be written to, before hours are spent on what belongs there."""
    try:
        refuse_file(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RecordError(f"cannot write to {folder}: {error.strerror or error}") from None


def is_claimed(folder: Path) -> bool:
    """Whether a process that lives writes to a folder."""
    if not (folder / LOCK).exists():
        return False
    try:
        descriptor = _lock(folder)
    except RecordError:
        return True
    if descriptor is not None:
        os.close(descriptor)
    return False


def _lock(folder: Path) -> int | None:
    """An open file with the lock of a folder; None where the system has no such locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    path = folder / LOCK
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RecordError(f"cannot write to {folder}: {error.strerror or error}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise RecordError(
                f"{folder} is being written by another perigee: wait until it has ended, or give another folder"
            ) from None
        except OSError:
            # A file system without locks.
            os.close(descriptor)
            return None
        # The one before may have removed the file between our opening and our locking it.
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def fresh_folder(name: str, base: Path) -> Path:
    """Makes base/NAME, or base/NAME-2 and so on where that is taken: nobody else gets the same.

    Raises:
        RecordError: it cannot be made.
    """
    try:
        for folder in (base / name, *(base / f"{name}-{n}" for n in range(2, 100_000))):
            with suppress(FileExistsError):
                folder.mkdir(parents=True)
                return folder
    except OSError as error:
        raise RecordError(f"cannot write to {base}: {error.strerror or error}") from None
    raise RecordError(f"{base} is full of folders {name}: give one with --out")
