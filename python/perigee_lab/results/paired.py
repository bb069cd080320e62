# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Paired differences between two schemes over shared seeds.

Runs with the same seed have the same losses, handovers and traffic under every scheme, so that
common random effects cancel in the difference. The intervals of two means include these effects,
and may overlap although the difference is significant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perigee_lab.common.files import RecordError
from perigee_lab.results.columns import BY_NAME, MORE, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perigee_lab.results.run import Run

FEWEST = 2
WORDS = ("cc", "flow", "flow_cc", "group", "seed", "rtt_over")
LEVEL = 0.95
ACCURACY = 0.01
"""Half width of the interval, relative to the mean of `b`, for which `more_seeds` is estimated, and within which
schemes do not differ."""
MOST_SEEDS = 100_000
EQUAL, UNDECIDED = "no difference", "not decided"


@dataclass(frozen=True)
class Paired:
    """The difference `a` - `b` of a column between two schemes, over the seeds of both."""

    metric: str
    a: str
    b: str
    differences: Mapping[int, float]
    """Difference by seed."""
    mean: float
    low: float
    high: float
    """95 % interval of the mean from Student's t; NaN if all differences are equal."""
    p: float
    """Two-sided p-value of Student's paired t-test; NaN if the interval is."""
    a_mean: float = math.nan
    b_mean: float = math.nan
    """Means of both schemes over the shared seeds."""
    wilcoxon_p: float = math.nan
    """Two-sided p-value of Wilcoxon's signed-rank test; NaN if the interval is."""
    effect: float = math.nan
    """Cohen's d of paired samples: mean over standard deviation of the differences; NaN if the
    interval is."""
    more_seeds: int | None = None
    """Additional seeds for an interval of ±1 % of the mean of `b`; None if it cannot be estimated."""
    corrected_p: float = math.nan
    """`p` after Holm's correction for all tests of a comparison; `p` itself for a single test."""

    @property
    def ahead(self) -> str | None:
        """The better scheme at a level of 5 %; None without a test, a difference or a direction."""
        better = BY_NAME[self.metric].better
        if not better or math.isnan(self.p) or self.corrected_p >= 1 - LEVEL:
            return None
        return self.a if (self.mean > 0) == (better == MORE) else self.b

    @property
    def verdict(self) -> str:
        """The better scheme, or why none is named.

        "no difference" requires equal values, or an interval within ±1 % of the mean of `b`.
        """
        if math.isnan(self.p):
            return EQUAL if self.mean == 0 else "no test"
        margin = ACCURACY * abs(self.b_mean)
        if self.ahead is not None:
            return self.ahead
        if self.corrected_p < 1 - LEVEL:
            return "differ"
        within = -margin <= self.low and self.high <= margin
        return EQUAL if within else f"{UNDECIDED} ({seeds_in_words(len(self.differences))})"

    def __str__(self) -> str:
        unit = BY_NAME[self.metric].unit
        head = f"{self.a} - {self.b}, {self.metric}: {self.mean:.4g}{f' {unit}' if unit else ''}"
        n = seeds_in_words(len(self.differences))
        if math.isnan(self.p):
            return f"{head} in each of {n}: without variation there is no interval"
        p = f"p = {self.p:.2g}"
        if self.corrected_p != self.p:
            p += f", corrected {self.corrected_p:.2g}"
        return f"{head} (95 % interval {self.low:.4g} to {self.high:.4g}, {p}, {n})"


