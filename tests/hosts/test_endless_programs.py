# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs without an end: output beyond the limit, and computation without a pause."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE_S, Begin, Cli
from perigee_lab.common.exit_codes import INTERRUPTED, STOPPED
from perigee_lab.hosts import real_time
from perigee_lab.runs.stories import Program, Stories
from real_hosts import SCENARIO, real

MISSING = real_time.why_not()
in_real_time = pytest.mark.skipif(MISSING is not None, reason=f"no hosts in real time: {MISSING}")
BACKENDS = [pytest.param("linux", marks=real), pytest.param("emulation", marks=in_real_time)]
LIMIT = ("--set", "hosts.output_limit=100 kB")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "real.toml"
    path.write_text(SCENARIO)
    return path


def program_of(out: Path) -> tuple[dict[str, Any], bytes]:
    """The first program of a record, and its output."""
    [folder] = out.rglob("programs/programs.json")
    return json.loads(folder.read_text())[0], (folder.parent / "0-s1.output").read_bytes()


@pytest.mark.parametrize("backend", BACKENDS)
def test_output_that_ends_just_beyond_the_limit_is_counted(
    backend: str, cli: Cli, scenario: Path, tmp_path: Path
) -> None:
    limit = ("--set", "hosts.output_limit=3 B")
    done = cli(
        "exec", scenario, *limit, "--backend", backend, "--out", tmp_path / "o", "--at", "s1", "--", "echo", "abcde"
    )
    assert (done.returncode, done.stdout) == (0, "abc"), done.stderr
    assert program_of(tmp_path / "o")[0]["discarded_bytes"] == {"output": 3}
    assert "the first 3 bytes are kept, 3 more were discarded" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_that_writes_without_end_runs_to_the_end_of_the_scenario(
    backend: str, cli: Cli, scenario: Path, tmp_path: Path
) -> None:
    done = cli(
        "exec", scenario, *LIMIT, "--backend", backend, "--out", tmp_path / "o", "--no-report", "--at", "s1", "yes"
    )
    assert done.returncode == STOPPED, done.stderr
    program, output = program_of(tmp_path / "o")
    assert output == b"y\n" * 50_000
    assert done.stdout.encode() == output
    # 64 KiB every 10 ms for 4 s; in real time, less on a busy machine.
    discarded = program["discarded_bytes"]
    assert set(discarded) == {"output"}
    most = 65_536 * 400
    assert (0.98 if backend == "linux" else 0.01) * most < discarded["output"] <= 1.01 * most
    assert f"the first 100000 bytes are kept, {discarded['output']} more were discarded" in done.stderr
    [manifest] = (tmp_path / "o").rglob("manifest.json")
    assert any("hosts.output_limit" in w for w in json.loads(manifest.read_text())["warnings"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_output_beyond_the_limit_is_counted_and_the_program_goes_through(
    backend: str, cli: Cli, scenario: Path, tmp_path: Path
) -> None:
    line = "yes | head -c 300000; yes | head -c 99999 >&2; exit 3"
    done = cli(
        "exec", scenario, *LIMIT, "--backend", backend, "--out", tmp_path / "o", "--no-report", "--at", "s1", line
    )
    assert done.returncode == 3, done.stderr
    program, output = program_of(tmp_path / "o")
    assert (program["exit_code"], len(output)) == (3, 100_000)
    assert program["discarded_bytes"] == {"output": 200_000}


@real
def test_output_below_the_limit_is_kept_in_full(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    line = "yes | head -c 100000"
    done = cli("exec", scenario, *LIMIT, "--out", tmp_path / "o", "--no-report", "--at", "s1", line)
    assert done.returncode == 0, done.stderr
    program, output = program_of(tmp_path / "o")
    assert len(output) == 100_000
    assert "discarded_bytes" not in program


@pytest.mark.slow
@real
def test_a_program_that_computes_without_a_pause_is_reported_within_seconds(begin: Begin, scenario: Path) -> None:
    process = begin("exec", scenario, "--out", "out", "--at", "s1", "--", "python3", "-c", "while True: pass")
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(2)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == INTERRUPTED
    assert re.match(r"perigee: [56] s of computation in a guest have advanced its time by", lines[0])
    assert "--backend emulation" in lines[0]
    assert lines[1].startswith("perigee: not ended: python3 -c")


def test_reports_of_the_core_about_output_and_busy_guests(capsys: pytest.CaptureFixture[str]) -> None:
    stories = Stories([Program("a", ("x",))])
    stories("output", 5, 0, b"abc", 0)
    stories("discarded output", 6, 0, b"", 10)
    stories("discarded output", 7, 0, b"", 1 << 40)
    stories("busy", 8, 0, b"5 s\nnot ended: x at a", 0)
    stories.check()
    [story] = stories.all
    assert story.as_json()["discarded_bytes"] == {"output": 1 << 40}
    assert story.excess == [
        f"standard output: the first 3 bytes are kept, {1 << 40} more were discarded (hosts.output_limit)"
    ]
    assert capsys.readouterr().err == "perigee: 5 s\nperigee: not ended: x at a\n"
