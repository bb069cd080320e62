# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Intermittent applications of hosts in real time: on/off sources and request-response clients.

A part of the script `namespaces.py`: it uses Python's standard library only. All random draws come
with the job; the agent of a guest does the same in virtual time (`agent/apps.c`).
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perigee_lab.hosts.waiting import NEVER_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.hosts.transfers import Transfer, Transfers

# Kinds of reports (`report.rs`).
IDLE, BUSY, OBJECT = 10, 11, 12
# Payload of a request: with headers 200 bytes, as in the simulator.
REQUEST = bytes(148)
SHORTEST_NS = 1000
WITHOUT_END = (1 << 64) - 1


@dataclass
class Application:
    """Event handlers of an application; by default they do nothing."""

    due_ns: int = NEVER_NS
    """Time of the next action."""

    def connected(self, transfers: Transfers, flow: Transfer) -> None:
        """The sender's connection is established."""

    def accepted(self, transfers: Transfers, flow: Transfer) -> None:
        """The receiver has accepted the connection."""

    def readable(self, flow: Transfer) -> None:
        """The sender's socket is readable."""

    def received(self, transfers: Transfers, flow: Transfer) -> None:
        """The receiver has received data."""

    def on_time(self, transfers: Transfers, flow: Transfer, now_ns: int) -> None:
        """`due_ns` has been reached."""


@dataclass
class OnOff(Application):
    """On/off source."""

    lengths_ns: list[int] = field(default_factory=list)
    next: int = 0
    sending: bool = False
    silent: bool = False
    """No data of the flow is in flight."""

    def connected(self, transfers: Transfers, flow: Transfer) -> None:
        """Starts the first period."""
        self.on_time(transfers, flow, transfers.now_ns())
        transfers.due_by(self.due_ns)

    def received(self, transfers: Transfers, flow: Transfer) -> None:
        """Checks whether all data has arrived."""
        self._note_silence(transfers, flow)

    def on_time(self, transfers: Transfers, flow: Transfer, now_ns: int) -> None:
        """Starts the next period."""
        self.sending = not self.sending
        # The draws cover the time until the flow stops.
        if self.next < len(self.lengths_ns):
            # Counted from the due instant rather than the current one, except for the first period.
            begun_ns = now_ns if self.due_ns == NEVER_NS else self.due_ns
            self.due_ns = begun_ns + self.lengths_ns[self.next]
            self.next += 1
        else:
            self.due_ns = NEVER_NS
        flow.offered = WITHOUT_END if self.sending else flow.written
        if self.sending and self.silent:
            self.silent = False
            transfers.tell(BUSY, flow.number, b"", -1)
        if self.sending:
            transfers.send(flow)
        else:
            self._note_silence(transfers, flow)

    def _note_silence(self, transfers: Transfers, flow: Transfer) -> None:
        if not self.sending and not self.silent and flow.received >= flow.written:
            self.silent = True
            transfers.tell(IDLE, flow.number, b"", -1)


@dataclass
class Request(Application):
    """A client at the receiver that requests one object after the other."""

    wanted: int = 0
    """Number of objects."""
    period_ns: int = SHORTEST_NS
    """Minimum time between two requests."""
    objects: list[tuple[int, int]] = field(default_factory=list)
    """Bytes of each object, and time in ns from its end to the next request."""
    next: int = 0
    asking: bool = False
    asked_ns: int = 0
    first_ns: int | None = None
    before: int = 0
    """Bytes received before the current object; including it: `end`."""
    end: int = 0
    requested: int = 0
    """Bytes of requests that the server has read."""
    answered: int = 0

    def accepted(self, transfers: Transfers, flow: Transfer) -> None:
        """Requests the first object."""
        assert flow.receiving is not None, "it was accepted"
        flow.receiving.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not flow.stopped:
            self._ask(transfers, flow)

    def readable(self, flow: Transfer) -> None:
        """The server reads requests and offers the requested bytes."""
        assert flow.sending is not None, "it is waited for"
        try:
            while got := flow.sending.recv(8 * len(REQUEST)):
                self.requested += len(got)
        except BlockingIOError:
            pass
        while self.answered < min(self.requested // len(REQUEST), len(self.objects)):
            flow.offered += self.objects[self.answered][0]
            self.answered += 1

    def received(self, transfers: Transfers, flow: Transfer) -> None:
        """Checks whether the object is complete."""
        if not self.asking:
            return
        now_ns = transfers.now_ns()
        if self.first_ns is None and flow.received > self.before:
            self.first_ns = now_ns
        if flow.received >= self.end:
            self._complete(transfers, flow, now_ns)

    def on_time(self, transfers: Transfers, flow: Transfer, now_ns: int) -> None:
        """Requests the next object."""
        self._ask(transfers, flow)

    def _ask(self, transfers: Transfers, flow: Transfer) -> None:
        assert flow.receiving is not None, "its connection is there"
        self.due_ns = NEVER_NS
        if self.next == self.wanted:
            return
        if self.next == len(self.objects):
            transfers.fail(flow, OSError(0, "it asks for more objects than can be drawn ahead of a run"))
            return
        self.asking, self.asked_ns, self.first_ns = True, transfers.now_ns(), None
        self.before = self.end
        self.end += self.objects[self.next][0]
        self.next += 1
        transfers.tell(BUSY, flow.number, b"", -1)
        try:
            # Only one request is in flight at a time, so that it fits in the buffer.
            flow.receiving.send(REQUEST)
        except OSError as error:
            transfers.fail(flow, error)

    def _complete(self, transfers: Transfers, flow: Transfer, now_ns: int) -> None:
        size, think_ns = self.objects[self.next - 1]
        self.asking = False
        first_ns = now_ns if self.first_ns is None else self.first_ns
        told = struct.pack("=QQQQ", self.next - 1, size, self.asked_ns, first_ns)
        transfers.tell(OBJECT, flow.number, told, now_ns)
        self.due_ns = max(now_ns + think_ns, self.asked_ns + self.period_ns)
        if not flow.stopped:
            transfers.due_by(self.due_ns)


def on_off(words: Sequence[str]) -> OnOff:
    """Parses an on/off source from the lengths of its periods, on first."""
    return OnOff(lengths_ns=[int(w) for w in words])


def request(words: Sequence[str]) -> Request:
    """Parses a client: number of objects, period, and size and think time of each object."""
    wanted, period, *drawn = map(int, words)
    pairs = list(zip(drawn[::2], drawn[1::2], strict=True))
    return Request(wanted=wanted, period_ns=max(period, SHORTEST_NS), objects=pairs)
