# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kills workers and the scheduler of a Dask cluster during a sweep; counts lost and double runs.

    pip install 'perigee-lab[cluster]'
    python examples/cluster_kills.py --kills 100

The scheduler and the workers are processes on this machine. Each kill is a SIGKILL of a random
worker's process (its nanny starts another); every `--restart`th kill is one of the scheduler, which
is restarted at the same address, and which the workers rejoin. At the end, the table of the sweep
must be identical to that of the same sweep on this machine's cores, every run must have one record,
and no partial file may be left.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIO = """
[run]
duration = "{duration_s} s"
sample = "10 ms"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "200 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
PERIGEE = [sys.executable, "-m", "perigee_lab"]
DASK = [sys.executable, "-m", "dask"]


def free_port() -> int:
    """A free port."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def certify(folder: Path) -> None:
    """Creates a certificate for all roles, and sets it in Dask's environment variables."""
    from distributed.security import Security

    made = Security.temporary()
    places = {"CA_FILE": made.tls_ca_file}
    for role in ("CLIENT", "SCHEDULER", "WORKER"):
        places |= {f"{role}__CERT": made.tls_client_cert, f"{role}__KEY": made.tls_client_key}
    for name, text in places.items():
        file = folder / f"{name}.pem"
        file.touch(0o600)
        file.write_text(text, encoding="ascii")
        os.environ[f"DASK_DISTRIBUTED__COMM__TLS__{name}"] = str(file)


class Cluster:
    """A scheduler and workers as processes, each in its own session."""

    def __init__(self, workers: int, folder: Path) -> None:
        """Starts the processes."""
        self.port, self.folder = free_port(), folder
        self.address = f"tls://127.0.0.1:{self.port}"
        certify(folder)
        self.log = (folder / "cluster.log").open("w", encoding="utf-8")
        self.scheduler = self._start("scheduler", *self._place(), "--no-dashboard")
        self.wanted = workers
        self.workers: list[subprocess.Popen[bytes]] = []
        self.keep()

    def _place(self) -> list[str]:
        return ["--protocol", "tls", "--port", str(self.port), "--host", "tls://127.0.0.1"]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*DASK, *words], stdout=self.log, stderr=self.log, start_new_session=True)

    def keep(self) -> None:
        """Restarts workers that have exited with their nannies, like a queue of jobs."""
        self.workers = [w for w in self.workers if w.poll() is None]
        while len(self.workers) < self.wanted:
            words = (
                "--nthreads",
                "1",
                "--no-dashboard",
                "--local-directory",
                str(self.folder),
                "--death-timeout",
                "30",
            )
            self.workers.append(self._start("worker", self.address, *words))

    def processes(self) -> list[int]:
        """The processes in which tasks run: children of the nannies."""
        found = []
        for nanny in self.workers:
            for task in Path(f"/proc/{nanny.pid}/task").glob("*/children"):
                found += [int(p) for p in task.read_text(encoding="ascii").split()]
        return [p for p in found if b"resource_tracker" not in Path(f"/proc/{p}/cmdline").read_bytes()]

    def restart_scheduler(self) -> None:
        """Kills the scheduler with SIGKILL, and starts a new one at the same address."""
        os.killpg(self.scheduler.pid, signal.SIGKILL)
        self.scheduler.wait()
        time.sleep(1.0)
        self.scheduler = self._start("scheduler", *self._place(), "--no-dashboard")

    def end(self) -> None:
        """Kills all processes."""
        for process in [*self.workers, self.scheduler]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.log.close()


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--restart", type=int, default=25, help="every so many kills, the scheduler instead")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--cells", type=int, default=40)
    parser.add_argument("--duration", type=float, default=60.0, help="simulated seconds of a run")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between kills, in the mean")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="perigee-kills-"))
    (folder / "s.toml").write_text(SCENARIO.format(duration_s=asked.duration), encoding="utf-8")
    rtts = ",".join(f"{20 + k} ms" for k in range(asked.cells))
    words = ["sweep", str(folder / "s.toml"), "--set", f"source.dumbbell.rtt={rtts}", "--cc", "cubic,bbr"]
    words += ["--runs", "2", "--no-plots", "--json"]
    cluster = Cluster(asked.workers, folder)
    try:
        return _tried(asked, cluster, words, folder)
    finally:
        cluster.end()
        shutil.rmtree(folder, ignore_errors=True)


def _tried(asked: argparse.Namespace, cluster: Cluster, words: list[str], folder: Path) -> int:
    random.seed(asked.seed)
    out = folder / "cluster"
    begin_s = time.monotonic()
    sweep = [*PERIGEE, *words, "--out", str(out), "--cluster", cluster.address]
    process = subprocess.Popen(sweep, stdout=subprocess.DEVNULL, start_new_session=True)
    kills = restarts = calls = 0
    while process.poll() is None or kills < asked.kills:
        if process.poll() is not None:
            # The sweep completed before all kills were made, so it is repeated from scratch.
            if process.returncode != 0 or _wrong(folder, words, out):
                break
            shutil.rmtree(out)
            process = subprocess.Popen(sweep, stdout=subprocess.DEVNULL, start_new_session=True)
            calls += 1
        time.sleep(random.expovariate(1.0 / asked.every))
        cluster.keep()
        if kills >= asked.kills:
            continue
        if asked.restart and kills % asked.restart == asked.restart - 1:
            cluster.restart_scheduler()
            restarts += 1
        elif victims := cluster.processes():
            os.kill(random.choice(victims), signal.SIGKILL)
        else:
            continue
        kills += 1
        print(f"\r{kills} kills, {len(list(out.glob('cells/*/*/*/manifest.json')))} records", end="", flush=True)
    code = process.wait()
    wrong = _wrong(folder, words, out)
    took_s = time.monotonic() - begin_s
    print(f"\n{kills} kills of which {restarts} of the scheduler, {calls + 1} sweeps, {took_s:.0f} s; exit code {code}")
    for line in wrong:
        print(line)
    print("no run lost, none double, tables equal" if not wrong and code == 0 else "FAILED")
    return 1 if wrong or code else 0


def _wrong(folder: Path, words: list[str], out: Path) -> list[str]:
    """Differences from the same sweep on this machine's cores."""
    alone = folder / "alone"
    if not alone.exists():
        subprocess.run([*PERIGEE, *words, "--out", str(alone)], stdout=subprocess.DEVNULL, check=True)
    found = []
    records, expected = ({p.relative_to(o) for p in o.glob("cells/*/*/*/manifest.json")} for o in (out, alone))
    found += [f"lost: {p}" for p in expected - records] + [f"too many: {p}" for p in records - expected]
    found += [f"left behind: {p}" for p in out.rglob("*") if ".partial" in p.name or p.name.startswith(".perigee-sh")]
    table = out / "sweep.csv"
    if not table.exists() or table.read_bytes() != (alone / "sweep.csv").read_bytes():
        found.append("sweep.csv differs")
    return found


if __name__ == "__main__":
    sys.exit(main())
