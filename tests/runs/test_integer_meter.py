# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The integer variant of OrbCC's meter, from the scenario file to the rates of flows."""

from __future__ import annotations

import pytest

import perigee_lab as perigee

NETWORK = """
[run]
duration = "20 s"
warmup = "5 s"
[source.dumbbell]
pairs = 2
rtt = ["20 ms", "100 ms"]
[port.bottleneck]
rate = "50 Mbit"
queue = "1 bdp"
meter = "{meter}"
[[flow]]
cc = "*"
[[flow]]
from = "s2"
to = "d2"
cc = "*"
"""


def test_orbcc_over_a_meter_in_integers_gets_what_it_gets_over_the_reference() -> None:
    runs = {
        meter: perigee.loads(NETWORK.format(meter=meter)).run(cc="orbcc", seed=1) for meter in ("reference", "integer")
    }
    rates = {meter: run.to_pandas("flow_totals")["goodput_bytes"].astype(float) for meter, run in runs.items()}
    for i in (0, 1):
        assert rates["integer"][i] == pytest.approx(rates["reference"][i], rel=0.01)
    # The meters differ: the means of 20 and 100 ms are not equal to the last bit.
    assert list(rates["integer"]) != list(rates["reference"])
    told = {m: next(p for p in r.manifest["ports"] if p["name"] == "r1->r2") for m, r in runs.items()}
    assert told["integer"]["meter"] == "integer"
    assert "meter" not in told["reference"]


def test_a_meter_of_ports_without_one_is_refused() -> None:
    text = NETWORK.format(meter="integer").replace('queue = "1 bdp"', 'queue = "1 bdp"\nmetered = false')
    with pytest.raises(perigee.ScenarioError, match=r"port\.bottleneck\.meter.*no effect(.|\n)*metered = true"):
        perigee.loads(text).run(cc="orbcc", seed=1)


def test_it_is_that_of_the_ports_of_its_table_only() -> None:
    text = NETWORK.format(meter="integer")
    run = perigee.loads(text.replace("[port.bottleneck]", "[port.all]\nmetered = true\n[port.bottleneck]")).run(
        cc="orbcc", seed=1
    )
    metered = {p["name"]: p.get("meter") for p in run.manifest["ports"] if p["metered"]}
    assert metered["r1->r2"] == "integer"
    assert metered["r2->r1"] == "integer", "what is said of the data direction holds for the way back"
    assert all(meter is None for name, meter in metered.items() if not name.startswith("r"))
