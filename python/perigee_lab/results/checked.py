# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Validated reader of a record's tables: columns as declared, rows as in the manifest, bounded memory.

A table comes from another person as often as from this machine. Its schema and its size are checked
before anything is unpacked, and its content before it is returned.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from perigee_lab.common import names
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import RecordError
from perigee_lab.common.reading import UnreadableError, regular
from perigee_lab.results.tables import RELIED_ON, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

AGAIN = "run it again with --force"
LARGE_BYTES = 256 << 20
"""Unpacked size above which a table must not be compressed beyond `MOST_RATIO`."""
MOST_RATIO = 200
"""Unpacked bytes per byte of the file; records have up to 30."""
MOST_COLUMNS = 10_000
IDENTIFYING = {"t_ns", "flow", "link", "port", "pair", "hop", "kind", "rtt_us", "count", "name", "from", "to", "cc"}
WIDTHS = {"f64": 8, "u64": 8, "i64": 8, "u32": 4, "bool": 1, "words": 4, "null": 1}


class TableFile:
    """The open file of a table, with a checked schema and a checked number of rows."""

    def __init__(self, path: Path, name: str, rows: int | None) -> None:
        """Opens it; `rows` is the number in the manifest (None: any).

        Raises ArrowException, OSError, ValueError and RecordError; see `reading`.
        """
        import pyarrow.parquet as pq

        self.path, self.name = path, name
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
        # Text is read as codes and words, so that repeated text takes no room.
        self.file = pq.ParquetFile(path, read_dictionary=[f.name for f in schema if _is_plain_text(f.type)])
        self.schema: pa.Schema = self.file.schema_arrow
        self._check_schema()
        self._check_size(rows)

    def close(self) -> None:
        """Closes the file."""
        self.file.close()

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The table, or some of its columns."""
        chosen = self._there(columns)
        return self._content(self.file.read(columns=chosen))

    def groups(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The table in pieces, the first of which has no rows."""
        chosen = self._there(columns)
        empty = self.schema.empty_table()
        yield empty if chosen is None else empty.select(chosen)
        for group in range(self.file.num_row_groups):
            yield self._content(self.file.read_row_group(group, columns=chosen))

    def _there(self, columns: Sequence[str] | None) -> list[str] | None:
        lacking = [c for c in columns or () if c not in self.schema.names]
        if lacking:
            raise RecordError(f"{self.path} has no column {', '.join(lacking)}: it is no table of {self.name}; {AGAIN}")
        return None if columns is None else list(columns)

    def _check_schema(self) -> None:
        found = self.schema.names
        if len(found) > MOST_COLUMNS or len(set(found)) != len(found):
            raise RecordError(f"{self.path}: {len(found)} columns, of which some have one name, or too many: {AGAIN}")
        self._there(RELIED_ON.get(self.name, "").split())
        declared = {c.name: c.type for c in TABLES[self.name].columns} if self.name in TABLES else {}
        for field in self.schema:
            if why := names.problem(field.name):
                raise RecordError(f"{self.path}: a column's name {why}: {AGAIN}")
            kind, wanted = _kind(field.type), declared.get(field.name)
            of_sweeps = kind in ("i64", "null") and self.name in TABLES
            if kind is None or of_sweeps or (wanted is not None and kind != wanted):
                must = wanted or "a number, a truth value or a text"
                raise RecordError(f"{self.path}: {field.name} has the type {field.type}, must be {must}: {AGAIN}")

    def _check_size(self, rows: int | None) -> None:
        """Both numbers are known without unpacking: a small file may hold 10⁸ equal rows."""
        check_size(self.path, self.file.metadata, rows, sum(WIDTHS[_kind(f.type) or "u64"] for f in self.schema))

    def _content(self, table: pa.Table) -> pa.Table:
        table.validate(full=True)
        _check_nulls(table, self.path, self.name)
        return named(table, self.path)


