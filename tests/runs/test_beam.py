# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Neighbours on the carriers of a satellite, from the scenario file to the record."""

from __future__ import annotations

import pytest

import perigee_lab as perigee
from perigee_lab.results.run import Run

NETWORK = """
[run]
duration = "60 s"
[source.dumbbell]
rtt = "540 ms"
rtt_at = "bottleneck"
[port.bottleneck]
rate = "20 Mbit"
queue = "4 MB"
[port.reverse]
rate = "2 Mbit"
queue = "1 MB"
dama_delay = "600 ms"
[[flow]]
cc = "cubic"
"""
BEAM = """
[beam]
neighbours = 200
forward_rate = "100 Mbit"
forward_load = 0.6
forward_burst = "200 kB"
forward_burst_max = "10 MB"
return_rate = "20 Mbit"
return_load = 0.3
return_burst = "20 kB"
return_burst_max = "1 MB"
"""


def run(text: str, seed: int = 1) -> Run:
    found = perigee.loads(NETWORK + text).run(cc="cubic", seed=seed)
    assert found.manifest["conserved"]
    return found


@pytest.fixture(scope="module")
def shared() -> Run:
    return run(BEAM)


def test_the_record_has_the_use_of_each_carrier_and_the_waits(shared: Run) -> None:
    rows = shared.to_pandas("carriers")
    ports = {p["name"]: p for p in shared.manifest["ports"] if "carrier" in p}
    assert set(ports) == {"r1->r2", "r2->r1"}
    assert (ports["r1->r2"]["carrier"]["neighbours"], ports["r1->r2"]["carrier"]["load_bps"]) == (200, 60_000_000)
    assert len(set(rows["port"])) == 2
    for rate_bps, load, waits_ms in ((100_000_000, 0.6, (5, 60)), (20_000_000, 0.3, (600, 900))):
        mine = rows[rows["rate_bps"] == rate_bps]
        assert mine["neighbour_share"].between(0, 1 + 1e-9).all()
        assert mine["neighbour_share"].mean() == pytest.approx(load, rel=0.2)
        used = mine["neighbour_bytes"].iloc[-1] * 8 / 60 / rate_bps
        assert used == pytest.approx(mine["neighbour_share"].mean(), rel=0.02), "shares add up to the bytes"
        left = mine["neighbour_bytes"].diff().fillna(mine["neighbour_bytes"].iloc[0])
        wait_ms = (mine["neighbour_wait_ns"].fillna(0) * left).sum() / left.sum() / 1e6
        assert waits_ms[0] < wait_ms < waits_ms[1]
        assert mine["neighbour_lost_bytes"].max() == 0
    # Acknowledgements wait for grants as all data on that carrier do.
    assert 600 < rows[rows["rate_bps"] == 20_000_000]["wait_ns"].median() / 1e6 < 900


def test_a_crowd_depends_on_the_seed_and_on_nothing_else(shared: Run) -> None:
    assert run(BEAM).hashes() == shared.hashes()
    assert run(BEAM, seed=2).hashes()["carriers"] != shared.hashes()["carriers"]


def test_neighbours_take_what_they_are_given_and_none_take_nothing(shared: Run) -> None:
    alone = run("")
    assert alone.manifest.tables["carriers"].rows == 0
    without = run(BEAM.replace("neighbours = 200", "neighbours = 0"))
    # A packet that waits for its turn counts against the queue, as one that waits for slots does.
    counted = run('[port."r1->r2"]\ncount_in_service = true\n')
    same = {"flows", "rtt", "flow_totals"}
    assert {n: h for n, h in without.hashes().items() if n in same} == {
        n: h for n, h in counted.hashes().items() if n in same
    }, "a carrier of one's own is a plain port"
    crowded = run(BEAM.replace("forward_load = 0.6", "forward_load = 0.95"))
    goodput = [r.to_pandas("flow_totals")["goodput_bytes"].iloc[0] for r in (alone, shared, crowded)]
    assert goodput[0] >= goodput[1] > 1.3 * goodput[2]


def test_a_key_without_an_effect_is_an_error_with_a_remedy() -> None:
    with pytest.raises(perigee.ScenarioError, match=r"forward_rate, return_rate, or both"):
        run("[beam]\nneighbours = 3\n")
    with pytest.raises(perigee.ScenarioError, match="forward_load"):
        run('[beam]\nreturn_rate = "20 Mbit"\nforward_load = 0.5\n')
