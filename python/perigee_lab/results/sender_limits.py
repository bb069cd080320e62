# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of a sender: names, meanings, and the shares of a span of time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """A limit: the name of its column, its wording in sentences, its meaning, its colour in figures."""

    name: str
    words: str
    meaning: str
    colour: str


# Most colours are those of Paul Tol's light scheme, which colour-blind readers can distinguish; no
# congestion control has one of them.
CAUSES = (
    Cause("handshake", "handshake", "The connection was not established yet.", "#d6d2c4"),
    Cause("application", "application", "The application had nothing more to send.", "#bbbbbb"),
    Cause("receive_window", "receive window", "The receiver's window (flow control) was full.", "#eedd88"),
    Cause("send_buffer", "send buffer", "The send buffer was full of data in flight.", "#aaaa00"),
    Cause(
        "window_start",
        "congestion window, start",
        "The congestion window was full, in slow start or a scheme's startup.",
        "#99ddff",
    ),
    Cause(
        "window_recovery",
        "congestion window, recovery",
        "The congestion window was full after a reduction, until it had its former size again, the path was full "
        "(window of a bandwidth-delay product) or the bottleneck had a queue.",
        "#ee8866",
    ),
    Cause(
        "window_steady",
        "congestion window, steady",
        "The congestion window was full at any other time: usually the path is.",
        "#77aadd",
    ),
    Cause(
        "pacing",
        "pacing",
        "The next packet waited for its departure at the pacing rate of the scheme.",
        "#44bb99",
    ),
    Cause("outage", "outage", "A link of the path was down, or there was no route, with data outstanding.", "#994455"),
    Cause("timeout", "timeout", "The sender waited for a retransmission timeout that then expired.", "#ffaabb"),
    Cause("unknown", "unknown", "The record does not show it.", "#e6eaef"),
)
NAMES = tuple(c.name for c in CAUSES)
BY_NAME = {c.name: c for c in CAUSES}
INDEX = {name: i for i, name in enumerate(NAMES)}
WINDOW = tuple(INDEX[n] for n in ("window_start", "window_recovery", "window_steady"))
