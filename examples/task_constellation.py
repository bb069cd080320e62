# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Task: a custom constellation with gateways and terminals from CSV, a traffic matrix and rain.

    python examples/task_constellation.py --out runs/constellation --terminals 500

The constellation has 40 x 20 satellites at 600 km and, with --tle, those of a file in the same sky.
Gateways have 1 Gbit/s, and terminals 200 Mbit/s down and 20 Mbit/s up; each terminal exchanges
traffic with its nearest gateway.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import perigee_lab as perigee

SKY = """
title = "a constellation of one's own"
[run]
duration = "{seconds} s"
sample = "1 s"
# One packet's service time at a gateway: constant rates would lock their phases at its queue.
host_jitter = "12 us"
[source.constellation]
ground_ports = "per-link"
{tle}
[source.constellation.shell]
altitude = "600 km"
inclination = "53 deg"
planes = 40
per_plane = 20
phasing = 11
[[nodes]]
file = "gateways.csv"
kind = "station"
[[nodes]]
file = "terminals.csv"
kind = "terminal"
[port.all]
queue = "1 bdp"
[port.station]
rate = "1 Gbit"
[port.terminal.down]
rate = "200 Mbit"
[port.terminal.up]
rate = "20 Mbit"
[[flow]]
matrix = "matrix.csv"
"""
GATEWAYS = [("gw-london", 51.5, -0.1), ("gw-frankfurt", 50.1, 8.7), ("gw-madrid", 40.4, -3.7), ("gw-rome", 41.9, 12.5)]


def write(path: Path, head: list[str], rows: list[list[object]]) -> None:
    """Writes a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def places(folder: Path, terminals: int) -> None:
    """Writes gateways, terminals on a spiral over Europe, and traffic (2 Mbit/s down, 0.2 up)."""
    rows: list[list[object]] = [[*g, "rain.csv" if g[0] == "gw-london" else ""] for g in GATEWAYS]
    write(folder / "gateways.csv", ["name", "lat", "lon", "weather"], rows)
    turn = math.pi * (3 - math.sqrt(5))
    spots = [(f"t{i}", 47 + 7 * math.sqrt(i / terminals) * math.sin(turn * i),
              4 + 12 * math.sqrt(i / terminals) * math.cos(turn * i)) for i in range(terminals)]  # fmt: skip
    write(folder / "terminals.csv", ["name", "lat", "lon"], [[n, f"{a:.4f}", f"{o:.4f}"] for n, a, o in spots])
    rows = []
    for name, _, _ in spots:
        rows += [["any gateway", name, 2.0], [name, "any gateway", 0.2]]
    write(folder / "matrix.csv", ["from", "to", "rate_mbps"], rows)


def main() -> None:
    """Builds, checks and runs; prints the most loaded links, and losses in the rain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/constellation"))
    parser.add_argument("--terminals", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--tle", type=Path, help="element sets beside the shell")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    places(asked.out, asked.terminals)
    # Rain over London during the second half: a third of the rate remains, and 1 % of the packets
    # are lost.
    write(asked.out / "rain.csv", ["t_s", "rate_share", "loss"], [[0, 1, 0], [asked.seconds / 2, 0.33, 0.01]])
    tle = "" if asked.tle is None else f'also_tle = "{asked.tle.resolve()}"'
    file = asked.out / "sky.toml"
    file.write_text(SKY.format(seconds=asked.seconds, tle=tle), encoding="utf-8")

    run = perigee.load(file).run()
    ports = run.to_pandas("link_totals")
    print(ports.nlargest(10, "tx_bytes")[["name", "tx_bytes", "mean_wait_ns"]].to_string(index=False))


if __name__ == "__main__":
    main()
