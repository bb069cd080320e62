# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A job: everything that determines the results of a run, and nothing else.

It has the resolved scenario, one seed, the schemes, and the hashes of the required files and code.
The network is not part of a job: it has its own key, is built where the job runs, and is shared by
the schemes of a seed. A job is JSON; it can be saved or sent to another machine, and yields the
same tables there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.files import RecordError, write_text
from perigee_lab.common.reading import MOST_DATA, parsed_json, parsed_toml, read_bytes, read_text
from perigee_lab.common.structures import Reader, json_problem
from perigee_lab.extensions.closure import closure
from perigee_lab.extensions.congestion import file_of
from perigee_lab.results.record import comparable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perigee_lab.runs.scenario import Scenario

FORMAT = 1


class JobError(RecordError):
    """A job that cannot be read, or cannot run here."""


@dataclass(frozen=True)
class Needed:
    """An input file of a job: data or code."""

    path: str = field(metadata={"free": True})
    sha256: str


@dataclass(frozen=True)
class Class:
    """Location of the class of a Python scheme."""

    path: str = field(metadata={"free": True})
    name: str
    sha256: str
    imports: tuple[Needed, ...] = ()
    """Modules of its folder that the file imports, directly or through each other."""


@dataclass(frozen=True)
class Job:
    """One scenario with one seed under several schemes."""

    scenario: str
    """The scenario's name."""
    toml: str = field(metadata={"free": True})
    """The resolved scenario: every key that has an effect, with absolute paths."""
    folder: str = field(metadata={"free": True})
    """The folder in which classes named by the scenario are searched."""
    seed: int
    schemes: tuple[str, ...]
    files: tuple[Needed, ...] = ()
    """Input files of the network: data, and the functions of a sky."""
    classes: Mapping[str, Class] = field(default_factory=dict)
    """Python schemes by name: those that are compared, and those of the scenario's flows."""
    capture: bool = False
    kernel: str | None = None
    """Key of the backend (`backends.by_key`), such as that of a kernel; None = the simulator."""

    def network_key(self) -> str:
        """Key of the network; jobs with the same key have the same links at all times."""
        return _hash([self.comparable(), self.seed, [f.sha256 for f in self.files]])

    def comparable(self) -> list[str]:
        """The scenario without the keys that may differ within a comparison, and without paths."""
        return comparable(self.toml, [(f.path, f.sha256) for f in self.needed()])

    def needed(self) -> list[Needed]:
        """All files: data and code."""
        code = [f for c in self.classes.values() for f in (Needed(c.path, c.sha256), *c.imports)]
        return list(dict.fromkeys([*self.files, *code]))

    def key(self, cc: str) -> str:
        """Key of the result of one scheme.

        Results with the same key have the same tables in this build.
        """
        others = {*self.schemes} - {cc}
        code = sorted(
            (name, c.name, c.sha256, *(i.sha256 for i in c.imports))
            for name, c in self.classes.items()
            if name not in others
        )
        hosts = [] if self.kernel is None else [self.kernel]
        return _hash([FORMAT, core_version(), self.network_key(), cc, code, self.capture, *hosts])


