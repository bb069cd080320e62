# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The speed table. Each case runs in a process of its own, so that its memory is its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee import _core
from perigee.cli import BAD_INPUT, FAILED

if TYPE_CHECKING:
    from collections.abc import Callable

# For comparison, millions of packet-hops per second and core on the same kind of machine.
OTHERS = "ns-3 3.48: 0.12-0.30; OMNeT++/INET: 0.02-0.06; htsim (a bare engine without SACK): 8-11"

_CHILD = """
import json, resource, sys, time
from perigee import _core
begin = time.process_time()
found = json.loads(_core.bench(sys.argv[1])) if sys.argv[1] else {}
found["cpu_s"] = time.process_time() - begin
found["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps(found))
"""


def bench_command(cases: list[str], *, repeat: int, instructions: bool, as_json: bool) -> int:
    """Runs the cases and prints rates."""
    known = _core.bench_cases()
    unknown = [c for c in cases if c not in known]
    if unknown:
        print(f"perigee: no case {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return BAD_INPUT
    rows = []
    for name in cases or known:
        row = _best(name, repeat)
        if row is None:
            return FAILED
        if instructions:
            row["instructions_per_packet_hop"] = _instructions_per_hop(name, row["packet_hops"])
        rows.append(row)
        if not as_json:
            _print_row(row, first=len(rows) == 1)
    if as_json:
        print(json.dumps({"cases": rows}, indent=1))
    else:
        slowest = min(rows, key=lambda r: r["packet_hops_per_s"])
        print(f"slowest: {slowest['name']}, {slowest['packet_hops_per_s'] / 1e6:.1f} million packet-hops/s and core")
        print(f"others on the same kind of machine: {OTHERS}")
    return 0


def _best(name: str, repeat: int) -> dict[str, Any] | None:
    rows = []
    for _ in range(repeat):
        done = subprocess.run([sys.executable, "-c", _CHILD, name], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"perigee: {name} failed:\n{done.stderr}", file=sys.stderr)
            return None
        rows.append(_rates(json.loads(done.stdout)))
    return min(rows, key=lambda r: r["cpu_s"])


def _rates(m: dict[str, Any]) -> dict[str, Any]:
    """Rates per second of a core: a busy machine takes wall time away, not these."""
    return {
        **m,
        "packet_hops_per_s": m["packet_hops"] / m["cpu_s"],
        "events_per_s": m["events"] / m["cpu_s"],
        "ns_per_packet_hop": m["cpu_s"] * 1e9 / m["packet_hops"],
    }


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _instructions_per_hop(name: str, packet_hops: int) -> float | None:
    """Instructions that callgrind counts in the simulator's loop alone; None where there is no valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        words = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-c", _CHILD]
        counts = []
        for case in (name, ""):
            done = subprocess.run([*words, case], capture_output=True, text=True, check=False)
            found = re.search(r"Collected : (\d+)", done.stderr)
            if found is None:
                return None
            counts.append(int(found[1]))
    return (counts[0] - counts[1]) / packet_hops


# Heading, width, and how a row shows it.
_COLUMNS: list[tuple[str, int, Callable[[dict[str, Any]], str]]] = [
    ("case", 24, lambda r: f"{r['name']:<24}"),
    ("Mhops/s", 9, lambda r: f"{r['packet_hops_per_s'] / 1e6:.2f}"),
    ("Mevents/s", 11, lambda r: f"{r['events_per_s'] / 1e6:.2f}"),
    ("ns/hop", 8, lambda r: f"{r['ns_per_packet_hop']:.1f}"),
    ("cpu s", 8, lambda r: f"{r['cpu_s']:.2f}"),
    ("wall s", 8, lambda r: f"{r['wall_s']:.2f}"),
    ("MB", 6, lambda r: f"{r['peak_rss_bytes'] / 1e6:.0f}"),
    ("B/flow", 9, lambda r: str(r["memory_per_flow_bytes"])),
    ("instr/hop", 11, lambda r: _or_dash(r.get("instructions_per_packet_hop"))),
]


def _print_row(r: dict[str, Any], *, first: bool) -> None:
    if first:
        print("".join(f"{head:<{w}}" if head == "case" else f"{head:>{w}}" for head, w, _ in _COLUMNS))
    line = "".join(f"{shown(r):>{w}}" for _, w, shown in _COLUMNS)
    print(line + ("" if r["hops_match_links"] else "  packet-hops differ from the link counters!"))
