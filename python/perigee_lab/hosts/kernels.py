# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kernels that were built: a folder each in the user's cache, named by the hash of all that went in.

`linux` is the program, `agent` what it runs as its first process, `modules/*.ko` what the agent loads, `kit.tar.gz`
what further modules are compiled with, `kernel.json` the manifest, which is written last.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.exit_codes import BAD_INPUT
from perigee_lab.common.files import is_claimed, write_text
from perigee_lab.common.structures import Reader
from perigee_lab.hosts import own
from perigee_lab.hosts.own import File, sha256

MANIFEST = "kernel.json"
FORMAT = 1
LINUX, AGENT, KIT, MODULES = "linux", "agent", "kit.tar.gz", "modules"
# What is no kernel: where one is being built, and source trees that were kept.
WORK, TREE = "work", "tree-"
KEY = re.compile(r"[0-9a-f]{16}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
BUILD = "perigee kernel build"


class KernelError(PerigeeError):
    """A kernel cannot be built, found or booted; the message says why, `code` is what a command ends with."""

    def __init__(self, message: str, code: int = BAD_INPUT) -> None:
        """One or more lines, of which the first stands for itself."""
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Source:
    """Where a kernel's source came from: a package's or file's name, the hash of the archive or of the whole folder."""

    name: str
    sha256: str
    pinned: bool
    """Whether it is the one of this release (`perigee_lab.hosts.pinned`)."""


@dataclass(frozen=True)
class Manifest:
    """What is known of a kernel."""

    format: int
    name: str
    key: str
    """Hash of all that went in."""
    base: str
    """Hash of what went into the kernel itself, without agent and modules."""
    version: str
    """As `uname -r` has it."""
    source: Source
    patches: tuple[File, ...]
    """Perigee's own, in their order."""
    extra_patches: tuple[File, ...]
    """Those of the command line."""
    config_sha256: str
    modules: tuple[File, ...]
    """Sources of the modules of the command line."""
    agent_sha256: str | None
    """Of the agent's sources; None if it was built without."""
    compiler: str
    linker: str
    files: Mapping[str, str]
    """Hashes of the files in its folder, by name."""
    built: str
    """Time in UTC, ISO 8601."""
    build_s: float


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache."""

    folder: Path
    manifest: Manifest

    @property
    def key(self) -> str:
        """Names it in a job."""
        return self.manifest.key

    @property
    def plain(self) -> bool:
        """Whether nothing of the user's own is in it."""
        return not self.manifest.extra_patches and not self.manifest.modules

    @property
    def foreign(self) -> str | None:
        """What of another version of Perigee is in it: runs need that of this one."""
        m = self.manifest
        found = {
            "patches": [f.sha256 for f in m.patches] != [f.sha256 for f in own.hashed(own.patches())],
            "configuration": m.config_sha256 != sha256(own.config()),
            "agent": m.agent_sha256 != own.agent_sha256(),
        }
        return " and ".join(what for what, differs in found.items() if differs) or None

    @property
    def size(self) -> int:
        """Bytes on disk; what kernels share (`os.link`) counts for each."""
        return sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file())

    def as_json(self) -> dict[str, object]:
        """Manifest, folder and size, for machines."""
        return {**asdict(self.manifest), "folder": str(self.folder), "size_bytes": self.size, "foreign": self.foreign}


@dataclass(frozen=True)
class Damaged:
    """A folder in the cache that is no kernel any more."""

    folder: Path
    reason: str


