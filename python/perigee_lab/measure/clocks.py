# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Offset between two clocks, estimated from probes with four timestamps (as in NTP, RFC 5905).

In each window of 10 s or more, the probe with the shortest RTT is taken, since it waited least in
queues. Its offset is half of the difference of the apparent one-way delays. A Theil-Sen line through
these offsets accounts for drift. The asymmetry of the path is not observable: it causes an error of
up to half of the shortest RTT.
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
    """Offset of the server's clock: its time minus the client's."""

    at: npt.NDArray[np.float64]
    """Offset in ns at each probe, shape (probes,); NaN in epochs without an answer."""
    error_ns: float
    """Bound on the error due to asymmetry: half of the shortest RTT, maximum over epochs."""
    drift_ppm: float
    """Drift of the server's clock relative to the client's, in the last epoch with an answer."""
    known: bool
    """Whether any probe was answered."""


def offset_of(sent: Ints, arrived: Ints, left: Ints, back: Ints, epoch: Ints) -> Offset:
    """Estimates the offset from all answered probes, separately for each epoch.

    All arguments have the shape (probes,). Times are in ns: `sent` and `back` by the client's clock,
    `arrived` and `left` by the server's; `back` is -1 for unanswered probes. `epoch` is the number of
    the session, since a restarted server may have another clock.
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
    """Offset in ns at the first probe, and drift (ns per ns), from a robust line fit."""
    since = t - t[0]
    span = max(WINDOW_NS, int(since[-1]) // MAX_WINDOWS + 1)
    window = since // span
    best = []
    for w in np.unique(window):
        inside = np.flatnonzero(window == w)
        best.append(inside[np.argmin(rtt[inside])])
    x, y = since[best].astype(float), theta[best]
    # Fewer than four windows are too short for an estimate of the drift.
    if len(x) < 4:
        return float(theta[np.argmin(rtt)]), 0.0
    i, j = np.triu_indices(len(x), 1)
    slope = float(np.median((y[j] - y[i]) / (x[j] - x[i])))
    return float(np.median(y - slope * x)), slope
