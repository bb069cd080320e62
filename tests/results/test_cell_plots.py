# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plots of sweeps: meaning of points, bars and panels."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perigee_lab.results import cell_plots
from perigee_lab.results.cell_plots import MOST_PANELS, heat_map, lines
from perigee_lab.results.cells import Axis, Index, Sweep
from perigee_lab.results.metrics import mean_and_interval

QUEUE, LOSS, RATE = "port.bottleneck.queue", "source.dumbbell.loss", "port.bottleneck.rate"
# RTTs with three queues, which differ far more than those with different seeds.
RTT_MS = {"0.5bdp": 40.0, "2bdp": 100.0, "8bdp": 200.0}
STEP_MS = (0.0, 1.0, 3.0)


def made(seeds: int, schemes: tuple[str, ...], **more: list[Any]) -> Sweep:
    """A sweep over three queues and two losses with RTTs as above."""
    keys: dict[str, list[Any]] = {QUEUE: list(RTT_MS), LOSS: [0.0, 0.01], **more}
    rows = [
        {
            **dict(zip(keys, values, strict=True)),
            "cc": cc,
            "seed": seed,
            "rtt_mean_ms": RTT_MS[values[0]] + STEP_MS[seed - 1] + 1000 * values[1],
        }
        for *values, cc, seed in product(*keys.values(), schemes, range(1, seeds + 1))
    ]
    axes = tuple(Axis(k, tuple(map(str, v))) for k, v in keys.items())
    return Sweep(Path(), Index(1, "made", axes, ()), rows)


def bars(figure: Any) -> list[tuple[float, float]]:
    """Lower and upper ends of all bars that are drawn in a figure."""
    found = []
    for axes in figure.axes:
        for container in axes.containers:
            for collection in container.lines[2]:
                segments = np.array([s for s in collection.get_segments() if len(s)])
                found += [(float(s[0, 1]), float(s[1, 1])) for s in segments if not np.isnan(s).any()]
    return found


def points(axes: Any) -> list[list[float]]:
    """The heights of the points of each line."""
    return [list(map(float, c.lines[0].get_ydata())) for c in axes.containers]


def shown(figure: Any) -> list[Any]:
    """The visible panels of a figure."""
    return [a for a in figure.axes if a.get_visible()]


def test_one_seed_has_no_bars_and_other_keys_have_panels_of_their_own() -> None:
    figure = lines(made(1, ("cubic", "bbr")), "rtt_mean_ms", LOSS)
    assert bars(figure) == []
    assert [a.get_title() for a in shown(figure)] == ["queue = 0.5bdp", "queue = 2bdp", "queue = 8bdp"]
    for axes, rtt_ms in zip(shown(figure), RTT_MS.values(), strict=True):
        assert points(axes) == 2 * [[rtt_ms, rtt_ms + 10]]
    assert "over" not in figure.get_suptitle()


def test_intervals_are_over_seeds_at_equal_values_of_all_keys() -> None:
    figure = lines(made(3, ("cubic", "bbr")), "rtt_mean_ms", LOSS)
    mean, half = mean_and_interval(STEP_MS)
    drawn = bars(figure)
    assert len(drawn) == 3 * 2 * 2, "a bar per point"
    for low, high in drawn:
        assert high - low == pytest.approx(2 * half)
    assert points(shown(figure)[1]) == 2 * [pytest.approx([100 + mean, 110 + mean])]
    assert "means over 3 seeds" in figure.get_suptitle()


def test_another_key_of_one_scheme_is_lines_in_one_panel() -> None:
    figure = lines(made(1, ("cubic",)), "rtt_mean_ms", LOSS)
    [axes] = shown(figure)
    assert [t.get_text() for t in axes.get_legend().get_texts()] == [f"queue = {q}" for q in RTT_MS]
    assert points(axes) == [[v, v + 10] for v in RTT_MS.values()]


def test_maps_do_not_average_over_a_third_key() -> None:
    figure = heat_map(made(1, ("cubic",), **{RATE: ["1Mbit", "9Mbit"]}), "rtt_mean_ms", LOSS, RATE)
    maps = [a for a in shown(figure) if a.images]
    assert [a.get_title() for a in maps] == [f"cubic; queue = {q}" for q in RTT_MS]
    for axes, rtt_ms in zip(maps, RTT_MS.values(), strict=True):
        assert axes.images[0].get_array().tolist() == 2 * [[rtt_ms, rtt_ms + 10]]


def test_swept_seeds_are_seeds() -> None:
    plain = made(3, ("cubic",))
    rows = [{**r, "run.seed": r["seed"]} for r in plain.rows]
    axes = (*plain.index.axes, Axis("run.seed", ("1", "2", "3")))
    swept = Sweep(Path(), Index(1, "made", axes, ()), rows)
    assert bars(lines(swept, "rtt_mean_ms", LOSS)) == bars(lines(plain, "rtt_mean_ms", LOSS))
    alone = Sweep(Path(), Index(1, "made", (swept.index.axes[1], swept.index.axes[2]), ()), rows)
    assert not alone.plot("rtt_mean_ms").axes[0].images, "seeds are no axis of a map"


def test_too_many_combinations_are_said_to_be_left_out() -> None:
    figure = lines(made(1, ("cubic", "bbr"), **{RATE: [f"{n}Mbit" for n in range(1, 11)]}), "rtt_mean_ms", LOSS)
    assert len(shown(figure)) == MOST_PANELS < 30
    assert f"the first {MOST_PANELS} of 30 combinations" in figure.get_suptitle()
    assert not any(math.isnan(v) for axes in shown(figure) for line in points(axes) for v in line)


def test_intervals_end_at_the_maximum_of_the_metric() -> None:
    assert cell_plots.upper("jain", [0.5, 0.99], [0.1, 0.1]) == pytest.approx([0.1, 0.01])
    assert cell_plots.upper("goodput_mbps", [0.99], [0.1]) == [0.1]


def test_axes_have_the_unit_of_their_values() -> None:
    def scale(*values: Any) -> cell_plots.Scale:
        return cell_plots._scale(made(1, ("cubic",), **{RATE: list(values)}), RATE)

    assert scale("10 Mbit", "0.5Gbit").places == {"10 Mbit": 10.0, "0.5Gbit": 500.0}
    assert scale("10 Mbit", "0.5Gbit").unit == "Mbit/s"
    assert scale("20 ms", "100ms") == cell_plots.Scale({"20 ms": 20.0, "100ms": 100.0}, "ms")
    assert scale("1bdp", "2 bdp").unit == "BDP"
    mixed = scale("1bdp", "20 packets")
    assert (mixed.unit, mixed.ticks) == ("", ["1bdp", "20 packets"])
    assert [scale("1 ms", "49 ms").is_logarithmic, scale("1 ms", "50 ms").is_logarithmic] == [False, True]
    assert not scale(0.0, 100.0).is_logarithmic


def test_labels_of_axes_are_words_with_units() -> None:
    figure = lines(made(1, ("cubic", "bbr")), "rtt_mean_ms", QUEUE)
    assert figure.axes[0].get_ylabel() == "mean RTT, ms"
    assert figure.axes[-1].get_xlabel() == f"{QUEUE}, BDP"
