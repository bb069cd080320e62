# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Archive of runs (`.perigee`): writer. Records, or jobs, with all files that they need."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import platform
import re
import unicodedata
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.files import RecordError, written
from perigee_lab.common.reading import opened, parsed_toml
from perigee_lab.extensions.congestion import declares
from perigee_lab.results import cells
from perigee_lab.results.manifest import MANIFEST
from perigee_lab.results.run import Run, find_records
from perigee_lab.results.summary import experiment
from perigee_lab.runs import job as jobs_module
from perigee_lab.runs import stories
from perigee_lab.runs.agreement import backend_key
from perigee_lab.runs.archive import (
    ADDED,
    FILES,
    FORMAT,
    FREE,
    INDEX,
    JOBS,
    MOST_RATIO,
    PIECE,
    RECORDS,
    SCENARIO,
    ArchiveError,
    Entry,
    Index,
    check_name,
    check_paths,
)
from perigee_lab.runs.job import Class, Job, Needed, core_version
from perigee_lab.runs.programs import SCHEME as PROGRAMS
from perigee_lab.runs.relocation import relocated, rewritten, with_paths
from perigee_lab.runs.verify import UNREPEATABLE, changed_files, folder_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    # Paths and hashes of the files that the manifests of records list.
    Sources: TypeAlias = Mapping[str, str | None]

