# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a server gives at most, whoever asks: nobody with a key can make it send without end."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

DAY_S = 86_400.0


@dataclass(frozen=True)
class Limits:
    """Of a server; times in ns, amounts in bytes."""

    transfer_bytes: int = 10 * 10**9
    transfer_ns: int = 1800 * 10**9
    daily_bytes: int = 1000 * 10**9
    rate_bytes_per_s: int | None = None
    """Of each connection, both ways; None = as the network lets it."""
    probes_per_s: int = 2000
    """Of each session."""
    probe_bytes: int = 1400
    connections: int = 64
    """At once."""
    strangers: int = 16
    """Connections at once that have not shown that they know the key."""
    patience_s: float = 5.0
    """For those."""
    sessions: int = 64
    """Of probes, at once."""


class Daily:
    """Bytes of the last day."""

    def __init__(self, most: int) -> None:
        """With a limit."""
        self.most = most
        self.given: deque[tuple[float, int]] = deque()
        self.total = 0
        self.lock = threading.Lock()

    def left(self) -> int:
        """What may still be given."""
        with self.lock:
            self._forget()
            return max(0, self.most - self.total)

    def count(self, amount: int) -> None:
        """So much was given."""
        with self.lock:
            self._forget()
            self.given.append((time.monotonic(), amount))
            self.total += amount

    def _forget(self) -> None:
        old = time.monotonic() - DAY_S
        while self.given and self.given[0][0] < old:
            self.total -= self.given.popleft()[1]


class Bucket:
    """So many a second, with as many at once."""

    def __init__(self, per_s: float) -> None:
        """Full at first."""
        self.per_s, self.there, self.at_ns = per_s, per_s, time.monotonic_ns()

    def take(self, now_ns: int) -> bool:
        """Whether one more may pass."""
        self.there = min(self.per_s, self.there + (now_ns - self.at_ns) * self.per_s / 1e9)
        self.at_ns = now_ns
        if self.there < 1:
            return False
        self.there -= 1
        return True
