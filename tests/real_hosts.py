# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Helpers for tests of real hosts: a mark that skips without a kernel, a scenario, records."""

from __future__ import annotations

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
