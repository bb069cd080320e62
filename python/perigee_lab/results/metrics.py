# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Metrics of a run, computed from its record alone; defined in `perigee_lab.results.columns`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perigee_lab.results.active import active_columns, last_arrivals
from perigee_lab.results.checked import consistent
from perigee_lab.results.experience import DROPS, applications, completion_columns, flow_columns, run_columns
from perigee_lab.results.experience import mean as _mean
from perigee_lab.results.rtt_over import FLOWS, rtt_over

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perigee_lab.results.manifest import Group
    from perigee_lab.results.run import Run

PLAIN_PAYLOAD_SHARE = 1448 / 1500
# Values of `cc` for flows without TCP.
WITHOUT_TCP = ("ping", "cbr", "voice")
PROGRAMS = "programs"
"""Class of flows that carry programs' packets, and `cc` of those that nothing else is known of."""
PERCENTILES = {"rtt_median_ms": 0.5, "rtt_p95_ms": 0.95, "rtt_p99_ms": 0.99}

Row = dict[str, Any]
Samples = list[tuple[int, int]]
"""RTTs in microseconds with their counts, ascending."""


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index; NaN without flows."""
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else math.nan


def flow_rows(run: Run, cc: str | None = None) -> list[Row]:
    """A row of metrics per flow, or per flow of this congestion control.

    `cc` may also be "ping", "cbr" or "voice".
    """
    with consistent(run.folder):
        flows = [t for t in _flows(run) if cc is None or t["cc"] == cc]
        samples = _samples_by_flow(run) if flows else {}
        last = last_arrivals(run, [t for t in flows if _is_of_programs(t)])
        return [_flow_row(run, t, samples.get(t["flow"], []), last) for t in flows]


def _flows(run: Run) -> list[Row]:
    """Totals of each flow, with its window and application data."""
    totals: list[Row] = run.table("flow_totals").to_pylist()
    windows = {w["flow"]: w for w in _windows(run)}
    used, groups = applications(run), _groups(run, len(totals))
    return [
        {
            **t,
            **_window(run, t),
            **_known(windows.get(t["flow"], _no_window(t))),
            **used.get(t["flow"], {}),
            "group": groups.get(t["flow"]),
        }
        for t in totals
    ]


def _groups(run: Run, flows: int) -> dict[int, Group]:
    """The group of each flow that has one."""
    return {
        flow: group
        for group in run.manifest.groups
        for first, last in group.flows
        for flow in range(first, min(last + 1, flows))
    }


def _known(window: Row) -> Row:
    """A row of windows with an unknown capacity set to 0, so that shares of it are NaN."""
    return {**window, "capacity_bits": window["capacity_bits"] or 0}


def _windows(run: Run) -> list[Row]:
    # Records of earlier versions do not have this table.
    return run.table("windows").to_pylist() if "windows" in run.manifest.tables else []


def _no_window(t: Row) -> Row:
    known = {"class": t["cc"] if t["cc"] in WITHOUT_TCP else "bulk", "payload_bytes": t["window_bytes"]}
    return {**known, **dict.fromkeys(("there_ns", "capacity_bits", "datagrams"), 0)}


def _window(run: Run, t: Row) -> Row:
    """Start and end of a flow's goodput window, ns.

    The start is rounded to the sampling instants.
    """
    m = run.manifest
    warmup = m.warmup_ns - m.warmup_ns % max(1, m.sample_ns)
    # A proxy forwards its buffer after the application has stopped.
    carries_on = any(t["flow"] in split.legs[1:] for split in m.splits)
    stop = m.simulated_ns if carries_on else t["stop_ns"]
    end = stop if t["completed_ns"] is None else t["completed_ns"]
    begin = end if t["started_ns"] is None else max(t["started_ns"], warmup)
    return {"begin_ns": min(begin, end), "end_ns": end}


def _goodput(t: Row) -> float:
    """Bit/s over the flow's window."""
    return _ratio(t["payload_bytes"] * 8e9, t["end_ns"] - t["begin_ns"])


