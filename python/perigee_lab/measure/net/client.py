# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measurement client: authenticated connections, downloads and uploads."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perigee_lab.measure.net import fields, kernel, transfer
from perigee_lab.measure.net.protocol import REPLY, SERIES, Bound, Channel, MeasureError, StrangerError

PATIENCE_S = 15.0
EARLY = "ended early"
"""Part of the warning about a truncated transfer."""
# A server that greets and then closes the connection at our first message this many times in a row
# has another key. If that happens only once, the server may have been stopped, or an outage may
# have exceeded its timeout for unauthenticated clients.
REFUSALS, REFUSED_PAUSE_S = 3, 0.5
MAX_BYTES = 1 << 50


@dataclass(frozen=True)
class Peer:
    """A server and the shared key."""

    host: str
    port: int
    key: bytes

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass
class Asked:
    """A channel to a server, and the server's first reply."""

    channel: Channel
    reply: dict[str, Any]
    began_ns: int
    """Start of the connection on the monotonic clock."""
    connect_ns: int
    """Duration of the TCP handshake, which is one RTT."""


@dataclass
class Transfer:
    """Observations of a transfer at both ends; times in ns since the start of its connection."""

    cc: str
    receiver: transfer.Series
    sender: transfer.Series | None
    """None: the sender could not be queried."""
    sender_zero_ns: int
    """Zero of the sender's clock on the receiver's clock, accurate to half the asymmetry of the
    RTT."""
    connect_ns: int
    origin: str
    target: str
    buffer: int | None = None
    """Payload capacity of the far end's socket buffer, if one was requested."""
    remarks: list[str] = field(default_factory=list)


def ask(
    peer: Peer, request: Mapping[str, Any], *, cc: str | None = None, buffer: int | None = None, bound: Bound = REPLY
) -> Asked:
    """Connects and sends a request; its answer is within the bound.

    Raises MeasureError on permanent errors, OSError on errors that may be temporary.
    """
    for _ in range(REFUSALS - 1):
        try:
            return _ask_once(peer, request, cc, buffer, bound)
        except _HungUpError:
            time.sleep(REFUSED_PAUSE_S)
    try:
        return _ask_once(peer, request, cc, buffer, bound)
    except _HungUpError:
        raise MeasureError(
            f"{peer}: the server does not take our key ({REFUSALS} times it hung up at what we said first): give both "
            "ends the same one (perigee measure key FILE makes it)"
        ) from None


class _HungUpError(ConnectionError):
    """The server greeted us and closed the connection at our first message."""


def _ask_once(peer: Peer, request: Mapping[str, Any], cc: str | None, buffer: int | None, bound: Bound) -> Asked:
    greeted = False
    began = time.monotonic_ns()
    sock = _connected(peer, cc, buffer)
    took = time.monotonic_ns() - began
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        channel = Channel.connect(sock, peer.key)
        greeted = True
        channel.send(request)
        reply = channel.receive(bound)
    except StrangerError as error:
        sock.close()
        raise MeasureError(f"{peer}: {error}") from None
    except ConnectionError as error:
        sock.close()
        # Without the key, the server closes the connection without a message; so does a server that
        # is being stopped.
        kind = _HungUpError if greeted else ConnectionError
        raise kind(f"{peer}: {error.strerror or error}") from None
    except OSError:
        sock.close()
        raise
    if "error" in reply:
        sock.close()
        raise MeasureError(f"{peer}: {str(reply['error'])[:300]}")
    sock.settimeout(None)
    return Asked(channel, reply, began, took)


