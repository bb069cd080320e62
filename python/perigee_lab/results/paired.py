# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Paired differences between two schemes over shared seeds.

Runs of one seed have the same losses, handovers and traffic under every scheme, so that common
random effects cancel in the difference. Intervals of two means include them, and may overlap
although the difference is significant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.common.files import RecordError
from perigee_lab.results.columns import BY_NAME
from perigee_lab.results.run import find_records
from perigee_lab.results.summary import experiment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from perigee_lab.results.run import Run

FEWEST = 2
WORDS = ("cc", "flow", "flow_cc", "seed", "rtt_over")
LEVEL = 0.95


@dataclass(frozen=True)
class Paired:
    """The difference `a` - `b` of a column between two schemes, over the seeds that both have."""

    metric: str
    a: str
    b: str
    differences: Mapping[int, float]
    """Difference by seed."""
    mean: float
    low: float
    high: float
    """95 % interval of the mean by Student's t; NaN if all differences are equal, without random
    effects."""
    p: float
    """Two-sided p-value of Student's paired t-test; NaN like the interval."""

    def __str__(self) -> str:
        unit = BY_NAME[self.metric].unit
        head = f"{self.a} - {self.b}, {self.metric}: {self.mean:.4g}{f' {unit}' if unit else ''}"
        n = f"{len(self.differences)} seeds"
        if math.isnan(self.p):
            return f"{head} in each of {n}: nothing random has a part"
        return f"{head} (95 % interval {self.low:.4g} to {self.high:.4g}, p = {self.p:.2g}, {n})"


def paired(runs: str | Path | Iterable[Run], a: str, b: str, metric: str = "goodput_mbps") -> Paired:
    """The difference of a column between two schemes over their shared seeds.

    Args:
        runs: The folder of a comparison, or its runs.
        a: A scheme.
        b: The scheme to subtract.
        metric: A column of rows of runs.

    Raises:
        RecordError: the column or a scheme is missing, or they share fewer than two seeds.
    """
    if a == b:
        raise RecordError(f"both schemes are {a}: name two")
    if metric not in BY_NAME or "run" not in BY_NAME[metric].rows or metric in WORDS:
        raise RecordError(f"there is no column {metric!r} of numbers in rows of runs: `perigee columns` lists them")
    found = find_records(runs) if isinstance(runs, (str, Path)) else list(runs)
    if len({tuple(experiment(r)) for r in found}) > 1:
        raise RecordError(
            "the runs are of several scenarios: their seeds do not share what is random; give those of one"
        )
    values = {cc: _by_seed(found, cc, metric) for cc in (a, b)}
    return differences(values[a], values[b], metric, a, b)


def differences(
    left: Mapping[int, float], right: Mapping[int, float], metric: str, a: str = "a", b: str = "b"
) -> Paired:
    """The difference of values by seed. Raises RecordError."""
    shared = {seed: left[seed] - right[seed] for seed in sorted(left.keys() & right.keys())}
    if len(shared) < FEWEST:
        counts = f"{a} has values of {len(left)} seeds, {b} of {len(right)}, both of {len(shared)}"
        raise RecordError(f"{metric}: {counts}; at least {FEWEST} are needed: `--runs 10` makes ten")
    mean = math.fsum(shared.values()) / len(shared)
    if len(set(shared.values())) == 1:
        return Paired(metric, a, b, shared, mean, math.nan, math.nan, math.nan)
    from scipy import stats

    test = stats.ttest_1samp(list(shared.values()), 0)
    low, high = test.confidence_interval(LEVEL)
    return Paired(metric, a, b, shared, mean, float(low), float(high), float(test.pvalue))


def _by_seed(runs: Iterable[Run], cc: str, metric: str) -> dict[int, float]:
    mine = [r for r in runs if r.cc == cc]
    if not mine:
        there = ", ".join(dict.fromkeys(r.cc for r in runs)) or "none"
        raise RecordError(f"there is no run of the scheme {cc!r}; there are runs of {there}")
    values = {r.seed: float(r.summary.get(metric, math.nan)) for r in mine}
    return {seed: v for seed, v in values.items() if not math.isnan(v)}
