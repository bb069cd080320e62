# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Four cases on this simulator, htsim and ns-3, alternately on one machine, with ratios.

    python bench/peers/run.py --htsim CHECKOUT/htsim/sim --ns3 CHECKOUT [--repeat 3] [--json]

The others' sources are not part of this project: give a checkout of github.com/Broadcom/csg-htsim (its folder `sim`),
and one of ns-3 that was built with `./ns3 configure -d optimized && ./ns3 build`. What is not given is left out. Every
program is built once, then all run one after the other, `--repeat` times over; of each case the run with the least CPU
time counts, since what else a machine does only ever adds to it.

A packet-hop is a packet, data or ACK, that crosses a link. Long chains flatter it, and so does an ACK for every packet:
data packets per second stand beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Case(NamedTuple):
    """Flows over a chain of links; in a dumbbell the middle one is the bottleneck."""

    flows: int
    links: int
    mbit: int
    rtt_ms: int
    seconds: int
    dumbbell: bool

    @property
    def arguments(self) -> list[str]:
        """As the programs take them."""
        return [str(int(value)) for value in self]

    def __str__(self) -> str:
        return f"{self.flows} flows, {self.links} links, {self.mbit} Mbit/s"


# As PEERS in crates/perigee-run/src/bench/cases.rs.
CASES = {
    "a": Case(1, 3, 100, 50, 100, True),
    "b": Case(10, 3, 1000, 50, 20, True),
    "c": Case(1, 10, 100, 20, 60, False),
    "d": Case(100, 10, 1000, 20, 10, False),
}
SCHEMES = ("newreno", "cubic", "bbr")
NS3_TYPES = {"newreno": "TcpNewReno", "cubic": "TcpCubic", "bbr": "TcpBbr"}
# What htsim's TCP over links needs of htsim.
HTSIM_PARTS = (
    "eventlist tcppacket pipe queue tcp mtcp config network route trigger sent_packets loggers logfile clock switch "
    "routetable queue_lossless queue_lossless_input queue_lossless_output eth_pause_packet ndppacket rng"
)
TUNED = ["-O3", "-march=native", "-flto", "-DNDEBUG", "-std=c++17", "-w"]


def build_htsim(sources: Path, into: Path) -> Path:
    """Our four cases with htsim's own code, optimised for this machine, without assertions."""
    program = into / "htsim_cases"
    parts = [str(sources / f"{part}.cpp") for part in HTSIM_PARTS.split()]
    _build(["g++", *TUNED, f"-I{sources}", str(HERE / "htsim_cases.cc"), *parts, "-o", str(program)], "htsim")
    return program


def build_ns3(checkout: Path, into: Path) -> Path:
    """Our four cases against the libraries of a build of ns-3."""
    libraries = sorted((checkout / "build" / "lib").glob("libns3*.so"))
    if not libraries:
        sys.exit(f"{checkout}: no build of ns-3 there; run `./ns3 configure -d optimized && ./ns3 build` in it")
    wanted = ("core", "network", "internet", "applications", "point-to-point", "traffic-control", "stats", "bridge")
    chosen = [str(lib) for lib in libraries if any(f"-{name}-" in f"{lib.stem}-" for name in wanted)]
    program = into / "ns3_cases"
    include = checkout / "build" / "include"
    run_path = f"-Wl,-rpath,{checkout / 'build' / 'lib'}"
    words = ["g++", *TUNED[:2], "-std=c++23", "-w", f"-I{include}", str(HERE / "ns3_cases.cc"), *chosen, run_path]
    _build([*words, "-o", str(program)], "ns-3")
    return program


def _build(words: list[str], name: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name} cannot be built:\n{done.stderr[-4000:]}")


def columns(arguments: argparse.Namespace, folder: Path) -> dict[str, dict[str, list[str]]]:
    """Per column of the table: the command of each case."""
    ours = [sys.executable, "-m", "perigee.benchmarks.case"]
    if arguments.bench_case:
        ours = [str(arguments.bench_case), "--json"]
    found = {cc: {case: [*ours, f"peer-{case}-{cc}"] for case in CASES} for cc in SCHEMES}
    if arguments.htsim:
        program = str(build_htsim(arguments.htsim, folder))
        found["htsim"] = {name: [program, *case.arguments] for name, case in CASES.items()}
    if arguments.ns3:
        program = str(build_ns3(arguments.ns3, folder))
        for cc, kind in NS3_TYPES.items():
            # A tenth of the time: it is a hundred times as slow.
            short = {name: case._replace(seconds=max(case.seconds // 10, 2)) for name, case in CASES.items()}
            found[f"ns-3 {cc}"] = {name: [program, kind, *case.arguments] for name, case in short.items()}
    return found


def measure(commands: dict[str, dict[str, list[str]]], repeat: int) -> dict[str, dict[str, dict[str, float]]]:
    """Per case and column the run with the least CPU time."""
    best: dict[str, dict[str, dict[str, float]]] = {case: {} for case in CASES}
    for _ in range(repeat):
        for case in CASES:
            for column, command in commands.items():
                before_s = _children_s()
                done = subprocess.run(command[case], capture_output=True, text=True, check=False)
                used_s = _children_s() - before_s
                if done.returncode != 0:
                    sys.exit(f"{column}, case {case} failed:\n{done.stderr[-4000:]}")
                seen = json.loads(done.stdout.splitlines()[-1])
                rates = {what: seen[what] / seen.get("cpu_s", used_s) for what in ("packet_hops", "data_packets")}
                before = best[case].get(column)
                if before is None or rates["packet_hops"] > before["packet_hops"]:
                    best[case][column] = rates
                print(f"{case} {column}: {rates['packet_hops'] / 1e6:.2f}", file=sys.stderr)
    return best


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(best: dict[str, dict[str, dict[str, float]]]) -> str:
    """Millions of packet-hops per CPU second, millions of data packets in brackets, and how often htsim's."""
    names = list(next(iter(best.values())))
    lines = ["| case | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for case, row in best.items():
        cells = [f"{case}: {CASES[case]}"]
        for column in names:
            hops, data = (row[column][what] / 1e6 for what in ("packet_hops", "data_packets"))
            text = f"{hops:.3g} ({data:.2g})"
            if column in SCHEMES and "htsim" in row:
                text += f", {row[column]['packet_hops'] / row['htsim']['packet_hops']:.2f} times"
            cells.append(text)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Builds, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--htsim", type=Path, help="folder sim of a checkout of htsim")
    parser.add_argument("--ns3", type=Path, help="a checkout of ns-3 that was built")
    parser.add_argument("--bench-case", type=Path, help="the example bench_case of perigee-run instead of the package")
    parser.add_argument("--repeat", type=int, default=3, help="how often all are run")
    parser.add_argument("--json", action="store_true", help="numbers instead of a table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        best = measure(columns(arguments, Path(folder)), arguments.repeat)
    print(json.dumps(best, indent=1) if arguments.json else table(best))


if __name__ == "__main__":
    main()
