# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Beliefs of schemes while their window or rate was the limit, and remedies, as sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from perigee_lab.results.sender_limits import INDEX, NAMES, WINDOW
from perigee_lab.results.why.amounts import RECEIVE, SEND, amounts, receive_window_bytes
from perigee_lab.results.why.evidence import PLAIN_MSS
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
ACHIEVED = 0.95
"""Part of the achievable goodput from which on a larger receive window is no remedy."""
LEAST_OTHERS = 0.02
"""Smallest part of a path's rate for which other flows are named."""
PLAIN_TRUESIZE = 2176
LEAST_DOUBT = 0.05
"""Part of a flow's life by which the division of recovery and steady may be wrong without a warning."""
SUPPLIED = 0.5
"""A leg whose sender has nothing to send for a smaller share of its time gets its data fast enough."""
LEAST_SHARE = 0.05
"""Smallest share of a flow's life that a note is about."""


def notes(e: Evidence, limits: FlowLimits, next_leg: FlowLimits | None = None) -> list[str]:
    """Sentences on a flow; `next_leg`: the flow that forwards its data from a proxy."""
    found = [_samples(e, limits), _flow_control(e, limits, next_leg), _send_buffer(e, limits)]
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
    own, others = _used(e, bound)
    if 0 < needed <= window or own + others >= ACHIEVED * e.payload_share:
        beside = f" with other flows, which carry {_percent(others)} of its rate" if others >= LEAST_OTHERS else ""
        return f"{found}; that fills the path of {_rate(rate)}{beside}, and more would only wait in its queue"
    if next_leg is not None:
        what = "the buffer of its proxy (via_buffer)" + (f" to {_bytes(needed)} or more" if needed > 0 else "")
    else:
        what = _knob(e, needed)
    return f"{found}; raise {what}" + (f" for {_rate(rate)}" if needed > 0 else "")


def _knob(e: Evidence, needed: float) -> str:
    """The setting behind the receive window, with a value for a window of some bytes (0: unknown)."""
    least = f" to {_bytes(needed)} or more" if needed > 0 else ""
    if e.backend == "log" or any(ev.text.endswith("QUIC") for ev in e.events):
        return f"initial_max_data and initial_max_stream_data of the receiver (QUIC){least}"
    if e.backend != "simulator":
        if not least:
            return "the receive window (net.ipv4.tcp_rmem, SO_RCVBUF)"
        memory = f"the maximum of net.ipv4.tcp_rmem is memory, of which half may be window: {_bytes(2 * needed)}"
        return f"the receive window{least} ({memory}; SO_RCVBUF, which Linux doubles: {_bytes(needed)})"
    capped = any(e.tcp.get(key) for key in ("receive_buffer", "buffer_bytes", "buffer_factor"))
    if not least:
        return "the receive window (tcp.rmem_max, tcp.receive_buffer)"
    if capped:
        return f"the receive window{least} (tcp.receive_buffer = {_round_up(needed)})"
    needed_memory = _round_up(needed / _window_share(e))
    # A buffer that may grow that far grows too slowly: a new one offers half at once.
    grows = int(e.tcp.get("rmem_max") or 0) >= needed_memory
    value = f"tcp.rmem = {2 * needed_memory}" if grows else f"tcp.rmem_max = {needed_memory}"
    return f"the receive window{least} ({value}, memory of which a part is window)"


def _window_share(e: Evidence) -> float:
    """Part of the memory of a simulated receiver that is window, in parts of 256 as in Linux."""
    mss, truesize = e.tcp.get("mss"), e.tcp.get("truesize")
    if not (isinstance(mss, int) and isinstance(truesize, int) and mss > 0 and truesize > 0):
        mss, truesize = PLAIN_MSS, PLAIN_TRUESIZE
    return max(1, mss * 256 // truesize) / 256


def _round_up(n: float) -> int:
    """The next number of two digits and zeros."""
    unit = int(10 ** max(0, math.floor(math.log10(n)) - 1))
    return math.ceil(n / unit) * unit


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
    known = bound & ~np.isnan(e["path_rate_bps"]) & ~np.isnan(e["goodput_bps"])
    if not (e["path_rate_bps"][known] > 0).any() or _seconds(e, known) < LEAST_SHARE * (e.end_ns - e.begin_ns) / 1e9:
        return ""
    used, others = _used(e, known)
    carried = f"while window or pacing limited it, it carried {_percent(used)} of the path's rate"
    if others >= LEAST_OTHERS:
        carried += f", other flows {_percent(others)}"
    if used + others >= FULL_PATH:
        return f"{carried}: the path is full"
    window, path = _mean(e["cwnd_bytes"], known), _mean(e["path_rate_bps"] * e["base_rtt_ns"] / 8e9, known)
    return f"{carried}; the window held {_bytes(window)}, the path {_bytes(path)}" if 0 < window < path else carried


def _used(e: Evidence, rows: Bools) -> tuple[float, float]:
    """Parts of the path's rate that the flow and others carried in these rows; 0 if unknown."""
    known = rows & ~np.isnan(e["path_rate_bps"]) & ~np.isnan(e["goodput_bps"])
    lengths = (e.t_ns - e.starts_ns).astype(float)[known]
    offered = float((e["path_rate_bps"][known] * lengths).sum())
    if offered <= 0:
        return 0.0, 0.0
    own, others = (float((bps[known] * lengths).sum()) / offered for bps in (e["goodput_bps"], e.others_bps))
    return own, others


def _samples(e: Evidence, limits: FlowLimits) -> str:
    """A warning where samples are too long to show when reductions are made good."""
    rtt = _mean(e["srtt_ns"], ~np.isnan(e["srtt_ns"]))
    totals = limits.totals()
    # Each end of a recovery is that of a sample.
    most = sum(1 + r.again for r in limits.episodes) * e.sample_ns / 1e9
    doubt = min(most, totals["window_recovery"] + totals["window_steady"]) / max(1e-9, limits.end_s - limits.begin_s)
    if not 0 < rtt < e.sample_ns or doubt < LEAST_DOUBT:
        return ""
    return (
        f"warning: its samples of {e.sample_ns / 1e9:g} s are longer than its round trips of {rtt / 1e6:.0f} ms: "
        f"{_percent(doubt)} of its time may be steady instead of recovery; a shorter run.sample divides them better"
    )


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
    # A recovery may lie between two rows.
    plateau, k = (np.fmax.reduce(e.own[c][inside], initial=0.0) for c in ("cc_w_max_segments", "cc_k_s"))
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
    kinds = {"startup": "restart", "start": "restart", "probe_rtt": "visit", "frozen": "freeze"}
    modes = [(ev.t_ns, ev.text) for ev in e.of_kind("mode")]
    triggered = e.own.get("cc_trigger")
    found = []
    for mode in dict.fromkeys(text for _, text in modes if text in kinds):
        times = [t / 1e9 for t, text in modes if text == mode and t / 1e9 > limits.begin_s + 1]
        if times:
            shown = ", ".join(f"{t:.1f}" for t in times[:4]) + (", …" if len(times) > 4 else "")
            what = f"{kinds[mode]}{'s' if times[1:] else ''}{' of PROBE_RTT' if mode == 'probe_rtt' else ''}"
            found.append(f"{what} at {shown} s" + (f" ({len(times)} in all)" if times[1:] else ""))
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
