# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Manifest of a run, parsed from JSON and validated when it is read.

Keys that are declared here have their declared types; others (of later versions, or user-defined)
are kept unchanged. Formats 1 and 2 are supported; a key that exists in only one of them is None in
the other.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perigee_lab.common.files import RecordError
from perigee_lab.common.reading import parsed_json, read_text
from perigee_lab.common.structures import Reader, json_problem, kind_of
from perigee_lab.results.format_1 import same_ports

MANIFEST = "manifest.json"
FORMATS = (1, 2)
# Tables that every reader needs.
NEEDED = ("flows", "links", "events", "rtt", "flow_totals", "link_totals", "routes", "tracks")
REMEDY = "run it again with --force"
# Keys that depend on the machine and the time, and differ between repetitions of a run.
OF_THE_MOMENT = ("version", "wall_s", "cpu_s", "finished", "host", "command", "files", "key")
# Keys of real hosts, which are compared on their own.
OF_HOSTS = ("kernel", "programs")

WITHOUT_SAMPLES = ("capture", "log", "measure")
"""Backends of measurements, which need no sampling interval."""
MOST_NS = 100 * 366 * 86_400 * 10**9


class ManifestError(RecordError):
    """A manifest is damaged or missing; the message names file, key, value and remedy."""


@dataclass(frozen=True)
class Table:
    """A table of the record: the number of its rows, and the hash of its content."""

    rows: int
    sha256: str


@dataclass(frozen=True)
class Flow:
    """A flow as it was set up; times in ns of the run."""

    name: str
    origin: str = field(metadata={"key": "from"})
    target: str = field(metadata={"key": "to"})
    cc: str
    start_ns: int
    stop_ns: int


@dataclass(frozen=True)
class Pair:
    """Two nodes with a route between them."""

    origin: str = field(metadata={"key": "from"})
    target: str = field(metadata={"key": "to"})


@dataclass(frozen=True)
class Split:
    """A flow through proxies: the numbers of its legs, from sender to receiver."""

    flow: str
    legs: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """A group of flows: first and last number of each run of consecutive flows in it."""

    name: str
    background: bool
    flows: tuple[tuple[int, ...], ...]

    def __contains__(self, flow: object) -> bool:
        return isinstance(flow, int) and any(first <= flow <= last for first, last in self.flows)


@dataclass(frozen=True)
class Input:
    """An input file of the run; the hash is None if it could not be read afterwards."""

    path: str = field(metadata={"free": True})
    sha256: str | None


@dataclass(frozen=True)
class Manifest(Mapping[str, Any]):
    """A manifest: declared keys by attribute, all keys by index (`manifest["host"]`)."""

    record_format: int
    scenario: str
    title: str
    scenario_toml: str = field(metadata={"free": True})
    cc: str
    seed: int
    duration_ns: int
    simulated_ns: int
    warmup_ns: int
    sample_ns: int
    stopped: bool
    conserved: bool | None
    """None = not counted, as in records of measurements."""
    packet_hops: int | None
    flows: tuple[Flow, ...]
    """The first hundred flows."""
    nodes: tuple[str, ...]
    pairs: tuple[Pair, ...]
    ports: tuple[Mapping[str, Any], ...]
    report: tuple[str, ...] = field(metadata={"free": True})
    warnings: tuple[str, ...] = field(metadata={"free": True})
    tables: Mapping[str, Table]
    splits: tuple[Split, ...] = ()
    groups: tuple[Group, ...] = ()
    backend: str = "simulator"
    """Backend that carried the packets."""
    events: int | None = None
    """Number of events in the simulator's queue; format 1 only."""
    version: str | None = None
    wall_s: float | None = None
    key: str | None = None
    """Key of the job and scheme (`perigee_lab.runs.job`)."""
    files: tuple[Input, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, repr=False, metadata={"free": True})
    """The JSON object."""

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def text(self) -> str:
        """The text of the manifest file."""
        return json.dumps(dict(self.data), indent=1, ensure_ascii=False) + "\n"

    @property
    def kernel_key(self) -> str | None:
        """Key of the kernel of real hosts (`perigee_lab.hosts.kernels`).

        None = the simulator's transport.
        """
        kernel = self.data.get("kernel")
        key = kernel.get("key") if isinstance(kernel, dict) else None
        return key if isinstance(key, str) else None

    def differences(self, other: Manifest, *, same_version: bool = False) -> list[str]:
        """Keys that differ from another run's manifest, except those of machine and time.

        Of the same version both have the same keys; of others, only common ones are compared.
        """
        ignored = {*OF_THE_MOMENT, "tables"}
        if self.record_format != other.record_format:
            ignored |= {"record_format", "events"}
            if same_ports(self.ports, other.ports):
                ignored.add("ports")
        keys = [k for k in self.data if k in other.data and k not in ignored]
        found = [k for k in keys if self.data[k] != other.data[k]]
        return found + (sorted((self.data.keys() ^ other.data.keys()) - ignored - {*OF_HOSTS}) if same_version else [])


