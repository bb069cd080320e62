# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee validate`: cells, verdicts, curves, and a few cells that must be within tolerances."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT, Cli
from perigee_lab import _core
from perigee_lab.validation import goals, kernel, ns3, verdicts
from real_hosts import real

DATA = Path(os.environ.get("PERIGEE_SHARED_DATA", ROOT / "../shared/data"))
needs_curves = pytest.mark.skipif(
    not (DATA / "linux" / "series").is_dir(), reason="the full curves are not at hand (PERIGEE_SHARED_DATA)"
)


def test_runs_of_one_path_with_several_seeds_are_one_cell():
    found = kernel.read()
    by_name = {c.name: c for c in found}
    assert len(by_name) == len(found)
    assert len(by_name["loss_cubic_r100_d50_q1_l0.1"].runs) > 1
    assert sum(len(c.runs) for c in found) == 191


def test_every_cell_is_a_valid_scenario():
    for cell in kernel.read():
        _core.Scenario.parse(kernel.scenario(cell), cell.name, verdicts.HERE, []).world(1)
    for cell in ns3.read():
        _core.Scenario.parse(ns3.scenario(cell), cell.name, verdicts.HERE, []).world(1)


ROW = (
    "run,group,flow,cc,rate_mbps,rtt_ms,queue_bytes,loss_pct,dur_s,start_s,window_s,goodput_win_mbps,"
    "srtt_mean_ms,queue_mean_bytes,queue_drops,retrans_pkts,retrans_win_pkts,episodes_win\n"
    "single_x,single,1,cubic,100,50,625000,0,60,0,5-60,95,80,400000,0,110,100,10\n"
)


def test_a_deviation_beyond_tolerance_and_chance_is_outside():
    [cell] = kernel.cells(csv.DictReader(io.StringIO(ROW)))
    near = kernel.Ours([94.0], [95], [13], [12], 410_000)
    far = kernel.Ours([90.0], [111], [16], [16], 300_000)
    assert [v.good for v in kernel.judge(cell, [near])] == [True] * 5
    assert [v.good for v in kernel.judge(cell, [far])] == [False] * 5
    few = kernel.Ours([94.0], [89], [4], [4], 410_000)
    assert [v.good for v in kernel.judge(cell, [few])] == [True, True, False, False, False]


def test_a_swap_of_schemes_is_outside_unless_the_gap_is_small():
    def goodput(cc: str, ours: float, reference: float) -> verdicts.Verdict:
        return verdicts.Verdict(f"single_{cc}_r1", "single", cc, "goodput", "", ours, reference, 1, 0)

    rows = [goodput("cubic", 90, 95), goodput("vegas", 91, 80), goodput("bbr", 94, 94.9)]
    [order] = verdicts.order(rows)
    assert (order.cell, order.ours, order.good) == ("single_r1", 1, False)
    [order] = verdicts.order([rows[0], replace(rows[1], reference=94.9), rows[2], goodput("hybla", 20, 20)])
    assert order.good


def test_explanations_name_cells_that_exist_and_headings_that_are_written():
    cells = {c.name for c in kernel.read()} | {c.name for c in ns3.read()}
    headings = {
        line.lstrip("# ").strip()
        for line in (ROOT / "design/differences.md").read_text().splitlines()
        if line[:1] == "#"
    }
    for e in verdicts.explained():
        assert e.heading in headings, e
        assert e.cell.split(verdicts.FLOW)[0] in cells, e
        assert e.band > 0, e


def test_nothing_is_explained_that_is_good():
    kept = {(v.cell, v.quantity): v for v in goals.kept()}
    for e in verdicts.explained():
        assert not kept[e.cell, e.quantity].good, e
        assert e.covers(kept[e.cell, e.quantity]), e


def test_the_goals_are_those_that_the_page_quotes():
    page = (ROOT / "design/differences.md").read_text()
    table = goals.table(goals.kept())
    assert table in page, f"design/differences.md should have\n{table}"


