# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Client side of probes: UDP packets at a constant rate or in trains, with four timestamps each."""

from __future__ import annotations

import contextlib
import queue
import select
import socket
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from perigee_lab.measure.net import fields, kernel, protocol
from perigee_lab.measure.net.client import Asked, Peer, ask
from perigee_lab.measure.net.protocol import MeasureError, StrangerError

LATE_S = 5.0
"""Maximum wait for replies after the last probe, s."""
SILENCE_S = 4.0
"""Time without any reply after which the path is reported to block probes, s."""
KEEP_ALIVE_S = 60.0
"""Interval between keep-alives on the TCP connection of the session."""
KEEP_ALIVE_TIMEOUT_S = 10.0
LOST = -1


@dataclass(frozen=True)
class Pace:
    """Schedule and size of probes; times in ns."""

    interval_ns: int = 20_000_000
    burst: int = 1
    """Number of probes sent back to back each time."""
    size: int = 64
    """UDP payload, bytes."""
    train: bool = False
    """Whether a burst is a train: answered after its last probe, so that its dispersion gives the rate
    of each direction."""

    @property
    def per_s(self) -> int:
        """Probes per second."""
        return max(1, round(self.burst * 1e9 / self.interval_ns))


@dataclass
class Probes:
    """Columns of probes, with an element per probe in the order of sending.

    Times are in ns by the client's monotonic clock, except `arrived` and `left`, which are by the
    server's.
    """

    began_ns: int
    sent: array[int] = field(default_factory=lambda: array("q"))
    back: array[int] = field(default_factory=lambda: array("q"))
    """Arrival of the reply; LOST: none."""
    arrived: array[int] = field(default_factory=lambda: array("q"))
    left: array[int] = field(default_factory=lambda: array("q"))
    epoch: array[int] = field(default_factory=lambda: array("q"))
    """Number of the session: a restarted server may have another clock."""
    came: array[int] = field(default_factory=lambda: array("q"))
    """1: the probe reached the server; 0: it did not; LOST: unknown."""
    duplicates: int = 0
    """Number of duplicate replies."""
    there_twice: int = 0
    """Number of duplicate probes that the server received."""
    reordered: int = 0
    """Number of replies that arrived after the reply to a later probe."""
    there_reordered: int = 0
    """Number of probes that the server received after a later one."""
    wall: array[int] = field(default_factory=lambda: array("q"))
    """Pairs of monotonic and wall-clock time, one pair per 1000 probes."""
    header_bytes: int = 28
    """Bytes of the IP and UDP headers of a probe."""
    remarks: list[str] = field(default_factory=list)

    def add(self, now: int, epoch: int) -> int:
        """Adds a row for a probe sent now; returns its number."""
        self.sent.append(now)
        for column in (self.back, self.arrived, self.left, self.came):
            column.append(LOST)
        self.epoch.append(epoch)
        return len(self.sent) - 1


@dataclass
class _Session:
    """A session with the server: its TCP connection, and the socket and key of its probes."""

    asked: Asked
    sock: socket.socket
    number: int
    key: bytes

    def close(self) -> None:
        self.asked.channel.sock.close()
        self.sock.close()


