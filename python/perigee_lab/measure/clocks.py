# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Offset between two clocks, estimated from probes with four timestamps (as in NTP, RFC 5905).

In each window, the probe with the shortest RTT waited least in queues, so that its offset, half of
the difference of the one-way delays, is the best estimate. A line fitted to these offsets (Theil
and Sen) removes the drift. Path asymmetry cannot be observed: the error is at most half of the
shortest RTT.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

WINDOW_NS = 10 * 10**9
MAX_WINDOWS = 400


@dataclass(frozen=True)
class Offset:
    """Offset of the server's clock from the client's."""

    at: npt.NDArray[np.float64]
    """Offset at each probe, ns."""
    error_ns: float
    """Bound on a constant error: half of the shortest RTT."""
    drift_ppm: float
    known: bool


def offset_of(sent: Ints, arrived: Ints, left: Ints, back: Ints, epoch: Ints) -> Offset:
    """Offset from all answered probes; the clocks of each epoch are estimated separately.

    `back` is -1 for unanswered probes.
    """
    at = np.full(len(sent), np.nan)
    error, drift, known = 0.0, 0.0, False
    for e in np.unique(epoch):
        own = epoch == e
        fine = own & (back >= 0)
        if not fine.any():
            continue
        rtt = (back - sent - (left - arrived))[fine]
        theta = ((arrived - sent)[fine] + (left - back)[fine]) / 2
        base, line = _line(sent[fine], rtt, theta)
        at[own] = base + line * (sent[own] - sent[fine][0])
        error, drift, known = max(error, float(rtt.min()) / 2), line * 1e6, True
    return Offset(at, error, drift, known)


def _line(t: Ints, rtt: Ints, theta: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Offset at the first probe, and drift, from a robust line fit."""
    since = t - t[0]
    span = max(WINDOW_NS, int(since[-1]) // MAX_WINDOWS + 1)
    window = since // span
    best = []
    for w in np.unique(window):
        inside = np.flatnonzero(window == w)
        best.append(inside[np.argmin(rtt[inside])])
    x, y = since[best].astype(float), theta[best]
    # Drift cannot be estimated from a short measurement.
    if len(x) < 4:
        return float(theta[np.argmin(rtt)]), 0.0
    i, j = np.triu_indices(len(x), 1)
    slope = float(np.median((y[j] - y[i]) / (x[j] - x[i])))
    return float(np.median(y - slope * x)), slope
