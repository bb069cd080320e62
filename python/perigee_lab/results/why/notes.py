# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Beliefs of schemes while their window or rate was the limit, and remedies, as sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from perigee_lab.results.sender_limits import INDEX, NAMES, WINDOW
from perigee_lab.results.why.amounts import RECEIVE, SEND, amounts, receive_window_bytes
from perigee_lab.results.why.spans import START_MODES

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.results.why.evidence import Evidence, Floats
    from perigee_lab.results.why.flow import FlowLimits

    Bools = npt.NDArray[np.bool_]

MIN_RTTS = (("cc_min_rtt_s", 1e9), ("linux.bbr_min_rtt_us", 1e3), ("log.min_rtt_ms", 1e6))
"""Columns with the minimum RTT of a model, and their units in ns. Cubic's is of HyStart alone."""
BANDWIDTHS = ("cc_max_bw_bps", "cc_bw_bps", "linux.bbr_bandwidth_bps")
STALE = 0.1
"""Relative difference between belief and path from which on a belief is reported."""
FULL_PATH = 0.88
"""Payload over the rate of the slowest port from which on it counts as full: headers take some 5 %."""
SUPPLIED = 0.5
"""A leg whose sender has nothing to send for a smaller share of its time gets its data fast enough."""
LEAST_SHARE = 0.05
"""Smallest share of a flow's life that a note is about."""


def notes(e: Evidence, limits: FlowLimits, next_leg: FlowLimits | None = None) -> list[str]:
    """Sentences on a flow; `next_leg`: the flow that forwards its data from a proxy."""
    found = [_flow_control(e, limits, next_leg), _send_buffer(e, limits)]
    bound = _bound_by_control(e, limits)
    if bound.any():
        found += [
            _use(e, bound & _started(e)),
            _min_rtt(e, bound),
            _bandwidth(e, bound),
            _cubic(e, limits),
            _restarts(e, limits),
        ]
    return [note for note in found if note]


def _bound_by_control(e: Evidence, limits: FlowLimits) -> Bools:
    """Rows with intervals mostly bounded by the window or the rate of the scheme."""
    if not len(e.t_ns) or len(limits.edges_ns) < 2:
        return np.zeros(len(e.t_ns), dtype=bool)
    mids = (e.starts_ns + e.t_ns) // 2
    k = np.clip(np.searchsorted(limits.edges_ns, mids, side="right") - 1, 0, len(limits.shares) - 1)
    most: Bools = limits.shares[k][:, [*WINDOW, INDEX["pacing"]]].sum(axis=1) > 0.5
    return most


# ---- remedies ------------------------------------------------------------------------------------


def _flow_control(e: Evidence, limits: FlowLimits, next_leg: FlowLimits | None) -> str:
    share = _share(limits, "receive_window")
    if share < LEAST_SHARE:
        return ""
    if next_leg is not None and _share(next_leg, "application") < SUPPLIED:
        return f"the buffer of its proxy is full for {_percent(share)} of its time: the next leg decides"
    bound = amounts(e)[:, RECEIVE] > 0.5
    window = receive_window_bytes(e, bound)
    rtt = _mean(e["srtt_ns"], bound) or _mean(e["rtt_ns"], bound)
    found = f"flow control limits it for {_percent(share)} of its time"
    if window > 0 and rtt > 0:
        found += f": {_bytes(window)} per round trip of {rtt / 1e6:.0f} ms are {_rate(window * 8e9 / rtt)}"
    rate = _mean(e["path_rate_bps"], bound)
    needed = rate * (_mean(e["base_rtt_ns"], bound) or rtt) / 8e9
    if 0 < needed <= window:
        return f"{found}; that fills the path of {_rate(rate)}, and more would only wait in its queue"
    return f"{found}; raise {_knob(e) if next_leg is None else 'the buffer of its proxy (via_buffer)'}" + (
        f" to {_bytes(needed)} or more for {_rate(rate)}" if needed > 0 else ""
    )


def _knob(e: Evidence) -> str:
    """The setting behind the receive window."""
    if e.backend == "log" or any(ev.text.endswith("QUIC") for ev in e.events):
        return "initial_max_data and initial_max_stream_data of the receiver (QUIC)"
    if e.backend == "simulator":
        return "the receive window (tcp.rmem_max, tcp.receive_buffer)"
    return "the receive window (net.ipv4.tcp_rmem, SO_RCVBUF)"


def _send_buffer(e: Evidence, limits: FlowLimits) -> str:
    share = _share(limits, "send_buffer")
    if share < LEAST_SHARE:
        return ""
    bound = amounts(e)[:, SEND] > 0.5
    window, rtt = receive_window_bytes(e, bound), _mean(e["srtt_ns"], bound)
    reach = f": {_bytes(window)} per round trip of {rtt / 1e6:.0f} ms" if window > 0 and rtt > 0 else ""
    what = "tcp.send_buffer, via_buffer of a proxy" if e.backend == "simulator" else "net.ipv4.tcp_wmem, SO_SNDBUF"
    return f"its send buffer limits it for {_percent(share)} of its time{reach}; raise it ({what})"


# ---- beliefs -------------------------------------------------------------------------------------


def _use(e: Evidence, bound: Bools) -> str:
    """Use of the path while the scheme was the limit."""
    lengths = (e.t_ns - e.starts_ns).astype(float)
    known = bound & ~np.isnan(e["path_rate_bps"]) & ~np.isnan(e["goodput_bps"])
    offered = float((e["path_rate_bps"] * lengths)[known].sum())
    if offered <= 0 or _seconds(e, known) < LEAST_SHARE * (e.end_ns - e.begin_ns) / 1e9:
        return ""
    used = float((e["goodput_bps"] * lengths)[known].sum()) / offered
    carried = f"while window or pacing limited it, it carried {_percent(used)} of the path's rate"
    if used >= FULL_PATH:
        return f"{carried}: the path is full"
    window, path = _mean(e["cwnd_bytes"], known), _mean(e["path_rate_bps"] * e["base_rtt_ns"] / 8e9, known)
    return f"{carried}; the window held {_bytes(window)}, the path {_bytes(path)}" if 0 < window < path else carried


