# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sixty runs in which the limit of the sender is set by construction, second by second."""

from __future__ import annotations

from dataclasses import dataclass

BASE = """
[run]
duration = "{duration} s"
[source.dumbbell]
rtt = "{rtt}"
rtt_at = "bottleneck"
[port.bottleneck]
rate = "{rate}"
queue = "{queue}"
framing = 0
[port.reverse]
rate = "1 Tbit"
queue = "1000000 packets"
[port.access]
rate = "1 Tbit"
queue = "1000000 packets"
{changes}
[[flow]]
cc = "*"
{flow}
"""

Truth = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class Case:
    """A scenario, its scheme, and the limit in some of its seconds: from, to, name."""

    name: str
    toml: str
    cc: str
    truth: Truth

    @property
    def family(self) -> str:
        """The first word of the name."""
        return self.name.split()[0]


def case(
    name: str, cc: str, truth: Truth, *, duration: int = 12, rtt: str = "60 ms", rate: str = "20 Mbit",
    queue: str = "1 bdp", changes: str = "", flow: str = "",
) -> Case:  # fmt: skip
    """A flow over one bottleneck."""
    toml = BASE.format(duration=duration, rtt=rtt, rate=rate, queue=queue, changes=changes, flow=flow)
    return Case(f"{name} {cc}", toml, cc, truth)


def change(at: str, what: str) -> str:
    """An entry of the schedule."""
    return f'[[change]]\nat = "{at}"\n{what}\n'


def _applications() -> list[Case]:
    silent: Truth = ((2, 4, "application"), (6, 8, "application"), (10, 12, "application"))
    turns = 'app = "on-off"\non = "1.8 s"\noff = "2.2 s"'
    thinks = 'app = "request"\nobject = "{size}"\nthink = "{think} s"'
    busy: Truth = ((1, 12, "application"),)
    cases = [case(f"application on-off {cc}", cc, silent, flow=turns) for cc in ("cubic", "bbr", "newreno", "orbcc")]
    # Ten segments a request fit the initial window: one round trip in a second and more.
    for cc, rtt, size in (("cubic", "60 ms", "10 kB"), ("bbr3", "120 ms", "10 kB"), ("vegas", "40 ms", "14 kB")):
        cases.append(case("application request", cc, busy, rtt=rtt, flow=thinks.format(size=size, think=1)))
    return cases


def _receive_windows() -> list[Case]:
    bound: Truth = ((2, 12, "receive_window"),)
    cases = [
        case(f"receive fixed {rtt}", cc, bound, rtt=rtt, rate=rate, flow=f"tcp.receive_buffer = {buffer}")
        for cc, rtt, rate, buffer in (
            ("cubic", "60 ms", "20 Mbit", 40_000),
            ("newreno", "200 ms", "50 Mbit", 400_000),
            ("hybla", "100 ms", "20 Mbit", 100_000),
            ("bbr", "80 ms", "40 Mbit", 100_000),
        )
    ]
    for cc, rtt, memory in (("cubic", "60 ms", 65_536), ("newreno", "120 ms", 131_072), ("bbr3", "200 ms", 131_072)):
        flow = f"tcp.rmem = {memory}\ntcp.rmem_max = {memory}"
        cases.append(case(f"receive grown {rtt}", cc, bound, rtt=rtt, rate="50 Mbit", flow=flow))
    return cases


def _send_buffers() -> list[Case]:
    return [
        case(f"send {rtt}", cc, ((2, 12, "send_buffer"),), rtt=rtt, rate=rate, flow=f"tcp.send_buffer = {buffer}")
        for cc, rtt, rate, buffer in (
            ("cubic", "60 ms", "20 Mbit", 40_000),
            ("newreno", "150 ms", "50 Mbit", 200_000),
            ("vegas", "40 ms", "20 Mbit", 30_000),
            ("bbr", "100 ms", "50 Mbit", 150_000),
        )
    ]


def _starts() -> list[Case]:
    """Slow start over long paths: some nine round trips to fill the window."""
    return [
        case(f"start {rtt} {rate}", cc, truth, rtt=rtt, rate=rate, queue="2 bdp", duration=8, flow=flow)
        for cc, rtt, rate, truth, flow in (
            ("newreno", "600 ms", "100 Mbit", ((1, 5, "window_start"),), ""),
            ("newreno", "800 ms", "200 Mbit", ((1, 6, "window_start"),), ""),
            ("cubic", "600 ms", "200 Mbit", ((1, 4, "window_start"),), ""),
            ("cubic", "800 ms", "300 Mbit", ((1, 5, "window_start"),), ""),
            ("hybla", "500 ms", "400 Mbit", ((1, 2, "window_start"),), "tcp.rmem = 0"),
            ("newreno", "500 ms", "400 Mbit", ((1, 5, "window_start"),), "tcp.init_cwnd = 4"),
        )
    ]


