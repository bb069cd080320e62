# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee measure serve`: probes and bulk transfers for authenticated clients."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from perigee_lab.measure.net import kernel, protocol, transfer
from perigee_lab.measure.net.limits import Bucket, Daily, Limits, Lobby, fit_descriptors
from perigee_lab.measure.net.protocol import Channel, MeasureError, StrangerError

MAX_NUMBER = 1 << 28
EARLY_NUMBERS = 10_000
"""Probes that a session may have sent in no time, in addition to twice its rate."""
MISSING_STEP = 1 << 23
KEPT_SERIES = 256
KEPT_S = 3600.0
LEAST_SAMPLE_NS = 10_000_000
MAX_TOLD_GAPS = 100_000
SILENCE_S = 300.0
"""A session ends after this time without a message of its client."""
HOLD_NS = 500_000_000
"""Delay of answers to a train that lost its last probe."""
LOOK_S = 0.25
MOST_IN_TRAIN = 100
LEAST_BUFFER_BYTES = 1 << 16


@dataclass
class Session:
    """A client's session of probes."""

    number: int
    key: bytes
    address: str
    """The only address from which probes are accepted."""
    size: int
    bucket: Bucket
    train: int = 0
    """Probes per train; 0: each probe is answered immediately."""
    per_s: float = 2000.0
    """Agreed probes per second."""
    began_ns: int = field(default_factory=time.monotonic_ns)
    held: list[tuple[protocol.Seen, int, Any]] = field(default_factory=list)
    """Probes of an incomplete train, with their arrival times and source addresses."""
    seen: bytearray = field(default_factory=bytearray)
    """Bitmap of received numbers."""
    came: int = 0
    duplicates: int = 0
    reordered: int = 0
    highest: int = -1

    def first_time(self, number: int) -> bool:
        """Registers a probe; returns False if it is a duplicate."""
        at, bit = number >> 3, 1 << (number & 7)
        if at >= len(self.seen):
            self.seen.extend(bytes(max(4096, at + 1 - len(self.seen))))
        if self.seen[at] & bit:
            self.duplicates += 1
            return False
        self.seen[at] |= bit
        self.came += 1
        self.reordered += number < self.highest
        self.highest = max(self.highest, number)
        return True

    def may_have_sent(self, number: int) -> bool:
        """Whether a probe may have this number by now: its client numbers those that it sends."""
        elapsed_s = (time.monotonic_ns() - self.began_ns) / 1e9
        return number < min(MAX_NUMBER, EARLY_NUMBERS + int(2 * self.per_s * elapsed_s))

    def missing(self, below: int) -> list[list[int]]:
        """Ranges (first, last) of the numbers that were not received."""
        import numpy as np

        below = min(below, MAX_NUMBER)
        there = min(below, 8 * len(self.seen))
        found: list[list[int]] = []
        for start in range(0, there, MISSING_STEP):
            end = min(there, start + MISSING_STEP)
            bits = np.unpackbits(
                np.frombuffer(bytes(self.seen[start // 8 : (end + 7) // 8]), np.uint8), bitorder="little"
            )
            lost = np.flatnonzero(np.diff(np.concatenate(([1], bits[: end - start], [1])).astype(np.int8)))
            for first, after in zip(lost[0::2].tolist(), lost[1::2].tolist(), strict=True):
                _extend(found, start + first, start + after - 1)
        if there < below:
            _extend(found, there, below - 1)
        return found


def _extend(ranges: list[list[int]], first: int, last: int) -> None:
    """Appends a range, or lengthens the one before it."""
    if ranges and ranges[-1][1] == first - 1:
        ranges[-1][1] = last
    elif len(ranges) < MAX_TOLD_GAPS:
        ranges.append([first, last])


class Server:
    """Measurement server on one port, for TCP and UDP."""

    def __init__(self, key: bytes, host: str = "", port: int = protocol.PORT, limits: Limits | None = None) -> None:
        """Binds the port. Raises MeasureError."""
        self.key, self.limits = key, fit_descriptors(limits or Limits())
        self.daily = Daily(self.limits.daily_bytes)
        self.sessions: dict[int, Session] = {}
        self.holding: dict[int, Session] = {}
        """Sessions that hold answers; used by the answering thread only."""
        self.series: dict[str, tuple[float, bytes]] = {}
        """Packed series of completed downloads, with their times."""
        self.counts: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.lobby = Lobby(self.limits.strangers, self.limits.strangers_of_one)
        self.connections = threading.BoundedSemaphore(self.limits.connections)
        self.stopped = threading.Event()
        self.tcp, self.udp = _bound(host, port)
        self.port: int = self.tcp.getsockname()[1]

    def start(self) -> None:
        """Starts the serving threads."""
        for work in (self._accept, self._answer):
            threading.Thread(target=work, daemon=True, name=f"measure{work.__name__}").start()

    def stop(self) -> None:
        """Stops the server; transfers in progress are cut."""
        self.stopped.set()
        for sock in (self.tcp, self.udp):
            sock.close()

    # Probes.

    def _answer(self) -> None:
        """Answers probes; other datagrams are dropped after their header has been checked."""
        while not self.stopped.is_set():
            try:
                packet, ancillary, _, address = self.udp.recvmsg(2048, kernel.ANCILLARY_BYTES)
            except TimeoutError:
                self._leave_late(time.monotonic_ns())
                continue
            except OSError:
                if self.stopped.is_set():
                    return
                continue
            arrived = kernel.arrival(ancillary)
            self.counts["datagrams"] += 1
            self._leave_late(arrived)
            self._one_probe(packet, arrived, address)

    def _one_probe(self, packet: bytes, arrived: int, address: Any) -> None:
        claimed = protocol.session_of(packet, protocol.ASK, protocol.TRAIN)
        session = None if claimed is None else self.sessions.get(claimed)
        if session is None or address[0] != session.address or len(packet) != session.size:
            self.counts["strange datagrams"] += 1
            return
        asked = protocol.verified(session.key, packet)
        if asked is None or not session.may_have_sent(asked.number) or not session.bucket.take(arrived):
            self.counts["strange datagrams"] += 1
            return
        # Duplicates are not answered, so that a captured probe cannot be replayed.
        if not session.first_time(asked.number):
            return
        if session.train == 0:
            self._reply(session, asked, arrived, address)
            return
        if session.held and asked.before != session.held[0][0].before:
            self._leave(session)
        session.held.append((asked, arrived, address))
        self.holding[session.number] = session
        if asked.number >= asked.before or len(session.held) >= session.train:
            self._leave(session)

    def _reply(self, session: Session, asked: protocol.Seen, arrived: int, address: Any) -> None:
        reply = protocol.answer(session.key, asked, arrived, time.monotonic_ns(), session.came, session.size)
        with contextlib.suppress(OSError):
            self.udp.sendto(reply, address)
            self.counts["answers"] += 1

    def _leave(self, session: Session) -> None:
        """Answers the received probes of a train back to back."""
        for asked, arrived, address in session.held:
            self._reply(session, asked, arrived, address)
        session.held.clear()
        self.holding.pop(session.number, None)

    def _leave_late(self, now: int) -> None:
        """Answers trains that lost their last probe."""
        for session in [s for s in self.holding.values() if now - s.held[0][1] > HOLD_NS]:
            self._leave(session)

    # Connections.

    def _accept(self) -> None:
        while not self.stopped.is_set():
            try:
                sock, address = self.tcp.accept()
            except TimeoutError:
                continue
            except OSError:
                if self.stopped.is_set():
                    return
                time.sleep(0.05)
                continue
            self.counts["connections"] += 1
            displaced = self.lobby.enter(sock, address[0])
            if displaced is not None:
                self.counts["displaced connections"] += 1
                _cut(displaced)
            try:
                threading.Thread(target=self._serve, args=(sock, address), daemon=True).start()
            except RuntimeError:
                # The system has no thread left.
                self.lobby.leave(sock)
                sock.close()

    def _serve(self, sock: socket.socket, address: Any) -> None:
        """Serves one connection."""
        with sock:
            try:
                # Short answers must not wait for the acknowledgements of earlier answers.
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                channel, request = self._greeted(sock)
            except (OSError, StrangerError):
                self.counts["strangers"] += 1
                return
            finally:
                self.lobby.leave(sock)
            if not self.connections.acquire(blocking=False):
                with contextlib.suppress(OSError):
                    channel.send({"error": "the server is busy: it has as many connections as it may have"})
                return
            try:
                self._work(channel, request, address)
            except (OSError, StrangerError):
                self.counts["broken connections"] += 1
            finally:
                self.connections.release()

    def _greeted(self, sock: socket.socket) -> tuple[Channel, dict[str, Any]]:
        """Receives greeting and first message before the timeout for unauthenticated clients."""
        patience_s = self.limits.patience_s / (4 if self.lobby.is_crowded() else 1)
        sock.settimeout(patience_s)
        guard = threading.Timer(patience_s, _cut, (sock,))
        guard.daemon = True
        guard.start()
        try:
            channel = Channel.accept(sock, self.key)
            self.lobby.greet(sock)
            request = channel.receive()
        finally:
            guard.cancel()
        sock.settimeout(None)
        return channel, request

    def _work(self, channel: Channel, request: dict[str, Any], address: Any) -> None:
        does: dict[str, Callable[[Channel, dict[str, Any], Any], None]] = {
            "pings": self._pings, "trains": self._pings, "download": self._download, "upload": self._upload,
            "series": self._told,
        }  # fmt: skip
        what = request.get("do")
        work = does.get(what) if isinstance(what, str) else None
        if work is None:
            channel.send({"error": f"this server does not know {str(what)[:40]!r}"})
            return
        try:
            work(channel, request, address)
        except _Refused as why:
            channel.send({"error": str(why)})

    def _pings(self, channel: Channel, request: dict[str, Any], address: Any) -> None:
        """Runs a session of probes until the client ends it or disappears."""
        limits = self.limits
        size = _whole(request, "size", protocol.PROBE_BYTES, limits.probe_bytes)
        rate = _whole(request, "per_s", 1, limits.probes_per_s)
        train = _whole(request, "train", 2, MOST_IN_TRAIN) if request["do"] == "trains" else 0
        number = secrets.randbits(64)
        # The bucket allows more than the agreed rate, since queued probes arrive in bursts.
        bucket = Bucket(max(100.0, 1.5 * rate))
        session = Session(number, channel.key_for(b"probes"), address[0], size, bucket, train, per_s=rate)
        with self.lock:
            if len(self.sessions) >= limits.sessions:
                raise _Refused("the server has as many sessions of probes as it may have")
            self.sessions[number] = session
        try:
            channel.send({"session": number, "port": self.port})
            # The client sends a keep-alive every minute.
            channel.sock.settimeout(SILENCE_S)
            while True:
                asked = channel.receive()
                below = _whole(asked, "sent", 0, MAX_NUMBER)
                counted = {"came": session.came, "duplicates": session.duplicates, "reordered": session.reordered}
                last = asked.get("do") == "end"
                channel.send({**counted, "missing": session.missing(below) if last else []})
                if last:
                    return
        finally:
            with self.lock:
                del self.sessions[number]

    def _download(self, channel: Channel, request: dict[str, Any], address: Any) -> None:
        """Sends bulk data; keeps the series for a later request."""
        most_bytes, most_ns, sample_ns = self._agreed(request)
        sock = channel.sock
        cc = _chosen(sock, request)
        given = _buffer(sock, request, sending=True)
        if self.limits.rate_bytes_per_s is not None:
            kernel.limit_rate(sock, self.limits.rate_bytes_per_s)
        ticket = secrets.token_hex(8)
        channel.send({"ticket": ticket, "cc": cc, "buffer": given})
        limit_ns = self.limits.transfer_ns
        found = transfer.send(
            sock, sample_ns, most_bytes=most_bytes, most_ns=most_ns, limit_ns=limit_ns, budget=self.daily
        )
        self._keep(ticket, protocol.packed(found.message() | {"cc": cc}))

    def _upload(self, channel: Channel, request: dict[str, Any], address: Any) -> None:
        """Receives bulk data and returns its series."""
        most_bytes, _, sample_ns = self._agreed(request)
        given = _buffer(channel.sock, request, sending=False)
        channel.send({"buffer": given})
        most = self.limits.transfer_bytes if most_bytes is None else most_bytes
        limits = self.limits
        if limits.rate_bytes_per_s is not None and request.get("buffer") is None:
            # Data in the socket buffer have already crossed the network. The buffer holds one
            # second's worth, so that one second is also the longest RTT at which the window permits
            # the rate.
            kernel.buffers(channel.sock, max(LEAST_BUFFER_BYTES, limits.rate_bytes_per_s), sending=False)
        found = transfer.receive(
            channel.sock,
            sample_ns,
            most_bytes=most,
            limit_ns=limits.transfer_ns,
            bytes_per_s=limits.rate_bytes_per_s,
            budget=self.daily,
        )
        channel.sock.settimeout(self.limits.patience_s)
        channel.send(found.message())

    def _told(self, channel: Channel, request: dict[str, Any], address: Any) -> None:
        """Sends the series of a completed download."""
        ticket = str(request.get("ticket"))
        until = time.monotonic() + 10.0
        while True:
            with self.lock:
                kept = self.series.pop(ticket, None)
            if kept is not None or time.monotonic() > until:
                break
            time.sleep(0.05)
        if kept is None:
            raise _Refused("the server has no such series")
        channel.send_packed(kept[1])

    def _agreed(self, request: dict[str, Any]) -> tuple[int | None, int | None, int]:
        limits = self.limits
        most_bytes = most_ns = None
        if request.get("bytes") is not None:
            most_bytes = _whole(request, "bytes", 1, limits.transfer_bytes)
        if request.get("ns") is not None:
            most_ns = _whole(request, "ns", 1, limits.transfer_ns)
        if most_bytes is None and most_ns is None:
            raise _Refused("neither an amount nor a time was asked for")
        left = self.daily.left()
        if left < (most_bytes or 1):
            raise _Refused(f"the server's daily amount leaves {left} bytes")
        return most_bytes, most_ns, _whole(request, "sample_ns", LEAST_SAMPLE_NS, 10**10)

    def _keep(self, ticket: str, body: bytes) -> None:
        """Keeps a series, and drops the oldest ones: bounded in time, number and bytes of all."""
        now = time.monotonic()
        with self.lock:
            self.series[ticket] = (now, body)
            size = sum(len(kept) for _, kept in self.series.values())
            for t, (since, kept) in list(self.series.items()):
                if now - since <= KEPT_S and len(self.series) <= KEPT_SERIES and size <= self.limits.kept_bytes:
                    break
                del self.series[t]
                size -= len(kept)


class _Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that exceeds the server's limits."""


def _whole(request: dict[str, Any], key: str, least: int, most: int) -> int:
    value = request.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _Refused(f"{key} = {str(value)[:40]}: this server gives {least} to {most}")
    return value


def _chosen(sock: socket.socket, request: dict[str, Any]) -> str:
    cc = request.get("cc")
    if cc is not None and not (isinstance(cc, str) and cc.isascii() and 0 < len(cc) < 16):
        raise _Refused("a congestion control has a short name")
    try:
        return kernel.choose(sock, cc)
    except ValueError as error:
        raise _Refused(f"at the server {error}") from None


def _buffer(sock: socket.socket, request: dict[str, Any], *, sending: bool) -> int | None:
    if request.get("buffer") is None:
        return None
    return kernel.buffers(sock, _whole(request, "buffer", 1 << 12, 1 << 30), sending=sending)


def _cut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _bound(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    """Binds both sockets to one port, for IPv6 and IPv4 if both are available.

    Raises MeasureError.
    """
    try:
        dual = not host and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if dual or ":" in host else socket.AF_INET
        tcp = socket.create_server((host, port), family=family, dualstack_ipv6=dual, backlog=128)
        udp = socket.socket(family, socket.SOCK_DGRAM)
        if dual:
            udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        udp.bind((host, tcp.getsockname()[1]))
    except OSError as error:
        raise MeasureError(
            f"cannot listen on port {port}{f' of {host}' if host else ''}: {error.strerror or error}"
        ) from None
    kernel.want_arrivals(udp)
    kernel.buffers(udp, kernel.TRAIN_BUFFER_BYTES, sending=False)
    tcp.settimeout(1.0)
    udp.settimeout(LOOK_S)
    return tcp, udp
