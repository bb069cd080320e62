# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Conversion of the core's columns to Arrow and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Column = tuple[str, npt.NDArray[Any], list[str] | None, npt.NDArray[np.bool_] | None]
    """Name, values (codes for text), texts of the codes, rows that have a value (None = all)."""


def to_arrow(columns: Iterable[Column]) -> pa.Table:
    """Columns as an Arrow table, with coded texts as dictionaries and missing values as null."""
    import pyarrow as pa

    arrays = {}
    for name, values, words, valid in columns:
        mask = None if valid is None else ~valid
        array = pa.array(values, mask=mask)
        if words is not None:
            array = pa.DictionaryArray.from_arrays(array.cast(pa.int32()), pa.array(words, pa.string()))
        arrays[name] = array
    return pa.table(arrays)


def arrow_type(kind: str) -> pa.DataType:
    """The Arrow type for the core's column type `kind`."""
    import pyarrow as pa

    plain = {"u32": pa.uint32(), "u64": pa.uint64(), "f64": pa.float64(), "bool": pa.bool_()}
    return plain.get(kind, pa.dictionary(pa.int32(), pa.string()))


def from_arrow(table: pa.Table) -> list[Column]:
    """The columns of a table made by `to_arrow`; gaps are filled with zeros."""
    return [_column(name, table.column(name)) for name in table.column_names]


def _column(name: str, chunked: Any) -> Column:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    array = chunked.combine_chunks()
    words = None
    if pa.types.is_dictionary(array.type):
        words = array.dictionary.to_pylist()
        array = array.indices.cast(pa.uint32())
    valid = None
    if array.null_count:
        valid = np.asarray(pc.is_valid(array))
        array = pc.fill_null(array, False if pa.types.is_boolean(array.type) else 0)
    return name, np.ascontiguousarray(array.to_numpy(zero_copy_only=False)), words, valid
