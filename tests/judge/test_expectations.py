# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Expectations: values against the record, verdicts over seeds, files for CI, exit codes."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import perigee_lab as perigee
from conftest import ROOT, SMALL, Cli
from perigee_lab.judge import expectations, measures
from perigee_lab.judge.expectations import Expectation, ExpectationError
from perigee_lab.judge.states import VARIABLES
from perigee_lab.judge.verdicts import Verdict, evaluate, seeds_needed
from perigee_lab.results.metrics import run_summary

BBR = """
[run]
duration = "8 s"
sample = "10 ms"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "2 bdp"
[[flow]]
name = "one"
cc = "*"
"""


def expect(**keys: Any) -> Expectation:
    """An expectation with its defaults, in SI units."""
    return Expectation(keys["metric"], {"seeds": "mean", **keys}, "here:1")


@pytest.fixture(scope="module")
def bbr3() -> perigee.Run:
    """A BBRv3 flow alone."""
    return perigee.loads(BBR).run("bbr3")


def test_values_without_a_window_are_those_of_the_tables(bbr3: perigee.Run) -> None:
    summary = run_summary(bbr3)
    of = lambda **keys: measures.value(bbr3, expect(**keys))  # noqa: E731
    assert of(metric="goodput") == pytest.approx(summary["goodput_mbps"] * 1e6)
    assert of(metric="share") == pytest.approx(summary["share"])
    assert of(metric="rtt") == pytest.approx(summary["rtt_mean_ms"] / 1e3)
    assert of(metric="rtt", quantile=0.99) == pytest.approx(summary["rtt_p99_ms"] / 1e3)
    assert of(metric="column", column="retransmits") == summary["retransmits"]
    assert of(metric="loss") == pytest.approx(summary["retransmit_pct"] / 100, rel=0.05)


def test_a_window_has_its_own_values(bbr3: perigee.Run) -> None:
    rows = bbr3.table("flows").to_pylist()
    at = {row["t_ns"] / 1e9: row["delivered_bytes"] for row in rows}
    goodput = (at[6.0] - at[4.0]) * 8 / 2
    assert measures.value(bbr3, expect(metric="goodput", **{"from": 4.0, "until": 6.0})) == pytest.approx(goodput)
    share = measures.value(bbr3, expect(metric="share", **{"from": 4.0, "until": 6.0}))
    assert share == pytest.approx(goodput / (20e6 * 1448 / 1500), rel=1e-3)
    smallest = measures.value(bbr3, expect(metric="queue", quantile=0.0))
    assert smallest is not None
    assert 0 <= smallest < 0.002


def test_states_have_the_times_of_their_events(bbr3: perigee.Run) -> None:
    events = [e for e in bbr3.table("events").to_pylist() if e["kind"] == "mode"]
    assert [e["text"] for e in events[:2]] == ["drain", "probe_down"] or events[0]["text"] == "drain", events[:2]
    drain = events[0]["t_ns"] / 1e9
    of = lambda **keys: measures.value(bbr3, expect(**keys))  # noqa: E731
    begin = bbr3.table("flow_totals").to_pylist()[0]["started_ns"] / 1e9
    assert of(metric="reached", state="drain") == pytest.approx(drain - begin)
    assert of(metric="visits", state="drain", previous="startup") == 1
    assert of(metric="visits", state="drain", previous="cruise") == 0
    assert of(metric="visits", state="startup") == 1
    assert of(metric="stay", state="drain", quantile=1.0) == pytest.approx(events[1]["t_ns"] / 1e9 - drain)
    assert of(metric="reached", state="nirvana") == math.inf
    assert of(metric="variable", variable="max_bw_bps", **{"from": 4.0}) == pytest.approx(20e6, rel=0.08)
    assert of(metric="variable", variable="wishes") is None


