# SPDX-License-Identifier: Apache-2.0 OR MIT
"""User inputs.

These are custom networks, uploads, traces of both directions, matrices, and skies from two sources.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.results.metrics import flow_rows
from perigee_lab.sky.skymap import elevation_deg, elevations
from perigee_lab.sky.traces import opportunities
from perigee_lab.sky.weather import Climate, following

LINKS = (
    "from,to,rate_mbps,delay_ms,t_s\nhome,pop,20,5,\npop,home,5,5,\npop,dc,100,15,\nhome,dc,1,50,\npop,dc,100,30,2\n"
)
NETWORK = """
[run]
duration = "4 s"
[source.network]
links = "links.csv"
[[flow]]
name = "up"
from = "home"
to = "dc"
cc = "cubic"
[[flow]]
name = "down"
from = "dc"
to = "home"
cc = "cubic"
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Three nodes with a bad direct link and rates that differ by direction."""
    (tmp_path / "links.csv").write_text(LINKS, encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(NETWORK, encoding="utf-8")
    return path


def test_a_network_of_ones_own_is_simulated_and_its_paths_are_followed(cli: Cli, network: Path) -> None:
    done = cli("paths", network, "--list")
    assert done.returncode == 0, done.stderr
    assert "fibre" not in done.stdout
    assert "•pop" in done.stdout
    found = json.loads(cli("paths", network, "--json").stdout)[0]
    # 2 x (5 + 15) ms, and from 2 s on 2 x (5 + 30) ms.
    assert (found["rtt_min_ms"], found["rtt_max_ms"]) == (40.0, 70.0)
    frame = perigee.load(network).run().to_pandas("flows")
    assert len(frame) > 0


def test_what_is_wrong_with_links_is_said_with_its_line(cli: Cli, network: Path) -> None:
    for text, says in [
        ("from,to,rate\nhome,dc,1\n", "units are part of the names"),
        ("from,to,rate_mbps,delay_ms\nhome,dc,1,x\n", "line 2: delay_ms"),
        ("from,to,rate_mbps,delay_ms\nhome,pop,1,1\n", 'no link ends at a node "dc"'),
    ]:
        (network.parent / "links.csv").write_text(text, encoding="utf-8")
        done = cli("check", network)
        assert done.returncode == 2
        assert says in done.stderr


def test_uploads_run_against_the_data_direction(tmp_path: Path) -> None:
    text = """
[run]
duration = "5 s"
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "20 Mbit"
[port.reverse]
rate = "4 Mbit"
[[flow]]
from = "d1"
to = "s1"
cc = "cubic"
"""
    run = perigee.loads(text).run()
    # The uplink, which carries the ACKs of a download, has 4 Mbit/s.
    assert 3.5 < run.summary["goodput_mbps"] < 4.0
    assert run.summary["base_rtt_ms"] == pytest.approx(20 + 1500 * 8 / 4e3 + 52 * 8 / 20e3, abs=0.1)


def test_a_terminal_is_replayed_both_ways_and_a_short_trace_says_so(cli: Cli, tmp_path: Path) -> None:
    # 12 Mbit/s down, 2.4 Mbit/s up, for two seconds; delays with fractions.
    (tmp_path / "down").write_text("".join(f"{ms}\n" for ms in range(1, 2001)), encoding="utf-8")
    (tmp_path / "up").write_text("".join(f"{ms}\n" for ms in range(5, 2001, 5)), encoding="utf-8")
    (tmp_path / "delay").write_text("12.5\n" * 200, encoding="utf-8")
    text = """
