# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Streaming writer of records: rows arrive in batches; memory does not grow with simulated time.

Rows of a table are buffered until they fill a row group of its Parquet file. If a column appears
later (`cc_...`, the variables of a scheme with a flow that starts late), another file is started; at
the end, the parts are merged, with nulls if a part lacks the column.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.columns import arrow_type, to_arrow
from perigee_lab.common.files import PARTIAL, RecordError, forget_empty, fresh, naming, removed, write_text
from perigee_lab.results.manifest import MANIFEST
from perigee_lab.results.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from perigee_lab.common.columns import Column
    from perigee_lab.results.manifest import Manifest

OLD = ".old"
GROUP_ROWS = 1 << 16
"""Minimum number of rows in a row group, which are buffered in memory."""


class TableWriter:
    """The Parquet file of a table, written in row groups."""

    def __init__(self, folder: Path, name: str) -> None:
        """Writes to folder/NAME.parquet, created with the first rows."""
        self.path, self.name = folder / f"{name}.parquet", name
        self.waiting: list[pa.Table] = []
        self.parts: list[Path] = []
        self.file: Any = None
        self.writer: Any = None

    def add(self, rows: pa.Table) -> None:
        """Adds rows."""
        self.waiting.append(rows)
        if sum(t.num_rows for t in self.waiting) >= GROUP_ROWS:
            self._write_waiting()

    def close(self) -> None:
        """Writes buffered rows and completes the file."""
        empty = declared(self.name)
        if self.waiting or not self.parts:
            self.waiting.append(empty)
            self._write_waiting()
        self._end_part()
        if len(self.parts) == 1:
            self.parts[0].replace(self.path)
        else:
            self._unify(empty)

    def abandon(self) -> None:
        """Closes the incomplete file."""
        with suppress(Exception):
            self._end_part()

    def _write_waiting(self) -> None:
        import pyarrow as pa

        rows = pa.concat_tables(self.waiting, promote_options="default")
        self.waiting = []
        if self.writer is not None and not set(rows.column_names) <= set(self.writer.schema.names):
            self._end_part()
        if self.writer is None:
            self._begin_part(rows.schema)
        self._write(rows)

    def _begin_part(self, schema: pa.Schema, path: Path | None = None) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if path is None:
            path = self.path.with_suffix(f".part{len(self.parts)}")
            self.parts.append(path)
        ordered = pa.schema([schema.field(n) for n in in_order(self.name, schema.names)])
        self.file = path.open("wb")
        self.writer = pq.ParquetWriter(self.file, ordered, compression="zstd")

    def _write(self, rows: pa.Table) -> None:
        """Writes rows as one row group; missing columns are null."""
        import pyarrow as pa

        schema = self.writer.schema
        for field in schema:
            if field.name not in rows.column_names:
                rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
        # A row group has one dictionary per text column.
        rows = rows.select(schema.names).unify_dictionaries().combine_chunks()
        self.writer.write_table(rows, row_group_size=max(1, rows.num_rows))

    def _end_part(self) -> None:
        if self.file is None:
            return
        file, self.file = self.file, None
        writer, self.writer = self.writer, None
        with file:
            if writer is not None:
                writer.close()
            file.flush()
            os.fsync(file.fileno())

    def _unify(self, empty: pa.Table) -> None:
        """Merges all parts into one file, row group by row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = [pq.ParquetFile(part) for part in self.parts]
        self._begin_part(pa.unify_schemas([empty.schema, *(f.schema_arrow for f in files)]), self.path)
        for file in files:
            with file:
                for group in range(file.num_row_groups):
                    self._write(file.read_row_group(group))
        self._end_part()
        for part in self.parts:
            part.unlink()


class RecordWriter:
    """The record of a run, in a folder that is renamed when complete.

    A run calls it with batches of rows.
    """

    def __init__(self, folder: Path, *, force: bool) -> None:
        """Creates a temporary folder next to `folder`.

        Raises RecordError if `folder` exists, unless `force`.
        """
        self.folder = folder
        self.partial = fresh_partial(folder, force=force)
        self.tables: dict[str, TableWriter] = {}

    def __call__(self, name: str, columns: Iterable[Column]) -> None:
        """Adds rows of a table. An OSError names its file."""
        self.add(name, to_arrow(columns))

    def add(self, name: str, rows: pa.Table) -> None:
        """Adds rows of a table in Arrow format. An OSError names its file."""
        with naming(self.folder / f"{name}.parquet"):
            self._table(name).add(rows)

    def finish(self, manifest: Manifest, extra: Callable[[Path], None] | None = None) -> None:
        """Completes the record; `extra` may add files to the folder before it is renamed."""
        for name in manifest.tables:
            with naming(self.folder / f"{name}.parquet"):
                self._table(name).close()
        if extra is not None:
            extra(self.partial)
        # The manifest is written last: a folder without one is not a record.
        with naming(self.folder / MANIFEST):
            write_text(self.partial / MANIFEST, manifest.text())
        publish(self.partial, self.folder)

    def _table(self, name: str) -> TableWriter:
        if name not in self.tables:
            self.tables[name] = TableWriter(self.partial, name)
        return self.tables[name]

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        """Removes an incomplete record."""
        for table in self.tables.values():
            table.abandon()
        shutil.rmtree(self.partial, ignore_errors=True)
        forget_empty(self.partial.parent)


def declared(name: str) -> pa.Table:
    """An empty table with the declared columns, or without columns if the table is not declared."""
    import pyarrow as pa

    spec = TABLES.get(name)
    columns = () if spec is None else spec.columns
    return pa.schema([(c.name, arrow_type(c.type)) for c in columns]).empty_table()


def in_order(name: str, columns: Iterable[str]) -> list[str]:
    """Columns of a table in order: first the declared ones, then those of schemes by name."""
    spec = TABLES.get(name)
    places = {} if spec is None else {c.name: i for i, c in enumerate(spec.columns)}
    return sorted(columns, key=lambda c: (places.get(c, len(places)), "" if c in places else c))


def fresh_partial(folder: Path, *, force: bool) -> Path:
    """An empty folder to write into; removes files of a killed run."""
    if folder.exists() and not force:
        raise RecordError(f"{folder} exists; earlier results are kept unless you say --force (in Python: force=True)")
    partial = folder.with_name(folder.name + PARTIAL)
    return fresh(partial)


def publish(partial: Path, folder: Path) -> None:
    """Renames a complete folder to its final name.

    The previous folder is removed only afterwards.
    """
    old = folder.with_name(folder.name + OLD)
    if os.path.lexists(folder):
        removed(old)
        folder.rename(old)
    _sync(partial)
    partial.rename(folder)
    _sync(folder.parent)
    removed(old)


def _sync(folder: Path) -> None:
    """Syncs the entries of a folder to disk, if supported."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
