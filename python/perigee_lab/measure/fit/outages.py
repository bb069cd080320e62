# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fate of queued packets in a lossy outage, observed with a flow that fills the queue.

An interface that goes down loses its queue (flush): the first packets that arrive after the outage
were also sent after it, and found an empty queue. A link that transmits into the void (blackhole)
continues to serve its queue: the first packets that arrive after the outage were sent earlier, and
waited as long as the packets before it. The first RTT samples after a silence therefore distinguish
the two, since senders take no samples from retransmitted packets. Samples that include the silence
are from packets that arrived before it and whose acknowledgements were lost; they carry no
information. Neither do probes of an idle path, the queue of which is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from perigee_lab.measure.fit.observed import Load

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

LEAST_ROWS, LEAST_S = 2.5, 0.025
"""Silences shorter than this many rows, or than this time, cannot be detected."""
LEAST_WAIT_MS = 10.0
"""Minimum waiting time before a silence; a shorter queue may also have formed after it."""
KEPT, GONE = 0.5, 0.25
"""Fractions of the waiting time before the silence: with at least the first, the queue was kept;
with at most the second, it was lost."""
SOON = 4.0
"""Samples within this many RTTs after a silence count as the first samples."""
AROUND_S = 0.15
"""Maximum distance between the start of an outage and that of its silence, apart from the delay to
the sender."""


@dataclass(frozen=True)
class Silence:
    """An interval without any arrival at the sender; times are in the flow's time."""

    begin_s: float
    end_s: float
    base_ms: float
    before_ms: float
    """RTT above the base before the silence."""
    after_ms: float
    """RTT above the base of the first sample that does not include the silence; NaN: none arrived
    soon after it."""
    lost: float
    """Packets retransmitted because of the silence."""

    @property
    def length_s(self) -> float:
        """Length of the silence."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Votes:
    """Number of outages in which the queue was lost, and in which it was served."""

    lost: int
    served: int

    @property
    def decided(self) -> bool:
        """Whether one of the two has a clear majority."""
        return max(self.lost, self.served) > 3 * min(self.lost, self.served)


def silences(load: Load, base_ms: Floats) -> list[Silence]:
    """Finds intervals without RTT samples during a standing queue.

    Finds none if RTTs are smoothed, since smoothing hides them.
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
    """Votes of silences. `outages`: start and length of each, from probes sent every `interval_s`.

    `together`: the flow ran at the same time as the probes; then only silences that coincide with
    an outage count, otherwise all of about their length.
    """
    lost = served = 0
    for s in found:
        lengths = [n for at, n in outages if not together or abs(at + s.base_ms / 1e3 - s.begin_s) < AROUND_S]
        if not lengths or s.length_s < min(lengths) / 2 - interval_s:
            continue
        # After an outage longer than this, the queue is empty in both cases.
        left = (s.base_ms + s.before_ms) / 1e3 - float(np.median(lengths)) - interval_s
        if s.after_ms >= KEPT * s.before_ms:
            served += 1
        elif s.after_ms <= GONE * s.before_ms and left > 0:
            lost += 1
    return Votes(lost, served)
