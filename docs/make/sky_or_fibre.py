# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Distances above which satellites are faster than fibre.

python docs/make/sky_or_fibre.py (for docs/explanation/satellites-or-fibre.md)
"""

from __future__ import annotations

import numpy as np

import perigee_lab as perigee
from perigee_lab.sky.survey import survey

DISTANCES_KM = (500, 1000, 1500, 2000, 2500, 3000, 4000, 6000, 8000, 12000, 16000)
PAIRS = 40
INHABITED_DEG = 50.0
EARTH_RADIUS_KM = 6371.0

SCENARIO = """
[run]
duration = "600 s"
[source.constellation]
preset = "{preset}"
step = "5 s"
[node.a]
kind = "station"
lat = 0
lon = 0
[node.b]
kind = "station"
lat = 1
lon = 0
[[flow]]
from = "a"
to = "b"
app = "ping"
"""


def along(lat: float, lon: float, bearing: float, km: float) -> tuple[float, float]:
    """The point at a distance from another point on a sphere."""
    p, m, b, d = *np.radians([lat, lon, bearing]), km / EARTH_RADIUS_KM
    q = np.arcsin(np.sin(p) * np.cos(d) + np.cos(p) * np.sin(d) * np.cos(b))
    turn = np.arctan2(np.sin(b) * np.sin(d) * np.cos(p), np.cos(d) - np.sin(p) * np.sin(q))
    return float(np.degrees(q)), float((np.degrees(m + turn) + 180) % 360 - 180)


def pairs(km: float, draw: np.random.Generator) -> list[tuple[str, str]]:
    """Random pairs of places between 50 degrees south and north, in random directions."""
    found: list[tuple[str, str]] = []
    while len(found) < PAIRS:
        a = (draw.uniform(-INHABITED_DEG, INHABITED_DEG), draw.uniform(-180, 180))
        b = along(*a, draw.uniform(0, 360), km)
        if abs(b[0]) < INHABITED_DEG:
            found.append((f"{a[0]:.3f}, {a[1]:.3f}", f"{b[0]:.3f}, {b[1]:.3f}"))
    return found


def main() -> None:
    """Prints one row per constellation and distance."""
    draw = np.random.default_rng(1)
    print("| constellation | km | fibre, ms | sky, ms | sky / fibre | sky wins |\n|---|---|---|---|---|---|")
    for preset in ("starlink-shell1", "kuiper", "telesat"):
        scenario = perigee.loads(SCENARIO.format(preset=preset))
        for km in DISTANCES_KM:
            found = survey(scenario, pairs(km, draw))
            rtts = np.array([np.nanmean(p.rtt_ms) for p in found])
            fibre = found[0].fibre_rtt_ms
            sky, wins = np.median(rtts), np.mean(rtts < fibre)
            print(f"| {preset} | {km:,} | {fibre:.1f} | {sky:.1f} | {sky / fibre:.2f} | {wins:.0%} |")


if __name__ == "__main__":
    main()
