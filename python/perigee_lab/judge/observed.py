# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Records of programs, with what their packets, their output and their qlogs show.

A backend's record counts all packets between two nodes. Metrics of expectations need new data in
one direction, RTTs and losses as the sender has them:

- TCP: the capture at the sender (`perigee-capture`),
- QUIC: the sender's qlog; without one the spin bit, for RTTs only,
- any transport: lines `received BYTES` on the receiver's standard output.

Everything else is null, and an expectation that needs it is not observable.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.files import RecordError, fresh, write_text
from perigee_lab.common.reading import read_text
from perigee_lab.measure.capture import Reading, import_capture
from perigee_lab.measure.logs.model import Asked, LogError
from perigee_lab.measure.logs.reader import read_log
from perigee_lab.results import checked
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import Run, open_record
from perigee_lab.runs.programs import SCHEME
from perigee_lab.runs.work import SENDERS

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from perigee_lab.measure.logs.model import Flow
    from perigee_lab.runs.stories import Story

    Array = npt.NDArray[np.float64]

FOLDER, ABOUT = "observed", "observed.json"
"""Folder of a record for observations, and their key."""
TABLES = ("flows", "events", "completions", "flow_totals", "windows")
COUNTERS = ("delivered_bytes", "sent_packets", "retransmits", "lost_packets", "timeouts")
SAMPLES = ("rtt_ns",)
"""Columns with a value for an instant only; all others last until the next one."""
OF_NETWORK = ("path_rate_bps", "base_rtt_ns")
"""Columns that the backend knows."""
CAPTURE_EPOCH_NS = 946_684_800_000_000_000
"""Time 0 of a run in its captures: 2000-01-01."""
GUEST_EPOCH_NS = 1_767_225_604_000_000_000
"""Time 0 of a run on the clocks of guests: 2026-01-01, four seconds after their start."""
NEAR_NS = 10 * 86_400_000_000_000
RECEIVED = re.compile(rb"received (\d+)\s*")


@dataclass(frozen=True)
class Sent:
    """A flow that programs carried; times in ns of the run."""

    flow: int
    port: int
    """Port of its server."""
    from_server: bool
    """Whether the server sent the data."""
    start_ns: int
    stop_ns: int
    bytes: int | None
    completed_ns: int | None
    """End of the client, if it was to end with a number of bytes."""
    received: Series | None
    qlogs: Sequence[Path]


@dataclass
class Series:
    """Values of a flow over time, by column of the table flows."""

    t_ns: Array
    columns: dict[str, Array] = field(default_factory=dict)
    states: list[tuple[int, str]] = field(default_factory=list)


def received(story: Story) -> Series | None:
    """Bytes received according to lines of a program's output; None without such lines."""
    output = bytes(story.written["output"])
    times, values, place = [], [], 0
    growth = iter(story.growth)
    at_ns, upto = next(growth, (0, 0))
    for line in output.splitlines(keepends=True):
        place += len(line)
        while upto < place:
            at_ns, upto = next(growth, (at_ns, len(output)))
        if found := RECEIVED.fullmatch(line):
            times.append(float(at_ns))
            values.append(float(found[1]))
    return Series(np.array(times), {"delivered_bytes": np.array(values)}) if times else None


# ---- sources -------------------------------------------------------------------------------------


def of_capture(captured: Run, sent: Sent) -> list[Series]:
    """Series of each connection of a flow in an import of the capture at the senders."""
    zero_ns = captured.manifest["measured"]["began_ns"] - CAPTURE_EPOCH_NS
    found = []
    flows = captured.table("flows")
    for t in captured.table("flow_totals").to_pylist():
        server = t["name"].split(" > ")[0 if sent.from_server else 1]
        if server.rpartition(":")[2] != str(sent.port):
            continue
        rows = flows.filter(np.asarray(flows.column("flow")) == t["flow"])
        columns = {name: _floats(rows, name) for name in ("rtt_ns", "srtt_ns")}
        in_flight = _floats(rows, "in_flight_bytes")
        # Those of datagrams are unknown, as acknowledgements are encrypted.
        if not np.isnan(in_flight).all():
            names = ("delivered_bytes", "sent_packets", "retransmits", "timeouts", "in_flight_bytes")
            columns |= {name: _floats(rows, name) for name in names}
        found.append(Series(_floats(rows, "t_ns") + zero_ns, columns))
    return found


