# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Shares of the intervals between rows by limit: from the sender's accounts, else from its state, else from packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perigee_lab.results.why.evidence import PLAIN_MSS

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.results.why.evidence import Evidence, Floats

    Bools = npt.NDArray[np.bool_]

BASES = ("application", "receive_window", "send_buffer", "window", "pacing", "unknown")
"""Limits that do not depend on phases; `window` is divided into start, recovery and steady later."""
APPLICATION, RECEIVE, SEND, WINDOW, PACED, UNKNOWN = range(len(BASES))
FULL = 0.9
"""A window counts as full from this share on: packets are sent in bursts."""
SPARE = 0.5
"""A sender in flight with less than this share of its window has nothing more to send, unless paced."""
FULL_AT_TIMES = 0.05
"""Share of an interval with a full receive window or send buffer that shows that there is data to send."""
AT_RATE = 0.85
"""Share of the pacing rate from which on it is the limit."""
OWN_RATE = (
    "bbr",
    "leocc",
    "copa",
    "vivace",
    "orbcc",
    "leotcp",
    "hpcc",
    "astraea",
    "prague",
    "pcc",
    "satpipe",
    "ppb",
    "leo-bbr",
    "c4",
    "rcp",
)
"""Schemes with a pacing rate that does not follow from their window."""
QUEUE = 0.25
"""Rise of the RTT above its minimum that shows a queue, so a full path; at least `LEAST_QUEUE_NS`."""
LEAST_QUEUE_NS = 4e6
BLOCKED_ROUNDS = 1.5
"""Round trips for which a report that flow control blocks holds: a sender makes one per credit."""
ROUNDS = 4
"""Round trips over which growth is observed."""
LEAST_GROWTH = 2
"""Segments by which the amount in flight grows over these."""
START_GROWTH = 1.3
"""Growth per round trip in slow start: 1.5 with delayed ACKs."""


def amounts(e: Evidence) -> Floats:
    """Share of each row's interval by limit, in the order of `BASES`; each row has the sum one."""
    found = _of_capture(e) if e.backend == "capture" else _of_state(e)
    if e.accounts is None:
        return found
    total = np.nansum(e.accounts, axis=1)
    known = total > 0
    divided = np.zeros_like(found)
    divided[known, : PACED + 1] = np.nan_to_num(e.accounts[known]) / total[known, None]
    # The kernels of real hosts do not separate pacing from the window, nor pauses of an application
    # with data in flight from either.
    mixed = known & np.isnan(e.accounts[:, PACED])
    rest = divided[mixed, WINDOW].copy()
    divided[mixed, WINDOW] = 0.0
    # While one of the other windows is full from time to time, there is data to send.
    has_data = divided[mixed][:, [RECEIVE, SEND]].sum(axis=1) > FULL_AT_TIMES
    divided[mixed] += rest[:, None] * _without_windows(found[mixed], has_data, paced=_has_own_rate(e))
    return np.where(known[:, None], divided, found)


def _without_windows(shares: Floats, has_data: Bools, *, paced: bool) -> Floats:
    """Shares of application, window and pacing alone; window (or pacing) where neither is known."""
    kept = shares.copy()
    kept[:, [RECEIVE, SEND, UNKNOWN]] = 0.0
    kept[has_data, APPLICATION] = 0.0
    kept[kept.sum(axis=1) == 0, PACED if paced else WINDOW] = 1.0
    scaled: Floats = kept / kept.sum(axis=1, keepdims=True)
    return scaled


def _one_hot(decisions: npt.NDArray[np.intp]) -> Floats:
    chosen: Floats = np.eye(len(BASES))[decisions]
    return chosen


def _of_state(e: Evidence) -> Floats:
    """From congestion window, packets in flight and pacing rate at the rows."""
    cwnd, flight = e["cwnd_bytes"], _flight(e)
    rate = _rate_bps(e)
    full = flight >= np.minimum(FULL * cwnd, cwnd - PLAIN_MSS)
    idle = (_most(e["in_flight_bytes"]) == 0) & ~(e.rise("delivered_bytes") > 0)
    paced = _has_own_rate(e) & (rate >= AT_RATE * e["pacing_bps"])
    blocked = _blocked(e)
    spare = ~np.isnan(cwnd) & ~np.isnan(flight) & ~full
    conditions = [idle, full, blocked, paced & spare, spare & _certainly_application(e, flight)]
    choices = [APPLICATION, WINDOW, RECEIVE, PACED, APPLICATION]
    return _one_hot(np.select(conditions, choices, UNKNOWN).astype(np.intp))


def _blocked(e: Evidence) -> Bools:
    """Whether flow control stopped a sender of QUIC, as it has reported, within the latest round trip."""
    counter = e.own.get("log.blocked_frames")
    if counter is None:
        return np.zeros(len(e.t_ns), dtype=bool)
    known = np.nan_to_num(counter)
    span = np.nan_to_num(BLOCKED_ROUNDS * e["srtt_ns"])
    before = np.searchsorted(e.t_ns, e.t_ns - span, side="right") - 1
    blocked: Bools = known > np.where(before >= 0, known[np.maximum(before, 0)], 0.0)
    return blocked


