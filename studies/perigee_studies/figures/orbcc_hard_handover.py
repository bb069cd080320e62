# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Hard handovers: one flow, outages of fixed length (LeoTCP, Fig. 8); many flows (OrbCC, Fig. 8).

One flow: mean of the 1 s goodput samples that end between d and d + 2.5 s after the start of an
outage of length d; the first of these contains the outage. Many flows, in the window from 105 to
155 s: sum of goodputs over 100 Mbit/s; mean over flows and seconds of the RTT over 50 ms.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain
from perigee_studies import frames, style
from perigee_studies.figures import orbcc_evidence as evidence
from perigee_studies.figures.orbcc_common import DEVIATIONS, INET, MINE, SCHEMES, generator
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, near, order, within

if TYPE_CHECKING:
    import pandas as pd

MANY = ("cubic", "bbr", "bbr3", "satcp", "leocc_omnet", MINE, "orbcc")
MODEL_MBPS = {20: 93.7, 60: 85.2, 100: 85.2, 140: 85.2, 200: 85.2}
"""Goodput of LeoTCP in an independent model of the protocol, by length of the outage in ms."""
FLOWS = (5, 10, 20)
HANDOVERS_S = tuple(range(15, 250, 15))
WINDOW_S = (105, 155)


def one_cases(ask: Ask) -> list[Case]:
    """Outage lengths x runs; the flow starts at uniform(0, 0.5) s."""
    out = []
    for d in ask.pick((20, 100, 200), (20, 60, 100, 140, 200), range(20, 201, 20)):
        for run in range(1, ask.count(1, 3, 5) + 1):
            sets = {
                "schedule.outage": f"{d} ms",
                "flow.0.start": f"{generator(run).uniform(0, 0.5):.9f} s",
                "run.duration": f"{ask.count(60, 300, 300)} s",
            }
            labels = {"outage_ms": d, "run": run}
            keep = Keep(("goodput_bps",))
            out += [Case("leotcp/hard-handover.toml", cc, labels, run, sets, keep) for cc in ask.schemes(SCHEMES)]
    return out


def _one(o: Outcome) -> dict[str, Any]:
    d, outage_s = o.digest, float(o.case.labels["outage_ms"]) / 1e3
    goodput, t = np.nan_to_num(d.mbps(0)), d.t_s
    phase = t - 5 * np.floor(t / 5)
    chosen = (t > 5) & (phase >= outage_s - 1e-9) & (phase <= outage_s + 2.5 + 1e-9) & (phase > 0)
    return {"goodput_mbps": goodput[chosen].mean(), "whole_mbps": goodput.mean(), "timeouts": d.flows[0]["timeouts"]}


def draw_one(t: Tables) -> dict[str, Any]:
    """Plots goodput after handovers against the length of the outage."""
    runs = t["runs"]
    figure, axes = style.panels(1, 1, width=4.2, height=2.8)
    a = axes[0][0]
    for cc in frames.schemes(runs):
        style.over(a, runs[runs["cc"] == cc], "outage_ms", "goodput_mbps", cc)
        style.hollow_over(a, t.get("linux-runs"), "outage_ms", "goodput_mbps", cc)
    a.set_xlabel("outage, ms")
    a.set_ylabel("goodput in 2.5 s after it, Mbit/s")
    a.set_ylim(bottom=0)
    style.shared_legend(figure, axes[0])
    return {"hard-handover": figure}


def check_one(t: Tables) -> list[Verdict]:
    """Compares one flow over outages of increasing length with the paper's figure and the model."""
    runs, out = t["runs"], []
    for d, published in MODEL_MBPS.items():
        ours = frames.average(runs, "goodput_mbps", cc=MINE, outage_ms=d)
        if ours.n:
            source = "independent model of the protocol"
            out.append(
                near(
                    f"leotcp-{d}",
                    f"LeoTCP: goodput after outages of {d} ms",
                    source,
                    published,
                    ours,
                    4,
                    "Mbit/s",
                    kind=Kind.MODEL,
                )
            )
    short = runs[runs["outage_ms"] == runs["outage_ms"].min()]
    names = [MINE, "bbr3", "bbr", "cubic"]
    values = dict(zip(names, frames.by_scheme(short, "goodput_mbps", names, "mean"), strict=True))
    source = "LeoTCP, Fig. 8"
    for cc in ("bbr", "bbr3"):
        rows = [values[MINE], values[cc], values["cubic"]]
        out.append(order(f"short-{cc}", f"short outages: LeoTCP before {style.label(cc)} before Cubic", source, rows))
    return out


