# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Spans of a flow's life that its samples do not show: handshake, outages, timeouts, phases of the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.results.marks import marks, routes_of
from perigee_lab.results.why.amounts import doubles, peaks_in_flight

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from perigee_lab.results.run import Run
    from perigee_lab.results.why.evidence import Event, Evidence

Span = tuple[int, int]
START_MODES = {
    "slow start", "startup", "initial phase", "start", "starting", "reconnaissance", "unvalidated", "validating",
    "conservative slow start", "rapid start",
}  # fmt: skip
REDUCED = {"cwr", "recovery", "loss"}
NO_THRESHOLD = ("orbcc", "leotcp", "hpcc", "copa", "vivace", "pcc", "astraea", "xcp", "rcp")
"""Schemes that do not divide slow start from the rest by a threshold."""
REGAINED = 0.95
"""Share of the window before a reduction that counts as regained."""
QUEUED = 0.05
"""Rise of the RTT above the path's own that shows a queue at the bottleneck; at least `LEAST_QUEUED_NS`."""
LEAST_QUEUED_NS = 2e6
DROP = 0.85
"""Without events, a window below this share of the previous one is a reduction."""
RTO_MIN_NS = 200_000_000


def handshake(e: Evidence) -> Span:
    """From the first SYN to the established connection; empty if unknown."""
    known = [ev for ev in e.events if ev.kind == "handshake"]
    if known:
        return e.begin_ns, known[0].t_ns
    if e.accounts is not None:
        counted = np.flatnonzero(np.nansum(e.accounts, axis=1) > 0)
        if not len(counted):
            return e.begin_ns, e.end_ns
        first = counted[0]
        return e.begin_ns, max(e.begin_ns, int(e.t_ns[first] - np.nansum(e.accounts[first])))
    if not e.measured and not e.sent_data:
        return e.begin_ns, e.end_ns
    there = np.flatnonzero(~np.isnan(e["cwnd_bytes"]))
    if e.measured or not len(there):
        return e.begin_ns, e.begin_ns
    return e.begin_ns, int(e.starts_ns[there[0]])


# ---- outages -------------------------------------------------------------------------------------


def outages(run: Run, flows: Sequence[Evidence]) -> dict[int, list[Span]]:
    """Times without a path by flow: links of the route down, no route, a rate of zero."""
    if not flows or flows[0].measured:
        return {e.flow: [] for e in flows}
    pairs = {(p.origin, p.target): i for i, p in enumerate(run.manifest.pairs)}
    of = {e.flow: pairs.get(e.ends) for e in flows}
    shown = [{"ends": e.ends, "pair": of[e.flow]} for e in flows]
    routes = routes_of(run, set(of.values()))
    names = dict(enumerate(run.manifest.nodes))
    found = marks(run, shown, {"names": names, "routes": routes})
    end = run.manifest.simulated_ns
    return {
        e.flow: merged(_down(found, of[e.flow], end) + _unrouted(routes.get(str(of[e.flow]), []), end) + _blocked(e))
        for e in flows
    }


def _down(events: list[list[Any]], pair: int | None, end_ns: int) -> list[Span]:
    """Outages among the events that affect a pair of nodes."""
    found: list[Span] = []
    begun: dict[str, int] = {}
    for t_s, kind, value, _, node, pairs in events:
        if pairs is not None and pair is not None and pair not in pairs:
            continue
        t = round(t_s * 1e9)
        if kind == "handover" and value > 0:
            found.append((t, t + round(value * 1e9)))
        elif kind == "outage-begin":
            begun.setdefault(node, t)
        elif kind == "outage-end" and node in begun:
            found.append((begun.pop(node), t))
    return found + [(t, end_ns) for t in begun.values()]


def _unrouted(steps: list[list[Any]], end_ns: int) -> list[Span]:
    times = [round(t * 1e9) for t, _ in steps] + [end_ns]
    return [(times[i], times[i + 1]) for i, (_, nodes) in enumerate(steps) if not nodes]


def _blocked(e: Evidence) -> list[Span]:
    """Intervals at both ends of which the slowest port has no rate."""
    none = e["path_rate_bps"] == 0
    both = none & np.concatenate((none[:1], none[:-1]))
    return list(zip(e.starts_ns[both].tolist(), e.t_ns[both].tolist(), strict=True))


def merged(spans: list[Span]) -> list[Span]:
    """Spans in order, overlapping and adjacent ones as one."""
    found: list[Span] = []
    for begin, end in sorted(s for s in spans if s[1] > s[0]):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


# ---- timeouts ------------------------------------------------------------------------------------


