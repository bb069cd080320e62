# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What an outage that loses packets does to those that wait, as a flow that fills the queue sees it.

An interface that goes down loses its queue (flush): the first packets that arrive afterwards were sent afterwards, and
met an empty queue. One that sends into nothing (blackhole) goes on serving its queue: the first that arrive afterwards
were sent before, and waited as long as the others. So the first RTT samples behind a silence tell; senders take none of
packets that were sent again. Those that have the silence in them are of packets that came before it, whose
acknowledgements were lost, and tell nothing. Probes of a quiet path cannot tell: nothing waits.
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
"""Silence shorter than so many rows, or than this, is none that could be told."""
LEAST_WAIT_MS = 10.0
"""A queue shorter than this may as well have come anew."""
KEPT, GONE = 0.5, 0.25
"""Of the wait before: as much or more behind the silence was kept; as much or less is a queue that begins anew."""
SOON = 4.0
"""What comes within so many RTTs behind a silence is soon."""
AROUND_S = 0.15
"""An outage and the silence that it makes begin within this time of each other, the way to the sender apart."""


@dataclass(frozen=True)
class Silence:
    """A time in which nothing came back, in the flow's time."""

    begin_s: float
    end_s: float
    base_ms: float
    before_ms: float
    """What RTTs had above the base."""
    after_ms: float
    """The same of the first that came without the silence in it; NaN: none did soon."""
    lost: float
    """Packets that were sent again because of it."""

    @property
    def length_s(self) -> float:
        """Its length."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Votes:
    """Of how many outages a flow showed what became of the queue."""

    lost: int
    served: int

    @property
    def decided(self) -> bool:
        """Whether one of both is clear."""
        return max(self.lost, self.served) > 3 * min(self.lost, self.served)


def silences(load: Load, base_ms: Floats) -> list[Silence]:
    """Where no sample of the RTT came for a while, though a queue stood; smoothed RTTs remember too long to tell."""
    known = np.flatnonzero(~np.isnan(load.rtt_ms))
    if load.smoothed or len(known) < 2:
        return []
    t, above = load.t_s, load.rtt_ms - base_ms
    again = np.nan_to_num(load.again)
    found = []
    for a, b in pairwise(int(k) for k in known):
        # A row holds what came since the one before it.
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
    """What silences say. `outages`: when and how long, by probes that are `interval_s` apart.

    `together`: the flow ran while they were measured; then only silences count that go with one of them, and else all
    of about their length.
    """
    lost = served = 0
    for s in found:
        lengths = [n for at, n in outages if not together or abs(at + s.base_ms / 1e3 - s.begin_s) < AROUND_S]
        if not lengths or s.length_s < min(lengths) / 2 - interval_s:
            continue
        # Longer outages leave nothing of the queue either way.
        left = (s.base_ms + s.before_ms) / 1e3 - float(np.median(lengths)) - interval_s
        if s.after_ms >= KEPT * s.before_ms:
            served += 1
        elif s.after_ms <= GONE * s.before_ms and left > 0:
            lost += 1
    return Votes(lost, served)
