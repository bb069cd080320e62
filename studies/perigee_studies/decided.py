# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Verdicts on hypotheses: the share of an effect that disappears with its supposed cause."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perigee_lab.common.statistics import Estimate, difference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from perigee_studies.model import Tables

CONFIRMED, REJECTED, PART, OPEN = "confirmed", "rejected", "in part", "open"
RULE = """A variant takes a supposed cause away (or puts it in where it was not). Confirmed: the 95 % interval of what
changes with it is above half of the effect; in part: below half, and above zero; rejected: below half, and zero or less
is within; open: none of these."""


@dataclass(frozen=True)
class Decided:
    """A hypothesis, and the verdict of its runs."""

    hypothesis: str
    verdict: str
    """One of CONFIRMED, REJECTED, PART, OPEN; computed."""
    words: str


@dataclass(frozen=True)
class Finding:
    """Result of the deciding experiment on a hypothesis."""

    verdict: str
    """One of CONFIRMED, REJECTED, PART, OPEN; computed."""
    words: str
    rows: tuple[tuple[str, ...], ...] = ()
    """A table below it, its heads first; the page has it, the gallery does not."""


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
    """The verdict on a cause.

    `effect` is to be explained, `changed` is the part that disappears without it.
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
    """Excess of `a` over `b`, run by run if both have the same number.

    Without interval for too few runs.
    """
    found = difference(a.value, b.value)
    return found or Estimate(a.value - b.value, math.nan, math.nan, min(a.n, b.n))
