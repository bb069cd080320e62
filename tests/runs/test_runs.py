# SPDX-License-Identifier: Apache-2.0 OR MIT
"""From a scenario file to records, tables and hashes, with the command line and with Python."""

from __future__ import annotations

import csv
import json
import math
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import PATIENCE_S, ROOT, SMALL, Begin, Cli, command, wait_for

TABLES = {
    "applications",
    "limits",
    "carriers",
    "meters",
    "completions",
    "windows",
    "flows",
    "links",
    "events",
    "rtt",
    "delays",
    "flow_totals",
    "link_totals",
    "routes",
    "tracks",
}


def hashes(out: Path) -> dict[str, dict[str, str]]:
    """Hashes of all tables of all records."""
    return {
        str(m.parent.relative_to(out)): {n: t["sha256"] for n, t in json.loads(m.read_text())["tables"].items()}
        for m in out.glob("*/*/manifest.json")
    }


def test_results_do_not_depend_on_the_number_of_threads(
    cli: Cli, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chain = ROOT / "scenarios/micro/chain.toml"
    runs = [perigee.load(chain, {"run.duration": "6 s"}).run("cubic", threads=threads) for threads in (1, 2, 3)]
    assert runs[0].hashes() == runs[1].hashes() == runs[2].hashes()
    capfd.readouterr()
    own = ROOT / "examples/target_delay.py"
    scheme = f"{own}:TargetDelay"
    loaded = perigee.load(chain, {"run.duration": "6 s"}, trust=True)
    assert loaded.run(scheme, threads=2).hashes() == loaded.run(scheme).hashes()
    assert "the run used one thread: flow" in capfd.readouterr().err
    assert cli("run", chain, "--set", "run.duration=6 s", "--threads", 2, "--out", "two").returncode == 0
    assert cli("run", chain, "--set", "run.duration=6 s", "--out", "one").returncode == 0
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two") != {}
    refused = cli("run", chain, "--threads", 0)
    assert refused.returncode == 2
    assert "--threads" in refused.stderr


def test_a_run_leaves_a_complete_record(cli: Cli, small: Path, tmp_path: Path) -> None:
    done = cli("run", small, "--out", "out", "--runs", 2)
    assert done.returncode == 0, done.stderr
    assert "cubic" in done.stdout
    assert "±" in done.stdout
    for cc in ("cubic", "newreno"):
        for seed in (1, 2):
            folder = tmp_path / "out" / cc / f"seed{seed}"
            manifest = json.loads((folder / "manifest.json").read_text())
            assert manifest["conserved"]
            assert {p.stem for p in folder.glob("*.parquet")} == set(manifest["tables"]) == TABLES
    rows = list(csv.DictReader((tmp_path / "out/summary.csv").read_text(encoding="utf-8").splitlines()))
    assert [(r["cc"], r["seed"]) for r in rows] == [
        ("newreno", "1"),
        ("newreno", "2"),
        ("cubic", "1"),
        ("cubic", "2"),
    ]
    assert 0 < float(rows[0]["share"]) <= 1
    assert (tmp_path / "out/report.html").exists()
    assert not list((tmp_path / "out").rglob("*.partial"))


@pytest.mark.slow
def test_hashes_do_not_depend_on_the_number_of_jobs(cli: Cli, small: Path, tmp_path: Path) -> None:
    for name, jobs in (("a", 1), ("b", 2), ("c", 2)):
        assert cli("run", small, "--out", name, "--runs", 2, "--jobs", jobs, "--no-report").returncode == 0
    a, b, c = (hashes(tmp_path / n) for n in "abc")
    assert a == b == c
    assert a["cubic/seed1"]["rtt"] != a["cubic/seed2"]["rtt"], "the seed decides the losses"


@pytest.mark.slow
def test_a_constellation_gives_equal_hashes_too(cli: Cli, tmp_path: Path) -> None:
    words = ["run", ROOT / "scenarios/leo/london-new-york.toml", "--set", "run.duration=12 s", "--no-report"]
    for name, jobs in (("a", 1), ("b", 2)):
        assert cli(*words, "--out", name, "--jobs", jobs).returncode == 0
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b")


def test_earlier_results_are_never_overwritten_without_force(cli: Cli, small: Path, tmp_path: Path) -> None:
    words = ("run", small, "--out", "out", "--no-report", "--cc", "cubic")
    assert cli(*words).returncode == 0
    before = (tmp_path / "out/cubic/seed1/manifest.json").read_bytes()
    done = cli(*words)
    assert (done.returncode, done.stderr) == (0, "resuming: 1 of 1 run already complete in out\n")
    done = cli(*words, "--set", "port.bottleneck.rate=20 Mbit")
    assert done.returncode == 2
    assert "out/cubic/seed1 exists and is not the result of this run; earlier results are kept" in done.stderr
    done = cli(*words, "--cc", "newreno", "--set", "port.bottleneck.rate=20 Mbit")
    assert done.returncode == 2
    assert "out/cubic/seed1 exists and is of another scenario; earlier results are kept unless you" in done.stderr
    assert (tmp_path / "out/cubic/seed1/manifest.json").read_bytes() == before
    assert cli(*words, "--force").returncode == 0
    assert (tmp_path / "out/cubic/seed1/manifest.json").read_bytes() != before
    assert cli("run", small, "--no-report", "--cc", "cubic").returncode == 0
    assert cli("run", small, "--no-report", "--cc", "cubic").returncode == 0
    assert {p.name for p in (tmp_path / "runs").iterdir()} == {"small", "small-2"}


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.1, 0.4, 1.0])
def test_a_killed_run_leaves_nothing_that_looks_complete(
    begin: Begin, small: Path, tmp_path: Path, after_s: float
) -> None:
    words = ("run", small, "--out", "out", "--runs", 400, "--set", "run.duration=20 s")
    process = begin(*words)
    out = tmp_path / "out"
    wait_for(lambda: any(out.glob("*/*")), process)
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "summary.csv").exists()
    for folder in out.glob("*/seed*"):
        if folder.is_dir() and not folder.name.endswith(".partial"):
            run = perigee.open_record(folder)
            assert run.hashes() == {n: t["sha256"] for n, t in run.manifest["tables"].items()}


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_complete_and_says_so(begin: Begin, small: Path, tmp_path: Path) -> None:
    words = ("run", small, "--out", "out", "--runs", 500, "--set", "run.duration=20 s", "--no-report")
    process = begin(*words)
    wait_for(lambda: any((tmp_path / "out").glob("*/*/manifest.json")), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "complete runs are in out" in errors
    assert not list((tmp_path / "out").rglob("*.partial"))


def test_verify_runs_a_record_again(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--out", "out", "--no-report").returncode == 0
    done = cli("verify", "out")
    assert (done.returncode, done.stdout) == (0, "newreno seed 1: equal\ncubic seed 1: equal\nsummary.csv: equal\n")
    parquet = tmp_path / "out/cubic/seed1/flows.parquet"
    shutil.copy(tmp_path / "out/newreno/seed1/flows.parquet", parquet)
    done = cli("verify", "out", "--json")
    assert done.returncode == 3
    assert any("flows.parquet" in p for r in json.loads(done.stdout) for p in r["problems"])


@pytest.mark.slow
def test_verify_names_a_summary_that_does_not_follow_from_the_tables(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--out", "out", "--no-report").returncode == 0
    # Remaining records of another scenario are omitted from the summary.
    other = ("--force", "--cc", "newreno", "--set", "port.bottleneck.rate=20 Mbit")
    assert cli("run", small, "--out", "out", "--no-report", *other).returncode == 0
    assert cli("verify", "out", "--no-rerun").returncode == 0
    summary = tmp_path / "out/summary.csv"
    summary.write_text(summary.read_text(encoding="utf-8").replace("newreno", "hybla"), encoding="utf-8")
    done = cli("verify", "out", "--no-rerun")
    assert done.returncode == 3
    assert done.stdout.endswith("summary.csv: it does not follow from the tables of the runs\n")


@pytest.mark.slow
def test_compare_puts_two_records_side_by_side(cli: Cli, small: Path) -> None:
    assert cli("run", small, "--out", "a", "--no-report").returncode == 0
    assert cli("run", small, "--out", "b", "--no-report", "--set", "port.bottleneck.rate=20 Mbit").returncode == 0
    shown = cli("compare", "a", "b").stdout
    assert "goodput" in shown
    assert "The scenarios differ in port.bottleneck.rate (10 Mbit and 20 Mbit)" in shown
    assert "differ" not in cli("compare", "a", "a").stdout
    told = json.loads(cli("compare", "a", "b", "--json").stdout)
    assert [k for k, _, _ in told["differing_keys"]] == ["port.bottleneck.rate"]
    rows = told["schemes"]
    assert rows[0]["b"]["goodput_mbps"] > rows[0]["a"]["goodput_mbps"]


@pytest.mark.slow
def test_json_is_json_and_nothing_else(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--out", "out", "--json", "--no-report")
    data = json.loads(done.stdout)
    assert done.stderr == ""
    assert {r["cc"] for r in data["runs"]} == {"cubic", "newreno"}
    assert data["runs"][0]["jain"] is None, "a single flow has no fairness"
    for words in (("schemes", "--json"), ("schema",), ("check", small, "--json")):
        json.loads(cli(*words).stdout)


@pytest.mark.parametrize("flags", [[], ["--sky"]])
def test_init_writes_a_scenario_that_runs(cli: Cli, flags: list[str]) -> None:
    assert cli("init", "new.toml", *flags).returncode == 0
    assert cli("init", "new.toml", *flags).returncode == 2
    done = cli("run", "new.toml", "--set", "run.duration=2 s", "--set", "run.warmup=0 s", "--out", "o", "--no-report")
    # The template's schedule starts after this short run ends.
    assert done.returncode == 0, done.stderr


def test_python_offers_the_same(tmp_path: Path) -> None:
    scenario = perigee.loads(SMALL, {"run.duration": "2 s"})
    run = scenario.run(cc="cubic", seed=3)
    assert (run.cc, run.seed) == ("cubic", 3)
    flows = run.to_pandas("flows")
    assert {"t_ns", "goodput_bps", "cwnd_bytes", "rtt_ns", "mode"} <= set(flows.columns)
    assert run.to_polars("events").height == len(run.to_pandas("events"))
    assert 0.5 < run.summary["share"] <= 1.0
    results = scenario.run_all(seeds=[1, 2], out=tmp_path / "out", jobs=2)
    assert len(results) == 4
    again = perigee.open_record(tmp_path / "out/cubic/seed1")
    assert again.table("flows").equals(results[0].table("flows"))
    assert again.hashes() == {n: t["sha256"] for n, t in again.manifest["tables"].items()}
    with pytest.raises(perigee.ScenarioError, match="no unit"):
        perigee.loads(SMALL, run__duration="5")
    with pytest.raises(ValueError, match="run_all"):
        scenario.run()


def test_plots_are_drawn(tmp_path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    figure = perigee.loads(SMALL).run(cc="cubic").plot()
    figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 10_000


def test_every_shipped_scenario_is_valid(cli: Cli) -> None:
    for path in sorted(ROOT.glob("scenarios/**/*.toml")):
        done = cli("check", path)
        assert done.returncode == 0, f"{path}: {done.stderr}"


def test_help_needs_no_heavy_module() -> None:
    heavy = ("numpy", "pandas", "pyarrow", "rich", "matplotlib", "perigee_lab._core")
    probe = f"import sys, perigee, perigee_lab.cli.app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([*command()[:1], "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_definitions_of_the_metrics() -> None:
    from perigee_lab.results import metrics

    assert metrics.jain([1.0, 1.0]) == 1.0
    assert metrics.jain([1.0, 0.0]) == 0.5
    samples = [(1000, 50), (2000, 45), (9000, 5)]
    assert metrics.percentile_ms(samples, 0.5) == 1.0
    assert metrics.percentile_ms(samples, 0.95) == 2.0
    assert metrics.percentile_ms(samples, 0.99) == 9.0
    mean, half = metrics.mean_and_interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert math.isnan(metrics.mean_and_interval([1.0])[1])


@pytest.mark.slow
def test_records_of_another_scenario_are_not_compared(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--out", "out", "--cc", "cubic").returncode == 0
    again = cli("run", small, "--out", "out", "--cc", "newreno", "--seed", "2", "--force")
    assert "recorded from a different scenario" not in again.stdout
    done = cli("run", small, "--out", "out", "--cc", "bbr", "--force", "--set", "port.bottleneck.rate=5 Mbit")
    assert done.returncode == 0, done.stderr
    assert "recorded from a different scenario" in done.stdout
    rows = (tmp_path / "out" / "summary.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[0] for row in rows] == ["cc", "bbr"]
    assert (tmp_path / "out" / "cubic" / "seed1" / "manifest.json").exists()