class Pinger:
    """Sends probes; receives replies between them in the same thread."""

    def __init__(
        self,
        peer: Peer,
        pace: Pace,
        stop: threading.Event | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Creates a pinger.

        Setting `stop` ends the measurement early. `tell` is called with a message if no probe is
        answered.
        """
        self.peer, self.pace, self.stop, self.tell = peer, pace, stop or threading.Event(), tell
        self.silent = True
        """No reply has arrived yet, and `tell` has not been called."""
        self.joined: _Session | None = None
        self.coming: queue.SimpleQueue[_Session] = queue.SimpleQueue()
        """New sessions, from the thread that reconnects."""
        self.rejoining: threading.Thread | None = None
        self.epoch = 0
        self.first = 0
        """Index of the first probe of the current session."""
        self.highest = -1
        self.begin_ns = 0

    def run(
        self, duration_ns: int, kept: Callable[[Probes], None] | None = None, keep_every_ns: int = 60 * 10**9
    ) -> Probes:
        """Sends probes for `duration_ns` and returns them.

        `kept` is called with the probes so far every `keep_every_ns`, to limit the loss of data in a
        crash.

        Raises:
            MeasureError: the server rejects the request.
            OSError: the server is unreachable at the start.
        """
        self.joined = self._join()
        probes = Probes(time.monotonic_ns(), header_bytes=28 if self.joined.sock.family == socket.AF_INET else 48)
        self.begin_ns = probes.began_ns
        due, k, alive, keep = probes.began_ns, 0, probes.began_ns, probes.began_ns + keep_every_ns
        end = probes.began_ns + duration_ns
        while due < end and not self.stop.is_set():
            self._answers(probes, due)
            self._adopt(probes)
            self._burst(probes)
            self._report_silence(probes)
            k += 1
            due = probes.began_ns + k * self.pace.interval_ns
            now = time.monotonic_ns()
            if now > due + 10**9:
                # The machine was suspended or overloaded: probes that are overdue are skipped.
                skipped = (now - due) // self.pace.interval_ns + 1
                probes.remarks.append(
                    f"{skipped} probes from {(due - probes.began_ns) / 1e9:.1f} s on were skipped: this machine was "
                    "suspended or overloaded"
                )
                k += skipped
                due = probes.began_ns + k * self.pace.interval_ns
            if now - alive > KEEP_ALIVE_S * 1e9:
                alive = now
                self._keep_alive(probes)
            if kept is not None and now > keep:
                keep = now + keep_every_ns
                kept(probes)
        self._answers(probes, time.monotonic_ns() + self._wait_ns(probes), late=True)
        self._report_silence(probes, over=True)
        self._leave(probes)
        return probes

    def _report_silence(self, probes: Probes, *, over: bool = False) -> None:
        """Reports, once, that no probe was answered within SILENCE_S or until the end."""
        if not self.silent:
            return
        if self.highest >= 0:
            self.silent = False
        elif over or time.monotonic_ns() - probes.began_ns > SILENCE_S * 1e9:
            self.silent = False
            line = f"none of {len(probes.sent)} probes was answered: check that the path allows UDP to {self.peer}"
            probes.remarks.append(line)
            self.tell(line)

    def _wait_ns(self, probes: Probes) -> int:
        """Time in ns to wait for the last replies: four times the longest RTT, 0.2 s to LATE_S."""
        rtts = [b - s for s, b in zip(probes.sent[-5000:], probes.back[-5000:], strict=True) if b != LOST]
        return int(min(LATE_S * 1e9, max(2e8, 4 * max(rtts)))) if rtts else int(LATE_S * 1e9)

    def _join(self) -> _Session:
        """Opens a session. Raises MeasureError if the server rejects it; OSError if unreachable."""
        request: dict[str, Any] = {"do": "pings", "size": self.pace.size, "per_s": self.pace.per_s}
        if self.pace.train:
            request |= {"do": "trains", "train": self.pace.burst}
        asked = ask(self.peer, request)
        control = asked.channel.sock
        number, key = fields.whole(asked.reply, "session", 0, (1 << 64) - 1), asked.channel.key_for(b"probes")
        port = fields.whole(asked.reply, "port", 1, 65_535)
        address = control.getpeername()
        sock = socket.socket(control.family, socket.SOCK_DGRAM)
        kernel.want_arrivals(sock)
        # The buffer must hold a train of the longest packets.
        kernel.buffers(sock, kernel.TRAIN_BUFFER_BYTES, sending=False)
        # A connected socket drops datagrams from other addresses.
        sock.connect((address[0], port, *address[2:]))
        sock.setblocking(False)
        return _Session(asked, sock, number, key)

    def _burst(self, probes: Probes) -> None:
        first, joined = len(probes.sent), self.joined
        last = first + self.pace.burst - 1 - self.first if self.pace.train else None
        if joined is None or last is None:
            for _ in range(self.pace.burst):
                self._send(probes, joined)
            return
        # All probes are encoded before the first one is sent, so that the train is as dense as this
        # machine allows.
        now = time.monotonic_ns()
        numbers = range(first - self.first, last + 1)
        packets = [protocol.probe(joined.key, joined.number, n, now, self.pace.size, last) for n in numbers]
        left = []
        for packet in packets:
            left.append(time.monotonic_ns())
            with contextlib.suppress(OSError):
                joined.sock.send(packet)
        for at in left:
            self._note(probes, at)

    def _send(self, probes: Probes, joined: _Session | None) -> None:
        number = len(probes.sent) - self.first
        packet = None
        if joined is not None:
            packet = protocol.probe(joined.key, joined.number, number, time.monotonic_ns(), self.pace.size)
        self._note(probes, time.monotonic_ns())
        if joined is not None and packet is not None:
            # If the interface is down or its queue is full, the probe is lost. Such losses are part of
            # the measurement.
            with contextlib.suppress(OSError):
                joined.sock.send(packet)

    def _note(self, probes: Probes, at: int) -> None:
        if probes.add(at, self.epoch) % 1000 == 0:
            probes.wall.extend((at, time.time_ns() - (time.monotonic_ns() - at)))

    def _answers(self, probes: Probes, until_ns: int, *, late: bool = False) -> None:
        """Receives replies until `until_ns` (monotonic clock), or until `stop` unless `late`."""
        while True:
            wait = (until_ns - time.monotonic_ns()) / 1e9
            if wait <= 0 or (self.stop.is_set() and not late):
                return
            if self.joined is None:
                time.sleep(min(wait, 0.1))
                continue
            sock = self.joined.sock
            if not select.select((sock,), (), (), min(wait, 0.5))[0]:
                continue
            try:
                packet, ancillary, _, _ = sock.recvmsg(2048, kernel.ANCILLARY_BYTES)
            except OSError:
                # ICMP port unreachable: the probe is lost.
                continue
            self._answer(probes, self.joined, packet, kernel.arrival(ancillary))

    def _answer(self, probes: Probes, joined: _Session, packet: bytes, now: int) -> None:
        if protocol.session_of(packet, protocol.ANSWER) != joined.number:
            return
        seen = protocol.verified(joined.key, packet)
        if seen is None:
            return
        number = seen.number + self.first
        if number >= len(probes.sent) or not -fields.MOST < seen.arrived_ns <= seen.left_ns < fields.MOST:
            return
        if probes.back[number] != LOST:
            probes.duplicates += 1
            return
        probes.reordered += number < self.highest
        self.highest = max(self.highest, number)
        probes.back[number], probes.arrived[number], probes.left[number] = now, seen.arrived_ns, seen.left_ns
        probes.came[number] = 1

    def _keep_alive(self, probes: Probes) -> None:
        """Sends a keep-alive; if that fails, opens a new session in another thread."""
        try:
            if self.joined is None:
                raise OSError
            channel = self.joined.asked.channel
            channel.sock.settimeout(KEEP_ALIVE_TIMEOUT_S)
            channel.send({"do": "still", "sent": 0})
            channel.receive(protocol.REPLY)
        except (OSError, StrangerError):
            self._close()
            if self.rejoining is None or not self.rejoining.is_alive():
                self.rejoining = threading.Thread(target=self._reconnect, daemon=True)
                self.rejoining.start()

    def _reconnect(self) -> None:
        """Opens a new session. Runs in a thread; until then, probes count as lost."""
        with contextlib.suppress(OSError, MeasureError):
            self.coming.put(self._join())

    def _adopt(self, probes: Probes) -> None:
        """Switches to a new session, if one has been opened."""
        with contextlib.suppress(queue.Empty):
            found = self.coming.get_nowait()
            self._close()
            self.joined = found
            self.epoch += 1
            self.first = len(probes.sent)
            since = (time.monotonic_ns() - probes.began_ns) / 1e9
            probes.remarks.append(
                f"the server lost the session; probes continue in a new session from {since:.1f} s on"
            )

    def _leave(self, probes: Probes) -> None:
        """Requests the numbers of the probes that did not reach the server; closes the session."""
        try:
            if self.joined is None:
                raise OSError("the server is gone")
            channel = self.joined.asked.channel
            channel.sock.settimeout(30.0)
            sent = len(probes.sent) - self.first
            channel.send({"do": "end", "sent": sent})
            counts = channel.receive(protocol.COUNT)
            self._counted(probes, counts, sent)
        except (OSError, StrangerError, MeasureError) as error:
            probes.remarks.append(f"unknown in which direction probes were lost: {error}")
        finally:
            self._close()

    def _counted(self, probes: Probes, counts: dict[str, Any], sent: int) -> None:
        """Fills in the columns that the server's counts determine. Raises MeasureError."""
        missing: set[int] = set()
        for low, high in fields.gaps(counts, "missing"):
            missing.update(range(low, min(sent, high + 1)))
        probes.there_twice, probes.there_reordered = (
            fields.whole(counts, "duplicates"),
            fields.whole(counts, "reordered"),
        )
        for n in range(sent):
            if probes.came[self.first + n] == LOST:
                probes.came[self.first + n] = 0 if n in missing else 1

    def _close(self) -> None:
        if self.joined is not None:
            self.joined.close()
        self.joined = None
        # A session that was opened too late, or twice.
        with contextlib.suppress(queue.Empty):
            self.coming.get_nowait().close()
