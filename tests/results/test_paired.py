# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Paired differences over shared seeds, against scipy's test and values computed by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from scipy import stats

import perigee_lab as perigee
from conftest import ROOT
from perigee_lab.common.files import RecordError
from perigee_lab.results.metrics import mean_and_interval
from perigee_lab.results.paired import differences, paired

# Ten seeds, whose variation affects both schemes in the same way.
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
    assert str(found) == "x - y, jain: 1 in each of 2 seeds: nothing random has a part"


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
        (("cubic", "newreno", "cbr_goodput_mbps"), "cubic has values of 0 seeds"),
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
