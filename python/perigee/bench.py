# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The speed table. Each case runs in a process of its own, so that its memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from perigee import _core
from perigee.cli import BAD_INPUT, FAILED

# For comparison, millions of packet-hops per second and core on the same kind of machine.
OTHERS = "ns-3 3.48: 0.12-0.30; OMNeT++/INET: 0.02-0.06; htsim (a bare engine without SACK): 8-11"

_CHILD = """
import json, resource, sys, time
from perigee import _core
begin = time.process_time()
found = json.loads(_core.bench(sys.argv[1]))
found["cpu_s"] = time.process_time() - begin
found["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps(found))
"""


def bench_command(cases: list[str], *, repeat: int, as_json: bool) -> int:
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


def _print_row(r: dict[str, Any], *, first: bool) -> None:
    if first:
        print(f"{'case':<24}{'Mhops/s':>9}{'Mevents/s':>11}{'ns/hop':>8}{'cpu s':>8}{'wall s':>8}{'MB':>7}")
    print(
        f"{r['name']:<24}{r['packet_hops_per_s'] / 1e6:>9.2f}{r['events_per_s'] / 1e6:>11.2f}"
        f"{r['ns_per_packet_hop']:>8.1f}{r['cpu_s']:>8.2f}{r['wall_s']:>8.2f}{r['peak_rss_bytes'] / 1e6:>7.0f}"
        + ("" if r["hops_match_links"] else "  packet-hops differ from the link counters!")
    )
