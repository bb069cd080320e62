# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee paths` and `perigee sky`: a constellation without packets."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

import perigee_lab as perigee
from conftest import ROOT, Cli
from perigee_lab.sky.hotspots import busy, ports
from perigee_lab.sky.path_plot import plot
from perigee_lab.sky.skymap import draw, footprint_deg, picture
from perigee_lab.sky.survey import contrast, survey

SKY = """
title = "over the Atlantic"
[run]
duration = "40 s"
[source.constellation]
preset = "starlink-shell1"
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
    path.write_text(SKY, encoding="utf-8")
    return path


def test_paths_prints_statistics_and_writes_a_plot_and_a_table(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    done = cli("paths", scenario, "--attach", "shortest-path,nearest", "--out", "p.svg", "--csv", "p.csv", "--list")
    assert done.returncode == 0, done.stderr
    assert "great-circle fibre" in done.stdout
    assert "nearest is" in done.stdout
    assert (tmp_path / "p.svg").stat().st_size > 5000
    with (tmp_path / "p.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 400
    assert all(40 < float(r["rtt_ms"]) < 300 for r in rows)


def test_any_two_places_make_a_pair(cli: Cli, scenario: Path) -> None:
    done = cli("paths", scenario, "--from", "48.4284, -123.3656", "--to", "Sao Paulo", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)[0]
    assert found["rtt_min_ms"] > found["fibre_rtt_ms"] / 1.47
    assert found["links_min"] == min(len(p["hops"]) + 1 for p in found["paths"])
    assert {"name", "plane", "slot", "ascending"} <= set(found["paths"][0]["hops"][0])


def test_a_new_path_begins_where_its_first_satellite_is_visible(scenario: Path) -> None:
    (paths,) = survey(perigee.load(scenario))
    assert paths.legs[0].t_s == 0
    assert np.all(np.diff([leg.t_s for leg in paths.legs]) > 0)
    assert len(paths.rtt_ms) == 400
    assert contrast(paths, paths).largest_ratio == 1.0  # type: ignore[union-attr]
    assert set(paths.handovers(0)) <= set(paths.changes())


@pytest.mark.slow
def test_sky_draws_a_map_of_the_instant_that_paths_lists(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    done = cli("sky", scenario, "--time", "12s", "--out", "map.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "map.png").stat().st_size > 50_000
    loaded = perigee.load(scenario)
    found = picture(loaded, 12.0)
    assert len(found["isls"]) == 3168
    assert found["paths"][0]["rtt_ms"] == survey(loaded)[0].rtt_ms[120]


def test_a_policy_with_a_memory_holds_on_the_map_what_it_holds_in_the_run(scenario: Path) -> None:
    loaded = perigee.load(scenario, {"source.constellation.reselect": "hold"})
    at_14, at_16 = (survey(loaded)[0].rtt_ms[k] for k in (140, 160))
    assert picture(loaded, 14.0)["paths"][0]["rtt_ms"] == at_14
    assert picture(loaded, 16.0)["paths"][0]["rtt_ms"] == at_16


# Pair, strategy, and mean, minimum and maximum RTT in ms over 200 s, calculated independently with
# Hypatia's rules.
STUDY = [
    ("sao-paulo", 11000, "shortest-path", 83.99, 81.37, 88.00),
    ("sao-paulo", 11000, "nearest", 247.85, 120.81, 323.94),
    ("sao-paulo", 5500, "shortest-path", 45.04, 43.10, 48.69),
    ("victoria", 11000, "shortest-path", 120.47, 118.52, 127.07),
    ("victoria", 5500, "shortest-path", 53.41, 43.62, 63.40),
    ("victoria", 5500, "nearest", 171.76, 78.98, 292.77),
    ("montreal", 11000, "shortest-path", 222.82, 211.98, 243.37),
    ("montreal", 5500, "shortest-path", 96.93, 93.00, 106.42),
    ("san-jose-costa-rica", 11000, "shortest-path", 142.58, 136.85, 150.59),
    ("san-jose-california", 11000, "shortest-path", 118.60, 114.53, 127.12),
]


@pytest.mark.slow
def test_the_pairs_of_the_hypatia_study_have_its_round_trips() -> None:
    file = ROOT / "scenarios" / "studies" / "hypatia-pairs.toml"
    found = {}
    for policy in ("shortest-path", "nearest"):
        loaded = perigee.load(file, {"source.constellation.attach": policy})
        found |= {(p.origin, p.target, policy): p for p in survey(loaded, label=policy)}
    assert len(found) == 2 * 10
    for city, km, policy, mean, least, largest in STUDY:
        p = found[city, f"{city}-{km}", policy]
        rtts = [p.rtt_ms.mean(), p.rtt_ms.min(), p.rtt_ms.max()]
        assert rtts == pytest.approx([mean, least, largest], abs=0.1), (city, km, policy)
    for city, km, low, high in (("sao-paulo", 11000, 3, 4), ("victoria", 5500, 4.5, 6)):
        ends = (city, f"{city}-{km}")
        c = contrast(found[(*ends, "shortest-path")], found[(*ends, "nearest")])
        assert c is not None
        assert low < c.largest_ratio < high


def test_the_footprint_is_that_of_the_closed_form() -> None:
    # An altitude of 550 km and an elevation of 25 degrees correspond to a radius of 940.7 km on the
    # ground, as in the Hypatia study.
    assert footprint_deg(550, 25) * np.pi / 180 * 6371 == pytest.approx(940.7, abs=2)


LONG = "San Fernando del Valle de Catamarca and its ground station on the hill"


@pytest.mark.parametrize("policies", [1, 2])
def test_long_names_leave_the_plot_its_room(policies: int) -> None:
    text = SKY.replace("[node.london]", f'[node."{LONG}, north"]').replace("[node.new-york]", f'[node."{LONG}, south"]')
    text = text.replace('"london"', f'"{LONG}, north"').replace('"new-york"', f'"{LONG}, south"').replace("40 s", "9 s")
    chosen = ("shortest-path", "nearest")[:policies]
    found = [survey(perigee.loads(text, {"source.constellation.attach": p}), label=p)[0] for p in chosen]
    figure = plot(found)
    figure.draw_without_rendering()
    paper = figure.bbox
    (legend,) = figure.legends
    boxes = [legend.get_window_extent(), *(a.get_tightbbox() for a in figure.axes)]
    for box in boxes:
        assert min(box.x0 - paper.x0, paper.x1 - box.x1, box.y0 - paper.y0, paper.y1 - box.y1) >= 0, box
    assert not any(legend.get_window_extent().overlaps(a.get_tightbbox()) for a in figure.axes)
    # The panels keep most of the figure, and no text covers their lines.
    assert sum(a.get_window_extent().height for a in figure.axes) > 0.5 * paper.height
    assert not any(a.texts for a in figure.axes)


def test_names_on_a_crowded_map_do_not_cover_each_other() -> None:
    text = SKY.replace("[node.london]", '[[nodes]]\nset = "cities"\ncount = 36\n[node.london]')
    figure = draw(picture(perigee.loads(text), 0.0))
    figure.draw_without_rendering()
    labels = [t for a in figure.axes for t in a.texts]
    assert len(labels) > 25
    assert {"london", "new-york"} <= {t.get_text() for t in labels}, "the ends of the path come first"
    boxes = [Text.get_window_extent(t) for t in labels]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["paths", "--from", "Atlantis", "--to", "London"], "Atlantis"),
        (["paths", "--from", "London"], "give --from and --to, or neither"),
        (["paths", "--from", "London", "--to", "London"], "both ends are the same"),
        (["paths", "--attach", "luckiest"], "neither one of shortest-path"),
        (["sky", "--time", "soon"], "is not a time"),
        (["sky", "--out", "map.bmpx"], "cannot write"),
    ],
)
def test_bad_input_is_named(cli: Cli, scenario: Path, words: list[str], expected: str) -> None:
    done = cli(words[0], scenario, *words[1:])
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_hotspots_of_a_run_are_on_the_map(cli: Cli, tmp_path: Path) -> None:
    text = SKY.replace('"40 s"', '"6 s"').replace("[source", '[port.ground]\nrate = "10 Mbit"\n[source', 1)
    path = tmp_path / "busy.toml"
    path.write_text(text, encoding="utf-8")
    assert cli("run", path, "--out", "out").returncode == 0
    run = perigee.open_record(tmp_path / "out" / "cubic" / "seed1")
    top = busy(run, 5.0)[0]
    assert top.origin == "london"
    assert top.utilisation > 0.9
    done = cli("sky", path, "--time", "5s", "--utilisation", "out/cubic/seed1", "--out", "busy.png")
    assert done.returncode == 0, done.stderr
    assert "london -> sat-" in done.stdout
    assert (tmp_path / "busy.png").stat().st_size > 20_000
    other = ("--set", 'source.constellation.preset="iridium"')
    done = cli("sky", path, "--time", "5s", "--utilisation", "out/cubic/seed1", *other)
    assert done.returncode == 2
    assert "another scenario" in done.stderr
    done = cli("sky", path, "--utilisation", "nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr


@pytest.mark.slow
def test_a_shared_radio_is_as_busy_as_all_its_links(cli: Cli, tmp_path: Path) -> None:
    """Three terminals have the same satellite; each has a share of its radio, which is full."""
    places = [(48.8, 2.3), (48.9, 2.4), (49.0, 2.2)]
    terminals = "".join(f'[node.t{i}]\nkind = "terminal"\nlat = {a}\nlon = {b}\n' for i, (a, b) in enumerate(places))
    flows = "".join(f'[[flow]]\nfrom = "gw"\nto = "t{i}"\ncc = "cubic"\n' for i in range(3))
    text = (
        '[run]\nduration = "6 s"\n[source.constellation]\npreset = "starlink-shell1"\n'
        '[port.ground]\nrate = "100 Mbit"\n[port.satellite]\nrate = "10 Mbit"\nqueue = "50 packets"\n'
        '[node.gw]\nkind = "station"\nlat = 47.0\nlon = 5.0\n'
    )
    path = tmp_path / "shared.toml"
    path.write_text(text + terminals + flows, encoding="utf-8")
    assert cli("run", path, "--out", "out", "--no-report").returncode == 0
    run = perigee.open_record(tmp_path / "out" / "cubic" / "seed1")
    top = ports(busy(run, 5.0))[0]
    assert top.utilisation > 0.98
    assert {b.target for b in top.links} >= {"t0", "t1", "t2"}
    assert len({b.origin for b in top.links}) == 1
    assert all(b.utilisation < 0.8 for b in top.links)
    assert min(1.0, sum(b.utilisation for b in top.links)) == pytest.approx(top.utilisation)
    done = cli("sky", path, "--time", "5s", "--utilisation", "out/cubic/seed1", "--out", "shared.png")
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[1]
    assert float(first.split("%")[0]) > 98
    assert "(one radio), " in first


def test_flows_may_run_in_both_directions_between_two_places(tmp_path: Path) -> None:
    text = SKY.replace("40 s", "3 s")
    back = '[[flow]]\nfrom = "new-york"\nto = "london"\ncc = "newreno"\n'
    there, both = perigee.loads(text).run(), perigee.loads(text + back).run()
    assert both.summary["goodput_mbps"] > 1.2 * there.summary["goodput_mbps"]


CROWD = """
title = "eight pairs over the Atlantic"
[run]
duration = "10 s"
[source.constellation]
preset = "starlink-shell1"
route = "shortest"
[port.all]
rate = "10 Mbit"
queue = "50 packets"
""" + "".join(
    f'[node.e{i}]\nkind = "station"\nlat = {51 + 0.5 * i}\nlon = 0.0\n'
    f'[node.w{i}]\nkind = "station"\nlat = {40 + 0.5 * i}\nlon = -74.0\n'
    f'[[flow]]\nfrom = "e{i}"\nto = "w{i}"\ncc = "cubic"\n'
    for i in range(8)
)


@pytest.mark.slow
def test_load_aware_paths_relieve_a_hotspot(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "crowd.toml").write_text(CROWD, encoding="utf-8")
    total, used = {}, {}
    for rule in ("shortest", "load-aware"):
        route = f"source.constellation.route={rule}"
        done = cli("run", "crowd.toml", "--set", route, "--out", rule)
        assert done.returncode == 0, done.stderr
        run = perigee.open_record(tmp_path / rule / "cubic" / "seed1")
        total[rule] = run.summary["goodput_mbps"]
        ends = [(b.origin[:4], b.target[:4]) for b in busy(run, 9.0) if b.utilisation > 0.5]
        used[rule] = ends.count(("sat-", "sat-"))
        record = str(tmp_path / rule / "cubic" / "seed1")
        done = cli(
            "sky", "crowd.toml", "--set", route, "--time", "9 s", "--utilisation", record, "--out", f"{rule}.png"
        )
        assert done.returncode == 0, done.stderr
    # On shortest paths, eight senders share a few ISLs; the other policy distributes them and
    # carries more.
    assert total["load-aware"] > 1.5 * total["shortest"], total
    assert used["load-aware"] > 1.5 * used["shortest"], used


def test_disjoint_paths_need_per_path_routing(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "crowd.toml").write_text(CROWD, encoding="utf-8")
    sets = ("--set", "source.constellation.route=disjoint", "--set", "source.constellation.routing=per-hop")
    done = cli("check", "crowd.toml", *sets)
    assert done.returncode == 2
    assert 'routing = "per-path"' in done.stderr
