# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Real Linux hosts, end to end.

Tests that boot a kernel are skipped if none is built (`make kernel`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from conftest import PATIENCE_S, Begin, Cli, wait_for
from perigee_lab.hosts import kernels
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import open_record
from real_hosts import SCENARIO, real, record, scenario, totals

__all__ = ["scenario"]


@real
def test_linux_and_the_simulator_agree(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    both = ("run", scenario, "--cc", "cubic,newreno,bbr", "--no-report", "--out")
    done = [cli(*both, tmp_path / "linux", "--backend", "linux"), cli(*both, tmp_path / "simulated")]
    assert [d.returncode for d in done] == [0, 0], done
    for cc in ("cubic", "newreno", "bbr"):
        real_run, simulated = record(tmp_path / "linux", cc), record(tmp_path / "simulated", cc)
        assert real_run.manifest.backend == "linux"
        assert real_run.manifest.conserved
        mine, theirs = totals(real_run), totals(simulated)
        assert mine["window_bytes"] == pytest.approx(theirs["window_bytes"], rel=0.005)
        assert mine["retransmits"] == pytest.approx(theirs["retransmits"], rel=0.1, abs=3)
        assert mine["rtt_sum_ns"] / mine["rtt_samples"] == pytest.approx(
            theirs["rtt_sum_ns"] / theirs["rtt_samples"], rel=0.01
        )


@real
def test_starts_and_samples_are_at_the_same_instants(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO.replace('"1 s"', '"1 s"\nstart_jitter = "900 ms"'))
    both = ("run", scenario, "--cc", "newreno", "--no-report", "--out")
    cli(*both, tmp_path / "linux", "--backend", "linux")
    cli(*both, tmp_path / "simulated")
    real_run, simulated = record(tmp_path / "linux", "newreno"), record(tmp_path / "simulated", "newreno")
    started = [totals(r)["started_ns"] for r in (real_run, simulated)]
    assert started[1] > 0
    assert started[0] == pytest.approx(started[1], abs=10_000)
    # In slow start, the window doubles with each RTT, so that a late sample would differ much.
    beginning = [
        {row["t_ns"]: row["delivered_bytes"] for row in r.table("flows").to_pylist() if row["delivered_bytes"] > 0}
        for r in (real_run, simulated)
    ]
    first = min(beginning[1])
    for t_ns in (first, first + 100_000_000):
        assert beginning[0][t_ns] == pytest.approx(beginning[1][t_ns], abs=5 * 1448), t_ns


@pytest.mark.slow
@real
def test_a_run_can_be_repeated_to_the_bit(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    hashes = []
    for name in ("one", "two"):
        cli("run", scenario, "--cc", "bbr", "--backend", "linux", "--out", tmp_path / name, "--no-report")
        run = record(tmp_path / name, "bbr")
        hashes.append({table: known.sha256 for table, known in run.manifest.tables.items()})
    assert hashes[0] == hashes[1]
    cli("verify", tmp_path / "one")


@real
def test_real_flows_share_ports_with_simulated_ones(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO + '[[flow]]\napp = "ping"\nname = "probe"\n')
    cli("run", scenario, "--cc", "cubic", "--backend", "linux", "--out", tmp_path / "out", "--no-report")
    run = record(tmp_path / "out", "cubic")
    probe = totals(run, 1)
    assert run.manifest.conserved
    # The RTT of the ping includes the queue of the real flow: at most twice 20 ms.
    assert probe["rtt_samples"] > 20
    assert 20e6 < probe["rtt_sum_ns"] / probe["rtt_samples"] < 41e6


@real
@pytest.mark.parametrize(
    ("cc", "extra", "words"),
    [
        ("copa", "", ["copa", "cubic", "kernel build --module"]),
        ("cubic", "[tcp]\nreduction = 'ns3'\n", ["tcp.reduction", "no equivalent"]),
        ("cubic", "[tcp]\nquickack = 100\n", ["tcp.quickack", "no equivalent"]),
        ("cubic", "[cc.cubic]\nbeta = 0.5\n", ["cubic", "beta"]),
    ],
)
def test_what_the_kernel_has_not_is_refused_by_name(
    cli: Cli, scenario: Path, cc: str, extra: str, words: list[str]
) -> None:
    scenario.write_text(SCENARIO + extra)
    done = cli("run", scenario, "--cc", cc, "--backend", "linux")
    assert done.returncode == 2
    assert all(word in done.stderr for word in words), done.stderr


def test_without_a_kernel_the_command_that_makes_one_is_named(
    cli: Cli, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = cli("run", scenario, "--backend", "linux")
    assert done.returncode == 2
    assert "perigee kernel build" in done.stderr


def test_a_kernel_without_real_hosts_is_an_error(cli: Cli, scenario: Path) -> None:
    done = cli("run", scenario, "--kernel", "default")
    assert done.returncode == 2
    assert "--backend linux" in done.stderr
    done = cli("run", scenario, "--hosts", "windows")
    assert done.returncode == 2
    assert "linux" in done.stderr


@real
def test_traces_of_real_hosts_are_refused(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    asked = ("run", scenario, "--cc", "cubic", "--backend", "linux", "--no-report", "--out", tmp_path / "out")
    assert cli(*asked).returncode == 0
    done = cli("trace", run_folder(tmp_path / "out", "cubic", 1))
    assert (done.returncode, "real hosts" in done.stderr) == (2, True), done.stderr


@real
def test_a_saved_job_names_its_kernel(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    cli("run", scenario, "--cc", "cubic", "--backend", "linux", "--dry", "--save-job", file)
    assert json.loads(file.read_text())["jobs"][0]["kernel"] == kernels.find(None).manifest.key
    cli("run-job", file, "--out", tmp_path / "out", "--no-report")
    assert record(tmp_path / "out", "cubic").manifest.backend == "linux"


def guests(folder: Path) -> dict[int, str]:
    """Processes of guests with files in a folder, and the subfolders of these files.

    A subfolder that was removed has the suffix "(deleted)".
    """
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            place = (process / "cwd").readlink()
            if folder in place.parents and b"time-travel=ext" in (process / "cmdline").read_bytes():
                found[int(process.name)] = place.name
    return found


def parent(process: int) -> int:
    return int((Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[1])


def of_the_run(folder: Path, seen: list[str]) -> int:
    """The process of a run's booted kernel; zero before it has booted.

    It is the second guest; the first only sends pings.

    `seen` collects the names of guests' folders in order of appearance.
    """
    now = guests(folder)
    seen.extend({place.removesuffix(" (deleted)") for place in now.values()} - set(seen))
    booted = [process for process, place in now.items() if place in {f"{name} (deleted)" for name in seen[1:]}]
    return next((process for process in booted if parent(process) not in booted), 0)


@real
@pytest.mark.parametrize("victim", ["guest", "perigee"])
def test_nothing_outlives_a_kill(begin: Begin, scenario: Path, tmp_path: Path, victim: str) -> None:
    scenario.write_text(SCENARIO.replace("4 s", "100000 s"))
    # A short path, since the paths of the guests' sockets may have at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="perigee-kill-"))
    environment = {**os.environ, "TMPDIR": str(folder)}
    words = ("run", scenario, "--backend", "linux", "--cc", "cubic", "--no-report")
    process = begin(*words, "--out", tmp_path / "out", env=environment)
    seen: list[str] = []
    wait_for(lambda: of_the_run(folder, seen) != 0, process)
    os.kill(of_the_run(folder, seen) if victim == "guest" else process.pid, signal.SIGKILL)
    shown, errors = process.communicate(timeout=PATIENCE_S)
    wait_for(lambda: not guests(folder))
    assert list(folder.glob("perigee-*")) == []
    shutil.rmtree(folder)
    if victim == "guest":
        assert process.returncode == 3
        assert "the guest has ended by signal 9" in errors
        # Partial results are displayed and kept, and are marked as such; the next call repeats the
        # run.
        assert "cubic (incomplete)" in shown
        assert not (tmp_path / "out/summary.csv").exists()
        run = open_record(run_folder(tmp_path / "out", "cubic", 1))
        assert run.manifest.stopped
        assert "signal 9" in run.manifest["broken"]
        assert any("was stopped at" in w and "signal 9" in w for w in run.manifest.warnings)
