# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee trace`: the packets of a flow in a window of time, as text, CSV or qlog.

A record has no packets. The run is therefore repeated from its manifest, with the packet tap on.
The same scenario and seed yield the same bits, so that these are the packets of the record. Changes
since the run (of the version or an input file) are reported.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.errors import PerigeeError, stop
from perigee_lab.common.exit_codes import FAILED
from perigee_lab.common.files import write_text, writing
from perigee_lab.common.messages import say
from perigee_lab.extensions.trust import Permission
from perigee_lab.results.manifest import Flow
from perigee_lab.results.run import Run, find_records
from perigee_lab.runs.relocation import relocated
from perigee_lab.runs.verify import UNREPEATABLE, again, changed_files

if TYPE_CHECKING:
    from perigee_lab.common.columns import Column

NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
PLACES = ("sender", "receiver", "both")
FORWARD = {"data", "ping"}
PATIENCE_NS = 10 * 10**9
"""Time after which a packet that has not arrived counts as lost (`trace.rs`)."""


class TraceError(PerigeeError):
    """The requested trace is not available."""


@dataclass(frozen=True)
class Wanted:
    """The request on the command line."""

    flow: str = "1"
    begin: str = "0s"
    end: str | None = None
    cc: str | None = None
    seed: int | None = None
    at: str = "sender"
    trust: bool = False


@dataclass(frozen=True)
class Packet:
    """A packet from departure to arrival; units are bytes and nanoseconds."""

    sent_ns: int
    arrived_ns: int | None
    kind: str
    number: int
    seq: int
    payload_bytes: int
    ack: int
    sack: str
    ts_val_ms: int
    ts_ecr_ms: int
    ip_bytes: int
    retransmission: bool
    marked: bool

    @property
    def is_forward(self) -> bool:
        """Whether it travels from the flow's sender to its receiver."""
        return self.kind in FORWARD


@dataclass(frozen=True)
class Sight:
    """A packet as observed at one end."""

    t_ns: int
    end: str
    leaving: bool
    packet: Packet


@dataclass(frozen=True)
class Trace:
    """A window of a flow: packets in sending order, and time series and events of the record."""

    run: Run
    flow: int
    begin_ns: int
    end_ns: int
    packets: list[Packet]
    flows: list[dict[str, Any]]
    events: list[dict[str, Any]]

    @property
    def about(self) -> Flow:
        """The flow's entry in the manifest."""
        return self.run.manifest.flows[self.flow]

    def fate(self, p: Packet) -> str:
        """Fate of a packet, which may be in flight unless a later one has overtaken it."""
        if p.arrived_ns is not None:
            return f"arrives {p.arrived_ns / 1e9:.9f}"
        later = (q for q in self.packets if q.is_forward == p.is_forward and q.arrived_ns is not None)
        ended = self.end_ns + PATIENCE_NS >= self.run.manifest.simulated_ns
        if ended and not any(q.number > p.number for q in later):
            return "under way or lost at the end of the run"
        return "lost"

    def sights(self, at: str) -> list[Sight]:
        """Packets as observed at the sender, the receiver or both in the window, in time order."""
        seen = []
        for p in self.packets:
            here, there = ("sender", "receiver") if p.is_forward else ("receiver", "sender")
            seen.append(Sight(p.sent_ns, here, True, p))
            if p.arrived_ns is not None:
                seen.append(Sight(p.arrived_ns, there, False, p))
        inside = [s for s in seen if self.begin_ns <= s.t_ns <= self.end_ns and at in {s.end, "both"}]
        return sorted(inside, key=lambda s: (s.t_ns, s.packet.kind, s.packet.number, s.leaving))


def trace_command(folder: Path, wanted: Wanted, *, as_csv: bool, qlog: Path | None, out: Path | None) -> None:
    """Prints or writes a trace."""
    with writing(qlog or out or Path("standard output"), FAILED):
        try:
            found = trace(folder, wanted)
        except _core.ScenarioError as error:
            stop(f"the run cannot be made again:\n{error.args[0]}")
        except _core.RunError as error:
            stop(f"the run cannot be made again: {error}", FAILED)
        if qlog is not None:
            write_text(qlog, json.dumps(as_qlog(found), indent=1) + "\n")
            say(f"{qlog}: {len(found.packets)} packets")
            return
        text = as_csv_text(found, wanted.at) if as_csv else as_text(found, wanted.at)
        if out is None:
            sys.stdout.write(text)
        else:
            write_text(out, text)


