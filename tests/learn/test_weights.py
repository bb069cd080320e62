# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Policies from files, and all schemes at once."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from conftest import ROOT, SMALL, Cli

INPUTS = 50


def policy(bias: float, inputs: int = INPUTS) -> str:
    """A policy with a constant action."""
    row = " ".join(["0"] * inputs)
    return f"perigee-policy 1\ninput {inputs}\ndense 1\n{row}\n{bias}\ntanh\nend\n"


def scenario(folder: Path, weights: str) -> Path:
    """A scenario with its policy in the same folder."""
    folder.mkdir(exist_ok=True)
    path = folder / "policy.toml"
    path.write_text(f'{SMALL}\n[cc.astraea]\nweights = "{weights}"\nguard = "off"\n', encoding="utf-8")
    return path


def test_a_policy_moves_the_window(cli: Cli, tmp_path: Path) -> None:
    goodput = {}
    for name, bias in (("up", 1.0), ("down", -1.0)):
        folder = tmp_path / name
        path = scenario(folder, "weights.txt")
        (folder / "weights.txt").write_text(policy(bias), encoding="utf-8")
        done = cli("run", path, "--cc", "astraea", "--out", f"out-{name}", "--no-report")
        assert done.returncode == 0, done.stderr
        assert "without a policy" not in done.stdout
        rows = list(csv.DictReader((tmp_path / f"out-{name}/summary.csv").read_text(encoding="utf-8").splitlines()))
        goodput[name] = float(rows[0]["goodput_mbps"])
    assert goodput["up"] > 2 * goodput["down"]


def test_the_resolved_scenario_names_the_file_from_anywhere(cli: Cli, tmp_path: Path) -> None:
    path = scenario(tmp_path / "far", "weights.txt")
    (tmp_path / "far" / "weights.txt").write_text(policy(0.5), encoding="utf-8")
    assert cli("run", path, "--cc", "astraea", "--out", "out", "--no-report").returncode == 0
    manifest = json.loads((tmp_path / "out/astraea/seed1/manifest.json").read_text())
    again = tmp_path / "again.toml"
    again.write_text(manifest["scenario_toml"], encoding="utf-8")
    assert cli("run", again, "--cc", "astraea", "--out", "out2", "--no-report").returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot read"),
        (policy(1.0)[:40], "line"),
        (policy(1.0, inputs=7), "7 inputs"),
        ("hello", "line 1"),
    ],
)
def test_files_that_are_no_policy_are_refused(cli: Cli, tmp_path: Path, text: str | None, said: str) -> None:
    path = scenario(tmp_path, "weights.txt")
    if text is not None:
        (tmp_path / "weights.txt").write_text(text, encoding="utf-8")
    done = cli("run", path, "--cc", "astraea", "--no-report")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "cc.astraea.weights" in done.stderr
    assert "policy.toml:" in done.stderr


@pytest.mark.slow
def test_all_schemes_run_side_by_side(cli: Cli, tmp_path: Path) -> None:
    path = ROOT / "scenarios/micro/dumbbell.toml"
    done = cli("run", path, "--cc", "all", "--out", "out", "--no-report", "--set", "run.duration=12 s", timeout=600)
    assert done.returncode == 0, done.stderr
    listed = {s["id"] for s in json.loads(cli("schemes", "--json").stdout)} - {"policy"}
    folders = {p.name for p in (tmp_path / "out").iterdir() if p.is_dir()}
    assert folders == listed
    assert "without a policy" not in done.stdout
    rows = list(csv.DictReader((tmp_path / "out/summary.csv").read_text(encoding="utf-8").splitlines()))
    for own in ("astraea", "astraea_leo"):
        [goodput] = [float(r["goodput_mbps"]) for r in rows if r["cc"] == own]
        assert goodput > 15, f"{own}: Perigee's own policy fills the link"


def test_any_policy_file_runs_beside_other_schemes(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    (tmp_path / "mine.policy").write_text(policy(0.3), encoding="utf-8")
    done = cli("run", path, "--cc", "policy:mine.policy,newreno", "--out", "out", "--no-report")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out/policy/seed1/manifest.json").read_text())
    assert "mine.policy" in manifest["scenario_toml"]
    assert (tmp_path / "out/newreno").is_dir()
    assert cli("verify", "out/policy/seed1").returncode == 0
    for asked, said in (
        ("policy:missing.policy", "cannot read"),
        ("policy:mine.policy,policy:other.policy", "one policy:FILE a run"),
        ("policy", "--cc policy:FILE"),
    ):
        refused = cli("run", path, "--cc", asked, "--out", "other", "--no-report")
        assert refused.returncode == 2, refused.stdout
        assert said in refused.stderr
