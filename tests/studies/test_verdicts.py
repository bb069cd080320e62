# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Statistics and verdicts of studies, against published tests and values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perigee_lab.common import statistics as stats
from perigee_studies.verdicts import DIFFERS, MISSING, REPRODUCED, TIE, bound, near, order, value


def test_the_tests_of_the_geostationary_study_come_out_as_published() -> None:
    steady = stats.t_test_from_moments(112.9, 12.2, 80, 123.3, 17.0, 80)
    assert (round(steady.t, 2), steady.freedom, round(steady.d, 3)) == (4.45, 158, 0.703)
    assert steady.p < 0.0001
    start = stats.t_test_from_moments(23.1, 1.8, 80, 16.6, 0.3, 80)
    assert (round(start.t, 2), round(start.d, 2)) == (31.86, 5.04)


def test_welch_and_student_agree_with_equal_spread_and_differ_otherwise() -> None:
    assert stats.t_test([1, 2, 3], [2, 3, 4]).p == pytest.approx(stats.t_test([1, 2, 3], [2, 3, 4], welch=True).p)
    a, b = [1.0, 2, 3, 4], [0.0, 10, 20, 5, 5]
    assert stats.t_test(a, b, welch=True).freedom < stats.t_test(a, b).freedom


def test_a_ratio_per_second_punishes_flows_that_take_turns() -> None:
    a, b = [60.0, 40.0] * 10, [40.0, 60.0] * 10
    assert stats.ratios(a, b).mean() == pytest.approx(2 / 3)
    assert stats.ratio_of_means(a, b) == pytest.approx(1)
    assert len(stats.ratios([0, 1], [0, 2])) == 1


def test_intervals_cover_and_single_values_have_none() -> None:
    m = stats.mean([1, 2, 3, 4, 5])
    assert (m.value, round(m.high - m.low, 3)) == (3, 3.926)
    assert np.isnan(stats.mean([1]).low)
    e = stats.median(list(range(50)))
    assert e.low < e.value < e.high


def test_verdicts_follow_the_numbers() -> None:
    assert near("k", "", "", 10, value(10.9), 1).verdict == REPRODUCED
    assert near("k", "", "", 10, value(11.1), 1).verdict == DIFFERS
    assert order("k", "", "", [("a", 2), ("b", 1)]).verdict == REPRODUCED
    assert order("k", "", "", [("a", 1), ("b", 2)]).verdict == DIFFERS
    assert order("k", "", "", [("a", 1), ("b", float("nan"))]).verdict == MISSING


def test_published_numbers_are_judged_by_the_interval() -> None:
    def verdict(*runs: float) -> str:
        return near("k", "", "", 10, stats.mean(runs), 1).verdict

    assert verdict(9.9, 10.0, 10.1) == REPRODUCED
    assert verdict(12.9, 13.0, 13.1) == DIFFERS
    # Means of 10.5 and 11.5 with intervals across the tolerance at 11.
    assert verdict(9.5, 10.5, 11.5) == TIE
    assert verdict(10.5, 11.5, 12.5) == TIE
    assert verdict(10.0, 11.8) == REPRODUCED, "two runs have no meaningful interval"


def test_bounds_that_nobody_published_are_tested_by_the_interval() -> None:
    def verdict(*runs: float, low: float = 0.8) -> str:
        return bound("a", "claim", "expected, not measured", "fair", stats.mean(runs), low).verdict

    assert verdict(0.90, 0.91, 0.92) == REPRODUCED
    assert verdict(0.50, 0.51, 0.52) == DIFFERS
    assert verdict(0.5, 1.0, 1.0) == TIE  # the mean is above the bound, with runs on both sides
    assert verdict(0.81, 0.99) == REPRODUCED  # two runs: compared directly
    assert bound("a", "", "", "", stats.mean([]), 0.8).verdict == MISSING
    shown = bound("a", "", "", "", stats.mean([-3e-5, -2e-5, -4e-5]), -1, 1, "%", places=3)
    assert (shown.ours, shown.interval, shown.verdict) == ("0 %", "0 to 0", REPRODUCED)


def test_orders_of_several_runs_are_tested_run_by_run() -> None:
    """Components common to all runs are not noise; a difference within the noise is a tie."""
    shared = np.array([10.0, 50.0, 20.0, 90.0, 40.0])
    slightly = shared + np.array([0.9, 1.0, 1.1, 1.0, 1.0])
    noise = shared + np.array([-9.0, 12.0, -8.0, 11.0, 1.0])
    value = {name: stats.mean(x).value for name, x in (("low", shared), ("high", slightly), ("noisy", noise))}

    def verdict(*names: str, **more: float) -> str:
        return order("k", "", "", [(n, value[n]) for n in names], **more).verdict

    assert verdict("high", "low") == REPRODUCED
    assert verdict("low", "high") == DIFFERS
    assert verdict("noisy", "low") == TIE
    assert verdict("low", "noisy") == TIE
    assert verdict("high", "low", "noisy") == TIE, "the worst of the neighbours"
    assert verdict("low", "high", slack=2) == REPRODUCED
    value["median"] = stats.median(slightly).value
    assert verdict("median", "low") == REPRODUCED
    value["few"] = stats.mean(shared[:2] - 99).value
    assert verdict("low", "few") == REPRODUCED, "of two runs nothing can be tested"
    found = order("k", "", "", [("high", value["high"]), ("low", value["low"])])
    assert found.interval == "smallest difference 1 (0.9122 to 1.088)"
    # Different numbers of runs cannot be paired: the common component hides the difference.
    value["four"] = stats.mean(slightly[:4]).value
    assert verdict("four", "low") == TIE
