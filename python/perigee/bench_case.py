# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One case of the benchmark, in a process of its own: `python -m perigee.bench_case NAME` prints JSON."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

from perigee import _core

# What a user waits for: 300 s from London to New York under three schemes, with records and report.
WHOLE_RUN = "london-new-york-300s"


def names() -> list[str]:
    """All cases."""
    return [*_core.bench_cases(), WHOLE_RUN]


def measure(name: str) -> dict[str, Any]:
    """Runs a case. The empty name does nothing: what it costs is not the case's."""
    begin = time.process_time()
    found: dict[str, Any] = {}
    if name == WHOLE_RUN:
        found = _whole_run()
    elif name:
        found = json.loads(_core.bench(name))
    found["cpu_s"] = time.process_time() - begin
    unit = 1 if sys.platform == "darwin" else 1024
    found["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return found


def _whole_run() -> dict[str, Any]:
    from perigee.scenario import loads

    template = (files("perigee") / "templates" / "sky.toml").read_text(encoding="utf-8")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        runs = list(loads(template, name=WHOLE_RUN).run_all(out=Path(folder) / "record"))
    wall_s = time.perf_counter() - begin
    hops = sum(r.manifest["packet_hops"] for r in runs)
    crossed = sum(sum(r.table("link_totals").column("crossed_packets").to_pylist()) for r in runs)
    return {
        "name": WHOLE_RUN,
        "packet_hops": hops,
        "events": sum(r.manifest["events"] for r in runs),
        "flows": len(runs),
        "simulated_s": sum(r.manifest["simulated_ns"] for r in runs) / 1e9,
        "wall_s": wall_s,
        "hops_match_links": crossed == hops,
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
