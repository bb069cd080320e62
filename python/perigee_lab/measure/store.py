# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Storage of measurements as records, with a folder, manifest and tables as for a run."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.columns import from_arrow
from perigee_lab.common.credentials import recorded
from perigee_lab.common.files import claimed, fresh_folder, refuse_file, write_text
from perigee_lab.common.reading import opened
from perigee_lab.results import manifest as manifests
from perigee_lab.results.conclusion import conclude
from perigee_lab.results.manifest import MANIFEST, Manifest
from perigee_lab.results.record import run_folder
from perigee_lab.results.report import SECTIONS
from perigee_lab.results.run import Run, open_record
from perigee_lab.results.writer import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

RUNS = Path("runs")
UNKNOWN = "unknown"
"""Placeholder for an unspecified congestion control."""
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class About:
    """Contents of a measurement's manifest; times in ns."""

    backend: str
    """capture, log or measure."""
    name: str
    title: str
    cc: str
    began_ns: int
    """Time 0 of the tables since 1970, if known."""
    duration_ns: int
    sample_ns: int
    warmup_ns: int = 0
    seed: int = 0
    flows: Sequence[Mapping[str, Any]] = ()
    """The first hundred flows: name, from, to, cc, start_ns, stop_ns."""
    nodes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    files: Sequence[Path] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    """Additional keys of the manifest."""


def manifest_of(about: About, tables: Mapping[str, Mapping[str, Any]]) -> Manifest:
    """Builds a manifest; `tables` has rows and sha256 by name."""
    began = datetime.fromtimestamp(about.began_ns // 10**9, tz=timezone.utc)
    data = {
        "record_format": 2,
        "backend": about.backend,
        "scenario": about.name,
        "title": about.title,
        # There is no scenario; runs of one comparison share the name.
        "scenario_toml": f"# {about.backend} {about.name}\n",
        "cc": about.cc,
        "seed": about.seed,
        "duration_ns": about.duration_ns,
        "simulated_ns": about.duration_ns,
        "warmup_ns": about.warmup_ns,
        "sample_ns": about.sample_ns,
        "stopped": False,
        "conserved": None,
        "packet_hops": None,
        "report": [],
        "ports": [],
        "pairs": [],
        "flows": list(about.flows)[:100],
        "nodes": list(about.nodes),
        "tables": {name: dict(t) for name, t in tables.items()},
        "warnings": list(about.remarks),
        "measured": {"began": began.isoformat().replace("+00:00", "Z"), "began_ns": about.began_ns},
        "version": _core.__version__,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()},
        "command": recorded(sys.argv),
        "files": [{"path": str(p.absolute()), "sha256": digest_of(p)} for p in about.files],
        **about.more,
    }
    return manifests.parsed(data, Path(MANIFEST))


def digest_of(path: Path) -> str:
    """SHA-256 hash of a file of any size."""
    found = hashlib.sha256()
    with opened(path) as file:
        while part := file.read(CHUNK_BYTES):
            found.update(part)
    return found.hexdigest()


def stored(
    out: Path | None,
    name: str,
    cc: str,
    make: Callable[[RecordWriter], Manifest],
    *,
    force: bool,
    section: Callable[[Run], dict[str, Any] | None] | None = None,
) -> Path:
    """Writes the record and report of a measurement to `out` (default: a new folder in runs/).

    `section` returns an additional section of the page. Returns the folder. Raises RecordError and
    OSError, and the errors of `make`.
    """
    if out is not None:
        refuse_file(out)
    folder = out if out is not None else fresh_folder(name, RUNS)
    with claimed(folder, fresh=out is None):
        record = run_folder(folder, cc, 0)
        with RecordWriter(record, force=force) as writer:
            writer.finish(make(writer))
        found = None if section is None else section(open_record(record))
        # An earlier import may have left this file.
        (folder / SECTIONS).unlink(missing_ok=True)
        if found is not None:
            write_text(folder / SECTIONS, json.dumps([found]))
        conclude(folder, open_record(record), report=True)
    return folder


def add_tables(writer: RecordWriter, tables: Mapping[str, pa.Table]) -> dict[str, dict[str, Any]]:
    """Writes complete tables as declared, including those without rows.

    Returns the entries of the manifest by name.
    """
    from perigee_lab.results.tables import TABLES
    from perigee_lab.results.writer import declared

    found = {}
    for name in TABLES:
        rows = tables[name] if name in tables else declared(name)
        writer.add(name, rows)
        hasher = _core.TableHasher()
        hasher.update(from_arrow(rows))
        found[name] = {"rows": rows.num_rows, "sha256": hasher.hexdigest()}
    return found


def as_table(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table of the record.

    Declared columns come first (None if a row lacks one), then others as f64.
    """
    import pyarrow as pa

    from perigee_lab.results.writer import declared

    schema = declared(name).schema
    others = sorted({key for row in rows for key in row} - set(schema.names))
    whole = pa.schema([*schema, *(pa.field(key, pa.float64()) for key in others)])
    columns = []
    for column in whole:
        values = [row.get(column.name) for row in rows]
        if pa.types.is_dictionary(column.type):
            # Dictionary columns are never null: unknown values are empty.
            values = [value or "" for value in values]
        if pa.types.is_dictionary(column.type):
            columns.append(pa.array(values, pa.string()).dictionary_encode().cast(column.type))
        else:
            columns.append(pa.array(values, column.type))
    return pa.Table.from_arrays(columns, schema=whole)


def columns_table(name: str, columns: Mapping[str, Any], rows: int) -> pa.Table:
    """Columns as a table of the record; each has one value for all rows, or one per row.

    Missing columns are null.
    """
    import pyarrow as pa

    from perigee_lab.results.writer import declared

    schema = declared(name).schema
    whole = pa.schema([*schema, *(pa.field(c, pa.float64()) for c in sorted(set(columns) - set(schema.names)))])
    found = []
    for column in whole:
        value = columns.get(column.name, "" if pa.types.is_dictionary(column.type) else None)
        single = value is None or isinstance(value, (str, int, float))
        values = [value] * rows if single else value
        if pa.types.is_dictionary(column.type):
            found.append(pa.array(values, pa.string()).dictionary_encode().cast(column.type))
        else:
            found.append(
                pa.array(values).cast(column.type)
                if not single and hasattr(values, "dtype")
                else pa.array(values, column.type)
            )
    return pa.Table.from_arrays(found, schema=whole)


def is_measured(run: Run) -> bool:
    """Whether a record is a measurement, which cannot be repeated."""
    return run.manifest.backend in ("capture", "log", "measure")
