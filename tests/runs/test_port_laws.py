# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Laws of ports and faults of their telemetry, from the scenario file to the record."""

from __future__ import annotations

import pytest

import perigee_lab as perigee

NETWORK = """
[run]
duration = "12 s"
warmup = "4 s"
sample = "10 ms"
[source.dumbbell]
pairs = 2
rtt = ["40 ms", "80 ms"]
[port.all]
metered = true
[port.bottleneck]
rate = "50 Mbit"
queue = "2 bdp"
{port}
[[flow]]
cc = "*"
[[flow]]
from = "s2"
to = "d2"
cc = "*"
"""


def run(cc: str, *port: str, more: str = "") -> perigee.Run:
    return perigee.loads(NETWORK.format(port="\n".join(port)) + more).run(cc=cc, seed=1)


def queue_ms(of: perigee.Run, since_s: float = 4) -> float:
    links = of.to_pandas("links")
    here = links[(links["link"] == 0) & (links["t_ns"] > since_s * 1e9)]
    return float((here["queue_bytes"] * 8e3 / here["rate_bps"]).mean())


@pytest.mark.parametrize("cc", ["xcp", "rcp"])
def test_a_law_of_ports_fills_the_link_in_equal_shares(cc: str) -> None:
    found = run(cc)
    assert found.summary["share"] > 0.98
    assert found.summary["jain"] > 0.999
    assert queue_ms(found) < 1
    assert "telemetry_acks" in found.to_pandas("flow_totals")


def test_a_law_needs_a_metered_port() -> None:
    text = NETWORK.format(port="").replace("metered = true", "metered = false")
    found = perigee.loads(text).run(cc="rcp", seed=1)
    assert any("rcp, which needs telemetry, and got none" in w for w in found.manifest["warnings"])


def test_no_fault_of_telemetry_leaves_the_record_and_the_manifest_as_they_are() -> None:
    plain, zero = run("orbcc"), run("orbcc", 'telemetry_delay = "0 ms"', "telemetry_error = 0")
    assert plain.hashes() == zero.hashes()
    assert not any("telemetry_faults" in p for p in plain.manifest["ports"])


def test_faults_of_telemetry_are_those_of_their_port_and_in_the_manifest() -> None:
    found = run("orbcc", 'telemetry_delay = "20 ms"', "telemetry_flow_count_error = 0.5")
    faults = {p["name"]: p.get("telemetry_faults") for p in found.manifest["ports"]}
    assert faults["r1->r2"]["delay_ns"] == 20_000_000
    assert faults["r1->r2"]["flow_count_error"] == 0.5
    assert all(f is None for name, f in faults.items() if not name.startswith("r"))


@pytest.mark.parametrize(
    "key",
    [
        'telemetry_delay = "100 ms"',
        "telemetry_error = 0.3",
        "telemetry_clock_ppm = 50000",
        'telemetry_stale = "1 s"',
        "telemetry_flow_count_error = -0.9",
        "telemetry_flow_table = 1",
    ],
)
def test_each_fault_of_telemetry_has_an_effect_on_orbcc_and_none_on_cubic(key: str) -> None:
    change = '[[change]]\nat = "6 s"\nrate = "30 Mbit"\n'
    assert run("orbcc", key, more=change).hashes() != run("orbcc", more=change).hashes()
    assert run("cubic", key, more=change).hashes()["flows"] == run("cubic", more=change).hashes()["flows"]


def test_a_clock_that_runs_fast_hides_traffic_and_leaves_a_queue() -> None:
    assert queue_ms(run("orbcc", "telemetry_clock_ppm = 60000")) > 2 + queue_ms(run("orbcc"))


def test_a_stale_rate_fills_the_queue_for_its_time() -> None:
    change = '[[change]]\nat = "6 s"\nrate = "25 Mbit"\n'
    fresh, stale = (run("orbcc", *k, more=change) for k in ([], ['telemetry_stale = "2 s"']))
    window = [(f := r.to_pandas("links"))[(f["link"] == 0) & f["t_ns"].between(6.5e9, 8e9)] for r in (fresh, stale)]
    assert window[1]["queue_bytes"].mean() > 5 * window[0]["queue_bytes"].mean()


def test_evictions_from_a_flow_table_are_in_the_record() -> None:
    small, roomy = run("orbcc", "telemetry_flow_table = 1"), run("orbcc", "telemetry_flow_table = 100")
    [row, back] = small.to_pandas("meters").to_dict("records")
    assert (row["name"], row["entries"]) == ("r1->r2", 1)
    assert row["evictions"] >= row["evictions_in_use"] > 1000
    assert back["evictions"] == 0
    assert roomy.to_pandas("meters")["evictions"].sum() == 0
    assert roomy.hashes()["flows"] == run("orbcc").hashes()["flows"]
    assert small.manifest["ports"][0]["telemetry_faults"]["flow_table"] == 1
    assert run("orbcc").to_pandas("meters").empty


@pytest.mark.parametrize("cc", ["xcp", "rcp", "orbcc-pint"])
def test_a_fault_of_records_warns_where_packets_carry_none(cc: str) -> None:
    found = run(cc, 'telemetry_delay = "20 ms"')
    assert any(f"has no effect: {cc} reads no records of ports" in w for w in found.manifest["warnings"])
    assert found.hashes()["flows"] == run(cc).hashes()["flows"]
    assert not run("orbcc", 'telemetry_delay = "20 ms"').manifest["warnings"]
    named = NETWORK.format(port='telemetry_delay = "20 ms"').replace('cc = "*"', f'cc = "{cc}"')
    with pytest.raises(perigee.ScenarioError, match="no flow's congestion control reads the records"):
        perigee.loads(named)


def test_a_flow_table_of_an_integer_meter_is_refused() -> None:
    with pytest.raises(perigee.ScenarioError, match=r"telemetry_flow_table.*bitmap(.|\n)*reference"):
        perigee.loads(NETWORK.format(port='meter = "integer"\ntelemetry_flow_table = 4')).run(cc="orbcc")


@pytest.mark.parametrize("key", ['telemetry_delay = "1 ms"', "telemetry_error = 0.1"])
def test_a_fault_of_telemetry_without_a_meter_is_refused(key: str) -> None:
    text = NETWORK.format(port=f"metered = false\n{key}").replace("[port.all]\nmetered = true\n", "")
    with pytest.raises(perigee.ScenarioError, match=r"telemetry_\w+.*no effect(.|\n)*metered = true"):
        perigee.loads(text).run(cc="orbcc", seed=1)


def test_bounds_of_faults_are_checked() -> None:
    for key in ("telemetry_error = 1.5", "telemetry_flow_count_error = -2", 'telemetry_delay = "11 s"'):
        with pytest.raises(perigee.ScenarioError, match="telemetry_"):
            perigee.loads(NETWORK.format(port=key))
