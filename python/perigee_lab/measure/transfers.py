# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Start-up and steady state of transfers, measured or simulated, as defined by Claypool et al.

(2021).

Steady state is the last half of a transfer's bytes. Start-up is its first 50 MB (or half of a
shorter transfer), over the time since the start of the connection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import Estimate, Test, mean, t_test
from perigee_lab.results.metrics import WITHOUT_TCP

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.results.run import Run

    Floats = npt.NDArray[np.float64]

SIZES_MB = (1, 5, 10, 30, 50)
START_UP_BYTES = 50e6
FEWEST = 3
"""Minimum number of transfers of a kind for a comparison."""
LEAST_ROWS = 4
KERNELS = {"newreno": ("reno",)}
"""Names of schemes in Linux, and therefore in campaigns, that differ from ours."""
METRICS = {
    "steady_mbps": "steady throughput, Mbit/s",
    "startup_mbps": "start-up throughput, Mbit/s",
    "steady_rtt_ms": "RTT in steady state, ms",
    "steady_retransmits": "retransmissions in steady state, share of packets",
    **{f"t_{mb}mb_s": f"time to {mb} MB, s" for mb in SIZES_MB},
}
"""Metrics of a transfer, in the order of comparison."""
TESTED = ("steady_mbps", "startup_mbps")


@dataclass(frozen=True)
class Kind:
    """Transfers with equal parameters and scheme."""

    name: str
    cc: str
    values: dict[str, list[float]]

    def of(self, metric: str) -> Estimate:
        """Mean of a metric with its 95 % interval."""
        return mean(self.values[metric])


@dataclass(frozen=True)
class Compared:
    """Comparison of two schemes in one metric."""

    name: str
    metric: str
    a: str
    b: str
    means: tuple[float, float]
    student: Test
    welch: Test


def kinds(runs: Sequence[Run]) -> list[Kind]:
    """All transfers of these runs, grouped by name and scheme."""
    found: dict[tuple[str, str], Kind] = {}
    for run in runs:
        for flow in run.table("flow_totals").to_pylist():
            if flow["cc"] in WITHOUT_TCP:
                continue
            values = of_flow(run, flow)
            if values is None:
                continue
            name = " ".join(filter(None, (_without_scheme(flow["name"], flow["cc"]), _which(run, flow["cc"]))))
            kind = found.setdefault((name, flow["cc"]), Kind(name, flow["cc"], {m: [] for m in METRICS}))
            for metric, value in values.items():
                kind.values[metric].append(value)
    return list(found.values())


def _which(run: Run, cc: str) -> str:
    """Suffix of a measured record's scheme by which its transfers are distinguished."""
    if run.manifest.backend != "measure":
        return ""
    return run.cc.removeprefix(cc).removeprefix("-up").removeprefix("-")


def _without_scheme(name: str, cc: str) -> str:
    """Name of a flow without its scheme."""
    return " ".join(w for w in name.split() if w not in (cc, *KERNELS.get(cc, ()))) or name


def of_flow(run: Run, flow: dict[str, Any]) -> dict[str, float] | None:
    """The metrics of a transfer, NaN if it was too short; None if it has hardly any samples."""
    import pyarrow.compute as pc

    rows = run.columns("flows", ["t_ns", "flow", "delivered_bytes", "rtt_ns", "sent_packets", "retransmits"])
    own = rows.filter(pc.equal(rows["flow"], flow["flow"]))
    if own.num_rows < LEAST_ROWS or flow["started_ns"] is None:
        return None
    frame = own.to_pandas()
    t = (np.asarray(frame["t_ns"], dtype=float) - flow["started_ns"]) / 1e9
    total = np.asarray(frame["delivered_bytes"], dtype=float)
    t, total = np.concatenate(([0.0], t)), np.concatenate(([0.0], total))
    whole = float(total[-1])
    if whole <= 0:
        return None
    end = float(t[int(np.argmax(total >= whole))])
    if flow["completed_ns"] is not None:
        end = (flow["completed_ns"] - flow["started_ns"]) / 1e9
    half = when(t, total, whole / 2)
    first = min(START_UP_BYTES, whole / 2)
    steady = np.concatenate(([False], t[1:] >= half))
    found = {
        "steady_mbps": whole / 2 * 8e-6 / max(1e-9, end - half),
        "startup_mbps": first * 8e-6 / max(1e-9, when(t, total, first)),
        "steady_rtt_ms": _mean(np.asarray(frame["rtt_ns"], dtype=float)[steady[1:]]) / 1e6,
        "steady_retransmits": _share(frame, steady[1:]),
    }
    return found | {f"t_{mb}mb_s": when(t, total, mb * 1e6) for mb in SIZES_MB}


def when(t: Floats, total: Floats, amount: float) -> float:
    """Time at which this amount had arrived, interpolated linearly; NaN if never."""
    k = int(np.argmax(total >= amount))
    if total[k] < amount:
        return math.nan
    if k == 0 or total[k] == total[k - 1]:
        return float(t[k])
    return float(t[k - 1] + (amount - total[k - 1]) / (total[k] - total[k - 1]) * (t[k] - t[k - 1]))


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _share(frame: Any, steady: npt.NDArray[np.bool_]) -> float:
    """Fraction of retransmissions among packets sent."""
    sent, again = (np.asarray(frame[c], dtype=float)[steady] for c in ("sent_packets", "retransmits"))
    fine = ~np.isnan(sent) & ~np.isnan(again)
    if fine.sum() < 2:
        return math.nan
    sent, again = sent[fine], again[fine]
    return float((again[-1] - again[0]) / max(1.0, sent[-1] - sent[0]))


def compared(found: Sequence[Kind], metrics: Sequence[str] = TESTED) -> list[Compared]:
    """Student's and Welch's two-sided tests of equal means, for all pairs of schemes by name."""
    out = []
    for i, a in enumerate(found):
        for b in found[i + 1 :]:
            if a.name != b.name:
                continue
            for metric in metrics:
                x, y = (np.asarray(k.values[metric], dtype=float) for k in (a, b))
                x, y = x[~np.isnan(x)], y[~np.isnan(y)]
                if min(len(x), len(y)) < FEWEST or (np.ptp(x) == 0 and np.ptp(y) == 0):
                    continue
                means = float(x.mean()), float(y.mean())
                out.append(Compared(a.name, metric, a.cc, b.cc, means, t_test(x, y), t_test(x, y, welch=True)))
    return out
