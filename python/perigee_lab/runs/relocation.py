# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Inputs of records and jobs that were moved: found next to them by path and hash."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.common.files import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from perigee_lab.results.run import Run
    from perigee_lab.runs.job import Job

LEVELS = 12
"""Number of parent folders that are searched, and of parts of a path that are tried."""


def relocated(run: Run) -> Run:
    """The record with the present paths of its inputs, if it was moved with them.

    An input that is not at its path is looked for in the folders above the record, under the end of
    its path and with the same hash.
    """
    if run.folder is None:
        return run
    named = [(f.path, f.sha256) for f in run.manifest.files]
    moves = _moves(named, run.folder.absolute())
    if not moves:
        return run
    m = run.manifest
    toml = rewritten(m.scenario_toml, moves)
    files = tuple(replace(f, path=moves.get(f.path, f.path)) for f in m.files)
    run.manifest = replace(m, scenario_toml=toml, files=files, data={**m.data, "scenario_toml": toml})
    return run


def relocated_jobs(jobs: list[Job], file: Path) -> list[Job]:
    """The same for the jobs of a file."""
    named = dict.fromkeys((f.path, f.sha256) for j in jobs for f in j.needed())
    moves = _moves(named, file.absolute().parent)
    return [with_paths(j, moves) for j in jobs] if moves else jobs


def with_paths(job: Job, moves: Mapping[str, str]) -> Job:
    """A job with other paths of its files."""

    def at(path: str) -> str:
        return moves.get(path, path)

    classes = {
        name: replace(c, path=at(c.path), imports=tuple(replace(i, path=at(i.path)) for i in c.imports))
        for name, c in job.classes.items()
    }
    files = tuple(replace(f, path=at(f.path)) for f in job.files)
    return replace(job, toml=rewritten(job.toml, moves), files=files, classes=classes)


def rewritten(toml: str, moves: Mapping[str, str]) -> str:
    """A resolved scenario with other paths; those of functions (`FILE.py:NAME`) among them."""
    if not moves:
        return toml
    either = "|".join(re.escape(p) for p in sorted(moves, key=len, reverse=True))
    return re.sub(rf"(?<=[\"'])({either})(?=[\"':])", lambda found: moves[found[1]], toml)


def _moves(files: Iterable[tuple[str, str | None]], folder: Path) -> dict[str, str]:
    """The present paths of files that are not at theirs."""
    found = {}
    for path, sha256 in files:
        if sha256 is None or (Path(path).is_absolute() and _has(Path(path), sha256)):
            continue
        place = _near(Path(path), sha256, folder)
        # A path that a TOML string needs escapes for stays as it is, and is reported as gone.
        if place is not None and not set(str(place)) & set("\"'\\"):
            found[path] = str(place)
    return found


def _near(path: Path, sha256: str, folder: Path) -> Path | None:
    path = Path(os.path.normpath(path))
    parts = path.parts[1:] if path.is_absolute() else path.parts
    if not parts or ".." in parts:
        return None
    ends = [Path(*parts[n:]) for n in range(len(parts))][-LEVELS:] if path.is_absolute() else [path]
    for above in [folder, *folder.parents][:LEVELS]:
        for end in ends:
            if _has(above / end, sha256):
                return above / end
    return None


def _has(path: Path, sha256: str) -> bool:
    try:
        return path.is_file() and sha256_of(path) == sha256
    except OSError:
        return False
