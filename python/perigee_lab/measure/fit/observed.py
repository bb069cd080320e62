# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Observations of a path in records: probes without load, goodput and RTTs of flows, probe trains.

Data that only a simulator has (base RTTs, events of the network, queues) are not used, so that a fit
to a simulated run has the same inputs as one to a measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.measure.net.protocol import MeasureError
from perigee_lab.measure.store import is_measured
from perigee_lab.results.metrics import WITHOUT_TCP

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.results.run import Run

    Floats = npt.NDArray[np.float64]

PLAIN_SHARE = 1448 / 1500
"""Payload fraction of a 1500-byte TCP packet over IPv4 with timestamps, for records that lack it."""
FEWEST_PROBES = 100
CONCURRENT_SHARE = 0.02
"""Maximum bytes of all concurrent flows, relative to those of a flow that counts as running alone."""
IDLE_BPS, IDLE_SHARE = 1e6, 0.05
"""A terminal is idle up to the larger of this rate (bit/s) and this fraction of its maximum rate."""
UDP_HEADERS = 28
"""Bytes of IPv4 and UDP headers of a measured probe."""
PING_BYTES = 84
"""IP packet length of ping by default, for logs that do not state the length of their probes."""


@dataclass(frozen=True, eq=False)
class Probes:
    """Probes of a path without load, in send order."""

    sent_s: Floats
    """Send times in s, shape (probes,)."""
    rtt_ms: Floats
    """RTTs in ms, shape (probes,); NaN if the probe was lost."""
    interval_s: float
    """Median interval between probes, s."""
    bytes: int = 64
    """Length of a probe's IP packet, bytes."""
    busy: int = field(default=0, kw_only=True)
    """Number of probes excluded because the path was busy."""
    carried_bps: float | None = field(default=None, kw_only=True)
    """Maximum downstream rate in bit/s during the probes, if the record counts it."""
    size_known: bool = field(default=True, kw_only=True)
    """Whether `bytes` is from the record, and not the default of ping."""
    source: str = field(default="probes", kw_only=True)
    """Origin: "probes", "delays" (of a recording), or "given" (a single RTT from the user)."""
    clock_s: float | None = field(default=0.0, kw_only=True)
    """Time 0 in s since 1970; 0 for simulated runs, which share the clock of their scenario; None if
    unknown."""

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Mask of answered probes."""
        return ~np.isnan(self.rtt_ms)

    def part(self, which: slice) -> Probes:
        """A slice of the probes."""
        step = which.step or 1
        return replace(self, sent_s=self.sent_s[which], rtt_ms=self.rtt_ms[which], interval_s=self.interval_s * step)


@dataclass(frozen=True, eq=False)
class Load:
    """A greedy TCP flow, with one value per sample in its arrays."""

    cc: str
    name: str
    origin: str
    target: str
    t_s: Floats
    step_s: float
    """Median interval between samples, s."""
    delivered: Floats
    """Bytes delivered in order so far."""
    rtt_ms: Floats
    """Mean RTT since the previous sample; NaN without a value."""
    sent: Floats
    """Packets sent so far, retransmissions included."""
    again: Floats
    """Packets retransmitted so far; NaN if the record has no value."""
    payload_share: float
    """Ratio of payload to bytes on the wire."""
    start_s: float
    stop_s: float
    smoothed: bool
    """Whether RTTs are the kernel's smoothed values (SRTT)."""
    rtts: tuple[Floats, Floats]
    """Histogram of all RTT samples: distinct values in ms, and the number of each."""
    bytes: float | None
    """Size of the transfer in bytes; None if it is not limited."""
    way: str = ""
    """Direction: down, up, or empty if unknown."""
    clock_s: float | None = 0.0
    """Time 0 in s since 1970, as in `Probes`."""
    together: bool = True
    """Whether it ran at the same time as the probes, and has their time axis."""

    def aligned_with(self, probes: Probes) -> Load:
        """The flow on the time axis of these probes; `together` is False if it ran at another time."""
        if self.clock_s is None or probes.clock_s is None:
            return replace(self, together=False)
        by = self.clock_s - probes.clock_s
        if self.start_s + by > probes.sent_s[-1] or self.stop_s + by < probes.sent_s[0]:
            return replace(self, together=False)
        return replace(
            self, t_s=self.t_s + by, start_s=self.start_s + by, stop_s=self.stop_s + by, clock_s=probes.clock_s
        )

    @property
    def goodput_bps(self) -> float:
        """Mean goodput in bit/s over the lifetime of the flow; 0 without samples."""
        return float(self.delivered[-1] * 8 / max(1e-9, self.stop_s - self.start_s)) if len(self.delivered) else 0.0


