# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweeps of demands, and paired differences of their records."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from test_demand import digests, scenario

from conftest import Cli
from perigee_lab.demand.paired import METRICS, compare
from perigee_lab.demand.record import Record

FAIL = '[[demand.failure]]\ngateway = "Fucino"\nat = "10 min"\nlength = "10 min"\n'


@pytest.mark.slow
def test_a_sweep_has_a_record_and_a_row_for_each_combination(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=10)
    sweep = ("demand", "sweep", "s.toml", "--set", "demand.gateway=nearest,balanced", "--out", "out")
    done = cli(*sweep, "--set", "demand.active=0.05,0.1", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["keys"] == ["demand.gateway", "demand.active"]
    table = pd.read_csv(tmp_path / "out/sweep.csv")
    assert len(table) == len(shown["cells"]) == 4
    for row in table.to_dict("records"):
        record = Record(tmp_path / "out" / row["folder"])
        down = record.totals["down"]
        assert row["served_gbps"] == pytest.approx((down["elastic_bps"] + down["inelastic_bps"]) / 1e9, rel=1e-6)
        assert row["offered_gbps_up"] == pytest.approx(record.totals["up"]["elastic_offered_bps"] / 1e9, rel=1e-6)
    offered = table.groupby("demand.active")["offered_gbps"].mean()
    assert offered[0.1] == pytest.approx(2 * offered[0.05])
    # A further value computes only its own record.
    before = digests(tmp_path / "out/cells")
    again = cli(*sweep, "--set", "demand.active=0.05,0.1,0.2")
    assert again.returncode == 0, again.stderr
    after = digests(tmp_path / "out/cells")
    assert len(pd.read_csv(tmp_path / "out/sweep.csv")) == 6
    assert before.items() <= after.items()
    assert "served_gbps" in again.stdout
    for words in (("results", "out"), ("demand", "map", "out")):
        done = cli(*words)
        assert done.returncode == 2
        assert "is a sweep of demands" in done.stderr
    other = cli("demand", "sweep", "s.toml", "--set", "demand.step=30 s,60 s", "--out", "out")
    assert other.returncode == 2
    assert "has a sweep of demand.active, demand.gateway" in other.stderr


def test_failures_after_a_shortened_end_are_left_out_with_a_warning(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=20, more=FAIL)
    late = "demand.failure.0: no effect: it is at 600 s, the run ends at 600 s; use a longer run.duration"
    done = cli("demand", "run", "s.toml", "--set", "run.duration=10 min", "--out", "short")
    assert done.returncode == 0, done.stderr
    (said,) = (line for line in done.stdout.splitlines() if "no effect" in line)
    assert said.startswith("warning: ")
    assert said.endswith(late)
    assert late in (tmp_path / "short/report.html").read_text(encoding="utf-8")
    record = Record(tmp_path / "short")
    assert record.start["failures"] == []
    swept = cli("demand", "sweep", "s.toml", "--set", "run.duration=10 min,20 min", "--out", "swept")
    assert swept.returncode == 0, swept.stderr
    (said,) = (line for line in swept.stdout.splitlines() if "no effect" in line)
    assert said.startswith("  1 of 2 cells: ")
    assert said.endswith(late)


def test_the_scenario_and_zip_define_a_sweep_as_well(cli: Cli, tmp_path: Path) -> None:
    more = '[sweep]\nzip = true\n"demand.gateway" = ["nearest", "balanced"]\n"demand.step" = ["60 s", "30 s"]\n'
    scenario(tmp_path, minutes=10, more=more)
    assert cli("demand", "sweep", "s.toml", "--out", "out").returncode == 0
    table = pd.read_csv(tmp_path / "out/sweep.csv")
    assert table[["demand.gateway", "demand.step"]].to_numpy().tolist() == [["nearest", "60 s"], ["balanced", "30 s"]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing is swept"),
        (("--set", "demand.gateway=nearest,nearest"), "nearest is given twice"),
        (("--set", "demand.gateway=nearest,balanced", "--set", "demand.gateway=nearest"), "is given twice"),
        (("--set", "demand.gateway=nearest,all"), "demand.gateway"),
        (("--set", "demand.step=60 s,7 s"), "must be a multiple of step"),
    ],
)
def test_sweeps_that_cannot_be_computed_begin_nothing(
    words: tuple[str, ...], says: str, cli: Cli, tmp_path: Path
) -> None:
    scenario(tmp_path, minutes=10)
    done = cli("demand", "sweep", "s.toml", "--out", "out", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_comparison_pairs_intervals_and_cells(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path)
    scenario(tmp_path, more=FAIL, name="fail.toml")
    for name in ("s", "fail"):
        assert cli("demand", "run", f"{name}.toml", "--out", name).returncode == 0
    done = cli("demand", "compare", "s", "fail", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["intervals"] == 30
    of = {row["metric"]: row for row in shown["differences"]}
    assert set(of) == set(METRICS)
    served = of["served_gbps"]
    assert served["difference"] == pytest.approx(served["b"] - served["a"])
    assert of["offered_gbps"]["difference"] == 0
    # The gateway is out for a third of the time.
    assert 0 < served["less_pct"] <= 100 / 3 + 0.1
    assert served["p5"] < served["difference"] < 0
    lost = {c["cell"]: c for c in shown["cells"]}
    assert sum(c["difference_bps"] for c in lost.values()) == pytest.approx(1e9 * served["difference"], rel=1e-6)
    terminals = shown["terminals"]
    assert sum(terminals.values()) == sum(c["terminals"] for c in lost.values())
    assert terminals["lose"] > 0

    during = cli("demand", "compare", "s", "fail", "--from", "10min", "--to", "20min", "--csv")
    rows = pd.read_csv(io.StringIO(during.stdout)).set_index("metric")
    assert rows.loc["served_gbps", "less_pct"] == 100
    assert rows.loc["served_gbps", "difference"] == pytest.approx(3 * served["difference"], rel=1e-6)

    general = cli("compare", "s", "fail")
    assert general.returncode == 0, general.stderr
    assert "most to lose" in general.stdout
    assert cli("compare", "s", "fail", "--pair", "cubic,bbr").returncode == 2
    # Shares are those of the report.
    report = json.loads(cli("demand", "report", "s", "--json").stdout)["lines"][0]
    assert f"({of['served_pct']['a']:.1f}%)" in report
    for command in ("verify", "report"):
        done = cli(command, "s")
        assert done.returncode == 2
        assert "is of a demand" in done.stderr


@pytest.mark.slow
def test_records_of_other_times_do_not_pair(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=10)
    scenario(tmp_path, minutes=20, name="longer.toml")
    for name in ("s", "longer"):
        assert cli("demand", "run", f"{name}.toml", "--out", name).returncode == 0
    done = cli("demand", "compare", "s", "longer")
    assert done.returncode == 2
    assert "s: 10 intervals of 60 s" in done.stderr
    assert "longer: 20 intervals of 60 s" in done.stderr
    same = compare(Record(tmp_path / "s"), Record(tmp_path / "s"), 1)
    assert all(row.difference == 0 for row in same.rows)
    assert same.by_share() == {"gain": 0, "lose": 0, "keep": 2900}