@lru_cache(maxsize=1)
def outages_ms() -> dict[int, list[int]]:
    """Lengths of outages from one generator with seed 1, drawn for 5, then 10, then 20 flows."""
    draw = random.Random(1)
    return {n: [draw.randint(45, 120) for _ in HANDOVERS_S] for n in FLOWS}


def many_cases(ask: Ask) -> list[Case]:
    """Flow k of n starts at (k + 1) 100 / n ± 2.5 s."""
    out = []
    for n in FLOWS:
        for run in range(1, ask.count(1, 5, 5) + 1):
            draw = generator(run + n)
            end_s = ask.count(155, 250, 250)
            starts = [draw.uniform((k + 1) * 100 / n - 2.5, (k + 1) * 100 / n + 2.5) for k in range(n)]
            sets: dict[str, object] = {
                "source.dumbbell.pairs": n,
                "run.duration": f"{end_s} s",
                "change": [
                    {"at": f"{t} s", "outage": f"{ms} ms"}
                    for t, ms in zip(HANDOVERS_S, outages_ms()[n], strict=True)
                    if t < end_s
                ],
                "flow": [
                    {"from": f"s{k}", "to": f"d{k}", "cc": "*", "start": f"{s:.9f} s"} for k, s in enumerate(starts, 1)
                ],
            }
            labels, keep = {"flows": n, "run": run}, Keep(("goodput_bps", "rtt_ns"))
            out += [Case("orbcc/many-flow-handover.toml", cc, labels, run, sets, keep) for cc in ask.schemes(MANY)]
    return out


def _many(o: Outcome) -> dict[str, Any]:
    d = o.digest
    mask = d.window(*WINDOW_S)
    goodput = np.nan_to_num(d.mbps()[:, mask])
    rtt = d.columns["rtt_ns"][:, mask] / 1e6
    # A flow that a full queue starves for the entire window has no RTT.
    rtt = rtt[~np.isnan(rtt).all(axis=1)]
    return {
        "goodput": goodput.sum(axis=0).mean() / 100,
        "delay": np.nanmean(np.nanmean(rtt, axis=1)) / 50,
        "delay_by_sample": np.nanmean(d.mean_rtt_ms(*WINDOW_S)) / 50,
        "jain": jain(goodput.mean(axis=1)),
    }


def draw_many(t: Tables) -> dict[str, Any]:
    """Plots goodput against delay, best at the upper right: means, and each run."""
    linux = t.get("linux-runs")

    def mark(a: Any, one: pd.DataFrame, cc: str) -> None:
        style.cloud(a, one["delay"].tolist(), one["goodput"].tolist(), cc)
        if linux is not None and len(one):
            other = frames.pick(linux, cc=cc, flows=one["flows"].iloc[0])
            style.cloud(a, other["delay"].tolist(), other["goodput"].tolist(), cc, linux=True)

    figure = frames.efficiency_panels(t["runs"], "RTT / 50 ms", mark, linux=linux is not None)
    for a in figure.axes:
        style.published(a, AROUND, style.look("bbr")["color"], None)
    return {"many-flows": figure}


AROUND = 2
"""The published delay of BBRv1 and BBRv3, over the base RTT."""


def check_many(t: Tables) -> list[Verdict]:
    """Compares many flows with simultaneous outages with the paper's figure."""
    runs = t["runs"]
    out: list[Verdict] = []
    counts = sorted(set(runs["flows"]))
    for n in counts:
        out += _check_flows(runs[runs["flows"] == n], f"{n} flows", str(n))
    use = {(cc, n): frames.average(runs, "goodput", cc=cc, flows=n) for cc in HIGH for n in counts}
    high = {f"{style.label(cc)}, {n} flows": mine.value >= HIGH[cc] for (cc, n), mine in use.items() if mine.n}
    words = "OrbCC, Cubic and SaTCP: goodput with 5, 10 and 20 flows"
    return [*out, count("high", words, "OrbCC, Fig. 8", "high", high)]