@dataclass(frozen=True)
class TrainRates:
    """Rates of trains of probes in one direction, one value per train."""

    way: str
    """down (towards the client) or up."""
    mbps: Floats
    """Rate on the wire in Mbit/s; NaN if unknown."""
    spread: Floats
    """Ratio of the durations of arrival and departure."""


def train_rates(runs: Sequence[Run]) -> list[TrainRates]:
    """Rates of the trains of all runs, one item per direction."""
    found: dict[str, list[tuple[Floats, Floats]]] = {}
    for run in runs:
        for flow in run.table("flow_totals").to_pylist():
            if not _is_trains(run, flow):
                continue
            for way, key in (("up", "there"), ("down", "back")):
                columns = [f"measure.{key}_mbps", f"measure.{key}_spread"]
                rows = _rows(run, flow["flow"], columns)
                mbps, spread = (rows[c].to_numpy(zero_copy_only=False).astype(float) for c in columns)
                found.setdefault(way, []).append((mbps, spread))
    return [TrainRates(way, *(np.concatenate(c) for c in zip(*parts, strict=True))) for way, parts in found.items()]


def _is_trains(run: Run, flow: dict[str, Any]) -> bool:
    if run.manifest.backend != "measure":
        return False
    flows = run.manifest["measure"]["flows"]
    return bool(flow["flow"] < len(flows) and flows[flow["flow"]]["do"] == "trains")


def probes_of(runs: Sequence[Run]) -> Probes:
    """Selects the longest series of probes without load.

    Raises:
        MeasureError: there is none, it has fewer than 100 answers, or a simulated run has several
            probes per row.
    """
    found = []
    for run in runs:
        totals = run.table("flow_totals").to_pylist()
        if any(t["cc"] not in WITHOUT_TCP for t in totals):
            if _is_telemetry(run):
                found += [_idle(run, _probes(run, t), totals) for t in totals if t["cc"] == "ping"]
            continue
        found += [_probes(run, t) for t in totals if t["cc"] == "ping" and not _is_trains(run, t)]
    if not found:
        raise MeasureError(
            "no quiet probes: probes without load are needed to separate the delay of the path from its queues "
            '(perigee measure run HOST --pings 60s, or a run with app = "ping" alone)'
        )
    best = max(found, key=lambda p: len(p.sent_s))
    if best.answered.sum() < FEWEST_PROBES:
        raise MeasureError(
            f"{int(best.answered.sum())} answered probes are too few; at least {FEWEST_PROBES} are needed"
        )
    return best


def _is_telemetry(run: Run) -> bool:
    """Whether a record consists of counters of a terminal, which show only the rate in use."""
    return run.manifest.backend == "log" and run.manifest["log"]["format"] == "table"


def _idle(run: Run, probes: Probes, totals: Sequence[dict[str, Any]]) -> Probes:
    """Probes sent while the terminal was idle in both directions; `busy` counts the others."""
    rates = next(t for t in totals if t["cc"] not in WITHOUT_TCP)
    more = ["log.upload_bps"] if "log.upload_bps" in run.table("flows").column_names else []
    rows = _rows(run, rates["flow"], more)
    t = rows["t_ns"].to_numpy().astype(float) / 1e9
    ways = [np.nan_to_num(rows[c].to_numpy(zero_copy_only=False).astype(float)) for c in ("goodput_bps", *more)]
    busy = np.any([w > max(IDLE_BPS, IDLE_SHARE * float(w.max(initial=0))) for w in ways], axis=0)
    nearest = np.clip(np.searchsorted(t, probes.sent_s, side="right") - 1, 0, len(t) - 1)
    idle = ~busy[nearest]
    most = float(ways[0].max(initial=0))
    kept = replace(probes, sent_s=probes.sent_s[idle], rtt_ms=probes.rtt_ms[idle])
    return replace(kept, busy=int((~idle).sum()), carried_bps=most)


