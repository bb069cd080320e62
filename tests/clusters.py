# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Dask clusters for tests: schedulers and workers as processes, with the required TLS."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SWEPT = """
[run]
duration = "{duration}"
sample = "10 ms"
[source.dumbbell]
rtt = "10 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
needs_dask = pytest.mark.skipif(not find_spec("distributed"), reason="the extra 'cluster' is not installed")


def swept(folder: Path, duration: str = "1 s") -> list[str]:
    """The arguments, without the folder, of a sweep with four cells, two schemes and two seeds."""
    (folder / "s.toml").write_text(SWEPT.format(duration=duration), encoding="utf-8")
    axes = ["--set", "source.dumbbell.rtt=10ms,20ms", "--set", "port.bottleneck.queue=1bdp,2bdp"]
    return ["sweep", "s.toml", *axes, "--cc", "cubic,newreno", "--runs", "2", "--no-plots", "--json"]


def table(out: Path) -> str:
    """The table of a sweep."""
    return (out / "sweep.csv").read_text(encoding="utf-8")


def leftovers(out: Path) -> list[Path]:
    """Files that should have been removed."""
    return [p for p in out.rglob("*") if ".partial" in p.name or p.name.startswith(".perigee-shared")]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Cluster:
    """A scheduler and its workers as processes."""

    def __init__(self, port: int | None = None, scheme: str = "tls") -> None:
        """Starts the scheduler with the certificates that the environment names."""
        self.port = port or free_port()
        self.address = f"{scheme}://127.0.0.1:{self.port}"
        place = ["--host", f"{scheme}://127.0.0.1", "--port", str(self.port), "--protocol", scheme]
        self.processes = [self._start(["scheduler", *place])]

    def _start(self, words: list[str], **more: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        null = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=null, stderr=null, start_new_session=True, **more)

    def worker(
        self, limit: Callable[[], None] | None = None, env: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Starts a worker without a nanny, so that the started process runs the tasks."""
        words = ["worker", self.address, "--no-nanny", "--nthreads", "1"]
        process = self._start(words, preexec_fn=limit, env=env)
        self.processes.append(process)
        return process

    def end(self) -> None:
        """Kills remaining processes."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def certificates(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with certificates, set in the configuration of Dask for this process."""
    from distributed.security import Security

    folder = tmp_path_factory.mktemp("certificates")
    made = Security.temporary()
    for name, text in {
        "ca.pem": made.tls_ca_file,
        "cert.pem": made.tls_client_cert,
        "key.pem": made.tls_client_key,
    }.items():
        (folder / name).write_text(text, encoding="ascii")
        (folder / name).chmod(0o600)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", str(folder / "ca.pem"))
    for role in ("CLIENT", "SCHEDULER", "WORKER"):
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{role}__CERT", str(folder / "cert.pem"))
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{role}__KEY", str(folder / "key.pem"))
    return folder


@pytest.fixture
def in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets Dask's configuration to allow connections without TLS."""
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION", "False")


@pytest.fixture
def cluster(certificates: Path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    made = Cluster()
    yield made
    made.end()
