# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Two processes at once, a folder that is gone, output that is closed: one clear line, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Begin, Cli, command, little_room
from perigee_lab.common.files import claimed, filled
from perigee_lab.extensions import trust


@pytest.mark.slow
def test_trusts_at_once_are_all_remembered(tmp_path: Path) -> None:
    names = [f"own{n}.py" for n in range(8)]
    for name in names:
        (tmp_path / name).write_text("X = 1\n", encoding="utf-8")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    begun = [subprocess.Popen(command("trust", n), cwd=tmp_path, env=environment, stdout=-3) for n in names]
    assert [p.wait(300) for p in begun] == [0] * 8
    done = subprocess.run(command("trust"), cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert sorted(Path(line).name for line in done.stdout.splitlines()) == names


@pytest.mark.slow
def test_a_trust_waits_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "own.py").write_text("X = 1\n", encoding="utf-8")
    with trust._alone():
        code = (
            "import sys, pathlib; from perigee_lab.extensions import trust; trust.remember(pathlib.Path(sys.argv[1]))"
        )
        other = subprocess.Popen([sys.executable, "-c", code, tmp_path / "own.py"])
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(2)
    assert other.wait(300) == 0
    assert trust.is_remembered(tmp_path / "own.py")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["train", "smoke", "--quick"], ["export", "mahimahi", "small.toml"]])
def test_a_folder_that_another_command_writes_is_left_alone(
    cli: Cli, small: Path, tmp_path: Path, words: list[str]
) -> None:
    out = tmp_path / "out"
    with claimed(out):
        (out / "other").write_text("x", encoding="utf-8")
        given = [*words, "--out", "out"] if words[0] == "train" else [*words, "out", "--force"]
        done = cli(*given)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert "out is being written by another perigee" in done.stderr
        assert sorted(p.name for p in out.iterdir()) == [".perigee.lock", "other"]


def test_of_two_exports_into_one_folder_one_is_kept_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def export(name: str, meanwhile: Callable[[], None]) -> None:
        with filled(out) as partial:
            partial.mkdir()
            (partial / name).touch()
            meanwhile()

    with pytest.raises(OSError, match="not empty"):
        export("a", lambda: export("b", lambda: None))
    assert [p.name for p in out.iterdir()] == ["b"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_export_left_is_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f"out.{dead.pid}-0a.partial").mkdir()
    (tmp_path / f"out.{os.getpid()}-0a.partial").mkdir()
    with filled(tmp_path / "out") as partial:
        partial.mkdir()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", f"out.{os.getpid()}-0a.partial"]


@pytest.mark.slow
@pytest.mark.parametrize("largest", [100, 3000, 60_000])
def test_a_training_on_a_full_disk_ends_in_a_line(begin: Begin, tmp_path: Path, largest: int) -> None:
    process = begin("train", "smoke", "--quick", "--out", "t", preexec_fn=lambda: little_room(largest))
    _, said = process.communicate(timeout=300)
    assert process.returncode in (1, 2)
    [line] = [text for text in said.splitlines() if text.startswith("perigee:")]
    assert "cannot write t" in line
    assert "Traceback" not in said
    assert not list((tmp_path / "t").glob("*.partial"))


GONE = [
    ["exec", "S", "--at", "s1", "--", "true"],
    ["exec", "S", "--backend", "emulation", "--at", "s1", "--", "true"],
    ["emulate", "S", "--at", "s1", "--", "true"],
    ["shell", "S", "--at", "s1"],
    ["run", "S"],
    ["sweep", "S", "--set", "run.seed=1,2"],
    ["train", "smoke"],
]


@pytest.mark.parametrize("words", GONE, ids=lambda words: words[0])
def test_a_folder_that_is_gone_ends_in_a_line(small: Path, tmp_path: Path, words: list[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys, subprocess; os.rmdir(os.getcwd()); sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    given = [str(small) if w == "S" else w for w in words]
    done = subprocess.run(
        [sys.executable, "-c", code, *command(*given)],
        cwd=gone,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("perigee: ")


@pytest.mark.slow
def test_a_sweep_with_a_closed_output_is_complete_and_silent(small: Path, tmp_path: Path) -> None:
    line = f"{' '.join(command('sweep', small, '--set', 'run.seed=1,2', '--jobs=2', '--out', 'out'))} >&-"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out/sweep.csv").exists()
