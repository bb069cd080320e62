# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Archive of runs (`.perigee`): reader. The bounds on a foreign file, and its unpacking.

An archive is a ZIP file:

    perigee.json   the index: versions, and size and SHA-256 of every other entry
    jobs.json      the runs as jobs, with paths within the archive
    scenario.toml  the scenario of the first job, for human readers
    files/…        inputs and Python sources
    records/…      the manifest of each run, with its tables if they were packed
    added/…        further files, such as a notebook, which no run uses

Its hash is that of its index, so it covers every entry, however they are compressed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

from perigee_lab.common import names
from perigee_lab.common.files import NO_LINKS, RecordError, removed, sha256_of
from perigee_lab.common.reading import MOST_VALUES, opened, parsed_json, parsed_toml
from perigee_lab.common.structures import Reader, json_problem
from perigee_lab.extensions import trust
from perigee_lab.extensions.trust import Permission, UntrustedError
from perigee_lab.results import manifest as manifests
from perigee_lab.runs import agreement
from perigee_lab.runs import job as jobs_module
from perigee_lab.runs.job import Job
from perigee_lab.runs.relocation import with_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIX = ".perigee"
FORMAT = 1
INDEX, JOBS, SCENARIO = "perigee.json", "jobs.json", "scenario.toml"
FILES, RECORDS, ADDED = "files", "records", "added"

MOST_ENTRIES = 50_000
MOST_INDEX = 64 << 20
"""Limit for the index, the jobs, the scenario, a manifest, and the directory of the ZIP file in bytes."""
MOST_LISTED = 20 * MOST_ENTRIES
"""Limit for the values of the index."""
MOST_MANIFESTS = 1 << 30
"""Limit for all manifests together in bytes."""
MOST_ARCHIVE = 64 << 30
MOST_UNPACKED = 64 << 30
MOST_RATIO = 200
"""Limit for the ratio of an entry's size to that in the archive, above `FREE` bytes."""
FREE = 1 << 20
MOST_NAME, MOST_PART, MOST_DEPTH = 1000, 255, 40
PIECE = 1 << 20

# Keys with texts that are no paths, or that programs read: absolute paths of a shell's line are theirs.
_TEXTS = {"title", "command", "environment", "input", "name", "group", "note"}
_END, _END_64, _LOCATOR_64 = b"PK\5\6", b"PK\6\6", b"PK\6\7"


class ArchiveError(RecordError):
    """An archive is damaged, exceeds the limits, or contains what it must not."""


