# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Bulk transfers between hosts in real time: sockets in their namespaces, and what the kernel says of them.

A part of the script `namespaces.py`: it needs nothing but Python's own library. The agent of a guest does the same in
virtual time (`agent/flows.c`).
"""

from __future__ import annotations

import contextlib
import functools
import selectors
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Kinds of reports (`report.rs`).
SAMPLE, STOPPED, END, STARTED, COMPLETE, FAILED = 1, 2, 3, 4, 5, 6
# Socket options (linux/tcp.h), and as much of TCP_INFO as kernels tell.
TCP_CC_INFO, TCP_NOTSENT_LOWAT = 26, 25
INFO_BYTES, SCHEME_BYTES = 256, 64
# What is written at once; what is handed over and not sent is less, so that a flow that stops is silent soon.
CHUNK = bytes(1 << 17)
MOST_READ = 1 << 20
# A sample is taken so long before its instant, in order to be known when the network takes its own.
LEAD_NS = 2_000_000
NEVER_NS = 1 << 64
WITHOUT_END = (1 << 64) - 1

Tell = Callable[[int, int, bytes, int], None]
"""Sends a report: kind, number of the flow, payload, simulated time in ns."""
Open = Callable[[int], socket.socket]
"""A TCP socket in the namespace of a host."""


@dataclass
class Transfer:
    """A flow, and its sockets while they are open."""

    number: int
    sender: int
    """The number of its host, as `receiver`."""
    receiver: int
    address: str
    port: int
    start_ns: int
    stop_ns: int
    bytes: int
    """`WITHOUT_END` = until it stops."""
    scheme: str
    listening: socket.socket | None = None
    sending: socket.socket | None = None
    receiving: socket.socket | None = None
    begun: bool = False
    stopped: bool = False
    written: int = 0
    received: int = 0

    @staticmethod
    def of(words: Sequence[str]) -> Transfer:
        """From a line of the job (`job.rs`)."""
        number, sender, receiver, address, port, start, stop, size, scheme = words
        times = int(start), int(stop), int(size)
        return Transfer(int(number), int(sender), int(receiver), address, int(port), *times, scheme)


def choose(made: socket.socket, scheme: str) -> None:
    """The congestion control of a socket. Raises OSError, with its name."""
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, scheme.encode())
    except OSError as error:
        raise OSError(error.errno, f"congestion control {scheme}: {error.strerror}") from None


class Transfers:
    """All of a run. Instants are simulated, in ns."""

    def __init__(
        self, flows: list[Transfer], sample_ns: int, end_ns: int, selector: selectors.BaseSelector, tell: Tell
    ) -> None:
        """Nothing is open yet; `selector` calls what is registered with it as data."""
        self.flows, self.sample_ns, self.end_ns = flows, sample_ns, end_ns
        self.selector, self.tell = selector, tell
        self.next_sample_ns = sample_ns or NEVER_NS
        self.ended = False
        self.buffer = bytearray(MOST_READ)

    def listen(self, opened: Open) -> None:
        """Opens all sockets, so that nothing can be refused later. Raises OSError."""
        for flow in self.flows:
            flow.listening, flow.sending = opened(flow.receiver), opened(flow.sender)
            for made in (flow.listening, flow.sending):
                made.setblocking(False)
                choose(made, flow.scheme)
            flow.sending.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, len(CHUNK))
            flow.listening.bind((flow.address, flow.port))
            flow.listening.listen(1)
            self._await(flow.listening, selectors.EVENT_READ, functools.partial(self._accept, flow))

    def due_ns(self) -> int:
        """When something is to be done next."""
        instants = [f.start_ns if not f.begun else NEVER_NS if f.stopped else f.stop_ns for f in self.flows]
        looks = [] if self.ended or not self.flows else [self.next_sample_ns - LEAD_NS, self.end_ns - LEAD_NS]
        return min([*instants, *looks], default=NEVER_NS)

    def on_time(self, now_ns: int) -> None:
        """Does what is due."""
        for flow in self.flows:
            if not flow.begun and flow.start_ns <= now_ns:
                self._start(flow, now_ns)
            if flow.begun and not flow.stopped and flow.stop_ns <= now_ns:
                self._stop(flow, now_ns)
        while self.next_sample_ns - LEAD_NS <= now_ns:
            for flow in self.flows:
                self._sample(flow, SAMPLE, self.next_sample_ns)
            self.next_sample_ns += self.sample_ns
        if not self.ended and self.end_ns - LEAD_NS <= now_ns:
            self.ended = True
            for flow in self.flows:
                self._sample(flow, END, self.end_ns)

    def _await(self, watched: socket.socket, events: int, call: Callable[[], None]) -> None:
        self.selector.register(watched, events, call)

    def _start(self, flow: Transfer, now_ns: int) -> None:
        flow.begun = True
        assert flow.sending is not None, "all sockets were opened before the run"
        self.tell(STARTED, flow.number, b"", now_ns)
        try:
            flow.sending.connect((flow.address, flow.port))
        except BlockingIOError:
            pass
        except OSError as error:
            self._fail(flow, error)
            return
        self._await(flow.sending, selectors.EVENT_WRITE, functools.partial(self._send, flow))

    def _send(self, flow: Transfer) -> None:
        """Hands over what fits."""
        assert flow.sending is not None, "it waits for room"
        try:
            while (left := flow.bytes - flow.written) > 0:
                flow.written += flow.sending.send(CHUNK if left >= len(CHUNK) else CHUNK[:left])
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(flow, error)
            return
        self._stop(flow, None)

    def _stop(self, flow: Transfer, now_ns: int | None) -> None:
        """It hands over no more; the connection stays."""
        flow.stopped = True
        self._sample(flow, STOPPED, now_ns)
        if flow.sending is not None:
            with contextlib.suppress(KeyError):
                self.selector.unregister(flow.sending)

    def _fail(self, flow: Transfer, error: OSError) -> None:
        self.tell(FAILED, flow.number, str(error.strerror).encode(), -1)
        flow.stopped = True
        if flow.sending is not None:
            with contextlib.suppress(KeyError):
                self.selector.unregister(flow.sending)
            flow.sending.close()
            flow.sending = None

    def _accept(self, flow: Transfer) -> None:
        assert flow.listening is not None, "it is waited for"
        flow.receiving, _ = flow.listening.accept()
        flow.receiving.setblocking(False)
        self.selector.unregister(flow.listening)
        flow.listening.close()
        self._await(flow.receiving, selectors.EVENT_READ, functools.partial(self._receive, flow))

    def _receive(self, flow: Transfer) -> None:
        """Takes what has come, without copying it (MSG_TRUNC of tcp(7))."""
        assert flow.receiving is not None, "it is waited for"
        try:
            got = flow.receiving.recv_into(self.buffer, MOST_READ, socket.MSG_TRUNC)
        except BlockingIOError:
            return
        except OSError:
            got = 0
        if got == 0:
            self.selector.unregister(flow.receiving)
            return
        flow.received += got
        if flow.received == flow.bytes:
            self.tell(COMPLETE, flow.number, b"", -1)

    def _sample(self, flow: Transfer, kind: int, at_ns: int | None) -> None:
        """What the kernel says of the sender, as `report.rs` reads it."""
        if flow.sending is None or not flow.begun:
            return
        info = flow.sending.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
        try:
            scheme = flow.sending.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, SCHEME_BYTES)
        except OSError:
            scheme = b""
        head = struct.pack("=HHQ16s", len(info), len(scheme), flow.received, flow.scheme.encode())
        self.tell(kind, flow.number, head + info + scheme, -1 if at_ns is None else at_ns)