def of_qlogs(files: Sequence[Path], start_ns: int) -> Series | None:
    """The series of the longest trace of a sender's qlogs; None if there is none.

    Raises RecordError if there are files and none of them can be read.
    """
    traces: list[Flow] = []
    wrong = ""
    for file in files:
        try:
            traces += read_log(file, Asked(), "qlog").flows
        except (LogError, OSError, UnicodeDecodeError) as error:
            wrong = f"{file.name}: {error}"
    if not traces:
        if wrong:
            raise RecordError(f"no qlog of the sender can be read: {wrong}")
        return None
    trace = max(traces, key=lambda f: f.rows[-1]["sent_packets"])
    first_ns = trace.rows[0]["t_ns"] if trace.first_ns is None else trace.first_ns
    # A clock of a guest is that of the run; another one starts with the flow.
    zero_ns = GUEST_EPOCH_NS if abs(first_ns - GUEST_EPOCH_NS) < NEAR_NS else first_ns - start_ns
    names = sorted({name for row in trace.rows for name in row} - {"t_ns", "goodput_bps"})
    columns = {name: np.array([row.get(name, np.nan) for row in trace.rows], dtype=float) for name in names}
    # Packets that are declared lost; their contents are sent again in others.
    columns["lost_packets"] = columns["retransmits"]
    t_ns = np.array([row["t_ns"] for row in trace.rows], dtype=float) - zero_ns
    return Series(t_ns, columns, [(at - zero_ns, state.lower()) for at, state in trace.states])


def _floats(rows: pa.Table, name: str) -> Array:
    found: Array = rows.column(name).to_pandas().to_numpy(dtype=float, na_value=np.nan)
    return found


# ---- records -------------------------------------------------------------------------------------


def keep(folder: Path, key: str, sent: Sequence[Sent], duration_ns: int) -> None:
    """Adds the observations of flows to the record in `folder`, from the captures in it."""
    import pyarrow.parquet as pq

    record = open_record(folder)
    with tempfile.TemporaryDirectory() as made:
        captured = _imported(folder / SENDERS, record.manifest.sample_ns, Path(made) / "capture")
        series = {s.flow: _series_of(captured, s, record) for s in sent}
    tables = observations(record, sent, series, duration_ns)
    fresh(folder / FOLDER)
    for name, table in tables.items():
        pq.write_table(table, folder / FOLDER / f"{name}.parquet")
    write_text(folder / FOLDER / ABOUT, json.dumps({"key": key, "duration_ns": duration_ns}) + "\n")