[run]
duration = "4 s"
[source.trace]
rate_file = "down"
reverse_rate_file = "up"
delay_file = "delay"
[[flow]]
from = "WHO"
to = "WHOM"
cc = "cubic"
"""
    for who, whom, least, most in [("s", "d", 10.5, 12.0), ("d", "s", 2.0, 2.4)]:
        path = tmp_path / f"{who}.toml"
        path.write_text(text.replace("WHOM", whom).replace("WHO", who), encoding="utf-8")
        run = perigee.load(path).run()
        assert least < run.summary["goodput_mbps"] < most
        assert run.summary["base_rtt_ms"] > 25.0
    done = cli("check", path)
    assert "down lasts 2 s" in done.stderr + done.stdout
    assert "played 2.0 times" in done.stderr + done.stdout
    (tmp_path / "delay").write_text("12,5\n", encoding="utf-8")
    assert "line 1" in cli("check", path).stderr


SKY = """
[run]
duration = "2 s"
[source.constellation]
ground_ports = "per-link"
[source.constellation.shell]
altitude = "600 km"
inclination = "53 deg"
planes = 40
per_plane = 20
phasing = 11
[[nodes]]
file = "gateways.csv"
[[nodes]]
file = "terminals.csv"
kind = "terminal"
[port.terminal.up]
rate = "20 Mbit"
[port.terminal.down]
rate = "200 Mbit"
[port.gateway]
rate = "1 Gbit"
"""


@pytest.fixture
def sky(tmp_path: Path) -> Path:
    """Two gateways and two terminals."""
    (tmp_path / "gateways.csv").write_text("name,lat,lon\ngw1,51.5,0\ngw2,40.4,-3.7\n", encoding="utf-8")
    (tmp_path / "terminals.csv").write_text("name,lat,lon\nt1,52,1\nt2,41,-3\n", encoding="utf-8")
    path = tmp_path / "sky.toml"
    path.write_text(SKY, encoding="utf-8")
    return path


def test_a_matrix_from_a_file_with_the_nearest_gateway(cli: Cli, sky: Path) -> None:
    (sky.parent / "m.csv").write_text(
        "from,to,rate_mbps,start_s,stop_s\nany gateway,t1,50,,\nt2,any gateway,5,0.5,1.5\n", encoding="utf-8"
    )
    sky.write_text(SKY + '[[flow]]\nmatrix = "m.csv"\n', encoding="utf-8")
    told = json.loads(cli("check", sky, "--json").stdout)
    assert [(f["from"], f["to"]) for f in told["flows"]] == [("gw1", "t1"), ("t2", "gw2")]
    run = perigee.load(sky).run()
    rows = run.table("flow_totals").to_pylist()
    # 50 Mbit/s for 2 s and 5 Mbit/s for 1 s, in packets of 1500 bytes.
    assert [r["data_sent"] for r in rows] == [pytest.approx(8333, abs=2), pytest.approx(417, abs=2)]
    (sky.parent / "m.csv").write_text("from,to,flows\nt1,gw9,1\n", encoding="utf-8")
    refused = cli("check", sky, "--cc", "cubic")
    assert refused.returncode == 2
    assert "gw9" in refused.stderr


def test_shells_and_element_sets_share_a_sky(cli: Cli, sky: Path) -> None:
    flow = '[[flow]]\nfrom = "t1"\nto = "gw1"\ncc = "cubic"\n'
    stations = (
        SKY.replace("planes = 40", "planes = 6").replace("600 km", "1200 km").replace("= 11", "= 1").split("[port.")[0]
    )
    plain = sky.with_name("plain.toml")
    plain.write_text(stations.replace('kind = "terminal"\n', "") + flow, encoding="utf-8")
    done = cli("export", "hypatia", plain, "state")
    assert done.returncode == 0, done.stderr
    sets = (sky.parent / "state/tles.txt").read_text(encoding="utf-8").split("\n", 1)[1].replace("sat-", "tle-")
    (sky.parent / "more.tle").write_text(sets, encoding="utf-8")
    sky.write_text(SKY.replace("[source.constellation]", '[source.constellation]\nalso_tle = "more.tle"') + flow)
    told = json.loads(cli("check", sky, "--json").stdout)
    assert any("40 x 20 satellites" in line for line in told["report"])
    assert any("more.tle: 120 satellites" in line for line in told["report"])
    assert perigee.load(sky).run().summary["goodput_mbps"] > 1.0


def test_opportunities_carry_the_rate() -> None:
    # At 12 Mbit/s, a packet of 1500 bytes leaves every ms; at 0, none; at 6 Mbit/s, one every other
    # ms.
    rate = np.array([12.0] * 10 + [0.0] * 10 + [6.0] * 10)
    found = opportunities(rate, 0.01)
    assert found[:100] == list(range(1, 101))
    assert found[100:] == list(range(202, 301, 2))


@pytest.mark.parametrize("what", ["mahimahi", "leoreplayer"])
def test_an_exported_path_carries_what_the_network_did(cli: Cli, tmp_path: Path, what: str) -> None:
    text = (
        '[run]\nduration = "3 s"\n[source.chain]\nrtt = "30 ms"\n'
        '[port.bottleneck]\nrate = "12 Mbit"\n[[flow]]\ncc = "cubic"\n'
    )
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    done = cli("export", what, "c.toml", "out")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out/up.trace").read_text(encoding="utf-8").split()
    assert len(lines) == 3000
    assert int(lines[-1]) == 3000
    if what == "leoreplayer":
        assert {float(d) for d in (tmp_path / "out/delay.trace").read_text(encoding="utf-8").split()} == {15.0}
    else:
        assert "mm-delay 15" in done.stdout
    assert not math.isnan(float(lines[0]))


def test_an_exported_script_changes_with_the_network(cli: Cli, tmp_path: Path) -> None:
    text = (
        '[run]\nduration = "3 s"\n[source.chain]\nrtt = "30 ms"\n[port.bottleneck]\nrate = "12 Mbit"\n'
        '[[change]]\nat = "1 s"\nrate = "6 Mbit"\n[[change]]\nat = "2 s"\noutage = "500 ms"\n[[flow]]\ncc = "cubic"\n'
    )
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    assert cli("export", "tc", "c.toml", "out").returncode == 0
    script = (tmp_path / "out/path.sh").read_text(encoding="utf-8")
    first, second, third = (script.index(f"until_ms {ms}\n") for ms in (1000, 2000, 2500))
    assert "rate 12000kbit" in script[:first]
    assert "rate 6000kbit" in script[first:second]
    assert "loss 100%" in script[second:third]


def test_rain_follows_the_satellite() -> None:
    # m and sigma of two elevations; values halfway between them, and at both, are computed by hand.
    climates = {30.0: Climate(0.0, 1.0, 0.5), 50.0: Climate(math.log(0.25), 1.0, 0.5)}
    found = following(climates, np.array([1.0, 1.0, 1.0, -1.0]), np.array([30.0, 50.0, 40.0, 30.0]))
    # It rains half of the time, so that the offset is exp(m): A = exp(m) (e - 1) at one deviation.
    assert found == pytest.approx([math.e - 1, 0.25 * (math.e - 1), 0.5 * (math.e - 1), 0.0])
    assert found[:1] == pytest.approx(climates[30.0].attenuation(np.array([1.0])))


def test_elevations_are_those_of_a_triangle() -> None:
    assert elevation_deg([10.0, 20.0], [10.0, 20.0, 550.0]) == pytest.approx(90.0)
    # At the horizon, the cosine of the angle at the Earth's centre is R / (R + h).
    away = math.degrees(math.acos(6371 / 6921))
    assert elevation_deg([0.0, 0.0], [0.0, away, 550.0]) == pytest.approx(0.0, abs=1e-9)


def test_elevations_of_the_satellite_in_use_stay_above_the_mask(sky: Path) -> None:
    sky.write_text(SKY + '[[flow]]\nfrom = "t1"\nto = "gw1"\ncc = "cubic"\n', encoding="utf-8")
    loaded = perigee.load(sky)
    for node in ("t1", "gw1"):
        seen = elevations(loaded, node, 3, 1.0)
        assert (seen > 24.5).all()
        assert np.ptp(seen) > 0


def test_a_schedule_that_ends_early_says_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("t_s,rate_mbps,rtt_ms\n0,10,20\n1,5,30\n2,8,40\n", encoding="utf-8")
    text = '[run]\nduration = "DURATION"\n[source.dumbbell]\n[schedule]\nfile = "s.csv"\n[[flow]]\ncc = "cubic"\n'
    for duration, says in [("9 s", True), ("3 s", False)]:
        (tmp_path / "s.toml").write_text(text.replace("DURATION", duration), encoding="utf-8")
        done = cli("check", "s.toml")
        assert ("ends at 2 s" in done.stdout + done.stderr) == says


GRAPH = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d36" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d29">51.5</data><data key="d32">-0.1</data><data key="d33">London</data></node>
    <node id="1"><data key="d29">48.9</data><data key="d32">2.4</data><data key="d33">Paris</data></node>
    <node id="2"><data key="d29">50.85</data><data key="d32">4.35</data><data key="d33">Brussels</data></node>
    <edge source="0" target="1"><data key="d36">1000000000.0</data></edge>
    <edge source="1" target="2"><data key="d36">50000000.0</data></edge>
    <edge source="0" target="2"><data key="d36">100000000.0</data></edge>
  </graph>
</graphml>
"""


