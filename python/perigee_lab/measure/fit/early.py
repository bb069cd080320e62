# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Random early drops: losses that start while the queue still grows.

A drop-tail queue that drops packets is full and cannot grow any more. Random early detection (Floyd
and Jacobson, 1993) drops a fraction of the packets above a threshold, and the fraction increases
with the queue length. A flow in slow start distinguishes the two, since it detects its first loss
an RTT late and keeps increasing its window until then.
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
"""Minimum growth of the queue, as a fraction of the threshold, and minimum number of packets lost
while it grows."""
MOST_LOST = 0.3
"""Maximum fraction of packets lost while the queue grows; above this, the queue was full."""
ALIKE = 0.2
"""Maximum spread of the queue lengths at which losses start (interquartile range over median); with
a larger spread, the queue does not cause the losses."""


@dataclass(frozen=True)
class Early:
    """Threshold of the drops, and increase of the drop probability per byte above it."""

    threshold_bytes: float
    share_per_byte: float


def early(
    onsets: Sequence[float], episodes: Sequence[tuple[Floats, Floats, Floats]], steady: float = ALIKE
) -> Early | None:
    """Detects random early drops; None if losses do not look like them.

    `onsets` are queue lengths in bytes at the first losses after a quiet time; `episodes` describes
    the RTT after each of these losses, sample by sample: queue length (NaN: unknown), packets sent,
    packets lost.
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
        # Only samples while the queue grows: later, the flow has reacted to the losses.
        rising = known & (np.arange(len(waits)) <= top) & (sent > 0)
        packets, gone = float(sent[rising].sum()), float(lost[rising].sum())
        if growth < GROWS or gone < SURELY or packets == 0 or gone > MOST_LOST * packets:
            continue
        above = np.maximum(0.0, waits[rising] - onset)
        slope = gone / max(1.0, float((above * sent[rising]).sum()))
        if best is None or growth > best[0]:
            best = growth, slope
    return None if best is None else Early(float(threshold), best[1])