# Options of a recorded command that belong to one machine, with their values.
_OF_THE_MACHINE = ("--cluster", "--store", "--env", "--writable", "--stdin", "--kernel", "--use", "--jobs", "--out")
_CLASS = re.compile(r"(.+\.py):(\w+)")
CAPTURES = ("senders.pcapng", "receivers.pcapng")
"""Files of a record with `--pcap`."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Packed:
    """Summary of a written archive."""

    path: Path
    sha256: str
    """Hash of its index."""
    files: int
    records: int
    tables: bool
    size: int
    code: tuple[str, ...]
    added: tuple[Entry, ...] = ()
    """Further files."""


def pack(folder: Path, target: Path, *, tables: bool, added: Sequence[Path] = ()) -> Packed:
    """Packs the records under a folder; with their tables, or with the hashes of these only.

    `added` are further files, which no run uses; their entries have their names without folders.

    Raises:
        RecordError: the records are not of one scenario, or cannot be run again; an added file is none, or two
            have the same name.
        OSError: the archive cannot be written.
    """
    if (folder / cells.INDEX).exists():
        raise RecordError(f"{folder} is a sweep: pack the folder of one of its cells, {folder}/{cells.CELLS}/NAME")
    runs = [relocated(r) for r in find_records(folder)]
    _check(runs, folder)
    made = _jobs(runs)
    places = _places(f.path for j in made for f in j.needed())
    entries: dict[str, Path | bytes] = {places[p]: Path(p) for p in places}
    for run in runs:
        assert run.folder is not None
        # The layout of the folder, whatever the names of its parents.
        at = (
            f"{RECORDS}/{run.folder.parent.name}/{run.folder.name}" if run.folder != folder else f"{RECORDS}/run/record"
        )
        entries[f"{at}/{MANIFEST}"] = _manifest(run, places)
        if tables:
            entries |= {f"{at}/{name}": _own(folder, run.folder / name) for name in _declared(run)}
    entries |= _added(added)
    return _written(target, [_within(j, places) for j in made], entries, tables=tables, records=len(runs))


def _declared(run: Run) -> list[str]:
    """The files of a record besides its manifest, as that declares them: tables, output of programs, captures."""
    assert run.folder is not None
    found = [f"{name}.parquet" for name in run.manifest.tables]
    programs = run.manifest.get("programs")
    if isinstance(programs, list) and programs:
        found.append(stories.INDEX)
        for n, program in enumerate(programs):
            node = str(program.get("node")) if isinstance(program, dict) else ""
            found += [stories.output_file(n, node, kind) for kind in stories.KINDS]
    return found + [name for name in CAPTURES if os.path.lexists(run.folder / name)]


def _own(folder: Path, file: Path) -> Path:
    """A file of a record under `folder`. Raises RecordError if it is missing, or elsewhere through a link."""
    for inner in (file, *file.parents):
        if inner == folder:
            break
        if inner.is_symlink():
            raise RecordError(f"{inner} is a link, which is not packed: put the file itself there")
    if not file.is_file():
        raise RecordError(f"{file} is missing: run it again, or pack without --records")
    return file


def _added(files: Sequence[Path]) -> dict[str, Path | bytes]:
    """Further files by the names of their entries. Raises RecordError."""
    found: dict[str, Path | bytes] = {}
    first: dict[str, Path] = {}
    for file in files:
        name = Path(os.path.abspath(file)).name
        if not file.is_file():
            what = "is a folder: add its files one by one, or as a ZIP file" if file.is_dir() else "is no file"
            raise RecordError(f"--add {file}: this {what}")
        # Some file systems do not distinguish case, or forms of Unicode.
        other = first.setdefault(unicodedata.normalize("NFC", name).casefold(), file)
        if other is not file:
            raise RecordError(f"--add {other} and {file}: an archive has one file named {name}, rename one")
        found[f"{ADDED}/{name}"] = file
    return found


def save_jobs(jobs: Sequence[Job], target: Path) -> Packed:
    """Packs jobs with their files. Raises as `pack` does."""
    places = _places(f.path for j in jobs for f in j.needed())
    entries: dict[str, Path | bytes] = {places[p]: Path(p) for p in places}
    return _written(target, [_within(j, places) for j in jobs], entries, tables=False, records=0)


def _check(runs: Sequence[Run], folder: Path) -> None:
    if any(experiment(r) != experiment(runs[0]) for r in runs):
        raise RecordError(f"{folder} has runs of several scenarios: pack the folder of one of them")
    for run in runs:
        m = run.manifest
        if m.backend in UNREPEATABLE or run.cc == PROGRAMS:
            what = UNREPEATABLE.get(m.backend, "a run of programs given to perigee exec")
            raise RecordError(f"{run.folder} is {what}, which an archive cannot repeat")
        if m.stopped or "broken" in m:
            raise RecordError(f"{run.folder} ended early: run it again before it is packed")
        wrong = changed_files(run)
        if wrong:
            raise RecordError(f"{run.folder} cannot be packed: {'; '.join(wrong)}")
    there = {(r.cc, r.seed) for r in runs}
    for cc in dict.fromkeys(r.cc for r in runs):
        for seed in sorted({r.seed for r in runs}):
            if (cc, seed) not in there:
                raise RecordError(f"{folder} has no run of {cc} with seed {seed}: run it into the folder (--out) first")


# ---- records as jobs -----------------------------------------------------------------------------


def _jobs(runs: Sequence[Run]) -> list[Job]:
    """A job for each seed; a scheme that is missing for a seed is part of its job."""
    schemes = tuple(dict.fromkeys(r.cc for r in runs))
    firsts = {r.seed: r for r in reversed(runs)}
    sources = {f.path: f.sha256 for r in runs for f in r.manifest.files}
    return [_job(firsts[seed], schemes, sources) for seed in sorted(firsts)]


def _job(run: Run, schemes: tuple[str, ...], sources: Sources) -> Job:
    m = run.manifest
    classes = {name: _class(name, sources) for name in [*_class_names(m.scenario_toml), *schemes] if _is_class(name)}
    of_classes = {p for c in classes.values() for p in (c.path, *(i.path for i in c.imports))}
    found = [Path(p) for p in sources if p not in of_classes]
    files = dict.fromkeys(f for p in found for f in (_needed(p), *_imports(p, sources)))
    return Job(m.scenario, m.scenario_toml, ".", m.seed, schemes, tuple(files), classes, False, backend_key(m))


def _is_class(name: str) -> bool:
    if ":" not in name:
        return False
    if name.startswith("python:") or _CLASS.fullmatch(name):
        return True
    raise RecordError(f"{name} is a class of an installed module, which an archive does not have: put it into a file")


def _class_names(toml: str) -> list[str]:
    """Classes of flows, as the scenario names them."""
    found: list[str] = []

    def walk(value: Any, key: str) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, name)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif isinstance(value, str) and key in ("cc", "via_cc") and ":" in value:
            found.append(value)

    try:
        scenario = parsed_toml(toml)
    except ValueError as error:
        raise RecordError(f"the scenario of the records is no TOML: {error}") from None
    walk({k: v for k, v in scenario.items() if k != "run"}, "")
    return list(dict.fromkeys(found))


def _class(name: str, sources: Sources) -> Class:
    """The place of a class, from the files of its records; nothing is run."""
    what = name.rpartition(":")[2]
    if name.startswith("python:"):
        code = [Path(p) for p in sources if p.endswith(".py") and declares(Path(p), what)]
        file = code[0] if code else None
    else:
        where = Path(name.rpartition(":")[0])
        if where.is_absolute() or ".." in where.parts:
            # Tables have the name of the class, which would be another one in every folder.
            raise RecordError(f"{name}: an archive needs a name from the scenario's folder, without '..' or a root")
        file = folder_of(name, [Path(p) for p in sources]) / where
    # Records of others: files that their manifests do not list, with hashes, are not of these runs.
    if file is None or file not in map(Path, sources):
        raise RecordError(f"{name}: none of the records' files has this class; it exists in memory only")
    return Class(str(file), what, _needed(file).sha256, _imports(file, sources))


def _imports(file: Path, sources: Sources) -> tuple[Needed, ...]:
    """The modules that a source imports from its folder. Raises RecordError if the manifests do not list one."""
    found = jobs_module.imports(file)
    for module in found:
        if module.sha256 not in sources.values():
            raise RecordError(f"{file} imports {module.path}, which is no file of the records: run them again")
    return found


def _needed(path: Path) -> Needed:
    digest = hashlib.sha256()
    with opened(path) as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return Needed(str(path), digest.hexdigest())


# ---- places within the archive -------------------------------------------------------------------


def _places(paths: Iterable[str]) -> dict[str, str]:
    """The name of each file in the archive: relative to the common folder of those of its root."""
    every = {p: _plain(Path(p)) for p in dict.fromkeys(paths)}
    roots: dict[str, list[str]] = {}
    for path, plain in every.items():
        roots.setdefault(plain.parts[1] if len(plain.parts) > 2 else "", []).append(path)
    found: dict[str, str] = {}
    for n, group in enumerate(roots.values()):
        root = Path(os.path.commonpath([every[p].parent for p in group]))
        found |= {p: f"{FILES}/{n}/{every[p].relative_to(root).as_posix()}" for p in group}
    return found


def _plain(path: Path) -> Path:
    """An absolute path without `..`; through the links of its folders where that is another file."""
    plain = Path(os.path.abspath(path))
    return plain if plain.exists() and plain.samefile(path) else path.resolve()


def _moves(places: Mapping[str, str]) -> dict[str, str]:
    """The places of files, and of the folders between them and their root."""
    found = dict(places)
    for path, name in places.items():
        for above, inner in zip(_plain(Path(path)).parents, PurePosixPath(name).parents, strict=False):
            if len(inner.parts) < 2:
                break
            found.setdefault(str(above), str(inner))
    return found


def _within(job: Job, places: Mapping[str, str]) -> Job:
    return replace(with_paths(job, _moves(places)), folder=".")


def _manifest(run: Run, places: Mapping[str, str]) -> bytes:
    """The manifest with paths within the archive, and without what belongs to one machine."""
    data = dict(run.manifest.data)
    data["scenario_toml"] = rewritten(run.manifest.scenario_toml, _moves(places))
    data["files"] = [{"path": places.get(f.path, f.path), "sha256": f.sha256} for f in run.manifest.files]
    if isinstance(data.get("command"), list):
        data["command"] = _portable(data["command"])
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def _portable(words: Sequence[str]) -> list[str]:
    """A command without the options of one machine, and with names in place of absolute paths."""
    kept: list[str] = []
    skip = False
    for n, word in enumerate(words):
        if skip:
            skip = False
        elif word in _OF_THE_MACHINE:
            skip = True
        elif not word.startswith(tuple(f"{o}=" for o in _OF_THE_MACHINE)):
            kept.append(Path(word).name if n == 0 or word.startswith("/") else word)
    return kept


# ---- the file ------------------------------------------------------------------------------------


def _written(
    target: Path, jobs: Sequence[Job], files: Mapping[str, Path | bytes], *, tables: bool, records: int
) -> Packed:
    data = {
        "job_format": jobs_module.FORMAT,
        "perigee": _core.__version__,
        "jobs": [dataclasses.asdict(j) for j in jobs],
    }
    content: dict[str, Path | bytes] = {
        JOBS: (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode(),
        SCENARIO: jobs[0].toml.encode(),
        **files,
    }
    for name in content:
        check_name(name, target)
    for one in jobs:
        check_paths(one, set(content), target)
    with written(target) as partial, zipfile.ZipFile(partial, "w") as archive:
        entries = tuple(_add(archive, name, content[name]) for name in sorted(content))
        made = platform.python_version()
        index = Index(FORMAT, _core.__version__, core_version(), made, jobs[0].scenario, tables, entries)
        text = (json.dumps(dataclasses.asdict(index), indent=1, ensure_ascii=False) + "\n").encode()
        _add(archive, INDEX, text)
    _compare(jobs, entries, target)
    code = tuple(n for n in sorted(files) if n.startswith(f"{FILES}/") and n.endswith(".py"))
    inputs = sum(n.startswith(f"{FILES}/") for n in files)
    extra = tuple(e for e in entries if e.name.startswith(f"{ADDED}/"))
    digest, size = hashlib.sha256(text).hexdigest(), target.stat().st_size
    return Packed(target, digest, inputs, records, tables, size, code, extra)


def _compare(jobs: Sequence[Job], entries: Sequence[Entry], target: Path) -> None:
    """Raises ArchiveError if a file has changed between its hash and its entry."""
    hashes = {e.name: e.sha256 for e in entries}
    for job in jobs:
        for needed in job.needed():
            if hashes[needed.path] != needed.sha256:
                target.unlink()
                raise ArchiveError(f"{target}: {needed.path} has changed while it was packed: pack again")


def _add(archive: zipfile.ZipFile, name: str, content: Path | bytes) -> Entry:
    """Adds an entry; one that compresses more than readers accept is stored as it is."""
    method = zipfile.ZIP_DEFLATED
    if name.endswith((".parquet", ".pcapng")) or _grows(content):
        method = zipfile.ZIP_STORED
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type, info.create_system, info.external_attr = method, 3, 0o100600 << 16
    digest, size = hashlib.sha256(), 0
    with (
        io.BytesIO(content) if isinstance(content, bytes) else opened(content) as source,
        archive.open(info, "w", force_zip64=True) as file,
    ):
        while piece := source.read(PIECE):
            digest.update(piece)
            size += len(piece)
            file.write(piece)
    return Entry(name, size, digest.hexdigest())


def _grows(content: Path | bytes) -> bool:
    """Whether a content is so uniform that readers would reject it compressed."""
    if isinstance(content, bytes):
        return len(content) > FREE and len(content) > MOST_RATIO / 2 * len(zlib.compress(content))
    if content.stat().st_size <= FREE:
        return False
    packer, size, packed = zlib.compressobj(), 0, 0
    with opened(content) as file:
        while piece := file.read(PIECE):
            size += len(piece)
            packed += len(packer.compress(piece))
    return size > MOST_RATIO / 2 * (packed + len(packer.flush()))
