# SPDX-License-Identifier: Apache-2.0 OR MIT
"""UDP packets at a constant rate between hosts in real time, and pings: the same whose answers are sent back.

A part of the script `namespaces.py`: it needs nothing but Python's own library. The network measures them, as those of
a guest's agent (`agent/probes.c`).
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
# Packets that are taken at once, before others have their turn.
TURN = 64

Open = Callable[[int], socket.socket]
"""A UDP socket in the namespace of a host."""


@dataclass
class Probe:
    """A flow."""

    sender: int
    """Number of its host, as `receiver`."""
    receiver: int
    address: str
    port: int
    due_ns: int
    """Simulated time of the next packet."""
    stop_ns: int
    interval_ns: int
    size: int
    """Of the payload, in bytes."""
    echoed: bool
    number: int = 0
    sending: socket.socket | None = None

    @staticmethod
    def of(words: Sequence[str]) -> Probe:
        """From a line of the job (`job.rs`)."""
        _, sender, receiver, address, port, start, stop, interval, size, echoed = words
        times = int(start), int(stop), int(interval)
        return Probe(int(sender), int(receiver), address, int(port), *times, int(size), echoed == "1")

    def payload(self) -> bytes:
        """Of the next packet: its number, as far as there is room."""
        return struct.pack("=Q", self.number)[: self.size].ljust(self.size, b"\0")


class Probes:
    """All of a run."""

    def __init__(self, probes: list[Probe], waiting: Waiting) -> None:
        """Nothing is open yet."""
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
        """When the next packet is."""
        return min((p.due_ns for p in self.probes if p.due_ns < p.stop_ns), default=NEVER_NS)

    def on_time(self, now_ns: int) -> None:
        """Sends what is due. A packet that finds no room is lost, as any other."""
        for probe in self.probes:
            assert probe.sending is not None, "all sockets were opened before the run"
            while probe.due_ns <= now_ns and probe.due_ns < probe.stop_ns:
                with contextlib.suppress(OSError):
                    probe.sending.sendto(probe.payload(), (probe.address, probe.port))
                probe.number += 1
                probe.due_ns += probe.interval_ns


def _arrived(made: socket.socket, echoed: bool) -> None:
    """Takes packets, and sends them back where that is wanted: the network has seen when they came."""
    for _ in range(TURN):
        try:
            packet, sender = made.recvfrom(LARGEST)
        except BlockingIOError:
            return
        except OSError:
            # What the machine says of an earlier packet.
            continue
        if echoed:
            with contextlib.suppress(OSError):
                made.sendto(packet, sender)
