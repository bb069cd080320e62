# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plots: axes that are robust against single peaks, and unique, consistent styles of schemes."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

import perigee_lab as perigee
from conftest import SMALL
from perigee_lab.results import looks
from perigee_lab.results.plots import INK, cap, ceiling, overview
from perigee_lab.results.report.data import payload
from perigee_lab.results.sender_limits import CAUSES
from perigee_lab.runs.scenario import schemes
from perigee_studies import style


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


def brightness(colour: str) -> float:
    red, green, blue = mpl.colors.to_rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_every_scheme_has_a_look_of_its_own_in_grey_too() -> None:
    every = [s["id"] for s in schemes()]
    assert set(every) == set(looks.BUILT_IN)
    found = looks.of(every)
    for a, b in combinations(every, 2):
        assert found[a].marker != found[b].marker, (a, b)
        if abs(brightness(found[a].colour) - brightness(found[b].colour)) < 0.1:
            assert found[a].dashes != found[b].dashes, (a, b)


def test_limits_of_senders_have_colours_of_their_own() -> None:
    colours = [cause.colour.upper() for cause in CAUSES]
    assert len(set(colours)) == len(colours)
    schemes_have = {look.colour.upper() for look in looks.BUILT_IN.values()} | {c.upper() for c in looks.SPARE_COLOURS}
    assert schemes_have.isdisjoint(colours)


def test_a_scheme_from_outside_looks_like_no_other_of_its_plot() -> None:
    own = [f"python:Mine{k}" for k in range(24)]
    found = looks.of([*own, *looks.BUILT_IN])
    assert len({(one.colour, one.dashes) for one in found.values()}) == len(found)
    assert looks.of(["cubic", own[3]])[own[3]] == looks.of([own[3]])[own[3]], "built-in schemes take no place"


def test_looks_can_be_seen_on_dark_paper() -> None:
    for one in looks.BUILT_IN.values():
        assert brightness(one.page()["dark"]) >= 0.44
    assert looks.on_dark("#56B4E9") == "#56b4e9", "what is light enough stays"


def test_report_plots_and_studies_show_a_scheme_alike(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SMALL, encoding="utf-8")
    chosen = ["orbcc", "leocc", "cubic", "copa", "newreno"]
    runs = [perigee.load(path, {"run.duration": "1 s"}).run(cc=cc) for cc in chosen]
    figure = overview(runs)
    legend = figure.legends[0]
    for cc, shown, line, handle in zip(
        chosen, payload(runs)["schemes"], figure.axes[0].lines, legend.legend_handles, strict=False
    ):
        look = looks.BUILT_IN[cc]
        assert (shown["cc"], shown["look"]["light"]) == (cc, look.colour)
        assert shown["look"]["dashes"] == list(look.dashes)
        assert line.get_color() == handle.get_color() == style.look(cc)["color"] == look.colour
        assert line.is_dashed() == bool(look.dashes)
    figure.canvas.draw()
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width, "the legend is not cut"
    for inches in (7.16, 3.5):
        figure.set_size_inches(inches, 4.5)
        figure.canvas.draw()
        note = figure._supxlabel.get_window_extent()
        assert 0 <= note.x0 < note.x1 <= figure.bbox.width, "neither is the note in the width of a journal"
        assert 0 <= note.y0 < note.y1 < figure.axes[2].get_window_extent().y0
    plt.close(figure)


def test_orbcc_has_one_colour_in_reports_and_figures_of_studies() -> None:
    """Figures call `orbcc-repro` OrbCC, and reports have `orbcc`.

    The variants differ in dashes and markers.
    """
    forms = [s["id"] for s in schemes() if s["id"].startswith("orbcc") and s["id"] != "orbcc-next"]
    assert len(forms) == 4
    assert len({looks.of([cc])[cc].colour for cc in forms} | {style.look(cc)["color"] for cc in forms}) == 1
    # Figures compare these, some of them as bars of one colour each.
    assert style.look("orbcc-next")["color"] != style.look("orbcc")["color"]
    assert style.look("hybla")["color"] != style.look("copa")["color"]
    # Bars have neither dashes nor markers.
    bars = [(style.bar(s["id"])["color"], style.bar(s["id"])["hatch"]) for s in schemes() if s["id"] != "policy"]
    assert len(set(bars)) == len(bars)
    assert style.bar("orbcc-repro")["hatch"] == style.bar("cubic")["hatch"] == ""


def test_outages_are_drawn_at_their_time(tmp_path: Path) -> None:
    text = SMALL + '\n[[change]]\nat = "1 s"\noutage = "100 ms"\n'
    figure = overview(perigee.loads(text).run_all(cc=["cubic"], seeds=[1], out=tmp_path / "out"))
    for panel in figure.axes:
        drawn = [line for line in panel.lines if list(line.get_xdata()) == [1.0, 1.0]]
        assert len(drawn) == 1, "the begin of the outage, and nothing at its end"
        assert drawn[0].get_color() == INK
    assert INK not in {look.colour for look in looks.BUILT_IN.values()}
    assert "handover or outage" in [text.get_text() for text in figure.legends[0].get_texts()]
    plt.close(figure)
