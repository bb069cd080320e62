# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Bulk transfer over a socket, sampled at the sending or the receiving end."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from perigee_lab.measure.net.kernel import NAMES, tcp_info

# Random, so that no middlebox can compress it.
BLOCK = memoryview(os.urandom(1 << 20))
PIECE_BYTES = 1 << 17
NOTHING_TAKEN_S = 0.001
# Time step of a rate-limited reader, and minimum amount that is worth a call.
PACED_S, LEAST_READ_BYTES = 0.01, 1500
USED_UP = "the server's daily amount"
STALLED_S = 60.0
"""Timeout of a transfer without progress."""


@dataclass
class Series:
    """Samples of one end.

    A sample has the time in ns since this end's start, the bytes so far, and TCP_INFO at a sender.
    """

    started_ns: int
    """Start on this end's monotonic clock."""
    t_ns: list[int] = field(default_factory=list)
    total: list[int] = field(default_factory=list)
    info: list[list[int]] = field(default_factory=list)
    """Values in the order of `names`; empty at receivers."""
    first_ns: int | None = None
    """Arrival of the first data."""
    done_ns: int = 0
    why: str = ""
    """Reason for an early end; empty = none."""

    def message(self) -> dict[str, Any]:
        """The series as JSON."""
        return {
            "t_ns": self.t_ns, "total": self.total, "info": self.info, "names": list(NAMES) if self.info else [],
            "first_ns": self.first_ns, "done_ns": self.done_ns, "why": self.why,
        }  # fmt: skip


class _Clock:
    """Sampling instants."""

    def __init__(self, sample_ns: int) -> None:
        self.begin = time.monotonic_ns()
        self.sample_ns, self.next = sample_ns, 0

    def now(self) -> int:
        return time.monotonic_ns() - self.begin

    def due(self, now: int) -> bool:
        if now < self.next:
            return False
        self.next = now - now % self.sample_ns + self.sample_ns
        return True

    def wait_s(self, now: int) -> float:
        return max(0.0, (self.next - now) / 1e9)


class Budget(Protocol):
    """Bytes that all transfers of a server share; they are taken before they are moved."""

    def take(self, amount: int) -> int:
        """Counts up to `amount` bytes; returns how many may be moved."""

    def give_back(self, amount: int) -> None:
        """Returns bytes that were not moved."""


def send(
    sock: socket.socket,
    sample_ns: int,
    *,
    most_bytes: int | None,
    most_ns: int | None,
    limit_ns: int,
    budget: Budget | None = None,
) -> Series:
    """Sends an amount, or for a time, and shuts down the sending direction.

    Takes at most `limit_ns`.

    The series continues until everything is acknowledged.
    """
    clock = _Clock(sample_ns)
    series = Series(clock.begin)
    sent, moved = 0, 0
    sock.setblocking(False)
    try:
        while True:
            now = clock.now()
            if clock.due(now):
                _sample(series, sock, now, sent)
            if (most_bytes is not None and sent >= most_bytes) or (most_ns is not None and now >= most_ns):
                break
            if now > limit_ns or now - moved > STALLED_S * 1e9:
                series.why = "its limit of time" if now > limit_ns else f"nothing moved for {STALLED_S:g} s"
                break
            if not select.select((), (sock,), (), clock.wait_s(now))[1]:
                continue
            left = PIECE_BYTES if most_bytes is None else min(PIECE_BYTES, most_bytes - sent)
            at = sent % (len(BLOCK) - PIECE_BYTES)
            taken = _within(budget, left, partial(_sent, sock, at))
            if taken is None:
                series.why = USED_UP
                break
            if taken == 0:
                # A kernel at the memory limit of TCP (tcp_mem) reports sockets as writable that
                # accept no data.
                time.sleep(NOTHING_TAKEN_S)
                continue
            sent, moved = sent + taken, clock.now()
        sock.shutdown(socket.SHUT_WR)
        _drain(series, sock, clock, sent, limit_ns)
    except OSError as error:
        series.why = f"the connection broke: {error.strerror or error}"
    finally:
        series.done_ns = clock.now()
        sock.setblocking(True)
    return series


