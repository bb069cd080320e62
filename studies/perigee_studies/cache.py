# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cache of digests by content.

The key covers the resolved scenario, its input files, the scheme, the seed and the code.

A digest is written under a temporary name and then renamed, so that existing digests are complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common import columns
from perigee_lab.common.files import inner, naming, written
from perigee_lab.common.reading import read_bytes, read_text
from perigee_lab.results import metrics
from perigee_studies import digest as digests
from perigee_studies.digest import Digest
from perigee_studies.model import Keep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perigee_lab.results.run import Run
    from perigee_lab.runs.scenario import Scenario
    from perigee_lab.runs.work import Make
    from perigee_studies.model import Case


@lru_cache(maxsize=1)
def code_version() -> str:
    """Hash of the compiled code and of the modules that compute digests."""
    parts = [Path(str(module.__file__)) for module in (_core, digests, metrics, columns)]
    return hashlib.sha256(b"".join(hashlib.sha256(p.read_bytes()).digest() for p in parts)).hexdigest()[:16]


@lru_cache(maxsize=4096)
def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def key_of(case: Case, scenario: Scenario, kernel: str | None = None) -> str:
    """Name of the digest of a case, given its loaded scenario and the key of the kernel of real hosts."""
    core = scenario.core
    content = {
        "code": code_version(),
        "format": digests.FORMAT,
        "scenario": core.toml,
        "files": [_file_hash(f) for f in core.files],
        "cc": case.scheme,
        "seed": case.seed,
        "keep": asdict(case.keep),
    }
    if kernel is not None:
        content["kernel"] = kernel
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Cache:
    """A folder of digests."""

    def __init__(self, folder: Path) -> None:
        """Opens the cache; the folder is created with the first digest."""
        self.folder = folder

    def path(self, key: str) -> Path:
        """Path of a digest."""
        return self.folder / key[:2] / f"{key}.digest"

    def read(self, key: str) -> Digest | None:
        """A digest, or None if there is no readable one."""
        try:
            return Digest.from_bytes(read_bytes(self.path(key)))
        except Exception:  # a damaged archive can cause any error in zlib, zipfile and numpy
            return None

    def has(self, key: str) -> bool:
        """Whether a digest exists and is readable, including its checksums.

        Full disks truncate files.
        """
        return self.path(key).exists() and self.read(key) is not None

    def write(self, key: str, digest: Digest) -> None:
        """Stores a digest atomically."""
        write(self.path(key), digest)

    def took(self, key: str) -> float | None:
        """Wall-clock time in s of a digest's run; None if unknown."""
        try:
            return float(read_text(self._cost(key)))
        except (OSError, ValueError):
            return None

    def note(self, key: str, cost_s: float) -> None:
        """Stores the time of a run, separately from its digest, which does not depend on it."""
        with written(self._cost(key), folders=True) as partial:
            partial.write_text(f"{cost_s:.3f}\n", encoding="ascii")

    def _cost(self, key: str) -> Path:
        return self.path(key).with_suffix(".cost")

    def sweep(self) -> None:
        """Removes partial files of killed writers."""
        for path in self.folder.glob("*/*.partial*"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def write(path: Path, digest: Digest) -> None:
    """Writes a digest atomically. An OSError names it."""
    with naming(path):
        inner(path.parent)
    with written(path) as partial, partial.open("wb") as file:
        file.write(digest.to_bytes())
        file.flush()
        os.fsync(file.fileno())


def store(make: Make, path: str, keep: Mapping[str, Any]) -> Run | None:
    """Sink that stores the digest of a run in the cache."""
    run = make(None)
    if run is not None:
        kept = Keep(tuple(keep["columns"]), keep["routes"], tuple(keep["events"]), keep["busy"], keep["flows"])
        write(Path(path), digests.condense(run, kept))
    return run
