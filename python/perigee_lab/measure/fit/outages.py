# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fate of queued packets in a lossy outage, as observed by a flow that fills the queue.

An interface that goes down loses its queue (flush): the first packets that arrive afterwards were
sent afterwards, and met an empty queue. One that transmits into the void (blackhole) continues to
serve its queue: the first packets that arrive afterwards were sent before, and waited as long as
the others. So the first RTT samples after a silence distinguish the two; senders take no samples of
retransmitted packets. Samples that include the silence belong to packets that arrived before it and
lost their acknowledgements; they carry no information. Nor do probes of a quiet path: its queue is
empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from perigee_lab.measure.fit.seen import Load

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

LEAST_ROWS, LEAST_S = 2.5, 0.025
"""Silences shorter than this many rows, or this time, cannot be recognised."""
LEAST_WAIT_MS = 10.0
"""A queue shorter than this may also have formed afterwards."""
KEPT, GONE = 0.5, 0.25
"""Shares of the wait before: at least the first was kept; at most the second is a new queue."""
SOON = 4.0
"""Samples within this many RTTs after a silence count as the first ones."""
AROUND_S = 0.15
"""Largest distance between the starts of an outage and of its silence, apart from the way to the
sender."""


@dataclass(frozen=True)
class Silence:
    """An interval without any arrival at the sender, in the flow's time."""

    begin_s: float
    end_s: float
    base_ms: float
    before_ms: float
    """RTT above the base before it."""
    after_ms: float
    """The same of the first sample that does not include the silence; NaN: none arrived soon."""
    lost: float
    """Packets retransmitted because of it."""

    @property
    def length_s(self) -> float:
        """Its length."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Votes:
    """Numbers of outages in which the queue was lost and served."""

    lost: int
    served: int

    @property
    def decided(self) -> bool:
        """Whether one has a clear majority."""
        return max(self.lost, self.served) > 3 * min(self.lost, self.served)


def silences(load: Load, base_ms: Floats) -> list[Silence]:
    """Intervals without RTT samples during a standing queue.

    There are none for smoothed RTTs, which average over them.
    """
    known = np.flatnonzero(~np.isnan(load.rtt_ms))
    if load.smoothed or len(known) < 2:
        return []
    t, above = load.t_s, load.rtt_ms - base_ms
    again = np.nan_to_num(load.again)
    found = []
    for a, b in pairwise(int(k) for k in known):
        # A row holds the arrivals since the previous one.
        begin, end = float(t[a]), float(t[b]) - load.step_s
        if end - begin < max(LEAST_ROWS * load.step_s, LEAST_S) or above[a] < LEAST_WAIT_MS:
            continue
        until = max(b, int(np.searchsorted(t, end + SOON * float(load.rtt_ms[a]) / 1e3, side="right")) - 1)
        lost = float(again[until] - again[a])
        if lost > 0:
            soon = above[b : until + 1]
            free = soon[soon < above[a] + 5e2 * (end - begin)]
            after = float(free[0]) if len(free) else float("nan")
            found.append(Silence(begin, end, float(base_ms[b]), float(above[a]), after, lost))
    return found


def votes(
    found: Sequence[Silence], outages: Sequence[tuple[float, float]], interval_s: float, *, together: bool
) -> Votes:
    """Votes of silences. `outages`: starts and lengths, from probes sent every `interval_s`.

    `together`: the flow ran at the same time as the probes; then only silences that coincide with
    an outage count, otherwise all of about their length.
    """
    lost = served = 0
    for s in found:
        lengths = [n for at, n in outages if not together or abs(at + s.base_ms / 1e3 - s.begin_s) < AROUND_S]
        if not lengths or s.length_s < min(lengths) / 2 - interval_s:
            continue
        # After longer outages the queue is empty either way.
        left = (s.base_ms + s.before_ms) / 1e3 - float(np.median(lengths)) - interval_s
        if s.after_ms >= KEPT * s.before_ms:
            served += 1
        elif s.after_ms <= GONE * s.before_ms and left > 0:
            lost += 1
    return Votes(lost, served)
