# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fixtures: the command line as users run it, and a small scenario."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forks import Forks

ROOT = Path(__file__).resolve().parent.parent
UNTIL = "PERIGEE_TESTS_UNTIL"
"""Variable with the time, in seconds since 1970, after which no test begins."""

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

# Commands are started a thousand times, so imports are compiled once, whatever the settings of the
# shell.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Begin = Callable[..., "subprocess.Popen[str]"]
# Machines differ in speed and load; only a process that hangs takes this long.
PATIENCE_S = 300.0


def command(*words: object) -> list[str]:
    """The command line of this interpreter."""
    return [sys.executable, "-m", "perigee_lab", *map(str, words)]


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Waits for a condition, or with `process`, only while that process lives."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def little_room(largest: int = 2000) -> None:
    """Runs in a child before its program starts.

    Limits the size of files to `largest` bytes, which simulates a full disk.

    Compiled modules are not written, since Python treats truncated modules as complete.
    """
    import resource

    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))


def restore_signals() -> None:
    """Runs in a child: restores what tests in the background (SIGINT) or under nohup (SIGHUP) inherit as ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts `perigee …` in the test's folder; kills remaining processes when the test ends."""
    begun: list[subprocess.Popen[str]] = []

    def start(*words: object, **keys: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*words),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=keys.pop("preexec_fn", restore_signals),  # noqa: PLW1509 - it takes no lock
            **keys,
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks | None]:
    """The process from which commands are forked; None if system libraries prevent forks."""
    if sys.platform != "linux":
        yield None
        return
    forks = Forks()
    yield forks
    forks.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Within limited time, the files of tests have an order that depends on the commit.

    Every landing runs another share of the slow tests.
    """
    if os.environ.get(UNTIL):
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False).stdout
        items.sort(key=lambda item: hashlib.sha256(head + str(item.path.relative_to(ROOT)).encode()).digest())


def pytest_runtest_setup() -> None:
    """No test begins after the limit."""
    if time.time() > float(os.environ.get(UNTIL) or "inf"):
        pytest.skip("there is no time left for it")


@pytest.fixture
def cli(tmp_path: Path, forks: Forks | None) -> Cli:
    """Runs `perigee …` in an empty folder."""

    def run(*words: object, timeout: float = PATIENCE_S) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "COLUMNS": "200"}
        if forks is not None and forks.may_run(environment):
            return forks.run([str(w) for w in words], tmp_path, environment, timeout)
        return fresh(*words, folder=tmp_path, environment=environment, timeout=timeout)

    return run


def fresh(
    *words: object, folder: Path, environment: dict[str, str], timeout: float = PATIENCE_S
) -> subprocess.CompletedProcess[str]:
    """Runs `perigee …` in a fresh interpreter."""
    return subprocess.run(
        command(*words), capture_output=True, text=True, cwd=folder, timeout=timeout, check=False, env=environment
    )


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario with a negligible run time."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path