def timeouts(e: Evidence) -> list[Span]:
    """Waits for retransmission timeouts: from the last sign of progress to the expiry."""
    expired = [ev.t_ns for ev in e.of_kind("timeout")] or e.t_ns[e.rise("timeouts") > 0].tolist()
    progress = (np.nan_to_num(e.rise("delivered_bytes")) > 0) | (np.nan_to_num(e.rise("sent_packets")) > 0)
    starts, found = e.starts_ns, []
    previous = e.begin_ns
    for t in expired:
        # The row whose interval contains the expiry has the retransmission; those before it count.
        k = int(np.searchsorted(e.t_ns, t))
        moved = np.flatnonzero(progress[:k])
        begin = int(e.t_ns[moved[-1]]) if len(moved) else e.begin_ns
        earliest = int(starts[moved[-1]]) if len(moved) else e.begin_ns
        begin = max(earliest, min(begin, t - RTO_MIN_NS))
        stalled = len(moved) and begin <= previous + (e.t_ns[moved[-1]] - starts[moved[-1]]) and previous < t
        if stalled and previous > e.begin_ns and _nothing_delivered(e, previous, t):
            begin = previous
        found.append((max(begin, previous), t))
        previous = t
    return merged(found)


def _nothing_delivered(e: Evidence, since: int, until: int) -> bool:
    """Whether no data arrived between two timeouts, up to a sampling interval."""
    a, b = np.searchsorted(e.t_ns, (since, until))
    delivered = e["delivered_bytes"]
    return bool(a < len(delivered) and b > a and delivered[min(b, len(delivered)) - 1] <= delivered[a])


# ---- phases of the congestion window -------------------------------------------------------------


@dataclass(frozen=True)
class Episode:
    """A reduction of the window, and the time until it was made good."""

    begin_ns: int
    end_ns: int
    reason: str
    """loss, timeout, mark (ECN)."""
    before_bytes: float
    """Window before it; NaN if unknown."""
    after_bytes: float
    """Smallest window in it."""
    rounds: float
    """Length in round trips."""
    recovered: bool
    """False if the flow ended first."""
    again: int
    """Further reductions in it."""


def episodes(e: Evidence, established_ns: int) -> list[Episode]:
    """Reductions of the window, in order; one that occurs before the previous is made good extends it."""
    found: list[Episode] = []
    reductions = _reductions(e)
    k = 0
    while k < len(reductions):
        t, reason = reductions[k]
        if t < established_ns:
            k += 1
            continue
        end, recovered, k_next = _made_good(e, t, reductions, k)
        found.append(_episode(e, t, end, reason, recovered, k_next - k - 1))
        k = k_next
    return found


def _reductions(e: Evidence) -> list[tuple[int, str]]:
    """Times and reasons of reductions, from events; without events, from the rows."""
    changes = e.of_kind("ca-state", "timeout")
    if changes:
        return _from_events(changes)
    states = e.texts["ca_state"]
    cwnd, lost = e["cwnd_bytes"], np.fmax(e.rise("lost_packets"), e.rise("retransmits"))
    begins = e.starts_ns
    found: list[tuple[int, str]] = []
    for i in range(1, len(cwnd)):
        entered = states[i] in REDUCED and states[i - 1] not in REDUCED
        dropped = cwnd[i] < DROP * cwnd[i - 1] and (lost[i] > 0 or states[i] in REDUCED)
        blind = np.isnan(cwnd[i]) and e.rise("retransmits")[i] > 0
        if entered or dropped or blind:
            found.append((int(begins[i]), "timeout" if states[i] == "loss" else "loss"))
    return found


