# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Inputs of a sky: old, decayed and contradictory inputs are reported with file and line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.sky.hotspots import differences

# With two planes of a generated shell as element sets, a satellite is visible most of the time.
SHELL = """
title = "a sky of element sets"
[run]
duration = "5 s"
[source.constellation]
SATELLITES
[node.london]
place = "London"
[node.paris]
place = "Paris"
[[flow]]
from = "london"
to = "paris"
cc = "*"
"""
PRESET = SHELL.replace("SATELLITES", 'preset = "starlink-shell1"')


@pytest.fixture(scope="session")
def elements(tmp_path_factory: pytest.TempPathFactory) -> str:
    """1584 element sets of three lines of 2000-01-01, created with a state folder of Hypatia."""
    folder = tmp_path_factory.mktemp("elements")
    text = PRESET.replace('duration = "5 s"', 'duration = "1 s"').replace(
        "[node.london]", "[node.london]\nkind = 'station'"
    )
    scenario = perigee.loads(text.replace("[node.paris]", "[node.paris]\nkind = 'station'"))
    from perigee_lab import _core

    _core.export(scenario.core, "hypatia", folder / "state", [])
    return (folder / "state" / "tles.txt").read_text(encoding="utf-8").split("\n", 1)[1]


def checksum(line: str) -> str:
    total = sum(int(c) if c.isdigit() else c == "-" for c in line[:68])
    return f"{line[:68]}{total % 10}"


def with_epoch(lines: list[str], first: int, epoch: str) -> list[str]:
    """Changes the epoch (YYDDD) of the set that starts, after its name, at line `first`."""
    changed = list(lines)
    line = lines[first - 1]
    changed[first - 1] = checksum(line[:18] + epoch + line[23:])
    return changed


def decayed(lines: list[str], first: int) -> list[str]:
    """Makes the set at line `first` five days older, with more drag than any satellite."""
    changed = with_epoch(lines, first, "99361")
    line = changed[first - 1]
    changed[first - 1] = checksum(line[:53] + " 99999+1" + line[61:])
    return changed


def write(folder: Path, lines: list[str], text: str = SHELL) -> Path:
    (folder / "x.tle").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = folder / "s.toml"
    path.write_text(text.replace("SATELLITES", 'tle = "x.tle"\nstart = "2000-01-01T00:00:00Z"'), encoding="utf-8")
    return path


COMMANDS = (
    ["check", "s.toml", "--cc", "cubic"],
    ["run", "s.toml", "--cc", "cubic,bbr", "--no-report", "--out", "out"],
    ["paths", "s.toml"],
    ["sky", "s.toml"],
    ["timeline", "s.toml", "--out", "t.jsonl"],
    ["export", "timeline", "s.toml", "e.jsonl"],
)


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=[w[0] for w in COMMANDS])
def test_old_and_decayed_elements_are_named_by_line_everywhere(
    cli: Cli, tmp_path: Path, elements: str, words: list[str]
) -> None:
    lines = elements.splitlines()
    write(tmp_path, decayed(with_epoch(lines, 5, "97001"), 8))
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    stale = said.replace("\n", " ")
    assert "x.tle: line 5: 1 of 1583 element sets are more than 14 days from the start of the run" in stale
    assert "sat-0-1 of 1997-01-01" in stale
    assert "x.tle: line 8: 1 satellite has decayed by 2000-01-01" in stale
    assert "sat-0-2" in stale
    if words[0] == "check":
        assert done.stdout.splitlines()[0].endswith(": OK, with warnings")


def test_one_epoch_that_moves_the_start_of_the_run_is_named(cli: Cli, tmp_path: Path, elements: str) -> None:
    path = write(tmp_path, with_epoch(elements.splitlines(), 5, "00201"))
    given = path.read_text(encoding="utf-8")
    assert "starts at the newest" not in cli("check", "s.toml", "--cc", "cubic").stderr
    path.write_text(given.replace('\nstart = "2000-01-01T00:00:00Z"', ""), encoding="utf-8")
    said = cli("check", "s.toml", "--cc", "cubic").stderr.replace("\n", " ")
    assert "x.tle: line 5: the run starts at the newest epoch, 2000-07-19" in said
    assert "only 1 of 1584 element sets" in said


