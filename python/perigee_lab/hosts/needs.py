# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Build prerequisites, checked up front."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from perigee_lab.hosts import pinned
from perigee_lab.hosts.kernels import KernelError

# Programs, and their packages on Debian and Ubuntu.
PROGRAMS = {
    "gcc": "gcc",
    "ld": "binutils",
    "strip": "binutils",
    "make": "make",
    "bash": "bash",
    "bc": "bc",
    "flex": "flex",
    "bison": "bison",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
}
FETCHING = {"apt-get": "apt", "dpkg-deb": "dpkg"}


def check_machine() -> None:
    """Raises KernelError on platforms without User-Mode Linux."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        found = f"{platform.system()} on {platform.machine()}"
        raise KernelError(f"kernels for real hosts run on Linux on x86-64 only; this is {found}")


def check_path(folder: Path) -> None:
    """Raises KernelError for paths in which Linux cannot be built."""
    if re.search(r"[\s:]", str(folder.resolve())):
        raise KernelError(
            f"Linux cannot be built in {folder}, because of the spaces or colons in this name: "
            "set XDG_CACHE_HOME to another folder"
        )


def check_tools(*, fetching: bool, archive: Path | None = None) -> None:
    """Raises KernelError with all missing programs; `fetching` adds those for Debian packages."""
    wanted = {**PROGRAMS, **(FETCHING if fetching else {})}
    if archive is not None and archive.suffix == ".deb":
        wanted["dpkg-deb"] = "dpkg"
    missing = {tool: package for tool, package in wanted.items() if shutil.which(tool) is None}
    if "gcc" not in missing and "ld" not in missing and not _compiles():
        missing["headers and static library of C"] = "libc6-dev"
    if not missing:
        return
    packages = " ".join(sorted(set(missing.values()) - set(FETCHING.values())))
    remedy = [f"on Debian and Ubuntu: apt-get install {packages}"] if packages else []
    if set(missing) & set(FETCHING):
        remedy.append(f"without Debian's tools give the source with --source: Linux {pinned.VERSION.split('-')[0]}")
    raise KernelError(f"to build a kernel this machine lacks {', '.join(missing)} ({'; '.join(remedy)})")


def _compiles() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        words = ["gcc", "-static", "-x", "c", "-o", f"{folder}/a", "-"]
        program = '#include <stdio.h>\nint main(void) { return puts(""); }\n'
        done = subprocess.run(words, input=program, text=True, capture_output=True, check=False)
    return done.returncode == 0


def check_room(folder: Path, *, lean: bool) -> None:
    """Raises KernelError if a folder's file system has too little space for a build."""
    free = shutil.disk_usage(folder).free
    room = pinned.LESS_ROOM if lean else pinned.ROOM
    if free < room:
        raise KernelError(
            f"building a kernel takes {room / 1e9:.1f} GB for some minutes, {folder} has {free / 1e9:.1f} GB: "
            "make room there, or set XDG_CACHE_HOME to a folder elsewhere"
        )


def version_of(program: str) -> str:
    """The first line that `PROGRAM --version` prints."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or [program])[0]