@dataclass(frozen=True)
class Entry:
    """An entry of an archive besides the index."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Index:
    """The index of an archive."""

    pack_format: int
    perigee: str
    """Version that packed it."""
    core: str
    """Hash of the compiled code that packed it."""
    python: str
    scenario: str
    tables: bool
    """Whether the records have their tables."""
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Archive:
    """An archive with a valid index and jobs; nothing else of it has been read."""

    path: Path
    sha256: str
    """Hash of the index."""
    index: Index
    _jobs: list[Job] = field(repr=False)
    """Jobs with paths within the archive."""

    def jobs(self, folder: Path) -> list[Job]:
        """The jobs with the paths of an archive unpacked in `folder`. Raises ArchiveError."""
        folder = folder.absolute()
        if set(str(folder)) & set("\"'\\") or names.problem(str(folder)):
            raise ArchiveError(f"{folder}: an archive needs a folder without quotes and backslashes in its path")
        moves = {e.name: str(folder / e.name) for e in self.index.entries}
        moves |= {str(p): str(folder / p) for e in self.index.entries for p in PurePosixPath(e.name).parents if p.name}
        return [replace(with_paths(j, moves), folder=str(folder)) for j in self._jobs]

    @property
    def names(self) -> set[str]:
        """Names of the entries."""
        return {e.name for e in self.index.entries}

    @property
    def code(self) -> list[str]:
        """Names of the entries with Python code."""
        return [e.name for e in self.index.entries if e.name.startswith(f"{FILES}/") and e.name.endswith(".py")]

    @property
    def added(self) -> list[Entry]:
        """The further files, which no run uses; Python code among them never runs."""
        return [e for e in self.index.entries if e.name.startswith(f"{ADDED}/")]

    def permission(self, folder: Path, *, trusted: bool) -> Permission:
        """Permission of the code of this archive, unpacked in `folder`: nothing else may run.

        `trusted` is consent to the archive as it is now; otherwise the remembered one counts.
        """
        if not (trusted or self.sha256 in trust.archives()):
            return Permission()
        return Permission(sealed=frozenset((folder / name).resolve() for name in self.code), programs=True)

    def refuse_untrusted(self, *, trusted: bool) -> None:
        """Raises UntrustedError if the archive has code and no consent."""
        if not self.code or trusted or self.sha256 in trust.archives():
            return
        error = UntrustedError(f"{self.path}: {self.code[0]}", None)
        error.args = (
            f"{self.path} has Python code ({', '.join(self.code[:5])}{' …' if self.code[5:] else ''}), and it has not "
            f"been run: read it (unzip -p {self.path} {self.code[0]}), then say --trust, or `perigee trust "
            f"{self.path}` to remember the answer for this archive (hash {self.sha256[:16]})",
        )
        raise error

    def unpack(self, folder: Path) -> None:
        """Unpacks into a folder that does not exist, with access for its owner only.

        Each entry is written as a new file and compared with its hash; if one differs, nothing
        remains.

        Raises:
            ArchiveError: the archive is damaged, or has changed since it was opened.
            OSError: the folder cannot be written to.
        """
        folder.mkdir(mode=0o700)
        try:
            with _zip(self.path) as (archive, entries):
                if hashlib.sha256(_content(self.path, archive, entries[INDEX], MOST_INDEX)).hexdigest() != self.sha256:
                    raise ArchiveError(f"{self.path} has changed since it was opened")
                made = {folder}
                for entry in self.index.entries:
                    _write(self.path, archive, entries[entry.name], entry, folder, made)
        except BaseException:
            removed(folder)
            raise

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has every entry of the archive, unchanged, and nothing else to import.

        Compiled files in `__pycache__` are never imported (`perigee_lab.extensions.closure`).
        """
        if folder.is_symlink() or not folder.is_dir():
            return False
        there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir() or p.is_symlink()}
        if {n for n in there if "__pycache__" not in n.split("/")} != self.names:
            return False
        return all(
            not (folder / e.name).is_symlink() and sha256_of(folder / e.name) == e.sha256 for e in self.index.entries
        )


def is_archive(path: Path) -> bool:
    """Whether a path is that of an archive, by its name."""
    return path.suffix == SUFFIX


def in_place_of_a_scenario(path: Path) -> str:
    """The message where an archive was given and something else is needed."""
    shown = names.visible(str(path))
    return f"{shown} is an archive: perigee run {shown} runs it, perigee verify {shown} compares it"


def open_archive(path: Path) -> Archive:
    """Opens an archive: checks its entries, its index and its jobs.

    Raises:
        ArchiveError: it is damaged, or exceeds the limits.
    """
    with _zip(path) as (archive, entries):
        if INDEX not in entries:
            raise ArchiveError(f"{path} is no archive of Perigee: it has no {INDEX}")
        data = _content(path, archive, entries[INDEX], MOST_INDEX)
        index = _index(path, data)
        _match(path, index, entries)
        listed = {e.name: e for e in index.entries}
        text = _listed(path, archive, entries[JOBS], listed[JOBS])
        found = jobs_module.parsed(_json(path, JOBS, text), Path(f"{path}/{JOBS}"))
        for one in found:
            check_paths(one, set(listed), path)
        _agree(path, archive, entries, index, found)
    return Archive(path, hashlib.sha256(data).hexdigest(), index, found)


