# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Atomic writes of files and folders, by one process at a time."""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from perigee_lab.common import names
from perigee_lab.common.errors import CommandError, PerigeeError
from perigee_lab.common.exit_codes import BAD_INPUT
from perigee_lab.common.reading import UnreadableError, check, opened, special

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTIAL = ".partial"
# Attempts to remove a folder to which another thread adds files.
REMOVALS = 10
LOCK = ".perigee.lock"
FRESH = ".perigee-"
"""Prefix of the names of files being written."""
# Top-level folders in which a path may intentionally refer to something other than a regular file.
STREAMS = (("dev",), ("proc",))
# Exception: a folder there that holds regular files.
SHARED = ("dev", "shm")
# Whether names can be relative to an open folder, and links can be rejected.
AT = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)
# Path by which an open file can be reopened, even if it was renamed or removed.
OPEN_FILES = Path("/proc/self/fd")


class RecordError(PerigeeError):
    """A record is missing, damaged, or in the way."""


NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
REMEDIES = {
    **dict.fromkeys(NO_ROOM, "make room there, or write elsewhere"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a place that you may write to"),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG), "choose another name"),
}


def has_no_room(error: BaseException) -> bool:
    """Whether no space is left: writing further files would also fail."""
    return isinstance(error, OSError) and error.errno in NO_ROOM


def cannot_write(path: Path, error: OSError) -> str:
    """One line: the file that the error names, or else `path`; the cause; the remedy."""
    named = Path(error.filename) if isinstance(error.filename, str) else path
    if named in path.parents:
        # A parent folder that had to be created.
        named = path
    if isinstance(error, UnreadableError):
        return f"cannot read {named}: {error.strerror}"
    what = os.strerror(error.errno) if error.errno else " ".join((error.strerror or str(error)).split())
    remedy = REMEDIES.get(error.errno or 0)
    return f"cannot write {named}: {what}" + (f"; {remedy}" if remedy else "")


@contextmanager
def writing(path: Path, code: int = BAD_INPUT) -> Iterator[None]:
    """Converts a system error into one that states the file, or else `path`, and the remedy.

    Raises:
        CommandError: with the exit code `code`.
    """
    try:
        yield
    except BrokenPipeError:
        # The reader of the output has exited, which is not a failure.
        raise
    except OSError as error:
        raise CommandError(cannot_write(path, error), code) from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors within the block name `path`, instead of its temporary name or no name."""
    try:
        yield
    except UnreadableError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def sha256_of(path: Path) -> str:
    """SHA-256 of a regular file, hexadecimal. Raises as `reading.opened` does."""
    found = hashlib.sha256()
    with opened(path) as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


@contextmanager
def written(path: Path, *, folders: bool = False) -> Iterator[Path]:
    """A temporary name, renamed to `path` if the block succeeds and removed if it fails.

    No link is followed: one at `path` is replaced, and the temporary name is random and new.
    Paths below /dev or /proc (/dev/stdout, a pipe of the shell) are written directly.
    Missing folders are created with `folders`. An `OSError` names `path`.
    """
    with naming(path):
        if _is_stream(path):
            yield path
            return
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        with _Room(path.parent) as room:
            made: list[str] = []
            try:
                descriptor = room.fresh(made)
                # Locked until the file has its final name; without support for locks, open files keep
                # their names.
                with os.fdopen(descriptor, "wb") as held:
                    yield room.path_of(descriptor, made[-1])
                    if not AT:
                        held.close()
                    room.rename(made[-1], path.name)
            except BaseException:
                for name in made:
                    room.remove(name)
                raise


def _is_stream(path: Path) -> bool:
    """Whether a path is a sink that is not a regular file. Raises OSError if it must not be one."""
    try:
        found = path.stat().st_mode
    except OSError:
        return False
    place = Path(os.path.abspath(path)).parts
    if place[1:2] in STREAMS and place[1:3] != SHARED:
        # Includes regular files, which standard output may be: their names must not be replaced.
        return not stat.S_ISDIR(found)
    kind = None if stat.S_ISDIR(found) else special(found)
    if kind is None:
        return False
    if path.is_symlink():
        # The link is replaced, since its target is not the requested path.
        return False
    raise OSError(None, f"it is {kind}, not a file; remove it, or choose another name")


def is_named_pipe(path: Path) -> bool:
    """Whether a path is that of a pipe in a folder.

    False for pipes of open descriptors, as shells make for `<(command)`: their writers exist.
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    places = (Path(os.path.abspath(path)).parts, Path(os.path.realpath(path)).parts)
    descriptor = any(place[1:2] in STREAMS and place[1:3] != SHARED for place in places)
    return stat.S_ISFIFO(found.st_mode) and not descriptor


class _Room:
    """An open folder: names resolve within this folder even if it is renamed or replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.at = folder, None
        if AT:
            self.at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> _Room:
        return self

    def __exit__(self, *_: object) -> None:
        if self.at is not None:
            os.close(self.at)

    def fresh(self, made: list[str]) -> int:
        """An open new file. Removes files that killed processes have left.

        Its name is appended to `made` before the file exists: an interrupt may come at any moment.
        """
        self._sweep()
        while True:
            name = f"{FRESH}{secrets.token_hex(8)}{PARTIAL}"
            made.append(name)
            with suppress(FileExistsError):
                descriptor = self._open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                _claim(descriptor, wait=True)
                # Another writer may have found the file unlocked and removed it.
                if os.fstat(descriptor).st_nlink:
                    return descriptor
                os.close(descriptor)
            # The file of another writer, or one that another writer has removed.
            made.remove(name)

    def path_of(self, descriptor: int, name: str) -> Path:
        """A path that reopens the open file, if possible independent of its name."""
        return OPEN_FILES / str(descriptor) if OPEN_FILES.is_dir() else self.folder / name

    def rename(self, name: str, target: str) -> None:
        """Gives a file its name."""
        if self.at is None:
            os.replace(self.folder / name, self.folder / target)
        else:
            os.replace(name, target, src_dir_fd=self.at, dst_dir_fd=self.at)

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""
        with suppress(OSError):
            os.unlink(self.folder / name if self.at is None else name, dir_fd=self.at)

    def _open(self, name: str, flags: int) -> int:
        path = self.folder / name if self.at is None else name
        return os.open(path, flags | NO_LINKS | getattr(os, "O_CLOEXEC", 0), 0o666, dir_fd=self.at)

    def _sweep(self) -> None:
        """Removes files of dead writers. The system has released their locks."""
        if self.at is None:
            return
        for name in os.listdir(self.at):
            if not (name.startswith(FRESH) and name.endswith(PARTIAL)):
                continue
            with suppress(OSError):
                descriptor = self._open(name, os.O_RDONLY | os.O_NONBLOCK)
                try:
                    if _claim(descriptor):
                        self.remove(name)
                finally:
                    os.close(descriptor)


def _claim(descriptor: int, *, wait: bool = False) -> bool:
    """Whether this process holds the lock of an open file; also False without support for locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


@contextmanager
def appended(path: Path) -> Iterator[TextIO]:
    """A file opened for appending, created if missing, never a link. An `OSError` names it."""
    with naming(path), _Room(path.parent) as room:
        descriptor = room._open(path.name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            check(os.fstat(descriptor), path)
            yield file


@contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """As `written`, for a folder. A non-empty one is filled in place."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        yield folder
        return
    # Another process may fill the same folder: the first to finish has it.
    partial = folder.with_name(f"{folder.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL}")
    _forget_dead(folder)
    try:
        yield partial
        if folder.exists():
            folder.rmdir()
        partial.replace(folder)
    finally:
        removed(partial)


def _forget_dead(folder: Path) -> None:
    """Removes what killed processes have left beside a folder that they were filling."""
    removed(folder.with_name(folder.name + PARTIAL))
    for left in folder.parent.glob(f"{glob.escape(folder.name)}.*-*{PARTIAL}"):
        number = left.name.removeprefix(f"{folder.name}.").partition("-")[0]
        if number.isascii() and number.isdigit() and not _is_alive(int(number)):
            removed(left)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def fresh(folder: Path) -> Path:
    """An empty folder in place of a link or the remains of a killed run. An OSError names it."""
    with naming(folder):
        removed(folder)
        folder.mkdir(parents=True)
    return folder


def inner(folder: Path) -> Path:
    """Makes a folder within one that may come from others, unless it is there.

    Raises:
        RecordError: the folder is a link, which would redirect the output.
        OSError: it cannot be made.
    """
    refuse_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def own_matches(base: Path, pattern: str) -> list[Path]:
    """What is in a folder that the user did not name, by a pattern of its names; no links, nor through one."""
    return [] if base.is_symlink() else [p for p in base.glob(pattern) if not p.is_symlink()]


def refuse_link(folder: Path) -> None:
    """Raises RecordError if a folder that the user did not name is a link."""
    if folder.is_symlink():
        raise RecordError(
            f"cannot write to {folder}: it is a link; remove it, or choose another folder (--out may lead through it)"
        )


def removed(partial: Path) -> None:
    """Removes a file, a folder with its contents, or a link (not its target)."""
    if partial.is_dir() and not partial.is_symlink():
        # Interrupted work of the core may still add files (`interruptible`).
        for _ in range(REMOVALS):
            shutil.rmtree(partial, ignore_errors=True)
            if not partial.exists():
                break
    else:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def forget_empty(folder: Path) -> None:
    """Removes a folder if it is empty."""
    with suppress(OSError):
        folder.rmdir()


def write_text(path: Path, text: str) -> None:
    """Writes a file atomically. An `OSError` names it."""
    with written(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        if partial != path:
            os.fsync(file.fileno())


def copied(source: Path, target: Path) -> None:
    """Copies a file's content atomically. An `OSError` names the target."""
    with written(target) as partial:
        shutil.copyfile(source, partial)


@contextmanager
def claimed(folder: Path, *, fresh: bool = False) -> Iterator[None]:
    """Creates a folder unless it exists, and locks it against other processes.

    The system releases the lock when the process dies. Folders created here (with `fresh`, also
    earlier) are removed again if they are still empty.

    Raises:
        RecordError: the folder cannot be written to, or is locked.
    """
    made = [folder] if fresh else [p for p in (folder, *folder.parents) if not p.exists()]
    descriptor = None
    try:
        make_ready(folder)
        descriptor = _lock(folder)
        yield
    finally:
        if descriptor is not None:
            # Under the lock, so that no file of another process is removed.
            with suppress(OSError):
                (folder / LOCK).unlink()
            os.close(descriptor)
        for p in made:
            with suppress(OSError):
                p.rmdir()


def refuse_file(folder: Path) -> None:
    """Raises RecordError if a file exists where a folder is required."""
    if folder.exists() and not folder.is_dir():
        raise RecordError(f"cannot write to {folder}: it is a file, a folder is wanted")


def make_ready(folder: Path) -> None:
    """Ensures that a folder can be written to, before hours are spent on its contents."""
    try:
        refuse_file(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RecordError(f"cannot write to {folder}: {error.strerror or error}") from None


def is_claimed(folder: Path) -> bool:
    """Whether a live process has locked a folder."""
    if not os.path.lexists(folder / LOCK):
        return False
    try:
        descriptor = _lock(folder)
    except RecordError:
        return True
    if descriptor is not None:
        os.close(descriptor)
    return False


def _lock(folder: Path) -> int | None:
    """An open file with the lock of a folder; None without support for locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    path = folder / LOCK
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | NO_LINKS, 0o644)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise RecordError(f"cannot write to {folder}: {path} is no file of ours; remove it") from None
            raise RecordError(f"cannot write to {folder}: {error.strerror or error}") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise RecordError(f"cannot write to {folder}: {path} is no file of ours; remove it")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise RecordError(
                f"{folder} is being written by another perigee: wait until it has ended, or give another folder"
            ) from None
        except OSError:
            # A file system without support for locks.
            os.close(descriptor)
            return None
        # The previous holder may have removed the file between our open and our lock.
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), path.lstat()):
                return descriptor
        os.close(descriptor)


def fresh_folder(name: str, base: Path) -> Path:
    """Creates base/NAME, or base/NAME-2 and so on if that exists; the result is exclusive.

    A name that would leave `base` is replaced by one that does not.

    Raises:
        RecordError: the folder cannot be created, or `base` is a link.
    """
    refuse_link(base)
    if not name or name != Path(name).name or name.startswith("."):
        name = names.as_folder(name)
    try:
        for folder in (base / name, *(base / f"{name}-{n}" for n in range(2, 100_000))):
            with suppress(FileExistsError):
                folder.mkdir(parents=True)
                return folder
    except OSError as error:
        raise RecordError(f"cannot write to {base}: {error.strerror or error}") from None
    raise RecordError(f"{base} is full of folders {name}: give one with --out")
