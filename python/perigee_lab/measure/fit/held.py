# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Outages that hold packets.

No probe is lost, but none arrives for a while, and then many arrive at once. An outage that drops
the queue loses the probes in it, so that the arrivals after the outage distinguish the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.measure.fit.observed import Probes

LEAST_INTERVALS = 3.0
"""Silences shorter than this many probe intervals cannot be recognised as outages."""
BUNCH = 0.6
"""Minimum fraction of the probes due in the silence that arrive within an RTT after it."""


@dataclass(frozen=True)
class Held:
    """Start and length of each outage in s, and a mask of the probes held by outages."""

    outages: list[tuple[float, float]]
    waited: npt.NDArray[np.bool_]


def held(probes: Probes) -> Held:
    """Finds silences that end with the arrival of all probes due in them."""
    waited = np.zeros(len(probes.sent_s), dtype=bool)
    known = np.flatnonzero(probes.answered)
    sent = probes.sent_s[known]
    came = sent + probes.rtt_ms[known] / 1e3
    interval, found = probes.interval_s, []
    usual = float(np.median(probes.rtt_ms[known])) / 1e3 if len(known) else 0.0
    for k in np.flatnonzero(np.diff(came) > LEAST_INTERVALS * interval) + 1:
        silence = float(came[k] - came[k - 1])
        if known[k] != known[k - 1] + 1:
            # Probes were lost: this outage dropped its queue.
            continue
        # Probes held on the forward path arrive later than answers held on the return path.
        window = interval + usual
        bunch = np.flatnonzero(came[k:] < came[k] + window) + k
        # Probes are counted by send time: records of simulated runs have one row for answers that
        # arrive together.
        numbers = (float(sent[bunch].max()) - float(sent[k - 1])) / interval
        if numbers - window / interval < BUNCH * silence / interval:
            continue
        first = float(sent[k - 1]) + interval / 2
        found.append((max(0.0, first), silence - interval / 2))
        late = sent[bunch] < came[k] - probes.rtt_ms[known[bunch]].min() / 1e3
        waited[known[bunch[late]]] = True
    return Held(found, waited)