def test_fresh_elements_are_fine(cli: Cli, tmp_path: Path, elements: str) -> None:
    write(tmp_path, elements.splitlines())
    done = cli("check", "s.toml", "--cc", "cubic")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("s.toml: OK\n")
    assert done.stderr == ""


def test_the_height_below_which_satellites_are_left_out_can_be_set(cli: Cli, tmp_path: Path, elements: str) -> None:
    write(tmp_path, elements.splitlines())
    high = cli("check", "s.toml", "--cc", "cubic", "--set", "source.constellation.min_altitude=600 km")
    assert high.returncode == 2
    assert "no satellite flies at 600 km (min_altitude) or higher" in high.stderr
    low = cli("check", "s.toml", "--cc", "cubic", "--set", "source.constellation.min_altitude=300 km")
    assert "1584 satellites used" in low.stdout


def test_an_isl_list_counts_the_satellites_of_the_file(tmp_path: Path, elements: str) -> None:
    lines = elements.splitlines()
    (tmp_path / "links.txt").write_text("1 3\n2 3\n3 4\n", encoding="utf-8")
    text = SHELL.replace("SATELLITES", 'isl_list = "links.txt"\nSATELLITES').replace('"London"', '"Lyon"')
    linked = []
    for changed in (lines, decayed(lines, 8)):
        path = write(tmp_path, changed, text)
        from perigee_lab.sky.skymap import picture

        found = picture(perigee.load(path), 0.0)
        linked.append({(found["names"][a], found["names"][b]) for a, b in found["isls"]})
    assert linked[0] == {("sat-0-1", "sat-0-3"), ("sat-0-2", "sat-0-3"), ("sat-0-3", "sat-0-4")}
    assert linked[1] == {("sat-0-1", "sat-0-3"), ("sat-0-3", "sat-0-4")}


@pytest.mark.slow
def test_schemes_that_nothing_waits_for_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PRESET.replace('"*"', '"cubic"'), encoding="utf-8")
    for verb in ("check", "run"):
        done = cli(verb, "s.toml", "--cc", "bbr,orbcc")
        assert done.returncode == 2, done.stdout
        assert "--cc (or run.cc) bbr, orbcc has no effect" in done.stderr
        assert 'cc = "*"' in done.stderr
        assert "s.toml:" in done.stderr
    assert cli("check", "s.toml", "--cc", "cubic").returncode == 0
    done = cli("check", "s.toml", "--cc", "bbr", "--set", 'flow.0.cc="*"')
    assert done.returncode == 0, done.stderr
    ping = PRESET.replace('cc = "*"', 'app = "ping"')
    (tmp_path / "p.toml").write_text(ping, encoding="utf-8")
    assert cli("check", "p.toml").returncode == 0
    done = cli("check", "p.toml", "--cc", "bbr")
    assert done.returncode == 2
    assert "no flow of this scenario uses TCP" in done.stderr


def test_a_preset_beside_element_sets_is_a_mistake_unless_it_is_meant(cli: Cli, tmp_path: Path, elements: str) -> None:
    both = write(tmp_path, elements.splitlines(), PRESET.replace("preset", 'tle = "x.tle"\npreset'))
    done = cli("check", both, "--cc", "cubic")
    assert done.returncode == 2
    assert "source.constellation.preset: conflicts with source.constellation.tle; remove one of them" in done.stderr
    both.write_text(PRESET, encoding="utf-8")
    done = cli("paths", both, "--tle", "x.tle", "--set", 'source.constellation.start="2000-01-01T00:00:00Z"')
    assert done.returncode == 0, done.stderr
    assert "source.constellation.preset is overridden by the element sets of --set" in done.stderr


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (
            ["source.constellation.isls=none"],
            ["no path between", "inter-satellite links are off and nothing relays", "relay"],
        ),
        (
            ['source.constellation.preset="oneweb"'],
            ["no path between", "these satellites have no inter-satellite links"],
        ),
        (["node.paris.lat=78", "node.paris.lon=15"], ["sees no satellite", "78.0 degrees", "inclination"]),
        (["source.constellation.mask=89.5 deg"], ["sees no satellite", "its mask is 89.5 degrees", "lower it"]),
    ],
    ids=["no lasers", "none by preset", "too far north", "mask"],
)
def test_what_can_never_flow_is_refused_with_a_remedy(
    cli: Cli, tmp_path: Path, sets: list[str], words: list[str]
) -> None:
    text = PRESET.replace('place = "Paris"', "") if "node.paris.lat" in sets[0] else PRESET
    (tmp_path / "s.toml").write_text(text.replace('"London"', '"Sydney"'), encoding="utf-8")
    done = cli("check", "s.toml", "--cc", "cubic", *(w for s in sets for w in ("--set", s)))
    assert done.returncode == 2, done.stdout
    for word in words:
        assert word in done.stderr


