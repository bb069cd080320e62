# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Shares of flows: goodput, starvation, bands over seeds, and completion times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perigee_lab.results.metrics import flow_rows, inner_legs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import numpy.typing as npt

    from perigee_lab.results.run import Run

    Floats = npt.NDArray[np.float64]

# A flow starves below this fraction of the average of the flows over its bottleneck.
STARVES = 0.25
# Maximum number of bars per scheme; with more flows, those with the least goodput and the
# distribution are shown.
MAX_BARS = 12
# Maximum number of points of a band, of flows with bands, and of runs per band.
BAND_POINTS, BAND_FLOWS, BAND_RUNS = 300, 8, 40
COMPLETION_POINTS = 300


def shares(runs: Sequence[Run], labels: dict[str, str]) -> list[dict[str, Any]]:
    """For each scheme, a bar per bulk flow (mean over seeds); empty if no two flows compete."""
    of: dict[str, list[Run]] = {}
    for run in runs:
        of.setdefault(run.cc, []).append(run)
    found = [_of_scheme(cc, labels.get(cc, cc), own) for cc, own in of.items()]
    return found if found and all(s["flows"] > 1 for s in found) else []


def _of_scheme(cc: str, label: str, runs: list[Run]) -> dict[str, Any]:
    import numpy as np

    first = runs[0].table("flow_totals").select(["flow", "bottleneck"]).to_pylist()
    inner, bulk = inner_legs(runs[0]), []
    rows = [flow_rows(run) for run in runs]
    for i, row in enumerate(rows[0]):
        if row["class"] == "bulk" and row["flow_cc"] not in ("ping", "cbr", "voice") and first[i]["flow"] not in inner:
            bulk.append(i)
    each = {i: [r[i]["goodput_mbps"] for r in rows if len(r) == len(rows[0])] for i in bulk}
    means = {i: _mean(values) for i, values in each.items()}
    fair = _fair(means, {i: first[i]["bottleneck"] for i in bulk})
    bars = [_bar(rows[0][i], means[i], fair[i]) for i in bulk if not math.isnan(means[i])]
    values = np.array([b["mbps"] for b in bars]) if bars else np.zeros(1)
    quantiles = [round(float(q), 3) for q in np.quantile(values, [0, 0.1, 0.5, 0.9, 1])]
    starving = sum(b["starves"] for b in bars)
    some = bars if len(bars) <= MAX_BARS else sorted(bars, key=lambda b: b["mbps"])[:MAX_BARS]
    return {"cc": cc, "label": label, "flows": len(bars), "bars": some, "quantiles": quantiles, "starving": starving}


def _bar(row: dict[str, Any], mbps: float, fair: float | None) -> dict[str, Any]:
    of_fair = None if fair is None else mbps / fair
    return {
        "name": row["flow"],
        "cc": row["flow_cc"],
        "mbps": round(mbps, 3),
        "of_fair": None if of_fair is None else round(of_fair, 3),
        "starves": of_fair is not None and of_fair < STARVES,
    }


def _mean(values: Sequence[float]) -> float:
    known = [v for v in values if not math.isnan(v)]
    return sum(known) / len(known) if known else math.nan


def _fair(means: dict[int, float], bottlenecks: dict[int, Any]) -> dict[int, float | None]:
    """Average of the flows over the same bottleneck; None if a flow does not share it."""
    groups: dict[Any, list[float]] = {}
    for i, port in bottlenecks.items():
        if port is not None and not math.isnan(means[i]):
            groups.setdefault(port, []).append(means[i])
    averages = {port: sum(v) / len(v) for port, v in groups.items() if len(v) > 1 and sum(v) > 0}
    return {i: averages.get(port) for i, port in bottlenecks.items()}


def bands(runs: Sequence[Run], flows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Minimum and maximum of goodput and RTT over the seeds, by scheme and flow.

    Empty for one seed.
    """
    of: dict[str, list[Run]] = {}
    for run in runs:
        of.setdefault(run.cc, []).append(run)
    numbers = [f["flow"] for f in flows[:BAND_FLOWS]]
    return {cc: _bands(own[:BAND_RUNS], numbers) for cc, own in of.items() if len(own) > 1}


def _bands(runs: Sequence[Run], flows: Sequence[int]) -> dict[str, Any]:
    frames = [run.columns("flows", ["t_ns", "flow", "goodput_bps", "rtt_ns"]).to_pandas() for run in runs]
    found = {}
    for flow in flows:
        own = [f[f["flow"] == flow] for f in frames]
        rows = min(len(f) for f in own)
        if not rows:
            continue
        found[str(flow)] = {
            "t": _thin([own[0]["t_ns"].to_numpy(dtype=float)[:rows] / 1e9])[0],
            "goodput": _thin([f["goodput_bps"].to_numpy(dtype=float)[:rows] / 1e6 for f in own]),
            "rtt": _thin([f["rtt_ns"].to_numpy(dtype=float)[:rows] / 1e6 for f in own]),
        }
    return found


def _thin(curves: Sequence[Floats]) -> list[list[float | None]]:
    """Minimum and maximum of curves after averaging neighbours; a single curve is both."""
    import warnings

    import numpy as np

    step = max(1, math.ceil(len(curves[0]) / BAND_POINTS))
    full = len(curves[0]) // step * step
    with warnings.catch_warnings():
        # There may be times without a value in any seed.
        warnings.simplefilter("ignore", RuntimeWarning)
        thin = np.stack([np.nanmean(c[:full].reshape(-1, step), axis=1) for c in curves])
        return [plain(np.nanmin(thin, axis=0)), plain(np.nanmax(thin, axis=0))]


def completions(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Completion times in ms by scheme.

    They are evenly spaced quantiles over all objects and transfers of all seeds.
    """
    import numpy as np

    times: dict[str, list[Floats]] = {}
    for run in runs:
        if "completions" not in run.manifest.tables:
            continue
        table = run.table("completions")
        asked, done = (table.column(c).to_numpy().astype(float) for c in ("asked_ns", "done_ns"))
        took = (done - asked) / 1e6
        times.setdefault(run.cc, []).append(took[np.isfinite(took)])
    found = {}
    for cc, parts in times.items():
        all_ms = np.sort(np.concatenate(parts))
        if len(all_ms):
            p = np.linspace(0, 1, min(COMPLETION_POINTS, len(all_ms)) + 1)[1:]
            at = np.minimum(np.ceil(p * len(all_ms)).astype(int) - 1, len(all_ms) - 1)
            found[cc] = {"p": plain(p), "ms": plain(all_ms[at]), "n": len(all_ms)}
    return found


def plain(values: Iterable[float]) -> list[float | None]:
    """Rounds to six digits, enough for a screen; NaN becomes null."""
    return [None if math.isnan(v) else float(f"{v:.6g}") for v in values]