def _flow_row(run: Run, t: Row, samples: Samples, last: Mapping[int, int]) -> Row:
    over_tcp = t["cc"] not in WITHOUT_TCP
    row = {
        "cc": run.cc,
        "seed": run.seed,
        "flow": t["name"],
        "flow_cc": t["cc"],
        "class": t["class"],
        **({} if t["group"] is None else {"group": t["group"].name}),
        "goodput_mbps": _goodput(t) / 1e6,
        **_capacity_columns(t, t["payload_share"], of_achievable=over_tcp),
        **_rtt_columns(t, samples),
        **_loss_columns([t]),
        "path_changes": _number(t["path_changes"]),
        "unreachable": _number(t["unreachable"]),
        "no_path_s": _no_path_s(t),
        "completed_s": math.nan if t["completed_ns"] is None else t["completed_ns"] / 1e9,
    }
    if _is_of_programs(t):
        row |= active_columns([t], last)
    if t["cc"] == "ping":
        row["lost_probes"] = _lost(t)
    if t["cc"] in ("cbr", "voice"):
        row |= _datagram_columns([t])
    return row | flow_columns(t)


def run_summary(run: Run) -> Row:
    """The metrics of a run: over its TCP flows, or over its pings if there are no others.

    Flows of background groups are left out.
    """
    with consistent(run.folder):
        return _run_summary(run)


def _run_summary(run: Run) -> Row:
    flows = [t for t in _flows(run) if t["group"] is None or not t["group"].background]
    together = next(
        (_known(w) for w in _windows(run) if w["flow"] is None), {"there_ns": 0, "capacity_bits": 0, "payload_bytes": 0}
    )
    events = _event_counts(run)
    programs = [t for t in flows if _is_of_programs(t)]
    return {
        **active_columns(programs, last_arrivals(run, programs)),
        **_summary_of(run, flows, together),
        "handovers": events.get("handover", 0),
        "outages": events.get("outage-begin", 0),
        "queue_mean_ms": queue_delay_ms(run),
    }


def group_rows(run: Run) -> list[Row]:
    """A row of metrics per group, over its flows; without capacity, which groups share."""
    if not run.manifest.groups:
        return []
    with consistent(run.folder):
        return _group_rows(run)


def _group_rows(run: Run) -> list[Row]:
    flows = _flows(run)
    unknown = {"there_ns": 0, "capacity_bits": 0, "payload_bytes": 0}
    rows = []
    for group in run.manifest.groups:
        row = _summary_of(run, [t for t in flows if t["group"] is group], unknown)
        rows.append({**row, "group": group.name, "background": group.background})
    return rows


def _summary_of(run: Run, flows: list[Row], together: Row) -> Row:
    """The metrics of some flows; `together` is the window of those over TCP."""
    over_tcp = [t for t in flows if t["cc"] not in WITHOUT_TCP]
    inner = inner_legs(run)
    arriving = [t for t in over_tcp if t["flow"] not in inner]
    chosen = over_tcp or [t for t in flows if t["cc"] == "ping"]
    return {
        "cc": run.cc,
        "seed": run.seed,
        "flow": "all",
        "flow_cc": run.cc,
        "goodput_mbps": _ratio(sum(t["payload_bytes"] for t in arriving) * 8e9, _span_ns(arriving)) / 1e6,
        **_capacity_columns(together, max((t["payload_share"] for t in arriving), default=math.nan)),
        **_pooled_rtts(run, chosen),
        **_loss_columns(over_tcp),
        **_jain_columns(run, [t for t in arriving if t["class"] == "bulk"]),
        "path_changes": _per_pair(flows, "path_changes"),
        "unreachable": _per_pair(flows, "unreachable"),
        "no_path_s": max((_no_path_s(t) for t in chosen), default=math.nan),
        **completion_columns(run, flows),
        **run_columns([flow_columns(t) for t in flows]),
        **_cbr_columns([t for t in flows if t["cc"] == "cbr"]),
    }


def inner_legs(run: Run) -> set[int]:
    """Flows with data forwarded by another leg."""
    return {leg for split in run.manifest.splits for leg in split.legs[:-1]}


# ---- goodput and capacity ------------------------------------------------------------------------


def _capacity_columns(t: Row, payload_share: float, *, of_achievable: bool = True) -> Row:
    payload = t["payload_bytes"] * 8 if of_achievable else math.nan
    return {
        "share": _ratio(payload, t["capacity_bits"] * payload_share),
        "net_share": _ratio(payload, t["capacity_bits"] * PLAIN_PAYLOAD_SHARE),
        "payload_share": payload_share,
        "capacity_mbps": _ratio(t["capacity_bits"] * 1e3, t["there_ns"]),
        "there_s": t["there_ns"] / 1e9,
    }


def _span_ns(flows: list[Row]) -> int:
    """Time from the start of the first window to the end of the last one.

    Sums over different windows could exceed a link's capacity.
    """
    here = [t for t in flows if t["started_ns"] is not None]
    return max(t["end_ns"] for t in here) - min(t["begin_ns"] for t in here) if here else 0


