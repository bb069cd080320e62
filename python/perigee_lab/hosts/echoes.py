# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pings between hosts in real time, before the run.

A part of the script `namespaces.py`: it uses Python's standard library only.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from perigee_lab.hosts.ports import in_net
from perigee_lab.hosts.reports import ANSWERED, send

AGAIN_S = 0.1
# ICMP types of echo request and reply (RFC 792, RFC 4443).
ECHO: dict[int, tuple[int, int]] = {socket.AF_INET: (8, 0), socket.AF_INET6: (128, 129)}

Asked = dict[tuple[int, int], socket.socket]
"""Sockets of pings, by host and IP version."""


@dataclass
class Ping:
    """A ping from one host to another: a line of the job."""

    number: int
    host: int
    address: str

    @property
    def family(self) -> socket.AddressFamily:
        """Address family of the target."""
        return socket.AF_INET6 if ":" in self.address else socket.AF_INET

    def message(self) -> bytes:
        """The ICMP message; for IPv6 the kernel computes the checksum."""
        kind, _ = ECHO[self.family]
        words = [kind << 8, 0, self.number, 0, *[0] * 28]
        total = sum(words)
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        words[1] = ~total & 0xFFFF if self.family == socket.AF_INET else 0
        return struct.pack(f"!{len(words)}H", *words)


def open_pings(pings: list[Ping], net: Callable[[int], int]) -> Asked:
    """Opens sockets in the namespaces of the hosts."""
    made: Asked = {}
    for ping in pings:
        key = (ping.host, ping.family)
        if key not in made:
            protocol = socket.IPPROTO_ICMP if ping.family == socket.AF_INET else socket.IPPROTO_ICMPV6
            made[key] = in_net(net(ping.host), ping.family, socket.SOCK_RAW, protocol)
    return made


def ask(control: socket.socket, pings: list[Ping], sockets: Asked) -> None:
    """Sends pings until they are answered, and reports replies, until the core sends a message.

    An interface that was just created may lose packets for some milliseconds.
    """
    waiting = {ping.number: ping for ping in pings}
    again = 0.0
    with selectors.DefaultSelector() as selector:
        for watched in (control, *sockets.values()):
            selector.register(watched, selectors.EVENT_READ)
        while True:
            if waiting and time.monotonic() >= again:
                for ping in waiting.values():
                    # The core treats unsent pings as unanswered.
                    with contextlib.suppress(OSError):
                        sockets[ping.host, ping.family].sendto(ping.message(), (ping.address, 0))
                again = time.monotonic() + AGAIN_S
            ready = [key.fileobj for key, _ in selector.select(AGAIN_S if waiting else None)]
            if control in ready:
                break
            for answered in ready:
                assert isinstance(answered, socket.socket)
                packet = answered.recv(2048)
                # IPv4 sockets also receive the IP header.
                message = packet[(packet[0] & 15) * 4 :] if answered.family == socket.AF_INET else packet
                if len(message) >= 8 and message[0] == ECHO[answered.family][1]:
                    number = int.from_bytes(message[4:6], "big")
                    if waiting.pop(number, None) is not None:
                        send(control, ANSWERED, number)
    for done in sockets.values():
        done.close()
