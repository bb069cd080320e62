# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Benchmark of this simulator, htsim and ns-3: four cases, run alternately on one machine.

    .venv/bin/python bench/peers/run.py --htsim-lib LIB --htsim-include FOLDER [--repeat 3] [--cases
    a,c] [--json] .venv/bin/python bench/peers/run.py --ns3 system --check              # goodput,
    RTT, losses of both .venv/bin/python bench/peers/run.py --ns3 system --instructions       # per
    packet-hop, under callgrind

The other simulators are not part of this project and are not compiled here: specify the library and
the headers of htsim (Broadcom's csg-htsim), and `system` for an installed ns-3 (Debian's
`libns3-dev`) or the folder of a build. Only our case files (`*_cases.cc`) are compiled against
them. Simulators that are not specified are omitted. All programs run one after the other,
`--repeat` times; for each case, the run with the least CPU time counts, since other load of the
machine can only increase it. Times are those of user code.

A packet-hop is a packet, data or ACK, that crosses a link. Long chains and an ACK for every packet
increase this number, so data packets per second are also printed.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent


class Case(NamedTuple):
    """Flows over a chain of links; in a dumbbell, the middle link is the bottleneck."""

    flows: int
    links: int
    mbit: int
    rtt_ms: int
    seconds: int
    dumbbell: bool

    @property
    def arguments(self) -> list[str]:
        """The arguments in the form that the programs take."""
        return [str(int(value)) for value in self]

    def __str__(self) -> str:
        return f"{self.flows} flows, {self.links} links, {self.mbit} Mbit/s"


# The numbers of a run, by case and column.
Rows = dict[str, dict[str, dict[str, float]]]
# Columns of `--check` for ours and theirs, with their digits.
PRINTED = {"goodput": 1, "rtt": 1, "lost": 0, "hops": 0}
# The same cases as PEERS in crates/perigee-run/src/bench/cases.rs.
CASES = {
    "a": Case(1, 3, 100, 50, 100, True),
    "b": Case(10, 3, 1000, 50, 20, True),
    "c": Case(1, 10, 100, 20, 60, False),
    "d": Case(100, 10, 1000, 20, 10, False),
}
SCHEMES = ("newreno", "cubic", "bbr")
NS3_TYPES = {"newreno": "TcpNewReno", "cubic": "TcpCubic", "bbr": "TcpBbr"}
# Headers that our cases include.
HTSIM_HEADERS = ("config.h", "eventlist.h", "network.h", "pipe.h", "queue.h", "route.h", "tcp.h")
# As for the library, assertions in headers are disabled.
TUNED = ["-O3", "-DNDEBUG", "-std=c++17", "-w"]
# Modules of ns-3 that our cases need.
NS3_PARTS = ("core", "network", "internet", "applications", "point-to-point", "traffic-control", "stats", "bridge")
# Texts in an ns-3 library that was built with assertions or with its log, which is checked at every
# call even if nothing is logged.
NS3_TRACES = {"assertions": b"assert failed. cond=", "log": b"ParameterLogger"}
# Simulated seconds: ns-3 takes a hundred times as long, and callgrind fifty times as long as that.
NS3_SECONDS = {"a": 10, "b": 2, "c": 6, "d": 2}
# BBR in ns-3 loses 10,000 packets at the start of case b, and the scoreboard is searched for each:
# one second takes 25.
NS3_BBR_SECONDS = {**NS3_SECONDS, "b": 1}
GRIND_SECONDS = {"a": 2, "b": 1, "c": 1, "d": 1}
# callgrind does not support every instruction of the newest processors.
GRINDABLE = "-march=x86-64-v3"


def build_htsim(library: Path, headers: Path, into: Path, machine: str) -> Path:
    """Builds our four cases with a library of htsim, optimised for this machine."""
    program = into / "htsim_cases"
    for header in HTSIM_HEADERS:
        if not (headers / header).is_file():
            sys.exit(f"--htsim-include {headers}: {header} not found; give the folder with htsim's headers")
    if not library.is_file() or library.suffix not in {".a", ".so"}:
        sys.exit(f"--htsim-lib {library}: no such library; give libhtsim.a or libhtsim.so of an htsim that is built")
    found = library.resolve()
    words = [*TUNED, machine, f"-I{headers}", str(HERE / "htsim_cases.cc"), str(found), f"-Wl,-rpath,{found.parent}"]
    _build(["g++", *words, "-o", str(program)], "htsim's cases")
    return program