def _probes(run: Run, flow: dict[str, Any]) -> Probes:
    rows = _rows(run, flow["flow"])
    t = rows["t_ns"].to_numpy().astype(float) / 1e9
    rtt = rows["rtt_ns"].to_numpy(zero_copy_only=False).astype(float) / 1e6
    if is_measured(run):
        sent = t - rtt / 1e3
        lost = run.to_pandas("events")
        lost = lost[(lost["kind"] == "probe-lost") & (lost["flow"] == flow["flow"])]["t_ns"].to_numpy(dtype=float) / 1e9
        sent, rtt = np.concatenate((sent, lost)), np.concatenate((rtt, np.full(len(lost), np.nan)))
    else:
        sent, rtt = _simulated(run, flow, rows, t, rtt)
    order = np.argsort(sent, kind="stable")
    sent, rtt = sent[order], rtt[order]
    size = _probe_bytes(run, flow["flow"])
    interval = float(np.median(np.diff(sent))) if len(sent) > 1 else 1.0
    bytes_ = PING_BYTES if size is None else size
    return Probes(sent, rtt, interval, bytes_, size_known=size is not None, clock_s=_clock(run))


def _probe_bytes(run: Run, flow: int) -> int | None:
    """Length in bytes of a probe's IP packet, from the record; None if unknown."""
    backend = run.manifest.backend
    if backend == "measure":
        return int(run.manifest["measure"]["flows"][flow]["size"]) + UDP_HEADERS
    if backend == "log":
        sizes = run.manifest["log"].get("probe_bytes", [])
        return None if flow >= len(sizes) or sizes[flow] is None else int(sizes[flow])
    app = run.manifest["flows"][flow]["app"]
    return int(app["ping"]["size"])


def _clock(run: Run) -> float | None:
    """Time 0 of a record in s since 1970; None if unknown."""
    if not is_measured(run):
        return 0.0
    began = run.manifest["measured"]["began_ns"]
    return float(began) / 1e9 if began else None


def _simulated(run: Run, flow: dict[str, Any], rows: Any, t: Floats, rtt: Floats) -> tuple[Floats, Floats]:
    """Send times in s and RTTs in ms of a simulated run's probes.

    The record has samples, not probes. With one probe per row, the time of a row and its RTT identify
    the probe. Raises MeasureError if rows have several probes.
    """
    sent = rows["sent_packets"].to_numpy(zero_copy_only=False).astype(float)
    new = np.diff(np.concatenate(([0.0], sent)))
    interval = run.manifest.sample_ns / 1e9
    if abs(float(np.median(new)) - 1) > 0.01:
        raise MeasureError(
            f"each row of {flow['name']} has {np.median(new):.0f} probes: repeat the run with one row per probe "
            "(set run.sample to the interval of the probes)"
        )
    start = float(flow["started_ns"] or 0) / 1e9
    answered = ~np.isnan(rtt)
    number = np.floor((t[answered] - rtt[answered] / 1e3 - start) / interval + 1e-6).astype(np.int64)
    last = int(number.max(initial=-1))
    found: Floats = np.full(last + 1, np.nan)
    found[np.maximum(number, 0)] = rtt[answered]
    keep = ~_merged(found, last + 1 - int(flow["rtt_samples"]))
    times: Floats = start + interval * np.arange(last + 1, dtype=float)
    return times[keep], found[keep]