def test_a_graph_carries_traffic_around_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "net.graphml").write_text(GRAPH, encoding="utf-8")
    text = (
        '[run]\nduration = "9 s"\n[source.network]\nlinks = "net.graphml"\nreroute = "changes"\n'
        '[port.link]\nqueue = "200 packets"\n[[change]]\nat = "3 s"\non = "London->Brussels"\noutage = "3 s"\n'
        '[[flow]]\nfrom = "London"\nto = "Brussels"\ncc = "*"\n'
    )
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    run = perigee.load(tmp_path / "s.toml").run(cc="cubic")
    flows = run.to_pandas("flows").set_index("t_ns")
    # 318 km are 1.56 ms; over Paris 340 and 262 km are 2.95 ms, at half the rate.
    base_ms = flows["base_rtt_ns"] / 1e6
    assert 3.1 < base_ms[2_000_000_000] < 3.4
    assert 5.8 < base_ms[5_000_000_000] < 6.3
    assert base_ms[8_000_000_000] == base_ms[2_000_000_000]
    assert run.summary["path_changes"] == 2
    assert run.summary["capacity_mbps"] == pytest.approx((6 * 100 + 3 * 50) / 9, rel=0.01)


def test_a_graph_without_places_and_names_that_are_nearly_right(tmp_path: Path) -> None:
    nowhere = re.sub(r'<data key="d(29|32)">[^<]*</data>', "", GRAPH)
    (tmp_path / "net.graphml").write_text(nowhere, encoding="utf-8")
    text = (
        '[run]\nduration = "2 s"\n[source.network]\nlinks = "net.graphml"\n'
        '[[flow]]\nfrom = "London"\nto = "Brussels"\ncc = "cubic"\n'
    )
    delay = {"source.network.delay": "4 ms"}
    for wrong, said in (
        ("", r"scenario:4: .*delay in \[source.network\]"),
        ("Brusels", r'flow.to: no link ends at .*did you mean "Brussels"'),
    ):
        with pytest.raises(perigee.ScenarioError, match=said) as caught:
            perigee.loads(
                text.replace("Brussels", wrong or "Brussels"), folder=tmp_path, sets=delay if wrong else None
            ).run()
        assert str(caught.value) == caught.value.args[0], "its text alone"
    run = perigee.loads(text, delay, folder=tmp_path).run()
    # 4 ms each way over the direct link at 1 Gbit/s, and 12.4 us of transmission.
    assert flow_rows(run)[0]["base_rtt_ms"] == pytest.approx(8.0, abs=0.5)


def test_a_data_centre_lies_behind_its_gateway(tmp_path: Path) -> None:
    text = (
        '[run]\nduration = "5 s"\n[source.constellation]\npreset = "starlink-shell1"\n'
        '[[source.constellation.fibre]]\nfrom = "gateway"\nto = "dc"\ndelay = "5 ms"\nrate = "50 Mbit"\n'
        '[port.ground]\nrate = "100 Mbit"\nqueue = "1 bdp"\n'
        '[node.home]\nplace = "London"\n[node.gateway]\nkind = "station"\nplace = "Paris"\n'
        '[[flow]]\nfrom = "dc"\nto = "home"\ncc = "*"\n[[flow]]\nfrom = "gateway"\nto = "home"\napp = "ping"\n'
    )
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    run = perigee.load(tmp_path / "s.toml").run(cc="cubic")
    bulk, ping = flow_rows(run)
    assert bulk["capacity_mbps"] == pytest.approx(50)
    assert 9.9 < bulk["base_rtt_ms"] - ping["base_rtt_ms"] < 11
    assert bulk["share"] > 0.8
    assert run.manifest.conserved