@pytest.mark.slow
def test_a_map_beyond_the_run_says_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PRESET, encoding="utf-8")
    done = cli("sky", "s.toml", "--time", "60s")
    assert done.returncode == 0, done.stderr
    assert "60 s is after the end of the run, 5 s" in done.stderr
    assert cli("sky", "s.toml", "--time", "5s").stderr == ""


@pytest.mark.slow
def test_loads_are_drawn_only_on_the_sky_that_they_are_of(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PRESET, encoding="utf-8")
    assert cli("run", "s.toml", "--cc", "cubic", "--no-report", "--out", "out").returncode == 0
    words = ("sky", "s.toml", "--time", "4s", "--utilisation", "out/cubic/seed1", "--out", "m.png")
    assert cli(*words).stderr == ""
    moved = cli(*words, "--set", "source.constellation.mask=40 deg")
    assert moved.returncode == 2
    assert 'source.constellation.mask is not given there and "40 deg" here' in moved.stderr
    other = cli(*words, "--set", "port.ground.rate=5 Mbit")
    assert other.returncode == 0
    assert "port.ground.rate is" in other.stderr
    late = cli(*words, "--time", "30s")
    assert "the record ends at 5 s" in late.stderr
    record = perigee.open_record(tmp_path / "out" / "cubic" / "seed1")
    assert differences(record, perigee.load(tmp_path / "s.toml")) == []
    found = differences(record, perigee.load(tmp_path / "s.toml", {"run.duration": "6 s", "run.seed": 7}))
    assert [(d.key, d.moves) for d in found] == [("run.duration", False)]


@pytest.mark.slow
def test_files_of_nodes_are_compared_by_their_contents(cli: Cli, tmp_path: Path) -> None:
    """A record has absolute paths, whereas a scenario has those with which it was written."""
    sky = tmp_path / "sky"
    sky.mkdir()
    (sky / "gateways.csv").write_text("name,lat,lon\ngw1,48.8,2.3\ngw2,52.5,13.4\n", encoding="utf-8")
    text = PRESET.replace('[node.paris]\nplace = "Paris"', '[[nodes]]\nfile = "gateways.csv"\nkind = "station"')
    (sky / "s.toml").write_text(text.replace('to = "paris"', 'to = "gw1"'), encoding="utf-8")
    done = cli("run", "sky/s.toml", "--cc", "cubic", "--no-report", "--out", "sky/out")
    assert done.returncode == 0, done.stderr
    words = ("sky", "sky/s.toml", "--time", "4s", "--utilisation", "sky/out/cubic/seed1", "--out", "m.png")
    assert (cli(*words).returncode, cli(*words).stderr) == (0, "")
    # Another folder with the same files.
    shutil.copytree(sky, tmp_path / "moved")
    moved = tuple(w.replace("sky/", "moved/") for w in words)
    assert (cli(*moved).returncode, cli(*moved).stderr) == (0, "")
    with (tmp_path / "moved/gateways.csv").open("a", encoding="utf-8") as file:
        file.write("gw3,41.9,12.5\n")
    done = cli(*moved)
    assert done.returncode == 2
    assert "nodes.0.file is" in done.stderr
    assert '"moved/gateways.csv" with other contents here' in done.stderr


