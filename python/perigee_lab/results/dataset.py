# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The runs of sweeps as a Parquet dataset: FOLDER/results, with one row per run.

A row has the swept keys, the columns of docs/reference/columns.md, and its origin: `record` (its
folder), `key` (of job and scheme), `version`, `finished`, `wall_s`, `cpu_s`. Large sets are split
into folders `KEY=VALUE` (Hive partitions), so that Polars, DuckDB, Dask and pandas can read them
lazily and in part.
"""

from __future__ import annotations

import math
import operator
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import RecordError, naming
from perigee_lab.common.names import visible
from perigee_lab.common.quantities import NUMBER, TEXT, encodable, quantity
from perigee_lab.results import checked, summary_cache
from perigee_lab.results.cells import INDEX, Sweep, open_sweep, read_index
from perigee_lab.results.columns import COLUMNS
from perigee_lab.results.writer import fresh_partial, publish

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from perigee_lab.common.quantities import Quantity

FOLDER = "results"
ORIGIN = ("record", "key", "version", "finished", "wall_s", "cpu_s")
# Files with fewer rows cost more to open than to read.
ROWS_PER_FILE, MOST_FILES = 5_000, 500
MOST_NAMED = 5
CONDITION = re.compile(r"^\s*(?P<key>[^<>=!]+?)\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<value>.*?)\s*$")
SIGNS = {"=": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
OPERATORS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
# Every other column is a swept key.
_NAMES = {*ORIGIN, *(c.name for c in COLUMNS), "set"}


def table_of(rows: Sequence[Mapping[str, Any]], keys: Sequence[str] = ()) -> pa.Table:
    """Rows as an Arrow table. A key is a column of text unless all of its values are numbers."""
    import pyarrow as pa

    used = {name for row in rows for name in row}
    names = [*keys, *(c.name for c in COLUMNS if c.name in used and c.name not in keys)]
    names += [n for n in ORIGIN if n in used and n not in names]
    columns = {name: [_bare(row.get(name)) for row in rows] for name in names}
    for name, values in columns.items():
        kinds = {type(v) for v in values if v is not None}
        if str in kinds and len(kinds) > 1:
            columns[name] = [None if v is None else str(v) for v in values]
        elif float in kinds:
            columns[name] = [None if v is None else float(v) for v in values]
    return _typed(pa.table(columns))


def _typed(table: pa.Table) -> pa.Table:
    """The table with numbers as the type of empty columns, since no operation accepts these."""
    import pyarrow as pa

    kinds = [pa.float64() if pa.types.is_null(f.type) else f.type for f in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def _bare(value: Any) -> Any:
    """Converts NaN to null."""
    return None if isinstance(value, float) and math.isnan(value) else value


def write(sweep: Sweep) -> Path:
    """Writes the runs of a sweep atomically. An OSError names the folder."""
    rows = [{**row, **origin} for row, origin in zip(sweep.rows, sweep.origins, strict=True)]
    return write_table(table_of(rows, sweep.keys), sweep.folder, sweep.keys)


def write_table(table: pa.Table, folder: Path, keys: Sequence[str]) -> Path:
    """Writes a table with these swept keys as the results of a folder."""
    import pyarrow.dataset as ds

    target = folder / FOLDER
    split = partitions(table, keys)
    schema = table.select(split).schema
    with naming(target):
        partial = fresh_partial(target, force=True)
        try:
            ds.write_dataset(
                table,
                partial,
                format="parquet",
                partitioning=ds.partitioning(schema, flavor="hive") if split else None,
                max_partitions=MOST_FILES,
            )
            publish(partial, target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target


def partitions(table: pa.Table, keys: Sequence[str]) -> list[str]:
    """Keys by which a table is partitioned: as many as keep files at a useful size."""
    chosen: list[str] = []
    files = 1
    for key in keys:
        files *= table[key].combine_chunks().unique().__len__()
        if files > MOST_FILES or table.num_rows / files < ROWS_PER_FILE:
            break
        chosen.append(key)
    return chosen


def dataset(folder: Path) -> Any:
    """Opens the results in a folder as a lazy `pyarrow.dataset.Dataset`.

    Raises RecordError if there are none.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    where = folder / FOLDER
    try:
        if where.is_dir():
            for path in where.rglob("*"):
                if not path.is_dir():
                    with checked.opened(path, FOLDER, None):
                        # Schema, size and ratio are checked.
                        pass
            return ds.dataset(where, format="parquet", partitioning="hive")
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _unreadable(where, error) from None
    return ds.dataset(_rows(folder))


