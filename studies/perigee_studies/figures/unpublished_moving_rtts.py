# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fairness between flows with unequal RTTs on moving paths.

Published measurements are on dumbbells.

Two flows go from one dish to two cities, one near and one far, so that the dish's radio link is the
bottleneck of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames, style
from perigee_studies.figures import unpublished_moving_why as why
from perigee_studies.figures.orbcc_common import MINE
from perigee_studies.figures.orbcc_constellation_cases import FILE, starts
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound, order

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "dumbbells; moving paths not measured"
SCHEMES = ("cubic", "bbr", "bbr3", "leocc", "vivace", MINE)
ENDS = {
    "from New York: Lawrence, London": ("new-york", "lawrence", "london"),
    "from New York: St. John's, Shanghai": ("new-york", "st-johns", "shanghai"),
}
"""The common sender, a near receiver and a far receiver."""
TICKS = (0.25, 0.5, 1, 2, 4, 8)
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))


def cases(ask: Ask) -> list[Case]:
    """Ends x runs x schemes; each run starts at another time of the orbits."""
    out = []
    for run in range(1, ask.count(1, 5, 20) + 1):
        for ends in ask.pick(tuple(ENDS)[:1], tuple(ENDS), tuple(ENDS)):
            common, *others = ENDS[ends]
            sets: dict[str, object] = {
                "run.duration": f"{ask.count(40, 100, 300)} s",
                "run.vary": "phase",
                "source.constellation.ground_ports": "per-node",
                "flow": [
                    {"from": common, "to": to, "cc": "*", "start": start}
                    for to, start in zip(others, starts(run), strict=True)
                ],
            }
            labels = {"ends": ends, "run": run}
            out += [Case(FILE, cc, labels, run, sets, KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    window = d.window(end_s / 2, end_s)
    near, far = d.mean_mbps(end_s / 2, end_s)
    base = np.nanmean(d.columns["base_rtt_ns"][:, window], axis=1) / 1e6
    return {
        "near_mbps": near,
        "far_mbps": far,
        "goodput_mbps": near + far,
        "far_over_near": far / near,
        "fair": min(near, far) / max(near, far),
        "near_rtt_ms": float(base[0]),
        "far_rtt_ms": float(base[1]),
        "inflation": d.inflation(window),
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run."""
    return {"runs": frames.table(found, _row).rename(columns={"cc": "scheme"})}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on the share of the far flow, and on OrbCC's fairness compared with other schemes."""
    runs, out = t["runs"], []
    for ends in dict.fromkeys(runs["ends"]):
        here = frames.pick(runs, ends=ends)
        there = [s for s in SCHEMES if s in set(here["scheme"])]
        for cc in there:
            share = frames.average(here, "fair", scheme=cc)
            words = f"{ends}: {style.label(cc)}: smaller over larger goodput"
            out.append(bound(f"fair-{ends}-{cc}", words, SOURCE, "fair", share, 0.8))
        for cc in [s for s in there if s != MINE and MINE in there]:
            both = [(style.label(s), frames.average(here, "fair", scheme=s).value) for s in (MINE, cc)]
            words = f"{ends}: OrbCC is fairer than {style.label(cc)}"
            out.append(order(f"fairer-{ends}-{cc}", words, SOURCE, both, kind=Kind.UNPUBLISHED))
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots far over near goodput, one point per run, and both goodputs."""
    runs = t["runs"]
    ends, names = list(dict.fromkeys(runs["ends"])), [s for s in SCHEMES if s in set(runs["scheme"])]
    figure, axes = style.panels(2, len(ends), width=3.2, height=0.27 * len(names) + 1.0)
    for row, each in zip(axes, ends, strict=True):
        here = frames.pick(runs, ends=each)
        for j, cc in enumerate(names):
            one = frames.pick(here, scheme=cc)
            row[0].plot(one["far_over_near"], [j] * len(one), ".", color="#999999", markersize=4,
                        label="a run" if j == 0 else None)  # fmt: skip
            row[0].plot(one["far_over_near"].mean(), j, "D", color="#08306b", markersize=4,
                        label="mean" if j == 0 else None)  # fmt: skip
            row[1].barh(j, one["near_mbps"].mean(), 0.6, color="#6baed6", label="near" if j == 0 else None)
            row[1].barh(j, one["far_mbps"].mean(), 0.6, left=one["near_mbps"].mean(), color="#08306b",
                        label="far" if j == 0 else None)  # fmt: skip
        row[0].axvline(1, color=style.SOFT, linewidth=0.9, linestyle="--")
        row[0].set_xscale("log")
        row[0].set_xlim(0.2, 14)
        row[0].set_xticks(TICKS, [f"{x:g}" for x in TICKS])
        row[0].minorticks_off()
        row[0].set_xlabel("goodput of the far flow over the near one's")
        row[1].set_xlabel("goodput, Mbit/s")
        for a in row:
            a.set_yticks(range(len(names)), [style.label(s) for s in names] if a is row[0] else [])
            a.set_ylim(len(names) - 0.4, -0.6)
        rtts = f"{here['near_rtt_ms'].mean():.0f} and {here['far_rtt_ms'].mean():.0f} ms"
        row[0].set_title(f"{each} ({rtts})", loc="left")
    style.shared_legend(figure, axes[0])
    return {"moving-rtts": figure}


EXPERIMENTS = [
    Experiment(
        name="orbcc/moving-rtts",
        title="Unequal RTTs on paths that move",
        figure="never measured",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""Two flows from one station to a near and to a far one over the study's constellation (72 x 22
satellites, shortest paths by delay, anew every 100 ms), links of 100 Mbit/s. The sender's radio has one queue for both
(`ground_ports = "per-node"`) and is their common bottleneck, while the rest of each path moves on its own. Each run
begins at another time of the orbits. The second half counts.""",
        metrics="""Smaller over larger goodput of both flows' means; far over near keeps its direction. Base RTTs in
the picture: means over time and runs, without queues. Orders are tested run by run.""",
        evidence=why.evidence(cases, ENDS, verdicts),
        captions={"moving-rtts": "Dashed: equal shares. Bars: means over runs, both flows one behind the other."},
    ),
]
