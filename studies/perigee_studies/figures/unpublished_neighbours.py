# SPDX-License-Identifier: Apache-2.0 OR MIT
"""OrbCC sharing a port with flows of other schemes, under several queue disciplines.

The study restricts OrbCC to "a single administrative domain" and measures it with no other scheme.
Here, one or two flows of OrbCC share a port with as many flows of Cubic, BBRv3 or LeoCC; the port
is drop-tail, has CoDel, or has a queue per flow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames, style
from perigee_studies.figures import unpublished_neighbours_why as why
from perigee_studies.figures.orbcc_common import MINE
from perigee_studies.figures.orbcc_two_flows import queue_packets
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

SOURCE = "OrbCC, section IV: a secondary concern, not measured"
FILE = "orbcc/neighbours.toml"
SHARE, MOST_INFLATION = (0.4, 0.6), 1.1
"""Bounds for "half of the port", and for "minimal delay"."""
LEOCC, APART = "leocc_omnet", "leocc_omnet, probes apart"
OTHERS = ("cubic", "bbr3", LEOCC, APART)
SHARED: Mapping[str, object] = {"port.all.probe_priority": False}
"""LeoCC's probes wait with the data, unless a port has a separate queue for them, as in the study's
simulator."""
PORTS: dict[str, Mapping[str, object]] = {
    "drop-tail": {},
    "CoDel": {"port.bottleneck.discipline": "codel"},
    "fq_codel": {"port.bottleneck.discipline": "fq_codel"},
    "a queue per flow": {
        "port.bottleneck.discipline": "fq_codel",
        "port.bottleneck.target": "10 s",
        "port.bottleneck.interval": "10 s",
    },
}
"""The port with a queue per flow has fq_codel with a CoDel that never drops; on overflow, it drops
from the longest queue."""
QUICK_PORTS = tuple(item for item in PORTS.items() if item[0] in ("drop-tail", "fq_codel"))
OTHERS_START_S = 10.0
SETTLED_S = 20.0
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))


def cases(ask: Ask) -> list[Case]:
    """Neighbours x ports x numbers of flows x runs."""
    out = []
    for run in range(1, ask.count(1, 5, 10) + 1):
        for other in ask.pick(OTHERS[:1], OTHERS, OTHERS):
            for port, sets in ask.pick(QUICK_PORTS, tuple(PORTS.items()), tuple(PORTS.items())):
                # Only a drop-tail port has a queue that serves probes first.
                if other == APART and port != "drop-tail":
                    continue
                for n in ask.pick((1,), (1, 2), (1, 2, 5)):
                    out.append(_case(ask, other, port, sets, n, run))
    return out


def _case(ask: Ask, other: str, port: str, sets: Mapping[str, object], n: int, run: int) -> Case:
    flows = []
    for k in range(2 * n):
        cc, start = (
            ("*", 0.01 + 0.13 * k) if k < n else (other.split(",", maxsplit=1)[0], OTHERS_START_S + 0.13 * (k - n))
        )
        flows.append({"from": f"s{k + 1}", "to": f"d{k + 1}", "cc": cc, "start": f"{start:.3f} s"})
    whole = {
        "run.duration": f"{ask.count(40, 80, 120)} s",
        "run.start_jitter": "100 ms",
        "source.dumbbell.pairs": 2 * n,
        "port.all.queue": f"{queue_packets(50)} packets",
        "flow": flows,
        **sets,
        **(SHARED if other == LEOCC else {}),
    }
    labels = {"other": other, "port": port, "flows": n, "run": run}
    return Case(FILE, MINE, labels, run, whole, KEEP)


def with_other(case: Case, other: str) -> Case:
    """The same case with one flow of OrbCC and another neighbour, or without a neighbour."""
    found = case.sets["flow"]
    assert isinstance(found, list)  # as in `_case`
    flows = [f | ({"cc": other} if k else {}) for k, f in enumerate(found)]
    kept = flows if other else flows[:1]
    pairs = {"source.dumbbell.pairs": len(kept), "flow": kept}
    return replace(case, labels={**case.labels, "other": other or "none"}, sets={**case.sets, **pairs})


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    n = int(o.case.labels["flows"])
    end_s = d.info["duration_ns"] / 1e9
    begin_s = OTHERS_START_S + SETTLED_S
    goodput, later = d.mean_mbps(begin_s, end_s), d.window(begin_s, end_s)
    with np.errstate(invalid="ignore"):
        rtt, base = (np.nanmean(d.columns[c][:, later], axis=1) for c in ("rtt_ns", "base_rtt_ns"))
    mine, theirs = goodput[:n].sum(), goodput[n:].sum()
    return {
        "orbcc_mbps": mine,
        "other_mbps": theirs,
        "share": mine / (mine + theirs),
        "goodput_mbps": mine + theirs,
        "orbcc_inflation": float((rtt / base)[:n].mean()),
        "other_inflation": float((rtt / base)[n:].mean()) if len(rtt) > n else float("nan"),
        "retransmits": sum(f["retransmits"] for f in d.flows),
    }


def name_of(other: str) -> str:
    """Label of the neighbour."""
    cc, *more = other.split(", ")
    return ", ".join([style.label(cc), *more])


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run."""
    return {"runs": frames.table(found, _row)}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on OrbCC's share of the port, and on its delay, by discipline and neighbour."""
    runs, out = t["runs"], []
    for port in dict.fromkeys(runs["port"]):
        for other in dict.fromkeys(runs["other"]):
            here = frames.pick(runs, port=port, other=other)
            if here.empty:
                continue
            name = name_of(other)
            for n in sorted(set(here["flows"])):
                flows = f"{n} OrbCC flow{'s' * (n > 1)} beside {n} of {name}"
                share = frames.average(here, "share", flows=n)
                claim = f"{port}: share of {flows}"
                out.append(bound(f"share-{port}-{other}-{n}", claim, SOURCE, "half of the port", share, *SHARE))
                delay = frames.average(here, "orbcc_inflation", flows=n)
                claim = f"{port}: RTT over base RTT of {flows}"
                out.append(bound(f"delay-{port}-{other}-{n}", claim, SOURCE, "minimal", delay, high=MOST_INFLATION))
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots share and delay of OrbCC by discipline and neighbour."""
    runs = t["runs"]
    counts = sorted(set(runs["flows"]))
    figure, axes = style.panels(2, len(counts), height=2.3, sharex=True)
    for row, n in zip(axes, counts, strict=True):
        here = frames.pick(runs, flows=n)
        for a, column, title in (
            (row[0], "share", "OrbCC's share of the goodput"),
            (row[1], "orbcc_inflation", "OrbCC's RTT over base RTT"),
        ):
            _bars(a, here, column)
            a.set_title(f"{title}, {n} flow{'s' * (n > 1)} each", loc="left")
        row[0].axhspan(*SHARE, color=style.SOFT, alpha=0.15, linewidth=0, zorder=0, label="within the bound")
        row[0].set_ylim(0, 1.02)
        row[1].axhspan(1, MOST_INFLATION, color=style.SOFT, alpha=0.15, linewidth=0, zorder=0)
        row[1].set_ylim(bottom=0.95)
    style.shared_legend(figure, axes[0][:1], 6)
    return {"neighbours": figure}


def _bars(a: Any, runs: pd.DataFrame, column: str) -> None:
    """Draws a group of bars per port.

    LeoCC with a separate queue for its probes, which only one port has, is hatched.
    """
    ports, others = (list(dict.fromkeys(runs[name])) for name in ("port", "other"))
    for j, port in enumerate(ports):
        there = [o for o in others if len(frames.pick(runs, port=port, other=o))]
        for i, other in enumerate(there):
            one = frames.pick(runs, port=port, other=other)[column]
            x, apart = j + (i - (len(there) - 1) / 2) * 0.22, other == APART
            scheme = LEOCC if apart else other
            name = f"beside {style.label(scheme)}{', probes apart' if apart else ''}" if j == 0 else None
            look = {"color": style.look(scheme)["color"], "hatch": "////" if apart else None, "edgecolor": "white"}
            a.bar(x, one.mean(), 0.2, label=name, linewidth=0, **look)
            label = "a run" if i == j == 0 else None
            a.plot([x] * len(one), one, ".", color="black", markersize=2.5, label=label)
    a.set_xticks(range(len(ports)), ports)


EXPERIMENTS = [
    Experiment(
        name="orbcc/neighbours",
        title="OrbCC beside other schemes on one port",
        figure="set aside, never measured",
        schemes=(MINE, *OTHERS[:3]),
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""One or two flows of OrbCC (full size: five, too) from the beginning, as many of another scheme from 10
s on, 50 ms, 100 Mbit/s, telemetry, one BDP of queue; starts jitter by up to 100 ms. The port is drop-tail, has CoDel,
fq_codel (a CoDel per flow), or a queue per flow served in turn without CoDel. Its telemetry is that of the whole port
in each case: rate, bytes queued, and what flows with telemetry sent. LeoCC's probes wait with the data; "probes apart":
a drop-tail port serves them first, as the study's simulator does.""",
        metrics="""From 30 s on. Share: OrbCC's flows' goodput over that of all. RTT over base RTT: mean over OrbCC's
flows. The table has both sides' goodput (Mbit/s), the others' delay and all retransmissions.""",
        evidence=why.evidence(cases, with_other, verdicts),
        captions={
            "neighbours": "Bars: means over runs; points: runs. LeoCC's probes wait with the data; hatched: they are "
            "served first. Grey: half of the port and a minimal delay, as the claims have them."
        },
    ),
]