def read(path: Path) -> Manifest:
    """Reads a manifest. Raises ManifestError."""
    try:
        text = read_text(path)
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror or error}: {REMEDY}") from None
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path} is damaged: byte {error.start} is not valid UTF-8: {REMEDY}") from None
    return of_text(text, path)


def of_text(text: str, path: Path, remedy: str = REMEDY) -> Manifest:
    """Parses the text of a manifest; `path` and `remedy` are for messages. Raises ManifestError."""
    try:
        found = parsed_json(text, parse_float=_finite, parse_constant=_finite)
        # JSON accepts lone surrogates, UTF-8 does not.
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ManifestError(f"{path} is damaged: it holds half a character: {remedy}") from None
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path} is damaged: it is no JSON ({json_problem(error)}): {remedy}") from None
    return parsed(found, path, remedy)


def _finite(text: str) -> float:
    """A number of JSON. Raises ValueError for NaN and infinities, which JSON does not have."""
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text[:20]} is no number")
    return found


def parsed(found: Any, path: Path, remedy: str = REMEDY) -> Manifest:
    """Validates a manifest's JSON; `path` and `remedy` are for messages. Raises ManifestError."""
    if not isinstance(found, dict):
        raise ManifestError(f"{path} is not the manifest of a run: it holds {kind_of(found)}, not an object: {remedy}")
    if found.get("what") == "demand":
        commands = "perigee demand report, map, compare or background"
        raise ManifestError(f"{path} is of a demand, not of runs with packets: use {commands}")
    made = found.get("record_format")
    if isinstance(made, int) and made > max(FORMATS):
        raise ManifestError(f"{path}: record_format {made} is of a later version of Perigee; this one reads {FORMATS}")
    reader = Reader(path, lambda text: ManifestError(f"{text}: the manifest is damaged; {remedy}"))
    manifest = reader.structure(Manifest, {**found, "data": found})
    _check(manifest, reader)
    return manifest


def _check(m: Manifest, reader: Reader) -> None:
    if m.record_format not in FORMATS:
        raise reader.wrong("record_format", m.record_format, f"one of {', '.join(map(str, FORMATS))}")
    if not m.cc:
        raise reader.wrong("cc", m.cc, "the name of a congestion control")
    for name in ("seed", "duration_ns", "simulated_ns", "warmup_ns", "packet_hops"):
        if (getattr(m, name) or 0) < 0:
            raise reader.wrong(name, getattr(m, name), "0 or more")
    if m.sample_ns < (0 if m.backend in WITHOUT_SAMPLES else 1):
        raise reader.wrong("sample_ns", m.sample_ns, "1 or more")
    for name in ("duration_ns", "simulated_ns", "warmup_ns", "sample_ns"):
        if getattr(m, name) > MOST_NS:
            raise reader.wrong(name, getattr(m, name), "at most 100 years")
    for i, group in enumerate(m.groups):
        for ends in group.flows:
            if len(ends) != 2 or not 0 <= ends[0] <= ends[1]:
                raise reader.wrong(f"groups.{i}.flows", list(ends), "the first and the last number of flows")
    for name in NEEDED:
        if name not in m.tables:
            raise reader.missing(f"tables.{name}")
    _check_tables(m, reader)


def _check_tables(m: Manifest, reader: Reader) -> None:
    for name, table in m.tables.items():
        if re.fullmatch(r"[a-z_]+", name) is None:
            raise reader.wrong("tables", name, "names of small letters")
        if table.rows < 0:
            raise reader.wrong(f"tables.{name}.rows", table.rows, "0 or more")
        if re.fullmatch(r"[0-9a-f]{64}", table.sha256) is None:
            raise reader.wrong(f"tables.{name}.sha256", table.sha256, "64 hexadecimal digits")
