# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweeps: one table with every combination of values; kills and resumed sweeps.

Also covers parameters of classes as keys.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Begin, Cli, wait_for
from perigee_lab.common.files import RecordError

TINY = """
[run]
duration = "300 ms"
sample = "100 ms"
[source.dumbbell]
rtt = "10 ms"
[port.bottleneck]
rate = "2 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
CLASS = '''
import perigee_lab as perigee

class Window(perigee.CongestionControl):
    """A window that stays."""

    kind = "model"
    params = {"packets": 4, "gain": 1.0}

    def on_start(self, cx, window):
        window.cwnd = self.params["packets"] * self.params["gain"] * cx.mss
        window.pacing_bps = 10e6
'''


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A scenario with a very short run."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


def rows(folder: Path) -> list[dict[str, str]]:
    """The runs of a sweep."""
    with (folder / "sweep.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_every_combination_is_a_row_with_its_values_and_equals_a_run_of_its_own(cli: Cli, tiny: Path) -> None:
    axes = ["--set", "port.bottleneck.queue=0.5bdp,2bdp", "--set", "source.dumbbell.loss=0,0.01"]
    done = cli("sweep", tiny, "--cc", "cubic,bbr", "--runs", 2, *axes, "--out", "s")
    assert done.returncode == 0, done.stderr
    found = rows(tiny.parent / "s")
    cells = {(r["port.bottleneck.queue"], r["source.dumbbell.loss"], r["cc"], r["seed"]) for r in found}
    assert len(found) == len(cells) == 2 * 2 * 2 * 2
    alone = perigee.load(tiny, {"port.bottleneck.queue": "2bdp", "source.dumbbell.loss": 0.01}).run(cc="bbr", seed=2)
    same = next(
        r
        for r in found
        if (r["port.bottleneck.queue"], r["cc"], r["seed"]) == ("2bdp", "bbr", "2")
        and r["source.dumbbell.loss"] == "0.01"
    )
    assert float(same["goodput_mbps"]) == pytest.approx(alone.summary["goodput_mbps"], rel=1e-8)
    pictures = {p.name for p in (tiny.parent / "s/plots").iterdir()}
    assert "heat-goodput_mbps-port.bottleneck.queue-source.dumbbell.loss.png" in pictures
    assert "lines-goodput_mbps-source.dumbbell.loss.png" in pictures


@pytest.mark.slow
def test_a_section_of_the_file_is_swept_and_a_run_says_that_it_is_not(cli: Cli, tiny: Path) -> None:
    tiny.write_text(TINY + '[sweep]\nport.bottleneck.rate = ["1 Mbit", "3 Mbit"]\n', encoding="utf-8")
    done = cli("sweep", tiny, "--cc", "cubic", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [c["port.bottleneck.rate"] for c in told["cells"]] == ["1 Mbit", "3 Mbit"]
    assert told["cells"][1]["goodput_mbps"] > told["cells"][0]["goodput_mbps"]
    alone = cli("run", tiny, "--cc", "cubic", "--no-report")
    assert alone.returncode == 0
    assert "perigee sweep" in alone.stderr
    # A cell is a scenario by itself, and has no warnings.
    cell = next((tiny.parent / "runs/tiny-sweep/cells").glob("*/cubic/seed1/manifest.json"))
    assert json.loads(cell.read_text(encoding="utf-8"))["warnings"] == []


def test_a_sweep_prints_the_warnings_of_its_cells_each_once(cli: Cli, tiny: Path) -> None:
    change = '[[change]]\nat = "250 ms"\nrate = "1 Mbit"\n'
    tiny.write_text(TINY + change, encoding="utf-8")
    sweep = ("sweep", tiny, "--cc", "cubic", "--runs", 2, "--no-plots", "--out")
    done = cli(*sweep, "all", "--set", "run.duration=200 ms", "--set", "port.bottleneck.queue=1bdp,2bdp")
    assert done.returncode == 0, done.stderr
    late = "change.0: no effect: it is at 250 ms, the run ends at 200 ms; use a longer run.duration"
    (said,) = (line for line in done.stderr.splitlines() if "no effect" in line)
    assert said.endswith(late)
    assert "cells:" not in said
    some = cli(*sweep, "some", "--set", "run.duration=200 ms,300 ms", "--json")
    assert some.returncode == 0, some.stderr
    (warning,) = (w for w in json.loads(some.stdout)["warnings"] if "no effect" in w)
    assert warning.startswith("1 of 2 cells: ")
    assert warning.endswith(late)
    alone = cli("run", tiny, "--cc", "cubic", "--no-report", "--set", "run.duration=200 ms")
    assert alone.returncode == 0
    assert late in alone.stderr


def test_a_sweep_prints_the_warnings_of_its_runs_each_once(cli: Cli, tiny: Path) -> None:
    values = "port.bottleneck.queue=1 packets,9 packets"
    done = cli("sweep", tiny, "--cc", "cubic", "--runs", 2, "--no-plots", "--set", values)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if "single packet" in line]
    assert {line[: line.index("the queue")] for line in said} == {"  2 of 4 runs: "}
    assert len(set(said)) == len(said)
    # Summaries of completed runs have them as well.
    again = cli("sweep", tiny, "--cc", "cubic", "--runs", 2, "--no-plots", "--set", values, "--json")
    assert [f"  {w}" for w in json.loads(again.stdout)["warnings"] if "single packet" in w] == said


@pytest.mark.slow
def test_a_killed_sweep_goes_on_and_its_table_is_that_of_one_that_was_not(cli: Cli, begin: Begin, tiny: Path) -> None:
    tiny.write_text(TINY.replace("300 ms", "20 s"), encoding="utf-8")
    words = ["sweep", tiny, "--cc", "cubic", "--runs", 3, "--set", "source.dumbbell.loss=0,0.001,0.01", "--no-plots"]
    folder = tiny.parent / "runs/tiny-sweep"
    process = begin(*words, "--jobs", 1)
    wait_for(lambda: len(list(folder.glob("cells/*/cubic/seed*/manifest.json"))) >= 2, process)
    process.kill()
    process.wait()
    kept = {p: p.stat().st_mtime_ns for p in folder.glob("cells/*/cubic/seed?/manifest.json")}
    assert not (folder / "sweep.csv").exists()
    again = cli(*words)
    assert again.returncode == 0, again.stderr
    assert "of 9 runs" in again.stderr
    assert all(p.stat().st_mtime_ns == t for p, t in kept.items()), "what was complete is not made again"
    assert cli(*words, "--out", "whole").returncode == 0
    assert (folder / "sweep.csv").read_bytes() == (tiny.parent / "whole/sweep.csv").read_bytes()


@pytest.mark.slow
def test_cells_are_listed_filtered_and_plotted(cli: Cli, tiny: Path) -> None:
    perigee.sweep(
        tiny,
        {"port.bottleneck.queue": ["1bdp", "2bdp"], "source.dumbbell.loss": [0, 0.01]},
        "cubic",
        out=tiny.parent / "s",
    )
    found = cli("cells", "s", "--where", "queue=2bdp", "--columns", "goodput_mbps", "--csv")
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == "port.bottleneck.queue,source.dumbbell.loss,cc,seed,goodput_mbps"
    assert [line.split(",")[:2] for line in lines[1:]] == [["2bdp", "0"], ["2bdp", "0.01"]]
    for same in ("queue=2.0 bdp", "loss=1e-2"):
        assert cli("results", "s", "--means", "--where", same, "--columns", "goodput_mbps").returncode == 0, same
    means = cli("results", "s", "--means", "--json")
    assert [c["runs"] for c in json.loads(means.stdout)["cells"]] == [1, 1, 1, 1]
    former = cli("cells", "s", "--json")
    assert former.stdout == means.stdout
    assert "perigee results FOLDER --means" in former.stderr
    assert cli("results", "s", "--plot", "p.png", "--x", "loss").returncode == 0
    assert (tiny.parent / "p.png").stat().st_size > 1000
    for wrong, says in [
        (["--where", "queue=9bdp"], "there are 1bdp, 2bdp"),
        (["--where", "nothing=1"], "no swept key"),
        (["--columns", "nothing"], "perigee columns"),
        (["--x", "loss"], "--plot"),
        (["--plot", "q.png", "--x", "loss", "--y", "source.dumbbell.loss"], "x and y are both source.dumbbell.loss"),
    ]:
        refused = cli("results", "s", "--means", *wrong)
        assert refused.returncode == 2
        assert says in refused.stderr
    for wrong in (["s"], ["--join"], ["--sort", "seed"], ["--out", "x.csv"]):
        refused = cli("results", "s", "--means", *wrong)
        assert refused.returncode == 2
        assert "--means, and --plot of a sweep, need one folder" in refused.stderr
    frame = perigee.open_sweep(tiny.parent / "s").frame()
    assert list(frame.columns[:2]) == ["port.bottleneck.queue", "source.dumbbell.loss"]
    assert len(frame) == 4
    assert frame["source.dumbbell.loss"].tolist() == [0, 0.01, 0, 0.01]


@pytest.mark.slow
def test_parameters_of_a_class_are_declared_by_it(cli: Cli, tiny: Path) -> None:
    (tiny.parent / "own.py").write_text(CLASS, encoding="utf-8")
    done = cli("sweep", tiny, "--cc", "own.py:Window", "--set", "cc.Window.packets=1,2", "--set", "cc.Window.gain=1,2")
    assert done.returncode == 0, done.stderr
    by = {
        (r["cc.Window.packets"], r["cc.Window.gain"]): float(r["goodput_mbps"])
        for r in rows(tiny.parent / "runs/tiny-sweep")
    }
    assert by["1", "1"] < by["1", "2"] == by["2", "1"] < by["2", "2"]
    for key, says in [
        ("cc.Window.packts=1", "it has packets, gain"),
        ("cc.Window.packets=x", "is not an integer"),
        ("cc.Door.packets=1", "no Python class Door"),
        ("cc.cubi.beta=1", "did you mean"),
    ]:
        refused = cli("run", tiny, "--cc", "own.py:Window", "--set", key)
        assert refused.returncode == 2
        assert says in refused.stderr


@pytest.mark.slow
def test_what_cannot_be_swept_is_refused_before_anything_runs(cli: Cli, tiny: Path) -> None:
    for words, says in [
        ([], "nothing is swept"),
        (["--set", "port.bottleneck.rate=1Mbit,"], "empty value"),
        (["--set", "port.bottleneck.rate=1Mbit,1Mbit"], "given twice"),
        (["--set", "port.bottleneck.rate=1Mbit,1.0 Mbit"], "1.0 Mbit is given twice"),
        (["--set", "port.bottleneck.rte=1,2"], "unknown key"),
        (["--set", "source.dumbbell.loss=" + ",".join(f"0.{i:06}" for i in range(1, 10_003))], "at most 10000"),
    ]:
        refused = cli("sweep", tiny, "--cc", "cubic", *words)
        assert refused.returncode == 2
        assert says in refused.stderr
    assert not list(tiny.parent.glob("runs/*"))


@pytest.mark.slow
def test_the_values_of_a_zipped_sweep_are_run_together(cli: Cli, tiny: Path) -> None:
    keys = ["--set", "port.bottleneck.rate=1Mbit,2Mbit,4Mbit", "--set", "source.dumbbell.rtt=20ms,10ms,10ms"]
    shown = cli("sweep", str(tiny), *keys, "--zip", "--cc", "cubic", "--out", "z")
    assert shown.returncode == 0, shown.stderr
    found = [(r["port.bottleneck.rate"], r["source.dumbbell.rtt"]) for r in rows(tiny.parent / "z")]
    assert found == [("1Mbit", "20ms"), ("2Mbit", "10ms"), ("4Mbit", "10ms")]
    # Lines over each key, and no maps: most of their cells would be empty.
    plots = [p.name for p in (tiny.parent / "z" / "plots").iterdir()]
    assert plots
    assert all(name.startswith("lines-") and "rate" in name for name in plots)
    sweep = perigee.open_sweep(tiny.parent / "z")
    title = sweep.plot("goodput_mbps", "rate").get_suptitle()
    assert "rtt along" in title
    assert len(sweep) == 3
    with pytest.raises(RecordError, match="without y"):
        sweep.plot("goodput_mbps", "rate", "rtt")
    # Two cells have an RTT of 10 ms: a mean over them would mix two rates.
    with pytest.raises(RecordError, match="several combinations"):
        sweep.plot("goodput_mbps", "rtt")
    # The same from a file, and in Python.
    section = (
        '[sweep]\nzip = true\nport.bottleneck.rate = ["1 Mbit", "1 Mbit"]\nsource.dumbbell.rtt = ["20 ms", "10 ms"]\n'
    )
    other = tiny.with_name("own.toml")
    other.write_text(TINY + section, encoding="utf-8")
    shown = cli("sweep", str(other), "--cc", "cubic", "--dry", "--json")
    assert json.loads(shown.stdout)["cells"] == 2, shown.stderr


@pytest.mark.slow
def test_a_zipped_sweep_has_as_many_values_of_each_key(cli: Cli, tiny: Path) -> None:
    keys = ["--set", "port.bottleneck.rate=1Mbit,2Mbit,4Mbit", "--set", "source.dumbbell.rtt=20ms,10ms"]
    shown = cli("sweep", str(tiny), *keys, "--zip", "--cc", "cubic")
    assert shown.returncode == 2
    assert "source.dumbbell.rtt has 2 values, port.bottleneck.rate has 3" in shown.stderr
    keys = ["--set", "port.bottleneck.rate=1Mbit,1Mbit", "--set", "source.dumbbell.rtt=20ms,20ms"]
    shown = cli("sweep", str(tiny), *keys, "--zip", "--cc", "cubic")
    assert shown.returncode == 2
    assert "is given twice" in shown.stderr
    tiny.write_text(TINY + '[sweep]\nzip = true\nrun.seed = [1, 2]\nrun.cc = ["cubic"]\n', encoding="utf-8")
    shown = cli("check", str(tiny))
    assert shown.returncode == 2
    assert "sweep.run.cc: 1 values, but run.seed has 2" in shown.stderr
    tiny.write_text(TINY + '[sweep]\nzip = "yes"\nrun.seed = [1, 2]\n', encoding="utf-8")
    shown = cli("check", str(tiny))
    assert shown.returncode == 2
    assert "sweep.zip: must be true or false" in shown.stderr


def test_a_scenario_in_place_of_its_file_is_named(tmp_path: Path) -> None:
    scenario = perigee.loads(TINY)
    with pytest.raises(TypeError, match="path is a Scenario: a sweep reads the scenario's file"):
        perigee.sweep(scenario, {"run.duration": ["1 s", "2 s"]}, "cubic", out=tmp_path / "out")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
