# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a sweep of a paper's size takes on 2 to 1,024 cores, from CPU times that are measured here.

    pip install 'perigee-lab[cluster]'
    python bench/scale.py [--runs 2000] [--workers 1,2,4] [--seeds 2] [--json]

The sweep: 600 runs of 300 s of OrbCC's Fig. 1 (`orbcc/responsiveness`), half of them with loss. Measured are

* the CPU time of a run of each scheme, with and without loss, in this process;
* the overhead of a run: many runs of 100 ms on this machine's worker processes, and over a cluster of Dask on this machine
  with 1, 2, 4 workers: CPU time of the workers, and of the caller with its scheduler, for each run.

Computed is the time on n cores: packets and overheads over the cores, but never less than the longest run, nor than
what the caller does one after the other. CPU times are taken, so that other work on the machine matters little; the start of
workers is left out.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from perigee.runs import cost
from perigee.runs.scenario import load, loads
from perigee.study.execute import SCENARIOS

RUNS, SIMULATED_S = 600, 300
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
    """Seconds for each run of a number of tiny ones."""

    where: str
    workers: int
    worker_s: float
    """CPU time of the workers."""
    caller_s: float
    """CPU time of the caller; on a cluster with the scheduler."""
    wall_s: float


def packets(seeds: int) -> dict[str, float]:
    """CPU time of a run of 300 s by scheme and loss, s; the mean over the seeds."""
    found = {}
    for loss in (False, True):
        scenario = load(SCENARIOS / "orbcc" / "responsiveness.toml", LOSS if loss else {})
        for cc in SCHEMES:
            begin = time.process_time()
            for seed in range(1, seeds + 1):
                scenario.run(cc=cc, seed=seed)
            found[f"{cc}{', loss' if loss else ''}"] = (time.process_time() - begin) / seeds
            print(f"{cc}{', loss' if loss else ''}: {found[f'{cc}{", loss" if loss else ""}']:.2f} s", file=sys.stderr)
    return found
