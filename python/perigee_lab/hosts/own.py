# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Perigee's parts of kernels: configuration, patches and OrbCC (`kernel`), and the agent (`agent`)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

ROOM = Path(__file__).parent


@dataclass(frozen=True)
class File:
    """An input file of a build."""

    name: str
    sha256: str


def sha256(path: Path) -> str:
    """Hash of a file, which is read in pieces, since archives are large."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()


def hashed(paths: tuple[Path, ...]) -> tuple[File, ...]:
    """Files by name and hash. Raises OSError."""
    return tuple(File(p.name, sha256(p)) for p in paths)


def config() -> Path:
    """The configuration without Linux's defaults."""
    return ROOM / "kernel/config"


def patches() -> tuple[Path, ...]:
    """Patches in order."""
    return tuple(sorted((ROOM / "kernel/patches").glob("*.patch")))


def sources() -> tuple[Path, ...]:
    """OrbCC's sources, which are added to Linux's in net/ipv4/orbcc."""
    return tuple(sorted(p for pattern in ("*.c", "*.h", "Makefile") for p in (ROOM / "kernel/orbcc").glob(pattern)))


def parts() -> tuple[File, ...]:
    """Patches and sources by name and hash. Raises OSError."""
    return hashed((*patches(), *sources()))


def agent() -> tuple[Path, ...]:
    """The sources in C of the agent of guests, with their headers."""
    folders = (ROOM / "agent", ROOM / "agent/guest")
    return tuple(sorted(p for f in folders for pattern in ("*.c", "*.h") for p in f.glob(pattern)))


def agent_sha256() -> str | None:
    """Hash of the agent's sources; None if there are none."""
    files = [f"{f.name} {f.sha256}\n" for f in hashed(agent())]
    return hashlib.sha256("".join(files).encode()).hexdigest() if files else None
