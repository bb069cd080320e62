# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Probes: UDP packets at a steady pace that the server answers, each with four times."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from perigee.measure.net import kernel, protocol
from perigee.measure.net.client import Asked, Peer, ask
from perigee.measure.net.protocol import MeasureError, StrangerError

LATE_S = 5.0
"""An answer is waited for so long after the last probe."""
SPEAK_S = 60.0
AGAIN_S = 10.0
LOST = -1


@dataclass(frozen=True)
class Pace:
    """How probes are sent; times in ns."""

    interval_ns: int = 20_000_000
    burst: int = 1
    """Probes one right behind the other, each time."""
    size: int = 64
    """Payload of UDP, bytes."""

    @property
    def per_s(self) -> int:
        """Probes a second."""
        return max(1, round(self.burst * 1e9 / self.interval_ns))


@dataclass
class Probes:
    """Probes by number. Times are of the client's monotonic clock, but `arrived` and `left` of the server's."""

    began_ns: int
    sent: array[int] = field(default_factory=lambda: array("q"))
    back: array[int] = field(default_factory=lambda: array("q"))
    """LOST: no answer."""
    arrived: array[int] = field(default_factory=lambda: array("q"))
    left: array[int] = field(default_factory=lambda: array("q"))
    epoch: array[int] = field(default_factory=lambda: array("q"))
    """Sessions so far: server clocks of different ones need not agree."""
    came: array[int] = field(default_factory=lambda: array("q"))
    """1: it reached the server; 0: it did not; LOST: nobody can tell."""
    duplicates: int = 0
    """Answers that came twice."""
    there_twice: int = 0
    """Probes that reached the server twice."""
    reordered: int = 0
    """Answers that came after one to a later probe."""
    there_reordered: int = 0
    wall: array[int] = field(default_factory=lambda: array("q"))
    """Pairs: monotonic clock, clock of the day; now and then."""
    remarks: list[str] = field(default_factory=list)

    def add(self, now: int, epoch: int) -> int:
        """Room for a probe that is sent now; its number."""
        self.sent.append(now)
        for column in (self.back, self.arrived, self.left, self.came):
            column.append(LOST)
        self.epoch.append(epoch)
        return len(self.sent) - 1


