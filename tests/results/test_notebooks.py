# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Notebook representations of runs, results, scenarios and networks."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

import perigee_lab as perigee

SMALL = """
title = "A <b>small</b> one"
[run]
duration = "1 s"
cc = ["cubic", "bbr"]
[source.dumbbell]
[[flow]]
cc = "*"
"""


def test_everything_has_a_table_and_a_short_name() -> None:
    scenario = perigee.loads(SMALL)
    results = scenario.run_all()
    for thing, word in (
        (scenario, "cubic, bbr"),
        (results, "bbr"),
        (results[0], "seed 1"),
        (scenario.timeline(), "from"),
    ):
        shown = thing._repr_html_()
        assert word in shown
        assert "<table>" in shown
        assert "A &lt;b&gt;small&lt;/b&gt; one" in shown or thing.title.startswith("dumbbell")
        assert "<b>" not in shown
        assert len(repr(thing)) < 120
        assert "\n" not in repr(thing)


def test_a_figure_is_shown_once_in_a_notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = perigee.loads(SMALL).run("cubic")
    plt.close("all")
    run.plot()
    assert len(plt.get_fignums()) == 1
    plt.close("all")
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    assert run.plot().axes
    assert plt.get_fignums() == []
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    sweep = perigee.sweep(tmp_path / "s.toml", {"run.duration": ["1 s", "2 s"]}, "cubic", seeds=[1], out=tmp_path / "o")
    assert sweep.plot().axes
    assert plt.get_fignums() == []
