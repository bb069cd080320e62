# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Validated parts of a demand's record: start, facts of chunks, totals, tables, cells.

A record may come from others: types, names, sizes and counts are checked before they are used.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perigee_lab.common import names, quoting
from perigee_lab.common.files import RecordError, sha256_of
from perigee_lab.common.reading import parsed_json, read_bytes
from perigee_lab.common.structures import Reader, json_problem
from perigee_lab.demand.columns import TABLES, schema

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

MOST_CHUNKS, MOST_VERTICES = 1_000_000, 1_000_000
BYTES = {"float64": 8, "float32": 4, "int32": 4, "int16": 2, "int8": 1, "string": 4}
MOST_JSON = 1_000_000
"""Limit for the values of the start, of the totals and of the facts of a chunk."""
MOST_VALUES = 40_000_000
"""Limit for the values of a table in CSV, if its number of rows depends on loads: 400 MB in memory."""


class DemandError(RecordError):
    """A record of a demand cannot be written or read; the message has the remedy."""


@dataclass(frozen=True)
class Plan:
    """A plan of terminals."""

    name: str
    share: float
    weight: float
    elastic_bps: tuple[float, ...]
    inelastic_bps: tuple[float, ...]


@dataclass(frozen=True)
class Gateway:
    """A gateway with its place in degrees."""

    name: str
    lat: float
    lon: float
    exchange: str | None = None
    fibre_rtt_ms: float | None = None


@dataclass(frozen=True)
class Failure:
    """A failure of a gateway."""

    gateway: str
    from_s: float
    to_s: float
    left: float


@dataclass(frozen=True)
class Start:
    """What a record is of."""

    what: str
    format: int
    key: str
    name: str
    title: str
    start: str
    duration_s: float
    step_s: float
    record_s: float
    record_links_s: float
    threshold_bps: float
    chunks: int
    chunk_intervals: int
    satellites: int
    cells: int
    gateways: tuple[Gateway, ...]
    plans: tuple[Plan, ...]
    failures: tuple[Failure, ...]
    scenario: str = field(metadata={"free": True})
    # Of records since version 0.2.0.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class FailedStep:
    """A step that could not be allocated."""

    t_s: float
    why: str


@dataclass(frozen=True)
class Totals:
    """Totals and errors of a complete record."""

    totals: Mapping[str, Mapping[str, float]]
    conservation: Mapping[str, float]
    duality_gap: float
    failed_steps: int
    failed: tuple[FailedStep, ...]
    steps_without_a_path: int


@dataclass(frozen=True)
class Facts:
    """Errors and failed steps of a chunk, and the hashes of its tables."""

    errors: Mapping[str, float]
    failed: tuple[FailedStep, ...]
    gap: float
    unreached: int
    key: str | None = None
    parts: Mapping[str, str] | None = None


def structure(path: Path, kind: type[Any], remedy: str) -> dict[str, Any]:
    """The object in a file, with the types of a structure. Raises DemandError."""
    try:
        found = parsed_json(read_bytes(path), MOST_JSON)
    except OSError as error:
        raise DemandError(f"{path} cannot be read: {error.strerror or error}; {remedy}") from None
    except (ValueError, RecursionError) as error:
        raise DemandError(f"{path} is damaged ({json_problem(error)}): {remedy}") from None
    reader = Reader(path, lambda text: DemandError(f"{text}: {remedy}"))
    reader.structure(kind, found)
    if (number := _unusable(found)) is not None:
        raise DemandError(f"{path} has the number {number}: {remedy}")
    checked: dict[str, Any] = found
    return checked


def _unusable(found: Any) -> float | None:
    """The first number that is not finite."""
    if isinstance(found, float):
        return None if math.isfinite(found) else found
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return next((n for part in parts if (n := _unusable(part)) is not None), None)