HIGH = {MINE: 0.92, "cubic": 0.9, "satcp": 0.9}
"""Thresholds for a high total goodput, over the rate of the link."""


def _check_flows(here: pd.DataFrame, flows: str, n: str) -> list[Verdict]:
    source, delay = "OrbCC, Fig. 8", frames.average(here, "delay", cc=MINE)
    out = [within(f"orbcc-delay-{n}", f"OrbCC, {flows}: delay", source, "minimal", delay, high=1.10)]
    for cc in ("bbr", "bbr3"):
        words = f"{style.label(cc)}, {flows}: delay"
        out.append(
            within(
                f"{cc}-{n}",
                words,
                source,
                f"around {AROUND}",
                frames.average(here, "delay", cc=cc),
                1.6,
                2.6,
                kind=Kind.NUMBER,
            )
        )
    names = [cc for cc in frames.schemes(here) if cc not in {"cubic", "satcp"}]
    low = min(frames.by_scheme(here, "delay", ["cubic", "satcp"], "mean"), key=lambda v: v[1])
    top = max(frames.by_scheme(here, "delay", names, "mean"), key=lambda v: v[1], default=("", float("nan")))
    out.append(order(f"largest-{n}", f"{flows}: delay of Cubic and SaTCP largest", source, [low, top]))
    leo = frames.by_scheme(here, "delay", ["leocc_omnet"], "mean")
    others = max(frames.by_scheme(here, "delay", [MINE, "bbr", "bbr3"], "mean"), key=lambda v: v[1])
    out.append(order(f"leocc-{n}", f"{flows}: LeoCC's delay above both BBRs and OrbCC", source, [*leo, others]))
    return out


METHOD_ONE = """One flow, 100 Mbit/s, 50 ms, queue 432 packets; from 5 s on every 5 s an outage of 20 to 200 ms that
loses all packets at the link."""
METHOD_MANY = """5, 10 or 20 flows that join over 100 s, 100 Mbit/s, 50 ms, queue 2158 packets (5 BDP); every 15 s an
outage of 45 to 120 ms, drawn as the study did. Window 105 to 155 s (the script's; the text says 100 to 150 s)."""
EXPERIMENTS = [
    Experiment(
        name="leotcp/hard-handover",
        title="Hard handover of one flow",
        figure="LeoTCP, Fig. 8",
        schemes=SCHEMES,
        cases=one_cases,
        tables=frames.per_run(_one),
        verdicts=check_one,
        draw=draw_one,
        method=METHOD_ONE,
        deviations=DEVIATIONS,
        theirs=INET,
        metrics="""Goodput after an outage of length d: mean of the samples of 1 s that end between d and d + 2.5 s
after it began, over all outages, Mbit/s: samples are whole seconds, so that these are the two that end 1 and 2 s after
it began, and the first contains the outage. Beside it the mean of the whole run (`whole_mbps`).""",
        captions={"hard-handover": "Lines: means over runs; dots: runs; hollow: Linux's schemes."},
    ),
    Experiment(
        name="orbcc/many-flow-handover",
        title="Hard handovers of 5, 10 and 20 flows",
        figure="OrbCC, Fig. 8",
        schemes=MANY,
        cases=many_cases,
        tables=frames.per_run(_many),
        verdicts=check_many,
        draw=draw_many,
        method=METHOD_MANY,
        deviations=DEVIATIONS,
        theirs=INET,
        evidence=evidence.many(many_cases),
        metrics="""Goodput: sum of all flows', mean of the window, over 100 Mbit/s. Delay: mean over the flows of the
mean of their seconds' RTTs, over 50 ms (`delay_by_sample`: each sample counts alike). Jain's index over the mean
goodputs (`jain`).""",
        captions={
            "many-flows": "Means over runs, with a dot for each run; the upper right is best. Hollow: Linux's schemes. "
            "Dotted: the published delay of both BBRs, around 2."
        },
    ),
]