def trace(folder: str | Path, wanted: Wanted) -> Trace:
    """Repeats the run and returns the packets of the window.

    Raises TraceError, RecordError, PluginError, ScenarioError or RunError.
    """
    if wanted.at not in PLACES:
        raise TraceError(f"--at {wanted.at}: must be one of {', '.join(PLACES)}")
    begin = nanoseconds(wanted.begin, "--from")
    end = begin + NS["s"] if wanted.end is None else nanoseconds(wanted.end, "--to")
    if end < begin:
        raise TraceError(f"--to {wanted.end} is before --from {wanted.begin}")
    run = relocated(_one(find_records(folder), wanted))
    duration = run.manifest.simulated_ns
    if begin > duration:
        raise TraceError(f"--from {wanted.begin} is after the end of the run, {duration / 1e9:g} s")
    flow = _flow(run, wanted.flow)
    if run.manifest.backend in UNREPEATABLE:
        source = ", ".join(f.path for f in run.manifest.files) or "no file"
        raise TraceError(
            f"{run.folder}: {UNREPEATABLE[run.manifest.backend]} cannot be made again: its packets are in {source}"
        )
    for problem in changed_files(run):
        raise TraceError(f"the run cannot be made again: {problem}")
    if run.manifest.version != _core.__version__:
        say(
            f"perigee: the record is of version {run.manifest.get('version')}, this is {_core.__version__}: "
            "packets may differ",
            file=sys.stderr,
        )
    scenario, plugins = again(run, Permission(everything=wanted.trust))
    if run.manifest.kernel_key is not None:
        raise TraceError(
            f"{run.folder}: packets of real hosts cannot be traced yet; its scenario can, when it is simulated"
        )
    tables = scenario.world(run.seed).trace(run.cc, flow, begin, end, plugins)
    rows = {name: _rows(columns) for name, columns in tables.items()}
    samples = [r for r in rows["flows"] if r["flow"] == flow and begin <= r["t_ns"] <= end]
    events = [r for r in rows["events"] if r["flow"] in {flow, None} and begin <= r["t_ns"] <= end]
    return Trace(run, flow, begin, end, [Packet(**r) for r in rows["packets"]], samples, events)