def _unreadable(where: Path, error: BaseException) -> RecordError:
    what = visible(" ".join(str(error).split())[:200])
    return RecordError(f"{where} cannot be read: {what}: run the sweep again")


def _rows(folder: Path) -> pa.Table:
    """Rows of a folder without a dataset: an older sweep, or records of `perigee run`."""
    if (folder / INDEX).exists():
        sweep = open_sweep(folder)
        return table_of(sweep.rows, sweep.keys)
    found = summary_cache.read_all(folder)
    if not found:
        raise RecordError(f"{folder} holds no results: give the folder of a sweep, or of perigee run")
    return table_of([{**k.run, "record": str(f), **k.about} for f, k in found])


def keys_of(folder: Path) -> list[str]:
    """The swept keys of a folder."""
    return [a.key for a in read_index(folder).axes] if (folder / INDEX).exists() else []


def query(folder: Path, conditions: Sequence[str] = (), columns: Sequence[str] = ()) -> pa.Table:
    """Rows that satisfy all conditions (`KEY=VALUE`, `goodput_mbps>50`), with these columns.

    Without conditions or columns, all rows or columns.

    Swept values are compared as quantities: `rate>200kbit`, `delay=0.6s`. Raises RecordError if a
    name is unknown or a value has another dimension.
    """
    data = dataset(folder)
    # A key given both by its last part and by its full name is one column.
    names = list(dict.fromkeys(resolved(n, data.schema.names) for n in columns)) or None
    wanted = None
    for text in conditions:
        one = _condition(text, data)
        wanted = one if wanted is None else operator.and_(wanted, one)
    return _table(data, columns=names, filter=wanted)


def _table(data: Any, **chosen: Any) -> pa.Table:
    """Rows of a dataset. Raises RecordError if they cannot be read."""
    import pyarrow as pa

    where = Path(next(iter(getattr(data, "files", [])), FOLDER))
    try:
        found = data.to_table(**chosen)
        found.validate(full=True)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise _unreadable(where, error) from None
    return checked.named(found, where)


def unmet(folder: Path, conditions: Sequence[str]) -> str:
    """Message that explains why no row satisfies all conditions.

    Names the first that no row satisfies.
    """
    data = dataset(folder)
    for text in conditions:
        if _table(data, filter=_condition(text, data)).num_rows == 0:
            name = resolved(CONDITION.match(text)["key"], data.schema.names)  # type: ignore[index]
            return f"no row of {folder} has {text}: {name} has {_values(data, name)}"
    return f"no row of {folder} has {', '.join(conditions)} together"


def _values(data: Any, name: str) -> str:
    """Up to five values of a column, or their range if they are numbers and there are more."""
    there = [v for v in _table(data, columns=[name])[name].unique().to_pylist() if v is not None]
    if len(there) > MOST_NAMED and all(isinstance(v, int | float) for v in there):
        return f"{min(there):g} to {max(there):g}"
    more = f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else ""
    return (", ".join(str(v) for v in there[:MOST_NAMED]) or "no values") + more


def resolved(name: str, names: Sequence[str]) -> str:
    """Resolves a column by its name, or a key by its last part if that is unique.

    Raises RecordError.
    """
    if name in names:
        return name
    found = [n for n in names if n.rpartition(".")[2] == name]
    if len(found) == 1:
        return found[0]
    among = f"; {', '.join(found)} end so" if found else f"; there are {', '.join(names)}"
    raise RecordError(f"there is no column {name!r}{among}")


def is_swept_text(name: str, kind: pa.DataType) -> bool:
    """Whether a column has values of a swept key that are not all numbers."""
    import pyarrow as pa

    return name not in _NAMES and (pa.types.is_string(kind) or pa.types.is_dictionary(kind))


