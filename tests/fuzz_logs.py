# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fuzzer of the readers of `perigee import log`, with damaged logs (part of `make fuzz`).

python tests/fuzz_logs.py 1000000 [SEED]      # this many inputs for each kind of log

Every input must yield a log or a LogError, never another exception, within two seconds. Failing
inputs are written to crates/perigee-fuzz/found, and the exit code is then 1.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

# This file runs as a script, with the samples of the tests.
sys.path.insert(0, str(Path(__file__).parent / "measure"))

from test_logs import DISH, IPERF3, PING, SS, WINDOWS, damaged, qlog_events

from perigee_lab.measure.logs.model import Asked, LogError
from perigee_lab.measure.logs.reader import read_log

SLOW_S = 2.0
FOUND = Path(__file__).parent.parent / "crates/perigee-fuzz/found"
STAMPS = {"timestamps": {"client": {"send": {"wall": 1_700_000_000_000_000_000}}}, "lost": "false", "seqno": 1}
IRTT = {
    "config": {"remote_address": "a:1"},
    "round_trips": [STAMPS | {"delay": {"rtt": 30_000_000, "send": 14_000_000}}],
}
HUB = {
    "count": 1,
    "host": "a",
    "Loss%": 0.0,
    "Snt": 10,
    "Last": 1.0,
    "Avg": 1.0,
    "Best": 0.9,
    "Wrst": 2.0,
    "StDev": 0.1,
}
MTR = {"report": {"mtr": {"src": "a", "dst": "b", "tests": 10}, "hubs": [HUB]}}
SPEED = {
    "timestamp": "2026-11-01T00:00:00Z",
    "ping": {"latency": 31.5},
    "download": {"bandwidth": 10**7, "bytes": 10**8},
}
QLOG = {
    "qlog_version": "0.3",
    "traces": [
        {"vantage_point": {"type": "server"}, "common_fields": {"reference_time": 1.7e12}, "events": qlog_events()}
    ],
}
SEEDS = {
    "ping": [PING, WINDOWS],
    "ss": [SS],
    "table": [DISH],
    "iperf3": [json.dumps(IPERF3)],
    "irtt": [json.dumps(IRTT)],
    "mtr": [json.dumps(MTR)],
    "speedtest": [json.dumps(SPEED)],
    "qlog": [json.dumps(QLOG)],
}


def _read_sample(path: Path) -> None:
    """Reads an undamaged sample.

    An interval is given only for logs without times, since others reject it.
    """
    try:
        read_log(path, Asked())
    except LogError:
        read_log(path, Asked(interval_ns=10**9))


def main(count: int, seed: int) -> int:
    """Runs all readers. Returns the exit code."""
    memory = Path("/dev/shm")
    bad = 0
    print(f"{'log':<12}{'inputs':>12}{'accepted':>12}{'found':>12}{'inputs/s':>12}")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        for name, seeds in SEEDS.items():
            draw, path, accepted, found = random.Random(seed), Path(folder) / name, 0, 0
            for text in seeds:
                path.write_text(text, encoding="utf-8")
                _read_sample(path)
            begin = time.perf_counter()
            for n in range(count):
                path.write_text(damaged(draw, draw.choice(seeds)), encoding="utf-8")
                since = time.perf_counter()
                why = ""
                try:
                    read_log(path, Asked(interval_ns=draw.choice((None, 10**9))))
                    accepted += 1
                except LogError:
                    pass
                except Exception as error:
                    why = f"{type(error).__name__}: {error}"
                if time.perf_counter() - since > SLOW_S:
                    why = why or "took too long"
                if why:
                    found += 1
                    FOUND.mkdir(parents=True, exist_ok=True)
                    (FOUND / f"{name}-{seed}-{n}").write_bytes(path.read_bytes())
                    print(f"{name}: {why}: {FOUND / f'{name}-{seed}-{n}'}")
            rate = count / max(1e-9, time.perf_counter() - begin)
            print(f"{name:<12}{count:>12}{accepted:>12}{found:>12}{rate:>12.0f}", flush=True)
            bad += found
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main(int((sys.argv[1:] or ["10000"])[0]), int((sys.argv[2:] or ["1"])[0])))
