# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a record shows of a path: quiet probes, and what a flow under load got and waited.

Nothing is taken of what only a simulator knows (base RTTs, events of the network, queues): a fit sees what a
measurement could have seen.
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

    from perigee_lab.results.record import Run

    Floats = npt.NDArray[np.float64]

PLAIN_SHARE = 1448 / 1500
"""Payload of a packet of TCP over IPv4 with timestamps, of 1500 bytes: where the record does not know it."""
FEWEST_PROBES = 100
BESIDE_SHARE = 0.02
"""What all others carry beside a flow that has the path to itself, in its bytes."""
IDLE_BPS, IDLE_SHARE = 1e6, 0.05
"""A terminal that carries no more than this, or than this share of the most that it carried, is idle."""
UDP_HEADERS = 28
"""Bytes of IPv4 and UDP around a probe that was measured."""
USUAL_BYTES = 84
"""IP packets of ping by default: where a log does not say how long its probes were."""


@dataclass(frozen=True, eq=False)
class Probes:
    """Probes of a quiet path, in the order of sending."""

    sent_s: Floats
    rtt_ms: Floats
    """NaN: lost."""
    interval_s: float
    bytes: int = 64
    """Length of a probe's IP packet."""
    busy: int = field(default=0, kw_only=True)
    """So many were left out, as the path was not idle then."""
    carried_bps: float | None = field(default=None, kw_only=True)
    """The most that it carried beside them, where that was counted."""
    size_known: bool = field(default=True, kw_only=True)
    """Else it is the usual one of ping."""
    source: str = field(default="probes", kw_only=True)
    """Else what stands for them: delays of a recording, or one value that was said."""
    clock_s: float | None = field(default=0.0, kw_only=True)
    """When time 0 is, since 1970; of simulated runs 0, as they share their scenario's time; None: unknown."""

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Which of them came back."""
        return ~np.isnan(self.rtt_ms)

    def part(self, which: slice) -> Probes:
        """Some of them."""
        step = which.step or 1
        return replace(self, sent_s=self.sent_s[which], rtt_ms=self.rtt_ms[which], interval_s=self.interval_s * step)


@dataclass(frozen=True, eq=False)
class Load:
    """A flow over TCP that took what it could get."""

    cc: str
    name: str
    origin: str
    target: str
    t_s: Floats
    step_s: float
    delivered: Floats
    """Bytes, in order."""
    rtt_ms: Floats
    sent: Floats
    again: Floats
    """Packets so far; NaN where the record does not know."""
    payload_share: float
    start_s: float
    stop_s: float
    smoothed: bool
    """RTTs are the kernel's smoothed values."""
    rtts: tuple[Floats, Floats]
    """All of its RTT samples: ms, and how often each came."""
    bytes: float | None
    """Its limit."""
    way: str = ""
    """down or up, where who measured says it."""
    clock_s: float | None = 0.0
    """As that of probes."""
    together: bool = True
    """It ran while the probes did, and its times are theirs; else they are its own."""

    def beside(self, probes: Probes) -> Load:
        """The same in the time of these probes, if it ran while they did."""
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
        """Over its life."""
        return float(self.delivered[-1] * 8 / max(1e-9, self.stop_s - self.start_s)) if len(self.delivered) else 0.0


@dataclass(frozen=True)
class Told:
    """What trains of probes say of one way."""

    way: str
    """down: to who measured; up."""
    mbps: Floats
    """On the wire, of each train."""
    spread: Floats
    """Time that each took to arrive over that to leave."""


def told_of(runs: Sequence[Run]) -> list[Told]:
    """Each way's trains, of all runs together."""
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
    return [Told(way, *(np.concatenate(c) for c in zip(*parts, strict=True))) for way, parts in found.items()]


def _is_trains(run: Run, flow: dict[str, Any]) -> bool:
    if run.manifest.backend != "measure":
        return False
    flows = run.manifest["measure"]["flows"]
    return bool(flow["flow"] < len(flows) and flows[flow["flow"]]["do"] == "trains")