def store() -> Path:
    """Where kernels are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "perigee" / "kernels"


def opened(folder: Path) -> Kernel:
    """A kernel, after a look at every file that running it needs.

    Raises:
        KernelError: it is damaged; the message names the file.
    """
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KernelError(f"{path} cannot be read: {error}") from None
    manifest = Reader(path, KernelError).structure(Manifest, found)
    if manifest.format != FORMAT:
        raise KernelError(f"{path} has format {manifest.format}, this version reads {FORMAT}")
    if manifest.key != folder.name:
        raise KernelError(f"{path} is the manifest of {manifest.key}")
    for name, expected in manifest.files.items():
        _check(folder / name, expected, whole=name != KIT)
    return Kernel(folder, manifest)


def _check(path: Path, expected: str, *, whole: bool) -> None:
    try:
        if not path.is_file() or (whole and sha256(path) != expected):
            raise KernelError(f"{path} " + ("is not what was built" if path.exists() else "is missing"))
    except OSError as error:
        raise KernelError(f"{path} cannot be read: {error.strerror}") from None


def every() -> list[Kernel | Damaged]:
    """All kernels, then what is damaged.

    First comes the default one: the latest that has no patches and modules of the user's own, or else the latest. Those
    of other versions of Perigee, which it does not run, come last.
    """
    kernels: list[Kernel] = []
    damaged: list[Damaged] = []
    for folder in _folders():
        try:
            kernels.append(opened(folder))
        except KernelError as error:
            damaged.append(Damaged(folder, str(error)))

    def rank(k: Kernel) -> tuple[bool, bool, bool, str]:
        return (k.foreign is None, k.plain, k.plain and k.manifest.source.pinned, k.manifest.built)

    kernels.sort(key=rank)
    return [*reversed(kernels), *damaged]


def _folders() -> Iterator[Path]:
    if store().is_dir():
        yield from sorted(p for p in store().iterdir() if KEY.fullmatch(p.name))


def sound() -> list[Kernel]:
    """All kernels that can be used, the default one first."""
    return [k for k in every() if isinstance(k, Kernel)]


def find(name: str | None = None) -> Kernel:
    """The kernel of this name (the latest of several) or whose key begins so; the default one for None.

    Raises:
        KernelError: there is none that this version of Perigee runs, or it is damaged.
    """
    found = _default() if name is None else named(name)
    if isinstance(found, Damaged):
        raise KernelError(f"{found.reason}: perigee kernel remove {found.folder.name}, then build it again")
    if found.foreign is not None:
        title = f"the kernel {found.manifest.name} ({found.manifest.key})"
        soon = "seconds" if found.foreign == "agent" else "some minutes"
        raise KernelError(f"{title} has the {found.foreign} of another version of Perigee: {BUILD} mends it, in {soon}")
    return found


def _default() -> Kernel:
    reason = "no kernel is built"
    for first in every()[:1]:
        if isinstance(first, Kernel):
            return first
        reason = f"the kernel that was built is damaged ({first.reason})"
    raise KernelError(f"{reason}: {BUILD} does it, in some minutes")


def named(name: str) -> Kernel | Damaged:
    """As `find`, also of those that cannot be run. Raises KernelError if there is none."""
    there = every()
    kernels = [k for k in there if isinstance(k, Kernel)]
    if same := [k for k in kernels if k.manifest.name == name]:
        return max(same, key=lambda k: (k.foreign is None, k.manifest.built))
    found = [k for k in there if len(name) >= 4 and k.folder.name.startswith(name)]
    if len(found) > 1:
        raise KernelError(f"{name} begins more than one key: {', '.join(k.folder.name for k in found)}")
    if not found:
        names = ", ".join(f"{k.manifest.name} ({k.manifest.key})" for k in kernels)
        raise KernelError(f"no kernel is named {name}; " + (f"there are {names}" if names else f"{BUILD} makes one"))
    return found[0]


def renamed(kernel: Kernel, name: str) -> Kernel:
    """The same kernel under another name."""
    manifest = replace(kernel.manifest, name=name)
    write_manifest(kernel.folder, manifest)
    return Kernel(kernel.folder, manifest)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes it, wholly or not at all. Raises OSError."""
    write_text(folder / MANIFEST, json.dumps(asdict(manifest), indent=1) + "\n")


def remove_one(name: str) -> Path:
    """Removes the kernel that `named` finds; the folder that is gone.

    Raises:
        KernelError: there is none.
        OSError: it cannot be removed.
    """
    folder = named(name).folder
    remove(folder)
    return folder


def remove_all() -> list[Path]:
    """Removes all kernels, trees that were kept, and what killed builds left behind. Raises OSError."""
    gone = list(_folders())
    if store().is_dir():
        gone += sorted(store().glob(f"{TREE}*"))
        # Of a build that goes on nothing is touched.
        gone += [p for p in store().glob(WORK) if not is_claimed(p)]
    for folder in gone:
        remove(folder)
    return gone


def remove(folder: Path) -> None:
    """Removes a folder of the cache; the manifest first, so that one cut short leaves no kernel. Raises OSError."""
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder)
