# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of real hosts: benchmark cases that need a kernel."""

from __future__ import annotations

import json
import resource
import time
from importlib.resources import files
from typing import Any

from perigee_lab import _core

CHAIN = """
[run]
duration = "{seconds} s"
[source.chain]
links = 2
rtt = "50 ms"
[port.bottleneck]
rate = "{rate}"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
BOOT = "hosts-boot"
CASES = {
    "hosts-chain-100M": lambda: CHAIN.format(seconds=30, rate="100 Mbit"),
    "hosts-chain-10M": lambda: CHAIN.format(seconds=120, rate="10 Mbit"),
    "hosts-london-new-york": lambda: _london().replace('"300 s"', '"60 s"'),
    BOOT: lambda: CHAIN.format(seconds=1, rate="1 Mbit"),
}


def _london() -> str:
    return (files("perigee_lab") / "templates" / "sky.toml").read_text(encoding="utf-8")


def names() -> list[str]:
    """The cases; empty without a kernel."""
    from perigee_lab.hosts import kernels

    try:
        kernels.find(None)
    except kernels.KernelError:
        return []
    return list(CASES)


def measure(name: str) -> dict[str, Any]:
    """Runs a case under cubic.

    The CPU time of this process is that of the network and the record, that of its children is the
    guest's.
    """
    from perigee_lab.runs import backends
    from perigee_lab.runs.work import simulate

    linux = backends.linux()
    world = _core.Scenario.parse(CASES[name](), name, ".", []).world(1)
    world.check("cubic", {}, None)
    begin, before = time.perf_counter(), _times()
    manifest, tables, _ = simulate(world, "cubic", backend=linux)
    wall_s = time.perf_counter() - begin
    network_s, ours_s, guest_s, switches_s = (b - a for a, b in zip(before, _times(), strict=True))
    (sent,) = (column[1] for column in tables["flow_totals"] if column[0] == "sent_packets")
    frames = int(sum(sent))
    cpu_s = network_s + ours_s + guest_s + switches_s
    return {
        "name": name,
        "frames": frames,
        "simulated_s": json.loads(manifest)["simulated_ns"] / 1e9,
        "run_cpu_s": cpu_s,
        "wall_s": wall_s,
        "us_per_frame": cpu_s * 1e6 / frames,
        "us_network": network_s * 1e6 / frames,
        "us_kernel": guest_s * 1e6 / frames,
        "us_switches": (ours_s + switches_s) * 1e6 / frames,
    }


def _times() -> tuple[float, float, float, float]:
    """User and system time of this process, and of the children that have ended."""
    ours, guests = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return ours.ru_utime, ours.ru_stime, guests.ru_utime, guests.ru_stime


def remark(r: dict[str, Any]) -> str:
    """Note on a row."""
    if r["name"] == BOOT:
        return f"  {r['wall_s']:.2f} s of wall time: a boot, and a second of a flow at 1 Mbit/s"
    return (
        f"  {r['us_per_frame']:.1f} us of CPU a frame (network and record {r['us_network']:.1f}, kernels "
        f"{r['us_kernel']:.1f}, switches {r['us_switches']:.1f}), {1e6 / r['us_per_frame']:,.0f} frames/s of a core, "
        f"{r['simulated_s'] / r['run_cpu_s']:.1f} simulated s per CPU s"
    )
