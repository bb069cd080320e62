# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Users' tasks in examples/, at quick sizes, as scripts and as a notebook."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT


def page(name: str, folder: Path, *quick: object) -> str:
    """Runs the commands on a page of docs/ in a folder, at quick size; returns their output."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    commands = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(commands) > 1
    (folder / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    told = ""
    for command in commands:
        words = shlex.split(command) + ([str(w) for w in quick] if "examples/" in command else [])
        environment = {**os.environ, "MPLBACKEND": "Agg", "PATH": path}
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        told += done.stdout
    return told


@pytest.mark.slow
def test_a_scheme_of_ones_own_is_examined(tmp_path: Path) -> None:
    told = page("tutorials/own-scheme.md", tmp_path, "--quick")
    tmp_path = tmp_path / "runs/own-scheme"
    assert "Jain's index of flows with 20 and 80 ms" in told
    with (tmp_path / "target/sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    by = {t: [float(r["rtt_mean_ms"]) for r in rows if r["cc.TargetDelay.target_ms"] == t] for t in ("2", "20")}
    assert max(by["2"]) < min(by["20"]), "a higher target holds a longer queue"
    for picture in ("target-rtt.png", "fairness.png", "queue-loss.png"):
        assert (tmp_path / picture).stat().st_size > 1000


def run_notebook(name: str, tmp_path: Path) -> None:
    """Runs the code cells of a notebook in order, as one program."""
    cells = json.loads((ROOT / "examples" / name).read_text(encoding="utf-8"))["cells"]
    assert all(not c["outputs"] for c in cells if c["cell_type"] == "code"), "notebooks are stored without outputs"
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    (tmp_path / "notebook.py").write_text(code, encoding="utf-8")
    paths = os.pathsep.join([str(ROOT / "examples"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "notebook.py"], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_notebook_says_the_same(tmp_path: Path) -> None:
    run_notebook("own_scheme.ipynb", tmp_path)


@pytest.mark.slow
def test_the_lecture_runs_from_top_to_bottom_and_says_what_is_stored(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs/make/notebook.py", ROOT / "examples/lecture.ipynb", "--check"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "runs/lecture/queues.html").read_text(encoding="utf-8")
    assert 'type="application/json" id="data"' in page
    assert len(list((tmp_path / "runs/lecture/pair").rglob("manifest.json"))) == 2 * 4 * 3


def test_the_lecture_is_stored_with_its_outputs() -> None:
    file = ROOT / "examples/lecture.ipynb"
    assert file.stat().st_size < 1_000_000
    cells = [c for c in json.loads(file.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    assert [c["execution_count"] for c in cells] == list(range(1, len(cells) + 1))
    kinds = [kind for c in cells for o in c["outputs"] for kind in o["data"]]
    assert kinds.count("image/png") == 6
    assert kinds.count("text/html") >= 4
    texts = [line for c in cells for o in c["outputs"] for k, v in o["data"].items() if k != "image/png" for line in v]
    assert not re.search(r"(?<![<\w./])/\w+/\w+", "".join(texts)), "no path of the machine that ran it"


@pytest.mark.parametrize(
    ("kind", "stored", "now", "equal"),
    [
        ("text/plain", "1.5   Mbit/s", "1.5 Mbit/s\n", True),
        ("text/plain", "1.5 Mbit/s", "1.6 Mbit/s", False),
        ("text/html", "a<b>1</b>", "a 1", True),
        ("text/plain", "1 < 5 > 2", "1 < 99 > 2", False),
    ],
)
def test_outputs_are_compared_by_their_texts(kind: str, stored: str, now: str, *, equal: bool) -> None:
    sys.path.insert(0, str(ROOT / "docs/make"))
    try:
        import notebook
    finally:
        sys.path.pop(0)
    one, other = ([{"data": {kind: [text], "image/png": text}}] for text in (stored, now))
    assert (notebook.texts(one) == notebook.texts(other)) is equal
    printed = notebook._outputs(1, "print(6 * 7)\n6 * 8", {})
    assert notebook.texts(printed) == ["42", "48"]


@pytest.mark.slow
def test_a_terminal_is_replayed(tmp_path: Path) -> None:
    told = page("tutorials/replay.md", tmp_path, "--quick", "--cc", "cubic")
    assert "web objects of a mean" in told
    assert "first byte s" in told
    assert list((tmp_path / "runs/replay").rglob("senders*.pcapng"))


def test_a_constellation_of_ones_own_carries_a_matrix(tmp_path: Path) -> None:
    told = page("tutorials/constellation.md", tmp_path, "--terminals", 20, "--seconds", 4)
    assert "gw-" in told
