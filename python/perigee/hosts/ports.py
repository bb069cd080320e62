# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Packet sockets at the interfaces of hosts in real time, and devices behind interfaces of the machine.

A part of the script `namespaces.py`: it needs nothing but Python's own library.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import socket
import struct

# Sockets (linux/if_packet.h, asm-generic/socket.h).
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_QDISC_BYPASS, PACKET_IGNORE_OUTGOING = 263, 1, 20, 23
PACKET_MR_PROMISC = 1
SO_TIMESTAMPNS, SO_RXQ_OVFL = 35, 40
SOCKET_BYTES = 16 << 20
ETH_P_ALL, ETH_P_ARP = 3, 0x0806
ARP_REQUEST = bytes.fromhex("0001080006040001")
# Offloads (linux/ethtool.h): checksums and scatter-gather, TSO, GSO, GRO.
SIOCETHTOOL = 0x8946
OFFLOADS = {0x15: "rx", 0x17: "tx", 0x1F: "tso", 0x24: "gso", 0x2C: "gro"}
NEEDED = (0x17, 0x1F, 0x24, 0x2C)
MERGING = {0x2B: "gro"}


class NamespaceError(Exception):
    """What cannot be made, and why."""


def plain_frames(interface: str) -> None:
    """Single packets with their checksums on the wire: no segmentation or checksum is left to a device."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command, name in OFFLOADS.items():
            value = array.array("B", struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
            try:
                fcntl.ioctl(control, SIOCETHTOOL, request)
            except OSError as error:
                if command in NEEDED:
                    raise NamespaceError(f"{interface}: {name} offload cannot be turned off: {error}") from None


def packet_socket(interface: str) -> socket.socket:
    """Sends and receives an interface's frames, with the instants at which they came."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        # As much as the machine's limit allows; where the core may, it takes more. What does not fit is counted.
        made.setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
    made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    made.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
    made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    made.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    made.bind((interface, ETH_P_ALL))
    return made


def outside(name: str) -> socket.socket:
    """The socket at an interface of the machine, behind which a device is a host. Raises NamespaceError."""
    merged = [what for command, what in MERGING.items() if offload(name, command)]
    if merged:
        raise NamespaceError(
            f"interface {name} merges packets ({', '.join(merged)}): as root, ethtool -K {name} {merged[0]} off"
        )
    made = packet_socket(name)
    wanted = struct.pack("iHH8s", socket.if_nametoindex(name), PACKET_MR_PROMISC, 0, b"")
    made.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, wanted)
    return made


def offload(interface: str, command: int) -> int:
    """Asks an interface for a setting (linux/ethtool.h); what it does not know is off."""
    value = array.array("B", struct.pack("II", command, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP", interface.encode(), value.buffer_info()[0]))
        except OSError:
            return 0
    return int(struct.unpack("II", value.tobytes())[1])


class Answerer:
    """Tells a device behind an interface of the machine where the other hosts are (ARP, RFC 826)."""

    def __init__(self, interface: str, neighbours: list[tuple[str, str]]) -> None:
        """In the machine's namespace; `neighbours` have addresses and hardware addresses."""
        self.known = {
            socket.inet_aton(address): bytes.fromhex(mac.replace(":", ""))
            for address, mac in neighbours
            if ":" not in address
        }
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        self.socket.bind((interface, ETH_P_ARP))

    def __call__(self) -> None:
        """Answers the next question."""
        with contextlib.suppress(OSError):
            answer = self.answer(self.socket.recv(2048))
            if answer is not None:
                self.socket.send(answer)

    def answer(self, frame: bytes) -> bytes | None:
        """To a request for the address of another host."""
        head, (who, asking, wanted) = frame[14:22], (frame[22:28], frame[28:32], frame[38:42])
        mac = self.known.get(wanted)
        if head != ARP_REQUEST or mac is None:
            return None
        return who + mac + frame[12:14] + head[:7] + b"\x02" + mac + wanted + who + asking
