# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Accounts of senders (table `limits`), checked against the time that they divide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.files import RecordError
from perigee_lab.results.checked import wrong_row

if TYPE_CHECKING:
    from perigee_lab.results.run import Run

ACCOUNTS = ("application_ns", "receive_window_ns", "send_buffer_ns", "congestion_window_ns", "pacing_ns")
"""Columns of the table `limits`, in the order of `amounts.BASES`."""
MAY_BE_NULL = "pacing_ns"
EXCESS_NS = 100_000_000
"""Time by which the accounts of a kernel may exceed an interval: its clock of them has ticks."""


def by_flow(run: Run, wanted: set[int]) -> dict[int, Any]:
    """The rows of each wanted flow in order of time; none if the record has no accounts.

    Raises RecordError for a row that cannot be one.
    """
    import pyarrow as pa

    if "limits" not in run.manifest.tables:
        return {}
    totals = run.table("flow_totals")
    started = dict(zip(*(totals.column(c).to_pylist() for c in ("flow", "started_ns")), strict=True))
    chosen, pieces, rows = np.array(sorted(wanted)), [], 0
    for part in run.groups("limits"):
        flows = np.asarray(part.column("flow"))
        _check_columns(run, part, flows, started, rows)
        numbered = part.append_column("row", pa.array(np.arange(rows, rows + part.num_rows)))
        pieces.append(numbered.filter(pa.array(np.isin(flows, chosen))))
        rows += part.num_rows
    table = pa.concat_tables(pieces, promote_options="default")
    flow = np.asarray(table.column("flow"))
    order = np.lexsort((np.asarray(table.column("t_ns")), flow))
    numbers, starts = np.unique(flow[order], return_index=True)
    bounds = [*starts.tolist(), len(order)]
    found = {int(n): table.take(order[a:b]) for n, a, b in zip(numbers, bounds, bounds[1:], strict=False)}
    for n, part in found.items():
        _check_sums(run, part, started[n] or 0)
    return found


def _check_columns(run: Run, part: Any, flows: Any, started: dict[int, Any], first: int) -> None:
    unknown = np.flatnonzero(~np.isin(flows, np.array(list(started), dtype=np.int64)))
    if len(unknown):
        raise _wrong(run, first + int(unknown[0]), f"flow {flows[unknown[0]]} is none of the {len(started)} flows")
    for name in ACCOUNTS:
        column = part.column(name)
        if name != MAY_BE_NULL and column.null_count:
            empty = np.flatnonzero(np.asarray(column.is_null()))
            raise _wrong(run, first + int(empty[0]), f"{name} has no value")


def _check_sums(run: Run, part: Any, started_ns: int) -> None:
    """Checks that each row divides no more than the time since the previous one."""
    times = np.asarray(part.column("t_ns"), dtype=np.float64)
    columns = [np.asarray(part.column(c).to_pandas(), dtype=np.float64) for c in ACCOUNTS]
    sums = np.nansum(np.column_stack(columns), axis=1)
    # A kernel's connection, and a proxy's, may be older than the flow, but not than the record.
    is_simulated = run.manifest.backend == "simulator"
    begin, slack = (min(float(started_ns), times[0]), 1.0) if is_simulated else (0.0, EXCESS_NS)
    lengths = np.diff(times, prepend=begin)
    wrong = np.flatnonzero(sums > lengths + slack)
    if len(wrong):
        k = int(wrong[0])
        what = f"accounts for {sums[k] / 1e9:.6g} s within {lengths[k] / 1e9:.6g} s"
        raise _wrong(run, int(part.column("row")[k].as_py()), f"flow {part.column('flow')[k].as_py()} {what}")


def _wrong(run: Run, row: int, what: str) -> RecordError:
    return wrong_row(run.folder, "limits", row, what)
