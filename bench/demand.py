# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Times of `perigee demand`: single steps on one thread, and a day on two.

python bench/demand.py [--day]

A step has positions, views, paths and both directions of the allocation; nothing is kept from the step before but the
list of ISLs. Prints the median of ten steps.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import perigee_lab as perigee
from perigee_lab import _core
from perigee_lab.demand import record

SHELLS = """
[run]
duration = "DURATION"
[source.constellation]
[[source.constellation.shells]]
planes = 72
per_plane = 22
altitude = "550 km"
inclination = "53 deg"
phasing = 17
[[source.constellation.shells]]
planes = 160
per_plane = 34
altitude = "560 km"
inclination = "53.2 deg"
phasing = 1
[[nodes]]
set = "gateways"
dishes = 8
[[nodes]]
set = "cities"
count = 5
[port.isl]
rate = "100 Gbit"
[demand]
file = "cells.csv"
active = 0.01
spread = "SPREAD"
step = "STEP"
record = "STEP"
record_links = "STEP"
[[demand.plan]]
inelastic_down = "100 kbit"
inelastic_up = "100 kbit"
"""
STEPS = 10


def cells(path: Path, count: int) -> None:
    """Cells over the land and sea between 55 degrees south and north, with random terminals."""
    draw = np.random.default_rng(1)
    lat, lon = draw.uniform(-55, 55, count), draw.uniform(-180, 180, count)
    terminals = 10 ** draw.uniform(1, 5, count)
    rows = zip(lat.tolist(), lon.tolist(), terminals.tolist(), strict=True)
    path.write_text("lat,lon,terminals\n" + "".join(f"{a:.3f},{b:.3f},{n:.1f}\n" for a, b, n in rows), encoding="utf-8")


def step_s(count: int, more: str = "") -> float:
    """Median time of a step with that number of cells, on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        cells(Path(folder, "cells.csv"), count)
        text = SHELLS.replace("DURATION", f"{8 * STEPS * 15} s").replace("STEP", "15 s").replace("SPREAD", "balanced")
        loaded = perigee.loads(text.replace("active = 0.01", f"active = 0.01\n{more}"), folder=folder)
        demand = _core.Demand(loaded.core)
        taken = []
        for chunk in range(STEPS):
            begun = time.perf_counter()
            demand.chunk(chunk, 1)
            # A chunk has eight intervals, here of one step each.
            taken.append((time.perf_counter() - begun) / 8)
    return float(np.median(taken))


def day() -> dict[str, float]:
    """Time and memory of the shipped day of ten million terminals."""
    loaded = perigee.load("scenarios/leo/ten-million.toml")
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        record.compute(loaded, Path(folder, "day"), threads=2)
        wall_s = time.perf_counter() - begun
    return {"day_wall_s": wall_s, "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    """Prints the times as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--day", action="store_true", help="also the day of ten million terminals")
    options = parser.parse_args()
    found = {f"step_{n}_cells_s": step_s(n) for n in (1_000, 20_000)}
    found["step_1000_cells_load_aware_s"] = step_s(1_000, 'route = "load-aware"')
    found["step_1000_cells_proportional_s"] = step_s(1_000, 'fairness = "proportional"')
    if options.day:
        found |= day()
    print(json.dumps({name: round(value, 4) for name, value in found.items()}, indent=1))


if __name__ == "__main__":
    main()