def test_what_a_scheme_does_not_expose_is_not_observable() -> None:
    class Silent(perigee.CongestionControl):
        """Says nothing about itself."""

    run = perigee.loads(BBR, run__duration="1 s").run(Silent)
    never = expect(metric="visits", state="probe_rtt", at_most=0)
    [finding] = evaluate([never], [run])
    assert finding.verdict is Verdict.NOT_OBSERVABLE


def test_a_class_names_its_states() -> None:
    class Talking(perigee.CongestionControl):
        """Two states of its own."""

        def state(self) -> str:
            """Grows at first."""
            return "young" if self.acks < 50 else "old"

        def __init__(self) -> None:
            """No ACK yet."""
            self.acks = 0

        def on_ack(self, cx: Any, window: Any, ack: Any) -> None:
            """Counts."""
            self.acks += 1

    run = perigee.loads(BBR, run__duration="2 s").run(Talking)
    assert measures.value(run, expect(metric="visits", state="old", previous="young")) == 1
    assert measures.value(run, expect(metric="visits", state="young")) == 1


def test_bounds_decide(bbr3: perigee.Run) -> None:
    verdict = lambda **keys: evaluate([expect(metric="share", **keys)], [bbr3])[0].verdict  # noqa: E731
    assert verdict(at_least=0.5) is Verdict.PASSED
    assert verdict(at_most=0.5) is Verdict.FAILED
    assert verdict(near=1.0, within=0.2) is Verdict.PASSED
    assert verdict(near=2.0, within=0.2) is Verdict.FAILED


class Fake:
    """A run with a value of its own."""

    def __init__(self, cc: str, seed: int, value: float) -> None:
        """Its only column is jain."""
        self.cc, self.seed, self.summary = cc, seed, {"jain": value}


def verdicts(values: dict[str, list[float]], **keys: Any) -> list[tuple[Verdict, str]]:
    """Verdicts on the column jain of made-up runs."""
    runs: Any = [Fake(cc, k, v) for cc, every in values.items() for k, v in enumerate(every)]
    found = evaluate([expect(metric="column", column="jain", **keys)], runs)
    return [(f.verdict, f.detail) for f in found]


def test_intervals_over_seeds_decide() -> None:
    values = {"x": [0.90, 0.94, 0.92, 0.96]}
    assert verdicts(values, at_least=0.85)[0][0] is Verdict.PASSED
    assert verdicts(values, at_least=0.99)[0][0] is Verdict.FAILED
    undecided, detail = verdicts(values, at_least=0.92)[0]
    assert undecided is Verdict.UNDECIDED
    assert detail.startswith("about ")
    assert verdicts(values, at_least=0.92, seeds="each") == [(Verdict.FAILED, "not with seed 0")]
    assert verdicts({"x": [0.9, 0.9]}, at_least=0.9)[0][0] is Verdict.PASSED, "nothing random has a part"