def _agree(
    path: Path, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], index: Index, jobs: list[Job]
) -> None:
    """Raises ArchiveError if the manifests, the jobs, the scenario and the index contradict each other."""
    listed = {e.name: e for e in index.entries}
    named = agreement.manifests_of(listed, RECORDS)
    if (size := sum(listed[n].size for n in named)) > MOST_MANIFESTS:
        raise ArchiveError(f"{path} has {size:,} bytes of manifests, at most {MOST_MANIFESTS:,} are read")
    recorded = []
    for name in named:
        manifest = _manifest(path, name, _listed(path, archive, entries[name], listed[name]))
        check_toml(manifest.scenario_toml, path)
        odd = next((f.path for f in manifest.files if f.path not in listed), None)
        if odd is not None:
            raise ArchiveError(f"{path} is damaged: {name} names {odd!r}, which is not a file of the archive")
        recorded.append(agreement.Recorded.of(name, manifest))
    text = _listed(path, archive, entries[SCENARIO], listed[SCENARIO])
    why = agreement.problem(index.scenario, text, jobs, recorded)
    if why is None and (recorded or index.tables or any(n.startswith(f"{RECORDS}/") for n in listed)):
        why = agreement.problem_of_records(listed, RECORDS, tables=index.tables)
    if why is not None:
        raise ArchiveError(f"{path} is damaged: {why}")


def _manifest(path: Path, name: str, data: bytes) -> manifests.Manifest:
    try:
        return manifests.of_text(data.decode(), Path(f"{path}/{name}"), "pack it again")
    except UnicodeDecodeError as error:
        raise ArchiveError(f"{path} is damaged: {name}: byte {error.start} is not valid UTF-8") from None
    except RecordError as error:
        raise ArchiveError(str(error)) from None


def check_paths(job: Job, listed: set[str], path: Path) -> None:
    """Raises ArchiveError for a path of a job that is not within the archive."""
    for needed in job.needed():
        if needed.path not in listed or not needed.path.startswith(f"{FILES}/"):
            raise ArchiveError(f"{path}: the job names {needed.path!r}, which is not a file of the archive")
    if job.folder != ".":
        raise ArchiveError(f"{path}: the folder of the job is {job.folder!r}, must be '.'")
    check_toml(job.toml, path)


def check_toml(toml: str, path: Path) -> None:
    """Raises ArchiveError if a scenario names a path that is not within the archive."""
    try:
        for key, text in _texts(parsed_toml(toml), ""):
            if key.rpartition(".")[2] in _TEXTS:
                continue
            named = re.sub(r"(\.py):\w+$", r"\1", text)
            if named.startswith(("/", "~")) or ".." in re.split(r"[/\\]", named):
                raise ArchiveError(f"{path}: {key} is {text[:60]!r}, which is outside of the archive")
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{path}: its scenario is no TOML: {error}") from None


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """All texts of a scenario with their dotted keys; elements of a list have the key of the list."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, key)
    elif isinstance(value, str):
        yield key, value


# ---- the ZIP file --------------------------------------------------------------------------------


class _zip:  # noqa: N801 - a context manager
    """An open ZIP file and its entries by name. Damage of any kind is an ArchiveError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
        try:
            self.file = opened(self.path, MOST_ARCHIVE)
        except OSError as error:
            raise ArchiveError(f"{self.path} cannot be read: {error.strerror or error}") from None
        try:
            check_directory(self.file, self.path)
            self.archive = zipfile.ZipFile(self.file)
            return self.archive, _entries(self.path, self.archive.infolist())
        except BaseException as error:
            self.file.close()
            raise (_damaged(self.path, error) or error) from None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.archive.close()
        self.file.close()
        found = None if error is None else _damaged(self.path, error)
        if found is not None:
            raise found from None


