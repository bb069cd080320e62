# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Verdicts on hypotheses, from the share of an effect that disappears with its supposed cause."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perigee_lab.common.statistics import Estimate, difference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from perigee_studies.model import Tables

CONFIRMED, REJECTED, PART, OPEN = "confirmed", "rejected", "in part", "open"
RULE = """A variant removes a supposed cause (or adds it where it was absent). Confirmed: the 95 % interval of the
resulting change is above half of the effect; in part: below half and above zero; rejected: below half, and includes
zero or negative values; open: none of these."""


@dataclass(frozen=True)
class Decided:
    """A hypothesis with the verdict of its runs."""

    hypothesis: str
    verdict: str
    """One of CONFIRMED, REJECTED, PART, OPEN; computed."""
    words: str
    """Explanation with the deciding numbers, as one or more sentences."""


@dataclass(frozen=True)
class Finding:
    """Result of the experiment that decides a hypothesis."""

    verdict: str
    """One of CONFIRMED, REJECTED, PART, OPEN; computed."""
    words: str
    """Explanation with the deciding numbers, as one or more sentences."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Table below the explanation, header first; shown on the page, not in the gallery."""


@dataclass(frozen=True)
class Miss:
    """A published result that is not reproduced, and the experiment that decides why."""

    number: int
    title: str
    hypothesis: str
    experiments: tuple[str, ...]
    """Experiments with the deciding tables, variants included."""
    decide: Callable[[Mapping[str, Tables]], Finding]


def by_share(effect: float, changed: Estimate | None) -> str:
    """Verdict on a supposed cause.

    `effect` is the effect to explain, `changed` the part of it that disappears without the cause, in the same unit.
    OPEN if either is missing or the effect is zero.
    """
    if changed is None or math.isnan(changed.low) or math.isnan(effect) or effect == 0:
        return OPEN
    low, high = sorted((changed.low / effect, changed.high / effect))
    if low >= 0.5:
        return CONFIRMED
    if high < 0.5:
        return PART if low > 0 else REJECTED
    return OPEN


def gap(a: Estimate, b: Estimate) -> Estimate:
    """Difference `a` - `b`, paired by run if both have the same number of runs.

    The interval is NaN for too few runs.
    """
    found = difference(a.value, b.value)
    return found or Estimate(a.value - b.value, math.nan, math.nan, min(a.n, b.n))