def check_start(start: Mapping[str, Any], path: Path, remedy: str) -> None:
    """Checks counts and lengths against each other. Raises DemandError."""
    times = ("duration_s", "step_s", "record_s", "record_links_s")
    for name in (*times, "chunks", "chunk_intervals", "cells"):
        if start[name] <= 0:
            raise DemandError(f"{path}: {name} is {start[name]}, must be above zero: {remedy}")
    vertices = start["satellites"] + len(start["gateways"]) + start["cells"]
    for name, number, most in (("chunks", start["chunks"], MOST_CHUNKS), ("vertices", vertices, MOST_VERTICES)):
        if number > most:
            raise DemandError(f"{path}: {number} {name}, at most {most}: {remedy}")
    chunk_s = start["record_links_s"] * start["chunk_intervals"]
    if math.ceil(start["duration_s"] / chunk_s - 1e-9) != start["chunks"]:
        raise DemandError(
            f"{path}: {start['chunks']} chunks of {chunk_s:g} s are no {start['duration_s']:g} s: {remedy}"
        )
    known = {g["name"] for g in start["gateways"]}
    if odd := [f["gateway"] for f in start["failures"] if f["gateway"] not in known]:
        raise DemandError(f"{path}: a failure of {odd[0]!r}, which is no gateway: {remedy}")
    if any(len(p[k]) != 2 for p in start["plans"] for k in ("elastic_bps", "inelastic_bps")) or not start["plans"]:
        raise DemandError(f"{path}: each plan must have two rates of each kind: {remedy}")


def table(path: Path, name: str, rows: int | None = None) -> pd.DataFrame:
    """A table with the declared columns, of bounded size, with valid names. Raises RecordError."""
    import pyarrow.parquet as pq

    from perigee_lab.results.checked import AGAIN, check_size, named, reading

    with reading(path) as there, pq.ParquetFile(there) as file:
        if not file.schema_arrow.equals(schema(name)):
            columns = ", ".join(c.name for c in TABLES[name][1])
            raise DemandError(f"{path}: the columns must be {columns}, with their types: {AGAIN}")
        check_size(path, file.metadata, rows, sum(BYTES[c.type] for c in TABLES[name][1]))
        found = file.read()
        found.validate(full=True)
        return named(found, path).to_pandas()


def summary(path: Path, name: str, remedy: str, rows: int | None = None) -> pd.DataFrame:
    """A table in CSV: `name` is a key of SUMMARIES, `rows` its number of rows if that is known.

    Columns, rows and values are counted before they are parsed. Raises DemandError.
    """
    import pandas as pd

    from perigee_lab.demand.summary import SUMMARIES, TEXTS

    columns = SUMMARIES[name]
    try:
        data = read_bytes(path)
        _check_counts(path, data, columns, rows, remedy)
        numbers = {c: [""] for c in columns}
        text: Any = {c: str for c in columns if c in TEXTS}
        found = pd.read_csv(io.BytesIO(data), dtype=text, keep_default_na=False, na_values=numbers, index_col=False)
    except (OSError, ValueError) as error:
        raise DemandError(f"{path} is damaged ({names.visible(str(error)[:200])}): {remedy}") from None
    if tuple(found.columns) != columns or (rows is not None and len(found) != rows):
        raise DemandError(
            f"{path}: the columns must be {', '.join(columns)}, and its rows those of the record: {remedy}"
        )
    for column in columns:
        if column in TEXTS:
            _check_names(path, found[column].dropna().unique(), column, remedy)
        elif not pd.api.types.is_numeric_dtype(found[column]):
            raise DemandError(f"{path}: {column} must have numbers only: {remedy}")
    return quoting.frame_from_csv(found)


def _check_counts(path: Path, data: bytes, columns: tuple[str, ...], rows: int | None, remedy: str) -> None:
    """Raises DemandError for other columns, or for more lines than rows of them fit."""
    # Perigee writes names of columns without quotes; a parser accepts each of both ends of a line.
    if data[: 1 << 12].splitlines()[:1] != [",".join(columns).encode()]:
        raise DemandError(f"{path}: the columns must be {', '.join(columns)}: {remedy}")
    lines = data.count(b"\n") + data.count(b"\r")
    most = MOST_VALUES // len(columns) if rows is None else rows + 1
    if lines > most:
        raise DemandError(f"{path}: {lines} lines, at most {most}: {remedy}")


def _check_names(path: Path, found: Any, column: str, remedy: str) -> None:
    for text in found:
        why = "must be text" if not isinstance(text, str) else names.problem(text)
        if why is not None:
            raise DemandError(f"{path}: a text in {column} {why}: {remedy}")


def is_part(path: Path, digest: str) -> bool:
    """Whether a file has this hash."""
    return path.is_file() and not path.is_symlink() and sha256_of(path) == digest
