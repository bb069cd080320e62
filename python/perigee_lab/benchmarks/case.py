# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One benchmark case, in its own process (started by `common.interpreter`); its output is JSON."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

from perigee_lab import _core
from perigee_lab.benchmarks import hosts, learning

# A user's complete run: 300 s from London to New York under three schemes, with report.
WHOLE_RUN = "london-new-york-300s"
PYTHON_SCHEME = "python-scheme"


def names() -> list[str]:
    """All cases."""
    return [*_core.bench_cases(), PYTHON_SCHEME, WHOLE_RUN, *learning.names(), *hosts.names()]


def measure(name: str) -> dict[str, Any]:
    """Runs a case; the empty name does nothing, which measures the overhead."""
    begin = _cpu_s()
    found: dict[str, Any] = {}
    if name == WHOLE_RUN:
        found = _whole_run()
    elif name == PYTHON_SCHEME:
        found = _python_scheme()
    elif name in learning.CASES:
        found = learning.measure(name)
    elif name in hosts.CASES:
        found = hosts.measure(name)
    elif name:
        found = json.loads(_core.bench(name))
    found["cpu_s"] = _cpu_s() - begin
    unit = 1 if sys.platform == "darwin" else 1024
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    found["peak_rss_bytes"] = max(resource.getrusage(w).ru_maxrss for w in who) * unit
    return found


def _cpu_s() -> float:
    """CPU time of this process and of its workers that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _whole_run() -> dict[str, Any]:
    from perigee_lab.runs.scenario import loads

    template = (files("perigee_lab") / "templates" / "sky.toml").read_text(encoding="utf-8")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        runs = list(loads(template, name=WHOLE_RUN).run_all(out=Path(folder) / "record"))
        wall_s = time.perf_counter() - begin
        # Tables are read lazily from the folder.
        crossed = sum(sum(r.table("link_totals").column("crossed_packets").to_pylist()) for r in runs)
    hops = sum(r.manifest.packet_hops or 0 for r in runs)
    return {
        "name": WHOLE_RUN,
        "packet_hops": hops,
        "events": sum(r.manifest.events or 0 for r in runs),
        "flows": len(runs),
        "simulated_s": sum(r.manifest.simulated_ns for r in runs) / 1e9,
        "wall_s": wall_s,
        "hops_match_links": crossed == hops,
    }


def _python_scheme() -> dict[str, Any]:
    """A typical congestion control in Python, over 1 Gbit/s for 5 s."""
    from perigee_lab.extensions.congestion import CongestionControl
    from perigee_lab.runs.scenario import loads

    class Counting(CongestionControl):
        acks = 0

        def on_ack(self, cx: _core.Cx, window: _core.Window, ack: _core.Ack) -> None:
            Counting.acks += 1
            if ack.may_grow and cx.cwnd_limited and ack.rtt_ns is not None:
                window.cwnd = min(window.cwnd + ack.newly_acked, 400 * cx.mss)

    text = """
        [run]
        duration = "5 s"
        [source.dumbbell]
        rtt = "4 ms"
        [port.bottleneck]
        rate = "1 Gbit"
        queue = "1 bdp"
        [[flow]]
        cc = "*"
    """
    # A first short run imports the modules.
    loads(text, {"run.duration": "1 s"}).run(Counting)
    Counting.acks = 0
    scenario = loads(text, name=PYTHON_SCHEME)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    run = scenario.run(Counting)
    wall_s, run_cpu_s = time.perf_counter() - begin, time.process_time() - begin_cpu
    return {
        "name": PYTHON_SCHEME,
        "packet_hops": run.manifest.packet_hops,
        "events": run.manifest.events,
        "flows": 1,
        "simulated_s": run.manifest.simulated_ns / 1e9,
        "wall_s": wall_s,
        "acks": Counting.acks,
        "acks_per_s": Counting.acks / run_cpu_s,
        "hops_match_links": sum(run.table("link_totals").column("crossed_packets").to_pylist())
        == run.manifest.packet_hops,
    }


def main() -> None:
    """Entry point."""
    name, *curve = sys.argv[1:]
    if curve:
        threads, rounds = curve
        print(_core.bench_threads(name, [int(n) for n in threads.split(",")], int(rounds)))
        return
    print(json.dumps(measure(name)))
