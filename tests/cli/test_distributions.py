# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Distributions that extend Perigee: commands and scenarios by entry points."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOY = '''
import typer

app = typer.Typer(help="Count to a number", no_args_is_help=True)


@app.callback()
def several() -> None:
    pass


@app.command()
def to(number: int) -> None:
    """Count to NUMBER."""
    print(*range(1, number + 1))
'''
SCENARIO = """
title = "toy"
[run]
duration = "1 s"
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "cubic"
"""


@pytest.fixture
def toy(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine on which the distribution perigee-toy is installed."""
    site = tmp_path / "site"
    (site / "perigee_toy-1.0.dist-info").mkdir(parents=True)
    (site / "perigee_toy-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: perigee-toy\nVersion: 1.0\n")
    points = "[perigee.commands]\ntoy = perigee_toy:app\n[perigee.scenarios]\ntoys = perigee_toy.folder:SCENARIOS\n"
    (site / "perigee_toy-1.0.dist-info/entry_points.txt").write_text(points)
    (site / "perigee_toy/scenarios").mkdir(parents=True)
    (site / "perigee_toy/__init__.py").write_text(TOY)
    (site / "perigee_toy/folder.py").write_text(
        "from pathlib import Path\nSCENARIOS = Path(__file__).parent / 'scenarios'\n"
    )
    (site / "perigee_toy/scenarios/one.toml").write_text(SCENARIO)
    return {**os.environ, "PYTHONPATH": str(site)}


def call(environment: dict[str, str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "perigee_lab", *words]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_a_command_of_another_distribution_is_listed_and_runs(toy: dict[str, str], tmp_path: Path) -> None:
    assert re.search(r"\nMore:\n  toy +Count to a number\n", call(toy, tmp_path, "--help").stdout)
    assert "toy [OPTIONS] COMMAND [ARGS]..." in call(toy, tmp_path, "toy", "--help").stdout
    done = call(toy, tmp_path, "toy", "to", "3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 2 3\n", "")


def test_scenarios_of_another_distribution_are_found_by_name(toy: dict[str, str], tmp_path: Path) -> None:
    done = call(toy, tmp_path, "check", "scenarios/toys/one.toml")
    assert done.returncode == 0, done.stderr
    missing = call(toy, tmp_path, "check", "scenarios/toys/two.toml")
    assert missing.returncode == 2
    assert "scenarios/toys/two.toml" in missing.stderr


def test_a_command_that_is_not_installed_names_its_distribution(tmp_path: Path) -> None:
    """The installation has only the first wheel."""
    program = (
        "import sys; from perigee_lab.extensions import distributions; distributions.commands = dict\n"
        "sys.argv[1:] = ['study', 'list']\n"
        "from perigee_lab.cli.app import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install perigee-lab-studies" in done.stderr
