# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Three small schemes that are right, and faults in them that catalogues must find.

    python tests/judge/faults.py          # a table of all faults; some minutes

Each fault is one that implementations have had: a gain, a filter's length, a missing reset, no
pacing, a wrong unit. It is found if an expectation fails that the scheme without it meets.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import perigee_lab as perigee
from perigee_lab.judge import catalogue
from perigee_lab.judge.verdicts import Verdict
from perigee_lab.runs.machines import Machines

SECOND = 1_000_000_000
FOREVER = 1 << 62


class Halving(perigee.CongestionControl):
    """Slow start, one segment more per round, half of the window after a loss (RFC 5681)."""

    params: ClassVar[dict[str, str]] = {"fault": "none"}

    def on_start(self, cx: Any, window: Any) -> None:
        """The window of the transport, unless the fault is in it."""
        if self.params["fault"] == "initial-window":
            window.cwnd = 4000 * cx.mss

    def on_ack(self, cx: Any, window: Any, ack: Any) -> None:
        """Growth."""
        fault = self.params["fault"]
        if not (ack.may_grow and cx.cwnd_limited) and fault != "grows-in-recovery":
            return
        if fault == "minimum-rtt" and ack.rtt_ns is not None and ack.rtt_ns > 1.02 * cx.min_rtt_ns:
            window.cwnd = max(window.cwnd / 2, 2 * cx.mss)
            return
        in_slow_start = window.ssthresh is None or window.cwnd < window.ssthresh
        if in_slow_start or fault == "slow-start-forever":
            window.cwnd += ack.newly_acked
        elif fault == "segment-per-ack":
            window.cwnd += cx.mss
        elif fault != "no-growth":
            window.cwnd += ack.newly_acked * cx.mss / window.cwnd

    def ssthresh(self, cx: Any, window: Any) -> float:
        """Half of the window."""
        fault = self.params["fault"]
        share = {"no-reduction": 1.0, "reduction-of-5-percent": 0.95, "reduction-of-95-percent": 0.05}.get(fault, 0.5)
        unit = cx.mss if fault == "threshold-in-segments" else 1
        return float(max(window.cwnd * share / unit, 2 * cx.mss))


class Cubical(perigee.CongestionControl):
    """CUBIC with fast convergence and a Reno-friendly region (RFC 9438)."""

    params: ClassVar[dict[str, str]] = {"fault": "none"}
    C, BETA = 0.4, 0.7

    def __init__(self) -> None:
        """No loss has happened; windows in segments."""
        self.most, self.k_s, self.epoch_ns = 0.0, 0.0, 0
        self.friendly, self.before, self.credit = 0.0, 0.0, 0.0

    def on_ack(self, cx: Any, window: Any, ack: Any) -> None:
        """Growth, one packet after the other."""
        if not (ack.may_grow and cx.cwnd_limited):
            return
        for _ in range(max(1, round(ack.newly_acked / cx.mss))):
            if window.ssthresh is None or window.cwnd < window.ssthresh:
                window.cwnd += cx.mss
            else:
                self.avoid(cx, window)

    def avoid(self, cx: Any, window: Any) -> None:
        """Growth on the ACK of a packet in congestion avoidance."""
        now = window.cwnd / cx.mss
        if self.epoch_ns == 0:
            self.epoch_ns, self.friendly, self.credit = cx.now_ns, now, 0.0
            self.most = max(self.most, now)
            self.k_s = ((self.most - now) / self.C) ** (1 / 3)
        t_s = (cx.now_ns - self.epoch_ns) / SECOND
        gain = 1.0 if self.friendly >= self.before else 3 * (1 - self.BETA) / (1 + self.BETA)
        self.friendly += gain / now
        if self.C * (t_s - self.k_s) ** 3 + self.most < self.friendly:
            window.cwnd = max(window.cwnd, self.friendly * cx.mss)
            return
        target = self.C * (t_s + cx.srtt_ns / SECOND - self.k_s) ** 3 + self.most
        self.credit += (min(max(target, now), 1.5 * now) - now) / now
        if self.credit >= 1.0:
            window.cwnd += cx.mss
            self.credit = 0.0 if self.params["fault"] == "increments-lost" else self.credit - 1.0

    def ssthresh(self, cx: Any, window: Any) -> float:
        """0.7 of the window."""
        now = window.cwnd / cx.mss
        self.before, self.epoch_ns = now, 0
        self.most = now * (1 + self.BETA) / 2 if now < self.most else now
        reduced = self.most if self.params["fault"] == "reduced-twice" else now
        return float(max(self.BETA * reduced * cx.mss, 2 * cx.mss))


