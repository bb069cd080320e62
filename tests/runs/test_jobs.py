# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Jobs: saved, run elsewhere, or resumed after a kill, they yield the same tables."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import perigee_lab as perigee
from conftest import ROOT, SMALL, Begin, Cli, wait_for
from perigee_lab.runs import job, runner
from perigee_lab.runs.job import Job, JobError
from perigee_lab.runs.runner import Plan

LOG = ROOT / "scenarios/leo/path-log.toml"

COUNTING = """
import os, pathlib
from perigee_lab import CongestionControl

class Counting(CongestionControl):
    def on_start(self, cx, window):
        pathlib.Path(f"worker-{os.getpid()}").touch()
"""


def hashes(out: Path) -> dict[str, dict[str, str]]:
    """Hashes of all tables of all records."""
    return {
        str(m.parent.relative_to(out)): {n: t["sha256"] for n, t in json.loads(m.read_text())["tables"].items()}
        for m in out.glob("*/*/manifest.json")
    }


def complete(out: Path) -> list[Path]:
    """Manifests of records that have their final names."""
    return [p for p in out.glob("*/*/manifest.json") if p.parent.name.removeprefix("seed").isdecimal()]


def children(process: subprocess.Popen[str]) -> list[int]:
    """Workers of a command."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(n) for n in found]


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie counts as ended."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


needs_proc = pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(), reason="looks for workers in /proc"
)


@pytest.mark.slow
def test_a_saved_job_gives_the_same_tables_in_another_folder(cli: Cli, tmp_path: Path) -> None:
    short = ("--set", "run.duration=20s", "--cc", "cubic,bbr")
    # The path is relative, since a saved job must have the same meaning elsewhere.
    here = os.path.relpath(LOG, tmp_path)
    assert cli("run", here, *short, "--out", "direct", "--no-report").returncode == 0
    done = cli("run", here, *short, "--dry", "--save-job", "job.json", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"] == 2
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)
    words = [*cli_words("run-job", tmp_path / "job.json", "--out", "ran", "--json", "--no-report")]
    done = subprocess.run(words, cwd=elsewhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {r["cc"] for r in json.loads(done.stdout)["runs"]} == {"cubic", "bbr"}
    assert hashes(elsewhere / "ran") == hashes(tmp_path / "direct")
    keys = [json.loads(p.read_text())["key"] for p in (elsewhere / "ran").glob("*/*/manifest.json")]
    assert sorted(keys) == sorted(json.loads(p.read_text())["key"] for p in (tmp_path / "direct").glob("*/*/*.json"))


def cli_words(*words: object) -> list[str]:
    from conftest import command

    return command(*words)


def test_files_that_are_missing_or_changed_are_named(cli: Cli, tmp_path: Path) -> None:
    saved = cli("run", LOG, "--set", "run.duration=5s", "--dry", "--save-job", "job.json")
    assert saved.returncode == 0, saved.stderr
    data = json.loads((tmp_path / "job.json").read_text())
    needed = data["jobs"][0]["files"][0]
    for path, told in ((needed["path"], "is not the file that the job was made with"), ("/gone.log", "is missing")):
        needed.update(path=path, sha256="0" * 64)
        (tmp_path / "job.json").write_text(json.dumps(data))
        done = cli("run-job", "job.json")
        assert done.returncode == 2
        assert f"{path} {told}" in done.stderr
        assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_jobs_obey_the_rules_of_trust(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(COUNTING, encoding="utf-8")
    done = cli("run", small, "--cc", "mine.py:Counting,cubic", "--dry", "--save-job", "job.json")
    assert done.returncode == 0, done.stderr
    done = cli("run-job", "job.json", "--out", "o")
    assert done.returncode == 2
    assert "mine.py" in done.stderr
    assert not list(tmp_path.glob("worker-*"))
    done = cli("run-job", "job.json", "--out", "o", "--trust", "--no-report")
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("worker-*"))) == 1
    (tmp_path / "mine.py").write_text(COUNTING + "\n", encoding="utf-8")
    done = cli("run-job", "job.json", "--out", "p", "--trust")
    assert (done.returncode, "mine.py is not the file that the job was made with" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("jobs"),
        lambda d: d.update(job_format=9),
        lambda d: d.update(jobs=[]),
        lambda d: d["jobs"][0].pop("toml"),
        lambda d: d["jobs"][0].update(seed="1"),
        lambda d: d["jobs"][0].update(seed=-1),
        lambda d: d["jobs"][0].update(schemes=[]),
        lambda d: d["jobs"][0].update(schemes=7),
        lambda d: d["jobs"][0].update(files=[{"path": 7}]),
        lambda d: d["jobs"][0].update(classes=[]),
        lambda d: d["jobs"][0].update(toml="[run"),
        lambda d: d["jobs"].append({**d["jobs"][0], "toml": "x = 1"}),
    ],
)
def test_damaged_jobs_are_refused_in_one_line(cli: Cli, small: Path, tmp_path: Path, spoil: Any) -> None:
    job.save(Plan.of(perigee.load(small), []).jobs, tmp_path / "job.json")
    data = json.loads((tmp_path / "job.json").read_text())
    spoil(data)
    (tmp_path / "job.json").write_text(json.dumps(data))
    done = cli("run-job", "job.json")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_files_that_are_no_jobs_are_refused(tmp_path: Path) -> None:
    for data in (b"", b"\xff", b"[]", b"7", b'{"job_format": 1', b"[" * 100_000):
        (tmp_path / "j").write_bytes(data)
        with pytest.raises(JobError, match="/j"):
            job.read(tmp_path / "j")
    with pytest.raises(JobError, match="cannot be read"):
        job.read(tmp_path / "gone")


def test_a_job_is_read_as_it_was_written(small: Path, tmp_path: Path) -> None:
    jobs = Plan.of(perigee.load(small), ["cubic"], seeds=[3, 4]).jobs
    job.save(jobs, tmp_path / "j")
    assert job.read(tmp_path / "j") == jobs


def test_what_changes_a_result_changes_its_key(small: Path) -> None:
    def made(*cc: str, seed: int = 1, **keys: object) -> Job:
        return Plan.of(perigee.load(small, None, **keys), list(cc), seeds=[seed]).jobs[0]

    first = made("cubic", "bbr")
    assert first.key("cubic") == made("cubic").key("cubic"), "other schemes beside it change nothing"
    others = [first.key("bbr"), made("cubic", seed=2).key("cubic"), made("cubic", run__duration="4 s").key("cubic")]
    assert len({first.key("cubic"), *others}) == 4
    assert first.network_key() == made("newreno").network_key()
    assert first.network_key() != made("cubic", seed=2).network_key()


@pytest.mark.slow
@pytest.mark.parametrize("out", [("--out", "out"), ()])
def test_a_killed_sweep_goes_on_where_it_was(begin: Begin, cli: Cli, small: Path, tmp_path: Path, out: Any) -> None:
    words = ("run", small, *out, "--runs", 12, "--set", "run.duration=60 s", "--no-report")
    folder = tmp_path / (out[1] if out else "runs/small")
    process = begin(*words)
    wait_for(lambda: len(complete(folder)) >= 3, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.5)
    there = {p: p.stat().st_mtime_ns for p in complete(folder)}
    assert 3 <= len(there) < 24
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert f"resuming: {len(there)} of 24 runs already complete in" in done.stderr
    assert {p: p.stat().st_mtime_ns for p in there} == there, "what was complete was not run again"
    assert cli(*words[:2], "--out", "whole", *words[-5:]).returncode == 0
    assert hashes(folder) == hashes(tmp_path / "whole")
    assert len(hashes(folder)) == 24
    assert not list(folder.rglob("*.partial"))


@pytest.mark.slow
def test_what_another_process_is_writing_is_not_taken_over(begin: Begin, cli: Cli, small: Path, tmp_path: Path) -> None:
    long = ("run", small, "--runs", 500, "--set", "run.duration=60 s", "--no-report")
    process = begin(*long)
    wait_for(lambda: len(complete(tmp_path / "runs/small")) >= 1, process)
    other = begin(*long)
    wait_for((tmp_path / "runs/small-2").exists, other)
    assert process.poll() is None


@pytest.mark.slow
def test_another_scenario_is_not_mixed_in(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--out", "out", "--cc", "cubic", "--no-report").returncode == 0
    assert cli("run", small, "--out", "out", "--cc", "newreno", "--no-report").returncode == 0
    assert (tmp_path / "out/summary.csv").read_text().count("\n") == 3, "the same scenario, another scheme"
    done = cli("run", small, "--out", "out", "--cc", "bbr", "--set", "run.duration=4s")
    assert done.returncode == 2
    assert "is of another scenario; earlier results are kept unless you say --force" in done.stderr


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_worker_survives_its_starter(begin: Begin, small: Path, tmp_path: Path, sign: int) -> None:
    loops = COUNTING + "\n    def on_ack(self, cx, window, ack):\n        while True:\n            pass\n"
    (tmp_path / "mine.py").write_text(loops, encoding="utf-8")
    process = begin("run", small, "--cc", "mine.py:Counting", "--runs", 2, "--out", "out")
    wait_for(lambda: len(list(tmp_path.glob("worker-*"))) == 2, process)
    workers = children(process)
    assert len(workers) == 2
    process.send_signal(sign)
    process.communicate(timeout=60)
    wait_for(lambda: all(gone(pid) for pid in workers))


@pytest.mark.slow
@needs_proc
def test_a_worker_that_is_killed_is_named_and_the_others_go_on(begin: Begin, small: Path, tmp_path: Path) -> None:
    process = begin("run", small, "--out", "out", "--runs", 2, "--set", "run.duration=2000s", "--jobs", 2)
    wait_for(lambda: len(children(process)) == 2, process)
    time.sleep(1)
    os.kill(children(process)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "the worker that ran" in errors
    assert "signal 9" in errors
    assert "Traceback" not in errors


def test_classes_and_functions_in_memory_work_as_they_always_did() -> None:
    seen: list[int] = []

    class Mine(perigee.CongestionControl):
        """Changes the state of its process."""

        def on_start(self, cx: Any, window: Any) -> None:
            seen.append(os.getpid())

    results = perigee.loads(SMALL).run_all([Mine, "cubic"], seeds=[1, 2])
    assert [r.cc for r in results] == ["python:Mine", "cubic"] * 2
    assert seen == [os.getpid()] * 2


def test_workers_and_this_process_give_the_same(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = perigee.load(small)
    here = scenario.run_all(["cubic", "bbr"], seeds=[1, 2])
    monkeypatch.setattr(runner, "SHORT_S", 0.0)
    heard: list[float] = []
    there = scenario.run_all(["cubic", "bbr"], seeds=[1, 2], jobs=2, progress=heard.append)
    assert [r.folder for r in there] == [None] * 4
    assert [r.hashes() for r in here] == [r.hashes() for r in there]
    assert [r.manifest.key for r in here] == [r.manifest.key for r in there]
    assert heard[-1] == 1.0
