# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Verdicts on claims, all computed from numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from perigee_lab.common.statistics import FEWEST_RUNS, Estimate, Sample, difference, known, mean
from perigee_studies import modes
from perigee_studies.kinds import Kind, Read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

REPRODUCED, DIFFERS, TIE, MISSING = "reproduced", "not reproduced", "tie", "no data"
ANY = "any scheme"
"""The claim also holds with the results of other schemes (`perigee_studies.exchanged`)."""
MODES = "two modes"
"""The runs have two modes on different sides of a bound, so that their mean is not meaningful (`modes`)."""
VERDICT_WORDS = (REPRODUCED, DIFFERS, TIE, MODES, ANY, MISSING)
"""All verdicts, in the order of tables."""


@dataclass(frozen=True)
class Verdict:
    """A claim with its values and verdict: a row of the table of verdicts."""

    key: str
    """Name of the claim within its experiment, to which explanations refer."""
    claim: str
    source: str
    """Figure, table or section of the publication."""
    published: str
    """Published value with unit."""
    ours: str
    """Our value with unit."""
    interval: str
    """95 % interval of our value."""
    tolerance: str
    verdict: str
    """One of VERDICT_WORDS."""
    kind: Kind
    read: Read = Read.WORDS
    """Where the published value is from."""
    cause: str = ""
    """Name of the cause of a miss (`perigee_studies.causes`)."""

    def __post_init__(self) -> None:
        """Rejects a published number without the figure or table that it is from. Raises ValueError."""
        if self.kind is Kind.NUMBER and self.read is Read.WORDS:
            raise ValueError(
                f"claim {self.key!r} is a {Kind.NUMBER.value}, but read from {Read.WORDS.value}: "
                "use Read.PRINTED or Read.FIGURE, or another kind"
            )


def near(
    key: str,
    claim: str,
    source: str,
    published: float,
    ours: Estimate,
    tolerance: float,
    unit: str = "",
    *,
    printed: str = "",
    kind: Kind = Kind.NUMBER,
    read: Read | None = None,
) -> Verdict:
    """Claim that our value is within `tolerance` of the published number.

    The interval decides (`by_interval`). `printed` is the number as printed, if `published` corrects it.
    """
    verdict = by_interval(ours, published - tolerance, published + tolerance)
    words = f"{published:g}{_u(unit)}{f' ({printed})' if printed else ''}"
    row = _row(key, claim, source, words, ours, f"± {tolerance:g}{_u(unit)}", verdict, unit, kind)
    return row if read is None else replace(row, read=read)


def within(
    key: str,
    claim: str,
    source: str,
    published: str,
    ours: Estimate,
    low: float = -math.inf,
    high: float = math.inf,
    unit: str = "",
    *,
    kind: Kind = Kind.STATEMENT,
) -> Verdict:
    """Claim that our value lies between two bounds; the interval decides (`by_interval`)."""
    if math.isinf(low):
        words = f"at most {high:g}"
    elif math.isinf(high):
        words = f"at least {low:g}"
    else:
        words = f"{low:g} to {high:g}"
    return _row(key, claim, source, published, ours, words + _u(unit), by_interval(ours, low, high), unit, kind)


def bound(
    key: str,
    claim: str,
    source: str,
    expected: str,
    ours: Estimate,
    low: float = -math.inf,
    high: float = math.inf,
    unit: str = "",
    *,
    places: int | None = None,
    kind: Kind = Kind.UNPUBLISHED,
) -> Verdict:
    """Claim on a bound that was not published.

    `places` is the number of relevant decimals; further digits are not shown.
    """
    plain = within(key, claim, source, expected, ours, low, high, unit, kind=kind)
    if plain.verdict == MISSING or places is None:
        return plain
    shown = ours.rounded(places)
    return replace(plain, ours=f"{shown}{_u(unit)}", interval=shown.interval)


def by_interval(ours: Estimate, low: float, high: float) -> str:
    """Verdict on bounds: reproduced if the interval of our mean is inside, a miss if outside, otherwise a tie.

    Extremes, and values of fewer than three runs, have no meaningful interval and are compared
    directly. Runs with two modes are compared one by one: the verdict is MODES unless all of them
    are inside, or all on the same side outside.
    """
    if (parts := two_modes(ours)) is not None:
        runs = [x for part in parts for x in part]
        if all(low <= x <= high for x in runs):
            return REPRODUCED
        return DIFFERS if max(runs) < low or min(runs) > high else MODES
    if ours.n >= FEWEST_RUNS and not math.isnan(ours.low):
        if low <= ours.low and ours.high <= high:
            return REPRODUCED
        return DIFFERS if ours.high < low or ours.low > high else TIE
    return REPRODUCED if low <= ours.value <= high else DIFFERS


