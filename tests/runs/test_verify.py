# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee verify` of records and sweeps that were changed: keys, cached rows, tables of a sweep."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import perigee_lab
from conftest import SMALL, Cli
from perigee_lab.common.exit_codes import OUTSIDE_TOLERANCE
from perigee_lab.results import summary_cache
from perigee_lab.results.run import open_record
from perigee_lab.runs.verify import verify_command

SHORT = SMALL.replace('duration = "3 s"', 'duration = "1 s"')


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the record of a run."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "s.toml").write_text(SHORT, encoding="utf-8")
    perigee_lab.load(folder / "s.toml").run_all(["cubic"], seeds=[1], out=folder / "out")
    return folder


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(made / "out", tmp_path / "out")
    return tmp_path / "out"


CHANGES: tuple[tuple[Callable[[dict[str, Any]], object], str], ...] = (
    (lambda m: m.update(splits=[{"flow": "s1->d1", "legs": [0, 1]}]), "the manifest's splits differs"),
    (lambda m: m.update(measured={"began_ns": 5}), "the manifest's measured differs"),
    (lambda m: m.update(expectations=[{"verdict": "passed"}]), "the manifest's expectations differs"),
    (lambda m: m.pop("tcp_profile"), "the manifest's tcp_profile differs"),
    (lambda m: m.update(backend="log"), "the manifest says that it is of a log, and has a scenario"),
)


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_added_and_removed_keys_of_a_manifest_are_found(
    out: Path, change: Callable[[dict[str, Any]], object], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = out / "cubic/seed1/manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert verify_command(out, rerun=True, as_json=False) == OUTSIDE_TOLERANCE
    assert expected in capsys.readouterr().out


def test_an_unchanged_record_is_equal(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary_cache.store(open_record(out / "cubic/seed1"), out / "cubic/seed1")
    assert verify_command(out, rerun=True, as_json=False) == 0
    assert capsys.readouterr().out == "cubic seed 1: equal\nsummary.csv: equal\n"


def test_a_missing_summary_is_said(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (out / "summary.csv").unlink()
    assert verify_command(out, rerun=False, as_json=False) == 0
    assert capsys.readouterr().out.endswith("summary.csv: not compared (it is not there)\n")


def test_forged_rows_of_a_record_are_found(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = out / "cubic/seed1"
    summary_cache.store(open_record(folder), folder)
    cache = folder / summary_cache.FILE
    rows = json.loads(cache.read_text(encoding="utf-8"))
    rows["run"]["goodput_mbps"] *= 2
    cache.write_text(json.dumps(rows), encoding="utf-8")
    assert verify_command(out, rerun=False, as_json=False) == OUTSIDE_TOLERANCE
    assert "seed1/summary.json: it does not follow from the tables of the runs" in capsys.readouterr().out


def test_a_summary_that_is_no_file_is_a_problem(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (out / "summary.csv").unlink()
    os.mkfifo(out / "summary.csv")
    assert verify_command(out, rerun=False, as_json=False) == OUTSIDE_TOLERANCE
    assert "summary.csv: it cannot be read: " in capsys.readouterr().out


def test_tables_of_a_sweep_follow_from_its_runs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SHORT, encoding="utf-8")
    words = ("sweep", "s.toml", "--set", "port.bottleneck.rate=5 Mbit,10 Mbit", "--cc", "cubic", "--out", "o")
    assert cli(*words).returncode == 0
    done = cli("verify", "o", "--no-rerun")
    assert done.returncode == 0, done.stdout
    assert "sweep.csv: equal\n" in done.stdout
    table = tmp_path / "o/sweep.csv"
    right = table.read_text(encoding="utf-8")
    table.write_text(right.replace(",cubic,", ",bbr,"), encoding="utf-8")
    changed = cli("verify", "o", "--no-rerun")
    assert changed.returncode == OUTSIDE_TOLERANCE
    assert "sweep.csv: it does not follow from the tables of the runs\n" in changed.stdout
    table.write_text(right, encoding="utf-8")
    summary = next((tmp_path / "o/cells").glob("*/summary.csv"))
    summary.write_text(summary.read_text(encoding="utf-8") + "x\n", encoding="utf-8")
    done = cli("verify", "o", "--no-rerun")
    assert done.returncode == OUTSIDE_TOLERANCE
    assert f"{summary.parent.name}/summary.csv: it does not follow from the tables of the runs\n" in done.stdout
