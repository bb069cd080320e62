# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The start of fifty flows, compared with the simulator of OrbCC's authors.

The figures are condensed from curves of its public code of February 2026 (Avian688/orbtcp 75bceed,
tcpPaced 2b591cf, orbtcpExperiments 7f3f522) at 200 Mbit/s and 100 ms, with the start times of its
run 1. Its recorder omits RTT samples equal to the previous one; its sinks sample goodput every half
second from the first full second after the handshake.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

import perigee_lab as perigee
from perigee_studies.figures.orbcc_common import generator
from perigee_studies.figures.orbcc_initial_phase import recorded_ms

if TYPE_CHECKING:
    from perigee_lab.results.run import Run

FLOWS = 50
SAMPLES = 100
HANDSHAKE_S = 0.15
"""Time from the start of a flow until the receiver's side is established: one and a half RTTs."""
CURVES = {
    1.0: (51639, 0.9620, 9.8),
    1.25: (70102, 0.9827, 502.4),
    1.5: (61804, 1.1309, 359.6),
    1.75: (50010, 1.0990, 15.6),
    2.0: (48342, 1.0108, 10.3),
    2.5: (51931, 0.9974, 105.0),
}
"""By start of a quarter second: window (bytes) and U as means over flows with an RTT sample, and
packets queued."""


def starts() -> list[float]:
    """Start times of the authors' run 1."""
    draw = generator(1)
    return [draw.uniform(0.7, 1.2) for _ in range(FLOWS)]


@cache
def run(initial_phase: bool, sample: str, duration: str) -> Run:
    """The fifty flows, without the 15 that join."""
    flows = [{"from": f"s{k}", "to": f"d{k}", "cc": "*", "start": f"{s:.9f} s"} for k, s in enumerate(starts(), 1)]
    sets: dict[str, object] = {
        "flow": flows,
        "run.duration": duration,
        "run.sample": sample,
        "run.host_jitter": "0 s",
        "run.rtt_spread": 0.0,
        "run.rtt_changes": SAMPLES,
        "cc.orbcc-repro.initial_phase": initial_phase,
    }
    return perigee.load("scenarios/studies/orbcc/initial-phase.toml", sets=sets).run(cc="orbcc-repro", seed=1)


@pytest.mark.parametrize(("initial_phase", "theirs_ms"), [(True, 114.3), (False, 102.7)])
def test_the_first_hundred_samples_have_the_authors_mean(initial_phase: bool, theirs_ms: float) -> None:
    rows = run(initial_phase, "500 ms", "6 s").table("events").to_pylist()
    events = [(r["t_ns"] / 1e9, r["kind"], r["flow"], r["value"]) for r in rows if r["kind"] == "rtt-change"]
    assert len(events) == FLOWS * SAMPLES, "each flow has so many samples that do not repeat"
    assert recorded_ms(events) == pytest.approx(theirs_ms, rel=0.01)


def test_the_flows_ramp_as_the_authors_do() -> None:
    """Compares the sum over flows of the mean goodput samples between 1 and 6 s, in Mbit/s."""
    table = run(True, "500 ms", "6 s").table("flows")
    t_s, flow, bytes_ = (table.column(c).to_numpy() for c in ("t_ns", "flow", "delivered_bytes"))
    delivered = {(round(t / 1e9, 3), k): b for t, k, b in zip(t_s, flow, bytes_, strict=True)}
    total = 0.0
    for k, start in enumerate(starts()):
        before_s, before, seen = start + HANDSHAKE_S, 0.0, []
        at = math.ceil(before_s)
        for t in np.arange(at, 6.0, 0.5):
            now = float(delivered[round(float(t), 3), k])
            if t > 1:
                seen.append((now - before) * 8e-6 / (t - before_s))
            before_s, before = float(t), now
        total += float(np.mean(seen))
    assert total == pytest.approx(192.4, rel=0.01)


def test_windows_utilisation_and_queue_follow_the_authors_curves() -> None:
    found = run(True, "1 ms", "3 s")
    table, links = found.table("flows"), found.table("links")
    names = ("t_ns", "flow", "cwnd_bytes", "cc_U", "rtt_ns")
    t, flow, cwnd, u, rtt = (table.column(c).to_numpy().astype(float) for c in names)
    # A curve starts with the first RTT sample of its flow.
    first = {k: t[(flow == k) & ~np.isnan(rtt)].min() for k in range(FLOWS)}
    on = t >= np.array([first[int(k)] for k in flow])
    port, packets, at = (links.column(c).to_numpy() for c in ("port", "queue_packets", "t_ns"))
    queued = port == port[np.argmax(packets)]
    for begin, (window, utilisation, queue) in CURVES.items():
        low, high = begin * 1e9 - 1e3, (begin + 0.25) * 1e9 - 1e3
        inside = on & (t >= low) & (t < high)
        each = [inside & (flow == k) for k in range(FLOWS)]
        means = [(cwnd[one].mean(), u[one].mean()) for one in each if one.any()]
        ours = np.mean(means, axis=0)
        assert ours[0] == pytest.approx(window, rel=0.005), begin
        assert ours[1] == pytest.approx(utilisation, abs=0.001), begin
        waiting = packets[queued & (at >= low) & (at < high)].sum() / 250
        assert waiting == pytest.approx(queue, abs=2.0), begin
