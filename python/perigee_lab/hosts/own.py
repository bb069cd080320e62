# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Bundled inputs of kernel builds: configuration, patches, OrbCC's module and the guest agent."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class File:
    """An input file of a build: name without folder, SHA-256 as hexadecimal."""

    name: str
    sha256: str


def sha256(path: Path) -> str:
    """SHA-256 of a file as hexadecimal. Reads it in blocks, since archives are large. Raises OSError."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def hashed(paths: tuple[Path, ...]) -> tuple[File, ...]:
    """Files by name and hash. Raises OSError."""
    return tuple(File(p.name, sha256(p)) for p in paths)


def config() -> Path:
    """Kernel configuration: the options that differ from Linux's defaults."""
    return FOLDER / "kernel/config"


def patches() -> tuple[Path, ...]:
    """Patches of the kernel, in order of application."""
    return tuple(sorted((FOLDER / "kernel/patches").glob("*.patch")))


def sources() -> tuple[Path, ...]:
    """Sources of OrbCC's module, which a build copies to net/ipv4/orbcc of Linux."""
    return tuple(sorted(p for pattern in ("*.c", "*.h", "Makefile") for p in (FOLDER / "kernel/orbcc").glob(pattern)))


def parts() -> tuple[File, ...]:
    """Patches and sources by name and hash. Raises OSError."""
    return hashed((*patches(), *sources()))


def agent() -> tuple[Path, ...]:
    """C sources and headers of the guest agent."""
    folders = (FOLDER / "agent", FOLDER / "agent/guest")
    return tuple(sorted(p for f in folders for pattern in ("*.c", "*.h") for p in f.glob(pattern)))


def agent_sha256() -> str | None:
    """SHA-256 of the names and hashes of the agent's sources; None if there are none. Raises OSError."""
    files = [f"{f.name} {f.sha256}\n" for f in hashed(agent())]
    return hashlib.sha256("".join(files).encode()).hexdigest() if files else None