def _from_events(changes: list[Event]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    state = "open"
    for ev in changes:
        if ev.kind == "timeout":
            if not found or found[-1] != (ev.t_ns, "timeout"):
                found.append((ev.t_ns, "timeout"))
            state = "loss"
        elif ev.text in REDUCED:
            if state not in REDUCED:
                found.append((ev.t_ns, {"cwr": "mark", "loss": "timeout"}.get(ev.text, "loss")))
            state = ev.text
        else:
            state = ev.text
    return found


def _made_good(e: Evidence, t: int, reductions: list[tuple[int, str]], k: int) -> tuple[int, bool, int]:
    """End of the recovery from a reduction, whether it is one, and the next reduction after it."""
    target, k = _window_before(e, t), k + 1
    restored = next((u for u in e.undone_ns if u >= t), None)
    for i in range(int(np.searchsorted(e.t_ns, t)), len(e.t_ns)):
        now = int(e.t_ns[i])
        if restored is not None and restored <= now:
            return restored, True, _after(reductions, k, restored)
        while k < len(reductions) and reductions[k][0] <= now:
            k += 1
        if now > t and _is_made_good(e, i, t, target):
            return now, True, _after(reductions, k, now)
    return e.end_ns, False, len(reductions)


def _after(reductions: list[tuple[int, str]], k: int, t: int) -> int:
    while k < len(reductions) and reductions[k][0] <= t:
        k += 1
    return k


def _window_before(e: Evidence, t: int) -> float:
    """Window (of captures: amount in flight) at the last row before a reduction."""
    i = int(np.searchsorted(e.t_ns, t)) - 1
    if i < 0:
        return float("nan")
    if not np.isnan(e["cwnd_bytes"]).all():
        return float(e["cwnd_bytes"][i])
    flight = e["in_flight_bytes"][int(np.searchsorted(e.t_ns, e.t_ns[i] - _round_ns(e, i))) : i + 1]
    return float(np.fmax.reduce(flight))


def _round_ns(e: Evidence, i: int) -> float:
    """A round trip at a row, of at least three rows."""
    return float(np.fmax(e["srtt_ns"][i], 3.0 * e.sample_ns))


def _is_made_good(e: Evidence, i: int, begin: int, target: float) -> bool:
    """Whether the window no longer costs throughput at a row, after a reduction at `begin`."""
    cwnd = e["cwnd_bytes"][i]
    window = e["in_flight_bytes"][i] if np.isnan(cwnd) else cwnd
    if window >= REGAINED * target and e.texts["ca_state"][i] not in REDUCED:
        return True
    # The queue from before the reduction lasts for a round trip.
    srtt, base = e["srtt_ns"][i], e.base_rtt_ns[i]
    if np.isnan(base) or np.isnan(srtt) or e.starts_ns[i] < begin + srtt:
        return False
    # Bursts queue behind themselves for a part of the round trip only.
    round_trip = e["rtt_ns"][int(np.searchsorted(e.t_ns, e.t_ns[i] - srtt)) : i + 1]
    queued = np.fmin.reduce(round_trip) - base > max(QUEUED * base, LEAST_QUEUED_NS)
    return bool(queued or window * 8e9 >= e["path_rate_bps"][i] * base)


def _episode(e: Evidence, begin: int, end: int, reason: str, recovered: bool, again: int) -> Episode:
    a, b = np.searchsorted(e.t_ns, (begin, end + 1))
    cwnd, srtt = e["cwnd_bytes"][a:b], e["srtt_ns"][a:b]
    known = srtt[~np.isnan(srtt)]
    rtt = float(known.mean()) if len(known) else float("nan")
    least = float(np.nanmin(cwnd)) if len(cwnd) and not np.isnan(cwnd).all() else float("nan")
    rounds = (end - begin) / rtt if rtt > 0 else float("nan")
    return Episode(begin, end, reason, _window_before(e, begin), least, rounds, recovered, again)


def starts(e: Evidence, established_ns: int) -> list[Span]:
    """Times in slow start or a scheme's startup, except those within a recovery."""
    changes = [(ev.t_ns, ev.text in START_MODES) for ev in e.of_kind("mode")]
    modes = e.texts["mode"]
    if any(modes):
        return _by_mode(e, established_ns, changes)
    within = e["cwnd_bytes"] < e["ssthresh_bytes"]
    endless = np.isnan(e["ssthresh_bytes"]) & ~np.isnan(e["cwnd_bytes"])
    gain = e.own.get("linux.bbr_pacing_gain")
    if gain is not None:
        within = gain > 2
    elif e.cc.startswith(("bbr", "leocc")):
        within = np.zeros(len(modes), dtype=bool)
    elif not _without_threshold(e, endless):
        # A log without a threshold may not know it.
        within = within | (endless & (doubles(peaks_in_flight(e, "cwnd_bytes")) if e.backend == "log" else True))
    if np.isnan(e["cwnd_bytes"]).all():
        within = doubles(peaks_in_flight(e))
    return merged(list(zip(e.starts_ns[within].tolist(), e.t_ns[within].tolist(), strict=True)))


def _without_threshold(e: Evidence, endless: npt.NDArray[np.bool_]) -> bool:
    """Whether a scheme has no threshold of slow start, so that an infinite one shows nothing."""
    if e.cc.rpartition(":")[2].lower().startswith(NO_THRESHOLD):
        return True
    reduced = np.array([state in REDUCED for state in e.texts["ca_state"]], dtype=bool)
    return bool((reduced & endless).any())


def _by_mode(e: Evidence, established_ns: int, changes: list[tuple[int, bool]]) -> list[Span]:
    """Spans of modes of a start; the first mode is that of the first row unless it changed before."""
    first = next(mode for mode in e.texts["mode"] if mode) in START_MODES
    before = changes and len(e.t_ns) and changes[0][0] <= e.t_ns[0]
    state = not changes[0][1] if before else first
    found, since = [], established_ns
    for t, starting in [*changes, (e.end_ns, False)]:
        if state and not starting:
            found.append((since, t))
        if starting and not state:
            since = t
        state = starting
    return merged(found)
