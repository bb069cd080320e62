# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Page of a sweep with sliders, and pages in notebooks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.common.files import RecordError
from perigee_lab.results.columns import named
from perigee_lab.results.explorer import payload

TITLE = "a <b>path</b>"
SMALL = f"""
title = "{TITLE}"
[run]
duration = "1 s"
cc = ["cubic", "bbr"]
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over two keys."""
    base = tmp_path_factory.mktemp("sweep")
    (base / "s.toml").write_text(SMALL, encoding="utf-8")
    keys = {"port.bottleneck.queue": ["1 bdp", "4 bdp"], "source.dumbbell.loss": [0, 0.01, 0.02]}
    perigee.sweep(base / "s.toml", keys, ["cubic", "bbr"], seeds=[1, 2], out=base / "out")
    return base / "out"


@pytest.mark.slow
def test_every_cell_is_on_the_page_with_its_mean(folder: Path) -> None:
    sweep = perigee.open_sweep(folder)
    data = payload(sweep)
    assert [a["values"] for a in data["axes"]] == [["1 bdp", "4 bdp"], ["0", "0.01", "0.02"]]
    assert [s["label"] for s in data["schemes"]] == ["Cubic", "BBR"]
    assert len(data["cells"]) == 2 * 3 * 2
    m = [metric["name"] for metric in data["metrics"]].index("rtt_mean_ms")
    cell = next(c for c in data["cells"] if (c["at"], c["cc"]) == ([1, 2], 0))
    frame = sweep.frame()
    rows = frame[(frame["port.bottleneck.queue"] == "4 bdp") & (frame["source.dumbbell.loss"] == 0.02)]
    expected = rows[rows["cc"] == "cubic"]["rtt_mean_ms"].mean()
    assert cell["values"][m][0] == pytest.approx(expected, rel=1e-5)
    assert cell["runs"] == 2
    assert cell["values"][m][2] == f"{expected:.1f}"
    share = [metric["name"] for metric in data["metrics"]].index("share")
    assert re.fullmatch(r"\d+\.\d %", cell["values"][share][2]), "in percent, with the decimals of tables"
    assert data["title"] == TITLE
    assert [metric["label"] for metric in data["metrics"]][:3] == ["goodput", "mean RTT", "RTT p99"]
    assert named("loss_pct") == "loss"
    assert [one["name"] for one in payload(sweep, ["goodput_mbps"])["metrics"]] == ["goodput_mbps"]


def test_the_page_is_one_file_that_fetches_nothing(folder: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("results", folder, "--plot", "page.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text.replace("&#x27;", "'")
    assert not re.search(r"(src|href)=.https?:|url\(", text)
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data
    assert json.loads(data[1]) == payload(perigee.open_sweep(folder))
    assert cli("results", folder, "--plot", "other.html", "--x", "queue").returncode == 2


def test_pages_are_frames_in_notebooks(folder: Path, tmp_path: Path) -> None:
    sweep = perigee.open_sweep(folder)
    page = sweep.page()
    assert re.match(r"<Page of [1-9]\d* kB: ", repr(page))
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts"' in shown
    assert shown.count("<") == 2, "the page is the text of an attribute"
    assert page.save(tmp_path / "new/page.html").read_text(encoding="utf-8") == page.text
    runs = sweep.runs(queue="1 bdp", loss=0)
    for view in (
        perigee.show(runs),
        perigee.show(runs[0]),
        perigee.show(folder / "cells" / sweep.index.cells[0].folder),
    ):
        assert "<b>path" not in view._repr_html_()
        assert "canvas" in view.text
    with pytest.raises(RecordError):
        perigee.show(tmp_path / "nothing")
    for odd, name in ((None, "NoneType"), ([None], "NoneType"), ([], "none"), (7, "int"), (sweep, "Sweep")):
        with pytest.raises(TypeError, match=f"runs must be a Run, .* or a record's folder, not {name}"):
            perigee.show(odd)  # type: ignore[arg-type]


def test_a_page_of_one_column_takes_its_name(folder: Path) -> None:
    sweep = perigee.open_sweep(folder)
    assert sweep.page("goodput_mbps") == sweep.page(metrics=["goodput_mbps"])
    for wrong in ("goodput", ["goodput_mbps", "goodput"]):
        with pytest.raises(RecordError, match="there is no column 'goodput'"):
            sweep.page(wrong)