@lru_cache(maxsize=1)
def core_version() -> str:
    """Hash of the compiled code."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=4096)
def _hash_of(path: Path, _size: int, _changed_ns: int) -> str:
    return hashlib.sha256(read_bytes(path, MOST_DATA)).hexdigest()


def _sha256(path: Path) -> str:
    about = path.stat()
    return _hash_of(path, about.st_size, about.st_mtime_ns)


def of(
    scenario: Scenario,
    seeds: Sequence[int],
    schemes: Sequence[str],
    classes: Mapping[str, type],
    *,
    capture: bool = False,
    kernel: str | None = None,
) -> list[Job]:
    """The jobs of a scenario, one for each seed.

    Raises RecordError if a file cannot be read.
    """
    core = scenario.absolute()
    folder = scenario.folder.absolute()
    standing = {name: (file, c.__name__) for name, c in classes.items() if (file := file_of(c)) is not None}
    try:
        found = dict.fromkeys([*core.files, *named_files(core.toml)])
        files = tuple(dict.fromkeys(f for path in found for f in (Needed(str(path), _sha256(path)), *imports(path))))
        known = {name: Class(str(file), what, _sha256(file), imports(file)) for name, (file, what) in standing.items()}
    except OSError as error:
        raise RecordError(f"{error.filename} cannot be read: {error.strerror}") from None
    own = tuple(schemes)
    return [Job(core.name, core.toml, str(folder), seed, own, files, known, capture, kernel) for seed in seeds]


def imports(file: Path) -> tuple[Needed, ...]:
    """The modules that a Python file imports from its folder; none for other files.

    Raises OSError.
    """
    if file.suffix != ".py":
        return ()
    own = closure(file.absolute())
    return tuple(
        Needed(str(file.absolute().parent / name), sha256)
        for name, sha256 in own.modules().items()
        if name != file.name
    )


def named_files(toml: str) -> list[Path]:
    """Files named by a resolved scenario with absolute paths: data, or code as FILE.py:NAME."""
    found: list[Path] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str) and value.startswith("/"):
            path = Path(re.sub(r"(\.py):\w+$", r"\1", value))
            if path.is_file():
                found.append(path)

    walk(parsed_toml(toml))
    return found


def problems(job: Job) -> list[str]:
    """Messages about files that are missing or differ on this machine."""
    found = []
    for needed in job.needed():
        path = Path(needed.path)
        if not path.is_file():
            found.append(f"{path} is missing")
        elif _sha256(path) != needed.sha256:
            found.append(f"{path} is not the file that the job was made with (its hash differs)")
    return found


def save(jobs: Sequence[Job], path: Path) -> None:
    """Writes a file of jobs; an OSError names it."""
    data = {"job_format": FORMAT, "perigee": _core.__version__, "jobs": [dataclasses.asdict(j) for j in jobs]}
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class _File:
    job_format: int
    jobs: tuple[Job, ...]
    perigee: str | None = None


def read(path: Path) -> list[Job]:
    """Reads the jobs in a file. Raises JobError."""
    try:
        found = parsed_json(read_text(path))
    except OSError as error:
        raise JobError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise JobError(
            f"{path} is no file of jobs: {json_problem(error)}: save it again with perigee run --dry --save-job"
        ) from None
    return parsed(found, path)


def parsed(found: Any, path: Path) -> list[Job]:
    """The jobs of a file's JSON; `path` is for messages. Raises JobError."""
    reader = Reader(path, lambda text: JobError(f"{text}: it is no file of jobs, or damaged"))
    made = found.get("job_format") if isinstance(found, dict) else None
    if isinstance(made, int) and made != FORMAT:
        raise JobError(f"{path}: job_format {made} is of another version of Perigee; this one reads {FORMAT}")
    jobs = list(reader.structure(_File, found).jobs)
    _check(jobs, reader.wrong)
    return jobs


def _check(jobs: list[Job], wrong: Callable[[str, Any, str], Exception]) -> None:
    if not jobs:
        raise wrong("jobs", [], "at least one job")
    for i, job in enumerate(jobs):
        if job.comparable() != jobs[0].comparable() or job.schemes != jobs[0].schemes:
            raise wrong(f"jobs.{i}", job.scenario, "of the same scenario and schemes as the first")
        if job.scenario in ("", ".", "..") or job.scenario != Path(job.scenario).name:
            raise wrong(f"jobs.{i}.scenario", job.scenario, "a name, without folders")
        if job.seed < 0:
            raise wrong(f"jobs.{i}.seed", job.seed, "0 or more")
        if not job.schemes:
            raise wrong(f"jobs.{i}.schemes", [], "at least one scheme")


def from_json(data: Any) -> Job:
    """Decodes a job that another process of the same command has sent."""
    return Reader(Path("a job"), JobError).structure(Job, data)
