# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Source of a kernel: Debian's package, an archive, or a folder."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from perigee_lab.hosts import pinned
from perigee_lab.hosts.kernels import KernelError, Source
from perigee_lab.hosts.own import sha256
from perigee_lab.hosts.steps import Progress, call, counting

OFFLINE = "or give the source with --source FOLDER, an archive of it, or the deb"


@dataclass(frozen=True)
class Origin:
    """A source identified by its hash, and its location."""

    source: Source
    at: Path | None
    """Folder or archive; None: Debian's package, not fetched yet."""


def identify(given: Path | None, work: Path, progress: Progress) -> Origin:
    """Identifies the source; Debian's package of this release need not be fetched for that.

    Raises:
        KernelError: there is no source.
    """
    if given is None:
        return Origin(Source(f"{pinned.PACKAGE} {pinned.VERSION}", pinned.SHA256, pinned=True), None)
    if given.is_dir():
        if not ((given / "Makefile").is_file() and (given / "arch/um").is_dir()):
            raise KernelError(f"--source {given} is no source of Linux: it has no Makefile or no arch/um")
        progress("reading the source", 0, 0)
        return Origin(Source(given.resolve().name, hash_of_folder(given), pinned=False), given)
    if not given.is_file():
        raise KernelError(f"--source {given}: there is no such folder or archive")
    return _archive(given, work, progress, given.name)


def _archive(file: Path, work: Path, progress: Progress, name: str) -> Origin:
    progress("reading the archive", 0, 0)
    archive = _within(file, work) if file.suffix == ".deb" else file
    found = sha256(archive)
    return Origin(Source(name, found, pinned=found == pinned.SHA256), archive)


def _within(deb: Path, work: Path) -> Path:
    """Extracts the source archive of a deb."""
    done = call(["dpkg-deb", "-x", deb.resolve(), work / "deb"], work)
    found = sorted((work / "deb/usr/src").glob("linux-source-*.tar.*")) if done.code == 0 else []
    if len(found) != 1:
        raise KernelError(f"{deb} is no Debian package of a kernel's source:\n{done.errors}".rstrip(":\n "))
    return found[0]


def hash_of_folder(folder: Path) -> str:
    """Hash of a folder's files: names, contents and execute permissions; .git is ignored."""
    found = hashlib.sha256()
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != ".git")
        for name in sorted(files):
            path = Path(base, name)
            what = f"link {os.readlink(path)}" if path.is_symlink() else sha256(path)
            runs = "x" if not path.is_symlink() and os.access(path, os.X_OK) else "-"
            found.update(f"{path.relative_to(folder).as_posix()}\0{runs}\0{what}\n".encode(errors="surrogateescape"))
    return found.hexdigest()


def fetch(origin: Origin, work: Path, progress: Progress) -> Origin:
    """Fetches Debian's package as an archive.

    If the version of this release is gone, the current one.

    Raises:
        KernelError: it is not available.
    """
    progress(f"fetching {pinned.PACKAGE}", 0, 0)
    folder = work / "download"
    folder.mkdir()
    # apt-get as root fetches as another user, who must be able to write here.
    folder.chmod(0o777)
    done = call(["apt-get", "download", f"{pinned.PACKAGE}={pinned.VERSION}"], folder)
    if done.code != 0:
        done = call(["apt-get", "download", pinned.PACKAGE], folder)
    debs = sorted(folder.glob("*.deb"))
    if done.code != 0 or not debs:
        raise KernelError(
            f"{pinned.PACKAGE} cannot be fetched (apt-get update, as root, may help; {OFFLINE}):\n{done.errors}"
        )
    version = debs[0].name.split("_")[1].replace("%3a", ":")
    found = _archive(debs[0], work, progress, f"{pinned.PACKAGE} {version}")
    if version == pinned.VERSION and not found.source.pinned:
        raise KernelError(f"{debs[0].name} is not what it was: its archive has the hash {found.source.sha256}")
    return replace(origin, source=found.source, at=found.at)


def unpack(origin: Origin, tree: Path, progress: Progress, *, lean: bool) -> None:
    """Unpacks the source into its own folder; if `lean`, only the files that the kernel uses.

    Raises:
        KernelError: it is no source of Linux, or damaged.
    """
    at = origin.at
    assert at is not None  # fetched
    if at.is_dir():
        progress("copying the source", 0, 0)
        shutil.copytree(at, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        done = call(["make", "ARCH=um", "mrproper"], tree)
        if done.code != 0:
            raise KernelError(f"{at} cannot be made clean:\n{done.errors}")
        return
    tree.mkdir()
    on_line = counting(progress, "unpacking", pinned.FEWER_FILES if lean else pinned.FILES)
    words = ["tar", "-xvf", at.resolve(), "--strip-components=1", "--no-same-owner", "--wildcards"]
    done = call([*words, *(f"--exclude={p}" for p in pinned.LEFT_OUT if lean)], tree, on_line=on_line)
    if done.code != 0:
        raise KernelError(f"{at} cannot be unpacked:\n{done.errors}")
    if not ((tree / "Makefile").is_file() and (tree / "arch/um").is_dir()):
        raise KernelError(f"{at} is no source of Linux: it has no Makefile or no arch/um")
