# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of flows in summary-flows.parquet, for runs with too many flows for summary.csv.

There is one row per flow of every run, in the order of summary.csv and with the same values (nine
digits). The columns are those that docs/reference/columns.md defines for rows of flows; they are
null if a flow has no value. The file is written and compared run by run, so that memory does not
grow with the number of runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import written
from perigee_lab.results.columns import COLUMNS, LATER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa

    from perigee_lab.results.metrics import Row

FILE = "summary-flows.parquet"
MOST_IN_CSV = 1000
"""Above this number of flows, the rows of flows are in this file instead of summary.csv."""
WORDS = {"cc", "flow", "flow_cc", "class", "group"}


def is_needed(runs: int, flows: int) -> bool:
    """Whether the rows of this many flows are in this file instead of summary.csv.

    With one flow per run, there are no rows of flows.
    """
    return flows > max(runs, MOST_IN_CSV)


def write(folder: Path, runs: int, flows: int, parts: Iterable[Callable[[], list[Row]]]) -> Path | None:
    """Writes the file if needed, otherwise removes an earlier one.

    `parts` compute the rows of each run.

    An OSError names the file.
    """
    path = folder / FILE
    if not is_needed(runs, flows):
        path.unlink(missing_ok=True)
        return None
    import pyarrow.parquet as pq

    with written(path) as partial, pq.ParquetWriter(partial, _schema(), compression="zstd") as file:
        for part in parts:
            file.write_table(_table(part()))
    return path


def where(folder: Path) -> list[str]:
    """The terminal line with the path of the file, if the rows of flows are not in summary.csv."""
    path = folder / FILE
    return [f"rows of flows: {path} (more than {MOST_IN_CSV}: not in summary.csv)"] if path.exists() else []


def follows(path: Path, parts: Iterable[Callable[[], list[Row]]]) -> bool:
    """Whether the file has exactly these rows, in a file of an earlier version without the columns of `LATER`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            found = file.schema_arrow
            if not any(found.equals(_schema(without)) for without in ((), LATER)):
                return False
            rows = _Rows(file.iter_batches(), found)
            for part in parts:
                wanted = _table(part()).select(found.names)
                if not rows.take(wanted.num_rows).equals(wanted):
                    return False
            return rows.at_end()
    except (OSError, pa.ArrowException):
        return False


class _Rows:
    """Rows of batches, read in pieces of any length."""

    def __init__(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
        self.batches = batches
        self.left = schema.empty_table()

    def take(self, n: int) -> pa.Table:
        """The next `n` rows, or fewer at the end."""
        import pyarrow as pa

        pieces = [self.left]
        have = self.left.num_rows
        while have < n and (batch := next(self.batches, None)) is not None:
            pieces.append(pa.Table.from_batches([batch]))
            have += batch.num_rows
        every = pa.concat_tables(pieces)
        self.left = every.slice(n)
        return every.slice(0, n)

    def at_end(self) -> bool:
        return self.left.num_rows == 0 and all(batch.num_rows == 0 for batch in self.batches)


def _schema(without: Collection[str] = ()) -> pa.Schema:
    import pyarrow as pa

    kinds = {"seed": pa.int64(), **dict.fromkeys(WORDS, pa.string())}
    return pa.schema(
        [(c.name, kinds.get(c.name, pa.float64())) for c in COLUMNS if "flow" in c.rows and c.name not in without]
    )


def _table(rows: list[Row]) -> pa.Table:
    import pyarrow as pa

    schema = _schema()
    return pa.table({n: [_cell(n, r.get(n)) for r in rows] for n in schema.names}, schema=schema)


def _cell(name: str, value: Any) -> Any:
    if value is None or name in WORDS or name == "seed":
        return value
    return None if math.isnan(value) else float(f"{value:.9g}")