class Modelled(perigee.CongestionControl):
    """A largest rate of 10 rounds and a lowest RTT of 10 s, paced, with two BDPs in flight (BBRv1)."""

    kind = "model"
    params: ClassVar[dict[str, str]] = {"fault": "none"}
    CYCLE = (1.25, 0.75, 1, 1, 1, 1, 1, 1)

    def __init__(self) -> None:
        """Nothing is measured."""
        self.rates: dict[int, float] = {}
        self.round, self.round_ends_at = 0, 0
        self.plateau, self.flat_rounds, self.mode = 0.0, 0, "startup"
        self.lowest_ns, self.lowest_at = FOREVER, 0
        self.probe_ends_at, self.phase, self.phase_at = 0, 2, 0

    def state(self) -> str:
        """startup, drain, probe_bw, probe_rtt."""
        return self.mode

    def on_start(self, cx: Any, window: Any) -> None:
        """A paced first window."""
        rtt_ns = 1_000_000 if self.params["fault"] == "first-rate-kept" else cx.srtt_ns or 1_000_000
        window.pacing_bps = 2.77 * 8e9 * window.cwnd / rtt_ns

    def on_ack(self, cx: Any, window: Any, ack: Any) -> None:
        """Model, state, window and rate."""
        fault = self.params["fault"]
        expired = cx.now_ns > self.lowest_at + 10 * SECOND and fault != "no-new-minimum"
        if ack.rtt_ns is not None and (ack.rtt_ns <= self.lowest_ns or expired):
            self.lowest_ns, self.lowest_at = ack.rtt_ns, cx.now_ns
        starts = cx.snd_una >= self.round_ends_at
        if starts:
            self.round, self.round_ends_at = self.round + 1, cx.snd_nxt
        self.measure(ack, fault)
        if not self.rates or self.lowest_ns == FOREVER:
            return
        rate = max(self.rates.values())
        bdp = rate * self.lowest_ns / 8e9
        self.advance(cx, ack, rate, bdp, starts=starts, expired=expired)
        self.apply(cx, window, rate, bdp)

    def measure(self, ack: Any, fault: str) -> None:
        """The filter of rates."""
        rate = ack.delivery_rate_bps
        if rate is None:
            return
        rate = rate / 8 if fault == "rate-in-bytes" else rate
        if fault == "latest-rate":
            self.rates = {self.round: rate}
        elif not ack.app_limited or not self.rates or rate >= max(self.rates.values()):
            self.rates[self.round] = max(rate, self.rates.get(self.round, 0.0))
        length = {"filter-of-1-round": 1, "filter-without-end": FOREVER}.get(fault, 10)
        for old in [k for k in self.rates if k <= self.round - length and len(self.rates) > 1]:
            del self.rates[old]

    def advance(self, cx: Any, ack: Any, rate: float, bdp: float, *, starts: bool, expired: bool) -> None:
        """The next state."""
        if self.mode == "startup" and starts and not ack.app_limited:
            if rate >= 1.25 * self.plateau:
                self.plateau, self.flat_rounds = rate, 0
            else:
                self.flat_rounds += 1
                if self.flat_rounds >= 3 and self.params["fault"] != "startup-forever":
                    self.mode = "probe_bw" if self.params["fault"] == "no-drain" else "drain"
        if self.mode == "drain" and cx.in_flight <= bdp:
            self.mode, self.phase_at = "probe_bw", cx.now_ns
        if self.mode == "probe_bw" and cx.now_ns > self.phase_at + self.lowest_ns:
            self.phase, self.phase_at = (self.phase + 1) % len(self.CYCLE), cx.now_ns
        if expired and self.mode != "probe_rtt":
            self.mode, self.probe_ends_at = "probe_rtt", cx.now_ns + SECOND // 5
        elif self.mode == "probe_rtt" and cx.now_ns > self.probe_ends_at:
            self.mode = "probe_bw" if self.flat_rounds >= 3 else "startup"

    def apply(self, cx: Any, window: Any, rate: float, bdp: float) -> None:
        """Window and pacing rate."""
        fault = self.params["fault"]
        gains = {"startup": 2.77, "drain": 0.36, "probe_bw": self.CYCLE[self.phase], "probe_rtt": 1.0}
        gain = gains[self.mode]
        if self.mode == "probe_bw":
            gain = {"pacing-gain-of-2": 2.0, "pacing-gain-of-0.5": 0.5, "no-drain": max(gain, 1.0)}.get(fault, gain)
        first = window.pacing_bps if fault == "first-rate-kept" and self.mode == "startup" else 0.0
        window.pacing_bps = 1e12 if fault == "no-pacing" else max(gain * rate * 0.99, 1000.0, first)
        windows = {"startup": 2.77, "probe_rtt": 0.0}
        size = windows.get(self.mode, {"window-of-10-bdp": 10.0, "window-of-half-a-bdp": 0.5}.get(fault, 2.0))
        size = size * 1000 if fault == "rtt-in-microseconds" else size
        window.cwnd = max(size * bdp + (0 if self.mode == "probe_rtt" else 3 * cx.mss), 4 * cx.mss)