def _certainly_application(e: Evidence, flight: Floats) -> Bools:
    """Whether spare room means that there is nothing to send, rather than a full receive window.

    A sender of QUIC reports in frames that flow control blocks it. Elsewhere the kernel's own
    accounts of both windows decide, and without them, nothing does.
    """
    n = len(flight)
    if "log.blocked_frames" in e.own:
        return np.ones(n, dtype=bool)
    if e.accounts is not None or "linux.rwnd_limited_us" in e.own:
        certain: Bools = flight < SPARE * e["cwnd_bytes"]
        return certain
    return np.zeros(n, dtype=bool)


def _has_own_rate(e: Evidence) -> bool:
    return e.cc.rpartition(":")[2].lower().startswith(OWN_RATE) or e.cc in ("unknown", "")


def _most(values: Floats) -> Floats:
    """Larger of the values at both ends of each interval."""
    found: Floats = np.fmax(values, np.concatenate((values[:1], values[:-1])))
    return found


def _flight(e: Evidence) -> Floats:
    """Bytes in flight; without them, those that the rate keeps in flight (Little's law)."""
    flight = _most(e["in_flight_bytes"])
    rtt = np.where(np.isnan(e["srtt_ns"]), e["rtt_ns"], e["srtt_ns"])
    return np.where(np.isnan(flight), e["goodput_bps"] * rtt / 8e9, flight)


def _rate_bps(e: Evidence) -> Floats:
    """Rate of transmission where packets are counted, else the goodput."""
    length = (e.t_ns - e.starts_ns).astype(float)
    sent = e.rise("sent_packets") * PLAIN_MSS * 8e9
    found: Floats = np.divide(sent, length, out=np.full(len(length), np.nan), where=length > 0)
    return np.fmax(found, e["goodput_bps"], out=found)


def _of_capture(e: Evidence) -> Floats:
    """From packets alone: full receive windows, silence, windows that grow, and queues."""
    flight = e["in_flight_bytes"]
    window = e.own.get("capture.receive_window_bytes", np.full(len(flight), np.nan))
    idle = (_most(flight) == 0) & ~(e.rise("delivered_bytes") > 0) & ~(e.rise("sent_packets") > 0)
    received = _most(flight) >= FULL * window
    repaired = e.rise("retransmits") > 0
    filled = _has_queue(e) & (_most(flight) > 2 * PLAIN_MSS)
    conditions = [idle, received, repaired, _grows(e) | filled]
    choices = [APPLICATION, RECEIVE, WINDOW, WINDOW]
    return _one_hot(np.select(conditions, choices, UNKNOWN).astype(np.intp))


def _has_queue(e: Evidence) -> Bools:
    """Whether the RTT shows a queue: the sender has sent more than the path carries."""
    base = e.base_rtt_ns
    queued: Bools = e["srtt_ns"] - base > np.maximum(QUEUE * base, LEAST_QUEUE_NS)
    return queued


def _grows(e: Evidence) -> Bools:
    """Whether the amount in flight grows from round trip to round trip: a window that opens.

    Only a sender that always has data makes use of each increase.
    """
    peaks = peaks_in_flight(e)
    steps = peaks[:-1] - peaks[1:]
    slow = (steps > -PLAIN_MSS / 2).all(axis=0) & (peaks[0] - peaks[-1] >= LEAST_GROWTH * PLAIN_MSS)
    found: Bools = slow | doubles(peaks)
    return found


def doubles(peaks: Floats) -> Bools:
    """Whether the amount in flight grows as in slow start."""
    found: Bools = (peaks[0] >= START_GROWTH * peaks[1]) & (peaks[0] > 2 * PLAIN_MSS)
    return found


def peaks_in_flight(e: Evidence, column: str = "in_flight_bytes") -> Floats:
    """Largest amount in flight, or value of a column, in the latest `ROUNDS` round trips before each row.

    The latest is first; a round trip has at least three rows. NaN where the flow was not there yet.
    """
    times, flight = e.t_ns, np.nan_to_num(e[column])
    rounds = np.maximum(np.nan_to_num(e["srtt_ns"]), 3.0 * e.sample_ns)
    ends = [np.searchsorted(times, times - k * rounds, side="right") for k in range(ROUNDS + 1)]
    found = np.full((ROUNDS, len(times)), np.nan)
    for k in range(ROUNDS):
        for i, (b, a) in enumerate(zip(ends[k].tolist(), ends[k + 1].tolist(), strict=True)):
            if b > a:
                found[k, i] = flight[a:b].max()
    return found


def receive_window_bytes(e: Evidence, limited: Bools) -> float:
    """Estimate of the receive window: the amount in flight while it was the limit; NaN if unknown."""
    flight = e["in_flight_bytes"][limited & ~np.isnan(e["in_flight_bytes"])]
    return float(np.median(flight)) if len(flight) else float("nan")