def build_ns3(where: str, into: Path, machine: str) -> Path:
    """Builds our four cases with a build of ns-3, or with the installed one (`system`)."""
    program = into / "ns3_cases"
    words, internet = _installed_ns3() if where == "system" else _built_ns3(Path(where))
    _build(["g++", "-O3", machine, "-w", str(HERE / "ns3_cases.cc"), *words, "-o", str(program)], "ns-3's cases")
    content = internet.read_bytes()
    found = [f"{what} {'in' if trace in content else 'left out'}" for what, trace in NS3_TRACES.items()]
    print(f"ns-3: {internet.resolve().name}, {', '.join(found)}", file=sys.stderr)
    return program


def _built_ns3(folder: Path) -> tuple[list[str], Path]:
    """Compiler arguments for a built ns-3, and the path of its Internet library."""
    libraries = folder / "build" / "lib"
    found = {part: next(iter(sorted(libraries.glob(f"libns3*-{part}-*.so"))), None) for part in NS3_PARTS}
    missing = [part for part, library in found.items() if library is None]
    if missing:
        remedy = "give the folder of one that is built, optimised, or system"
        sys.exit(f"--ns3 {folder}: no build of ns-3 ({', '.join(missing)} missing in {libraries}); {remedy}")
    chosen = [library for library in found.values() if library is not None]
    words = ["-std=c++23", f"-I{folder / 'build' / 'include'}", *map(str, chosen), f"-Wl,-rpath,{libraries}"]
    return words, chosen[NS3_PARTS.index("internet")]


