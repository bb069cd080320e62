# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Statistics of the studies: their own definitions next to sound ones; intervals, tests by scipy.

* **goodput ratio, per second**: mean over all seconds of min(g1, g2) / max(g1, g2); seconds in
  which both are zero are left out. The studies plot this. It is biased low for noisy flows: two
  that swap 60/40 each second give 0.67.
* **goodput ratio of means**: min / max of the two mean goodputs of the window.
* **Jain**: (sum of x)^2 / (n x sum of x^2).
* **Cohen's d** with the pooled deviation sqrt((s1^2 + s2^2) / 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Values = Sequence[float] | npt.NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 100_000
FEWEST_RUNS = 3
"""For two values, Student's interval is 12.7 standard errors wide: not informative."""


class Sample(float):
    """A mean or median with its runs in order, so that two schemes can be compared run by run."""

    runs: tuple[float, ...]
    of_median: bool

    def __new__(cls, value: float, runs: Sequence[float], *, of_median: bool = False) -> Sample:
        """The values of the runs, in an order shared with other samples."""
        found = super().__new__(cls, value)
        found.runs, found.of_median = tuple(runs), of_median
        return found


def difference(a: float, b: float) -> Estimate | None:
    """Difference of `a` and `b` with its interval; None unless both cover several runs.

    Equal numbers of runs are compared in pairs (the mean of their differences by Student's t, the
    median by bootstrap), since runs of one seed share their random events. Else Welch's interval.
    """
    if not isinstance(a, Sample) or not isinstance(b, Sample) or min(len(a.runs), len(b.runs)) < FEWEST_RUNS:
        return None
    if len(a.runs) == len(b.runs):
        pairs = np.subtract(a.runs, b.runs)
        return median(pairs) if a.of_median else mean(pairs)
    from scipy import stats

    low, high = stats.ttest_ind(a.runs, b.runs, equal_var=False).confidence_interval(LEVEL)
    return Estimate(float(a) - float(b), float(low), float(high), min(len(a.runs), len(b.runs)))


@dataclass(frozen=True)
class Estimate:
    """A mean (or median) of `n` values with its 95 % interval."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.4g}"

    def rounded(self, places: int) -> Estimate:
        """The same, rounded to `places` decimals; never minus zero."""
        value, low, high = (round(float(x), places) + 0.0 for x in (self.value, self.low, self.high))
        return Estimate(value, low, high, self.n)

    @property
    def interval(self) -> str:
        """The interval as text; empty for a single value."""
        return "" if math.isnan(self.low) else f"{self.low:.4g} to {self.high:.4g}"


def known(values: Values) -> npt.NDArray[np.float64]:
    """The values that are numbers."""
    array = np.asarray(values, dtype=float).ravel()
    numbers: npt.NDArray[np.float64] = array[~np.isnan(array)]
    return numbers


def mean(values: Values) -> Estimate:
    """Mean with Student's t interval over independent runs."""
    from scipy import stats

    x = known(values)
    if len(x) == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    centre = float(x.mean())
    if len(x) == 1:
        return Estimate(centre, math.nan, math.nan, 1)
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)))
    return Estimate(Sample(centre, x.tolist()), centre - half, centre + half, len(x))


def median(values: Values) -> Estimate:
    """Median with a bootstrap interval (percentiles, fixed seed)."""
    x = known(values)
    if len(x) < 3:
        return Estimate(float(np.median(x)) if len(x) else math.nan, math.nan, math.nan, len(x))
    centre = Sample(float(np.median(x)), x.tolist(), of_median=True)
    if float(np.ptp(x)) == 0:
        return Estimate(centre, float(x[0]), float(x[0]), len(x))
    low, high = _median_interval(tuple(x.tolist()))
    return Estimate(centre, low, high, len(x))


@lru_cache(maxsize=4096)
def _median_interval(values: tuple[float, ...]) -> tuple[float, float]:
    """Bootstrap interval of a median; kept, since one table's checks take the same medians often."""
    from scipy import stats

    found = stats.bootstrap(
        (np.array(values),),
        np.median,
        confidence_level=LEVEL,
        n_resamples=RESAMPLES,
        # Bounds memory for samples of thousands.
        batch=2000,
        method="percentile",
        rng=np.random.default_rng(1),
    )
    low, high = found.confidence_interval
    return float(low), float(high)


def jain(values: Values) -> float:
    """Jain's fairness index; NaN without traffic."""
    x = known(values)
    squares = float((x**2).sum())
    return float(x.sum()) ** 2 / (len(x) * squares) if squares > 0 else math.nan


def ratios(g1: Values, g2: Values) -> npt.NDArray[np.float64]:
    """The smaller over the larger of two series per sample, except samples with zeros in both."""
    a, b = np.nan_to_num(np.asarray(g1, dtype=float)), np.nan_to_num(np.asarray(g2, dtype=float))
    high, low = np.maximum(a, b), np.minimum(a, b)
    busy = high > 0
    found: npt.NDArray[np.float64] = low[busy] / high[busy]
    return found


def ratio_of_means(g1: Values, g2: Values) -> float:
    """The smaller over the larger of the means of two series."""
    a, b = float(np.nanmean(np.asarray(g1))), float(np.nanmean(np.asarray(g2)))
    return min(a, b) / max(a, b) if max(a, b) > 0 else math.nan


@dataclass(frozen=True)
class Test:
    """A two-sided test of equal means."""

    t: float
    freedom: float
    p: float
    d: float
    """Cohen's d."""


def cohens_d(m1: float, s1: float, m2: float, s2: float) -> float:
    """Difference of two means over sqrt((s1^2 + s2^2) / 2)."""
    pooled = math.sqrt((s1**2 + s2**2) / 2)
    return abs(m1 - m2) / pooled if pooled > 0 else math.nan


def t_test(a: Values, b: Values, *, welch: bool = False) -> Test:
    """Student's test (equal variances), or Welch's."""
    x, y = known(a), known(b)
    return t_test_from_moments(
        float(x.mean()), float(x.std(ddof=1)), len(x), float(y.mean()), float(y.std(ddof=1)), len(y), welch=welch
    )


def t_test_from_moments(m1: float, s1: float, n1: int, m2: float, s2: float, n2: int, *, welch: bool = False) -> Test:
    """The same from means, deviations and numbers of values."""
    from scipy import stats

    found = stats.ttest_ind_from_stats(m1, s1, n1, m2, s2, n2, equal_var=not welch)
    v1, v2 = s1**2 / n1, s2**2 / n2
    freedom = (v1 + v2) ** 2 / (v1**2 / (n1 - 1) + v2**2 / (n2 - 1)) if welch else n1 + n2 - 2
    return Test(abs(float(found.statistic)), float(freedom), float(found.pvalue), cohens_d(m1, s1, m2, s2))