def _recoveries() -> list[Case]:
    """A burst of losses at 4 s on a path with a short queue: the window is below the path's product afterwards."""
    burst = change("4 s", "loss = 0.02") + change("4.2 s", "loss = 0")
    return [
        case(
            f"recovery {rtt} {rate}",
            cc,
            truth,
            rtt=rtt,
            rate=rate,
            queue="0.1 bdp",
            changes=burst,
            flow=f"tcp.init_ssthresh = {segments}",
        )
        for cc, rtt, rate, segments, truth in (
            ("newreno", "100 ms", "100 Mbit", 830, ((5, 12, "window_recovery"),)),
            ("newreno", "200 ms", "50 Mbit", 830, ((5, 12, "window_recovery"),)),
            ("newreno", "150 ms", "100 Mbit", 1240, ((5, 12, "window_recovery"),)),
            ("cubic", "100 ms", "200 Mbit", 1660, ((5, 9, "window_recovery"),)),
            ("cubic", "150 ms", "200 Mbit", 2480, ((5, 9, "window_recovery"),)),
            ("cubic", "200 ms", "100 Mbit", 1660, ((5, 9, "window_recovery"),)),
        )
    ]


def _steady() -> list[Case]:
    """A queue deep enough that the path stays full."""
    return [
        case(f"steady {rtt} {rate}", cc, ((4, 12, "window_steady"),), rtt=rtt, rate=rate, queue="4 bdp", flow=flow)
        for cc, rtt, rate, flow in (
            ("newreno", "60 ms", "20 Mbit", ""),
            ("cubic", "60 ms", "20 Mbit", ""),
            ("cubic", "30 ms", "50 Mbit", ""),
            ("vegas", "60 ms", "20 Mbit", ""),
            ("vegas", "30 ms", "40 Mbit", ""),
            ("hybla", "40 ms", "20 Mbit", ""),
            ("newreno", "100 ms", "40 Mbit", "tcp.init_ssthresh = 300"),
        )
    ]


def _paced() -> list[Case]:
    return [
        case(f"pacing {rtt} {rate}", cc, ((2, 12, "pacing"),), rtt=rtt, rate=rate, queue="2 bdp")
        for cc, rtt, rate in (
            ("bbr", "60 ms", "20 Mbit"),
            ("bbr", "30 ms", "50 Mbit"),
            ("bbr", "100 ms", "100 Mbit"),
            ("bbr3", "60 ms", "20 Mbit"),
            ("bbr3", "40 ms", "40 Mbit"),
            ("leocc", "60 ms", "20 Mbit"),
            ("leocc", "40 ms", "50 Mbit"),
        )
    ]


def _handshakes() -> list[Case]:
    """A path of several seconds; and one that is down at first."""
    down = change("0 s", 'outage = "{} s"')
    return [
        case("handshake 2.5 s", "cubic", ((0, 2, "handshake"),), rtt="2500 ms"),
        case("handshake 4 s", "newreno", ((0, 4, "handshake"),), rtt="4000 ms"),
        case("handshake 3.2 s", "bbr", ((0, 3, "handshake"),), rtt="3200 ms"),
        case("handshake down 2 s", "cubic", ((0, 2, "handshake"),), changes=down.format(2)),
        case("handshake down 3 s", "bbr3", ((0, 3, "handshake"),), changes=down.format(3)),
    ]


def _outages() -> list[Case]:
    return [
        case(f"outage {mode} {seconds} s", cc, ((5, 4 + seconds, "outage"),), rtt=rtt,
             changes=change("4.5 s", f'outage = "{seconds} s"\nmode = "{mode}"'))
        for cc, rtt, seconds, mode in (
            ("cubic", "60 ms", 3, "flush"),
            ("newreno", "30 ms", 4, "hold"),
            ("bbr", "60 ms", 3, "blackhole"),
            ("bbr3", "100 ms", 4, "flush"),
            ("vegas", "60 ms", 5, "flush"),
            ("orbcc", "40 ms", 3, "flush"),
        )
    ]  # fmt: skip


def _timeouts() -> list[Case]:
    """All packets are lost for some seconds on a link that is up: the sender can only wait."""
    return [
        case(f"timeout {seconds} s", cc, ((5, 4 + seconds, "timeout"),), rtt=rtt,
             changes=change("4.2 s", "loss = 1") + change(f"{4.2 + seconds} s", "loss = 0"))
        for cc, rtt, seconds in (
            ("cubic", "60 ms", 3),
            ("newreno", "30 ms", 4),
            ("newreno", "100 ms", 3),
            ("bbr", "60 ms", 4),
            ("bbr3", "40 ms", 3),
            ("vegas", "60 ms", 4),
        )
    ]  # fmt: skip


FAMILIES = (
    _applications, _receive_windows, _send_buffers, _starts, _recoveries, _steady, _paced, _handshakes, _outages,
    _timeouts,
)  # fmt: skip
CASES = [c for family in FAMILIES for c in family()]
QUICK = [family()[0] for family in FAMILIES]
