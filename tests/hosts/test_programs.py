# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`[[program]]`: programs of a scenario on real hosts. Skipped if no kernel is built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.common.exit_codes import OUTSIDE_TOLERANCE
from perigee_lab.results import manifest
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import open_record
from perigee_lab.runs.stories import Program, Stories, named
from perigee_lab.runs.verify import verify_command
from perigee_lab.runs.work import Guests
from real_hosts import SCENARIO, real, totals

PROGRAMS = """
[[flow]]
app = "programs"
[[program]]
node = "d1"
command = ["python3", "-m", "http.server", "80"]
[[program]]
node = "s1"
start = "100 ms"
command = ["python3", "fetch.py"]
stdin = "urls"
environment = "ANSWER=42"
wait = true
[[program]]
node = "s1"
command = "cat; cat /proc/sys/net/ipv4/tcp_congestion_control; exit 3"
input = "spoken\\n"
"""
FETCH = """
import os, sys, urllib.request as u
for url in sys.stdin.read().split():
    print(os.environ["ANSWER"], len(u.urlopen(url).read()))
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "fetch.py").write_text(FETCH)
    (tmp_path / "urls").write_text("http://d1/fetch.py\nhttp://d1/urls\n")
    path = tmp_path / "programs.toml"
    path.write_text(SCENARIO + 'cc = "newreno"\n' + PROGRAMS)
    return path


@pytest.mark.slow
@real
def test_programs_of_a_scenario_run_beside_its_flows(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    done = cli(
        "run", scenario, "--backend", "linux", "--trust", "--cc", "bbr,cubic", "--no-report", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    folder = run_folder(tmp_path / "out", "bbr", 1)
    run = open_record(folder)
    told = json.loads((folder / "programs/programs.json").read_text())
    assert [p["exit_code"] for p in told] == [None, 0, 3]
    assert told == run.manifest["programs"]
    assert told[1]["begun_ns"] == pytest.approx(100_000_000, abs=10_000)
    assert (
        folder / "programs/1-s1.output"
    ).read_text() == f"42 {len(FETCH)}\n42 {len('http://d1/fetch.py http://d1/urls ')}\n"
    # The programs' connections use the compared scheme.
    assert (folder / "programs/2-s1.output").read_text() == "spoken\nbbr\n"
    # The run ends with the program for which it waits, long before its duration; the flow is still
    # on real hosts.
    assert run.manifest.simulated_ns == pytest.approx(told[1]["ended_ns"], abs=1_000)
    assert run.manifest.simulated_ns < 1_000_000_000
    assert (run.manifest.conserved, totals(run)["cc"], totals(run)["data_sent"] > 100) == (True, "newreno", True)
    assert "ended with exit code 3" in " ".join(run.manifest.warnings)
    assert cli("verify", tmp_path / "out", "--trust").returncode == 0
    (tmp_path / "fetch.py").write_text(FETCH.replace("print(", "print('other',"))
    done = cli("verify", folder, "--trust")
    assert (done.returncode, "python3 fetch.py at s1: output differs" in done.stdout) == (OUTSIDE_TOLERANCE, True), (
        done.stdout
    )


@real
def test_programs_that_a_file_names_need_trust(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    for words in (
        ("run", scenario, "--backend", "linux", "--cc", "bbr", "--out", tmp_path / "out"),
        ("exec", scenario, "--out", tmp_path / "out", "--at", "s1", "--", "true"),
    ):
        done = cli(*words)
        assert (done.returncode, "--trust" in done.stderr) == (2, True), done.stderr
        assert "python3 -m http.server 80" in done.stderr
    assert not list(tmp_path.glob("out/*"))


@real
def test_a_program_that_never_ends_is_told(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO + 'cc = "newreno"\n' + PROGRAMS.replace('python3", "fetch.py', 'sleep", "1000'))
    done = cli(
        "run", scenario, "--backend", "linux", "--trust", "--cc", "bbr", "--no-report", "--out", tmp_path / "out"
    )
    assert (done.returncode, "sleep 1000 at s1: was still running at the end" in done.stdout) == (0, True), done


def test_a_simulated_run_says_where_programs_run(cli: Cli, scenario: Path) -> None:
    done = cli("run", scenario, "--cc", "bbr")
    assert done.returncode != 0
    assert "--backend linux" in done.stderr


def test_a_node_without_a_flow_for_programs_is_named_with_its_line(cli: Cli, scenario: Path) -> None:
    scenario.write_text(scenario.read_text().replace('node = "d1"', 'node = "d2"'))
    done = cli("check", scenario, "--cc", "bbr")
    line = scenario.read_text().splitlines().index('node = "d2"') + 1
    assert done.returncode == 2
    assert f"programs.toml:{line}" in done.stderr
    assert "did you mean" in done.stderr


def test_stories_keep_what_programs_write() -> None:
    heard: list[tuple[int, str, bytes]] = []
    stories = Stories([Program("a b", ("true",))], lambda *what: heard.append(what))
    stories("begun", 5, 0, b"", 0)
    stories("output", 6, 0, b"x", 0)
    stories("output", 7, 0, b"y", 0)
    assert stories.all[0].ending == "was still running at the end"
    stories("killed", 1_000_000_005, 0, b"", 9)
    assert heard == [(0, "output", b"x"), (0, "output", b"y")]
    assert stories.files()["programs/0-a-b.output"] == b"xy"
    assert stories.all[0].ending == "killed by signal 9 (SIGKILL) after 1 s"
    assert named(99) == "99"


def test_programs_that_exit_on_sigterm_were_running_at_the_end() -> None:
    stories = Stories([Program("a", (name,)) for name in ("done", "polite", "deaf", "late", "plain")])
    for number in (0, 1, 2, 4):
        stories("begun", 5, number, b"", 0)
    stories("exited", 6, 0, b"", 0)
    stories("ending", 10, 0, b"", 0)
    stories("killed", 11, 4, b"", 15)
    stories("output", 11, 1, b"log", 0)
    stories("exited", 250_000_010, 1, b"", 3)
    assert [s.ending for s in stories.all] == [
        "exit code 0 after 1e-09 s",
        "was still running at the end; exit code 3, 250 ms after SIGTERM",
        "was still running at the end, did not exit on SIGTERM, and was killed",
        "was not started before the end",
        "was still running at the end, and ended on SIGTERM",
    ]
    assert [s.exit_code for s in stories.all] == [0, 124, 124, 124, 124]
    polite = stories.as_json()[1]
    times = [polite[key] for key in ("exit_code", "terminated_ns", "exited_ns", "exited_code")]
    assert (times, stories.all[1].written["output"]) == ([None, 10, 250_000_010, 3], b"log")


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()])
def test_the_first_exception_of_the_callback_ends_the_run(error: BaseException) -> None:
    forwarded: list[bytes] = []

    def fail(_program: int, _kind: str, data: bytes) -> None:
        forwarded.append(data)
        raise error

    stories = Stories([Program("a", ("true",))], fail)
    go_on = Guests(stories).checked(None)
    stories("begun", 5, 0, b"", 0)
    assert go_on(5)
    stories("output", 6, 0, b"x", 0)
    stories("output", 7, 0, b"y", 0)
    with pytest.raises(type(error)) as raised:
        go_on(7)
    assert (raised.value, forwarded, bytes(stories.all[0].written["output"])) == (error, [b"x"], b"xy")


@pytest.fixture
def recorded(small: Path, tmp_path: Path) -> Path:
    """A simulated record to which the output of two programs is attached."""
    stories = Stories([Program("d1", ("a",)), Program("s1", ("b",))])
    stories("begun", 5, 1, b"", 0)
    stories("output", 6, 1, b"x", 0)
    run = perigee.run(small, cc="cubic")
    run.manifest = manifest.parsed({**run.manifest.data, "programs": stories.as_json()}, tmp_path)
    run.attached = stories.files()
    return run.save(run_folder(tmp_path / "out", "cubic", 1)).folder or tmp_path


@pytest.mark.parametrize("name", ["1-s1.output", "0-d1.errors", "programs.json"])
@pytest.mark.parametrize(("text", "said"), [("[]", "is not what the manifest says"), (None, "is missing")])
def test_verify_compares_output_with_the_manifest(
    name: str, text: str | None, said: str, recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify_command(recorded, rerun=False, as_json=False) == 0, capsys.readouterr()
    if text is None:
        (recorded / "programs" / name).unlink()
    else:
        (recorded / "programs" / name).write_text(text)
    assert verify_command(recorded, rerun=False, as_json=False) == OUTSIDE_TOLERANCE
    assert f"\ncubic seed 1: programs/{name} {said}" in capsys.readouterr().out


@pytest.mark.parametrize("programs", [7, [7], [{}], [{"node": ["a"]}]])
def test_verify_survives_any_programs_of_a_manifest(programs: object, recorded: Path) -> None:
    path = recorded / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "programs": programs}))
    assert verify_command(recorded, rerun=False, as_json=False) == OUTSIDE_TOLERANCE
