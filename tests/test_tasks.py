# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The tasks of users in examples/, at quick sizes, as scripts and as a notebook."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT


def script(name: str, *words: object) -> str:
    """What an example prints."""
    command = [sys.executable, ROOT / "examples" / name, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_scheme_of_ones_own_is_examined(tmp_path: Path) -> None:
    told = script("task_own_scheme.py", "--out", tmp_path / "out", "--quick")
    assert "Jain's index of flows with 20 and 80 ms" in told
    with (tmp_path / "out/target/sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    by = {t: [float(r["rtt_mean_ms"]) for r in rows if r["cc.TargetDelay.target_ms"] == t] for t in ("2", "20")}
    assert max(by["2"]) < min(by["20"]), "a higher target holds a longer queue"
    for picture in ("target-rtt.png", "fairness.png", "queue-loss.png"):
        assert (tmp_path / "out" / picture).stat().st_size > 1000


def test_the_notebook_says_the_same(tmp_path: Path) -> None:
    cells = json.loads((ROOT / "examples/own_scheme.ipynb").read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    (tmp_path / "notebook.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT / "examples")}
    done = subprocess.run(
        [sys.executable, "notebook.py"], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_a_terminal_is_replayed(tmp_path: Path) -> None:
    told = script("task_replay.py", "--out", tmp_path / "out", "--quick", "--cc", "cubic")
    assert "web objects of a mean" in told
    assert list((tmp_path / "out").rglob("senders*.pcapng"))


def test_a_constellation_of_ones_own_carries_a_matrix(tmp_path: Path) -> None:
    told = script("task_constellation.py", "--out", tmp_path / "out", "--terminals", 20, "--seconds", 4)
    assert "gw-" in told
