# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Paired differences over shared seeds, against scipy's test and values computed by hand."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

import perigee_lab as perigee
from conftest import ROOT, Cli
from perigee_lab.common.files import RecordError
from perigee_lab.results.comparison import Comparison, paired
from perigee_lab.results.leaders import leaders, sentence
from perigee_lab.results.metrics import mean_and_interval
from perigee_lab.results.paired import Paired, corrected, differences

# Ten seeds. Their variation affects both schemes in the same way.
A = dict(enumerate((4.11, 4.62, 4.31, 4.75, 4.05, 4.48, 4.66, 4.20, 4.58, 4.24), 1))
STEPS = (0.22, 0.31, 0.17, 0.15, 0.35, 0.24, 0.12, 0.28, 0.20, 0.26)
B = {seed: v + step for (seed, v), step in zip(A.items(), STEPS, strict=True)}

LOSSY = """
[run]
duration = "4 s"
cc = ["cubic", "newreno"]
[source.dumbbell]
rtt = "30 ms"
loss = 0.002
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""


def test_a_difference_is_certain_where_the_intervals_of_the_means_overlap() -> None:
    (mean_a, half_a), (mean_b, half_b) = (mean_and_interval(list(v.values())) for v in (A, B))
    assert mean_a + half_a > mean_b - half_b, "the intervals overlap"
    found = differences(B, A, "goodput_mbps", "bbr", "cubic")
    assert found.p < 1e-4
    assert found.p == pytest.approx(stats.ttest_rel(list(B.values()), list(A.values())).pvalue)
    assert found.mean == pytest.approx(0.23)
    # Student's 97.5 % quantile for 9 degrees of freedom.
    spread = math.sqrt(sum((s - 0.23) ** 2 for s in STEPS) / 9 / 10)
    assert found.low == pytest.approx(0.23 - 2.262157 * spread)
    assert found.high == pytest.approx(0.23 + 2.262157 * spread)
    said = f"bbr - cubic, goodput_mbps: 0.23 Mbit/s (95 % interval {found.low:.4g} to {found.high:.4g}, p = "
    assert str(found).startswith(said)
    assert str(found).endswith(", 10 seeds)")


def test_the_text_of_several_tests_has_the_corrected_p() -> None:
    one = differences(B, A, "goodput_mbps", "bbr", "cubic")
    both = Comparison(corrected([one, replace(one, p=2 * one.p)]))
    assert f"p = {one.p:.2g}, corrected {2 * one.p:.2g}, 10 seeds" in str(both)
    assert "corrected" not in str(one)


def test_only_shared_seeds_count() -> None:
    found = differences({**B, 77: 100.0}, {**A, 78: 0.0}, "goodput_mbps")
    assert list(found.differences) == list(A)
    assert found.mean == pytest.approx(0.23)
    with pytest.raises(RecordError, match="a has values of 10 seeds, b of 1, both of 1; at least 2 are needed"):
        differences(A, {1: 2.0}, "goodput_mbps")


def test_equal_differences_have_no_interval() -> None:
    found = differences({1: 3.0, 2: 4.0}, {1: 2.0, 2: 3.0}, "jain", "x", "y")
    assert math.isnan(found.low)
    assert math.isnan(found.p)
    assert str(found) == "x - y, jain: 1 in each of 2 seeds: without variation there is no interval"


def test_runs_of_a_folder_are_paired_by_seed(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(LOSSY, encoding="utf-8")
    results = perigee.load(tmp_path / "a.toml").run_all(seeds=[1, 2, 3], out=tmp_path / "out")
    by_seed = {(r.cc, r.seed): r.summary["rtt_p95_ms"] for r in results}
    found = perigee.paired(tmp_path / "out", "cubic", "newreno", "rtt_p95_ms")
    assert found.differences == {s: by_seed["cubic", s] - by_seed["newreno", s] for s in (1, 2, 3)}
    assert found == paired(results, "cubic", "newreno", "rtt_p95_ms")
    for words, said in (
        (("cubic", "bbr"), "no run of the scheme 'bbr'; there are runs of newreno, cubic"),
        (("cubic", "cubic"), "both schemes are cubic"),
        (("cubic", "newreno", "goodput"), "no column 'goodput'"),
        (("cubic", "newreno", "class"), "no column 'class' of numbers"),
        (("cubic", "newreno", "cbr_goodput_mbps"), "the runs of cubic and newreno have no value of it"),
    ):
        with pytest.raises(RecordError, match=said):
            perigee.paired(tmp_path / "out", *words)
    other = perigee.load(tmp_path / "a.toml", {"source.dumbbell.loss": 0.1}).run_all(seeds=[1, 2])
    with pytest.raises(RecordError, match="of several scenarios"):
        perigee.paired([*results, *other], "cubic", "newreno")


def test_no_page_advises_to_look_whether_intervals_overlap() -> None:
    page = (ROOT / "docs/how-to/comparison.md").read_text(encoding="utf-8")
    assert "do not overlap" not in page
    assert "perigee.paired(" in page


def test_holm_corrects_each_p_by_the_number_of_tests_not_yet_rejected() -> None:
    tests = [Paired("jain", "x", "y", {}, 1.0, 0.5, 1.5, p) for p in (0.04, 0.01, math.nan, 0.03)]
    # 3 x 0.01, 2 x 0.03, and no less than the one before: 0.06 instead of 0.04.
    assert [t.corrected_p for t in corrected(tests)][:2] == pytest.approx([0.06, 0.03])
    assert corrected(tests)[3].corrected_p == pytest.approx(0.06)
    assert math.isnan(corrected(tests)[2].corrected_p)


def test_a_winner_needs_a_direction_and_a_difference() -> None:
    def ahead(metric: str, mean: float, p: float) -> str | None:
        return Paired(metric, "x", "y", {}, mean, 0, 0, p, corrected_p=p).ahead

    assert ahead("goodput_mbps", 1.0, 0.01) == "x"
    assert ahead("goodput_mbps", -1.0, 0.01) == "y"
    assert ahead("rtt_mean_ms", -1.0, 0.01) == "x"
    assert ahead("rtt_mean_ms", -1.0, 0.06) is None
    assert ahead("path_changes", -1.0, 0.01) is None, "neither more nor less is better"
    assert ahead("jain", 0.1, math.nan) is None, "equal in all seeds: there is no test"


def test_only_equal_values_or_a_narrow_interval_are_no_difference() -> None:
    def verdict(mean: float, half: float, p: float, metric: str = "goodput_mbps") -> str:
        found = Paired(metric, "x", "y", {1: 0, 2: 0, 3: 0}, mean, mean - half, mean + half, p, 0, 33.7)
        return replace(found, corrected_p=p).verdict

    assert verdict(36.6, 7.2, 0.073) == "not decided (3 seeds)"
    assert verdict(36.6, 7.2, 0.01) == "x"
    assert verdict(-0.1, 0.2, 0.3) == "no difference", "within 1 % of 33.7"
    assert verdict(-0.2, 0.2, 0.3) == "not decided (3 seeds)", "beyond -0.337"
    assert verdict(1.0, 0.1, 0.01, "path_changes") == "differ"
    assert verdict(0, math.nan, math.nan) == "no difference", "equal in each seed"
    assert verdict(0.5, math.nan, math.nan) == "no test"


def test_the_sentence_of_a_leader_separates_wins_from_what_is_not_decided() -> None:
    def test(cc: str, mean: float, half: float, p: float) -> Paired:
        seeds = {1: 0.0, 2: 0.0, 3: 0.0}
        found = Paired("goodput_mbps", "bbr", cc, seeds, mean, mean - half, mean + half, p, 70.3, 50.0)
        return replace(found, corrected_p=p)

    won, open_, equal = test("cubic", 20, 1, 0.01), test("owd", 36, 7, 0.073), test("hybla", 0.1, 0.1, 0.3)
    labels = {"bbr": "BBR", "cubic": "CUBIC"}
    assert sentence([won, test("owd", 36, 1, 0.02)], labels) == "BBR is ahead of each other scheme over 3 seeds"
    assert sentence([open_], labels) == "BBR has a better mean than owd, not decided (3 seeds)"
    assert sentence([won, open_, equal], labels) == (
        "BBR is ahead of CUBIC; has no difference from hybla (equal, or within ±1 %); has a better mean than owd, "
        "not decided (3 seeds)"
    )


def test_wilcoxon_effect_and_seeds_needed_are_those_of_scipy_and_of_the_definition() -> None:
    found = differences(B, A, "goodput_mbps", "bbr", "cubic")
    assert found.wilcoxon_p == pytest.approx(stats.wilcoxon(list(found.differences.values())).pvalue)
    deviation = math.sqrt(sum((s - 0.23) ** 2 for s in STEPS) / 9)
    assert found.effect == pytest.approx(0.23 / deviation)
    assert (found.a_mean, found.b_mean) == pytest.approx((sum(B.values()) / 10, sum(A.values()) / 10))
    assert found.more_seeds is not None
    for n, enough in ((10 + found.more_seeds, True), (9 + found.more_seeds, False)):
        half = float(stats.t.ppf(0.975, n - 1)) * deviation / math.sqrt(n)
        assert (half <= 0.01 * found.b_mean) is enough


@pytest.mark.slow
def test_schemes_of_a_folder_and_of_two_are_compared(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a.toml").write_text(LOSSY, encoding="utf-8")
    scenario = perigee.load(tmp_path / "a.toml")
    first = scenario.run_all(seeds=[1, 2, 3], out=tmp_path / "out")
    other = perigee.load(tmp_path / "a.toml", {"port.bottleneck.queue": "0.3 bdp"})
    second = other.run_all(seeds=[2, 3, 4], out=tmp_path / "short")
    within = perigee.compare(tmp_path / "out")
    assert {d.metric for d in within} == {"goodput_mbps", "rtt_mean_ms", "rtt_p95_ms", "retransmits"}
    assert {(d.a, d.b) for d in within} == {("newreno", "cubic")}, "in the order of tables"
    across = perigee.compare(first, second, pairs=[("cubic", "newreno")], metrics=["rtt_mean_ms"])
    values = {(r.cc, r.seed): r.summary["rtt_mean_ms"] for r in first}
    shallow = {(r.cc, r.seed): r.summary["rtt_mean_ms"] for r in second}
    assert (across[0].a, across[0].b) == ("cubic (first)", "newreno (second)")
    assert across[0].differences == {s: values["cubic", s] - shallow["newreno", s] for s in (2, 3)}
    assert len(perigee.compare(first, second)) > 4
    lines = cli("compare", "out", "--metric", "rtt_mean_ms", "--csv").stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("metric,a,b,seeds,mean,low,high,p,")
    assert "\\toprule" in cli("compare", "out", "--latex").stdout
    # B - A in every form, with the same correction.
    told = cli("compare", "out", "short", "--pair", "cubic,newreno", "--metric", "rtt_mean_ms")
    assert "newreno (B)" in told.stdout
    assert "The seeds differ: 1 to 3 in A, 2 to 4 in B" in told.stdout
    assert "The scenarios differ in port.bottleneck.queue" in told.stdout
    data = json.loads(cli("compare", "out", "short", "--pair", "cubic,newreno", "--json").stdout)
    mean = next(row["mean"] for row in data["paired"] if row["metric"] == "rtt_mean_ms")
    assert mean == pytest.approx(-across[0].mean)
    assert {"schemes", "differing_keys", "rtt_over"} <= data.keys()
    twice = perigee.compare(first, metrics=["rtt_mean_ms", "rtt_mean_ms"])
    assert len(twice) == 1, "a repeated test does not count twice"
    for wrong, said in (
        ({"pairs": [("cubic", "cubic")]}, "both schemes are cubic"),
        ({"pairs": [("cubic", "newreno"), ("newreno", "cubic")]}, "in both orders"),
        ({"metrics": ["loss_pct"]}, "have no value of it"),
    ):
        with pytest.raises(RecordError, match=said):
            perigee.compare(first, **wrong)
    with pytest.raises(RecordError, match="no run to compare"):
        perigee.compare([])
    with pytest.raises(RecordError, match="of several scenarios"):
        perigee.compare([*first, *second], pairs=[("cubic", "newreno")])
    for words, said in (
        (("out", "--pair", "cubic"), "two schemes separated by a comma"),
        (("out", "--pair", "cubic,bbr"), "no run of the scheme 'bbr'; there are runs of newreno, cubic"),
        (("out", "--metric", "speed"), "no column 'speed'"),
        (("out", "--csv", "--latex"), "exclude each other"),
        (("out", "short", "--pair", "cubic,bbr"), "no run of the scheme 'bbr'"),
    ):
        ended = cli("compare", *words)
        assert ended.returncode == 2
        assert said in ended.stderr


def test_the_report_names_a_leader_only_where_seeds_allow_it(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(LOSSY, encoding="utf-8")
    results = perigee.load(tmp_path / "a.toml").run_all(seeds=[1, 2, 3, 4, 5], out=tmp_path / "out")
    found = leaders(results, ["rtt_p95_ms", "path_changes"], {"rtt_p95_ms": "p95"}, {"cubic": "Cubic"})
    test = perigee.paired(results, "cubic", "newreno", "rtt_p95_ms")
    assert found.best.get("rtt_p95_ms") == test.ahead
    assert len(found.sentences) == 1
    assert ("is ahead of each other" in found.sentences[0]) == (test.ahead is not None)
    assert leaders(results[:1], ["rtt_p95_ms"], {}, {}).best == {}, "one run"


OWN = """
import perigee_lab


