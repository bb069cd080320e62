# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tables mean: the metrics of a run, computed from its record alone.

Definitions (the same for every backend):

* **goodput**: payload handed in order to the receiving application, over the time from the later of the flow's start
  and the warm-up to the earlier of its stop, its completion and the end.
  For several flows: all payload over the time from the first flow's window to the end of the last one's.
* **capacity**: time average of the rate of the path's slowest port, while a path exists.
* **achievable** goodput: capacity times the scheme's own payload share (payload bytes of a full packet over its bytes
  on the slowest port: headers, telemetry and framing count); `net_share` divides by capacity x 1448/1500 instead.
  Flows that share a slowest port share what is achievable.
* **RTT**: the transport's samples, all of them; percentiles are exact to a microsecond.
* **delay inflation**: mean over samples of RTT over the base RTT *when the packet was sent*; `inflation_min` divides
  the mean RTT by the smallest base RTT of the run.
* **completion**: time from the request for an object (of a transfer without requests: from the beginning of its
  connection) until its last byte arrived; only those that were complete before the end, begun after the warm-up.
* **Jain**: (sum of goodputs)^2 / (n x sum of squared goodputs) over the bulk flows.
* **lost probes** of a ping: probes and answers that were dropped, whatever the cause.
* **split flows** (`via`): goodput, capacity and Jain are of the last legs, what arrives; RTT and losses of all legs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perigee.results.record import Run

PLAIN_PAYLOAD_SHARE = 1448 / 1500
COMPLETION_PERCENTILES = {"completion_median_s": 0.5, "completion_p95_s": 0.95, "completion_p99_s": 0.99}
# What flows without a congestion control have in its place.
WITHOUT_TCP = ("ping", "cbr")
DROPS = ("drops_queue", "drops_random", "drops_outage", "drops_no_route")
PERCENTILES = {"rtt_median_ms": 0.5, "rtt_p95_ms": 0.95, "rtt_p99_ms": 0.99}

Row = dict[str, Any]


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index; NaN without flows."""
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else math.nan


def flow_rows(run: Run) -> list[Row]:
    """One row of metrics per flow."""
    totals: list[Row] = run.table("flow_totals").to_pylist()
    samples = _samples_by_flow(run)
    return [_flow_row(run, t, samples.get(t["flow"], [])) for t in totals]


def _flow_row(run: Run, t: Row, samples: list[tuple[int, int]]) -> Row:
    goodput = _ratio(t["window_bytes"] * 8e9, t["window_ns"])
    achievable = t["capacity_bps"] * t["payload_share"]
    return {
        "cc": run.cc,
        "seed": run.seed,
        "flow": t["name"],
        "flow_cc": t["cc"],
        "goodput_mbps": goodput / 1e6,
        "share": _ratio(goodput, achievable),
        "net_share": _ratio(goodput, t["capacity_bps"] * PLAIN_PAYLOAD_SHARE),
        "payload_share": t["payload_share"],
        "capacity_mbps": t["capacity_bps"] / 1e6,
        **_rtt_columns([t], samples),
        **_loss_columns([t]),
        "jain": math.nan,
        "path_changes": t["path_changes"],
        "unreachable": t["unreachable"],
        "no_path_s": _no_path_s(t),
        "completed_s": math.nan if t["completed_ns"] is None else t["completed_ns"] / 1e9,
        **({"lost_probes": sum(t[cause] for cause in DROPS)} if t["cc"] == "ping" else {}),
    }


def run_summary(run: Run) -> Row:
    """The metrics of a run as a whole: over its bulk flows, or over its pings if there are no others."""
    totals: list[Row] = run.table("flow_totals").to_pylist()
    bulk = [t for t in totals if t["cc"] not in WITHOUT_TCP]
    chosen = bulk or totals
    inner = inner_legs(run)
    arriving = [t for t in bulk if t["flow"] not in inner]
    together = _ratio(sum(t["window_bytes"] for t in arriving) * 8e9, _span_ns(run, arriving))
    goodputs = [_ratio(t["window_bytes"] * 8e9, t["window_ns"]) for t in arriving]
    by_flow = _samples_by_flow(run)
    samples = _merged(by_flow.get(t["flow"], []) for t in chosen)
    achievable, capacity = _achievable(arriving)
    events = _event_counts(run)
    return {
        "cc": run.cc,
        "seed": run.seed,
        "flow": "all",
        "flow_cc": run.cc,
        "goodput_mbps": together / 1e6,
        "share": _ratio(together, achievable),
        "net_share": _ratio(together, capacity * PLAIN_PAYLOAD_SHARE),
        "payload_share": _ratio(achievable, capacity),
        "capacity_mbps": capacity / 1e6,
        **_rtt_columns(chosen, samples),
        **_loss_columns(bulk),
        "jain": jain(goodputs) if len(goodputs) > 1 else math.nan,
        "path_changes": _per_pair(totals, "path_changes"),
        "unreachable": _per_pair(totals, "unreachable"),
        "handovers": events.get("handover", 0),
        "outages": events.get("outage-begin", 0),
        "no_path_s": max((_no_path_s(t) for t in chosen), default=math.nan),
        "queue_mean_ms": queue_delay_ms(run),
        **completion_columns(run),
    }


def inner_legs(run: Run) -> set[int]:
    """Flows whose data another leg carries on."""
    return {leg for split in run.manifest.splits for leg in split.legs[:-1]}


def completion_columns(run: Run) -> Row:
    """Number of objects and transfers that were complete, with mean and percentiles of their times in seconds."""
    if "completions" not in run.manifest.tables:
        return {}
    warmup = run.manifest.warmup_ns
    table = run.table("completions")
    times = zip(table.column("asked_ns").to_pylist(), table.column("done_ns").to_pylist(), strict=True)
    found = sorted((done - asked) / 1e9 for asked, done in times if asked >= warmup)
    return {
        "completions": len(found),
        "completion_mean_s": _ratio(math.fsum(found), len(found)),
        **{name: _quantile(found, q) for name, q in COMPLETION_PERCENTILES.items()},
    }


def _quantile(ascending: Sequence[float], q: float) -> float:
    """The smallest value that at least a share `q` of all does not exceed; NaN of nothing."""
    return ascending[max(1, math.ceil(q * len(ascending))) - 1] if ascending else math.nan


def _no_path_s(t: Row) -> float:
    """Time of a flow's life during which there was no route."""
    if t["started_ns"] is None:
        return math.nan
    end = t["stop_ns"] if t["completed_ns"] is None else t["completed_ns"]
    gap_ns: int = end - t["started_ns"] - t["routed_ns"]
    return max(0, gap_ns) / 1e9


