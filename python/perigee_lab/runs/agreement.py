# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Agreement of an archive's parts: index, scenario, jobs and manifests describe the same runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from perigee_lab.results.manifest import MANIFEST
from perigee_lab.results.record import comparable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from perigee_lab.results.manifest import Manifest
    from perigee_lab.runs.job import Job


@dataclass(frozen=True)
class Recorded:
    """The part of a manifest that its job must agree with, and the entry that has it."""

    entry: str
    scenario: str
    toml: str
    cc: str
    seed: int
    backend_key: str | None
    """Key of the backend, as in jobs."""
    files: tuple[tuple[str, str | None], ...]
    """Inputs by path and hash."""

    @classmethod
    def of(cls, entry: str, m: Manifest) -> Recorded:
        """That of a manifest."""
        files = tuple((f.path, f.sha256) for f in m.files)
        return cls(entry, m.scenario, m.scenario_toml, m.cc, m.seed, backend_key(m), files)


def backend_key(m: Manifest) -> str | None:
    """The key of a record's backend in a job; None = the simulator's transport."""
    return m.kernel_key or (None if m.backend == "simulator" else m.backend)


def manifests_of(names: Collection[str], folder: str) -> list[str]:
    """The entries of an archive that are manifests of records, in order."""
    return sorted(n for n in names if _parts(n, folder) == 4 and PurePosixPath(n).name == MANIFEST)


def _parts(name: str, folder: str) -> int:
    parts = PurePosixPath(name).parts
    return len(parts) if parts[0] == folder else 0


def problem_of_records(names: Collection[str], folder: str, *, tables: bool) -> str | None:
    """Entries of records without a manifest, or tables that contradict the index's `tables`."""
    found = {str(PurePosixPath(n).parent) for n in manifests_of(names, folder)}
    others = sorted(n for n in names if _parts(n, folder) and PurePosixPath(n).name != MANIFEST)
    for name in sorted(n for n in names if _parts(n, folder)):
        if "/".join(name.split("/")[:3]) not in found:
            return f"{name!r} has no {MANIFEST} of its record"
    if others and not tables:
        return f"the index says that records have no tables, there is {others[0]!r}"
    if tables and not others:
        return "the index says that records have their tables, there are none"
    return None


def problem(scenario: str, text: bytes, jobs: Sequence[Job], records: Sequence[Recorded]) -> str | None:
    """The first contradiction, with the two places; None if there is none.

    `scenario` is the name in the index and `text` the content of `scenario.toml`. Without records,
    only these are compared with the jobs.
    """
    if text != jobs[0].toml.encode():
        return "scenario.toml and the scenario of jobs.json differ"
    if scenario != jobs[0].scenario:
        return f"perigee.json names the scenario {scenario!r}, jobs.json {jobs[0].scenario!r}"
    seeds = [j.seed for j in jobs]
    twice = next((s for s in seeds if seeds.count(s) > 1), None)
    if twice is not None:
        return f"jobs.json has two jobs with seed {twice}"
    if not records:
        return None
    return _of_runs(jobs, records)


def _of_runs(jobs: Sequence[Job], records: Sequence[Recorded]) -> str | None:
    by_seed = {j.seed: j for j in jobs}
    found: dict[tuple[str, int], Recorded] = {}
    for r in records:
        if r.seed not in by_seed or r.cc not in by_seed[r.seed].schemes:
            return f"{r.entry} is of {r.cc} with seed {r.seed}, which jobs.json does not have"
        if (r.cc, r.seed) in found:
            return f"{found[r.cc, r.seed].entry} and {r.entry} are both of {r.cc} with seed {r.seed}"
        found[r.cc, r.seed] = r
        why = _of_run(by_seed[r.seed], r)
        if why is not None:
            return why
    for job in jobs:
        for cc in job.schemes:
            if (cc, job.seed) not in found:
                return f"jobs.json has {cc} with seed {job.seed}, of which there is no manifest in records"
        if not any(r.toml == job.toml for r in records if r.seed == job.seed):
            return (
                f"the scenario of seed {job.seed} in jobs.json is not that of {found[job.schemes[0], job.seed].entry}"
            )
    return None


def _of_run(job: Job, r: Recorded) -> str | None:
    """The same for one manifest and its job."""
    if r.scenario != job.scenario:
        return f"{r.entry} names the scenario {r.scenario!r}, jobs.json {job.scenario!r}"
    needed = {f.path: f.sha256 for f in job.needed()}
    for path, sha256 in r.files:
        if needed.get(path) != sha256:
            how = "with another hash than jobs.json" if path in needed else "and jobs.json does not"
            return f"{r.entry} has the input {path!r} {how}"
    if comparable(r.toml, r.files) != job.comparable():
        return f"the scenario of {r.entry} is not that of seed {job.seed} in jobs.json"
    if r.backend_key != job.kernel:
        return f"{r.entry} is of {r.backend_key or 'the simulator'}, jobs.json of {job.kernel or 'the simulator'}"
    if job.capture:
        return f"jobs.json captures packets, {r.entry} does not"
    return _of_classes(job, r)


def _of_classes(job: Job, r: Recorded) -> str | None:
    for name, c in job.classes.items():
        where, _, what = name.rpartition(":")
        if c.name != what or (where != "python" and not f"/{c.path}".endswith(f"/{where}")):
            return f"jobs.json has {c.path}:{c.name} for {name!r} of {r.entry}"
        if (name == r.cc or name not in job.schemes) and (c.path, c.sha256) not in r.files:
            return f"jobs.json has {c.path} for {name!r}, {r.entry} does not"
    return None
