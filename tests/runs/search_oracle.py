# SPDX-License-Identifier: Apache-2.0 OR MIT
"""SEARCH written a second time, from the draft and the module's documentation: a class in Python."""

from __future__ import annotations

from typing import Any, ClassVar

import perigee_lab as perigee

BINS, EXTRA = 10, 15


class Oracle(perigee.CongestionControl):
    """Slow start with SEARCH, with all bins in lists; ends of starts are left in `ends`."""

    params: ClassVar[dict[str, str]] = {"rule": "draft"}
    ends: ClassVar[list[dict[str, int]]] = []
    logs: ClassVar[list[list[tuple[int, ...]]]] = []

    def __init__(self) -> None:
        """Starts without a measurement."""
        self.length = self.bin_end = self.shift = 0
        self.acked: list[int] = []
        self.sent: list[int] = []
        self.rtt = 0
        self.log: list[tuple[int, ...]] = []
        Oracle.logs.append(self.log)

    def on_ack(self, cx: Any, window: Any, ack: Any) -> None:
        """Grows by whole segments, and stops when deliveries fall behind."""
        if window.ssthresh is not None:
            return
        self.log.append(
            (cx.now_ns, ack.rtt_ns or 0, cx.delivered, cx.snd_nxt, cx.snd_una, int(cx.app_limited), int(window.cwnd))
        )
        self.rtt = ack.rtt_ns or self.rtt
        rule = self.linux if self.params["rule"] == "linux" else self.draft
        if rule(cx, ack.rtt_ns):
            window.ssthresh = window.cwnd
            Oracle.ends.append({"at_ns": cx.now_ns, "cwnd": int(window.cwnd), "in_flight": cx.in_flight})
        elif ack.may_grow and cx.cwnd_limited:
            window.cwnd = (int(window.cwnd) // cx.mss + ack.newly_acked // cx.mss) * cx.mss

    def draft(self, cx: Any, _rtt: int | None) -> bool:
        """Compares the bytes delivered with the bytes sent an RTT before."""
        now, rtt = cx.now_ns, self.rtt
        if not rtt:
            return False
        if not self.acked:
            self.length = rtt * 350 // 1000
            self.bin_end = now + self.length
            self.acked, self.sent = [cx.delivered], [cx.snd_nxt]
            return False
        if now <= self.bin_end:
            return False
        passed = (now - self.bin_end) // self.length + 1
        if passed > BINS:
            self.acked = []
            return False
        self.acked += [self.acked[-1]] * (passed - 1) + [cx.delivered]
        self.sent += [self.sent[-1]] * (passed - 1) + [cx.snd_nxt]
        self.bin_end += passed * self.length
        newest, back = len(self.acked) - 1, rtt // self.length
        then = newest - back
        if then <= BINS or back >= EXTRA:
            return False
        hundredths = rtt % self.length * 100 // self.length
        expected = (
            (self.sent[then - 1] - self.sent[then - 1 - BINS]) * hundredths
            + (self.sent[then] - self.sent[then - BINS]) * (100 - hundredths)
        ) // 100
        delivered = self.acked[newest] - self.acked[newest - BINS]
        return expected > 0 and max(expected - delivered, 0) * 100 // expected >= 26

    def linux(self, cx: Any, sample: int | None) -> bool:
        """Compares the bytes delivered with those an RTT before, in microseconds and 16 bits."""
        if sample is None:
            return False
        now, rtt = cx.now_ns // 1000, max(sample // 1000, 1)
        if not self.acked:
            self.length = rtt * 35 // 100
            self.bin_end, self.acked = now + self.length, [0]
            self._store(cx.snd_una)
            return False
        if now < self.bin_end:
            return False
        if cx.app_limited:
            self.bin_end, self.acked, self.shift = now + self.length, [0], 0
        else:
            passed = (now - self.bin_end) // self.length + 1
            self.acked += [self.acked[-1]] * passed
            self.bin_end += passed * self.length
        self._store(cx.snd_una)
        newest, back = len(self.acked) - 1, rtt // self.length
        then = newest - back
        if then < BINS or back >= EXTRA - 1:
            return False
        delivered = self._module_window(newest, 0)
        expected = 2 * self._module_window(then, rtt % self.length * 100 // self.length)
        return expected >= delivered and expected > 0 and (expected - delivered) * 100 // expected >= 35

    def _store(self, acked: int) -> None:
        value = acked >> self.shift
        while value > 0xFFFF:
            value >>= 1
            self.shift += 1
            self.acked = [b >> 1 for b in self.acked]
        self.acked[-1] = value

    def _module_window(self, last: int, hundredths: int) -> int:
        b, first = self.acked, last - BINS
        before = b[first - 1] if first else 0
        return (
            b[last - 1]
            - b[first]
            + (b[first] - before) * hundredths // 100
            + (b[last] - b[last - 1]) * (100 - hundredths) // 100
        )

    def internals(self) -> dict[str, float]:
        """The newest bin, under the names of the built-in start."""
        return {
            "search_bin": float(max(len(self.acked) - 1, 0)),
            "search_acked_bytes": float(self.acked[-1] << self.shift if self.acked else 0),
            "search_sent_bytes": float(self.sent[-1] if self.sent else 0),
        }
