# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Speed table; each case runs in its own process, for a separate measurement of memory."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.benchmarks import hosts, learning
from perigee_lab.benchmarks.case import PYTHON_SCHEME, WHOLE_RUN, names
from perigee_lab.common import interpreter
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable

# For comparison, millions of packet-hops per second and core on the same kind of machine.
OTHERS = "ns-3 3.48: 0.12-0.30; OMNeT++/INET: 0.02-0.06; htsim (a bare engine without SACK): 9-12"

LONG = ("hypatia-100-100M",)

_CASE = "perigee_lab.benchmarks.case"


def bench_command(cases: list[str], *, repeat: int, instructions: bool, as_json: bool) -> None:
    """Runs the cases and prints rates."""
    known = names()
    # Only run if named: the growth table of design/performance.md, the cases of bench/peers, and
    # long ones.
    unknown = [
        c
        for c in cases
        if c not in {*known, *hosts.CASES}
        and not c.startswith(("grow-", "peer-", "memory-", "large-"))
        and c not in LONG
    ]
    if unknown:
        stop(f"no case {unknown[0]!r}; there are {', '.join(known)}")
    rows = _in_rounds(cases or known, repeat, quiet=as_json)
    for i, row in enumerate(rows):
        if instructions and "packet_hops" in row and row["name"] not in {PYTHON_SCHEME, WHOLE_RUN}:
            row["instructions_per_packet_hop"] = _instructions_per_hop(row["name"], row["packet_hops"])
        if not as_json:
            _print_row(row, first=i == 0)
    if as_json:
        print(json.dumps({"cases": rows}, indent=1))
    else:
        if not cases and not hosts.names():
            print("real hosts: no kernel is built (perigee kernel build), so their cases are left out")
        _print_slowest(rows)
        say(f"others on the same kind of machine: {OTHERS}")


def _print_slowest(rows: list[dict[str, Any]]) -> None:
    simulated = [r for r in rows if "packet_hops_per_s" in r]
    if simulated:
        slowest = min(simulated, key=lambda r: r["packet_hops_per_s"])
        say(f"each the fastest of {slowest['repeats']}, its cpu s beside their median")
        say(f"slowest: {slowest['name']}, {slowest['packet_hops_per_s'] / 1e6:.1f} million packet-hops/s and core")


def _in_rounds(cases: list[str], repeat: int, *, quiet: bool) -> list[dict[str, Any]]:
    """Runs all cases in rounds, so that a busy phase of the machine affects one run of each."""
    from rich.console import Console
    from rich.progress import track

    names = list(dict.fromkeys(cases)) * repeat
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    still = quiet or not sys.stderr.isatty()
    for name in track(names, "measuring", console=Console(stderr=True, emoji=False), transient=True, disable=still):
        child = subprocess.run(interpreter.command(_CASE, name), capture_output=True, text=True, check=False)
        if child.returncode != 0:
            stop(f"{name} failed:\n{child.stderr}", FAILED)
        runs[name].append(_rates(json.loads(child.stdout)))
    return [_best(rows) for rows in runs.values()]


def _best(rows: list[dict[str, Any]]) -> dict[str, Any]:
    rows.sort(key=lambda r: r["cpu_s"])
    # Other load only ever slows a run down, so the fastest is the best estimate.
    return {**rows[0], "repeats": len(rows), "median_cpu_s": rows[len(rows) // 2]["cpu_s"]}


def _rates(m: dict[str, Any]) -> dict[str, Any]:
    """Rates per second of CPU time, which other load affects less than wall time.

    A sky has no packets.
    """
    if "packet_hops" not in m or "acks" in m:
        return m
    return {
        **m,
        "packet_hops_per_s": m["packet_hops"] / m["cpu_s"],
        "events_per_s": m["events"] / m["cpu_s"],
        "ns_per_packet_hop": m["cpu_s"] * 1e9 / m["packet_hops"],
    }


def _number(key: str, form: str, unit: float = 1.0) -> Callable[[dict[str, Any]], str]:
    """Formats a number of a row, or a dash if the case has none."""
    return lambda r: "-" if r.get(key) is None else form.format(r[key] / unit)


def _instructions_per_hop(name: str, packet_hops: int) -> float | None:
    """Instructions in the simulator's loop alone, counted by callgrind; None without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        words = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}"]
        counts = []
        for case in (name, ""):
            done = subprocess.run(
                [*words, *interpreter.command(_CASE, case)], capture_output=True, text=True, check=False
            )
            found = re.search(r"Collected : (\d+)", done.stderr)
            if found is None:
                return None
            counts.append(int(found[1]))
    return (counts[0] - counts[1]) / packet_hops


# Heading, width, and formatter of a row.
_COLUMNS: list[tuple[str, int, Callable[[dict[str, Any]], str]]] = [
    ("case", 24, lambda r: f"{r['name']:<24}"),
    ("Mhops/s", 9, _number("packet_hops_per_s", "{:.2f}", 1e6)),
    ("Mevents/s", 11, _number("events_per_s", "{:.2f}", 1e6)),
    ("ns/hop", 8, _number("ns_per_packet_hop", "{:.1f}")),
    ("cpu s", 8, _number("cpu_s", "{:.2f}")),
    ("median", 8, _number("median_cpu_s", "{:.2f}")),
    ("wall s", 8, _number("wall_s", "{:.2f}")),
    ("MB", 6, _number("peak_rss_bytes", "{:.0f}", 1e6)),
    ("B/flow", 9, _number("memory_per_flow_bytes", "{:.0f}")),
    ("instr/hop", 11, _number("instructions_per_packet_hop", "{:.0f}")),
]


def _print_row(r: dict[str, Any], *, first: bool) -> None:
    if first:
        say("".join(f"{head:<{w}}" if head == "case" else f"{head:>{w}}" for head, w, _ in _COLUMNS))
    line = "".join(f"{shown(r):>{w}}" for _, w, shown in _COLUMNS)
    say(line + _remark(r))


def _remark(r: dict[str, Any]) -> str:
    remarks = {"us_per_frame": hosts.remark, "learning": learning.remark, "whole_mb_per_s": _of_captures}
    for key, remark in remarks.items():
        if key in r:
            return remark(r)
    if "ms_per_snapshot" in r:
        times = r["times_faster_than_hypatia"]
        ratio = "" if times is None else f", {times:,.0f} times as fast as Hypatia's 23.6 CPU-seconds"
        return f"  {r['ms_per_snapshot']:.2f} ms per snapshot with routes (the first {r['first_ms']:.1f}){ratio}"
    if "ns_per_ack" in r:
        costs = sorted(r["ns_per_ack"].items(), key=lambda c: c[1])
        return "  ns per ACK (the controller alone): " + ", ".join(f"{cc} {ns:.0f}" for cc, ns in costs)
    if "packet_hops" not in r:
        return f"  {r['simulated_s']:,.0f} s of timeline, {r['changes']:,} changes"
    if "acks" in r:
        return f"  {r['acks_per_s'] / 1e3:.0f} thousand ACKs/s through Python"
    return "" if r["hops_match_links"] else "  packet-hops differ from the link counters!"


def _of_captures(r: dict[str, Any]) -> str:
    whole, headers = (f"{r[k + '_mb_per_s']:,.0f} MB/s of {k}" for k in ("whole", "headers"))
    rate = f"{r['whole_packets_per_s'] / 1e6:.2f} and {r['headers_packets_per_s'] / 1e6:.2f} million packets/s"
    return f"  {whole} packets, {headers}; {rate}"