def check_size(path: Path, metadata: Any, rows: int | None, row_bytes: int) -> None:
    """Checks number of rows and unpacked size of a Parquet file by its metadata. Raises RecordError."""
    there = sum(metadata.row_group(k).num_rows for k in range(metadata.num_row_groups))
    if there != metadata.num_rows or there < 0:
        raise RecordError(f"{path} is damaged: its groups have {there} rows, not {metadata.num_rows}: {AGAIN}")
    if rows is not None and there != rows:
        raise RecordError(f"{path} has {there} rows, the manifest has {rows}: {AGAIN}")
    size, packed = there * row_bytes, path.stat().st_size
    if size > LARGE_BYTES and size > MOST_RATIO * packed:
        raise RecordError(
            f"{path}: its {packed / 1e6:.1f} MB would unpack to {size / 1e6:,.0f} MB; at most "
            f"{MOST_RATIO} times its size is read: {AGAIN}"
        )


@contextmanager
def reading(path: Path) -> Iterator[Path]:
    """The file of a table, which the block may read. Raises RecordError for all that goes wrong."""
    import pyarrow as pa

    if not path.exists():
        raise RecordError(f"{path} is missing: {AGAIN}")
    try:
        yield regular(path)
    except UnreadableError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}: {AGAIN}") from None
    except (OSError, ValueError, KeyError, MemoryError, pa.ArrowException) as error:
        what = " ".join(str(error).split())[:200].rstrip(".: ") or type(error).__name__
        raise RecordError(f"{path} cannot be read: {names.visible(what)}: {AGAIN}") from error


@contextmanager
def opened(path: Path, name: str, rows: int | None) -> Iterator[TableFile]:
    """The checked file of a table. Raises RecordError."""
    with reading(path) as found:
        file = TableFile(found, name, rows)
        try:
            yield file
        finally:
            file.close()


def wrong_row(folder: Path | None, table: str, row: int, what: str) -> RecordError:
    """The error of a row of a table, counted from 0, that cannot be one."""
    where = table if folder is None else folder / f"{table}.parquet"
    return RecordError(f"{where} is damaged: row {row + 1}: {what}: {AGAIN}")


@contextmanager
def consistent(folder: Path | None) -> Iterator[None]:
    """Converts errors of computations over a record's tables that contradict each other.

    Each table is valid by itself, but a flow may lack its totals, or a number the range of a
    computation. Errors over records in memory, which are not foreign, are not converted.

    Raises RecordError.
    """
    try:
        yield
    except PerigeeError:
        # Of something else, such as a missing program.
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        if folder is None:
            raise
        what = names.visible(" ".join(f"{type(error).__name__}: {error}".split())[:120].rstrip(".: "))
        raise RecordError(f"{folder}: its tables and manifest contradict each other ({what}): {AGAIN}") from error


def _kind(found: Any) -> str | None:
    """The name of an Arrow type in declarations; None if no table has it."""
    import pyarrow as pa

    if _is_plain_text(found):
        return "words"
    if pa.types.is_dictionary(found):
        return "words" if _is_plain_text(found.value_type) and found.index_type == pa.int32() else None
    # Signed numbers and columns without any value are in tables of sweeps.
    kinds = {pa.uint32(): "u32", pa.uint64(): "u64", pa.int64(): "i64", pa.float64(): "f64", pa.bool_(): "bool"}
    return kinds.get(found, "null" if pa.types.is_null(found) else None)


def _is_plain_text(found: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def _check_nulls(table: pa.Table, path: Path, name: str) -> None:
    """Raises RecordError for a gap in a column that says of what a row is.

    Measurements have gaps in other columns that simulations always know.
    """
    declared = {c.name: c.null for c in TABLES[name].columns} if name in TABLES else {}
    for column in IDENTIFYING & set(table.column_names):
        if declared.get(column) == "" and table[column].null_count:
            raise RecordError(f"{path}: {column} has no value in {table[column].null_count} rows: {AGAIN}")


def named(table: pa.Table, path: Path) -> pa.Table:
    """Checks that a table's text columns are valid names, and escapes texts of events.

    Raises RecordError.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for at, column in enumerate(table.columns):
        if _kind(column.type) != "words":
            continue
        odd = [t for t in pc.unique(column).to_pylist() if isinstance(t, str) and names.problem(t) is not None]
        if not odd:
            continue
        name = table.column_names[at]
        if name != "text":
            raise RecordError(f"{path}: a {name} {names.visible(odd[0])!r} {names.problem(odd[0])}")
        shown = [t if t is None else names.visible(t) for t in column.to_pylist()]
        table = table.set_column(at, name, pa.array(shown, pa.string()))
    return table
