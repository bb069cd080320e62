# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Why Cubic does not underutilise the path as published: variants of its runs, and what those did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perigee.study import frames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perigee.study.model import Case, Tables

SCHEDULES = 4
KEPT, PROBES, FRTO, LINUX = "maximum kept", "loss probes", "F-RTO", "Linux"
SETS: Mapping[str, Mapping[str, object]] = {
    KEPT: {"cc.cubic.variant": "ns3"},
    PROBES: {"tcp.tlp": True},
    FRTO: {"tcp.frto": True},
    LINUX: {"tcp.profile": "linux"},
}


def cubic_cases(figure: Sequence[Case]) -> list[Case]:
    """Cubic's first schedules under other rules."""
    mine = [c for c in figure if c.cc == "cubic" and c.seed <= SCHEDULES]
    return [
        replace(c, labels={**c.labels, "variant": name}, sets={**c.sets, **sets})
        for name, sets in SETS.items()
        for c in mine
    ]


def explain_cubic(t: Tables, variants: Tables) -> dict[str, str]:
    """What timeouts have to do with it."""
    runs = frames.pick(t["runs"], cc="cubic", loss=0)
    first = runs[runs["run"] <= SCHEDULES]
    of = {name: frames.pick(variants["runs"], variant=name) for name in SETS}
    mbps = {name: f"{frame['goodput_mbps'].mean():.1f}" for name, frame in of.items()}
    late = {name: f"{frame['timeouts'].mean():.0f}" for name, frame in of.items()}
    return {
        "goodput-cubic": "What follows an outage decides. As run, each ends with a timeout "
        f"({first['timeouts'].mean():.0f} in a run), and a timeout makes Cubic forget the window at which it last lost "
        "packets: it grows without the plateau there. On schedules 1 to "
        f"{SCHEDULES} that gives {first['goodput_mbps'].mean():.1f} Mbit/s; {mbps[KEPT]} where that window is kept "
        f"over a timeout (`cc.cubic.variant = ns3`), {mbps[PROBES]} with tail loss probes ({late[PROBES]} timeouts), "
        f"{mbps[FRTO]} with F-RTO, {mbps[LINUX]} with Linux's transport ({late[LINUX]} timeouts). The published "
        "underutilisation is that of a Cubic that remembers."
    }