class Pinger:
    """Sends probes and takes their answers in one thread: the waits between probes are waits for answers."""

    def __init__(self, peer: Peer, pace: Pace, stop: threading.Event | None = None) -> None:
        """`stop` ends it early."""
        self.peer, self.pace, self.stop = peer, pace, stop or threading.Event()
        self.asked: Asked | None = None
        self.sock: socket.socket | None = None
        self.session, self.key, self.epoch = 0, b"", 0
        self.first = 0
        """Number of the session's first probe."""
        self.highest = -1
        self.begin_ns = 0

    def run(
        self, duration_ns: int, kept: Callable[[Probes], None] | None = None, keep_every_ns: int = 60 * 10**9
    ) -> Probes:
        """Probes for so long; `kept` is told of them now and then, so that a crash costs little.

        Raises MeasureError: the server refuses; OSError: it cannot be reached at the beginning.
        """
        self._join()
        probes = Probes(time.monotonic_ns())
        self.begin_ns = probes.began_ns
        due, k, spoke, keep = probes.began_ns, 0, probes.began_ns, probes.began_ns + keep_every_ns
        end = probes.began_ns + duration_ns
        while due < end and not self.stop.is_set():
            self._answers(probes, due)
            self._burst(probes)
            k += 1
            due = probes.began_ns + k * self.pace.interval_ns
            now = time.monotonic_ns()
            if now > due + 10**9:
                # The machine slept, or has other things to do: the missed ones are not made up for.
                skipped = (now - due) // self.pace.interval_ns + 1
                probes.remarks.append(
                    f"{skipped} probes from {(due - probes.began_ns) / 1e9:.1f} s on were not sent in time"
                )
                k += skipped
                due = probes.began_ns + k * self.pace.interval_ns
            if now - spoke > SPEAK_S * 1e9:
                spoke = now
                self._speak(probes)
            if kept is not None and now > keep:
                keep = now + keep_every_ns
                kept(probes)
        self._answers(probes, time.monotonic_ns() + self._wait_ns(probes), late=True)
        self._leave(probes)
        return probes

    def _wait_ns(self, probes: Probes) -> int:
        """Until the last answers should be here: four times the longest RTT so far, within bounds."""
        rtts = [b - s for s, b in zip(probes.sent[-5000:], probes.back[-5000:], strict=True) if b != LOST]
        return int(min(LATE_S * 1e9, max(2e8, 4 * max(rtts)))) if rtts else int(LATE_S * 1e9)

    def _join(self) -> None:
        request = {"do": "pings", "size": self.pace.size, "per_s": self.pace.per_s}
        self.asked = ask(self.peer, request)
        control = self.asked.channel.sock
        self.session, self.key = int(self.asked.reply["session"]), self.asked.channel.key_for(b"probes")
        address = control.getpeername()
        sock = socket.socket(control.family, socket.SOCK_DGRAM)
        kernel.want_arrivals(sock)
        # Connected: what others send does not even arrive.
        sock.connect((address[0], int(self.asked.reply["port"]), *address[2:]))
        sock.setblocking(False)
        self.sock = sock

    def _burst(self, probes: Probes) -> None:
        for _ in range(self.pace.burst):
            number = len(probes.sent)
            now = time.monotonic_ns()
            packet = protocol.probe(self.key, self.session, number - self.first, now, self.pace.size)
            now = time.monotonic_ns()
            probes.add(now, self.epoch)
            if number % 1000 == 0:
                probes.wall.extend((now, time.time_ns()))
            if self.sock is not None:
                # An interface that is down or full loses it: that is what is measured.
                with contextlib.suppress(OSError):
                    self.sock.send(packet)

    def _answers(self, probes: Probes, until_ns: int, *, late: bool = False) -> None:
        """Takes answers until then, or until it is stopped; `late`: those to the last probes, in any case."""
        while True:
            wait = (until_ns - time.monotonic_ns()) / 1e9
            if wait <= 0 or (self.stop.is_set() and not late):
                return
            if self.sock is None:
                time.sleep(min(wait, 0.1))
                continue
            if not select.select((self.sock,), (), (), min(wait, 0.5))[0]:
                continue
            try:
                packet, ancillary, _, _ = self.sock.recvmsg(2048, kernel.ANCILLARY_BYTES)
            except OSError:
                # ICMP says that nobody listens: a probe is lost.
                continue
            self._answer(probes, packet, kernel.arrival(ancillary))

    def _answer(self, probes: Probes, packet: bytes, now: int) -> None:
        if protocol.session_of(packet, protocol.ANSWER) != self.session:
            return
        seen = protocol.verified(self.key, packet)
        if seen is None:
            return
        number = seen.number + self.first
        if number >= len(probes.sent):
            return
        if probes.back[number] != LOST:
            probes.duplicates += 1
            return
        probes.reordered += number < self.highest
        self.highest = max(self.highest, number)
        probes.back[number], probes.arrived[number], probes.left[number] = now, seen.arrived_ns, seen.left_ns
        probes.came[number] = 1

    def _speak(self, probes: Probes) -> None:
        """Tells the server that we are here; where that fails, it is joined anew."""
        try:
            if self.asked is None:
                raise OSError
            self.asked.channel.sock.settimeout(AGAIN_S)
            self.asked.channel.send({"do": "still", "sent": 0})
            self.asked.channel.receive()
        except (OSError, StrangerError):
            self._close()
            threading.Thread(target=self._again, args=(probes,), daemon=True).start()

    def _again(self, probes: Probes) -> None:
        with contextlib.suppress(OSError, MeasureError):
            self._join()
            self.epoch += 1
            self.first = len(probes.sent)
            since = (time.monotonic_ns() - probes.began_ns) / 1e9
            probes.remarks.append(f"the server had forgotten us; probes go on with a new session from {since:.1f} s on")

    def _leave(self, probes: Probes) -> None:
        """Asks what of the lost ones had come."""
        try:
            if self.asked is None:
                raise OSError("the server is gone")
            self.asked.channel.sock.settimeout(30.0)
            sent = len(probes.sent) - self.first
            self.asked.channel.send({"do": "end", "sent": sent})
            told = self.asked.channel.receive()
            self._counted(probes, told, sent)
        except (OSError, StrangerError, MeasureError) as error:
            probes.remarks.append(f"where probes were lost is not known: {error}")
        finally:
            self._close()

    def _counted(self, probes: Probes, told: dict[str, Any], sent: int) -> None:
        missing: set[int] = set()
        try:
            for low, high in told["missing"]:
                missing.update(range(max(0, int(low)), min(sent, int(high) + 1)))
            probes.there_twice, probes.there_reordered = int(told["duplicates"]), int(told["reordered"])
        except (KeyError, TypeError, ValueError):
            raise MeasureError("the server's count cannot be read") from None
        for n in range(sent):
            if probes.came[self.first + n] == LOST:
                probes.came[self.first + n] = 0 if n in missing else 1

    def _close(self) -> None:
        if self.asked is not None:
            self.asked.channel.sock.close()
        if self.sock is not None:
            self.sock.close()
        self.asked = self.sock = None
