# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Packet sockets at the interfaces of hosts in real time, and at interfaces of the machine.

A part of the script `namespaces.py`: it uses Python's standard library only.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import os
import socket
import struct

# Socket options (linux/if_packet.h, asm-generic/socket.h).
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


CLONE_NEWNET = 0x40000000
# Flags of an interface (netdevice(7)).
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

libc = ctypes.CDLL(None, use_errno=True)


class NamespaceError(Exception):
    """A namespace, interface or setting cannot be created."""


def enter(net: int) -> None:
    """Moves the calling thread into a network namespace."""
    if libc.setns(net, CLONE_NEWNET) != 0:
        raise NamespaceError(f"a network namespace cannot be entered: {os.strerror(ctypes.get_errno())}")


def fresh_net() -> int:
    """Moves the calling thread into a new network namespace."""
    if libc.unshare(CLONE_NEWNET) != 0:
        raise NamespaceError(f"no network namespace can be made: {os.strerror(ctypes.get_errno())}")
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def in_net(net: int, family: int, kind: int, protocol: int = 0) -> socket.socket:
    """Opens a socket in another network namespace."""
    hub = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(net)
        return socket.socket(family, kind, protocol)
    finally:
        enter(hub)
        os.close(hub)


def set_up_or_down(control: socket.socket, interface: str, *, up: bool) -> None:
    """Sets an interface up or down, in the namespace of a socket; ignores a missing one."""
    request = struct.pack("16sH22x", interface.encode(), 0)
    with contextlib.suppress(OSError):
        [flags] = struct.unpack_from("H", fcntl.ioctl(control, SIOCGIFFLAGS, request), 16)
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", interface.encode(), flags))


def plain_frames(interface: str) -> None:
    """Disables offloads: single packets, with their checksums, are on the wire."""
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
    """Opens a socket for an interface's frames, with arrival timestamps."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        # As large as the machine's limit allows; the core raises it if permitted. Overflows are
        # counted.
        made.setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
    made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    made.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
    made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    made.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    made.bind((interface, ETH_P_ALL))
    return made


def outside(name: str) -> socket.socket:
    """Opens a socket at an interface of the machine to which a device is attached as a host.

    Raises NamespaceError.
    """
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
    """Reads a setting of an interface (linux/ethtool.h); unknown ones are off."""
    value = array.array("B", struct.pack("II", command, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP", interface.encode(), value.buffer_info()[0]))
        except OSError:
            return 0
    return int(struct.unpack("II", value.tobytes())[1])


class Answerer:
    """Answers ARP requests (RFC 826) of a device attached to an interface of the machine."""

    def __init__(self, interface: str, neighbours: list[tuple[str, str]]) -> None:
        """Opens a socket in the machine's namespace; `neighbours` are pairs of IP and MAC."""
        self.known = {
            socket.inet_aton(address): bytes.fromhex(mac.replace(":", ""))
            for address, mac in neighbours
            if ":" not in address
        }
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        self.socket.bind((interface, ETH_P_ARP))

    def __call__(self) -> None:
        """Answers the next request."""
        with contextlib.suppress(OSError):
            answer = self.answer(self.socket.recv(2048))
            if answer is not None:
                self.socket.send(answer)

    def answer(self, frame: bytes) -> bytes | None:
        """The reply to a request for the address of another host."""
        head, (who, asking, wanted) = frame[14:22], (frame[22:28], frame[28:32], frame[38:42])
        mac = self.known.get(wanted)
        if head != ARP_REQUEST or mac is None:
            return None
        return who + mac + frame[12:14] + head[:7] + b"\x02" + mac + wanted + who + asking
