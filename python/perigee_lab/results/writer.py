# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes a record while its run goes on: rows come in batches, and memory does not grow with the time simulated.

Rows of a table wait until there are enough for a group of its Parquet file. A column that appears later (a scheme's own
numbers, `cc_...`, of a flow that starts late) begins another file; at the end the parts become one, with nulls where a
part did not know the column.
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
"""Rows of a group, at least: what a table keeps in memory."""


class TableWriter:
    """A table's Parquet file, written in groups of rows."""

    def __init__(self, folder: Path, name: str) -> None:
        """Into folder/NAME.parquet; the file is made when there is something to write."""
        self.path, self.name = folder / f"{name}.parquet", name
        self.waiting: list[pa.Table] = []
        self.parts: list[Path] = []
        self.file: Any = None
        self.writer: Any = None

    def add(self, rows: pa.Table) -> None:
        """Further rows."""
        self.waiting.append(rows)
        if sum(t.num_rows for t in self.waiting) >= GROUP_ROWS:
            self._write_waiting()

    def close(self) -> None:
        """Writes what waits; the file is whole then."""
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
        """Closes the file as it is: nobody will read it."""
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
        """Rows as one group; columns that they lack are null."""
        import pyarrow as pa

        schema = self.writer.schema
        for field in schema:
            if field.name not in rows.column_names:
                rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
        # A group has one dictionary for each column of words.
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
        """Makes one file of all parts, group by group."""
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
    """The record of a run in a folder that gets its name when it is complete; called with the batches of a run."""

    def __init__(self, folder: Path, *, force: bool) -> None:
        """Makes a folder beside `folder` to write into. Raises RecordError if that exists, unless `force`."""
        self.folder = folder
        self.partial = fresh_partial(folder, force=force)
        self.tables: dict[str, TableWriter] = {}

    def __call__(self, name: str, columns: Iterable[Column]) -> None:
        """Further rows of a table. An OSError names its file."""
        self.add(name, to_arrow(columns))

    def add(self, name: str, rows: pa.Table) -> None:
        """Further rows of a table as Arrow. An OSError names its file."""
        with naming(self.folder / f"{name}.parquet"):
            self._table(name).add(rows)

    def finish(self, manifest: Manifest, extra: Callable[[Path], None] | None = None) -> None:
        """Completes the record; `extra` may add files to the folder before it gets its name."""
        for name in manifest.tables:
            with naming(self.folder / f"{name}.parquet"):
                self._table(name).close()
        if extra is not None:
            extra(self.partial)
        # The manifest comes last: a folder without one is not a record, whatever its name.
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
        """What is not complete by now goes."""
        for table in self.tables.values():
            table.abandon()
        shutil.rmtree(self.partial, ignore_errors=True)
        forget_empty(self.partial.parent)


def declared(name: str) -> pa.Table:
    """A table without rows as declared; of tables that are not declared, one without columns."""
    import pyarrow as pa

    spec = TABLES.get(name)
    columns = () if spec is None else spec.columns
    return pa.schema([(c.name, arrow_type(c.type)) for c in columns]).empty_table()


def in_order(name: str, columns: Iterable[str]) -> list[str]:
    """Columns of a table in their order: as declared, then a scheme's own by name."""
    spec = TABLES.get(name)
    places = {} if spec is None else {c.name: i for i, c in enumerate(spec.columns)}
    return sorted(columns, key=lambda c: (places.get(c, len(places)), "" if c in places else c))


def fresh_partial(folder: Path, *, force: bool) -> Path:
    """An empty folder to write into; leftovers of a killed run are removed."""
    if folder.exists() and not force:
        raise RecordError(f"{folder} exists; earlier results are kept unless you say --force")
    partial = folder.with_name(folder.name + PARTIAL)
    return fresh(partial)


def publish(partial: Path, folder: Path) -> None:
    """Gives a complete folder its name. What stood there goes only after the new one is complete."""
    old = folder.with_name(folder.name + OLD)
    if os.path.lexists(folder):
        removed(old)
        folder.rename(old)
    _sync(partial)
    partial.rename(folder)
    _sync(folder.parent)
    removed(old)


def _sync(folder: Path) -> None:
    """Makes the names in a folder survive a power cut, where the system can."""
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
