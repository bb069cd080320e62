# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Server-side limits on rate and duration, which apply to every holder of a key."""

from __future__ import annotations

import ipaddress
import select
import socket
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

DAY_S = 86_400.0
OTHER_DESCRIPTORS = 24


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
    strangers: int = 64
    """Concurrent unauthenticated connections."""
    strangers_of_one: int = 16
    """Of these, from one address (IPv6: one network of 64 bits)."""
    patience_s: float = 5.0
    """Timeout for unauthenticated connections."""
    sessions: int = 64
    """Concurrent sessions of probes."""
    kept_bytes: int = 64 << 20
    """Series of completed downloads that clients have not requested yet, packed."""


class Daily:
    """Limit on the bytes of the last 24 hours, in steps of a minute."""

    STEP_S = 60.0

    def __init__(self, most: int) -> None:
        """Sets the limit in bytes."""
        self.most = most
        self.given: deque[list[float]] = deque()
        """Start and bytes of each step."""
        self.total = 0
        self.lock = threading.Lock()

    def left(self) -> int:
        """Bytes left."""
        with self.lock:
            self._forget()
            return max(0, self.most - self.total)

    def take(self, amount: int) -> int:
        """Counts up to `amount` bytes before they are sent or read; returns how many may be."""
        with self.lock:
            self._forget()
            given = min(amount, max(0, self.most - self.total))
            self._add(given)
            return given

    def give_back(self, amount: int) -> None:
        """Returns bytes that were taken, and not sent or read."""
        if amount:
            with self.lock:
                self._add(-amount)

    def _add(self, amount: int) -> None:
        now = time.monotonic()
        if not self.given or now - self.given[-1][0] >= self.STEP_S:
            self.given.append([now, 0])
        self.given[-1][1] += amount
        self.total += amount

    def _forget(self) -> None:
        old = time.monotonic() - DAY_S
        while self.given and self.given[0][0] < old:
            self.total -= int(self.given.popleft()[1])


class Lobby:
    """Places of unauthenticated connections.

    A newcomer always gets one: if its address has all that one may have, or all places are taken,
    the connection that has waited longest without a greeting is closed, first of all one of the
    same address. So idle connections keep nobody out, and one address only itself.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        """Sets the number of places, and of those of one address."""
        self.most, self.most_of_one = most, most_of_one
        self.waiting: dict[socket.socket, str] = {}
        """Connections in the order of arrival, with their address."""
        self.greeted: set[socket.socket] = set()
        self.lock = threading.Lock()

    def enter(self, sock: socket.socket, address: str) -> socket.socket | None:
        """Takes a place; returns the connection that must be closed for it, if any."""
        place = _network(address)
        with self.lock:
            own = [s for s, other in self.waiting.items() if other == place]
            out = None
            if len(own) >= self.most_of_one or len(self.waiting) >= self.most:
                among = own if len(own) >= self.most_of_one else self._of_the_most()
                speaking = self.greeted | _readable([s for s in among if s not in self.greeted])
                out = next((s for s in among if s not in speaking), among[0])
                self._remove(out)
            self.waiting[sock] = place
            return out

    def greet(self, sock: socket.socket) -> None:
        """Notes that a connection has sent a greeting: idle ones are closed before it."""
        with self.lock:
            if sock in self.waiting:
                self.greeted.add(sock)

    def leave(self, sock: socket.socket) -> None:
        """Frees the place of a connection, if it still has one."""
        with self.lock:
            self._remove(sock)

    def is_crowded(self) -> bool:
        """Whether half of the places are taken: then the timeout is shorter."""
        with self.lock:
            return 2 * len(self.waiting) >= self.most

    def _of_the_most(self) -> list[socket.socket]:
        counts = Counter(self.waiting.values())
        [(most, _)] = counts.most_common(1)
        return [s for s, place in self.waiting.items() if place == most]

    def _remove(self, sock: socket.socket) -> None:
        self.waiting.pop(sock, None)
        self.greeted.discard(sock)


def _readable(sockets: Sequence[socket.socket]) -> set[socket.socket]:
    """Connections with a greeting that has not been read yet."""
    poll = select.poll()
    known = {s.fileno(): s for s in sockets if s.fileno() >= 0}
    for descriptor in known:
        poll.register(descriptor, select.POLLIN)
    return {known[descriptor] for descriptor, event in poll.poll(0) if event & select.POLLIN}


def _network(address: str) -> str:
    """An IPv4 address, also one within IPv6; the first 64 bits of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))


def fit_descriptors(limits: Limits) -> Limits:
    """Limits for which the process has descriptors: the system's soft limit is raised if possible."""
    if sys.platform == "win32":
        return limits
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A transfer has one descriptor; the rest is for files, libraries and both listening sockets.
    wanted = limits.connections + limits.strangers + OTHER_DESCRIPTORS
    if soft < wanted:
        more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            soft = more
    if soft >= wanted:
        return limits
    room = max(4, soft - OTHER_DESCRIPTORS)
    strangers = max(2, min(limits.strangers, room // 3))
    connections = max(2, min(limits.connections, room - strangers))
    one = max(1, min(limits.strangers_of_one, strangers // 2))
    return replace(limits, strangers=strangers, strangers_of_one=one, connections=connections)


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