def _condition(text: str, data: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = CONDITION.match(text)
    if found is None:
        raise RecordError(f"--where {text!r}: write KEY=VALUE, KEY!=VALUE, KEY<VALUE or KEY>VALUE")
    if not encodable(text):
        raise RecordError(f"--where {text!r}: this is not UTF-8")
    name = resolved(found["key"], data.schema.names)
    kind = data.schema.field(name).type
    value: Any = found["value"]
    if is_swept_text(name, kind):
        there = [v for v in _table(data, columns=[name])[name].unique().to_pylist() if v is not None]
        return pc.field(name).isin(pa.array(_chosen(text, name, found["sign"], value, there), pa.string()))
    if not (pa.types.is_string(kind) or pa.types.is_dictionary(kind)):
        wanted = quantity(value)
        if wanted.kind != NUMBER:
            raise RecordError(f"--where {text!r}: {name} is a number")
        value = wanted.value
    return getattr(pc, SIGNS[found["sign"]])(pc.field(name), value)


def _chosen(text: str, name: str, sign: str, value: str, there: Sequence[str]) -> list[str]:
    """The values of a swept key that satisfy a condition.

    Raises RecordError if they are not comparable.
    """
    wanted, each = quantity(value), {v: quantity(v) for v in there}
    compare: Any = getattr(operator, OPERATORS[sign])
    if sign in ("=", "!="):
        comparable = not each or wanted.kind in {q.kind for q in each.values()}
        found = [v for v, q in each.items() if compare(q, wanted)]
    else:
        comparable = wanted.kind != TEXT and all((q.kind, q.unit) == (wanted.kind, wanted.unit) for q in each.values())
        found = [v for v, q in each.items() if comparable and compare(q.value, wanted.value)]
    if not comparable:
        raise RecordError(f"--where {text!r}: {name} has {', '.join(there[:5])}: {_remedy(sign, each.values())}")
    return found


def _remedy(sign: str, there: Iterable[Quantity]) -> str:
    """Explains why a value is not comparable with those of a key."""
    kinds, units = {q.kind for q in there}, {q.unit for q in there}
    if sign in ("=", "!=") and (kinds & {TEXT} or len(kinds) > 1):
        return "give one of its values"
    if kinds & {TEXT} or len(kinds) > 1 or len(units) > 1:
        return "these have no order: only = and != compare them, with a value of their kind"
    [kind] = kinds
    return f"give a {kind}" + ("" if kind == NUMBER else f" with its unit ({', '.join(units)} or a multiple)")


def ordered(table: pa.Table, name: str, *, descending: bool = False) -> pa.Table:
    """Sorts rows by a column; the values of a swept key by quantity, numbers before text."""
    import pyarrow as pa

    by, way = name, "descending" if descending else "ascending"
    if is_swept_text(name, table[name].type):
        quantities = {v: quantity(v) for v in table[name].unique().to_pylist() if v is not None}
        order = sorted(quantities, key=lambda v: _place(quantities[v]))
        # Equal quantities have the same rank, whatever their notation.
        first = {_place(quantities[v]): n for n, v in reversed(list(enumerate(order)))}
        places = [None if v is None else first[_place(quantities[v])] for v in table[name].to_pylist()]
        by = "order of a swept key"
        table = table.append_column(by, pa.array(places, pa.int64()))
    table = table.sort_by([(by, way)])
    return table if by == name else table.drop_columns([by])


def _place(q: Quantity) -> tuple[Any, ...]:
    return q.kind == TEXT, q.kind, q.unit, q.value


def joined(folders: Sequence[Path], tables: Sequence[pa.Table]) -> pa.Table:
    """Joins sets by their keys.

    There is one row for each combination of keys, scheme and seed that all sets have; the other
    columns are named `NAME@SET`.
    """
    import pyarrow as pa

    shared = [n for n in tables[0].column_names if all(n in t.column_names for t in tables)]
    on = [n for n in shared if n in {"cc", "seed", "flow"} or any(n in keys_of(f) for f in folders)]
    whole = None
    for label, table in zip(labels(folders), tables, strict=True):
        names = [n if n in on else f"{n}@{label}" for n in table.column_names]
        one = _typed(table).rename_columns(names)
        try:
            whole = one if whole is None else whole.join(one, keys=on, join_type="inner")
        except pa.ArrowException as error:
            raise RecordError(f"{folders[0]} and {label} cannot be joined: {visible(str(error)[:200])}") from None
    assert whole is not None
    return whole.sort_by([(n, "ascending") for n in on])


def labels(folders: Sequence[Path]) -> list[str]:
    """A label for each set: as many of the last parts of its path as make the labels unique."""
    paths = [f.resolve() for f in folders]
    for n in range(1, max(len(p.parts) for p in paths)):
        found = ["/".join(p.parts[-n:]) for p in paths]
        if len(set(found)) == len(found):
            return found
    raise RecordError(f"--join puts sets side by side, and {folders[0]} is given twice")


def together(folders: Sequence[Path], tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenates sets, with a column `set` for the label of each row's set."""
    import pyarrow as pa

    named = [t.add_column(0, "set", pa.array([str(f)] * t.num_rows)) for f, t in zip(folders, tables, strict=True)]
    return pa.concat_tables(named, promote_options="permissive")
