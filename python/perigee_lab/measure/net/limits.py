# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Server-side limits on rate and duration, which apply to every holder of a key."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

DAY_S = 86_400.0


@dataclass(frozen=True)
class Limits:
    """Limits of a server; times in ns, amounts in bytes."""

    transfer_bytes: int = 10 * 10**9
    transfer_ns: int = 1800 * 10**9
    daily_bytes: int = 1000 * 10**9
    rate_bytes_per_s: int | None = None
    """Rate of each connection, both directions; None = unlimited."""
    probes_per_s: int = 2000
    """Probes per second in each session."""
    probe_bytes: int = 1400
    connections: int = 64
    """Concurrent connections."""
    strangers: int = 16
    """Concurrent unauthenticated connections."""
    patience_s: float = 5.0
    """Timeout for unauthenticated connections."""
    sessions: int = 64
    """Concurrent sessions of probes."""


class Daily:
    """Limit on the bytes within the last 24 hours."""

    def __init__(self, most: int) -> None:
        """Creates a limit of `most` bytes."""
        self.most = most
        self.given: deque[tuple[float, int]] = deque()
        self.total = 0
        self.lock = threading.Lock()

    def left(self) -> int:
        """Number of bytes left."""
        with self.lock:
            self._forget()
            return max(0, self.most - self.total)

    def count(self, amount: int) -> None:
        """Counts bytes sent or received."""
        with self.lock:
            self._forget()
            self.given.append((time.monotonic(), amount))
            self.total += amount

    def _forget(self) -> None:
        old = time.monotonic() - DAY_S
        while self.given and self.given[0][0] < old:
            self.total -= self.given.popleft()[1]


class Bucket:
    """Token bucket: a rate per second, and a burst of one second's tokens."""

    def __init__(self, per_s: float) -> None:
        """Creates a full bucket."""
        self.per_s, self.there, self.at_ns = per_s, per_s, time.monotonic_ns()

    def take(self, now_ns: int) -> bool:
        """Takes a token; returns False if there is none."""
        self.there = min(self.per_s, self.there + (now_ns - self.at_ns) * self.per_s / 1e9)
        self.at_ns = now_ns
        if self.there < 1:
            return False
        self.there -= 1
        return True