def _span_ns(run: Run, bulk: list[Row]) -> int:
    """From the first flow's window to the end of the last one's: sums over different windows would exceed a link."""
    warmup = run.manifest.warmup_ns
    begins = [max(t["started_ns"], warmup) for t in bulk if t["started_ns"] is not None]
    ends = [t["stop_ns"] if t["completed_ns"] is None else t["completed_ns"] for t in bulk]
    return max(0, max(ends) - min(begins)) if begins else 0


def _achievable(bulk: list[Row]) -> tuple[float, float]:
    """What all flows together could carry: each slowest port is counted once."""
    ports: dict[int, tuple[float, float]] = {}
    for t in bulk:
        here = (t["capacity_bps"] * t["payload_share"], t["capacity_bps"])
        ports[t["bottleneck"]] = max(ports.get(t["bottleneck"], (0.0, 0.0)), here)
    return sum(a for a, _ in ports.values()), sum(c for _, c in ports.values())


def _rtt_columns(totals: list[Row], samples: list[tuple[int, int]]) -> Row:
    n = sum(t["rtt_samples"] for t in totals)
    mean_ms = _ratio(sum(t["rtt_sum_ns"] for t in totals) / 1e6, n)
    inflated = sum(t["inflation_samples"] for t in totals)
    smallest = [t["base_rtt_min_ns"] for t in totals if t["base_rtt_min_ns"] is not None]
    return {
        "rtt_mean_ms": mean_ms,
        **{name: percentile_ms(samples, q) for name, q in PERCENTILES.items()},
        "base_rtt_ms": _ratio(sum(t["base_rtt_sum_ns"] for t in totals) / 1e6, inflated),
        "inflation": _ratio(sum(t["inflation_sum"] for t in totals), inflated),
        "inflation_min": _ratio(mean_ms, min(smallest) / 1e6) if smallest else math.nan,
        "rtt_samples": n,
    }


def _loss_columns(totals: list[Row]) -> Row:
    sent = sum(t["data_sent"] for t in totals)
    again = sum(t["retransmits"] for t in totals)
    return {
        "retransmits": again,
        "retransmit_pct": 100 * _ratio(again, sent),
        "timeouts": sum(t["timeouts"] for t in totals),
    }


def percentile_ms(samples: Sequence[tuple[int, int]], q: float) -> float:
    """The smallest sample that at least a share `q` of all samples does not exceed, in milliseconds.

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


def _samples_by_flow(run: Run) -> dict[int, list[tuple[int, int]]]:
    table = run.table("rtt")
    flows: dict[int, list[tuple[int, int]]] = {}
    columns = [table.column(c).to_pylist() for c in ("flow", "rtt_us", "count")]
    for flow, rtt_us, count in zip(*columns, strict=True):
        flows.setdefault(flow, []).append((rtt_us, count))
    return flows


def _merged(parts: Iterable[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    merged: dict[int, int] = {}
    for part in parts:
        for rtt_us, count in part:
            merged[rtt_us] = merged.get(rtt_us, 0) + count
    return sorted(merged.items())


def _per_pair(totals: list[Row], column: str) -> int:
    """Sum over pairs of nodes: flows of one pair share its route."""
    pairs = {(t["from"], t["to"]): t[column] for t in sorted(totals, key=lambda t: t[column])}
    return sum(pairs.values())


def _event_counts(run: Run) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind in run.table("events").column("kind").to_pylist():
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def queue_delay_ms(run: Run) -> float:
    """Mean time that packets waited in the busiest queue, in milliseconds; NaN if none ever did."""
    waits = [w for w in run.table("link_totals").column("mean_wait_ns").to_pylist() if w is not None]
    return max(waits, default=math.nan) / 1e6


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
    # Beyond the table: the expansion of Cornish and Fisher to first order is exact to 0.001 there.
    t = _T95[freedom - 1] if freedom <= len(_T95) else 1.95996 * (1 + (1.95996**2 + 1) / (4 * freedom))
    return mean, t * math.sqrt(variance / len(known))
