# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Two concurrent downloads over the geostationary service, which the study left to future work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames, style
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "Claypool et al.: one download at a time; two not measured"
FILE = "geo/competing.toml"
COUPLES = (("cubic", "cubic"), ("bbr", "bbr"), ("cubic", "bbr"), ("bbr", "cubic"))
"""Schemes of the first and the second flow."""
KEEP = Keep(("goodput_bps", "rtt_ns"))
BEGIN_S = 60.0
BASE_MS = 540.0


def cases(ask: Ask) -> list[Case]:
    """Couples x runs; each run has other losses and jitter."""
    out = []
    for run in range(1, ask.count(1, 5, 20) + 1):
        for one, two in ask.pick(COUPLES[:1] + COUPLES[2:3], COUPLES, COUPLES):
            sets = {"flow.0.cc": one, "flow.1.cc": two, "run.duration": f"{ask.count(90, 150, 300)} s"}
            out.append(Case(FILE, "cubic", {"first": one, "second": two, "run": run}, run, sets, KEEP))
    return out


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    one, two = d.mean_mbps(BEGIN_S, end_s)
    later, late = d.window(BEGIN_S, end_s), d.mean_mbps(end_s - 30, end_s)
    return {
        "first_mbps": one,
        "second_mbps": two,
        "share": two / (one + two),
        "late_share": late[1] / late.sum(),
        "goodput_mbps": one + two,
        "rtt_ms": float(np.nanmean(d.columns["rtt_ns"][:, later])) / 1e6,
        "retransmits": sum(f["retransmits"] for f in d.flows),
        "timeouts": sum(f["timeouts"] for f in d.flows),
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run; its schemes are those of the couple."""
    return {"runs": frames.table(found, _row).drop(columns="cc")}


def couple(one: str, two: str) -> str:
    """Label of a couple."""
    return f"{style.label(two)} after {style.label(one)}"


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on the second flow's share, the sum of both flows, and the RTT, by couple."""
    runs, out = t["runs"], []
    for one, two in [c for c in COUPLES if len(frames.pick(runs, first=c[0], second=c[1]))]:
        here, words, key = frames.pick(runs, first=one, second=two), couple(one, two), f"{one}-{two}"
        share = frames.average(here, "share")
        out.append(bound(f"share-{key}", f"{words}: share of the flow that came", SOURCE, "half", share, 0.4, 0.6))
        both = frames.average(here, "goodput_mbps")
        out.append(bound(f"sum-{key}", f"{words}: goodput of both", SOURCE, "the link", both, 115, unit="Mbit/s"))
        rtt = frames.average(here, "rtt_ms")
        out.append(bound(f"rtt-{key}", f"{words}: mean RTT", SOURCE, "as of one flow", rtt, high=1500, unit="ms"))
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots the goodput of both flows, and the RTT, by couple."""
    runs = t["runs"]
    there = [c for c in COUPLES if len(frames.pick(runs, first=c[0], second=c[1]))]
    figure, axes = style.panels(2, 1, height=2.5)
    for j, (one, two) in enumerate(there):
        here = frames.pick(runs, first=one, second=two)
        for i, (column, cc) in enumerate((("first_mbps", one), ("second_mbps", two))):
            y = j + (i - 0.5) * 0.34
            axes[0][0].barh(y, here[column].mean(), 0.3, color=style.look(cc)["color"], hatch="///" if i else None)
            axes[0][0].plot(here[column], [y] * len(here), ".", color="black", markersize=2.5)
        axes[0][1].barh(j, here["rtt_ms"].mean(), 0.5, color="#bdbdbd")
        axes[0][1].plot(here["rtt_ms"], [j] * len(here), ".", color="black", markersize=2.5)
    axes[0][1].axvline(BASE_MS, color=style.SOFT, linestyle="--", linewidth=0.9)
    axes[0][0].set_yticks(range(len(there)), [couple(*c) for c in there])
    axes[0][1].set_yticks(range(len(there)), [])
    for a, title in ((axes[0][0], "goodput, Mbit/s"), (axes[0][1], "mean RTT, ms")):
        a.set_ylim(len(there) - 0.4, -0.6)
        a.set_xlabel(title)
    return {"competing": figure}


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim."""
    out = {}
    for one, two in COUPLES:
        here = frames.pick(t["runs"], first=one, second=two)
        share, late = (frames.average(here, column) for column in ("share", "late_share"))
        words = f"In the last 30 s the share is {late} ({late.interval})"
        grows = f"{words}, more than the {share} from 60 s on: the flow that came still grows, at this RTT for minutes."
        out[f"share-{one}-{two}"] = grows if late.value > share.value + 0.02 else f"{words}: it stays there."
    return out


EXPERIMENTS = [
    Experiment(
        name="geo/competing",
        title="Two downloads over the geostationary service",
        figure="never measured",
        schemes=("cubic", "bbr"),
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""Two downloads of 1 GB over the service of the downloads experiment (144 Mbit/s, 36 MB of queue that
drops at random from 18 MB on, RTTs and losses as the study's pings had them), the second 30 s later; each run has other
RTTs and losses, and lasts 150 s (300 s in the full size).""",
        metrics="""Goodput of each flow and of both, Mbit/s, and the mean RTT of both, ms, from 60 s on. Share: of the
second flow in both.""",
        explain=explain,
        captions={
            "competing": "Bars: means over runs (plain: who was first, hatched: who came, in the colours of their "
            "schemes); points: runs; dashed: the RTT without queues."
        },
    ),
]