def _merged(rtt_ms: Floats, lost: int) -> npt.NDArray[np.bool_]:
    """Mask of probes that were answered but have no row: their answers share a row with others.

    This happens if the RTT falls. `lost` is the number of probes without an answer.
    """
    known = np.flatnonzero(~np.isnan(rtt_ms))
    runs = [(float(rtt_ms[a] - rtt_ms[b]) / (b - a), int(a), int(b)) for a, b in pairwise(known) if b > a + 1]
    found = np.zeros(len(rtt_ms), dtype=bool)
    # Gaps with the smallest fall of the RTT per probe are attributed to loss, up to the number of
    # lost probes.
    for _, a, b in sorted(runs):
        if lost < b - a - 1:
            found[a + 1 : b] = True
        else:
            lost -= b - a - 1
    return found


def loads_of(runs: Sequence[Run]) -> list[Load]:
    """TCP flows that ran alone, apart from small flows such as control connections."""
    found = []
    for run in runs:
        flows = [t for t in run.table("flow_totals").to_pylist() if t["cc"] not in WITHOUT_TCP]
        # The counters of a terminal show its use, not the capacity of its path.
        if not _is_telemetry(run):
            found += [_load(run, t) for t in flows if _is_alone(t, flows)]
    return found


def _is_alone(flow: dict[str, Any], flows: Sequence[dict[str, Any]]) -> bool:
    """Whether a flow ran alone; goodputs of concurrent flows do not show the capacity."""
    begin, end = _life(flow)
    concurrent = [t for t in flows if t is not flow and _life(t)[0] < end and _life(t)[1] > begin]
    return sum(int(t["goodput_bytes"]) for t in concurrent) <= CONCURRENT_SHARE * int(flow["goodput_bytes"])


def _life(flow: dict[str, Any]) -> tuple[int, int]:
    done = flow["completed_ns"]
    return int(flow["started_ns"] or 0), int(flow["stop_ns"] if done is None else done)


def _load(run: Run, flow: dict[str, Any]) -> Load:
    rows = _rows(run, flow["flow"])

    def column(name: str) -> Floats:
        values: Floats = rows[name].to_numpy(zero_copy_only=False).astype(float)
        return values

    t = column("t_ns") / 1e9
    measured = is_measured(run)
    counted = run.to_pandas("rtt")
    counted = counted[counted["flow"] == flow["flow"]]
    done = flow["completed_ns"]
    # The scheme of a measured record may be a composed name.
    cc = str(flow["cc"]) if run.manifest.backend == "measure" else run.cc
    return Load(
        cc=cc, name=flow["name"], origin=flow["from"], target=flow["to"], t_s=t,
        step_s=float(np.median(np.diff(t))) if len(t) > 1 else 1.0, delivered=column("delivered_bytes"),
        rtt_ms=column("rtt_ns") / 1e6, sent=column("sent_packets"), again=column("retransmits"),
        payload_share=PLAIN_SHARE if measured else float(flow["payload_share"]),
        start_s=float(flow["started_ns"] or 0) / 1e9, stop_s=float(flow["stop_ns"] if done is None else done) / 1e9,
        smoothed=_is_smoothed(run),
        rtts=(counted["rtt_us"].to_numpy(dtype=float) / 1e3, counted["count"].to_numpy(dtype=float)),
        bytes=None if done is None else float(flow["goodput_bytes"]), way=_way(run, flow),
        clock_s=_clock(run),
    )  # fmt: skip


def _is_smoothed(run: Run) -> bool:
    backend = run.manifest.backend
    return backend == "measure" or (backend == "log" and run.manifest["log"]["format"] in ("iperf3", "ss"))


def _way(run: Run, flow: dict[str, Any]) -> str:
    if run.manifest.backend != "measure":
        return ""
    flows = run.manifest["measure"]["flows"]
    does = flows[flow["flow"]]["do"] if flow["flow"] < len(flows) else ""
    return {"download": "down", "upload": "up"}.get(does, "")


def _rows(run: Run, flow: int, more: Sequence[str] = ("delivered_bytes", "sent_packets", "retransmits")) -> Any:
    import pyarrow.compute as pc

    rows = run.columns("flows", ["t_ns", "flow", "rtt_ns", "goodput_bps", *more])
    return rows.filter(pc.equal(rows["flow"], flow))
