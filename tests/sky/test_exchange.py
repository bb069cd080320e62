# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Export, import and diff: networks over time to and from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli

SKY = """
title = "Manila to Dalian"
[run]
duration = "20 s"
[source.constellation]
preset = "hypatia-compat-kuiper"
[node.manila]
lat = 14.6042
lon = 120.9822
[node.dalian]
lat = 38.9228
lon = 121.6298
[[flow]]
from = "manila"
to = "dalian"
cc = "cubic"
"""

LEOEM = """
[run]
duration = "40 s"
[source.constellation]
preset = "leoem-compat"
[node.san-diego]
lat = 32.8825
lon = -117.2378
[node.new-york]
lat = 40.8473
lon = -73.9319
[port.hop]
rate = "100 Mbit"
[[flow]]
from = "san-diego"
to = "new-york"
cc = "cubic"
"""


@pytest.fixture
def kuiper(tmp_path: Path) -> Path:
    path = tmp_path / "kuiper.toml"
    path.write_text(SKY, encoding="utf-8")
    return path


def ok(cli: Cli, *words: object) -> str:
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hypatias_pair_takes_the_path_of_its_integration_test(cli: Cli, kuiper: Path) -> None:
    found = json.loads(ok(cli, "paths", kuiper, "--json"))[0]
    plane_and_slot = [[(h["plane"], h["slot"]) for h in p["hops"]] for p in found["paths"]]
    numbers = [[plane * 34 + slot for plane, slot in path] for path in plane_and_slot]
    assert numbers[0] == [184, 183, 217]
    assert numbers[1] == [218, 217]
    assert found["paths"][1]["t_s"] == pytest.approx(18.0, abs=0.2)


def test_a_folder_of_hypatia_comes_back_as_the_same_timeline(cli: Cli, kuiper: Path, tmp_path: Path) -> None:
    ok(cli, "export", "hypatia", kuiper, "folder")
    assert (tmp_path / "folder" / "tles.txt").read_text(encoding="utf-8").startswith("34 34\n")
    assert len((tmp_path / "folder" / "isls.txt").read_text(encoding="utf-8").splitlines()) == 2 * 34 * 34
    first = (tmp_path / "folder" / "dynamic_state_100ms_for_20s" / "fstate_0.txt").read_text(encoding="utf-8")
    # Forwarding entries towards two stations, from all satellites and from the other station.
    assert len(first.splitlines()) == 2 * (34 * 34 + 1)
    ok(cli, "import", "hypatia", "folder", "b.jsonl", "--from", "manila", "--to", "dalian")
    ok(cli, "export", "timeline", kuiper, "a.jsonl")
    done = cli("diff", "a.jsonl", "b.jsonl", "--json")
    assert done.returncode in (0, 3), done.stderr
    for pair in json.loads(done.stdout)["diff"]["pairs"]:
        assert pair["same_way"] == pair["steps"] == 200
        assert pair["largest_difference_ms"] < 1e-3


def test_a_timeline_does_not_differ_from_itself_but_from_another_policy(cli: Cli, kuiper: Path) -> None:
    ok(cli, "export", "timeline", kuiper, "a.jsonl")
    assert ok(cli, "diff", "a.jsonl", "a.jsonl") == "no difference\n"
    ok(cli, "export", "timeline", kuiper, "b.jsonl", "--set", "source.constellation.attach=nearest")
    done = cli("diff", "a.jsonl", "b.jsonl")
    assert done.returncode == 3
    assert "manila to dalian: same way in" in done.stdout


