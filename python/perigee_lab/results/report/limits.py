# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of senders over time, for the strips of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perigee_lab.results.sender_limits import CAUSES, NAMES
from perigee_lab.results.why import limits
from perigee_lab.results.why.text import headline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.run import Run

BINS = 160
"""Bins of a strip; many flows share those of four."""
LEAST_BINS = 40
NOTES = 3
WHOLE = 100


def legend() -> list[dict[str, str]]:
    """Wording, meaning and colour of each limit, in order."""
    return [{"words": c.words, "meaning": c.meaning, "colour": c.colour} for c in CAUSES]


def strips(run: Run, flows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Bins of each shown flow, by number, its largest limit as a sentence, and notes.

    A bin is [start (s), length (s), limit, percent, limit, percent, …].
    """
    number = max(LEAST_BINS, min(BINS, 4 * BINS // max(1, len(flows))))
    width = max(0.01, run.manifest.duration_ns / 1e9 / number)
    return {
        str(f.flow): {"bins": [_bin(b) for b in f.over_time(width)], "said": headline(f), "notes": f.notes[:NOTES]}
        for f in limits(run, [shown["flow"] for shown in flows])
    }


def _bin(shares: dict[str, float]) -> list[float]:
    """The shares of a bin in whole percent, which add up to 100; limits without any are left out."""
    exact = [WHOLE * shares[n] for n in NAMES]
    rounded = [int(x) for x in exact]
    by_rest = sorted(range(len(exact)), key=lambda i: rounded[i] - exact[i])
    for i in by_rest[: WHOLE - sum(rounded)]:
        rounded[i] += 1
    parts = [v for i, percent in enumerate(rounded) if percent for v in (i, percent)]
    return [round(max(shares["t_s"], 0.0), 4), round(shares["length_s"], 4), *parts]
