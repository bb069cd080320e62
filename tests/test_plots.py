# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Axes that single peaks do not squeeze."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from perigee.plots import cap, ceiling


def test_a_few_peaks_do_not_set_the_top_of_an_axis() -> None:
    curve = np.full(1000, 95.0)
    assert ceiling([curve]) == pytest.approx(1.05 * 95)
    curve[500:503] = 800.0
    assert ceiling([curve]) == pytest.approx(1.15 * 95)
    assert ceiling([curve, np.full(1000, 40.0)]) == pytest.approx(1.15 * 95), "the highest curve's usual values count"
    curve[300:400] = 800.0
    assert ceiling([curve]) == pytest.approx(1.05 * 800), "a tenth of the time is no peak"
    assert ceiling([]) == ceiling([np.array([np.nan])]) == 1.0
    assert ceiling([np.zeros(1000)]) == 1.0


def test_what_goes_beyond_an_axis_is_marked_where_it_does() -> None:
    _, axis = plt.subplots()
    t = np.arange(1000) / 10
    y = np.full(1000, 95.0)
    y[[100, 101, 700]] = [300.0, 310.0, 812.0]
    y[5] = np.nan
    axis.plot(t, y)
    axis.axvline(50)
    cap(axis)
    assert axis.get_ylim() == pytest.approx((0, 1.15 * 95))
    marks = axis.lines[-1]
    assert list(marks.get_xdata()) == [10.0, 70.0], "neighbours share a mark"
    assert [text.get_text() for text in axis.texts] == ["▲ up to 812"]
    plt.close()


def test_an_axis_without_peaks_gets_no_mark() -> None:
    _, axis = plt.subplots()
    axis.plot(np.arange(100), np.linspace(0, 10, 100))
    cap(axis)
    assert (len(axis.lines), len(axis.texts)) == (1, 0)
    assert axis.get_ylim()[1] == pytest.approx(10.5)
    plt.close()
