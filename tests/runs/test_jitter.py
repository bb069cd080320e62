# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The delay process of a geostationary path, from the scenario file to RTTs and losses."""

from __future__ import annotations

import pytest

import perigee_lab as perigee

PATH = """
[run]
duration = "4000 s"
sample = "10 s"
[source.dumbbell]
rtt = "500 ms"
[port.bottleneck]
rate = "144 Mbit"
queue = "36 MB"
[jitter]
{}
[[flow]]
{}
"""
PING = 'app = "ping"\ninterval = "200 ms"\nsize = 48'


def test_pings_over_a_geostationary_path_have_its_rtts() -> None:
    run = perigee.loads(PATH.format('preset = "geo"', PING)).run()
    assert run.manifest["conserved"]
    rtt = run.to_pandas("rtt")
    inside = rtt[rtt["rtt_us"].between(558_000, 627_000)]["count"].sum() / rtt["count"].sum()
    # In the published week, 99 % are in this range. Neighbouring values are correlated, so that the
    # share varies from hour to hour.
    assert 0.97 < inside < 0.999
    assert run.summary["rtt_median_ms"] == pytest.approx(598, abs=5)
    assert rtt["rtt_us"].min() > 540_000


def test_single_losses_are_single_packets() -> None:
    jitter = 'rtt = ["0 % 600 ms", "100 % 600 ms"]\nloss_every = "20 s"\nloss_single = 1'
    run = perigee.loads(PATH.format(jitter, PING)).run()
    totals = run.to_pandas("flow_totals").iloc[0]
    # 200 events are expected within 4000 s; five standard deviations are 71.
    assert 129 < totals["drops_random"] < 271
    assert totals["drops_outage"] == 0
    assert totals["data_sent"] == 20_000
    assert run.summary["rtt_mean_ms"] == pytest.approx(600, abs=0.2)


def test_a_transfer_crosses_the_path() -> None:
    scenario = PATH.format('preset = "geo"\nloss_every = "20 min"', 'cc = "cubic"\nbytes = "200 MB"')
    run = perigee.loads(scenario.replace("4000 s", "60 s")).run()
    assert run.manifest["conserved"]
    done = run.to_pandas("completions")
    assert len(done) == 1
    assert (done["done_ns"] - done["asked_ns"])[0] / 1e9 < 45