def nanoseconds(text: str, option: str) -> int:
    """Parses a time such as 14.9s or "200 ms"."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|ms|s|min)\s*", text)
    if match is None:
        raise TraceError(f"{option} {text!r}: must be a time with a unit, such as 14.9s or 200ms")
    return round(float(match[1]) * NS[match[2]])


def _one(runs: list[Run], wanted: Wanted) -> Run:
    chosen = [r for r in runs if wanted.cc in {None, r.cc} and wanted.seed in {None, r.seed}]
    if len(chosen) == 1:
        return chosen[0]
    have = ", ".join(f"{r.cc} seed {r.seed}" for r in chosen or runs)
    what = "say which with --cc and --seed" if chosen else "none of them is what --cc and --seed ask for"
    raise TraceError(f"the record has {have}: {what}")


def _flow(run: Run, wanted: str) -> int:
    names = [f.name for f in run.manifest.flows]
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    known = ", ".join(f"{i} ({name})" for i, name in enumerate(names[:20], start=1))
    raise TraceError(f"--flow {wanted}: there is no such flow; there are {known}{' …' if len(names) > 20 else ''}")


def _rows(columns: list[Column]) -> list[dict[str, Any]]:
    names = [c[0] for c in columns]
    values = []
    for _, array, words, valid in columns:
        column = [words[i] for i in array] if words is not None else array.tolist()
        values.append(column if valid is None else [v if ok else None for v, ok in zip(column, valid, strict=True)])
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


# ---- forms ---------------------------------------------------------------------------------------


def as_text(found: Trace, at: str) -> str:
    """One line per packet and end, with the fate of the packet."""
    names = {"sender": found.about.origin, "receiver": found.about.target}
    lines = [
        f"# {found.run.manifest.scenario}, {found.run.cc}, seed {found.run.seed}: flow {found.flow + 1} "
        f"({found.about.name}), {found.begin_ns / 1e9:g} to {found.end_ns / 1e9:g} s, seen at: {at}"
    ]
    lines += [_text_line(s, names[s.end], found.fate(s.packet)) for s in found.sights(at)]
    return "\n".join(lines) + "\n"


def _text_line(s: Sight, where: str, fate: str) -> str:
    p = s.packet
    if p.kind == "data":
        what = f"data {p.seq}:{p.seq + p.payload_bytes}"
    elif p.kind == "ack":
        what = f"ack {p.ack}" + (f" sack {p.sack.replace(' ', ',')}" if p.sack else "")
    else:
        what = f"{p.kind} {p.seq}"
    remarks = ["retransmission"] if p.retransmission else []
    remarks += ["marked"] if p.marked and not s.leaving else []
    if s.leaving:
        remarks.append(fate)
    else:
        remarks.append(f"took {(s.t_ns - p.sent_ns) / 1e6:.6f} ms")
    direction = "out" if s.leaving else "in "
    return f"{s.t_ns / 1e9:.9f} {where} {direction} {what}, {p.ip_bytes} B, {', '.join(remarks)}"


def as_csv_text(found: Trace, at: str) -> str:
    """CSV with one row per packet and end."""
    out = io.StringIO()
    names = [n for n in Packet.__dataclass_fields__ if n not in {"sent_ns", "arrived_ns"}]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["t_ns", "end", "direction", "sent_ns", "arrived_ns", *names])
    for s in found.sights(at):
        p = s.packet
        arrived = "" if p.arrived_ns is None else p.arrived_ns
        values = [int(v) if isinstance(v := getattr(p, n), bool) else v for n in names]
        words = [s.t_ns, s.end, "out" if s.leaving else "in", p.sent_ns, arrived, *values]
        writer.writerow(map(quoting.csv, words))
    return out.getvalue()


def as_qlog(found: Trace) -> dict[str, Any]:
    """The sender's view in qlog 0.3 (draft-ietf-quic-qlog-main-schema-02), for QUIC tools.

    TCP is expressed in terms of QUIC: a transmission is a packet in the 1-RTT space, its payload is
    a frame of stream 0, and an ACK is a packet with an ACK frame whose ranges are stream bytes.
    Windows and RTTs are those of the record's samples.
    """
    events = [_qlog_packet(s, found.fate(s.packet)) for s in found.sights("sender")]
    events += [_qlog_metrics(r) for r in found.flows]
    events += [e for r in found.events if r["flow"] is not None and (e := _qlog_event(r)) is not None]
    events.sort(key=lambda e: (e["time"], e["name"]))
    return {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": found.run.manifest.scenario,
        "description": f"{found.about.name}, {found.run.cc}, seed {found.run.seed}",
        "traces": [
            {
                "vantage_point": {"name": found.about.origin, "type": "client"},
                "common_fields": {
                    "ODCID": f"{found.flow + 1:02x}",
                    "time_format": "absolute",
                    "protocol_type": ["TCP"],
                    "group_id": str(found.flow + 1),
                },
                "events": events,
            }
        ],
    }


def _qlog_packet(s: Sight, fate: str) -> dict[str, Any]:
    p = s.packet
    if p.kind == "data":
        frames: list[dict[str, Any]] = [
            {"frame_type": "stream", "stream_id": 0, "offset": p.seq, "length": p.payload_bytes}
        ]
    elif p.kind == "ack":
        blocks = [[int(b) for b in block.split("-")] for block in p.sack.split()]
        ranges = [[0, p.ack], *([start, end] for start, end in blocks if start > p.ack)]
        frames = [{"frame_type": "ack", "acked_ranges": ranges}]
    else:
        frames = [{"frame_type": "ping"}]
    data: dict[str, Any] = {
        "header": {"packet_type": "1RTT", "packet_number": p.number},
        "raw": {"length": p.ip_bytes, "payload_length": p.payload_bytes},
        "frames": frames,
        "is_retransmission": p.retransmission,
    }
    if s.leaving and fate == "lost":
        data["is_lost"] = True
    return {"time": s.t_ns / 1e6, "name": f"transport:packet_{'sent' if s.leaving else 'received'}", "data": data}


def _qlog_metrics(row: dict[str, Any]) -> dict[str, Any]:
    data = {
        "congestion_window": row["cwnd_bytes"],
        "bytes_in_flight": row["in_flight_bytes"],
        "ssthresh": row["ssthresh_bytes"],
        "pacing_rate": row["pacing_bps"],
        "smoothed_rtt": None if row["srtt_ns"] is None else row["srtt_ns"] / 1e6,
        "latest_rtt": None if row["rtt_ns"] is None else row["rtt_ns"] / 1e6,
    }
    known = {k: v for k, v in data.items() if v is not None}
    return {"time": row["t_ns"] / 1e6, "name": "recovery:metrics_updated", "data": known}


def _qlog_event(row: dict[str, Any]) -> dict[str, Any] | None:
    if row["kind"] in {"ca-state", "mode"}:
        data = {"new": row["text"], "trigger": row["kind"]}
        return {"time": row["t_ns"] / 1e6, "name": "recovery:congestion_state_updated", "data": data}
    if row["kind"] == "timeout":
        data = {"event_type": "expired", "timer_type": "pto"}
        return {"time": row["t_ns"] / 1e6, "name": "recovery:loss_timer_updated", "data": data}
    return None