def test_a_goal_counts_the_cases_that_meet_it():
    def row(cell: str, group: str, quantity: str, ours: float, reference: float, tolerance: float, chance: float = 0):
        unit = {"goodput": "Mbit/s", "queue": "ms"}.get(quantity, "")
        return verdicts.Verdict(cell, group, "cubic", quantity, unit, ours, reference, tolerance, chance)

    found = [
        row("single_a", "single", "goodput", 95, 95, 2),
        row("single_a", "single", "queue", 10, 9, 1.5),
        row("single_b", "single", "goodput", 92, 95, 2, chance=4),
        row("single_b", "single", "queue", 10, 10, 1.5),
        row("single_b", "single", "retransmits", 50, 90, 9),
        row("two_a flow 1", "two", "goodput", 60, 50, 20),
        row("two_a flow 2", "two", "goodput", 40, 51, 20),
        row("loss_a", "loss", "goodput", 5, 9, 0.4),
        row("ns3_a", "ns3", "goodput", 9.5, 10, 0.4),
    ]
    met = {g.name.split(":")[0]: (g.met, g.cases) for g in goals.goals(found)}
    assert met == {
        "comparisons within the tolerance or chance": (6, 9),
        "with Linux, within the tolerance or chance": (6, 8),
        "with Linux, within the tolerance alone": (5, 8),
        "with Linux, counts by a factor of 2 or 20 packets": (7, 8),
        "single flows without random loss": (1, 2),
        "two flows": (0, 1),
        "ns-3": (0, 1),
    }
    assert [(g.name, g.met, g.cases) for g in goals.by_group(found)][-1] == ("ns3", 0, 1)
    assert any("missed" in line for line in goals.lines(found))


@pytest.mark.parametrize("scheme", ["newreno", "cubic", "vegas", "bbr", "bbr3"])
def test_a_static_path_agrees_with_the_kernel(scheme: str, cli: Cli):
    done = cli("validate", "--cell", f"single_{scheme}_r100_d50_q1", "--seeds", "2", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(done.stdout)["verdicts"]
    assert {r["quantity"] for r in rows} == {"goodput", "queue", "retransmits", "at start", "loss events"}
    assert all(r["good"] for r in rows), rows


@pytest.mark.parametrize("scheme", ["NewReno", "Cubic", "Vegas"])
def test_a_static_path_agrees_with_ns3(scheme: str, cli: Cli):
    done = cli("validate", "--cell", f"ns3_a_{scheme}_r100_rtt50_q1_da1_ts0", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(r["good"] for r in json.loads(done.stdout)["verdicts"])


@needs_curves
def test_full_curves_are_compared_and_drawn(cli: Cli, tmp_path: Path):
    cells = ["--cell", "single_cubic_r10_d20_q1", "--cell", "ns3_a_NewReno_r10_rtt50_q1_da2_ts0"]
    done = cli("validate", *cells, "--data", DATA, "--plots", "plots", "--out", "verdicts.csv")
    assert done.returncode in (0, 3), done.stderr
    assert "full curves" in done.stdout
    _, _, curves = done.stdout.partition("full curves")
    distance = next(line for line in curves.splitlines() if line.startswith("single_cubic"))
    assert float(distance.split()[1]) < 3
    pictures = sorted(p.name for p in (tmp_path / "plots").iterdir())
    assert pictures == ["ns3_a_NewReno_r10_rtt50_q1_da2_ts0.png", "single_cubic_r10_d20_q1.png"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "verdicts.csv").read_text())))
    assert {r["cell"] for r in rows} >= {"single_cubic_r10_d20_q1"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--group", "singel"], "groups: fq, inet, leo"),
        (["--plots", "p"], "--data"),
        (["--cell", "single_cubic_r10_d20_q1", "--data", "."], "neither linux/series nor ns3/series"),
    ],
)
def test_bad_input_is_named(words: list[str], said: str, cli: Cli):
    done = cli("validate", *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_curves_that_a_kernel_can_run_and_their_names_there():
    plain = {cc for cell in kernel.on_hosts(kernel.read(), {}) for cc in cell.schemes}
    assert plain == {"newreno", "cubic", "vegas", "hybla", "bbr"}
    assert "leocc" in {cc for cell in kernel.on_hosts(kernel.read(), {}, ["leocc"]) for cc in cell.schemes}
    patched = {"bbr3": "bbr", "bbr": "(version 1)"}
    cells = list(kernel.on_hosts(kernel.read(), patched))
    assert "bbr3" in {cc for cell in cells for cc in cell.schemes}
    assert not [c for c in cells if "bbr" in c.schemes or c.group == "fq"]
    [cell] = [c for c in cells if c.name == "single_bbr3_r100_d50_q1"]
    text = kernel.scenario(cell, patched)
    assert 'cc = "bbr"' in text
    assert "[tcp]" not in text


@pytest.mark.slow
@real
def test_a_measured_curve_comes_out_of_real_hosts(cli: Cli):
    done = cli("validate", "--backend", "linux", "--cell", "single_cubic_r10_d20_q1", "--json")
    assert done.returncode == 0, done.stderr
    verdicts = {v["quantity"]: v for v in json.loads(done.stdout)["verdicts"]}
    goodput = verdicts["goodput"]
    assert abs(goodput["ours"] / goodput["reference"] - 1) < 0.002
    assert verdicts["queue"]["good"], verdicts["queue"]
