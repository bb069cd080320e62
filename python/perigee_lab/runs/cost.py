# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost estimates of plans: core-hours, storage, and wall-clock time here and on other machines."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perigee_lab.common.messages import significant

if TYPE_CHECKING:
    from perigee_lab._core import World
    from perigee_lab.runs.runner import Plan

# Size of records in bytes (measured: design/performance.md): a constant part, a row for a sample of
# a flow, a row for a sample of a link, and the RTT counts of a flow.
RECORD_BYTES, FLOW_ROW_BYTES, LINK_ROW_BYTES, RTT_BYTES = 40e3, 36.0, 12.5, 60e3
# Overhead of a run (docs/how-to/cluster.md): opening, tables and Parquet; on a cluster, also the
# transfers in both directions, and the serial work of caller and scheduler.
START_S, AWAY_S, CALLER_S = 0.05, 0.02, 0.013
CORES = (16, 64, 1024)


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a number of runs."""

    runs: int = 0
    cpu_s: float = 0.0
    """CPU time in s."""
    storage_bytes: float = 0.0
    longest_s: float = 0.0
    """CPU time of the longest run, a lower bound on the wall-clock time with any number of
    cores."""
    packet_hops: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.runs + other.runs,
            self.cpu_s + other.cpu_s,
            self.storage_bytes + other.storage_bytes,
            max(self.longest_s, other.longest_s),
            self.packet_hops + other.packet_hops,
        )

    def times(self, n: int) -> Cost:
        """Cost of `n` times as many runs."""
        return Cost(self.runs * n, self.cpu_s * n, self.storage_bytes * n, self.longest_s, self.packet_hops * n)

    def wall_s(self, cores: int, *, away: bool = False) -> float:
        """Wall-clock time in s on `cores` cores; `away`: of a cluster."""
        each_s = START_S + (AWAY_S if away else 0.0)
        alone_s = self.runs * CALLER_S if away else 0.0
        return max((self.cpu_s + self.runs * each_s) / cores, self.longest_s + each_s, alone_s)

    def as_data(self) -> dict[str, float]:
        """The estimate as JSON."""
        return {"estimate_cpu_s": self.cpu_s, "estimate_bytes": self.storage_bytes}

    def in_words(self, cores: int | None = None) -> str:
        """The estimate as one human-readable line."""
        here = cores or os.cpu_count() or 1
        more = [n for n in CORES if n > here]
        times = [f"{shown(self.wall_s(here))} on {here} cores"]
        times += [f"{shown(self.wall_s(n, away=True))} on {n}" for n in more[:2]]
        one = (
            f"{significant(self.cpu_s / 3600)} core-hours"
            if self.cpu_s > 360
            else f"{significant(self.cpu_s)} s of one core"
        )
        return f"about {hops_in_words(self.packet_hops)}, {one}, {size(self.storage_bytes)}: {', '.join(times)}"


def hops_in_words(hops: float) -> str:
    """Number of packet-hops as text, with two digits."""
    for size_of, name in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if hops >= 0.995 * size_of:
            return f"{float(f'{hops / size_of:.2g}'):g}{name} packet-hops"
    return f"{hops:.0f} packet-hops"


def cost_of(plan: Plan) -> Cost:
    """Cost of one run of a plan."""
    world, core = plan.first.world(), plan.first.core
    hops, cpu_s = world.estimate(plan.first.backend.as_core())
    return Cost(1, cpu_s, record_bytes(world, core.duration_ns / 1e9, core.sample_ns / 1e9), cpu_s, hops)


def record_bytes(world: World, duration_s: float, sample_s: float) -> float:
    """Approximate size of a run's record."""
    about = json.loads(world.describe())
    flows, samples = about["flows"], duration_s / sample_s
    # In a constellation, only links in use have rows, one for each direction; these links change
    # over time.
    links = max(len(about["ports"]), sum(2 * f["hops"] for f in flows))
    rows: float = samples * (len(flows) * FLOW_ROW_BYTES + links * LINK_ROW_BYTES)
    return RECORD_BYTES + rows + len(flows) * RTT_BYTES


def shown(seconds: float) -> str:
    """A human-readable duration."""
    if seconds < 99:
        return f"{significant(seconds)} s"
    minutes = seconds / 60
    return f"{significant(minutes)} minutes" if minutes < 99 else f"{significant(minutes / 60)} hours"


def size(count: float) -> str:
    """A human-readable number of bytes."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{significant(count, 3)} {unit}"
        count /= 1000
    return f"{significant(count, 3)} PB"