def test_the_number_of_seeds_decides() -> None:
    """With that many seeds of the same spread half of the interval is just below the distance."""
    values = [0.0, 2.0] * 5
    n = seeds_needed(values, 0.5)
    half = lambda k: measures_half([0.0, 2.0] * (k // 2) + [1.0] * (k % 2))  # noqa: E731
    assert half(n + 2) < 0.5 < half(n - 4)


def measures_half(values: list[float]) -> float:
    """Half of the 95 % interval."""
    from perigee_lab.results.metrics import mean_and_interval

    return mean_and_interval(values)[1]


def test_an_order_is_decided_seed_by_seed() -> None:
    """The seeds differ more than the schemes: only pairs show the order."""
    values = {"a": [1.0, 5.0, 9.0], "b": [0.9, 4.85, 8.88]}
    assert [v for v, _ in verdicts(values, order=["a", "b"])] == [Verdict.PASSED]
    assert [v for v, _ in verdicts(values, order=["b", "a"])] == [Verdict.FAILED]


def test_unknown_flows_columns_and_schemes_are_errors_with_their_place(tmp_path: Path) -> None:
    def load(keys: str) -> perigee.Scenario:
        return perigee.loads(f"{BBR}[[expect]]\n{keys}")

    with pytest.raises(ExpectationError, match=r":14: expect\.0\.column: no column of .*; found \"speed\"; "):
        expectations.of(load('metric = "column"\ncolumn = "speed"\nat_least = 1').core)
    loaded = load('metric = "share"\nflow = "two"\nat_least = 0.1')
    with pytest.raises(ExpectationError, match=r"expect\.0\.flow: no such flow; found \"two\"; allowed: one"):
        expectations.check_flows(expectations.of(loaded.core), loaded.core.world(1))
    loaded = load('metric = "share"\norder = ["bbr3", "cubic"]')
    with pytest.raises(ExpectationError, match=r"expect\.0\.order: not compared; found \"cubic\"; compared: bbr3; add"):
        expectations.check_schemes(expectations.of(loaded.core), ["bbr3"])


def test_a_misspelt_state_is_an_error_where_all_states_are_known() -> None:
    misspelt = expect(metric="visits", state="prob_rtt", at_most=0)
    wanted = r"here:1: expect\.0\.state: no state of a scheme; found \"prob_rtt\"; did you mean \"probe_rtt\"\?"
    with pytest.raises(ExpectationError, match=wanted):
        expectations.check_states([misspelt], ["bbr3"])
    expectations.check_states([misspelt], ["bbr3", "python:Mine"])
    expectations.check_states([expect(metric="visits", state="probe_rtt", at_most=0)], ["bbr3"])


def test_a_misspelt_variable_is_an_error_before_the_runs(tmp_path: Path, cli: Cli) -> None:
    misspelt = expect(metric="variable", variable="max_bw_bsp", at_least=1)
    wanted = r"no variable of a scheme; found \"max_bw_bsp\"; did you mean \"max_bw_bps\"\?"
    with pytest.raises(ExpectationError, match=wanted):
        expectations.check_variables([misspelt], ["bbr3", "cubic"])
    expectations.check_variables([misspelt], ["bbr3", "python:Mine"])
    for name in ("max_bw_bps", "cc_max_bw_bps", "cwnd_bytes", "linux.pacing"):
        expectations.check_variables([expect(metric="variable", variable=name, at_least=1)], ["bbr3"])
    (tmp_path / "s.toml").write_text(SMALL + HIDDEN.replace("max_bw_bps", "luck"), encoding="utf-8")
    done = cli("run", "s.toml", "--no-report", "--out", "o")
    assert done.returncode == 2
    assert 'expect.0.variable: no variable of a scheme; found "luck"; allowed: ' in done.stderr
    assert not (tmp_path / "o").exists()


def test_every_variable_of_the_schemes_is_known() -> None:
    sources = (ROOT / "crates/perigee-cc/src").rglob("*.rs")
    named = {n for p in sources for n in re.findall(r'\bout\(\s*"([a-z_0-9]+)"', p.read_text(encoding="utf-8"))}
    assert named == VARIABLES


def test_check_finds_what_a_run_would(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "s.toml").write_text(SMALL + '[[expect]]\nmetric = "goodput"\nflow = "none"\nat_least = "1 Mbit"\n')
    done = cli("check", "s.toml")
    assert done.returncode != 0
    assert 'expect.0.flow: no such flow; found "none"' in done.stderr


def test_an_expectation_for_a_scheme_that_is_not_compared_is_named(tmp_path: Path, cli: Cli) -> None:
    text = SMALL + '[[expect]]\nmetric = "goodput"\nat_least = "1 Mbit"\ncc = "bbr3"\n'
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    of_file = cli("run", "s.toml", "--no-report", "--out", "o")
    assert of_file.returncode != 0
    assert 'expect.0.cc: not compared; found "bbr3"' in of_file.stderr
    chosen = cli("run", "s.toml", "--cc", "cubic", "--no-report", "--out", "o")
    assert chosen.returncode == 0
    assert "not checked, as bbr3 is not compared: goodput ≥ 1 Mbit/s" in chosen.stderr


def test_shares_above_one_need_a_unit() -> None:
    with pytest.raises(perigee.ScenarioError, match="at_least"):
        perigee.loads(BBR + '[[expect]]\nmetric = "share"\nat_least = 90\n')


def test_an_order_with_a_bound_shows_both() -> None:
    both = expect(metric="goodput", order=["bbr3", "cubic"], at_least=1e6)
    assert both.bound() == "bbr3 ≥ cubic, ≥ 1 Mbit/s"


def test_files_that_cannot_be_written_end_before_the_run(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "s.toml").write_text(SMALL + MET, encoding="utf-8")
    done = cli("run", "s.toml", "--out", "o", "--junit", "reports/j.xml")
    assert done.returncode != 0
    assert "the folder reports does not exist" in done.stderr
    assert not (tmp_path / "o").exists()


MET = '[[expect]]\nmetric = "goodput"\nat_least = "1 Mbit"\n'
MISSED = '[[expect]]\ntitle = "fast <enough>"\nmetric = "goodput"\nat_least = "100 Mbit"\ncc = "cubic"\n'
HIDDEN = '[[expect]]\nmetric = "variable"\nvariable = "max_bw_bps"\nat_least = 1\n'


@pytest.mark.parametrize(
    ("text", "code"), [("", 0), (MET, 0), (MET + MISSED, 4), (MET + HIDDEN, 5)], ids=["none", "met", "missed", "hidden"]
)
def test_exit_codes(tmp_path: Path, cli: Cli, text: str, code: int) -> None:
    (tmp_path / "s.toml").write_text(SMALL + text, encoding="utf-8")
    done = cli("run", "s.toml", "--no-report", "--out", "o")
    assert done.returncode == code, done.stdout + done.stderr


def test_files_for_ci_and_runs_that_are_not_repeated(tmp_path: Path, cli: Cli) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(SMALL + MET, encoding="utf-8")
    assert cli("run", scenario, "--no-report", "--out", tmp_path / "o").returncode == 0
    scenario.write_text(SMALL + MET + MISSED + HIDDEN, encoding="utf-8")
    files = ["--junit", tmp_path / "j.xml", "--tap", tmp_path / "t.tap"]
    done = cli("run", scenario, "--no-report", "--out", tmp_path / "o", *files)
    assert done.returncode == 4
    assert "resuming: 2 of 2 runs already complete" in done.stderr, "expectations are no part of a run"
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
    counts = {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "0", "skipped": "2"}
    failed = next(c for c in suite if c.find("failure") is not None)
    assert failed.get("name") == "fast <enough>: ≥ 100 Mbit/s"
    lines = (tmp_path / "t.tap").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["TAP version 13", "1..5"]
    assert sum(line.startswith("not ok") for line in lines) == 1
    assert sum("# SKIP" in line for line in lines) == 2
    told = json.loads(cli("run", scenario, "--no-report", "--out", tmp_path / "o", "--json").stdout)
    assert [e["verdict"] for e in told["expectations"]].count("not observable") == 2


def test_files_for_ci_have_the_error_of_a_class_that_raises(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "s.toml").write_text(SMALL + MET, encoding="utf-8")
    text = "import perigee_lab as p\nclass Bad(p.CongestionControl):\n    def on_ack(self, *_):\n        1 / 0\n"
    (tmp_path / "bad.py").write_text(text, encoding="utf-8")
    done = cli("run", "s.toml", "--cc", "bad.py:Bad", "--out", "o", "--junit", "j.xml", "--tap", "t.tap")
    assert done.returncode == 1, done.stdout + done.stderr
    [suite] = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert "not ok 1 - s: run" in (tmp_path / "t.tap").read_text(encoding="utf-8")


def test_cells_of_a_sweep_have_verdicts(tmp_path: Path, cli: Cli) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(SMALL + MISSED.replace("100 Mbit", "5 Mbit"), encoding="utf-8")
    words = ["sweep", scenario, "--set", "port.bottleneck.rate=2Mbit,20Mbit", "--no-plots", "--out", tmp_path / "o"]
    done = cli(*words, "--json")
    assert done.returncode == 4
    found = {e["cell"]: e["verdict"] for e in json.loads(done.stdout)["expectations"]}
    assert found == {"rate=2Mbit": "failed", "rate=20Mbit": "passed"}


@pytest.mark.slow
def test_the_example_meets_its_expectations(tmp_path: Path, cli: Cli) -> None:
    done = cli("run", ROOT / "scenarios/micro/expectations.toml", "--no-report", "--out", tmp_path / "o")
    assert done.returncode == 0, done.stdout + done.stderr


def test_background_flows_and_transfers_outside_the_window_do_not_count() -> None:
    text = (
        BBR
        + """
[[flow]]
name = "update"
cc = "cubic"
background = true
[[flow]]
name = "early"
bytes = "100 kB"
stop = "1 s"
[[flow]]
name = "late"
bytes = "1 GB"
start = "2 s"
"""
    )
    run = perigee.loads(text.replace('cc = "*"', 'cc = "*"\nstop = "1.5 s"')).run("cubic")
    of = lambda **keys: measures.value(run, expect(**keys))  # noqa: E731
    view = measures.View(run, expect(metric="goodput"))
    assert {t["name"] for t in view.flows} == {"one", "early", "late"}
    early = of(metric="completion", until=1.0)
    assert early is not None
    assert early < 1
    assert of(metric="completion") == math.inf, "a transfer that started within the window is unfinished"


def test_keys_without_effect_and_unknown_schemes_are_errors() -> None:
    unknown = expect(metric="goodput", at_least=1e6, cc=["nonsense"])
    with pytest.raises(ExpectationError, match=r"expect\.0\.cc: no such congestion control; found \"nonsense\""):
        expectations.check_schemes([unknown], ["cubic"])
    expectations.check_schemes([expect(metric="goodput", at_least=1e6, cc=["bbr"])], ["cubic"])
    idle = BBR + '[[expect]]\nmetric = "goodput"\nnear = "5 Mbit"\nwithin = "10 %"\nat_least = "1 Mbit"\n'
    with pytest.raises((ExpectationError, perigee.ScenarioError), match="at_least"):
        expectations.of(perigee.loads(idle).core)


def test_a_group_has_values_of_its_own() -> None:
    """The total of a group is that of its flows; a column of it is that of its row."""
    text = (
        BBR.replace('cc = "*"', 'cc = "*"\ngroup = "bulk"')
        + """
[[flow]]
name = "page"
app = "web"
group = "web"
"""
    )
    run = perigee.loads(text).run("bbr3")
    of = lambda **keys: measures.value(run, expect(**keys))  # noqa: E731
    bulk, web, both = (of(metric="goodput", **k) for k in ({"group": ["bulk"]}, {"group": ["web"]}, {}))
    assert bulk is not None
    assert web is not None
    assert both is not None
    assert 0 < web < bulk
    assert bulk + web == pytest.approx(both, rel=0.02)
    page = of(metric="column", column="page_p95_s", group=["web"])
    assert page == pytest.approx(run.group("web")["page_p95_s"])
    assert of(metric="jain", group=["bulk"]) is None, "one flow has no fairness"


def test_cells_of_a_sweep_name_lines_of_the_file(tmp_path: Path, cli: Cli) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(SMALL + MISSED, encoding="utf-8")
    line = scenario.read_text(encoding="utf-8").splitlines().index("[[expect]]") + 2
    words = ["sweep", scenario, "--set", "port.bottleneck.rate=2Mbit,4Mbit", "--no-plots", "--out", tmp_path / "o"]
    assert cli(*words, "--junit", tmp_path / "j.xml").returncode == 4
    assert {f.text for f in ElementTree.parse(tmp_path / "j.xml").getroot().iter("failure")} == {f"{scenario}:{line}"}