def test_the_smallest_difference_is_said_and_names_can_be_brought_together(
    cli: Cli, kuiper: Path, tmp_path: Path
) -> None:
    ok(cli, "export", "timeline", kuiper, "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    header = json.loads(lines[0])
    header["ports"][0]["rate"] += 1000
    chunk = json.loads(lines[1])
    for change in chunk["changes"]:
        if "delay" in change["change"]:
            change["change"]["delay"][1]["base"] += 1
    text = "\n".join([json.dumps(header), json.dumps(chunk), *lines[2:]])
    (tmp_path / "b.jsonl").write_text(text + "\n", encoding="utf-8")
    done = cli("diff", "a.jsonl", "b.jsonl")
    assert done.returncode == 3
    assert " ns at most" in done.stdout
    assert "port 1 of " in done.stdout
    for node in header["nodes"]:
        node["name"] = {"manila": "end1", "dalian": "end2"}.get(node["name"], node["name"])
    text = "\n".join([json.dumps(header), *lines[1:]]).replace("sat-", "moon-")
    (tmp_path / "c.jsonl").write_text(text + "\n", encoding="utf-8")
    done = cli("diff", "a.jsonl", "c.jsonl")
    assert done.returncode == 3
    assert "no pair of nodes is in both" in done.stdout
    done = cli("diff", "a.jsonl", "c.jsonl", "--rename", "end1=manila", "--rename", "end2=dalian", "--json")
    assert len(json.loads(done.stdout)["diff"]["pairs"]) == 2
    done = cli("diff", "a.jsonl", "c.jsonl", "--rename", "end3=manila")
    assert done.returncode == 2
    assert 'neither timeline has a node "end3"' in done.stderr
    assert cli("diff", "a.jsonl", "a.jsonl", "--step", "500000us").stdout == "no difference\n"


@pytest.mark.slow
def test_a_log_of_leoem_can_be_compared_with_a_generated_shell(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "leoem.toml").write_text(LEOEM, encoding="utf-8")
    ok(cli, "export", "leoem", "leoem.toml", "path.log")
    ok(cli, "import", "leoem", "path.log", "log.jsonl")
    sky = LEOEM.replace("leoem-compat", "starlink-24x66").replace("[port.hop]", "[port.all]")
    (tmp_path / "sky.toml").write_text(sky, encoding="utf-8")
    ok(cli, "export", "timeline", "sky.toml", "sky.jsonl")
    names = ("--rename", "end1=san-diego", "--rename", "end2=new-york", "--shell", "24x66")
    done = cli("diff", "log.jsonl", "sky.jsonl", *names, "--json")
    assert done.returncode == 3, done.stderr
    pairs = json.loads(done.stdout)["diff"]["pairs"]
    assert {(p["from"], p["to"]) for p in pairs} == {("san-diego", "new-york"), ("new-york", "san-diego")}
    assert all(p["both"] == p["steps"] for p in pairs)
    for bad in ("24", "0x66", "x"):
        assert cli("diff", "log.jsonl", "sky.jsonl", "--shell", bad).returncode == 2
    assert cli("diff", "log.jsonl", "sky.jsonl", "--rename", "end1").returncode == 2


@pytest.mark.slow
def test_leoem_compat_writes_the_first_rows_of_the_published_log(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "leoem.toml"
    scenario.write_text(LEOEM, encoding="utf-8")
    ok(cli, "export", "leoem", scenario, "path.log")
    rows = (tmp_path / "path.log").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 40
    assert rows[0].startswith("1$[-1, 750, 749, 748, 747, 813, 879, 945, 1011, -2]$10$[0.00125")
    ok(cli, "import", "leoem", "path.log", "a.jsonl")
    ok(cli, "run", scenario, "--no-report", "--set", "run.duration=2s")
    done = cli("paths", scenario)
    assert done.returncode == 2
    assert "generates a path log" in done.stderr


def test_a_path_over_a_real_sky_is_written_as_a_log_too(cli: Cli, kuiper: Path, tmp_path: Path) -> None:
    ok(cli, "export", "leoem", kuiper, "path.log")
    assert (tmp_path / "path.log").read_text(encoding="utf-8").startswith("1$[-1, 184, 183, 217, -2]$5$[")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["export", "cassette", "kuiper.toml", "x"], "none of timeline"),
        (["import", "hypatia", "nowhere", "x"], "tles.txt"),
        (["import", "leoem", "kuiper.toml", "x"], "line 2: there is no $"),
        (["diff", "kuiper.toml", "kuiper.toml"], "line 1: this is no saved timeline"),
        (["export", "hypatia", "kuiper.toml", "x", "--set", "source.constellation.attach=nearest"], "shortest path"),
    ],
)
def test_bad_input_is_named(cli: Cli, kuiper: Path, words: list[str], expected: str) -> None:
    assert kuiper.exists()
    done = cli(*words)
    assert done.returncode == 2, done.stdout
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_what_exists_is_not_replaced_unasked(cli: Cli, kuiper: Path, tmp_path: Path) -> None:
    (tmp_path / "precious.jsonl").write_text("precious", encoding="utf-8")
    for words in (["export", "timeline", kuiper], ["import", "leoem", "path.log"]):
        done = cli(*words, "precious.jsonl")
        assert done.returncode == 2
        assert "precious.jsonl exists" in done.stderr
        assert "--force" in done.stderr
    assert (tmp_path / "precious.jsonl").read_text(encoding="utf-8") == "precious"
    ok(cli, "export", "timeline", kuiper, "precious.jsonl", "--force")
    refused = cli("diff", "precious.jsonl", "precious.jsonl", "--step", "0s")
    assert refused.returncode == 2
    assert "use a longer step" in refused.stderr