class Owd(perigee_lab.CongestionControl):
    def on_ack(self, cx, w, ack):
        w.cwnd = 20 * cx.mss
"""


@pytest.mark.slow
@pytest.mark.parametrize("named", ["owd.py:Owd", "./owd.py:Owd", "python:Owd", "Owd"])
@pytest.mark.parametrize("in_file", [True, False])
def test_a_class_is_paired_by_any_of_its_names(tmp_path: Path, cli: Cli, named: str, in_file: bool) -> None:
    (tmp_path / "owd.py").write_text(OWN, encoding="utf-8")
    schemes = 'cc = ["owd.py:Owd", "cubic"]' if in_file else 'cc = ["cubic"]'
    (tmp_path / "a.toml").write_text(re.sub(r"cc = \[.*\]", schemes, LOSSY, count=1), encoding="utf-8")
    words = ["--trust"] if in_file else ["--cc", "owd.py:Owd,cubic"]
    assert cli("run", "a.toml", "--runs", "2", "--out", "out", *words).returncode == 0
    ended = cli("compare", "out", "--pair", f"{named},cubic", "--metric", "goodput_mbps")
    assert (ended.returncode, "Owd" in ended.stdout) == (0, True), ended.stderr
    assert perigee.paired(tmp_path / "out", named, "cubic").b == "cubic"
    both = cli("compare", "out", "out", "--pair", f"{named},cubic", "--metric", "goodput_mbps")
    assert both.returncode == 0, both.stderr


def test_a_class_without_runs_is_named_as_given(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a.toml").write_text(LOSSY, encoding="utf-8")
    perigee.load(tmp_path / "a.toml").run_all(seeds=[1, 2], out=tmp_path / "out")
    ended = cli("compare", "out", "--pair", "my/owd.py:Owd,cubic")
    assert (ended.returncode, "no run of the scheme 'my/owd.py:Owd'" in ended.stderr) == (2, True)


def test_no_cell_of_a_comparison_is_cut(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a.toml").write_text(LOSSY, encoding="utf-8")
    perigee.load(tmp_path / "a.toml").run_all(seeds=[1, 2], out=tmp_path / "out")
    printed = cli("compare", "out").stdout
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed
    assert all(name in printed for name in ("p (Wilcoxon)", "effect d", "seeds", "more"))


def test_a_narrow_terminal_goes_without_the_columns_that_matter_least(capsys: pytest.CaptureFixture[str]) -> None:
    from perigee_lab.cli import compare
    from perigee_lab.common.terminal import natural_width

    found = [Paired("goodput_mbps", "a" * 12, "b" * 12, {1: 1.0, 2: 2.0}, 1.5, -4.9, 7.9, 0.2)]
    whole = natural_width(compare._table(found, (), plain=False))
    assert natural_width(compare._table(found, compare.LEAST[:2], plain=False)) < whole - 10


def test_a_comparison_is_readable_in_a_console_and_in_a_notebook() -> None:
    test = Paired("goodput_mbps", "mine", "<cubic>", {1: 1.0, 2: 2.0}, 1.5, -4.9, 7.9, 0.2)
    found = perigee.Comparison(corrected([test]))
    assert repr(found) == str(found.differences[0])
    html = found._repr_html_()
    assert "<td>mine - &lt;cubic&gt;</td><td>+1.5</td><td>-4.9 to 7.9</td><td>0.2</td>" in html
    assert "<cubic>" not in html


def test_one_seed_is_singular() -> None:
    with pytest.raises(RecordError, match="a has values of 1 seed, b of 1, both of 0; at least 2 are needed"):
        differences({1: 1.0}, {2: 1.0}, "jain")
    with pytest.raises(RecordError, match="a has values of 0 seeds, b of 1"):
        differences({}, {2: 1.0}, "jain")