def two_modes(ours: Estimate) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The runs of each mode; None if they have one mode, or `ours` is not a mean of runs."""
    return modes.split(ours.value.runs) if isinstance(ours.value, Sample) and not ours.value.of_median else None


def order(
    key: str,
    claim: str,
    source: str,
    values: Sequence[tuple[str, float]],
    *,
    slack: float = 0.0,
    unit: str = "",
    kind: Kind = Kind.STATEMENT,
) -> Verdict:
    """Claim that each value is at least the next one, minus `slack`.

    Means and medians of several runs are tested (`difference` of
    `perigee_lab.common.statistics`): an order is reproduced if the interval of each difference is
    above zero, not reproduced if one interval is below zero, and otherwise a tie. Other values are
    compared directly.
    """
    numbers = [v for _, v in values]
    ours = ", ".join(f"{name} {'no data' if math.isnan(v) else f'{v:.4g}'}" for name, v in values) + _u(unit)
    published = " ≥ ".join(name for name, _ in values)
    tolerance = f"each at least the next{f' less {slack:g}' if slack else ''}"
    if any(math.isnan(v) for v in numbers) or len(numbers) < 2:
        return Verdict(key, claim, source, published, ours, "", tolerance, MISSING, kind, _read(kind))
    found = [(difference(a, b), float(a) - float(b)) for a, b in pairwise(numbers)]
    verdict = min((_of_gap(gap, plain, slack) for gap, plain in found), key=_WORST.index)
    tested = [gap for gap, _ in found if gap is not None]
    least = min(tested, key=lambda gap: gap.low, default=None)
    interval = "" if least is None else f"smallest difference {least} ({least.interval})"
    return Verdict(key, claim, source, published, ours, interval, tolerance, verdict, kind, _read(kind))


# The worst pair of neighbours in an order determines the verdict.
_WORST = (DIFFERS, TIE, REPRODUCED)


def _of_gap(gap: Estimate | None, plain: float, slack: float) -> str:
    """Verdict on two neighbours, from the interval of their difference `gap` or, if None, the difference `plain`."""
    if gap is None:
        return REPRODUCED if plain >= -slack else DIFFERS
    # Identical runs have an interval of zero width, which may lie on the bound.
    if gap.low > -slack or (gap.low == gap.high == -slack and slack > 0):
        return REPRODUCED
    return DIFFERS if gap.high < -slack else TIE


def count(
    key: str,
    claim: str,
    source: str,
    published: str,
    holds: Mapping[str, bool],
    at_least: int | None = None,
    *,
    kind: Kind = Kind.STATEMENT,
) -> Verdict:
    """Claim that a statement holds for all, or for `at_least`, of several cases."""
    if not holds:
        return Verdict(key, claim, source, published, "", "", "", MISSING, kind, _read(kind))
    need = len(holds) if at_least is None else at_least
    yes = sum(holds.values())
    failing = [name for name, ok in holds.items() if not ok]
    ours = f"{yes} of {len(holds)}" + (f"; not: {', '.join(failing[:6])}{' …' * (len(failing) > 6)}" if failing else "")
    verdict = REPRODUCED if yes >= need else DIFFERS
    tolerance = f"{need} of {len(holds)}"
    return Verdict(key, claim, source, published, ours, "", tolerance, verdict, kind, _read(kind))


def apart(a: float, b: float, exact: float) -> bool:
    """Whether two published values differ by more than the precision with which they are known.

    `exact` is the precision of each, relative to the value. Closer values have no order.
    """
    return abs(a - b) > exact * (abs(a) + abs(b))


def value(number: float) -> Estimate:
    """An estimate without an interval."""
    return Estimate(float(number), math.nan, math.nan, 1)


def largest(values: Sequence[float]) -> Estimate:
    """The largest of several values, without an interval; no data if there are none."""
    x = known(values)
    return value(float(x.max())) if len(x) else mean([])


def smallest(values: Sequence[float]) -> Estimate:
    """The smallest of several values, without an interval; no data if there are none."""
    x = known(values)
    return value(float(x.min())) if len(x) else mean([])


def _u(unit: str) -> str:
    return f" {unit}" if unit else ""


def _row(
    key: str,
    claim: str,
    source: str,
    published: str,
    ours: Estimate,
    tolerance: str,
    verdict: str,
    unit: str,
    kind: Kind,
) -> Verdict:
    if math.isnan(ours.value):
        return Verdict(key, claim, source, published, "", "", tolerance, MISSING, kind, _read(kind))
    words, interval = f"{ours}{_u(unit)}", ours.interval
    if verdict == MODES and (parts := two_modes(ours)) is not None:
        words, interval = modes.in_words(parts, unit), ""
    return Verdict(key, claim, source, published, words, interval, tolerance, verdict, kind, _read(kind))


def _read(kind: Kind) -> Read:
    """Default origin of a published value: numbers are printed, statements are words."""
    return Read.PRINTED if kind in {Kind.NUMBER, Kind.TUNED} else Read.WORDS


def reproduced(rows: Sequence[Mapping[str, Any]]) -> str:
    """Number of an experiment's saved claims that are reproduced, published or not: "5 of 7"."""
    return f"{sum(row['verdict'] == REPRODUCED for row in rows)} of {len(rows)}"