def _jain_columns(run: Run, bulk: list[Row]) -> Row:
    """Jain's index over the time in which all flows were active."""
    import numpy as np

    begin, end = max((t["begin_ns"] for t in bulk), default=0), min((t["end_ns"] for t in bulk), default=0)
    if len(bulk) < 2 or end <= begin:
        return {"jain": math.nan, "jain_s": math.nan}
    names = ("t_ns", "flow", "delivered_bytes")
    table = run.columns("flows", names)
    t_ns, flow, delivered = (table.column(c).to_numpy() for c in names)
    here = (t_ns >= begin) & (t_ns <= end) & np.isin(flow, [t["flow"] for t in bulk])
    seen, counts = np.unique(t_ns[here], return_counts=True)
    whole = seen[counts == len(bulk)]
    if len(whole) < 2:
        return {"jain": math.nan, "jain_s": math.nan}
    at = {int(k): here & (t_ns == k) for k in (whole[0], whole[-1])}
    before, after = (dict(zip(flow[m].tolist(), delivered[m].tolist(), strict=True)) for m in at.values())
    values = [float(after[t["flow"]] - before[t["flow"]]) for t in bulk]
    return {"jain": jain(values), "jain_s": float(whole[-1] - whole[0]) / 1e9}


def _no_path_s(t: Row) -> float:
    """Time without a route during a flow's lifetime."""
    if t["started_ns"] is None or t["routed_ns"] is None:
        return math.nan
    end = t["stop_ns"] if t["completed_ns"] is None else t["completed_ns"]
    gap_ns: int = end - t["started_ns"] - t["routed_ns"]
    return max(0, gap_ns) / 1e9


# ---- RTTs ----------------------------------------------------------------------------------------


def _pooled_rtts(run: Run, flows: list[Row]) -> Row:
    """RTTs of a run.

    They are pooled over all samples only if the scenario gives all flows the same base RTT.
    """
    over = rtt_over(run, [(t["from"], t["to"]) for t in flows]) if flows else None
    by_flow = _samples_by_flow(run)
    each = [_rtt_columns(t, by_flow.get(t["flow"], [])) for t in flows if t["rtt_samples"] > 0]
    if over == FLOWS and each:
        names = [name for name in each[0] if name != "rtt_samples"]
        means = {name: _mean(row[name] for row in each) for name in names}
        known = {"base_rtt_ms": math.nan, "rtt_samples": sum(t["rtt_samples"] for t in flows)}
        return {"rtt_over": over, **means, **known}
    samples = _merged(by_flow.get(t["flow"], []) for t in flows)
    return {"rtt_over": over, **_rtt_columns(_summed(flows), samples)}


def _summed(flows: list[Row]) -> Row:
    names = ("rtt_samples", "rtt_sum_ns", "inflation_samples", "inflation_sum", "base_rtt_sum_ns")
    smallest = [t["base_rtt_min_ns"] for t in flows if t["base_rtt_min_ns"] is not None]
    return {**{name: sum(t[name] for t in flows) for name in names}, "base_rtt_min_ns": min(smallest, default=None)}


def _rtt_columns(t: Row, samples: Samples) -> Row:
    mean_ms = _ratio(t["rtt_sum_ns"] / 1e6, t["rtt_samples"])
    smallest = t["base_rtt_min_ns"]
    return {
        "rtt_mean_ms": mean_ms,
        **{name: percentile_ms(samples, q) for name, q in PERCENTILES.items()},
        "base_rtt_ms": _ratio(t["base_rtt_sum_ns"] / 1e6, t["inflation_samples"]),
        "inflation": _ratio(t["inflation_sum"], t["inflation_samples"]),
        "inflation_min": math.nan if smallest is None else _ratio(mean_ms, smallest / 1e6),
        "rtt_samples": t["rtt_samples"],
    }


def percentile_ms(samples: Sequence[tuple[int, int]], q: float) -> float:
    """The smallest sample that at least a share `q` of all does not exceed, in milliseconds.

    `samples` are (microseconds, count), ascending.
    """
    total = sum(count for _, count in samples)
    rank = max(1, math.ceil(q * total))
    seen = 0
    for rtt_us, count in samples:
        seen += count
        if seen >= rank:
            return rtt_us / 1e3
    return math.nan


