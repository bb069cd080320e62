# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Outages that keep what waits: no probe is lost, but for a while none comes, and then many come at once.

Where an outage loses what waits, its probes are missing. What comes after it tells the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.measure.fit.seen import Probes

LEAST_INTERVALS = 3.0
"""Silence shorter than so many intervals of probes is no outage that could be told."""
BUNCH = 0.6
"""Of the probes due in the silence, this share comes within an RTT behind it."""


@dataclass(frozen=True)
class Held:
    """When they began, how long, s; and which probes waited for their end."""

    outages: list[tuple[float, float]]
    waited: npt.NDArray[np.bool_]


def held(probes: Probes) -> Held:
    """Silences that end with all that was due in them."""
    waited = np.zeros(len(probes.sent_s), dtype=bool)
    known = np.flatnonzero(probes.answered)
    sent = probes.sent_s[known]
    came = sent + probes.rtt_ms[known] / 1e3
    interval, found = probes.interval_s, []
    usual = float(np.median(probes.rtt_ms[known])) / 1e3 if len(known) else 0.0
    for k in np.flatnonzero(np.diff(came) > LEAST_INTERVALS * interval) + 1:
        silence = float(came[k] - came[k - 1])
        if known[k] != known[k - 1] + 1:
            # Some were lost: another kind.
            continue
        # What waited on the way there comes later than what waited on the way back.
        window = interval + usual
        bunch = np.flatnonzero(came[k:] < came[k] + window) + k
        # Counted by their times: a record of a run has one row for answers that come together.
        numbers = (float(sent[bunch].max()) - float(sent[k - 1])) / interval
        if numbers - window / interval < BUNCH * silence / interval:
            continue
        first = float(sent[k - 1]) + interval / 2
        found.append((max(0.0, first), silence - interval / 2))
        late = sent[bunch] < came[k] - probes.rtt_ms[known[bunch]].min() / 1e3
        waited[known[bunch[late]]] = True
    return Held(found, waited)
