# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cache of built kernels: one folder each, named by the hash of all inputs.

`linux` is the program, `agent` its first process, `modules/*.ko` are loaded by the agent,
`kit.tar.gz` serves to compile further modules, `kernel.json` is the manifest, written last.
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
# Entries of the cache other than kernels: a build in progress, and kept source trees.
WORK, TREE = "work", "tree-"
KEY = re.compile(r"[0-9a-f]{16}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
BUILD = "perigee kernel build"


class KernelError(PerigeeError):
    """A kernel cannot be built, found or booted; `code` is the exit code of the command."""

    def __init__(self, message: str, code: int = BAD_INPUT) -> None:
        """`message` has one or more lines, the first of which is complete on its own."""
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Source:
    """Origin of a kernel's source: name of package or file, and hash of the archive or folder."""

    name: str
    sha256: str
    pinned: bool
    """Whether it is the source pinned by this release (`perigee_lab.hosts.pinned`)."""


@dataclass(frozen=True)
class Manifest:
    """Manifest of a kernel."""

    format: int
    name: str
    key: str
    """Hash of all inputs."""
    base: str
    """Hash of the inputs of the kernel itself, without agent and modules."""
    version: str
    """As printed by `uname -r`."""
    source: Source
    patches: tuple[File, ...]
    """Perigee's patches in order, then its sources."""
    extra_patches: tuple[File, ...]
    """Patches given on the command line."""
    config_sha256: str
    modules: tuple[File, ...]
    """Sources of modules given on the command line."""
    agent_sha256: str | None
    """Hash of the agent's sources; None without agent."""
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
        """Its name in a job."""
        return self.manifest.key

    @property
    def plain(self) -> bool:
        """Whether it has no user-supplied patches or modules."""
        return not self.manifest.extra_patches and not self.manifest.modules

    @property
    def foreign(self) -> str | None:
        """Components from another version of Perigee, which runs reject; None if there are none."""
        m = self.manifest
        found = {
            "patches": [f.sha256 for f in m.patches] != [f.sha256 for f in own.parts()],
            "configuration": m.config_sha256 != sha256(own.config()),
            "agent": m.agent_sha256 != own.agent_sha256(),
        }
        return " and ".join(what for what, differs in found.items() if differs) or None

    @property
    def size(self) -> int:
        """Bytes on disk; files shared between kernels (`os.link`) count for each."""
        return sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file())

    def as_json(self) -> dict[str, object]:
        """Manifest, folder and size, machine-readable."""
        return {**asdict(self.manifest), "folder": str(self.folder), "size_bytes": self.size, "foreign": self.foreign}


@dataclass(frozen=True)
class Damaged:
    """A damaged kernel in the cache."""

    folder: Path
    reason: str


def store() -> Path:
    """Folder of the cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "perigee" / "kernels"


def opened(folder: Path) -> Kernel:
    """Opens a kernel after a check of every file that running it needs.

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
    """All kernels, then damaged entries.

    The default kernel comes first: the latest without user-supplied patches and modules, or else
    the latest. Those of other versions of Perigee, which runs reject, come last.
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
    """All usable kernels, the default one first."""
    return [k for k in every() if isinstance(k, Kernel)]


def find(name: str | None = None) -> Kernel:
    """The kernel with this name (the latest of several), or whose key has this prefix.

    The default one for None.

    Raises:
        KernelError: there is none that this version of Perigee can run, or it is damaged.
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
    """Like `find`, including kernels that cannot be run. Raises KernelError if there is none."""
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
    """Renames a kernel."""
    manifest = replace(kernel.manifest, name=name)
    write_manifest(kernel.folder, manifest)
    return Kernel(kernel.folder, manifest)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes the manifest atomically. Raises OSError."""
    write_text(folder / MANIFEST, json.dumps(asdict(manifest), indent=1) + "\n")


def remove_one(name: str) -> Path:
    """Removes the kernel found by `named`; returns its former folder.

    Raises:
        KernelError: there is none.
        OSError: it cannot be removed.
    """
    folder = named(name).folder
    remove(folder)
    return folder


def remove_all() -> list[Path]:
    """Removes all kernels, kept source trees, and files of killed builds. Raises OSError."""
    gone = list(_folders())
    if store().is_dir():
        gone += sorted(store().glob(f"{TREE}*"))
        # A build in progress is kept.
        gone += [p for p in store().glob(WORK) if not is_claimed(p)]
    for folder in gone:
        remove(folder)
    return gone


def remove(folder: Path) -> None:
    """Removes a folder of the cache. Raises OSError.

    The manifest goes first, so that an interrupted removal leaves no kernel.
    """
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder)
