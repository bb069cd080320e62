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
AT_RATE = 0.85
"""Share of the pacing rate from which on it is the limit."""
OWN_RATE = ("bbr", "leocc", "copa", "vivace", "orbcc", "leotcp", "hpcc", "astraea", "prague", "pcc")
"""Schemes with a pacing rate that does not follow from their window."""
QUEUE = 0.25
"""Rise of the RTT above its minimum that shows a queue, so a full path; at least `LEAST_QUEUE_NS`."""
LEAST_QUEUE_NS = 4e6
STEADY_GROWTH = 0.05


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
    divided[mixed] += rest[:, None] * _without_windows(found[mixed])
    return np.where(known[:, None], divided, found)


def _without_windows(shares: Floats) -> Floats:
    """Shares of application, window and pacing alone; window where neither is known."""
    kept = shares.copy()
    kept[:, [RECEIVE, SEND, UNKNOWN]] = 0.0
    kept[kept.sum(axis=1) == 0, WINDOW] = 1.0
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
    blocked = e.rise("log.blocked_frames") > 0 if "log.blocked_frames" in e.own else np.zeros(len(cwnd), dtype=bool)
    spare = ~np.isnan(cwnd) & ~np.isnan(flight) & ~full
    conditions = [idle, full, blocked, paced & spare, spare & _certainly_application(e, flight)]
    choices = [APPLICATION, WINDOW, RECEIVE, PACED, APPLICATION]
    return _one_hot(np.select(conditions, choices, UNKNOWN).astype(np.intp))


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
    length = (e.t_ns - e.starts_ns()).astype(float)
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
    rtt = e["srtt_ns"]
    least = np.fmin.accumulate(np.where(np.isnan(e["rtt_ns"]), np.inf, e["rtt_ns"]))
    queued: Bools = rtt - least > np.maximum(QUEUE * least, LEAST_QUEUE_NS)
    return queued


def _grows(e: Evidence) -> Bools:
    """Whether the amount in flight has its maximum so far and still grows: a window that opens."""
    flight = e["in_flight_bytes"]
    if not len(flight):
        return np.zeros(0, dtype=bool)
    before = np.concatenate(([0.0], np.fmax.accumulate(np.nan_to_num(flight))[:-1]))
    grown: Bools = (flight > (1 + STEADY_GROWTH) * before) & (flight > 2 * PLAIN_MSS)
    return grown


def receive_window_bytes(e: Evidence, limited: Bools) -> float:
    """Estimate of the receive window: the amount in flight while it was the limit; NaN if unknown."""
    flight = e["in_flight_bytes"][limited & ~np.isnan(e["in_flight_bytes"])]
    return float(np.median(flight)) if len(flight) else float("nan")
