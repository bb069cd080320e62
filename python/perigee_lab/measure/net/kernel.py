# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Socket options: TCP_INFO (`struct tcp_info`), congestion control, buffers, arrival times."""

from __future__ import annotations

import socket
import struct
import sys
import time
from pathlib import Path

TCP_INFO = 11
TCP_CONGESTION = 13
SO_TIMESTAMPNS = 35
SO_MAX_PACING_RATE = 47
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
LINUX = sys.platform == "linux"
ANCILLARY_BYTES = 64
TIMESPEC = struct.Struct("@qq")
TRAIN_BUFFER_BYTES = 1 << 20
INFINITE = 0x7FFF_FFFF
NO_LIMIT = (1 << 64) - 1

# Offsets in `struct tcp_info`, which is shorter on older kernels.
FIELDS: dict[str, tuple[int, str]] = {
    "state": (0, "B"), "ca_state": (1, "B"), "unacked": (24, "I"), "sacked": (28, "I"), "lost": (32, "I"),
    "retrans": (36, "I"), "rtt_us": (68, "I"), "rttvar_us": (72, "I"), "ssthresh": (76, "I"), "cwnd": (80, "I"),
    "snd_mss": (16, "I"), "total_retrans": (100, "I"), "pacing_rate": (104, "Q"), "bytes_acked": (120, "Q"),
    "min_rtt_us": (148, "I"), "data_segs_out": (156, "I"), "delivery_rate": (160, "Q"), "busy_us": (168, "Q"),
    "rwnd_limited_us": (176, "Q"), "sndbuf_limited_us": (184, "Q"), "delivered": (192, "I"),
    "bytes_sent": (200, "Q"), "bytes_retrans": (208, "Q"), "dsack_dups": (216, "I"), "reord_seen": (220, "I"),
}  # fmt: skip
NAMES = tuple(FIELDS)
CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")


def tcp_info(sock: socket.socket) -> list[int]:
    """TCP_INFO in the order of NAMES; -1 for fields that this kernel lacks.

    Empty on other systems.
    """
    if not LINUX:
        return []
    try:
        raw = sock.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 256)
    except OSError:
        return []
    return [
        int(struct.unpack_from("=" + kind, raw, at)[0]) if at + struct.calcsize(kind) <= len(raw) else -1
        for at, kind in FIELDS.values()
    ]


def schemes() -> list[str]:
    """Available congestion controls; none on systems other than Linux."""
    try:
        text = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii")
    except OSError:
        return []
    return text.split()


def choose(sock: socket.socket, cc: str | None) -> str:
    """Sets the congestion control of a socket, if `cc` is not None.

    Returns the name of the one in use.

    Raises ValueError if it is not available.
    """
    if not LINUX:
        if cc is not None:
            raise ValueError("congestion controls can be chosen on Linux only")
        return "unknown"
    if cc is not None:
        name = "reno" if cc == "newreno" else cc
        try:
            sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
        except OSError as error:
            known = ", ".join(schemes()) or "none that is known"
            raise ValueError(f"this kernel does not give {cc} ({error.strerror}); it has {known}") from None
    found = sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).split(b"\0")[0].decode()
    return "newreno" if found == "reno" else found


def buffers(sock: socket.socket, size: int, *, sending: bool) -> int:
    """Requests a socket buffer of this many bytes; returns its size.

    The size that the kernel reports is twice the payload.
    """
    plain, forced = (socket.SO_SNDBUF, SO_SNDBUFFORCE) if sending else (socket.SO_RCVBUF, SO_RCVBUFFORCE)
    size = min(size, (1 << 30) - 1)
    try:
        if not LINUX:
            raise OSError
        sock.setsockopt(socket.SOL_SOCKET, forced, size)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, plain, size)
    given = sock.getsockopt(socket.SOL_SOCKET, plain)
    return given // 2 if LINUX else given


def limit_rate(sock: socket.socket, bytes_per_s: int) -> None:
    """Limits the socket's rate by pacing, in fq or in TCP."""
    if LINUX:
        sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=Q", bytes_per_s))


def want_arrivals(sock: socket.socket) -> None:
    """Requests the kernel's arrival timestamps."""
    if LINUX:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


def arrival(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Arrival of a packet by this machine's monotonic clock, in ns.

    Without a timestamp, this is the present time.

    The kernel's timestamps are by the wall clock. The age of the packet is subtracted from the
    present monotonic time, so that a step of the wall clock matters only if it happens within these
    microseconds.
    """
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(data) >= TIMESPEC.size:
            seconds, ns = TIMESPEC.unpack_from(data)
            wall, now = time.time_ns(), time.monotonic_ns()
            age = wall - (seconds * 10**9 + ns)
            return now - age if 0 <= age < 10**9 else now
    return time.monotonic_ns()
