# SPDX-License-Identifier: Apache-2.0 OR MIT
"""TCP flows between hosts in real time: sockets in their namespaces, and samples of the kernel.

A part of the script `namespaces.py`: it uses Python's standard library only. The agent of a guest
does the same in virtual time (`agent/flows.c`).
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perigee_lab.hosts.applications import Application, OnOff, Request
from perigee_lab.hosts.relays import Relay
from perigee_lab.hosts.waiting import NEVER_NS, READ, WRITE, Waiting

# Kinds of reports (`report.rs`).
SAMPLE, STOPPED, END, STARTED, COMPLETE, FAILED = 1, 2, 3, 4, 5, 6
# Socket options (linux/tcp.h), and room for TCP_INFO and TCP_CC_INFO.
TCP_WINDOW_CLAMP, TCP_CC_INFO, TCP_NOTSENT_LOWAT = 10, 26, 25
INFO_BYTES, SCHEME_BYTES = 256, 64
# Bytes written to the socket but not sent (linux/sockios.h).
SIOCOUTQNSD = 0x894B
# Bytes per write; the socket holds less unsent data than this, so that a flow falls silent soon
# after its stop.
CHUNK = bytes(1 << 17)
# The same for an on/off source, which must fall silent soon after its turn ends.
SMALL_CHUNK = 1 << 13
MOST_READ = 1 << 20
# Time by which a sample precedes its instant, so that it arrives before the network takes its own.
LEAD_NS = 2_000_000
WITHOUT_END = (1 << 64) - 1

Tell = Callable[[int, int, bytes, int], None]
"""Sends a report: kind, number of the flow, payload, simulated time in ns; -1 = now."""
Open = Callable[[int], socket.socket]
"""Opens a TCP socket in the namespace of a host."""


@dataclass
class Transfer:
    """A flow, and its sockets while they are open."""

    number: int
    sender: int
    """Number of the host; likewise `receiver`."""
    receiver: int
    address: str
    port: int
    start_ns: int
    stop_ns: int
    bytes: int
    """`WITHOUT_END` = unlimited."""
    scheme: str
    listening: socket.socket | None = None
    sending: socket.socket | None = None
    receiving: socket.socket | None = None
    begun: bool = False
    connected: bool = False
    stopped: bool = False
    complete: bool = False
    offered: int = 0
    """Bytes available to send so far."""
    written: int = 0
    received: int = 0
    window: int = 0
    """Limit of the receive window in bytes; 0 = kernel default."""
    application: Application | None = None
    """Application, unless it is a bulk transfer."""
    relay: Relay | None = None
    """Proxy at its end."""
    fed_by: Transfer | None = None
    """The flow of the previous leg."""

    @staticmethod
    def of(words: Sequence[str]) -> Transfer:
        """Parses a line of the job (`job.rs`)."""
        number, sender, receiver, address, port, start, stop, size, scheme = words
        times = int(start), int(stop), int(size)
        made = Transfer(int(number), int(sender), int(receiver), address, int(port), *times, scheme)
        made.offered = made.bytes
        return made

    def chunk(self) -> int:
        """Bytes per write."""
        return SMALL_CHUNK if isinstance(self.application, OnOff) else len(CHUNK)

    def has_enough(self) -> bool:
        """Whether an on/off source has written its limit.

        The kernel checks the limit only for large segments.
        """
        if not isinstance(self.application, OnOff) or self.sending is None:
            return False
        unsent = fcntl.ioctl(self.sending, SIOCOUTQNSD, bytes(4))
        return int(struct.unpack("=i", unsent)[0]) >= SMALL_CHUNK


def choose(made: socket.socket, scheme: str) -> None:
    """Sets the congestion control of a socket. Raises OSError with its name."""
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, scheme.encode())
    except OSError as error:
        raise OSError(error.errno, f"congestion control {scheme}: {error.strerror}") from None


class Transfers:
    """All flows of a run. Instants are simulated, in ns."""

    def __init__(
        self,
        flows: list[Transfer],
        span_ns: tuple[int, int],
        waiting: Waiting,
        tell: Tell,
        now_ns: Callable[[], int],
    ) -> None:
        """Opens nothing yet.

        `span_ns` = time between samples (0 = none), and the end of the run.
        """
        self.flows, self.waiting, self.tell, self.now_ns = flows, waiting, tell, now_ns
        self.sample_ns, self.end_ns = span_ns
        self.next_sample_ns = self.sample_ns or NEVER_NS
        self.ended = False
        self.buffer = bytearray(MOST_READ)
        self.due_ns = 0
        """Next instant with work."""

    def listen(self, opened: Open) -> None:
        """Opens all sockets, so that none can fail later. Raises OSError."""
        for flow in self.flows:
            flow.listening, flow.sending = opened(flow.receiver), opened(flow.sender)
            for made in (flow.listening, flow.sending):
                made.setblocking(False)
                choose(made, flow.scheme)
            if flow.fed_by is None:
                flow.sending.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, flow.chunk())
            if isinstance(flow.application, Request):
                flow.sending.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._limit(flow, flow.listening)
            flow.listening.bind((flow.address, flow.port))
            flow.listening.listen(1)
            self.waiting.watch(flow.listening, READ, functools.partial(self._accept, flow))
            if flow.relay is not None:
                relay = flow.relay
                self.waiting.watch(relay.listen(flow.receiver, flow.port), READ, functools.partial(self._syn, flow))

    def due_by(self, at_ns: int) -> None:
        """Moves the next instant with work up to this one, if it is earlier."""
        self.due_ns = min(self.due_ns, at_ns)

    def on_time(self, now_ns: int) -> None:
        """Does the work that is due."""
        if now_ns < self.due_ns:
            return
        self.due_ns = NEVER_NS
        for flow in self.flows:
            if not flow.begun and flow.start_ns <= now_ns:
                self.start(flow, now_ns)
            if not flow.stopped and flow.stop_ns <= now_ns:
                self._stop(flow, now_ns)
            if flow.application is not None and flow.application.due_ns <= now_ns:
                flow.application.on_time(self, flow, now_ns)
            self._expect(flow)
        self._look(now_ns)

    def _expect(self, flow: Transfer) -> None:
        """Schedules the next action of a flow."""
        if not flow.begun:
            self.due_by(flow.start_ns)
        if not flow.stopped:
            self.due_by(flow.stop_ns)
        if flow.application is not None:
            self.due_by(flow.application.due_ns)

    def _look(self, now_ns: int) -> None:
        """Takes samples that are due."""
        while self.next_sample_ns - LEAD_NS <= now_ns:
            for flow in self.flows:
                self._sample(flow, SAMPLE, self.next_sample_ns)
            self.next_sample_ns += self.sample_ns
        if not self.ended and self.end_ns - LEAD_NS <= now_ns:
            self.ended = True
            for flow in self.flows:
                self._sample(flow, END, self.end_ns)
        if not self.ended and self.flows:
            self.due_by(min(self.next_sample_ns, self.end_ns) - LEAD_NS)

    def start(self, flow: Transfer, now_ns: int) -> None:
        """Opens the connection."""
        flow.begun = True
        assert flow.sending is not None, "all sockets were opened before the run"
        self.tell(STARTED, flow.number, b"", now_ns)
        try:
            flow.sending.connect((flow.address, flow.port))
        except BlockingIOError:
            pass
        except OSError as error:
            self.fail(flow, error)
            return
        self.await_sender(flow, WRITE)

    def await_sender(self, flow: Transfer, events: int) -> None:
        """Sets the events to watch on a flow's sender."""
        if flow.sending is not None:
            self.waiting.watch(flow.sending, events, functools.partial(self._on_sender, flow))

    def await_receiver(self, flow: Transfer, events: int) -> None:
        """Sets the events to watch on a flow's receiver."""
        if flow.receiving is not None:
            self.waiting.watch(flow.receiving, events, functools.partial(self._on_receiver, flow))

    def _on_sender(self, flow: Transfer) -> None:
        if flow.sending is None:
            return
        number = flow.sending.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            self.fail(flow, OSError(number, os.strerror(number)))
            return
        if not flow.connected:
            flow.connected = True
            if flow.application is not None:
                flow.application.connected(self, flow)
        if flow.application is not None:
            flow.application.readable(flow)
        if flow.fed_by is not None and flow.fed_by.relay is not None:
            flow.fed_by.relay.carry_on(self, flow.fed_by)
            self._note_completion(flow.fed_by)
        else:
            self.send(flow)

    def send(self, flow: Transfer) -> None:
        """Writes offered data until the buffer is full, then waits for room or for more data."""
        quiet = READ if isinstance(flow.application, Request) else 0
        while not flow.stopped and flow.sending is not None:
            left = flow.offered - flow.written
            if not left:
                self.await_sender(flow, quiet)
                return
            try:
                size = min(left, flow.chunk())
                sent = 0 if flow.has_enough() else flow.sending.send(CHUNK if size == len(CHUNK) else CHUNK[:size])
            except BlockingIOError:
                sent = 0
            except OSError as error:
                self.fail(flow, error)
                return
            if not sent:
                self.await_sender(flow, WRITE | quiet)
                return
            flow.written += sent
            if flow.written == flow.bytes:
                self._stop(flow, None)

    def _stop(self, flow: Transfer, now_ns: int | None) -> None:
        """Stops writing; the connection stays open."""
        flow.stopped = True
        if flow.application is not None:
            flow.application.due_ns = NEVER_NS
        self._sample(flow, STOPPED, now_ns)
        if flow.begun and flow.fed_by is None:
            self.await_sender(flow, 0)

    def fail(self, flow: Transfer, error: OSError) -> None:
        """Reports a lost connection, which ends the run."""
        self.tell(FAILED, flow.number, str(error.strerror).encode(), -1)
        flow.stopped = True
        if flow.sending is not None:
            self.await_sender(flow, 0)
            flow.sending.close()
            flow.sending = None

    def _syn(self, flow: Transfer) -> None:
        """On a SYN to the proxy, opens the connection of the next leg."""
        assert flow.relay is not None, "it hears SYNs"
        if flow.relay.syns is not None:
            self.waiting.watch(flow.relay.syns, 0, lambda: None)
            flow.relay.syns.close()
            flow.relay.syns = None
        if not flow.relay.after.begun:
            self.start(flow.relay.after, self.now_ns())

    def _accept(self, flow: Transfer) -> None:
        assert flow.listening is not None, "it is waited for"
        flow.receiving, _ = flow.listening.accept()
        flow.receiving.setblocking(False)
        self.waiting.watch(flow.listening, 0, lambda: None)
        flow.listening.close()
        flow.listening = None
        self.await_receiver(flow, READ)
        if flow.application is not None:
            flow.application.accepted(self, flow)

    def _on_receiver(self, flow: Transfer) -> None:
        if flow.relay is not None:
            flow.relay.carry_on(self, flow)
        else:
            self._take(flow)
        if flow.window and flow.receiving is not None:
            # At the first full segment the kernel updates its estimate of overhead, which resets
            # the limit.
            self._limit(flow, flow.receiving)
            flow.window = 0
        if flow.application is not None:
            flow.application.received(self, flow)
        self._note_completion(flow)

    def _take(self, flow: Transfer) -> None:
        """Receives data without copying it (MSG_TRUNC of tcp(7))."""
        assert flow.receiving is not None, "it is waited for"
        try:
            got = flow.receiving.recv_into(self.buffer, MOST_READ, socket.MSG_TRUNC)
        except BlockingIOError:
            return
        except OSError:
            got = 0
        if got == 0:
            self.await_receiver(flow, 0)
        flow.received += got

    def _note_completion(self, flow: Transfer) -> None:
        if not flow.complete and flow.received >= flow.bytes:
            flow.complete = True
            self.tell(COMPLETE, flow.number, b"", -1)

    @staticmethod
    def _limit(flow: Transfer, receiver: socket.socket) -> None:
        """Limits the receive window, which settings of the namespace make effective (`plan.rs`)."""
        if flow.window:
            receiver.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, flow.window)

    def _sample(self, flow: Transfer, kind: int, at_ns: int | None) -> None:
        """Reports the kernel's state of the sender, in the format of `report.rs`."""
        if flow.sending is None or not flow.begun:
            return
        info = flow.sending.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
        scheme = b""
        with contextlib.suppress(OSError):
            scheme = flow.sending.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, SCHEME_BYTES)
        head = struct.pack("=HHQ16s", len(info), len(scheme), flow.received, flow.scheme.encode())
        self.tell(kind, flow.number, head + info + scheme, -1 if at_ns is None else at_ns)
