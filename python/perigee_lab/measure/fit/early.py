# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Queues that drop at random before they are full: a flow begins to lose while what waits goes on growing.

A drop-tail queue that loses is full: it cannot grow any more. Random early detection (Floyd and Jacobson, 1993) drops
some from a threshold on, the more the more waits. What tells them apart is a flow in slow start, which hears of its
first loss an RTT late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

GROWS, SURELY = 0.1, 20
"""What waits grows by this share of the threshold while so many packets are lost at least."""
MOST_LOST = 0.3
"""Share that is lost then: more has met a full queue."""
ALIKE = 0.2
"""Losses that begin at levels further apart (quartiles over the median) are not the queue's."""


@dataclass(frozen=True)
class Early:
    """From where on it drops, and the share that it drops for each byte above."""

    threshold_bytes: float
    share_per_byte: float


def early(
    onsets: Sequence[float], episodes: Sequence[tuple[Floats, Floats, Floats]], steady: float = ALIKE
) -> Early | None:
    """Whether losses look like random early drops; None where not.

    `onsets` are what waited, in bytes, as losses began after a quiet time; `episodes`, for each, of the RTT that
    follows, sample by sample: what waits (NaN: unknown), packets sent, packets lost.
    """
    if not onsets:
        return None
    low, threshold, high = np.quantile(onsets, (0.25, 0.5, 0.75))
    if threshold <= 0 or high - low > steady * threshold:
        return None
    best: tuple[float, float] | None = None
    for onset, (waits, sent, lost) in zip(onsets, episodes, strict=True):
        known = ~np.isnan(waits)
        if not known.any() or lost.sum() < SURELY:
            continue
        top = int(np.nanargmax(waits))
        growth = float(waits[top]) / onset - 1
        # While it grows: afterwards the flow has heard of it.
        rising = known & (np.arange(len(waits)) <= top) & (sent > 0)
        packets, gone = float(sent[rising].sum()), float(lost[rising].sum())
        if growth < GROWS or gone < SURELY or packets == 0 or gone > MOST_LOST * packets:
            continue
        above = np.maximum(0.0, waits[rising] - onset)
        slope = gone / max(1.0, float((above * sent[rising]).sum()))
        if best is None or growth > best[0]:
            best = growth, slope
    return None if best is None else Early(float(threshold), best[1])