def _connected(peer: Peer, cc: str | None, buffer: int | None) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(peer.host, peer.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        # Name resolution may fail while the network is down.
        raise OSError(f"{peer.host}: {error.strerror}") from None
    problem: OSError = OSError("it has no address")
    for family, kind, protocol, _, address in addresses:
        sock = socket.socket(family, kind, protocol)
        try:
            # Buffers determine the window scale, which is sent in the SYN.
            if buffer is not None:
                kernel.buffers(sock, buffer, sending=False)
            if cc is not None:
                kernel.choose(sock, cc)
            sock.settimeout(PATIENCE_S)
            sock.connect(address)
        except ValueError as error:
            sock.close()
            raise MeasureError(f"here {error}") from None
        except OSError as error:
            sock.close()
            problem = error
            continue
        return sock
    raise OSError(f"{peer}: {problem.strerror or problem}")


def download(
    peer: Peer, *, cc: str | None, most_bytes: int | None, most_ns: int | None, sample_ns: int, limit_ns: int,
    buffer: int | None = None,
) -> Transfer:  # fmt: skip
    """Downloads bulk data from the server. Raises MeasureError; OSError if nothing arrived."""
    request = {"do": "download", "cc": cc, "bytes": most_bytes, "ns": most_ns, "sample_ns": sample_ns, "buffer": buffer}
    asked = ask(peer, request, buffer=buffer)
    sock, reply = asked.channel.sock, asked.reply
    answered = time.monotonic_ns() - asked.began_ns
    with sock:
        origin, target = sock.getpeername()[0], sock.getsockname()[0]
        chosen, given = fields.text(reply, "cc"), fields.maybe(reply, "buffer")
        most = MAX_BYTES if most_bytes is None else most_bytes
        got = transfer.receive(sock, sample_ns, most_bytes=most, limit_ns=limit_ns, begin_ns=asked.began_ns)
    found = Transfer(chosen, got, None, answered - asked.connect_ns // 2, asked.connect_ns, origin, target)
    found.buffer = given
    if got.why:
        found.remarks.append(f"the download {EARLY}: {got.why}")
    if most_bytes is not None and got.total[-1] < most_bytes and not got.why:
        found.remarks.append(f"the download {EARLY}: {got.total[-1]} of {most_bytes} bytes came")
    elif most_ns is not None and not got.why and _cut_short(got, most_ns, asked.connect_ns):
        came_ns = got.done_ns - (got.first_ns or 0)
        found.remarks.append(f"the download {EARLY}: data came for {came_ns / 1e9:.1f} of {most_ns / 1e9:g} s")
    try:
        told = ask(peer, {"do": "series", "ticket": fields.text(reply, "ticket")}, bound=SERIES)
        told.channel.sock.close()
        found.sender = _series(told.reply)
    except (OSError, MeasureError) as error:
        found.remarks.append(f"what the sender saw is missing: {error}")
    return found


def _cut_short(got: transfer.Series, most_ns: int, rtt_ns: int) -> bool:
    """Whether data stopped long before the end of the transfer.

    A sender that waits for ACKs is silent for one RTT, but not longer.
    """
    return got.first_ns is None or got.done_ns - got.first_ns + 2 * rtt_ns < 0.9 * most_ns


def upload(
    peer: Peer, *, cc: str | None, most_bytes: int | None, most_ns: int | None, sample_ns: int, limit_ns: int,
    buffer: int | None = None,
) -> Transfer:  # fmt: skip
    """Uploads bulk data to the server. Raises MeasureError; OSError if nothing was sent."""
    request = {"do": "upload", "bytes": most_bytes, "ns": most_ns, "sample_ns": sample_ns, "buffer": buffer}
    asked = ask(peer, request, cc=cc)
    sock = asked.channel.sock
    with sock:
        origin, target = sock.getsockname()[0], sock.getpeername()[0]
        chosen = kernel.choose(sock, None)
        if buffer is not None:
            kernel.buffers(sock, buffer, sending=True)
        zero = time.monotonic_ns() - asked.began_ns
        sent = transfer.send(sock, sample_ns, most_bytes=most_bytes, most_ns=most_ns, limit_ns=limit_ns)
        remarks = [f"the upload {EARLY}: {sent.why}"] if sent.why else []
        try:
            sock.settimeout(PATIENCE_S)
            got = _series(asked.channel.receive(SERIES))
            if not got.t_ns:
                raise MeasureError("the server's series is empty")
        except (OSError, StrangerError, MeasureError) as error:
            remarks.append(f"what the receiver saw is missing: {error}")
            got = _as_received(sent)
    # The zero of the receiver's clock is the departure of its answer, half an RTT before the
    # sender's zero.
    early = zero - asked.connect_ns // 2
    got.t_ns = [t + early for t in got.t_ns]
    got.first_ns = None if got.first_ns is None else got.first_ns + early
    got.done_ns += early
    given = fields.maybe(asked.reply, "buffer")
    found = Transfer(chosen, got, sent, zero, asked.connect_ns, origin, target, given, remarks)
    if most_bytes is not None and got.total and got.total[-1] < most_bytes and not sent.why:
        found.remarks.append(f"the upload {EARLY}: {got.total[-1]} of {most_bytes} bytes came")
    return found


def _as_received(sent: transfer.Series) -> transfer.Series:
    """Acknowledged data, as a substitute for the receiver's series."""
    found = transfer.Series(sent.started_ns, list(sent.t_ns), list(sent.total))
    at = kernel.NAMES.index("bytes_acked")
    if len(sent.info) == len(sent.t_ns):
        found.total = [max(0, row[at]) for row in sent.info]
    found.done_ns = sent.done_ns
    return found


def _series(message: Mapping[str, Any]) -> transfer.Series:
    """Decodes a series of the other end; its kernel may have other fields. Raises MeasureError."""
    t, total = fields.column(message, "t_ns"), fields.column(message, "total")
    known = fields.texts(message, "names")
    where = [known.index(n) if n in known else None for n in kernel.NAMES]
    info = [[-1 if i is None else row[i] for i in where] for row in fields.rows(message, "info", len(known))]
    if len(t) != len(total):
        raise MeasureError("the server's series cannot be read: columns of different lengths")
    first, done = fields.maybe(message, "first_ns"), fields.whole(message, "done_ns")
    return transfer.Series(0, t, total, info, first, done, str(message.get("why", ""))[:200])