def _damaged(path: Path, error: BaseException) -> ArchiveError | None:
    kinds = (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OverflowError,
        MemoryError,
    )
    # An OSError with a file's name is from writing.
    # Offsets outside of the file are seeks to invalid places.
    if isinstance(error, kinds) or (isinstance(error, OSError) and error.errno in (None, errno.EINVAL)):
        return ArchiveError(f"{path} is no archive of Perigee, or damaged: {_in_words(error)}")
    return None


def _in_words(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "an entry needs more memory than there is"
    if isinstance(error, zlib.error):
        return "an entry cannot be decompressed"
    if isinstance(error, (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError)):
        return str(error)
    return "its directory, or an entry that it lists, is outside of the file or cut off"


def check_directory(file: BinaryIO, path: Path) -> None:
    """Bounds the directory of a ZIP file before a library reads it into memory.

    Raises ArchiveError.
    """
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - 22 - 20)
    file.seek(start)
    tail = file.read(42)
    end = tail[-22:]
    # Archives have no comment, so that the record is at the end and there only.
    if len(end) < 22 or end[:4] != _END or end[20:] != b"\0\0":
        raise ArchiveError(f"{path} is no archive of Perigee, or damaged: it does not end like a ZIP file")
    count, length = struct.unpack("<HL", end[10:16])
    if tail[:4] == _LOCATOR_64 and len(tail) == 42:
        (at,) = struct.unpack("<Q", tail[8:16])
        if at + 56 > size:
            raise ArchiveError(f"{path} is damaged: its directory is outside of the file")
        file.seek(at)
        record = file.read(56)
        if record[:4] != _END_64:
            raise ArchiveError(f"{path} is damaged: its directory is not where it should be")
        count, length = struct.unpack("<QQ", record[32:48])
    file.seek(0)
    if count > MOST_ENTRIES:
        raise ArchiveError(f"{path} has {count:,} entries, at most {MOST_ENTRIES:,} are read")
    if length > MOST_INDEX:
        raise ArchiveError(f"{path} has a directory of {length:,} bytes, at most {MOST_INDEX:,} are read")


