# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Latency of `perigee results` over a set of 100,000 runs, from the command to its answer.

    python bench/results.py [--rows 100000] [--repeat 3]

A small sweep is run; its rows, with other values of the swept keys and seeds, form the large set
(and a second one for `--join`). It has all columns of a sweep, with provenance, and is split into
folders by the swept keys. Prints wall-clock and CPU time of each command, each the minimum over the
repeats.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import perigee_lab as perigee
from perigee_lab.results import dataset

SCENARIO = """
[run]
duration = "500 ms"
[source.dumbbell]
rtt = "10 ms"
[port.bottleneck]
rate = "5 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
QUEUE, RTT = "port.bottleneck.queue", "source.dumbbell.rtt"
COMMANDS: dict[str, list[str]] = {
    "list": [],
    "one row of them": ["--where", "queue=3bdp", "--where", "rtt=15ms", "--where", "cc=cubic", "--where", "seed=7"],
    "filter and sort": ["--where", "queue=3bdp", "--where", "goodput_mbps<5", "--sort", "-rtt_p95_ms"],
    "sort all": ["--sort", "-rtt_mean_ms"],
    "join two sets": ["{other}", "--join", "--columns", "goodput_mbps", "--where", "queue=2bdp"],
    "join, whole": ["{other}", "--join", "--columns", "goodput_mbps"],
    "export Parquet": ["--columns", "all", "--out", "{out}.parquet", "--force"],
    "export CSV": ["--columns", "all", "--out", "{out}.csv", "--force"],
    "export JSON": ["--columns", "all", "--out", "{out}.json", "--force"],
}


def made(folder: Path, rows: int) -> Path:
    """Creates the folder of a sweep with this many runs."""
    import pyarrow as pa

    folder.mkdir()
    (folder / "s.toml").write_text(SCENARIO, encoding="utf-8")
    out = folder / "sweep"
    perigee.sweep(
        folder / "s.toml", {QUEUE: ["1bdp", "2bdp"], RTT: ["10ms", "20ms"]}, ["cubic", "newreno"], seeds=[1, 2], out=out
    )
    few: list[dict[str, Any]] = dataset.query(out).to_pylist()
    many = []
    for n in range(rows):
        row = dict(few[n % len(few)])
        row |= {QUEUE: f"{1 + n % 4}bdp", RTT: f"{10 + 5 * (n // 4 % 4)}ms", "cc": ["cubic", "newreno"][n // 16 % 2]}
        row |= {"seed": n // 32, "goodput_mbps": row["goodput_mbps"] * (1 + n % 997 / 1e4), "key": f"{n:064x}"}
        many.append(row)
    table = pa.Table.from_pylist(many, schema=dataset.query(out).schema)
    dataset.write_table(table, out, [QUEUE, RTT])
    return out


def took(words: list[str], repeat: int) -> tuple[float, float, str]:
    """Wall-clock and CPU time of `perigee results …`, and its last line of output."""
    walls, cpus, last = [], [], ""
    for _ in range(repeat):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "perigee_lab", "results", *words], capture_output=True, text=True, check=True
        )
        walls.append(time.perf_counter() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        last = done.stdout.strip().splitlines()[-1]
    return min(walls), min(cpus), last.replace(str(Path(tempfile.gettempdir())), "…")


def main() -> None:
    """Creates the sets, runs the commands, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        one, other = (made(Path(scratch) / name, asked.rows) for name in ("one", "other"))
        files = [p for p in (one / "results").rglob("*") if p.is_file()]
        size_mb = sum(p.stat().st_size for p in files) / 1e6
        print(
            f"{asked.rows} rows, {len(dataset.query(one).column_names)} columns, {len(files)} files, {size_mb:.1f} MB\n"
        )
        print("| | wall s | CPU s | |\n| --- | ---: | ---: | --- |")
        for name, words in COMMANDS.items():
            filled = [w.format(other=other, out=f"{scratch}/x") for w in words]
            wall_s, cpu_s, last = took([str(one), *filled], asked.repeat)
            print(f"| {name} | {wall_s:.2f} | {cpu_s:.2f} | {last} |", flush=True)


if __name__ == "__main__":
    main()
