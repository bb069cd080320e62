# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Time of a paper-sized sweep on 2 to 1,024 cores, computed from measured CPU times.

    pip install 'perigee-lab[cluster]'
    python bench/scale.py [--runs 2000] [--workers 1,2,4] [--seeds 2] [--json]

The sweep has 600 runs of 300 s of OrbCC's Fig. 1 (`orbcc/responsiveness`), half of them with loss.
Measured are

* the CPU time of a run of each scheme, with and without loss, in this process;
* the overhead of a run: many of 100 ms, in this machine's worker processes, and over a cluster of Dask on this machine
  with 1, 2, 4 workers: CPU time of the workers, and of the caller with its scheduler.

The time on n cores is computed from packets and overheads over the cores, but is at least that of
the longest run and of the caller's sequential work. CPU times are used, so that other load has
little effect; the start of workers and the other work of a scheduler with a thousand workers are
not included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from perigee_lab.runs.scenario import load, loads
from perigee_studies.model import SCENARIOS

RUNS = 600
CORES = (2, 16, 64, 1024)
SCHEMES = ("cubic", "bbr", "bbr3", "satcp", "leocc", "orbcc")
LOSS = {"schedule.loss": True, "source.dumbbell.rtt_at": "bottleneck"}
TINY = """
[run]
duration = "100 ms"
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "1 Mbit"
[[flow]]
cc = "*"
"""


class Overhead(NamedTuple):
    """Seconds per run, for a number of tiny runs."""

    workers: int
    cluster: bool
    worker_s: float
    """CPU time of the workers, without their start."""
    caller_s: float
    """CPU time of the caller; on a cluster, including the scheduler."""
    wall_s: float


def packets(seeds: int) -> dict[str, float]:
    """CPU time in s of a run of 300 s, by scheme and loss, as the mean over the seeds."""
    found = {}
    for loss in (False, True):
        scenario = load(SCENARIOS / "orbcc" / "responsiveness.toml", LOSS if loss else {})
        for cc in SCHEMES:
            begin_s = time.process_time()
            for seed in range(1, seeds + 1):
                scenario.run(cc=cc, seed=seed)
            name = f"{cc}, loss" if loss else cc
            found[name] = (time.process_time() - begin_s) / seeds
            say(f"{name}: {found[name]:.2f} s of CPU")
    return found


def overhead(runs: int, workers: int, *, cluster: bool) -> Overhead:
    """Overhead of tiny runs, from the difference of two counts, which excludes one-time costs."""
    few, many = (_spent(n, workers, cluster=cluster) for n in (runs // 4, runs))
    each = [(b - a) / (runs - runs // 4) for a, b in zip(few, many, strict=True)]
    found = Overhead(workers, cluster, *each)
    say(f"{workers} workers{' of a cluster' if cluster else ''}: {1e3 * found.worker_s:.1f} ms in the worker, "
        f"{1e3 * found.caller_s:.1f} in the caller, {1 / found.wall_s:.0f} runs/s")  # fmt: skip
    return found


def _spent(runs: int, workers: int, *, cluster: bool) -> tuple[float, float, float]:
    """CPU seconds of workers and caller, and wall-clock time, in a separate process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            begin_s = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                loads(TINY, name="tiny").run_all(
                    ["cubic"],
                    seeds=range(1, runs + 1),
                    jobs=workers,
                    cluster="local" if cluster else None,
                    out=Path(folder) / "out",
                )
            wall_s = time.perf_counter() - begin_s
            own, theirs = (_cpu_s(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            os.write(writer, json.dumps([theirs, own, wall_s]).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit("the tiny runs failed; what they said is above")
    theirs, own, wall_s = json.loads(text)
    return theirs, own, wall_s


def _cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def say(text: str) -> None:
    """Prints progress."""
    print(text, file=sys.stderr, flush=True)


def rows(by_scheme: dict[str, float], here: Overhead, away: Overhead) -> list[tuple[int, float, str]]:
    """For each number of cores, the seconds and the bound that determines them."""
    mean_s, longest_s = sum(by_scheme.values()) / len(by_scheme), max(by_scheme.values())
    found = []
    for cores in CORES:
        # On one machine, tiny runs are executed in the caller and real runs in its workers; the
        # caller has little other work.
        each_s, caller_s = (here.worker_s + here.caller_s, 0.0) if cores == CORES[0] else (away.worker_s, away.caller_s)
        bounds = {
            "packets": RUNS * (mean_s + each_s) / cores,
            "the caller": RUNS * caller_s,
            "the longest run": longest_s + each_s,
        }
        bound = max(bounds, key=lambda name: bounds[name])
        found.append((cores, bounds[bound], bound))
    return found


def shown(by_scheme: dict[str, float], overheads: list[Overhead], found: list[tuple[int, float, str]]) -> str:
    """The results as Markdown."""
    core_h = RUNS * sum(by_scheme.values()) / len(by_scheme) / 3600
    lines = ["| workers | of a cluster | ms in the worker | ms in the caller | runs/s here |"]
    lines += ["| ---: | --- | ---: | ---: | ---: |"]
    lines += [
        f"| {o.workers} | {'yes' if o.cluster else 'no'} | {1e3 * o.worker_s:.0f} | {1e3 * o.caller_s:.1f} | "
        f"{1 / o.wall_s:.0f} |"
        for o in overheads
    ]
    lines += ["", "| scheme | CPU s a run | with loss |", "| --- | ---: | ---: |"]
    lines += [f"| {cc} | {by_scheme[cc]:.2f} | {by_scheme[f'{cc}, loss']:.2f} |" for cc in SCHEMES]
    lines += ["", f"{RUNS} runs of 300 s: {core_h:.2f} core-hours of packets", ""]
    lines += ["| cores | time | bound by |", "| ---: | ---: | --- |"]
    lines += [f"| {cores:,} | {seconds:,.0f} s | {bound} |" for cores, seconds, bound in found]
    return "\n".join(lines)


def main() -> None:
    """Measures, computes and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="tiny ones")
    parser.add_argument("--workers", default="1,2,4", help="of a cluster on this machine")
    parser.add_argument("--seeds", type=int, default=2, help="of each scheme")
    parser.add_argument("--json", action="store_true", help="numbers instead of tables")
    asked = parser.parse_args()
    # This forks before any thread exists.
    here = overhead(asked.runs, CORES[0], cluster=False)
    away = [overhead(asked.runs, int(n), cluster=True) for n in asked.workers.split(",")]
    by_scheme = packets(asked.seeds)
    # Other load of the machine can only increase times.
    found = rows(by_scheme, here, min(away, key=lambda o: o.worker_s + o.caller_s))
    if asked.json:
        print(json.dumps({"schemes": by_scheme, "overheads": [here, *away], "cores": found}, indent=1))
    else:
        print(shown(by_scheme, [here, *away], found))


if __name__ == "__main__":
    main()