def _installed_ns3() -> tuple[list[str], Path]:
    """As `_built_ns3`, for the installed ns-3 according to pkg-config."""
    packages = [f"ns3-{part}" for part in NS3_PARTS]

    def asked(*words: str) -> str:
        try:
            done = subprocess.run(["pkg-config", *words], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            sys.exit("--ns3 system: pkg-config is not installed")
        if done.returncode != 0:
            sys.exit(
                f"--ns3 system: no ns-3 is installed (Debian: libns3-dev): {done.stderr.strip().partition(chr(10))[0]}"
            )
        return done.stdout

    # Debian's files name a folder with a semicolon, and libraries that may lack headers; these are
    # not linked.
    flags = [word for word in asked("--cflags", *packages).split() if ";" not in word]
    libraries = [word for word in asked("--libs", *packages).split() if word.startswith(("-L", "-l"))]
    folder = Path(asked("--variable=libdir", packages[0]).strip())
    # Version 3.37 and similar ones are C++17.
    return ["-std=c++17", *flags, *libraries], folder / "libns3-internet.so"


def _build(words: list[str], name: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name} cannot be built:\n{done.stderr[-4000:]}")


def columns(asked: argparse.Namespace, folder: Path) -> dict[str, dict[str, list[str]]]:
    """The commands of each column of the table, by case."""
    machine = GRINDABLE if asked.instructions else "-march=native"
    from perigee_lab.common import interpreter

    ours = [str(asked.bench_case), "--json"] if asked.bench_case else interpreter.command("perigee_lab.benchmarks.case")
    found = {}
    # Otherwise, the interpreter would also be counted.
    if asked.bench_case or not asked.instructions:
        found = {cc: {case: [*ours, f"peer-{case}-{cc}"] for case in CASES} for cc in SCHEMES}
    if asked.htsim_lib:
        program = str(build_htsim(asked.htsim_lib, asked.htsim_include, folder, machine))
        found["htsim"] = {name: [program, *_timed(name, asked, CASES[name].seconds)] for name in CASES}
    if asked.ns3:
        program = str(build_ns3(asked.ns3, folder, machine))
        for cc, kind in NS3_TYPES.items():
            found[f"ns-3 {cc}"] = {
                name: [program, kind, *_timed(name, asked, _ns3_seconds(name, cc)), str(int(asked.check))]
                for name in CASES
            }
    return found


def _ns3_seconds(name: str, cc: str) -> int:
    return (NS3_BBR_SECONDS if cc == "bbr" else NS3_SECONDS)[name]


def _timed(name: str, asked: argparse.Namespace, seconds: int) -> list[str]:
    return CASES[name]._replace(seconds=GRIND_SECONDS[name] if asked.instructions else seconds).arguments


def measure(asked: argparse.Namespace, commands: dict[str, dict[str, list[str]]]) -> Rows:
    """For each case and column, the run with the least CPU time."""
    best: Rows = {case: {} for case in asked.cases}
    for _ in range(asked.repeat):
        for case, column, command in each(asked, commands):
            before_s = _children_s()
            seen = ran(command, f"{column}, case {case}")
            # Set-up is excluded if a program reports its run time.
            used_s = seen.get("user_s", seen.get("cpu_s", _children_s() - before_s))
            rates = {what: seen[what] / used_s for what in ("packet_hops", "data_packets")}
            before = best[case].get(column)
            if before is None or rates["packet_hops"] > before["packet_hops"]:
                best[case][column] = rates
            print(f"{case} {column}: {rates['packet_hops'] / 1e6:.3g} ({used_s:.1f} s)", file=sys.stderr)
    return best


def instructions(asked: argparse.Namespace, commands: dict[str, dict[str, list[str]]]) -> Rows:
    """Instructions per packet-hop and per data packet by callgrind, independent of other load."""
    if shutil.which("valgrind") is None:
        sys.exit("--instructions needs valgrind")
    found: Rows = {case: {} for case in asked.cases}
    for case, column, command in each(asked, commands):
        with tempfile.TemporaryDirectory() as folder:
            grind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *command]
            done = _done(grind, f"{column}, case {case}")
        count = re.search(r"Collected : (\d+)", done.stderr)
        assert count is not None, done.stderr[-2000:]
        seen = json.loads(done.stdout.splitlines()[-1])
        row = {what: int(count[1]) / seen[what] for what in ("packet_hops", "data_packets")}
        found[case][column] = row
        print(f"{case} {column}: {row['packet_hops']:.0f} per packet-hop", file=sys.stderr)
    return found


def each(asked: argparse.Namespace, commands: dict[str, dict[str, list[str]]]) -> Iterator[tuple[str, str, list[str]]]:
    """All commands; those that are compared in a case follow each other."""
    for case in asked.cases:
        for column, command in commands.items():
            yield case, column, command[case]


def ran(command: list[str], name: str) -> dict[str, Any]:
    """The last line of a program's output, as JSON."""
    seen: dict[str, Any] = json.loads(_done(command, name).stdout.splitlines()[-1])
    return seen


def _done(command: list[str], name: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name} failed:\n{done.stderr[-4000:]}")
    return done


