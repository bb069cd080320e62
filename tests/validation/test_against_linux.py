# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee validate --against linux`: cells, arithmetic, and two cells if a kernel is built."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.validation import side_by_side
from perigee_lab.validation.against_linux import ORBCC_RESULTS, RESULTS, remarks
from perigee_lab.validation.side_by_side import ALL, OUTSIDE, Explained, Measured, Pair
from perigee_lab.validation.verdicts import HERE
from real_hosts import real


def measured(goodput: float, rtt: float = 60.0, retransmits: float = 10.0) -> Measured:
    return Measured(goodput, rtt, 10.0, retransmits, 0.0, math.nan)


def pair(ours: Measured, linux: Measured, *, cc: str = "cubic", cell: str = "a", interval: float = 0.0) -> Pair:
    return Pair(cell, cc, ALL, 1, ours, linux, interval)


def test_the_table_has_thirty_cells_and_all_are_valid_scenarios() -> None:
    cells = side_by_side.read() + side_by_side.read(side_by_side.ORBCC_TABLE)
    assert sum(len(c.schemes) for c in cells) >= 30
    assert len({c.name for c in cells}) == len(cells)
    for cell in cells:
        world = cell.scenario.core.world(1)
        for cc in cell.schemes:
            world.check(cc, {}, None)


def test_differences_are_of_linux() -> None:
    p = pair(measured(9.9, 61.2, 14), measured(10.0, 60.0, 10))
    assert p.goodput_pct == pytest.approx(-1.0)
    assert p.rtt_pct == pytest.approx(2.0)
    assert p.retransmits == 4
    assert side_by_side.percent(0, 0) == 0
    assert math.isinf(side_by_side.percent(1, 0))


def test_beyond_one_percent_is_outside_unless_chance_or_an_explanation_covers_it() -> None:
    near, far = (pair(measured(g), measured(10.0)) for g in (10.09, 10.2))
    chance, too_far = replace(far, interval_mbps=0.3, seeds=5), replace(far, interval_mbps=0.1, seeds=5)
    known = [Explained("a", ("cubic",), "Why", "Because."), Explained("b", ("bbr",), "Not", "Else.")]
    verdicts = [side_by_side.verdict(p, []) for p in (near, far, chance, too_far)]
    assert verdicts[0] == ""
    assert verdicts[1] == OUTSIDE
    assert "5 seeds" in verdicts[2]
    assert verdicts[3] == OUTSIDE
    assert side_by_side.verdict(far, known) == "explained: Why"
    assert side_by_side.verdict(replace(far, cc="bbr"), known) == OUTSIDE
    last = remarks([near, far, chance, replace(too_far, cc="bbr")], known)[-1]
    assert last == "4 pairs: goodput of 1 within 1 %, 1 within chance, 1 outside and explained, 1 outside"


def test_a_scheme_has_the_median_and_the_largest_of_its_differences() -> None:
    found = [
        pair(measured(10.0), measured(10.0)),
        pair(measured(9.8, 66.0, 4), measured(10.0), cell="b"),
        pair(measured(10.1, 60.0, 15), measured(10.0), cell="c"),
        pair(measured(1.0), measured(10.0), cc="bbr"),
    ]
    cubic, bbr = side_by_side.summaries(found)
    assert (cubic.cc, cubic.pairs, cubic.worst) == ("cubic", 3, "b")
    assert (cubic.goodput_median, cubic.goodput_largest) == pytest.approx((1.0, 2.0))
    assert (cubic.rtt_median, cubic.rtt_largest) == pytest.approx((0.0, 10.0))
    assert (cubic.retransmits_median, cubic.retransmits_largest) == (5.0, 6.0)
    assert (bbr.pairs, bbr.goodput_largest) == (1, pytest.approx(90.0))


def test_means_are_value_by_value() -> None:
    found = side_by_side.means([measured(9.0, 50.0, 3), measured(11.0, 60.0, 4)])
    assert (found.goodput_mbps, found.rtt_ms, found.retransmits) == (10.0, 55.0, 3.5)
    assert math.isnan(found.completed_ms)


def test_results_survive_their_file(tmp_path: Path) -> None:
    found = [pair(measured(9.25), measured(10.5)), replace(pair(measured(1), measured(2)), flow="10 kB", seeds=4)]
    side_by_side.write(tmp_path / "r.csv", found)
    again = side_by_side.read_results(tmp_path / "r.csv")
    assert [replace(p, simulated=p.linux) for p in again] != again
    for was, now in zip(found, again, strict=True):
        assert (was.name, was.seeds, was.goodput_pct) == (now.name, now.seeds, now.goodput_pct)
        assert math.isnan(now.simulated.completed_ms)


def test_the_saved_results_are_of_the_table() -> None:
    saved = {(p.cell, p.cc) for p in side_by_side.read_results(HERE / RESULTS)}
    assert saved == {(c.name, cc) for c in side_by_side.read() for cc in c.schemes}
    saved = {(p.cell, p.cc) for p in side_by_side.read_results(HERE / ORBCC_RESULTS)}
    assert saved == {(c.name, cc) for c in side_by_side.read(side_by_side.ORBCC_TABLE) for cc in c.schemes}


def test_explanations_speak_of_cells_that_there_are() -> None:
    cells = {c.name: c.schemes for c in side_by_side.read() + side_by_side.read(side_by_side.ORBCC_TABLE)}
    for e in side_by_side.explained() + side_by_side.explained(side_by_side.ORBCC_TABLE):
        assert set(e.schemes) <= set(cells[e.cell]), e
        assert e.heading
        assert len(e.text) > 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--against", "windows"], "linux"),
        (["--against", "linux", "--group", "single"], "--group"),
        (["scenario.toml"], "--against linux"),
        (["--kernel", "default"], "--backend linux"),
        (["--seeds", "1"], "--seeds"),
    ],
)
def test_what_does_not_fit_together_is_refused(cli: Cli, words: list[str], said: str) -> None:
    done = cli("validate", *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_without_a_kernel_the_command_that_makes_one_is_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = cli("validate", "--against", "linux")
    assert done.returncode == 2
    assert "perigee kernel build" in done.stderr


@pytest.mark.slow
@real
def test_two_cells_of_the_table(cli: Cli, tmp_path: Path) -> None:
    words = ["--cell", "single-10M-20ms-1bdp", "--cell", "outage-200ms", "--cc", "newreno"]
    done = cli("validate", "--against", "linux", *words, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [row["verdict"] for row in told["pairs"]] == ["", ""]
    assert told["schemes"][0]["pairs"] == 2
    assert (tmp_path / "out/outage-200ms/linux/newreno/seed1/manifest.json").is_file()
    # Existing runs are not repeated, and give the same result.
    again = cli("validate", "--against", "linux", *words, "--out", tmp_path / "out", "--json")
    assert json.loads(again.stdout) == told


@real
def test_a_scenario_of_the_users_without_schemes_that_the_kernel_lacks(cli: Cli, small: Path) -> None:
    done = cli("validate", "--against", "linux", small, "--cc", "nonesuch")
    assert done.returncode != 0
    assert "nonesuch" in done.stderr
    done = cli("validate", "--against", "linux", small, "--cell", "rtt-step")
    assert done.returncode == 2
    assert "--cell" in done.stderr
