# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee validate`: cells, verdicts, and a few cells that must hold."""

import csv
import io

import pytest

from perigee import validate


def test_runs_of_one_path_with_several_seeds_are_one_cell():
    with (validate.HERE / "linux.csv").open() as f:
        found = validate.cells(csv.DictReader(f))
    by_name = {c.name: c for c in found}
    assert len(by_name) == len(found)
    assert len(by_name["loss_cubic_r100_d50_q1_l0.1"].runs) > 1
    assert sum(len(c.runs) for c in found) == 191


def test_every_cell_is_a_valid_scenario():
    with (validate.HERE / "linux.csv").open() as f:
        for cell in validate.cells(csv.DictReader(f)):
            validate._core.Scenario.parse(validate.scenario(cell), cell.name, validate.HERE, []).world(1)


def test_a_deviation_beyond_tolerance_and_chance_is_outside():
    row = (
        "run,group,flow,cc,rate_mbps,rtt_ms,queue_bytes,loss_pct,dur_s,start_s,window_s,goodput_win_mbps,"
        "srtt_mean_ms,queue_mean_bytes,queue_drops,retrans_pkts\n"
        "single_x,single,1,cubic,100,50,625000,0,60,0,5-60,95,80,400000,0,10\n"
    )
    [cell] = validate.cells(csv.DictReader(io.StringIO(row)))
    near = validate.Ours([94.0], [10], 410_000)
    far = validate.Ours([90.0], [10], 300_000)
    assert [v.good for v in validate.judge(cell, [near])] == [True, True]
    assert [v.good for v in validate.judge(cell, [far])] == [False, False]


@pytest.mark.parametrize("scheme", ["newreno", "cubic", "vegas", "bbr", "bbr3"])
def test_a_static_path_agrees_with_the_kernel(scheme, capsys):
    code = validate.validate_command(["single"], [scheme], jobs=2, seeds=2, as_json=False, out=None)
    lines = [line for line in capsys.readouterr().out.splitlines() if "r100_d50_q1 " in line]
    assert len(lines) == 2
    assert all(" good" in line for line in lines), lines
    assert code in (0, 3)


def test_an_unknown_group_is_bad_input(capsys):
    assert validate.validate_command(["singel"], [], jobs=1, seeds=2, as_json=False, out=None) == 2
    assert "single" in capsys.readouterr().err
