# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fixtures: the command line as a user has it, and a small scenario."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

SMALL = """
title = "small"
[run]
duration = "3 s"
cc = ["cubic", "newreno"]
[source.dumbbell]
rtt = "30 ms"
loss = 0.001
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def command(*words: object) -> list[str]:
    """The command line of this interpreter."""
    return [sys.executable, "-m", "perigee.cli", *map(str, words)]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs `perigee …` in an empty folder."""

    def run(*words: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(
            command(*words),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=timeout,
            check=False,
            env=environment,
        )

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario that runs in no time."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path
