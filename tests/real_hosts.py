# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Helpers for tests of real hosts: a mark that skips without a kernel, a scenario, records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perigee_lab.hosts import kernels
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import Run, open_record

SCENARIO = """\
[run]
duration = "4 s"
warmup = "1 s"
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
"""

TRANSFER = """
[run]
duration = "30 s"
cc = ["cubic"]
[source.dumbbell]
rtt = "40 ms"
rtt_at = "bottleneck"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
"""Path of 100 kB for programs in real time."""


def transferred(folder: Path, program: Path, scheme: str, seconds: int) -> str:
    """What the client of an example's program prints after a transfer over TRANSFER, in real time."""
    (folder / "path.toml").write_text(TRANSFER, encoding="utf-8")
    client = f"sleep 0.5; exec {program} client d1 5000 {seconds} {scheme}"
    words = ["--at", "d1", "--", str(program), "server", "5000", "--at", "s1", "--", "sh", "-c", client]
    done = subprocess.run(
        [sys.executable, "-m", "perigee_lab", "exec", "path.toml", "--backend", "emulation", "--json", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed: str = json.loads(done.stdout)["programs"][-1]["output"]
    return printed


def has_kernel() -> bool:
    try:
        kernels.find(None)
    except kernels.KernelError:
        return False
    return True


real = pytest.mark.skipif(not has_kernel(), reason="no kernel is built: make kernel")


def totals(run: Run, flow: int = 0) -> dict[str, Any]:
    row: dict[str, Any] = run.table("flow_totals").slice(flow, 1).to_pylist()[0]
    return row


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "real.toml"
    path.write_text(SCENARIO)
    return path


def record(out: Path, cc: str) -> Run:
    return open_record(run_folder(out, cc, 1))
