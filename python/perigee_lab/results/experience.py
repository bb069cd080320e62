# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Application metrics: times of pages, objects, transfers and first bytes; videos; calls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perigee_lab.results.emodel import mean_opinion_score

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perigee_lab.results.run import Run

Row = dict[str, Any]
TIMES = {"_median_s": 0.5, "_p95_s": 0.95, "_p99_s": 0.99}
# Kind of a completion by class of the flow.
KINDS = {"request": "object", "web": "page", "video": "segment", "transfer": "transfer"}
FIRST = ("first_byte", "first_10kb", "first_100kb", "first_1mb", "first_10mb")
DROPS = ("drops_queue", "drops_random", "drops_outage", "drops_no_route")
PLAIN = ("transfer", "object")


def applications(run: Run) -> dict[int, Row]:
    """Rows of the table `applications` by flow; empty for records without this table."""
    if "applications" not in run.manifest.tables:
        return {}
    return {row["flow"]: row for row in run.table("applications").to_pylist()}


# ---- completion times ----------------------------------------------------------------------------


def completion_columns(run: Run, flows: Sequence[Row] = ()) -> Row:
    """Number, mean and percentiles of completion times (s) by kind of object.

    Also the mean time to their first bytes. `flows` has the classes of flows and the first bytes of
    transfers. Completions of other flows are left out.
    """
    if "completions" not in run.manifest.tables:
        return {}
    known = {t["flow"]: t for t in flows}
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in PLAIN}
    table = run.table("completions")
    columns = [table.column(c).to_pylist() for c in ("flow", "asked_ns", "first_ns", "done_ns")]
    for flow, asked, first, done in zip(*columns, strict=True):
        if asked < run.manifest.warmup_ns:
            continue
        if flows and flow not in known:
            continue
        t = known.get(flow, {})
        # First data is recorded only for requested objects; transfers have no request.
        kind = KINDS.get(t.get("class", ""), "transfer" if first is None else "object")
        begun = t.get("first_byte_ns") if first is None else first
        found.setdefault(kind, []).append((_seconds(asked, done), _seconds(asked, begun)))
    return {name: value for kind, times in found.items() for name, value in _times(kind, times).items()}


def _times(kind: str, times: Sequence[tuple[float, float]]) -> Row:
    ascending = sorted(done for done, _ in times)
    first = [first for _, first in times if not math.isnan(first)]
    row = {f"{kind}s": len(ascending), f"{kind}_mean_s": _ratio(math.fsum(ascending), len(ascending))}
    row |= {kind + name: quantile(ascending, q) for name, q in TIMES.items()}
    return {**row, f"{kind}_first_mean_s": _ratio(math.fsum(first), len(first))}


def quantile(ascending: Sequence[float], q: float) -> float:
    """The smallest value that at least a fraction `q` of all does not exceed; NaN if empty."""
    return ascending[max(1, math.ceil(q * len(ascending))) - 1] if ascending else math.nan


# ---- per flow ------------------------------------------------------------------------------------


def flow_columns(t: Row) -> Row:
    """Columns of a flow: times of its first bytes, and metrics of a video or call."""
    row = {f"{name}_s": _seconds(t["started_ns"], t.get(f"{name}_ns")) for name in FIRST}
    if t.get("stalls") is not None:
        row |= _video(t)
    if t.get("codec"):
        row |= _call(t)
    return row


def _video(t: Row) -> Row:
    stalled_s = t["stalled_ns"] / 1e9
    return {
        "start_up_s": _seconds(t["started_ns"], t["playing_ns"]),
        "stalls": t["stalls"],
        "stalled_s": stalled_s,
        "stalled_pct": 100 * _ratio(stalled_s, stalled_s + t["played_ns"] / 1e9),
        "video_mbps": _ratio(t["media_bits"] * 1e3, t["media_ns"]),
        "switches": t["switches"],
    }


def _call(t: Row) -> Row:
    arrived = t["played_packets"] + t["late_packets"]
    lost = _ratio(sum(t[cause] for cause in DROPS), t["sent_packets"] - t["under_way_packets"])
    late = _ratio(t["late_packets"], arrived)
    mouth_ear_ms = _ratio(t["mouth_ear_sum_ns"] / 1e6, t["played_packets"])
    not_played_pct = 100 * (1 - (1 - lost) * (1 - late))
    return {
        "late_pct": 100 * late,
        "mouth_ear_ms": mouth_ear_ms,
        "mos": mean_opinion_score(t["codec"], mouth_ear_ms, not_played_pct),
    }


# ---- per run -------------------------------------------------------------------------------------


def run_columns(rows: Sequence[Row]) -> Row:
    """Columns of a run over all videos and all calls, from their `flow_columns`."""
    videos = [r for r in rows if "stalls" in r]
    calls = [r for r in rows if "mos" in r]
    found: Row = {}
    if videos:
        sums = {name: sum(r[name] for r in videos) for name in ("stalls", "stalled_s", "switches")}
        means = {name: mean(r[name] for r in videos) for name in ("start_up_s", "stalled_pct", "video_mbps")}
        found |= {"videos": len(videos), **means, **sums}
    if calls:
        means = {name: mean(r[name] for r in calls) for name in ("late_pct", "mouth_ear_ms", "mos")}
        least = min((r["mos"] for r in calls if not math.isnan(r["mos"])), default=math.nan)
        found |= {"calls": len(calls), **means, "mos_min": least}
    return found


def mean(values: Iterable[float]) -> float:
    """Mean of the values that are not NaN."""
    known = [v for v in values if not math.isnan(v)]
    return _ratio(math.fsum(known), len(known))


def _seconds(begin_ns: int | None, end_ns: int | None) -> float:
    return math.nan if begin_ns is None or end_ns is None else (end_ns - begin_ns) / 1e9


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else math.nan