def _children_s() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def check(asked: argparse.Namespace, commands: dict[str, dict[str, list[str]]]) -> str:
    """Compares goodput, RTT and losses of ns-3's runs and ours over the same time."""
    lines = [
        "| case | scheme | goodput, Mbit/s | mean RTT, ms | packets lost | packet-hops |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for case in asked.cases:
        for cc in SCHEMES:
            ours = our_run(CASES[case]._replace(seconds=_ns3_seconds(case, cc)), cc)
            seen = ran(commands[f"ns-3 {cc}"][case], f"ns-3 {cc}, case {case}")
            theirs = {"goodput": seen["goodput_mbps"], "rtt": seen["rtt_ms"], "lost": seen["drops"]}
            theirs["hops"] = seen["packet_hops"]
            cells = [f"{ours[what]:,.{n}f}, {theirs[what]:,.{n}f}" for what, n in PRINTED.items()]
            lines.append(f"| {case} | {cc} | " + " | ".join(cells) + " |")
            print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def our_run(case: Case, cc: str) -> dict[str, float]:
    """Runs a case as a scenario, with the same text as in cases.rs except for its duration."""
    from perigee_lab.runs.scenario import loads

    source = f'[source.dumbbell]\nrtt = "{case.rtt_ms} ms"\n[port.bottleneck]\n'
    if not case.dumbbell:
        source = f'[source.chain]\nlinks = {case.links}\nrtt = "{case.rtt_ms} ms"\n[port.all]\nqueue = "1 bdp"\n'
    text = f'[run]\nduration = "{case.seconds} s"\n{source}rate = "{case.mbit} Mbit"\n[[flow]]\ncount = {case.flows}\n'
    run = loads(text, name="peers").run(cc=cc, seed=1)
    totals = run.table("flow_totals").to_pylist()
    return {
        "goodput": sum(t["goodput_bytes"] for t in totals) * 8 / case.seconds / 1e6,
        "rtt": sum(t["rtt_sum_ns"] for t in totals) / sum(t["rtt_samples"] for t in totals) / 1e6,
        "lost": sum(t["drops_queue"] for t in totals),
        "hops": run.manifest.packet_hops or 0,
    }


def table(best: Rows) -> str:
    """A table of millions of packet-hops (data packets) per CPU second, and ratios to htsim."""
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


def table_of_instructions(found: Rows) -> str:
    """A table of instructions per packet-hop, and per data packet in brackets."""
    names = list(next(iter(found.values())))
    lines = ["| case | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for case, row in found.items():
        cells = [f"{row[name]['packet_hops']:,.0f} ({row[name]['data_packets']:,.0f})" for name in names]
        lines.append(f"| {case}: {CASES[case]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def asked_for() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--htsim-lib", type=Path, metavar="LIB", help="libhtsim.a or libhtsim.so, built")
    parser.add_argument("--htsim-include", type=Path, metavar="FOLDER", help="the headers of that htsim")
    parser.add_argument("--ns3", help="system: the ns-3 that is installed; or the folder of one that is built")
    parser.add_argument("--bench-case", type=Path, help="the example bench_case of perigee-run instead of the package")
    parser.add_argument("--cases", default=",".join(CASES), help="some of a,b,c,d")
    parser.add_argument("--repeat", type=int, default=3, help="how often all are run")
    parser.add_argument("--check", action="store_true", help="goodput, RTT and losses of ns-3 beside ours, no times")
    parser.add_argument("--instructions", action="store_true", help="count instructions under callgrind, no times")
    parser.add_argument("--json", action="store_true", help="numbers instead of a table")
    asked = parser.parse_args()
    asked.cases = asked.cases.split(",")
    if unknown := [case for case in asked.cases if case not in CASES]:
        parser.error(f"--cases {','.join(unknown)}: there are {', '.join(CASES)}")
    if asked.check and not asked.ns3:
        parser.error("--check compares with ns-3: give --ns3")
    if asked.check and asked.instructions:
        parser.error("--check and --instructions are two things: give one")
    if (asked.htsim_lib is None) != (asked.htsim_include is None):
        parser.error("--htsim-lib and --htsim-include belong together: give both")
    if asked.repeat < 1:
        parser.error(f"--repeat {asked.repeat}: at least 1")
    return asked


def main() -> None:
    """Compiles our cases, runs, prints."""
    asked = asked_for()
    # Our cases run from the package unless the example bench_case replaces it.
    if (asked.check or not (asked.bench_case or asked.instructions)) and find_spec("perigee_lab") is None:
        sys.exit(f"{sys.executable} has no perigee: run `make setup`, then `.venv/bin/python bench/peers/run.py`")
    with tempfile.TemporaryDirectory() as folder:
        commands = columns(asked, Path(folder))
        if not commands:
            sys.exit("--instructions counts those of --bench-case, --htsim-lib and --ns3: give one of them")
        if asked.check:
            print(check(asked, commands))
            return
        found = instructions(asked, commands) if asked.instructions else measure(asked, commands)
    if asked.json:
        print(json.dumps(found, indent=1))
    else:
        print(table_of_instructions(found) if asked.instructions else table(found))


if __name__ == "__main__":
    main()