def kept(folder: Path, key: str) -> Run | None:
    """The record in `folder` with its observations; None if it has none of this key.

    Raises RecordError if it is damaged.
    """
    about = folder / FOLDER / ABOUT
    if not about.is_file():
        return None
    try:
        facts = json.loads(read_text(about))
        if facts["key"] != key:
            return None
        tables = {name: _table(folder / FOLDER / f"{name}.parquet", name) for name in TABLES}
        duration_ns = int(facts["duration_ns"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, RecordError) as error:
        raise RecordError(f"{about.parent} is damaged ({error}): repeat the call with --force") from None
    record = open_record(folder)
    manifest = replace(record.manifest, duration_ns=duration_ns, simulated_ns=duration_ns)
    return Run(manifest, folder, tables | _without_rtts(record, tables["flow_totals"]))


def _table(path: Path, name: str) -> pa.Table:
    with checked.opened(path, name, None) as file:
        return file.read()


def _without_rtts(record: Run, totals: pa.Table) -> dict[str, pa.Table]:
    """Totals and RTT samples without those of the network, which are of all programs between two nodes."""
    import pyarrow as pa

    zero = dict.fromkeys(("rtt_samples", "rtt_sum_ns", "inflation_samples", "inflation_sum", "base_rtt_sum_ns"), 0)
    rows = [{**t, **zero, "base_rtt_min_ns": None} if t["cc"] == SCHEME else t for t in totals.to_pylist()]
    of_programs = [t["flow"] for t in rows if t["cc"] == SCHEME]
    rtts = record.table("rtt")
    others = rtts.filter(~np.isin(rtts.column("flow").to_numpy(), of_programs))
    return {"rtt": others, "flow_totals": pa.Table.from_pylist(rows, schema=totals.schema)}


def _imported(capture: Path, sample_ns: int, out: Path) -> Run | None:
    """The import of a capture; None if it has no connection with data."""
    reading = Reading(at="sender", sample_ns=sample_ns)
    try:
        import_capture(capture, reading, out)
    except RecordError:
        return None
    return open_record(run_folder(out, reading.cc, 0))


def _series_of(captured: Run | None, sent: Sent, record: Run) -> Series:
    """All that is known of a flow: its packets, its qlog instead, and the receiver's lines."""
    started_ns = record.table("flow_totals").slice(sent.flow, 1).to_pylist()[0]["started_ns"]
    merged = _together([] if captured is None else of_capture(captured, sent))
    logged = of_qlogs(sent.qlogs, sent.start_ns if started_ns is None else started_ns)
    if logged is not None:
        # Statistics of a connection have no samples of its RTT; the spin bit has.
        if "rtt_ns" not in logged.columns and "rtt_ns" in merged.columns:
            logged.columns["rtt_ns"] = on_grid(merged, "rtt_ns", logged.t_ns)
        merged = logged
    if sent.received is not None:
        lines = sent.received
        reported = on_grid(lines, "delivered_bytes", merged.t_ns) if len(merged.t_ns) else None
        if reported is None:
            return lines
        merged.columns["delivered_bytes"] = reported
    return merged


def _together(connections: list[Series]) -> Series:
    """The sum of counters over the connections of a flow; other values are of the longest one."""
    if not connections:
        return Series(np.array([]))
    longest = max(connections, key=lambda s: np.nanmax(s.columns.get("delivered_bytes", s.t_ns), initial=0.0))
    for name in set(COUNTERS) & longest.columns.keys():
        values = [on_grid(s, name, longest.t_ns) for s in connections if name in s.columns]
        longest.columns[name] = np.sum(values, axis=0)
    return longest


def on_grid(series: Series, name: str, grid: Array) -> Array:
    """Values of a column at instants: counters in between, samples of the last interval only."""
    t_ns, values = series.t_ns, series.columns[name]
    known = ~np.isnan(values)
    t_ns, values = t_ns[known], values[known]
    if not len(t_ns):
        return np.full(len(grid), np.nan)
    if name in COUNTERS:
        found: Array = np.interp(grid, t_ns, values, left=0.0)
        return found
    last = np.searchsorted(t_ns, grid, side="right") - 1
    found = np.where(last >= 0, values[np.maximum(last, 0)], np.nan)
    if name in SAMPLES:
        before = np.concatenate([[-np.inf], grid[:-1]])
        found = np.where((last >= 0) & (t_ns[np.maximum(last, 0)] > before), found, np.nan)
    return found


def observations(
    record: Run, sent: Sequence[Sent], series: Mapping[int, Series], duration_ns: int
) -> dict[str, pa.Table]:
    """The tables of a record with the rows of flows of programs replaced."""
    import pyarrow as pa

    flows = record.table("flows")
    of_programs = {s.flow for s in sent}
    number = flows.column("flow").to_numpy()
    others = flows.filter(~np.isin(number, list(of_programs)))
    rows = [others]
    for s in sent:
        grid = np.arange(record.manifest.sample_ns, duration_ns + 1, record.manifest.sample_ns, dtype=float)
        grid = grid[(grid >= s.start_ns) & (grid <= s.stop_ns)]
        rows.append(_rows(flows.schema, flows.filter(number == s.flow), s.flow, series[s.flow], grid))
    found = pa.concat_tables(rows, promote_options="default")
    return {
        "flows": found,
        "events": _events(record.table("events"), series),
        "completions": _completions(record.table("completions"), sent),
        "flow_totals": _totals(record.table("flow_totals"), sent),
        "windows": _windows(record.table("windows"), sent),
    }


def _rows(schema: pa.Schema, network: pa.Table, flow: int, series: Series, grid: Array) -> pa.Table:
    """Rows of a flow at its sampling instants."""
    import pyarrow as pa

    columns: dict[str, Any] = {"t_ns": grid, "flow": np.full(len(grid), flow)}
    of_network = Series(_floats(network, "t_ns"), {name: _floats(network, name) for name in OF_NETWORK})
    columns |= {name: _back_to_start(on_grid(of_network, name, grid)) for name in OF_NETWORK}
    columns |= {name: on_grid(series, name, grid) for name in series.columns}
    modes = [next((s for at, s in reversed(series.states) if at <= t), None) for t in grid]
    arrays, names = [], []
    for f in schema:
        if f.name == "mode":
            arrays.append(pa.array(modes, f.type))
        elif f.name in columns:
            arrays.append(_typed(columns.pop(f.name), f.type))
        else:
            arrays.append(pa.nulls(len(grid), f.type))
        names.append(f.name)
    for name, values in columns.items():
        arrays.append(pa.array(values, from_pandas=True))
        names.append(name)
    return pa.table(arrays, names=names)


def _back_to_start(values: Array) -> Array:
    """Values before the first packet are those of the first."""
    known = np.flatnonzero(~np.isnan(values))
    return values if not len(known) else np.where(np.arange(len(values)) < known[0], values[known[0]], values)


def _typed(values: Array, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, from_pandas=True).cast(pa.float64()).cast(kind, safe=False)


def _events(events: pa.Table, series: Mapping[int, Series]) -> pa.Table:
    """Events with the changes of state of qlogs."""
    import pyarrow as pa

    made = [
        {"t_ns": int(at), "kind": "mode", "flow": flow, "text": state, "value": 0.0}
        for flow, s in series.items()
        for at, state in s.states[1:]
    ]
    return pa.concat_tables([events, pa.Table.from_pylist(made, schema=events.schema)]) if made else events


def _completions(completions: pa.Table, sent: Sequence[Sent]) -> pa.Table:
    import pyarrow as pa

    done = [
        {"flow": s.flow, "asked_ns": s.start_ns, "done_ns": s.completed_ns} for s in sent if s.completed_ns is not None
    ]
    return (
        pa.concat_tables([completions, pa.Table.from_pylist(done, schema=completions.schema)]) if done else completions
    )


def _totals(totals: pa.Table, sent: Sequence[Sent]) -> pa.Table:
    """Totals with the times of programs; a transfer is complete when its client has ended."""
    import pyarrow as pa

    rows = totals.to_pylist()
    for s in sent:
        rows[s.flow] |= {"started_ns": rows[s.flow]["started_ns"] or s.start_ns, "completed_ns": s.completed_ns}
    return pa.Table.from_pylist(rows, schema=totals.schema)


def _windows(windows: pa.Table, sent: Sequence[Sent]) -> pa.Table:
    """Windows with the class of transfers, whose end is awaited."""
    import pyarrow as pa

    limited = {s.flow for s in sent if s.bytes is not None}
    rows = [{**w, "class": "transfer"} if w["flow"] in limited else w for w in windows.to_pylist()]
    return pa.Table.from_pylist(rows, schema=windows.schema)