def differences(
    left: Mapping[int, float], right: Mapping[int, float], metric: str, a: str = "a", b: str = "b"
) -> Paired:
    """The difference of values by seed. Raises RecordError."""
    shared = {seed: left[seed] - right[seed] for seed in sorted(left.keys() & right.keys())}
    if len(shared) < FEWEST:
        if not left and not right:
            raise RecordError(f"{metric}: the runs of {a} and {b} have no value of it")
        counts = f"{a} has values of {seeds_in_words(len(left))}, {b} of {len(right)}, both of {len(shared)}"
        raise RecordError(f"{metric}: {counts}; at least {FEWEST} are needed: `--runs 10` makes ten")
    of_a, of_b, mean = (
        math.fsum(values) / len(shared)
        for values in ((left[s] for s in shared), (right[s] for s in shared), shared.values())
    )
    if len(set(shared.values())) == 1:
        return Paired(metric, a, b, shared, mean, math.nan, math.nan, math.nan, of_a, of_b)
    from scipy import stats

    steps = list(shared.values())
    test = stats.ttest_1samp(steps, 0)
    low, high = test.confidence_interval(LEVEL)
    deviation = math.sqrt(math.fsum((d - mean) ** 2 for d in steps) / (len(steps) - 1))
    return Paired(
        metric,
        a,
        b,
        shared,
        mean,
        float(low),
        float(high),
        float(test.pvalue),
        of_a,
        of_b,
        float(stats.wilcoxon(steps).pvalue),
        mean / deviation,
        _more_seeds(len(steps), deviation, ACCURACY * abs(of_b)),
        float(test.pvalue),
    )


def _more_seeds(have: int, deviation: float, half_width: float) -> int | None:
    """Additional samples for an interval of `half_width`, given the standard deviation so far."""
    from scipy import stats

    def narrow(n: int) -> bool:
        return float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * deviation <= half_width * math.sqrt(n)

    if narrow(have):
        return 0
    if not narrow(MOST_SEEDS):
        return None
    wide, enough = have, MOST_SEEDS
    while enough - wide > 1:
        middle = (wide + enough) // 2
        wide, enough = (wide, middle) if narrow(middle) else (middle, enough)
    return enough - have


def scheme_of(runs: Iterable[Run], cc: str) -> str:
    """The name in records of a scheme; one of Python may be called as in its scenario, `python:CLASS` or CLASS.

    Raises RecordError for a scheme without runs, and for a class that several recorded names have.
    """
    there = list(dict.fromkeys(r.cc for r in runs))
    if cc in there:
        return cc
    found = [name for name in there if _class(name) and _class(name) == (_class(cc) or cc)]
    if len(found) == 1:
        return found[0]
    if found:
        raise RecordError(f"{cc!r} may be {' or '.join(found)}: name one of them")
    raise RecordError(f"there is no run of the scheme {cc!r}; there are runs of {', '.join(there) or 'none'}")


def _class(cc: str) -> str:
    """The class of `python:CLASS`, FILE.py:CLASS or MODULE:CLASS; empty for other schemes."""
    return cc.rpartition(":")[2] if ":" in cc else ""


def by_seed(runs: Iterable[Run], cc: str, metric: str, group: str | None = None) -> dict[int, float]:
    """Values of a column by seed, over the runs of a scheme that have one, or over a group of their flows.

    Raises RecordError.
    """
    runs = list(runs)
    name = scheme_of(runs, cc)
    mine = [r for r in runs if r.cc == name]
    rows = {r.seed: r.summary if group is None else r.group(group) for r in mine}
    values = {seed: float(row.get(metric, math.nan)) for seed, row in rows.items()}
    return {seed: v for seed, v in values.items() if not math.isnan(v)}


def corrected(tests: Sequence[Paired]) -> list[Paired]:
    """The tests with `corrected_p` by Holm's step-down method (Scand. J. Statist. 6, 1979)."""
    order = sorted((i for i, t in enumerate(tests) if not math.isnan(t.p)), key=lambda i: tests[i].p)
    found, largest = list(tests), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * tests[i].p))
        found[i] = replace(tests[i], corrected_p=largest)
    return found


def seeds_in_words(n: int) -> str:
    """A number of seeds: 1 seed, 2 seeds."""
    return f"{n} seed" if n == 1 else f"{n} seeds"


def heading(metric: str) -> str:
    """Heading of a metric with its unit."""
    column = BY_NAME[metric]
    if column.heading:
        return one_line(column.heading)
    return metric