@pytest.mark.slow
def test_a_saved_timeline_serves_both_directions_of_a_pair(cli: Cli, tmp_path: Path) -> None:
    back = '[[flow]]\nfrom = "paris"\nto = "london"\ncc = "*"\n'
    (tmp_path / "both.toml").write_text(PRESET + back, encoding="utf-8")
    assert cli("timeline", "both.toml", "--out", "t.jsonl").returncode == 0
    flows = PRESET[PRESET.index("[[flow]]") :] + back
    saved = '[run]\nduration = "5 s"\n[source.timeline]\nfile = "t.jsonl"\n'
    (tmp_path / "saved.toml").write_text(saved + flows, encoding="utf-8")
    rows = {}
    for name in ("both", "saved"):
        done = cli("run", f"{name}.toml", "--cc", "cubic", "--no-report", "--out", name)
        assert done.returncode == 0, done.stderr
        table = perigee.open_record(tmp_path / name / "cubic" / "seed1").table("flow_totals")
        rows[name] = [table[c].to_pylist() for c in ("name", "from", "to", "goodput_bytes")]
    assert rows["saved"] == rows["both"]
    assert len(rows["saved"][0]) == 2
    # Without ends, a flow still stands for each pair once.
    (tmp_path / "all.toml").write_text(saved + '[[flow]]\ncc = "cubic"\n', encoding="utf-8")
    found = json.loads(cli("check", "all.toml", "--json").stdout)
    assert len(found["flows"]) == 1


@pytest.mark.slow
def test_bad_files_are_named_without_the_words_of_programmers(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PRESET, encoding="utf-8")
    (tmp_path / "half.jsonl").write_text('{"title": "x", "dur', encoding="utf-8")
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    for words, expected in (
        (["paths", "nowhere.toml"], "cannot read nowhere.toml: no such file or folder"),
        (["paths", "s.toml", "--tle", "nowhere.tle"], "nowhere.tle: no such file or folder"),
        (["diff", "half.jsonl", "half.jsonl"], "line 1: this is no saved timeline: it breaks off in the middle"),
        (["diff", "other.jsonl", "other.jsonl"], 'missing field "title"'),
        (["diff", "s.toml", "s.toml"], "s.toml: line 1: this is no saved timeline"),
        (["diff", ".", "."], "perigee compare compares records"),
        (["import", "hypatia", "nowhere", "x"], "tles.txt: no such file or folder"),
        (["import", "leoem", "nowhere", "x"], "cannot read nowhere: no such file or folder"),
    ):
        done = cli(*words)
        assert done.returncode == 2, words
        assert expected in done.stderr, done.stderr
        assert "os error" not in done.stderr
        assert " column " not in done.stderr


@pytest.mark.slow
def test_words_of_the_code_do_not_reach_people(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PRESET, encoding="utf-8")
    said = cli("check", "s.toml", "--cc", "cubic")
    assert "every second plane shifted by half a slot" in said.stdout + said.stderr
    shell = "{planes = 24, per_plane = 66, altitude = '550 km', inclination = '53 deg', phasing = 1}"
    own = PRESET.replace('preset = "starlink-shell1"', f"shell = {shell}")
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    assert "phasing factor 1, from" in cli("check", "own.toml", "--cc", "cubic").stdout
    low = cli("check", "own.toml", "--set", "source.constellation.shell.altitude=100 km")
    assert "100 km is below the smallest allowed value, 160 km" in low.stderr
    steep = cli("check", "own.toml", "--set", "source.constellation.mask=90 deg", "--cc", "cubic")
    assert "a mask of 90 degrees" in steep.stderr
    assert "Elevation" not in steep.stderr
    odd = cli("check", "own.toml", "--set", "cc.cubic.beta=7", "--cc", "cubic")
    assert odd.returncode == 2
    assert "(7" not in odd.stderr
    log = PRESET.replace("starlink-shell1", "leoem-compat") + '[port.hop]\nrate = "10 Mbit"\n'
    (tmp_path / "log.toml").write_text(log, encoding="utf-8")
    done = cli("check", "log.toml", "--cc", "cubic")
    assert done.returncode == 0, done.stderr
    assert "preset leoem-compat: 0 seconds of the run have no path" in done.stdout


def test_a_draw_beside_a_file_of_outages_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "outages.csv").write_text("0.05\n0.1\n", encoding="utf-8")
    lines = ["", "[handover]", 'outage = "80 ms"', 'file = "outages.csv"']
    path = tmp_path / "both.toml"
    path.write_text(PRESET + "\n".join(lines), encoding="utf-8")
    done = cli("check", path, "--cc", "cubic")
    line = path.read_text(encoding="utf-8").splitlines().index('outage = "80 ms"') + 1
    assert done.returncode == 2
    assert f"both.toml:{line}" in done.stderr
    assert "conflicts with handover.file" in done.stderr
    path.write_text(path.read_text(encoding="utf-8").replace('outage = "80 ms"\n', ""), encoding="utf-8")
    assert cli("check", path, "--cc", "cubic").returncode == 0
