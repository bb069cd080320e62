# SPDX-License-Identifier: Apache-2.0 OR MIT
"""UDP packets at a constant rate between hosts in real time, and pings, which are echoed.

A part of the script `namespaces.py`: it uses Python's standard library only. The network measures
both, as for a guest's agent (`agent/probes.c`).
"""

from __future__ import annotations

import contextlib
import functools
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perigee_lab.hosts.waiting import NEVER_NS, READ, Waiting

LARGEST = 65507
# Maximum number of packets received in a row before other sockets get their turn.
TURN = 64

Open = Callable[[int], socket.socket]
"""Opens a UDP socket in the namespace of a host."""


@dataclass
class Probe:
    """A flow of probes."""

    sender: int
    """Number of the host; likewise `receiver`."""
    receiver: int
    address: str
    port: int
    due_ns: int
    """Simulated time of the next packet."""
    stop_ns: int
    interval_ns: int
    size: int
    """Bytes of payload."""
    echoed: bool
    number: int = 0
    sending: socket.socket | None = None

    @staticmethod
    def of(words: Sequence[str]) -> Probe:
        """Parses a line of the job (`job.rs`)."""
        _, sender, receiver, address, port, start, stop, interval, size, echoed = words
        times = int(start), int(stop), int(interval)
        return Probe(int(sender), int(receiver), address, int(port), *times, int(size), echoed == "1")

    def payload(self) -> bytes:
        """Payload of the next packet: its number, truncated to the size."""
        return struct.pack("=Q", self.number)[: self.size].ljust(self.size, b"\0")


class Probes:
    """All probes of a run."""

    def __init__(self, probes: list[Probe], waiting: Waiting) -> None:
        """Opens nothing yet."""
        self.probes, self.waiting = probes, waiting

    def listen(self, opened: Open) -> None:
        """Opens all sockets. Raises OSError."""
        for probe in self.probes:
            probe.sending, receiving = opened(probe.sender), opened(probe.receiver)
            for made in (probe.sending, receiving):
                made.setblocking(False)
            receiving.bind((probe.address, probe.port))
            self.waiting.watch(receiving, READ, functools.partial(_arrived, receiving, probe.echoed))
            self.waiting.watch(probe.sending, READ, functools.partial(_arrived, probe.sending, False))

    def due_ns(self) -> int:
        """Time of the next packet."""
        return min((p.due_ns for p in self.probes if p.due_ns < p.stop_ns), default=NEVER_NS)

    def on_time(self, now_ns: int) -> None:
        """Sends due packets; a packet that does not fit in the buffer is lost."""
        for probe in self.probes:
            assert probe.sending is not None, "all sockets were opened before the run"
            while probe.due_ns <= now_ns and probe.due_ns < probe.stop_ns:
                with contextlib.suppress(OSError):
                    probe.sending.sendto(probe.payload(), (probe.address, probe.port))
                probe.number += 1
                probe.due_ns += probe.interval_ns


def _arrived(made: socket.socket, echoed: bool) -> None:
    """Receives packets and echoes pings; the network has recorded their arrival."""
    for _ in range(TURN):
        try:
            packet, sender = made.recvfrom(LARGEST)
        except BlockingIOError:
            return
        except OSError:
            # An ICMP error of an earlier packet.
            continue
        if echoed:
            with contextlib.suppress(OSError):
                made.sendto(packet, sender)