def probes_of(runs: Sequence[Run]) -> Probes:
    """The longest series of probes beside which no flow over TCP ran. Raises MeasureError: there is none."""
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
            "no quiet probes: a path without load is needed to tell its delay from its queues (perigee measure "
            "run HOST "
            '--pings 60s, or a run of app = "ping" alone)'
        )
    best = max(found, key=lambda p: len(p.sent_s))
    if best.answered.sum() < FEWEST_PROBES:
        raise MeasureError(f"{int(best.answered.sum())} answered probes are too few; {FEWEST_PROBES} are needed")
    return best


def _is_telemetry(run: Run) -> bool:
    """A table of a terminal's own counters: its rates are what was used, not what a flow could get."""
    return run.manifest.backend == "log" and run.manifest["log"]["format"] == "table"


def _idle(run: Run, probes: Probes, totals: Sequence[dict[str, Any]]) -> Probes:
    """Those probes beside which the terminal carried little, either way; how many were left out goes with them."""
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
    bytes_ = USUAL_BYTES if size is None else size
    return Probes(sent, rtt, interval, bytes_, size_known=size is not None, clock_s=_clock(run))


def _probe_bytes(run: Run, flow: int) -> int | None:
    """Of a probe's IP packet, as the record says; None where it does not."""
    backend = run.manifest.backend
    if backend == "measure":
        return int(run.manifest["measure"]["flows"][flow]["size"]) + UDP_HEADERS
    if backend == "log":
        sizes = run.manifest["log"].get("probe_bytes", [])
        return None if flow >= len(sizes) or sizes[flow] is None else int(sizes[flow])
    app = run.manifest["flows"][flow]["app"]
    return int(app["ping"]["size"])


def _clock(run: Run) -> float | None:
    """When time 0 of a record is, s since 1970; None where it does not say."""
    if not is_measured(run):
        return 0.0
    began = run.manifest["measured"]["began_ns"]
    return float(began) / 1e9 if began else None


def _simulated(run: Run, flow: dict[str, Any], rows: Any, t: Floats, rtt: Floats) -> tuple[Floats, Floats]:
    """A run samples its probes: with a row for each interval an answer's row and RTT tell which probe it answers."""
    sent = rows["sent_packets"].to_numpy(zero_copy_only=False).astype(float)
    new = np.diff(np.concatenate(([0.0], sent)))
    interval = run.manifest.sample_ns / 1e9
    if abs(float(np.median(new)) - 1) > 0.01:
        raise MeasureError(
            f"each row of {flow['name']} holds {np.median(new):.0f} probes: record the run again with as many samples "
            "(run.sample = the interval of its probes)"
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
    """Probes whose answers share a row, as where the RTT falls; `lost` is how many have no answer."""
    known = np.flatnonzero(~np.isnan(rtt_ms))
    runs = [(float(rtt_ms[a] - rtt_ms[b]) / (b - a), int(a), int(b)) for a, b in pairwise(known) if b > a + 1]
    found = np.zeros(len(rtt_ms), dtype=bool)
    # Where it falls least they were lost: as many as never came.
    for _, a, b in sorted(runs):
        if lost < b - a - 1:
            found[a + 1 : b] = True
        else:
            lost -= b - a - 1
    return found


def loads_of(runs: Sequence[Run]) -> list[Load]:
    """Flows over TCP that had the path to themselves, but for the like of control connections."""
    found = []
    for run in runs:
        flows = [t for t in run.table("flow_totals").to_pylist() if t["cc"] not in WITHOUT_TCP]
        # What a terminal counted is not what its path can carry.
        if not _is_telemetry(run):
            found += [_load(run, t) for t in flows if _is_alone(t, flows)]
    return found


def _is_alone(flow: dict[str, Any], flows: Sequence[dict[str, Any]]) -> bool:
    """Of several that share a path, what one got is not what the path can carry."""
    begin, end = _life(flow)
    beside = [t for t in flows if t is not flow and _life(t)[0] < end and _life(t)[1] > begin]
    return sum(int(t["goodput_bytes"]) for t in beside) <= BESIDE_SHARE * int(flow["goodput_bytes"])


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
    # The name of a measured record may say more than its scheme.
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
