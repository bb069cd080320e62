# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Small mistakes of new users."""

import re
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.cli.groups import SECTIONS
from perigee_lab.common.messages import plain_progress
from perigee_lab.hosts import real_time
from perigee_lab.results.report.data import payload
from perigee_lab.results.run import find_records
from perigee_lab.runs.cost import hops_in_words

TINY = """
title = "tiny"
[run]
duration = "1 s"
cc = ["cubic"]
[source.dumbbell]
[[flow]]
cc = "*"
"""
CLASS = "class {}(perigee.CongestionControl):\n    pass\n"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.mark.slow
def test_a_file_with_one_class_needs_no_name_of_it(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    done = cli("new-cc", "my_scheme", "--python", "--in", tmp_path)
    assert done.returncode == 0
    done = cli("run", tiny, "--cc", f"{tmp_path}/my_scheme.py")
    assert done.returncode == 0, done.stderr
    assert "MyScheme" in done.stdout


def test_a_file_with_several_classes_or_none_is_asked_which(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    two = tmp_path / "two.py"
    two.write_text("import perigee_lab as perigee\n" + CLASS.format("One") + CLASS.format("Two"))
    done = cli("run", tiny, "--cc", two)
    assert done.returncode == 2
    assert f"say which class: {two}:One or {two}:Two" in done.stderr
    two.write_text("x = 1\n")
    assert "there is no class in it" in cli("check", tiny, "--cc", two).stderr


def test_scenarios_that_come_with_perigee_are_there_in_every_folder(cli: Cli, tmp_path: Path) -> None:
    done = cli("check", "scenarios/leo/london-new-york.toml")
    assert done.returncode == 0, done.stderr
    done = cli("check", "scenarios/leo/no-such.toml")
    assert done.returncode == 2


def test_a_comment_with_the_word_makes_no_recipe(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    from perigee_lab.learn.vector import recipe_text

    tiny.write_text("# see [train]\n" + TINY)
    text, _ = recipe_text(tiny)
    assert f'file = "{tiny}"' in text


def test_half_a_flow_is_refused(cli: Cli, tmp_path: Path) -> None:
    recipe = tmp_path / "half.toml"
    world = "rate_mbps = 10\nrtt_ms = 20\nbuffer_bdp = 1\nflows = {}\nduration_s = 5\n"
    for flows, said in (("2.5", "world.flows: 2.5"), ('"choice(1, 1.5)"', "world.flows: 1.5")):
        recipe.write_text(f'title = "half"\n[world]\n{world.format(flows)}[train]\ntransitions = 10\nexplore = 5\n')
        done = cli("train", recipe, "--out", tmp_path / "out")
        assert done.returncode != 0
        assert said in done.stderr


@pytest.mark.skipif(real_time.why_not() is not None, reason="no hosts in real time here")
def test_a_kernel_for_each_host_is_refused_in_real_time(cli: Cli, tiny: Path) -> None:
    done = cli("exec", tiny, "--set", "hosts.kernel=own", "--backend", "emulation", "--at", "s1", "--", "true")
    assert done.returncode in (2, 125)
    assert "no effect in real time" in done.stderr
    done = cli("run", tiny, "--set", "hosts.kernel=own", "--backend", "emulation")
    assert done.returncode == 2
    assert "no effect in real time" in done.stderr


def test_the_list_of_commands_has_each_in_one_whole_line(cli: Cli) -> None:
    known = [name for section in SECTIONS.values() for name in section]
    shown = cli("--help").stdout
    listed = shown.split("--help")[1].split("perigee COMMAND")[0]
    assert re.findall(r"^  ([a-z-]+) +[A-Z]", listed, re.MULTILINE) == known
    assert "..." not in shown.split("Options:")[1]
    assert max(len(line) for line in shown.splitlines()) <= 200, "as wide as the terminal of the tests"
    assert "Getting started:" in shown


def test_a_place_that_is_unknown_is_told_by_its_option(cli: Cli, tmp_path: Path) -> None:
    leo = "scenarios/leo/london-new-york.toml"
    done = cli("paths", leo, "--from", "Londn", "--to", "Paris")
    assert done.returncode == 2
    assert done.stderr.startswith("perigee: --from Londn: neither a node of the scenario nor in the list of cities")
    assert 'did you mean "London"' in done.stderr
    assert "node." not in done.stderr
    done = cli("sky", leo, "--from", "Paris", "--to", "Nonsense", "--out", "x.png")
    assert done.stderr.startswith("perigee: --to Nonsense: ")
    assert 'write "lat, lon" in degrees' in done.stderr
    done = cli("sky", leo, "--over", "1h", "--map", "latency", "--from", "95, 20", "--out", "x.png")
    assert 'perigee: --from "95, 20" stands at 95 N 20 E: not a place on Earth' in done.stderr
    assert not (tmp_path / "x.png").exists()


def test_long_work_without_a_terminal_says_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    now = iter([0.0, 4.0, 11.0, 12.0, 22.0])
    tick = plain_progress("coverage at 4 instants", 4, clock=lambda: next(now))
    for _ in range(4):
        tick()
    assert capsys.readouterr().err.splitlines() == [
        "coverage at 4 instants …",
        "coverage at 4 instants: 2 of 4, about 11 s left",
    ]


def test_a_map_over_time_says_at_once_what_it_does(cli: Cli) -> None:
    leo = "scenarios/leo/london-new-york.toml"
    done = cli("sky", leo, "--over", "2min", "--step", "1min", "--out", "x.png")
    assert done.returncode == 0
    assert done.stderr.startswith("coverage at 2 instants …\n")


def test_every_line_of_an_error_has_the_name_of_the_program(cli: Cli, tiny: Path) -> None:
    for words in (["run", tiny, "--cc", "cubik"], ["check", tiny, "--cc", "cubik"], ["run", "no.toml"]):
        done = cli(*words)
        assert done.returncode == 2
        assert done.stderr.startswith("perigee: "), words
    done = cli("run", tiny, "--set", "port.bottleneck.rate=x", "--set", "run.duration=y")
    assert len(done.stderr.splitlines()) == 2
    assert all(line.startswith("perigee: --set ") for line in done.stderr.splitlines())


def test_compare_says_which_schemes_and_seeds_only_one_side_has(cli: Cli, tiny: Path) -> None:
    assert cli("run", tiny, "--out", "a").returncode == 0
    assert cli("run", tiny, "--out", "b", "--runs", "3", "--cc", "cubic,bbr").returncode == 0
    told = cli("compare", "a", "b").stdout
    assert "Only in b: bbr" in told
    assert "The seeds differ: 1 in A, 1 to 3 in B" in told
    assert "Jain" not in told, "one flow has none"
    assert "points" in told


def test_costs_are_told_in_words() -> None:
    told = [hops_in_words(n) for n in (12, 3_040_000, 153_000_000, 999_600_000)]
    assert told == ["12 packet-hops", "3 million packet-hops", "150 million packet-hops", "1 billion packet-hops"]


CHAIN = """
[run]
duration = "2 s"
[source.parking_lot]
bottlenecks = 2
[schedule]
every = "10 s"
first = "1 s"
outage = "100 ms"
on = "r0->r1"
[[flow]]
cc = "cubic"
"""


def test_an_outage_is_drawn_for_those_flows_that_cross_the_link(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "lot.toml").write_text(CHAIN, encoding="utf-8")
    done = cli("run", "lot.toml", "--out", "lot")
    assert done.returncode == 0, done.stderr
    found = payload(find_records(tmp_path / "lot"))
    begins = [m for m in found["marks"] if m[1] == "outage-begin"]
    names = found["map"]["names"]
    crossing = [
        int(pair)
        for pair, steps in found["map"]["routes"].items()
        if any({"r0", "r1"} <= {names[str(n)] for n in nodes} for _, nodes in steps)
    ]
    assert [m[5] for m in begins] == [crossing]
    assert 0 < len(crossing) < len(found["map"]["routes"])
