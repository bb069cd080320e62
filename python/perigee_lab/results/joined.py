# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs of several folders for one page: named by their folders, with a common time zero."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import RecordError
from perigee_lab.results.record import in_order
from perigee_lab.results.run import Results, Run, find_records
from perigee_lab.results.summary import experiment

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

TIMES = {
    "flows": ("t_ns",),
    "limits": ("t_ns",),
    "links": ("t_ns",),
    "events": ("t_ns",),
    "completions": ("asked_ns", "first_ns", "done_ns"),
    "flow_totals": ("started_ns", "completed_ns", "stop_ns"),
}
"""Columns with instants of a run, by table."""
STATE = {"routes": "pair", "tracks": "node"}
"""Tables with values that last until the next ones of the same pair or node: the last ones before zero are at zero."""


def open_runs(*folders: str | Path) -> Results:
    """Opens all runs of one or several folders of `perigee run`.

    Runs of one scenario with different seeds or schemes are one comparison. Otherwise schemes are
    named by their folders (`folder: cubic`), and time starts with the first flow of each run, at the
    last instant of sampling before it.

    Raises:
        RecordError: a folder has no record, or folders with runs of several scenarios have the same name.
    """
    paths = [Path(f) for f in folders]
    runs = in_order([run for path in paths for run in find_records(path)])
    if len(paths) > 1 and not _is_one_comparison(runs):
        runs = joined(paths)
    return Results(runs, paths[0] if len(paths) == 1 else None)


def _is_one_comparison(runs: Sequence[Run]) -> bool:
    """Whether runs differ only in seed and scheme, and no two in neither."""
    return len({(r.cc, r.seed) for r in runs}) == len(runs) and len({tuple(experiment(r)) for r in runs}) == 1


def joined(folders: Sequence[Path]) -> list[Run]:
    """The runs of several folders, each from the last instant of sampling before its first flow on.

    Raises RecordError if a folder has no record, or two have the same name.
    """
    names = [f.resolve().name for f in folders]
    if twice := next((n for n in names if names.count(n) > 1), None):
        raise RecordError(f"two folders are named {twice}: rename one, since the page names runs by their folders")
    return [_of(run, name) for folder, name in zip(folders, names, strict=True) for run in find_records(folder)]


def _of(run: Run, name: str) -> Run:
    """A run with the name of its folder and its time zero."""
    starts = [t for t in run.table("flow_totals").column("started_ns").to_pylist() if t is not None]
    first_ns = min(starts, default=0)
    # Windows begin at instants of sampling, which stay such instants.
    zero_ns = first_ns - first_ns % max(1, run.manifest.sample_ns)
    label = name if run.cc in ("programs", "unknown") else f"{name}: {run.cc}"
    changed: dict[str, Any] = {"cc": label, "duration_ns": max(0, run.manifest.duration_ns - zero_ns)}
    changed["simulated_ns"] = max(0, run.manifest.simulated_ns - zero_ns)
    changed["warmup_ns"] = max(0, run.manifest.warmup_ns - zero_ns)
    manifest = replace(run.manifest, **changed, data={**run.manifest.data, **changed})
    tables = {table: run.table(table) for table in run.manifest.tables}
    for table, times in TIMES.items():
        if table in tables:
            kept = _from(tables[table], zero_ns) if times == ("t_ns",) else tables[table]
            tables[table] = _shifted(kept, times, zero_ns)
    for table, of in STATE.items():
        if table in tables:
            tables[table] = _shifted(_since(tables[table], of, zero_ns), ("t_ns",), zero_ns)
    return Run(manifest, run.folder, tables)


def _from(table: pa.Table, zero_ns: int) -> pa.Table:
    """The rows of a time series from an instant on."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return table.filter(pc.greater_equal(table.column("t_ns").cast(pa.int64()), zero_ns))


def _since(table: pa.Table, of: str, zero_ns: int) -> pa.Table:
    """The rows after an instant, and those that apply at it."""
    rows = table.select(["t_ns", of]).to_pandas()
    before = rows[rows["t_ns"] <= zero_ns]
    latest = before.groupby(of)["t_ns"].transform("max")
    rows["keep"] = (rows["t_ns"] > zero_ns) | (before["t_ns"] == latest).reindex(rows.index, fill_value=False)
    return table.filter(rows["keep"].to_numpy())


def _shifted(table: pa.Table, times: Sequence[str], zero_ns: int) -> pa.Table:
    """Instants from `zero_ns` on, and 0 for those before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in times:
        kind = table.schema.field(name).type
        shifted = pc.subtract(table.column(name).cast(pa.int64()), zero_ns)
        position = table.schema.get_field_index(name)
        table = table.set_column(position, name, pc.max_element_wise(shifted, 0, skip_nulls=False).cast(kind))
    return table