def _within(budget: Budget | None, amount: int, move: Callable[[int], int]) -> int | None:
    """Moves up to `amount` bytes within a budget; returns how many were, None if nothing is left."""
    if budget is None:
        return move(amount)
    allowed, moved = budget.take(amount), 0
    if allowed == 0:
        return None
    try:
        moved = move(allowed)
    finally:
        budget.give_back(allowed - moved)
    return moved


def _sent(sock: socket.socket, at: int, amount: int) -> int:
    try:
        return sock.send(BLOCK[at : at + amount])
    except BlockingIOError:
        return 0


def _drain(series: Series, sock: socket.socket, clock: _Clock, sent: int, limit_ns: int) -> None:
    """Samples until everything is acknowledged, the other end is gone, or the time is over."""
    begin = clock.now()
    acked = NAMES.index("bytes_acked")
    while True:
        now = clock.now()
        if clock.due(now):
            _sample(series, sock, now, sent)
            row = series.info[-1] if series.info else []
            # Some kernels count SYN and FIN in bytes_acked; only missing data matters.
            if not row or row[acked] >= sent + 1 or now > limit_ns or now - begin > STALLED_S * 1e9:
                return
        time.sleep(clock.wait_s(clock.now()))


def _allowed(bytes_per_s: int, now_ns: int, total: int) -> int:
    """Number of bytes that may be read now; 0 if it is below the minimum amount."""
    there = int(bytes_per_s * (now_ns / 1e9 + PACED_S)) - total
    return there if there >= min(LEAST_READ_BYTES, bytes_per_s) else 0


def _sample(series: Series, sock: socket.socket, now: int, total: int) -> None:
    row = tcp_info(sock)
    series.t_ns.append(now)
    series.total.append(total)
    if row:
        series.info.append(row)


def receive(
    sock: socket.socket,
    sample_ns: int,
    *,
    most_bytes: int,
    limit_ns: int,
    begin_ns: int | None = None,
    bytes_per_s: int | None = None,
    budget: Budget | None = None,
) -> Series:
    """Receives until the other end has sent everything, up to `most_bytes` and `limit_ns`.

    With `bytes_per_s`, reading is limited to this rate: TCP's receive window then also limits the
    sender, except for the amount that fits the socket buffer at the start.
    """
    clock = _Clock(sample_ns)
    if begin_ns is not None:
        clock.begin = begin_ns
    series = Series(clock.begin)
    space = bytearray(1 << 18)
    total, moved = 0, clock.now()
    sock.setblocking(False)
    try:
        while True:
            now = clock.now()
            if clock.due(now):
                series.t_ns.append(now)
                series.total.append(total)
            if now > limit_ns or now - moved > STALLED_S * 1e9:
                series.why = "its limit of time" if now > limit_ns else f"nothing came for {STALLED_S:g} s"
                break
            room = len(space) if bytes_per_s is None else _allowed(bytes_per_s, now, total)
            if room <= 0:
                # Pauses of the reader are no stalls of the sender.
                time.sleep(min(clock.wait_s(now), PACED_S))
                moved = now
                continue
            if not select.select((sock,), (), (), clock.wait_s(now))[0]:
                continue
            try:
                n = _within(budget, min(room, len(space)), partial(sock.recv_into, space))
            except BlockingIOError:
                continue
            now = clock.now()
            if not n:
                series.why = "" if n == 0 else USED_UP
                break
            total, moved = total + n, now
            if series.first_ns is None:
                series.first_ns = now
            series.done_ns = now
            if total > most_bytes:
                series.why = "more came than was agreed"
                break
    except OSError as error:
        series.why = f"the connection broke: {error.strerror or error}"
    finally:
        sock.setblocking(True)
    series.t_ns.append(clock.now())
    series.total.append(total)
    return series