def _entries(path: Path, infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    if len(infos) > MOST_ENTRIES:
        raise ArchiveError(f"{path} has {len(infos):,} entries, at most {MOST_ENTRIES:,} are read")
    found: dict[str, zipfile.ZipInfo] = {}
    folded: set[str] = set()
    for info in infos:
        # The name as it is in the file: the library cuts it at a null character.
        name = info.orig_filename
        check_name(name, path)
        if name.casefold() in folded:
            raise ArchiveError(f"{path} has two entries {name!r}")
        mode = info.external_attr >> 16
        if (stat.S_IFMT(mode) not in (0, stat.S_IFREG)) or info.external_attr & 0x10:
            raise ArchiveError(
                f"{path}: {name!r} is {'a link' if stat.S_ISLNK(mode) else 'not a file'}; only files are read"
            )
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ArchiveError(f"{path}: {name!r} is encrypted or compressed by another method than deflate")
        if info.file_size > FREE and info.file_size > MOST_RATIO * info.compress_size:
            raise ArchiveError(f"{path}: {name!r} would grow more than {MOST_RATIO} times")
        found[name] = info
        folded.add(name.casefold())
    if (total := sum(i.file_size for i in infos)) > MOST_UNPACKED:
        raise ArchiveError(f"{path} would unpack to {total / 1e9:,.0f} GB, at most {MOST_UNPACKED / 1e9:,.0f} are read")
    for name in found:
        if any(str(p).casefold() in folded for p in PurePosixPath(name).parents):
            raise ArchiveError(f"{path}: {name!r} is within an entry that is a file")
    return found


def check_name(name: str, path: Path) -> None:
    """Raises ArchiveError for a name of an entry that is not a plain relative one."""
    parts = name.split("/")
    why = names.problem(name)
    if why is None and (len(name) > MOST_NAME or len(parts) > MOST_DEPTH):
        why = "is too long"
    if why is None and (name.startswith("/") or "\\" in name or ":" in parts[0]):
        why = "is no relative path"
    if why is None and len(parts) > 1 and not parts[-1]:
        why = "is a folder; only files are read"
    if why is None and any(p in ("", ".", "..") for p in parts):
        why = "has an empty part, '.' or '..'"
    if why is None and any(len(p.encode(errors="replace")) > MOST_PART for p in parts):
        why = f"has a part of more than {MOST_PART} bytes"
    if why is None and (len(parts) == 1) != (name in (INDEX, JOBS, SCENARIO)):
        why = "is none of the files of an archive"
    if why is None and len(parts) > 1 and parts[0] not in (FILES, RECORDS, ADDED):
        why = f"is in none of {FILES}, {RECORDS}, {ADDED}"
    if why is None and not name.isprintable():
        why = "has characters that are not printable"
    if why is not None:
        raise ArchiveError(f"{path}: the entry {name[:80]!r} {why}")


def _index(path: Path, data: bytes) -> Index:
    found = _json(path, INDEX, data, MOST_LISTED)
    made = found.get("pack_format") if isinstance(found, dict) else None
    if isinstance(made, int) and made != FORMAT:
        raise ArchiveError(f"{path}: pack_format {made} is of another version of Perigee; this one reads {FORMAT}")
    reader = Reader(Path(f"{path}/{INDEX}"), lambda text: ArchiveError(f"{text}: the archive is damaged"))
    return reader.structure(Index, found)


def _json(path: Path, name: str, data: bytes, most: int = MOST_VALUES) -> Any:
    try:
        return parsed_json(data, most)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{path} is damaged: {name} is no JSON ({json_problem(error)})") from None


def _match(path: Path, index: Index, entries: dict[str, zipfile.ZipInfo]) -> None:
    """Checks that the index lists exactly the entries of the ZIP file."""
    listed = [e.name for e in index.entries]
    if len(listed) != len(set(listed)) or {*listed, INDEX} != set(entries) or INDEX in listed:
        odd = sorted({*listed, INDEX} ^ set(entries))
        raise ArchiveError(f"{path} is damaged: its index does not list its entries ({', '.join(odd[:3]) or 'twice'})")
    for name in (JOBS, SCENARIO):
        if name not in listed:
            raise ArchiveError(f"{path} is damaged: it has no {name}")
    for e in index.entries:
        if e.size != entries[e.name].file_size or re.fullmatch(r"[0-9a-f]{64}", e.sha256) is None:
            raise ArchiveError(
                f"{path} is damaged: the index and the entry {e.name!r} differ in size, or it has no hash"
            )


def _content(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    if info.file_size > most:
        raise ArchiveError(f"{path}: {info.filename} has {info.file_size:,} bytes, at most {most:,} are read")
    with archive.open(info) as file:
        data = file.read(most + 1)
    if len(data) != info.file_size:
        raise ArchiveError(f"{path} is damaged: {info.filename} is not as long as it should be")
    return data


def _listed(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: Entry) -> bytes:
    """The content of a small entry, compared with the index."""
    data = _content(path, archive, info, MOST_INDEX)
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ArchiveError(f"{path} is damaged: {entry.name} is not the file that its index lists")
    return data


def _write(
    path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: Entry, folder: Path, made: set[Path]
) -> None:
    """Writes an entry as a new file; compares size and hash."""
    target = folder / entry.name
    for parent in reversed([p for p in target.parents if p not in made and folder in p.parents]):
        parent.mkdir(mode=0o700)
        made.add(parent)
    hashed, left = hashlib.sha256(), entry.size
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS, 0o600)
    with os.fdopen(descriptor, "wb") as file, archive.open(info) as source:
        while piece := source.read(min(PIECE, left + 1)):
            left -= len(piece)
            if left < 0:
                break
            hashed.update(piece)
            file.write(piece)
    if left or hashed.hexdigest() != entry.sha256:
        raise ArchiveError(f"{path} is damaged: {entry.name!r} is not the file that its index lists")
