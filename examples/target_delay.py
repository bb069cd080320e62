# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A congestion control in Python that keeps 10 ms of queueing delay on any path.

perigee run scenarios/micro/dumbbell.toml --cc examples/target_delay.py:TargetDelay,cubic
"""

from typing import ClassVar

import perigee_lab as perigee


class TargetDelay(perigee.CongestionControl):
    """Once per round, grows by a packet below the target delay or shrinks in proportion above."""

    params: ClassVar[dict[str, float]] = {"target_ms": 10.0}

    def __init__(self) -> None:
        """Starts without measurements."""
        self.round_ends_at = 0
        self.lowest_ns = None

    def on_ack(self, cx, window, ack):
        """Stores the lowest RTT of the round, and adapts the window at its end."""
        if ack.rtt_ns is not None and (self.lowest_ns is None or ack.rtt_ns < self.lowest_ns):
            self.lowest_ns = ack.rtt_ns
        if cx.snd_una < self.round_ends_at or self.lowest_ns is None or not ack.may_grow:
            return
        self.round_ends_at = cx.snd_nxt
        queue_ns = self.lowest_ns - cx.min_rtt_ns
        self.lowest_ns = None
        above_ns = queue_ns - self.params["target_ms"] * 1e6
        if above_ns > 0:
            window.ssthresh = window.cwnd
            window.cwnd = max(window.cwnd * (1 - above_ns / (queue_ns + cx.min_rtt_ns)), 2 * cx.mss)
        elif cx.cwnd_limited:
            slow_start = window.ssthresh is None
            window.cwnd = window.cwnd * 2 if slow_start else window.cwnd + cx.mss

    def internals(self):
        """Values that are recorded with every sample."""
        return {"round_ends_at": float(self.round_ends_at)}
