# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee sky --over`, and `perigee paths` of many pairs."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab import _core
from perigee_lab.sky import over_time, over_time_maps

SKY = """
title = "over the Atlantic"
[run]
duration = "40 s"
[source.constellation]
preset = "iridium"
attach = "shortest-path"
[node.london]
place = "London"
[node.new-york]
place = "New York"
[[flow]]
from = "london"
to = "new-york"
cc = "cubic"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "sky.toml"
    path.write_text(SKY)
    return path


def nothing() -> None:
    pass


def test_the_latency_of_a_place_is_that_of_the_path_that_the_core_finds(scenario: Path) -> None:
    loaded = perigee.load(scenario)
    t_s = np.array([0.0, 1200.0, 5000.0])
    found = over_time.latency(loaded, "London", t_s, nothing)
    sky = _core.Sky(loaded.core, [], None)
    paths = [json.loads(sky.picture(round(t * 1e9)))["paths"][0]["rtt_ms"] for t in t_s]
    names = [g["name"] for g in found.ground]
    assert found.panels[0].places[names.index("new-york")] == pytest.approx(np.median(paths), abs=1e-4)
    # The cell of New York is as far as New York, within the size of a cell (3 degrees, at most 3 ms
    # of propagation).
    lat, lon = over_time.grid()
    cell = found.panels[0].cells[np.abs(lat - 40.7).argmin(), np.abs(lon + 74.0).argmin()]
    assert cell == pytest.approx(np.median(paths), abs=4.0)


def test_coverage_counts_the_satellites_that_the_core_sees(scenario: Path) -> None:
    loaded = perigee.load(scenario)
    t_s = np.array([0.0, 900.0])
    found = over_time.coverage(loaded, t_s, nothing)
    seen = [[len(g["visible"]) for g in at["ground"]] for at in over_time.pictures(loaded, t_s, (), nothing)]
    assert found.panels[0].places == pytest.approx(np.mean(seen, axis=0))


def test_handovers_are_changes_of_the_satellite_in_use(scenario: Path) -> None:
    kept = {"source.constellation.attach": "nearest", "run.duration": "3 h"}
    found = over_time.handovers(perigee.load(scenario, kept), np.arange(0.0, 10800.0, 15.0), nothing)
    pair = perigee.paths(perigee.load(scenario, kept))[0]
    counted = [len(pair.handovers(end)) for end in (0, -1)]
    assert min(counted) > 10
    assert found.panels[0].places * (10785 / 3600) == pytest.approx(counted, abs=1)


def test_the_place_that_the_map_calls_the_middle_of_a_link_is_on_the_same_side_of_the_date_line() -> None:
    lat, lon = over_time._middle([10.0, 170.0], [10.0, -170.0])
    assert abs(lon) == pytest.approx(180.0)
    assert 10.0 < lat < 10.3
    assert over_time._cell(89.9, 179.9) == (59, 119)
    assert over_time._cell(-90.0, 180.0) == (0, 0)


@pytest.mark.slow
def test_a_day_becomes_pictures_films_and_tables(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    asked = ["sky", str(scenario), "--over", "10 min", "--step", "5 min"]
    for name in ("a.png", "a.pdf", "a.svg", "a.gif", "a.csv", "a.geojson"):
        result = cli(*asked, "--map", "latency", "--from", "London", "--out", str(tmp_path / name))
        assert result.returncode == 0, result.stderr
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()
    assert (tmp_path / "a.gif").read_bytes()[:6] == b"GIF89a"
    with (tmp_path / "a.csv").open() as file:
        table = list(csv.DictReader(file))
    assert {row["name"] for row in table} == {"london", "new-york"}
    features = json.loads((tmp_path / "a.geojson").read_text())["features"]
    assert {f["geometry"]["type"] for f in features} == {"Polygon", "Point"}


def test_czml_has_every_satellite_and_the_path_over_time(scenario: Path) -> None:
    t_s = np.arange(0.0, 600.0, 60.0)
    packets = over_time_maps.czml(over_time.coverage(perigee.load(scenario), t_s, nothing))
    assert packets[0]["version"] == "1.0"
    names = {p["id"] for p in packets}
    line = packets[-1]["polyline"]["positions"]
    assert len(line) == len(t_s) - 1
    assert all(one.removesuffix("#position") in names for step in line for one in step["references"])
    satellites = [p for p in packets if p["id"].startswith("satellite/")]
    assert len(satellites) == 66
    assert len(satellites[0]["position"]["cartographicDegrees"]) == 4 * len(t_s)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--map", "latency"], "needs --from"),
        (["--map", "coverage", "--from", "London"], "no effect"),
        (["--map", "load"], "--utilisation"),
        (["--map", "rain"], "none of latency, coverage, handovers, load"),
        (["--out", "map.bmp"], "the name must end in one of"),
        (["--step", "1ms"], "instants"),
        (["--out", "/dev/null/map.png"], "cannot write to /dev/null"),
    ],
)
def test_maps_that_cannot_be_made_are_refused(cli: Cli, scenario: Path, words: list[str], said: str) -> None:
    result = cli("sky", str(scenario), "--over", "1h", *words)
    assert result.returncode == 2
    assert said in result.stderr


def test_many_pairs_make_one_table_and_one_picture(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    places = ["Paris", "Madrid", "Rome", "Berlin", "Vienna", "Oslo", "Lima", "Cairo", "Tokyo"]
    nodes = "".join(f'[node.{p.lower()}]\nplace = "{p}"\n' for p in places)
    flows = "".join(f'[[flow]]\nfrom = "{p.lower()}"\nto = "new-york"\ncc = "cubic"\n' for p in places)
    scenario.write_text(scenario.read_text() + nodes + flows)
    out = tmp_path / "pairs.png"
    result = cli("paths", str(scenario), "--out", str(out))
    assert result.returncode == 0
    assert "10 pairs" in result.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pairs.csv", "pairs.png", "sky.toml"]
    with (tmp_path / "pairs.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 10