def _samples_by_flow(run: Run) -> dict[int, Samples]:
    table = run.table("rtt")
    flows: dict[int, Samples] = {}
    columns = [table.column(c).to_pylist() for c in ("flow", "rtt_us", "count")]
    for flow, rtt_us, count in zip(*columns, strict=True):
        flows.setdefault(flow, []).append((rtt_us, count))
    return flows


def _merged(parts: Iterable[Samples]) -> Samples:
    merged: dict[int, int] = {}
    for part in parts:
        for rtt_us, count in part:
            merged[rtt_us] = merged.get(rtt_us, 0) + count
    return sorted(merged.items())


# ---- losses, events, queues ----------------------------------------------------------------------


def _loss_columns(flows: list[Row]) -> Row:
    # Retransmissions of programs are not tracked.
    flows = [t for t in flows if not _is_of_programs(t)]
    sent, again, timeouts = (sum(_number(t[c]) for t in flows) for c in ("data_sent", "retransmits", "timeouts"))
    known = bool(flows) and any(t["cc"] not in WITHOUT_TCP for t in flows)
    return {
        "retransmits": again if known else math.nan,
        "retransmit_pct": 100 * _ratio(again, sent) if known else math.nan,
        "timeouts": timeouts if known else math.nan,
    }


def _is_of_programs(t: Row) -> bool:
    """Whether a flow carries packets of programs."""
    return PROGRAMS in (t["class"], t["cc"])


def _lost(t: Row) -> float:
    """Packets of a flow dropped by the network; unanswered ones of measured pings. NaN: unknown."""
    if t["cc"] == "ping" and t["drops_queue"] is None and t["delivered_packets"] is not None:
        return float(t["data_sent"] - t["delivered_packets"])
    return sum(_number(t[cause]) for cause in DROPS)


def _number(value: int | None) -> float:
    return math.nan if value is None else value


def _per_pair(flows: list[Row], column: str) -> float:
    """Sum over pairs of nodes, since flows of one pair share its route.

    NaN if the record lacks the column.
    """
    if any(t[column] is None for t in flows):
        return math.nan
    pairs: dict[tuple[str, str], int] = {
        (t["from"], t["to"]): t[column] for t in sorted(flows, key=lambda t: t[column])
    }
    return sum(pairs.values())


def _event_counts(run: Run) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind in run.table("events").column("kind").to_pylist():
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def queue_delay_ms(run: Run) -> float:
    """Mean waiting time in the busiest queue, in milliseconds; NaN if none was ever used."""
    waits = [w for w in run.table("link_totals").column("mean_wait_ns").to_pylist() if w is not None]
    return max(waits, default=math.nan) / 1e6


# ---- constant rates ------------------------------------------------------------------------------


def _cbr_columns(flows: list[Row]) -> Row:
    if not flows:
        return {}
    goodput = math.fsum(g for t in flows if not math.isnan(g := _goodput(t)))
    return {"cbr_flows": len(flows), "cbr_goodput_mbps": goodput / 1e6, **_datagram_columns(flows)}


def _datagram_columns(flows: list[Row]) -> Row:
    lost = sum(_lost(t) for t in flows)
    over = sum(t["sent_packets"] - _number(t["under_way_packets"]) for t in flows)
    arrived = sum(t["datagrams"] for t in flows)
    known = [t for t in flows if t["datagrams"]]
    gaps = sum(t["datagrams"] - 1 for t in known)
    return {
        "loss_pct": 100 * _ratio(lost, over),
        "delay_mean_ms": _ratio(sum(t["delay_sum_ns"] for t in known) / 1e6, arrived),
        "delay_max_ms": max((t["delay_max_ns"] for t in known), default=math.nan) / 1e6,
        "jitter_ms": _ratio(sum(t["jitter_sum_ns"] for t in known) / 1e6, gaps),
    }


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else math.nan


# Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def mean_and_interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and half the width of its 95 % t-interval (NaN for a single value)."""
    known = [v for v in values if not math.isnan(v)]
    if not known:
        return math.nan, math.nan
    mean = math.fsum(known) / len(known)
    if len(known) < 2:
        return mean, math.nan
    variance = math.fsum((v - mean) ** 2 for v in known) / (len(known) - 1)
    freedom = len(known) - 1
    # Beyond the table: first-order Cornish-Fisher expansion, exact to 0.001 there.
    t = _T95[freedom - 1] if freedom <= len(_T95) else 1.95996 * (1 + (1.95996**2 + 1) / (4 * freedom))
    return mean, t * math.sqrt(variance / len(known))
