# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of runs over seeds: means, intervals, bands, and what is refused."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perigee_lab as perigee
from conftest import SMALL, Cli
from perigee_lab.common.files import RecordError
from perigee_lab.results.metrics import mean_and_interval
from perigee_lab.results.run import Results, Run
from perigee_lab.results.run_plots import band


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two schemes, three seeds each, with records."""
    return perigee.loads(SMALL).run_all(seeds=[1, 2, 3], out=tmp_path_factory.mktemp("three") / "out")


def means(axes: Any) -> dict[str, tuple[float, float, float]]:
    """Mean and ends of the bar of each scheme of a panel."""
    found = {}
    for tick, container in zip(axes.get_xticklabels(), axes.containers, strict=True):
        (low, high) = container.lines[2][0].get_segments()[0][:, 1]
        found[tick.get_text()] = (float(container.lines[0].get_ydata()[0]), float(low), float(high))
    return found


def test_points_and_bars_are_the_means_and_intervals_of_the_table(three: Results) -> None:
    figure = three.plot_seeds("rtt_mean_ms")
    drawn = means(figure.axes[0])
    assert list(drawn) == ["cubic", "newreno"]
    for cc, (mean, low, high) in drawn.items():
        expected, half = mean_and_interval([r.summary["rtt_mean_ms"] for r in three if r.cc == cc])
        assert mean == pytest.approx(expected)
        assert (high - low) / 2 == pytest.approx(half)
    assert "means over 3 seeds" in figure.get_suptitle()


def test_curves_are_medians_and_bands_reach_from_least_to_greatest(three: Results) -> None:
    own = [r for r in three if r.cc == "cubic"]
    name = own[0].table("flow_totals").column("name")[0].as_py()
    found = band(own, name, "rtt_ns")
    frames = [r.to_pandas("flows") for r in own]
    samples = len(frames[0])
    assert len(found.t_s) == samples <= 300
    middle = samples // 2
    each = [float(f["rtt_ns"].iloc[middle]) / 1e6 for f in frames]
    assert found.median[middle] == pytest.approx(statistics.median(each))
    assert (found.low[middle], found.high[middle]) == pytest.approx((min(each), max(each)))
    assert np.nanmax(found.high - found.low) > 0
    figure = three.plot_seeds()
    line = next(x for x in figure.axes[-1].lines if len(x.get_xdata()) == samples)
    assert list(line.get_ydata()) == pytest.approx(list(found.median), nan_ok=True)
    assert len(figure.axes[-1].collections) == 2, "a band per scheme"


@pytest.mark.slow
def test_runs_of_several_scenarios_have_no_common_mean(cli: Cli, tmp_path: Path) -> None:
    perigee.loads(SMALL).run_all(cc=["cubic"], seeds=[1], out=tmp_path / "a")
    perigee.loads(SMALL.replace("10 Mbit", "20 Mbit")).run_all(cc=["cubic"], seeds=[2], out=tmp_path / "b")
    (tmp_path / "b/cubic/seed2").rename(tmp_path / "a/cubic/seed2")
    for words in (("--means",), ("--plot", "x.svg"), ("--plot", "x.html")):
        done = cli("results", "a", *words)
        assert (done.returncode, "of several scenarios" in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("--means",), ("--json",), ("--join",), ("--x", "seed")])
def test_a_plot_of_runs_takes_no_option_without_effect(words: tuple[str, ...], cli: Cli) -> None:
    done = cli("results", "a", "--plot", "x.svg", *words)
    assert (done.returncode, "cannot be combined" in done.stderr) == (2, True), done.stderr


def test_means_are_of_numbers(three: Results, cli: Cli) -> None:
    done = cli("results", three.out, "--means", "--columns", "rtt_over")
    assert (done.returncode, "rtt_over is no number" in done.stderr) == (2, True), done.stderr


def test_one_seed_has_neither_bars_nor_bands(three: Results) -> None:
    figure = Results(three[:1]).plot_seeds("goodput_mbps")
    assert all(c.lines[2] == () for c in figure.axes[0].containers)
    assert not figure.axes[-1].collections


def test_seeds_of_two_folders_are_one_sample_and_other_scenarios_are_named_by_folder(tmp_path: Path) -> None:
    scenario = perigee.loads(SMALL)
    scenario.run_all(cc=["cubic"], seeds=[1, 2], out=tmp_path / "a")
    scenario.run_all(cc=["cubic"], seeds=[3], out=tmp_path / "b")
    perigee.loads(SMALL.replace("10 Mbit", "20 Mbit")).run_all(cc=["cubic"], seeds=[1], out=tmp_path / "c")
    assert [(r.cc, r.seed) for r in perigee.open_runs(tmp_path / "a", tmp_path / "b")] == [
        ("cubic", 1), ("cubic", 2), ("cubic", 3),
    ]  # fmt: skip
    assert {r.cc for r in perigee.open_runs(tmp_path / "a", tmp_path / "c")} == {"a: cubic", "c: cubic"}
    with pytest.raises(RecordError, match="two folders are named a"):
        perigee.open_runs(tmp_path / "a", tmp_path / "a")


@pytest.mark.parametrize(
    ("metrics", "flow", "text"),
    [
        (["nope"], None, "no column 'nope'"),
        (["cc"], None, "no column 'cc'"),
        (["page_mean_s"], None, "no run has a value of page_mean_s"),
        ([], "nope", "no flow 'nope'"),
        (["retransmits", "share", "inflation", "goodput_mbps", "rtt_p95_ms"], None, "at most 4"),
    ],
)
def test_wrong_columns_and_flows_are_named(three: Results, metrics: list[str], flow: str | None, text: str) -> None:
    with pytest.raises(RecordError, match=re.escape(text)):
        three.plot_seeds(metrics, flow)
    with pytest.raises(RecordError, match="there is no run"):
        Results([]).plot_seeds()


def test_the_page_has_figure_table_and_seeds_and_fetches_nothing(three: Results) -> None:
    text = three.page("goodput_mbps").text
    assert "data:image/svg+xml;base64," in text
    assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    mean, half = mean_and_interval([r.summary["goodput_mbps"] for r in three if r.cc == "cubic"])
    assert f"<td>cubic</td><td>3</td><td>{mean:.2f} ± {half:.2f}</td>" in text
    assert "seeds 1 to 3" in text
    assert three.page("goodput_mbps").text == text, "equal runs give equal pages"


@pytest.mark.slow
def test_one_command_draws_a_folder_in_every_format(three: Results, cli: Cli, tmp_path: Path) -> None:
    for suffix, start in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".html", b"<!doctype")):
        done = cli("results", three.out, "--plot", f"seeds{suffix}", "--columns", "rtt_p95_ms,inflation")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / f"seeds{suffix}").read_bytes().startswith(start)
    some = cli("results", three.out, "--plot", "some.html", "--where", "cc=newreno", "--where", "seed<3")
    assert some.returncode == 0, some.stderr
    text = (tmp_path / "some.html").read_text(encoding="utf-8")
    assert "<td>newreno</td><td>2</td>" in text
    assert "cubic" not in text.partition("<table>")[2]
    assert "no row of" in cli("results", three.out, "--plot", "x.svg", "--where", "seed=9").stderr
    assert "--x" in cli("results", three.out, "--plot", "x.svg", "--x", "queue").stderr
    assert "--flow" in cli("results", three.out, "--flow", "s1").stderr
    assert "seeds.svg exists" in cli("results", three.out, "--plot", "seeds.svg").stderr


def test_a_run_without_samples_of_a_scheme_is_drawn(three: Results) -> None:
    run = three[0]
    empty = Run(run.manifest, None, {n: run.table(n) for n in run.tables} | {"flows": run.table("flows").slice(0, 0)})
    figure = Results([empty]).plot_seeds("goodput_mbps")
    assert np.isnan(figure.axes[-1].lines[0].get_ydata()).all()


@pytest.mark.slow
def test_means_of_a_folder_are_those_of_the_figure(three: Results, cli: Cli, tmp_path: Path) -> None:
    done = cli("results", three.out, "--means", "--columns", "rtt_mean_ms", "--json")
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    for cell in cells:
        mean, half = mean_and_interval([r.summary["rtt_mean_ms"] for r in three if r.cc == cell["cc"]])
        assert (cell["rtt_mean_ms"], cell["rtt_mean_ms_half_95"]) == (pytest.approx(mean), pytest.approx(half))
    assert {c["cc"]: c["runs"] for c in cells} == {"cubic": 3, "newreno": 3}
    assert "means over 3 seeds" in cli("results", three.out, "--means").stdout
    (tmp_path / "empty").mkdir()
    assert "lists the runs of any folder" in cli("results", "empty", "--means").stderr
