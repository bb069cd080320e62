# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Verdicts on expectations: passed, failed, undecided, not observable.

Over several seeds the 95 % interval of the mean (Student's t) decides: within the bounds the
expectation is passed, outside of them failed, across one of them undecided. A single run, and
runs without chance, are decided by their value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from perigee_lab.judge import measures
from perigee_lab.results.metrics import mean_and_interval
from perigee_lab.runs.programs import SCHEME as PROGRAMS

if TYPE_CHECKING:
    from perigee_lab.judge.expectations import Expectation
    from perigee_lab.results.run import Run

MOST_SEEDS = 10_000


class Verdict(Enum):
    """Outcome of an expectation."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    NOT_OBSERVABLE = "not observable"


@dataclass(frozen=True)
class Finding:
    """The verdict on an expectation for one scheme, or for an order of schemes."""

    expectation: Expectation
    cc: str
    verdict: Verdict
    value: float = math.nan
    half: float = math.nan
    """Half of the 95 % interval; NaN for a single value."""
    runs: int = 0
    detail: str = ""
    cell: str = ""
    """Values of the swept keys; empty for a single scenario."""

    def shown(self) -> str:
        """Value with its interval."""
        if self.verdict is Verdict.NOT_OBSERVABLE:
            return "-"
        text = self.expectation.shown(self.value)
        return text if math.isnan(self.half) or self.half == 0 else f"{text} ± {self.expectation.shown(self.half)}"

    def as_data(self) -> dict[str, Any]:
        """For JSON; numbers in SI units, infinities and unknown values as null."""
        return {
            "title": self.expectation.title,
            "metric": self.expectation.metric,
            "cc": self.cc,
            "verdict": self.verdict.value,
            "value": _finite(self.value),
            "half_95": _finite(self.half),
            "at_least": _finite(self.expectation.low),
            "at_most": _finite(self.expectation.high),
            "runs": self.runs,
            "detail": self.detail,
            "source": self.expectation.source,
            "place": self.expectation.place,
            **({"cell": self.cell} if self.cell else {}),
        }


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def evaluate(expectations: Sequence[Expectation], runs: Sequence[Run], cell: str = "") -> list[Finding]:
    """The findings of all expectations on the runs of a comparison."""
    schemes = list(dict.fromkeys(r.cc for r in runs))
    found = []
    for e in expectations:
        if e.keys.get("order"):
            found += _ordered(e, runs, cell)
        if any(name in e.keys for name in ("at_least", "at_most", "near")):
            found += [_bounded(e, cc, [r for r in runs if r.cc == cc], cell) for cc in schemes if e.holds_for(cc)]
    return found


def _bounded(e: Expectation, cc: str, runs: Sequence[Run], cell: str) -> Finding:
    values = [measures.value(r, e) for r in runs]
    known = [v for v in values if v is not None]
    if len(known) < len(values) or not known:
        return Finding(e, cc, Verdict.NOT_OBSERVABLE, runs=len(runs), detail=_why_unknown(e, runs), cell=cell)
    mean, half = _centre(known)
    inside = [e.low <= v <= e.high for v in known]
    if e.keys.get("seeds") == "each" or len(set(known)) == 1 or not math.isfinite(mean):
        missed = [r.seed for r, ok in zip(runs, inside, strict=True) if not ok]
        some = missed and len(missed) < len(runs)
        detail = f"not with seed {', '.join(map(str, missed[:5]))}" if some else ""
        return Finding(e, cc, Verdict.FAILED if missed else Verdict.PASSED, mean, half, len(known), detail, cell)
    verdict, detail = _of_interval(mean, half, e.low, e.high, known)
    return Finding(e, cc, verdict, mean, half, len(known), detail, cell)


def _centre(values: Sequence[float]) -> tuple[float, float]:
    if any(math.isinf(v) for v in values):
        return next(v for v in values if math.isinf(v)), math.nan
    return mean_and_interval(values)


def _of_interval(mean: float, half: float, low: float, high: float, values: Sequence[float]) -> tuple[Verdict, str]:
    if low <= mean - half and mean + half <= high:
        return Verdict.PASSED, ""
    if mean + half < low or mean - half > high:
        return Verdict.FAILED, ""
    distance = min(abs(mean - bound) for bound in (low, high) if math.isfinite(bound))
    further = seeds_needed(values, distance) - len(values)
    if further + len(values) >= MOST_SEEDS:
        return Verdict.UNDECIDED, "the mean is at the bound: more seeds would not decide it"
    return Verdict.UNDECIDED, f"about {max(1, further)} further seeds would decide it"


def seeds_needed(values: Sequence[float], distance: float) -> int:
    """Number of seeds at which half of the interval is below a distance, for the same spread."""
    from scipy import stats

    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    low, high = 2, MOST_SEEDS
    while low < high:
        n = (low + high) // 2
        if float(stats.t.ppf(0.975, n - 1)) * deviation / math.sqrt(n) < distance:
            high = n
        else:
            low = n + 1
    return low


def _ordered(e: Expectation, runs: Sequence[Run], cell: str) -> list[Finding]:
    """A finding for each adjacent pair of schemes, from differences over shared seeds."""
    by_scheme: dict[str, dict[int, float | None]] = {}
    for r in runs:
        by_scheme.setdefault(r.cc.removeprefix("python:"), {})[r.seed] = measures.value(r, e)
    names = [cc.removeprefix("python:") for cc in e.keys["order"]]
    found = []
    for a, b in itertools.pairwise(names):
        left, right = by_scheme.get(a, {}), by_scheme.get(b, {})
        pairs = [(left[s], right[s]) for s in sorted(left.keys() & right.keys())]
        label = f"{a} ≥ {b}"
        if not pairs or any(x is None or y is None for x, y in pairs):
            found.append(Finding(e, label, Verdict.NOT_OBSERVABLE, detail="a value is unknown", cell=cell))
            continue
        differences = [_difference(x, y) for x, y in pairs if x is not None and y is not None]
        mean, half = _centre(differences)
        if e.keys.get("seeds") == "each" or len(set(differences)) == 1 or not math.isfinite(mean):
            verdict, detail = (Verdict.PASSED if min(differences) >= 0 else Verdict.FAILED), ""
        else:
            verdict, detail = _of_interval(mean, half, 0.0, math.inf, differences)
        found.append(Finding(e, label, verdict, mean, half, len(differences), detail or "difference", cell))
    return found


def _difference(x: float, y: float) -> float:
    return 0.0 if x == y else x - y


def _why_unknown(e: Expectation, runs: Sequence[Run]) -> str:
    if e.metric in measures.DELIVERED and any(r.cc == PROGRAMS for r in runs):
        return "no qlog of the sender, and no lines `received BYTES` of the receiver, report what was delivered"
    if e.metric == "variable":
        return f"no samples of {e.keys['variable']}" + (f" in state {e.keys['state']}" if "state" in e.keys else "")
    if e.is_white_box and not any(r.rows("events") and _modes(r) for r in runs):
        return "the scheme exposes no states"
    if "state" in e.keys:
        return f"the scheme has no state {e.keys['state']!r}"
    return "the record has no value of it in the window"


def _modes(run: Run) -> set[str]:
    return {m for m in run.columns("flows", ["mode"]).column("mode").to_pylist() if m}


def worst(findings: Sequence[Finding]) -> Verdict:
    """The verdict on a set: failed, then undecided, not observable, passed."""
    order = (Verdict.FAILED, Verdict.UNDECIDED, Verdict.NOT_OBSERVABLE)
    return next((v for v in order if any(f.verdict is v for f in findings)), Verdict.PASSED)