FAULTS = {
    Halving: (
        "initial-window",
        "grows-in-recovery",
        "minimum-rtt",
        "slow-start-forever",
        "segment-per-ack",
        "no-growth",
        "no-reduction",
        "reduction-of-5-percent",
        "reduction-of-95-percent",
        "threshold-in-segments",
    ),
    Cubical: ("reduced-twice", "increments-lost"),
    Modelled: (
        "no-pacing",
        "first-rate-kept",
        "pacing-gain-of-2",
        "pacing-gain-of-0.5",
        "rate-in-bytes",
        "rtt-in-microseconds",
        "filter-of-1-round",
        "filter-without-end",
        "latest-rate",
        "no-new-minimum",
        "no-drain",
        "startup-forever",
        "window-of-10-bdp",
        "window-of-half-a-bdp",
    ),
}

BUGS = str(Path(__file__).parent / "bugs")
"""Cases for published bugs that the catalogues lack."""

Seen = dict[tuple[str, str, str], Verdict]


def verdicts(scheme: type, fault: str, out: Path, names: tuple[str, ...], only: tuple[str, ...] = ()) -> Seen:
    """The verdicts on a scheme with a fault, by catalogue, case and expectation."""
    found: Seen = {}
    for name in names:
        cases = catalogue.load(name, [f'cc.{scheme.__name__}.fault="{fault}"'], quick=not only)
        chosen = [c for c in cases if not only or c.name in only]
        for outcome in catalogue.run(name, chosen, [scheme], out / Path(name).name, machines=Machines(2))[0].outcomes:
            found |= {(name, outcome.case.name, f.expectation.title): f.verdict for f in outcome.findings}
    return found


def missed(right: Seen, wrong: Seen) -> list[str]:
    """Expectations that only the scheme with the fault fails."""
    return [
        f"{case}: {title}"
        for (name, case, title), verdict in wrong.items()
        if verdict is Verdict.FAILED and right.get((name, case, title)) is not Verdict.FAILED
    ]


def main() -> int:
    """Prints a table of all faults."""
    names = (*catalogue.names(), BUGS)
    for scheme, faults in FAULTS.items():
        with tempfile.TemporaryDirectory() as folder:
            right = verdicts(scheme, "none", Path(folder) / "none", names)
            for fault in faults:
                found = missed(right, verdicts(scheme, fault, Path(folder) / fault, names))
                print(
                    f"| {scheme.__name__} | {fault} | {len(found)} | {found[0] if found else 'not found'} |", flush=True
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
