# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Several bottlenecks in a row: OrbCC and LeoTCP, Fig. 4.

Metric: in each second of the final 500 RTTs, min / max of the goodput of the long flow and the
largest of the three short flows; mean over all seconds and runs. Max-min fairness is 1,
proportional fairness 1/3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain, ratio_of_means, ratios
from perigee_studies import frames, style
from perigee_studies.figures import orbcc_evidence as evidence
from perigee_studies.figures.orbcc_common import DEVIATIONS, INET, MINE, PAPERS, SCHEMES, generator
from perigee_studies.figures.orbcc_two_flows import KEEP, RTTS_MS, length_in_rtts, queue_packets
from perigee_studies.model import Ask, Case, Experiment, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, order, smallest, within

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

FILE = "orbcc/parking-lot.toml"
PROPORTIONAL, CLOSE = 1 / 3, 0.08
OTHERS = ("cubic", "bbr", "bbr3")
PUBLISHED = {**dict.fromkeys(OTHERS, PROPORTIONAL), MINE: 1.0}
"""Statements of the text on Fig. 4: OrbCC approximates max-min fairness, the others proportional
fairness."""


def cases(ask: Ask) -> list[Case]:
    """RTTs x queues x runs x schemes.

    The start of the long flow is uniform(0, 500 RTTs), as in the study.
    """
    out = []
    length = length_in_rtts(ask)
    for rtt_ms in ask.pick((20, 100), RTTS_MS[::2], RTTS_MS):
        for bdp in ask.pick((1.0,), (0.2, 1.0, 4.0), (0.2, 1.0, 4.0)):
            for run in range(1, ask.count(1, 2, 5) + 1):
                start_s = generator(run).uniform(0, 500) * rtt_ms / 1e3 * length / 2000
                sets = {
                    "run.duration": f"{length * rtt_ms / 1e3:g} s",
                    "source.parking_lot.rtt": f"{rtt_ms} ms",
                    "port.all.queue": f"{queue_packets(rtt_ms, bdp)} packets",
                    "flow.0.start": f"{start_s:.9f} s",
                }
                labels = {"rtt_ms": rtt_ms, "queue_bdp": bdp, "run": run, "length_rtts": length}
                out += [Case(FILE, cc, labels, run, sets, KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = int(o.case.labels["length_rtts"]) * float(o.case.labels["rtt_ms"]) / 1e3
    goodput = np.nan_to_num(d.mbps()[:, d.window(0.75 * end_s, end_s)])
    long, short = goodput[0], goodput[1:].max(axis=0)
    each = ratios(long, short)
    return {
        "ratio": each.mean(),
        "ratio_sd": each.std(),
        "ratio_of_means": ratio_of_means(long, short),
        "long_mbps": long.mean(),
        "short_mbps": goodput[1:].mean(),
        "jain": jain(goodput.mean(axis=1)),
    }


def draw(t: Tables) -> dict[str, Any]:
    """Plots the ratio against RTT, one panel per queue."""
    runs, linux = t["runs"], t.get("linux-runs")
    queues = sorted(set(runs["queue_bdp"]))
    figure, axes = style.panels(len(queues), 1, width=2.9 if len(queues) > 1 else 4.5, height=2.6, sharey=True)
    for a, bdp in zip(axes[0], queues, strict=True):
        for cc in frames.schemes(runs):
            style.over(a, frames.pick(runs, queue_bdp=bdp, cc=cc), "rtt_ms", "ratio", cc)
            if linux is not None:
                style.hollow_over(a, frames.pick(linux, queue_bdp=bdp), "rtt_ms", "ratio", cc)
        for level, name in ((1, "max-min fair"), (1 / 3, "proportionally fair")):
            style.fair(a, name, level)
        here = set(frames.schemes(runs))
        style.stated(a, ((level, cc) for cc, level in PUBLISHED.items() if cc in here))
        a.set_title(f"queue {bdp:g} BDP", loc="left")
        a.set_xlabel("RTT, ms")
        a.set_ylim(-0.05, 1.1)
    axes[0][0].set_ylabel("long flow over best short flow")
    if linux is not None:
        style.name_hollow(axes[0][0])
    style.shared_legend(figure, axes[0], 4)
    return {"parking-lot": figure}


ALIKE = 0.1
SIMILAR = f"0.2 and 4 BDP: mean ratio within {ALIKE:g} of that with 1 BDP"


def _similar(runs: pd.DataFrame) -> dict[str, bool]:
    """Whether the ratio is similar to that over one BDP, by scheme and queue."""
    mean = runs[runs["cc"].isin([MINE, *OTHERS])].groupby(["cc", "queue_bdp"])["ratio"].mean()
    return {
        f"{style.label(cc)} {q:g} BDP ({v:.2f} for {mean[cc, 1.0]:.2f})": bool(abs(v - mean[cc, 1.0]) <= ALIKE)
        for (cc, q), v in mean.items()
        if q != 1.0 and (cc, 1.0) in mean
    }


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explains with mean ratios by queue, for schemes that differ from the published ones."""
    mean = t["runs"].groupby(["cc", "queue_bdp"])["ratio"].mean()
    queues = sorted(set(t["runs"]["queue_bdp"]))
    said = {
        cc: f"{style.label(cc)} has "
        + ", ".join(f"{mean[cc, q]:.2f} with {q:g} BDP" for q in queues if (cc, q) in mean)
        for cc in OTHERS
        if cc in mean
    }
    return {
        cc: f"{words} (means over RTTs). What was tried stands among the [misses](misses.md)."
        for cc, words in said.items()
    }


def verdicts(source: str) -> Callable[[Tables], list[Verdict]]:
    """Claims that OrbCC is max-min fair and the others proportionally fair, with any queue."""

    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]
        one = frames.pick(runs, queue_bdp=1.0)
        mine = smallest(one[one["cc"] == MINE].groupby("rtt_ms")["ratio"].mean())
        out = [
            within(
                "orbcc",
                "OrbCC: smallest ratio over all RTTs (1 BDP)",
                source,
                "≈ 1 (max-min)",
                mine,
                0.9,
            )
        ]
        for cc in OTHERS:
            words = f"{style.label(cc)}, 1 BDP: mean ratio, close to proportional fairness"
            ours = frames.average(one, "ratio", "rtt_ms", cc=cc)
            low, high = (round(PROPORTIONAL + sign * CLOSE, 3) for sign in (-1, 1))
            out.append(within(cc, words, source, "closer to proportional fairness (1/3)", ours, low, high))
        away = runs.assign(away=(runs["ratio"] - PROPORTIONAL).abs())
        queues = sorted(set(runs["queue_bdp"]))
        if len(queues) > 1:
            rows = [
                (f"{q:g} BDP", frames.average(away, "away", "rtt_ms", cc="cubic", queue_bdp=q).value) for q in queues
            ]
            words = "Cubic: nearer to proportional fairness with larger queues (distance of the ratio)"
            out.append(order("cubic-queue", words, source, rows))
            out.append(count("similar", SIMILAR, source, "very similar", _similar(runs)))
        return out

    return check


METHOD = """Routers in a row with three links of 100 Mbit/s; a long flow crosses all, three short flows one each. All
have the RTT r = 20 to 200 ms (on access links). Queues of 0.2, 1 and 4 BDP. Short flows start at 0, the long one
within 500 r, runs last 2000 r. Window: the final 500 r."""
METRICS = """Ratio: for each second of the window min / max of the long flow's goodput and that of the short flow which
has most in this second; mean over seconds and runs. Max-min fairness gives 1, proportional fairness 1/3. In the table
also the ratio of means (`ratio_of_means`), Jain's index over the four mean goodputs (`jain`) and the goodputs
(`long_mbps`; `short_mbps`, the mean of the three), Mbit/s."""
CAPTIONS = {
    "parking-lot": "Ratio by RTT, a panel per queue. Lines: means over runs; dots: runs; hollow: Linux's schemes. "
    "Triangles at the right edge: published, from the text (max-min or proportional fairness)."
}

EXPERIMENTS = [
    Experiment(
        name=f"{study}/parking-lot",
        title="A long flow over three bottlenecks",
        figure=f"{paper}, Fig. 4",
        schemes=SCHEMES,
        cases=cases,
        tables=frames.per_run(_row),
        verdicts=verdicts(f"{paper}, Fig. 4"),
        draw=draw,
        method=METHOD,
        deviations=DEVIATIONS,
        theirs=INET,
        explained={"similar": "The runs are those of `orbcc/parking-lot`, whose page has variants of them."},
        explain=explain,
        evidence=evidence.parking(cases) if study == "orbcc" else None,
        metrics=METRICS,
        captions=CAPTIONS,
    )
    for study, paper in PAPERS.items()
]