def _min_rtt(e: Evidence, bound: Bools) -> str:
    column = next(((e.own[name] * unit) for name, unit in MIN_RTTS if name in e.own), None)
    if column is None or np.isnan(e["base_rtt_ns"]).all():
        return ""
    ratio = np.divide(column, e["base_rtt_ns"], out=np.full(len(column), np.nan), where=e["base_rtt_ns"] > 0)
    low, high = bound & (ratio < 1 - STALE), bound & (ratio > 1 + STALE)
    worse = low if _seconds(e, low) >= _seconds(e, high) else high
    if _seconds(e, worse) < LEAST_SHARE * _seconds(e, bound):
        return ""
    believed, path = _mean(column, worse), _mean(e["base_rtt_ns"], worse)
    effect = (
        f"its bandwidth-delay product is {_percent(1 - believed / path)} too small"
        if believed < path
        else "it keeps a queue that it takes for the path"
    )
    first = e.t_ns[np.flatnonzero(worse)[0]] / 1e9
    return (
        f"stale minimum RTT for {_seconds(e, worse):.1f} s (first at {first:.1f} s): it believed {believed / 1e6:.1f} "
        f"ms, the path had {path / 1e6:.1f} ms; {effect}"
    )


def _bandwidth(e: Evidence, bound: Bools) -> str:
    column = next((e.own[name] for name in BANDWIDTHS if name in e.own), None)
    if column is None or np.isnan(e["path_rate_bps"]).all():
        return ""
    low = bound & _started(e) & (column < (1 - 2 * STALE) * e["path_rate_bps"])
    low &= e["srtt_ns"] < 1.25 * e["base_rtt_ns"]
    if _seconds(e, low) < LEAST_SHARE * _seconds(e, bound):
        return ""
    return (
        f"bandwidth too low for {_seconds(e, low):.1f} s, without a queue: it believed {_rate(_mean(column, low))}, "
        f"the slowest port has {_rate(_mean(e['path_rate_bps'], low))}"
    )


def _cubic(e: Evidence, limits: FlowLimits) -> str:
    """Cubic's curve in the longest recovery: its plateau, and when it is reached."""
    if "cc_w_max_segments" not in e.own or "cc_k_s" not in e.own or not limits.episodes:
        return ""
    longest = max(limits.episodes, key=lambda r: r.end_ns - r.begin_ns)
    if (longest.end_ns - longest.begin_ns) / 1e9 < LEAST_SHARE * (limits.end_s - limits.begin_s):
        return ""
    inside = (e.t_ns > longest.begin_ns) & (e.t_ns <= longest.end_ns)
    plateau, k = np.nanmax(e.own["cc_w_max_segments"][inside]), np.nanmax(e.own["cc_k_s"][inside])
    if not (plateau > 0 and k > 0):
        return ""
    epoch = (
        f"Cubic's epoch from {longest.begin_ns / 1e9:.1f} s: its curve returns to a plateau of {plateau:.0f} "
        f"segments K = {k:.1f} s after it begins"
    )
    bdp = _mean(e["path_rate_bps"] * e["base_rtt_ns"] / 8e9 / 1500, inside)
    return epoch + (f"; the path holds {bdp:.0f}" if bdp > 0 else "")


def _restarts(e: Evidence, limits: FlowLimits) -> str:
    """Returns of a scheme to its startup, or visits of PROBE_RTT, while established."""
    kinds = {"startup": "restart", "start": "restart", "probe_rtt": "visit of PROBE_RTT", "frozen": "freeze"}
    modes = [(ev.t_ns, ev.text) for ev in e.of_kind("mode")]
    triggered = e.own.get("cc_trigger")
    found = []
    for mode in dict.fromkeys(text for _, text in modes if text in kinds):
        times = [t / 1e9 for t, text in modes if text == mode and t / 1e9 > limits.begin_s + 1]
        if times:
            shown = ", ".join(f"{t:.1f}" for t in times[:4]) + (", …" if len(times) > 4 else "")
            found.append(
                f"{kinds[mode]} at {shown} s ({len(times)} in all)" if times[1:] else f"{kinds[mode]} at {shown} s"
            )
    if not found:
        return ""
    why = " after reconfigurations that it detected" if triggered is not None and (triggered > 0).any() else ""
    return f"{', '.join(found)}{why}"


def _started(e: Evidence) -> Bools:
    """Rows after the start of the scheme."""
    return np.array([mode not in START_MODES for mode in e.texts["mode"]], dtype=bool)


# ---- figures -------------------------------------------------------------------------------------


def _share(limits: FlowLimits, name: str) -> float:
    totals = limits.totals()
    return totals[name] / max(1e-9, sum(totals[n] for n in NAMES))


def _seconds(e: Evidence, rows: Bools) -> float:
    return float(((e.t_ns - e.starts_ns)[rows]).sum()) / 1e9


def _mean(values: Floats, rows: Bools) -> float:
    """Mean of the known values in these rows; 0 if there are none."""
    known = values[rows & ~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _rate(bps: float) -> str:
    return f"{bps / 1e6:.3g} Mbit/s" if bps < 1e9 else f"{bps / 1e9:.3g} Gbit/s"


def _bytes(n: float) -> str:
    if math.isnan(n):
        return "an unknown number of bytes"
    return f"{n / 1e6:.3g} MB" if n >= 1e6 else f"{n / 1e3:.3g} kB"
