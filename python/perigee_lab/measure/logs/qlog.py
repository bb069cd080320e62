# SPDX-License-Identifier: Apache-2.0 OR MIT
"""qlog, the event logs of QUIC stacks (draft-ietf-quic-qlog-main-schema).

Reads JSON and JSON text sequences (RFC 7464) of versions 0.3 and later, in which events are objects
with a name: recovery metrics (RTTs, congestion window, bytes in flight, pacing) and packets sent,
acknowledged and lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from perigee_lab.common.reading import counted, parsed_json
from perigee_lab.measure.logs.model import MOST_LOG_VALUES, NS_PER_S, Asked, Flow, Log, LogError, at, instant_ns, number

SEPARATOR = "\x1e"
METRICS = {"recovery:metrics_updated", "quic:recovery_metrics_updated", "recovery_metrics_updated"}
SENT = {"transport:packet_sent", "quic:packet_sent", "packet_sent"}
RECEIVED = {"transport:packet_received", "quic:packet_received", "packet_received"}
LOST = {"recovery:packet_lost", "quic:packet_lost", "packet_lost"}
STATES = {
    "recovery:congestion_state_updated", "quic:congestion_state_updated", "congestion_state_updated"
}  # fmt: skip
COLUMNS = {
    "latest_rtt": ("rtt_ns", 1e6), "smoothed_rtt": ("srtt_ns", 1e6), "congestion_window": ("cwnd_bytes", 1),
    # The name in drafts before version 0.3, which some stacks kept.
    "cwnd": ("cwnd_bytes", 1),
    "bytes_in_flight": ("in_flight_bytes", 1), "ssthresh": ("ssthresh_bytes", 1), "pacing_rate": ("pacing_bps", 1),
    "min_rtt": ("log.min_rtt_ms", 1),
}  # fmt: skip
"""Metric → column and factor: qlog has times in ms, amounts in bytes, rates in bit/s."""
FLOATS = {"log.min_rtt_ms"}
BLOCKED = {"data_blocked", "stream_data_blocked"}
"""Frames of a sender that flow control stops (RFC 9000, section 4.1)."""
CREDIT = {"max_data", "max_stream_data"}
BLOCKED_COLUMN = "log.blocked_frames"
"""Number of `BLOCKED` frames sent so far, in logs that contain frames of flow control."""
MOST_RANGE = 1 << 20
"""Maximum number of packets in one range of an acknowledgement."""
MOST_RECORD_VALUES = 100_000
"""Maximum number of values in a record of a sequence, such as an event."""
EPOCH_MS = 1e11
"""Times above this are since 1970."""


def is_qlog(head: str) -> bool:
    """Whether a text starts like a qlog."""
    start = head.lstrip(SEPARATOR + " \r\n")[:4096]
    return start.startswith("{") and any(f'"{k}"' in start for k in ("qlog_version", "qlog_format", "file_schema"))


class _Trace:
    """The trace of one end of a connection."""

    def __init__(self, description: Any, number_of: int) -> None:
        place = str(at(description, "vantage_point", "type") or "end")
        name = str(at(description, "title") or at(description, "vantage_point", "name") or f"trace {number_of}")
        other = {"client": "server", "server": "client"}.get(place, "other end")
        self.flow = Flow(name[:80], place, other, "unknown")
        self.common = at(description, "common_fields") or {}
        self.now: dict[str, Any] = {}
        self.sizes: dict[tuple[str, int], int] = {}
        self.sent = self.lost = self.acked_bytes = self.received_bytes = 0
        self.blocked: int | None = None
        self.clock_ms = 0.0

    def time_ns(self, event: Any) -> int | None:
        """Time of an event in ns.

        It is since 1970 if the trace has a reference time, otherwise since the start of the trace.
        """
        time_ms = number(at(event, "time"))
        if time_ms is None:
            return None
        kind = str(at(event, "time_format") or at(self.common, "time_format") or "relative")
        if kind in ("delta", "relative_to_previous_event"):
            self.clock_ms += time_ms
            time_ms = self.clock_ms
        base = at(self.common, "reference_time")
        if isinstance(base, dict):
            base = at(base, "epoch")
        zero = number(base) or 0.0
        if isinstance(base, str) and base not in ("unknown", ""):
            zero = instant_ns(base, Asked(), "reference_time") / 1e6
        absolute = kind == "absolute" or time_ms > EPOCH_MS
        # Rounded separately: the sum of both has no nanoseconds.
        return round(time_ms * 1e6) + (0 if absolute else round(zero * 1e6))

    def event(self, event: Any, log: Log, where: str) -> None:
        """Processes an event."""
        name, data = at(event, "name"), at(event, "data")
        t_ns = self.time_ns(event)
        if not isinstance(name, str) or t_ns is None:
            log.strange.append(f"{where}: no name or time")
            return
        if self.flow.first_ns is None:
            self.flow.first_ns = t_ns
        if not isinstance(data, dict):
            return
        if name in SENT:
            self._sent(data)
        elif name in RECEIVED:
            self._received(data)
        elif name in LOST:
            self.lost += 1
            self.sizes.pop(_number_of(data), None)
        elif name in METRICS:
            self._metrics(data, t_ns)
        elif name in STATES and isinstance(state := at(data, "new"), str) and state:
            self.flow.states.append((t_ns, state[:80]))

    def _sent(self, data: dict[str, Any]) -> None:
        self.sent += 1
        self.sizes[_number_of(data)] = int(
            number(at(data, "raw", "length")) or number(at(data, "header", "packet_size")) or 0
        )

        self._flow_control(data, sent=True)

    def _flow_control(self, data: dict[str, Any], *, sent: bool) -> None:
        """Counts the frames with which this end reports that flow control stops it."""
        frames = at(data, "frames")
        kinds = [at(frame, "frame_type") for frame in frames] if isinstance(frames, list) else []
        told = sum(isinstance(kind, str) and kind in BLOCKED for kind in kinds) if sent else 0
        if told or any(isinstance(kind, str) and kind in CREDIT for kind in kinds):
            self.blocked = (self.blocked or 0) + told

    def _received(self, data: dict[str, Any]) -> None:
        self._flow_control(data, sent=False)
        space = _space(data)
        frames = at(data, "frames")
        for frame in frames if isinstance(frames, list) else []:
            kind = at(frame, "frame_type")
            if kind == "stream":
                self.received_bytes += int(number(at(frame, "length")) or 0)
            if kind != "ack":
                continue
            ranges = at(frame, "acked_ranges")
            for pair in ranges if isinstance(ranges, list) else []:
                low, high = number(at(pair, 0)), number(at(pair, -1))
                if low is None or high is None or not 0 <= high - low < MOST_RANGE:
                    continue
                for n in range(int(low), int(high) + 1):
                    self.acked_bytes += self.sizes.pop((space, n), 0)

    def _metrics(self, data: dict[str, Any], t_ns: int) -> None:
        fresh = {}
        for metric, (column, factor) in COLUMNS.items():
            value = number(data.get(metric))
            if value is not None and value >= 0:
                fresh[column] = value * factor if column in FLOATS else round(value * factor)
        if not fresh:
            return
        # Only changed metrics are logged, and the others persist; an RTT sample, however, counts
        # only once.
        self.now = {k: v for k, v in self.now.items() if k != "rtt_ns"} | fresh
        rows = self.flow.rows
        since = t_ns - rows[-1]["t_ns"] if rows else 0
        before = rows[-1]["delivered_bytes"] if rows else 0
        rows.append(
            {"t_ns": t_ns, "delivered_bytes": self.acked_bytes, "sent_packets": self.sent, "retransmits": self.lost}
            | {"goodput_bps": (self.acked_bytes - before) * 8 * NS_PER_S / since if since > 0 else 0.0}
            | self.now
            | ({} if self.blocked is None else {BLOCKED_COLUMN: float(self.blocked)})
        )  # fmt: skip


def _space(data: dict[str, Any]) -> str:
    """Packet number space."""
    # aioquic writes lost packets without a header.
    kind = str(at(data, "header", "packet_type") or at(data, "type") or "1RTT")
    return kind if kind in ("initial", "handshake") else "application"


def _number_of(data: dict[str, Any]) -> tuple[str, int]:
    found = number(at(data, "header", "packet_number"))
    return _space(data), int((number(at(data, "packet_number")) if found is None else found) or 0)


def read_qlog(lines: Iterable[tuple[int, str]], asked: Asked) -> Log:
    """Reads one flow per trace, with one row per update of its metrics. Raises LogError."""
    log = Log("qlog")
    traces: list[_Trace] = []
    whole: list[str] = []
    first: Any = None
    counts = 0
    damaged: list[int] = []
    for where, text in _records(lines):
        data = _object(text, MOST_RECORD_VALUES if traces else MOST_LOG_VALUES) if traces or not whole else None
        if traces and data is None:
            # A truncated record, for instance: the next one is complete again (RFC 7464, section 2.1).
            damaged.append(where)
        elif data is None:
            # JSON over several lines, or damaged input.
            whole.append(text)
            counts += 1 + sum(counted(text))
            if counts > MOST_LOG_VALUES:
                raise LogError(f"it has more than {MOST_LOG_VALUES:,} values: JSON is read completely; split it")
        elif at(data, "traces") is not None or (not traces and at(data, "trace") is None and at(data, "name") is None):
            whole.append(text)
            first = data
        elif at(data, "trace") is not None:
            traces.append(_Trace(data["trace"], len(traces) + 1))
        elif traces:
            traces[-1].event(data, log, f"line {where}")
    if not traces:
        traces = _whole(first if len(whole) == 1 else _object("\n".join(whole), MOST_LOG_VALUES), log)
    elif damaged:
        many = f"{len(damaged)} records are" if len(damaged) > 1 else "a record is"
        log.remarks.append(f"{many} damaged and left out, the first in line {damaged[0]}: counts may be too low")
    log.flows = [t.flow for t in traces if t.flow.rows]
    if not log.flows:
        raise LogError("no trace of it has recovery metrics (RTT, congestion window): its writer may not log them")
    log.has_clock = all(f.rows[0]["t_ns"] > 10**17 for f in log.flows)
    log.remarks.append(
        "sizes are of whole QUIC packets; what is delivered is what was acknowledged; retransmits are packets "
        "declared lost: "
        "QUIC sends their contents anew, in other packets"
    )
    received = sum(t.received_bytes for t in traces)
    if received:
        log.remarks.append(
            f"{received} bytes of streams were received by who wrote it: when, a qlog of the other end tells"
        )
    return log


def _records(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Records with their lines. One that breaks off has no end of line before the next record."""
    for where, line in lines:
        for part in line.split(SEPARATOR):
            if text := part.strip():
                yield where, text


def _object(text: str, most: int) -> Any:
    try:
        found = parsed_json(text, most)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole(data: Any, log: Log) -> list[_Trace]:
    """Traces of a qlog that is a single JSON document."""
    rows = at(data, "traces")
    if not isinstance(rows, list):
        raise LogError("its JSON is damaged or breaks off, or has no traces")
    traces = []
    for i, row in enumerate(rows):
        events = at(row, "events")
        if not isinstance(events, list):
            log.strange.append(f"traces[{i}]: no events")
            continue
        trace = _Trace(row, i + 1)
        if events and isinstance(events[0], list):
            log.strange.append(
                f"traces[{i}]: events are lists, as before version 0.3: convert it with its writer's tools"
            )
            continue
        for k, event in enumerate(events):
            trace.event(event, log, f"traces[{i}].events[{k}]")
        traces.append(trace)
    return traces
