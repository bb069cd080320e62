# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Proxies of split connections in real time: data from one leg is written to the next.

A part of the script `namespaces.py`: it uses Python's standard library only. The SYN of a leg opens
the next one: proxies read SYNs from a packet socket, while the kernel answers them at once, as in
virtual time (`agent/relay.c`).
"""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perigee_lab.hosts.waiting import READ, WRITE

if TYPE_CHECKING:
    from perigee_lab.hosts.transfers import Transfer, Transfers

BLOCK = 1 << 15
ETH_P_IP, SO_ATTACH_FILTER = 0x0800, 26
# Classic BPF (linux/filter.h): loads of a byte and of two, a jump if equal, an AND, a return.
_BYTE, _HALF, _EQUAL, _AND, _RETURN = 0x30, 0x28, 0x15, 0x54, 0x06

OpenPackets = Callable[[int], socket.socket]
"""A packet socket for IP without Ethernet headers (SOCK_DGRAM) at the interface of a host."""


@dataclass
class Relay:
    """A proxy at the end of a flow."""

    after: Transfer
    """The flow of the next leg."""
    opened: OpenPackets
    syns: socket.socket | None = None
    held: memoryview = field(default_factory=lambda: memoryview(b""))
    """Data read from one leg but not yet written to the next."""

    def listen(self, host: int, port: int) -> socket.socket:
        """Opens a socket that receives SYNs for a port."""
        self.syns = self.opened(host)
        hear_syns(self.syns, port)
        return self.syns

    def carry_on(self, transfers: Transfers, flow: Transfer) -> None:
        """Forwards data that fits in the buffer; waits for either leg."""
        after = self.after
        while flow.receiving is not None and after.connected and after.sending is not None:
            if not self.held:
                got = self._read(flow)
                if not got:
                    transfers.await_sender(after, 0)
                    transfers.await_receiver(flow, 0 if got is not None else READ)
                    return
                flow.received += len(got)
                self.held = memoryview(got)
            try:
                sent = after.sending.send(self.held)
            except BlockingIOError:
                transfers.await_sender(after, WRITE)
                transfers.await_receiver(flow, 0)
                return
            except OSError as error:
                transfers.fail(after, error)
                return
            after.written += sent
            self.held = self.held[sent:]
        # Data that arrives before the next leg is open waits in the kernel.
        transfers.await_receiver(flow, 0)
        if after.connected:
            transfers.await_sender(after, 0)

    @staticmethod
    def _read(flow: Transfer) -> bytes | None:
        """Received data; None = nothing yet, empty = end of data."""
        assert flow.receiving is not None, "its connection is there"
        try:
            return flow.receiving.recv(BLOCK)
        except BlockingIOError:
            return None
        except OSError:
            return b""


def hear_syns(made: socket.socket, port: int) -> None:
    """Filters a packet socket for initial SYNs to a TCP port, of IP packets without options."""
    code = [
        (_BYTE, 0, 0, 9),
        (_EQUAL, 0, 6, socket.IPPROTO_TCP),
        (_HALF, 0, 0, 22),
        (_EQUAL, 0, 4, port),
        (_BYTE, 0, 0, 33),
        (_AND, 0, 0, 0x12),
        (_EQUAL, 0, 1, 0x02),
        (_RETURN, 0, 0, 1),
        (_RETURN, 0, 0, 0),
    ]
    text = b"".join(struct.pack("=HBBI", *line) for line in code)
    kept = ctypes.create_string_buffer(text)
    made.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(code), ctypes.addressof(kept)))
