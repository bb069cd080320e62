# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Several bottlenecks in a row: OrbCC and LeoTCP, Fig. 4.

Metric: for every second of the final 500 RTTs min / max of the long flow's goodput and the largest of the three short
flows'; mean over all seconds and runs. Max-min fairness is 1, proportional fairness 1/3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee.figures import orbcc_evidence as evidence
from perigee.figures.orbcc_common import DEVIATIONS, MINE, PAPERS, SCHEMES, generator, theirs
from perigee.figures.orbcc_two_flows import KEEP, RTTS_MS, length_in_rtts, queue_packets
from perigee.study import frames, style
from perigee.study.model import Ask, Case, Experiment, Outcome, Tables
from perigee.study.stats import jain, ratio_of_means, ratios
from perigee.study.verdicts import Verdict, count, order, smallest, within

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = "orbcc/parking-lot.toml"
PUBLISHED = {"cubic": 1 / 3, "bbr": 1 / 3, "bbr3": 1 / 3, MINE: 1.0}
"""What the text says of Fig. 4: OrbCC approximates max-min fairness, the others are close to proportional fairness."""


def cases(ask: Ask) -> list[Case]:
    """RTTs x queues x runs x schemes; the long flow starts at uniform(0, 500 RTTs), as the study drew it."""
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
    """Ratio against RTT, a panel per queue."""
    runs = t["runs"]
    queues = sorted(set(runs["queue_bdp"]))
    figure, axes = style.panels(len(queues), 1, width=2.9 if len(queues) > 1 else 4.5, height=2.6, sharey=True)
    for a, bdp in zip(axes[0], queues, strict=True):
        for cc in frames.schemes(runs):
            one = frames.pick(runs, queue_bdp=bdp, cc=cc).groupby("rtt_ms")
            mean = one["ratio"].mean()
            error = style.error_bars(one["ratio_sd"].mean())
            a.errorbar(mean.index, mean, error, label=style.label(cc), capsize=2, elinewidth=0.6, **style.look(cc))
        for level, name in ((1, "max-min fair"), (1 / 3, "proportionally fair")):
            style.fair(a, name, level)
        here = set(frames.schemes(runs))
        style.stated(a, ((level, cc) for cc, level in PUBLISHED.items() if cc in here))
        a.set_title(f"queue {bdp:g} BDP", loc="left")
        a.set_xlabel("RTT, ms")
        a.set_ylim(-0.05, 1.1)
    axes[0][0].set_ylabel("long flow over best short flow")
    style.shared_legend(figure, axes[0], 4)
    return {"parking-lot": figure}


def verdicts(source: str) -> Callable[[Tables], list[Verdict]]:
    """OrbCC is max-min fair, the others proportionally fair or worse."""

    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]
        one = frames.pick(runs, queue_bdp=1.0)
        mine = smallest(one[one["cc"] == MINE].groupby("rtt_ms")["ratio"].mean())
        out = [within("orbcc", "OrbCC: smallest ratio over all RTTs (1 BDP)", source, "≈ 1 (max-min)", mine, 0.9)]
        by_rtt = {cc: one[one["cc"] == cc].groupby("rtt_ms")["ratio"].mean() for cc in ("cubic", "bbr", "bbr3")}
        low = {
            f"{style.label(cc)} ({r} ms: {v:.2f})": bool(v <= 0.5)
            for cc, found in by_rtt.items()
            for r, v in found.items()
        }
        words = "Cubic, BBRv1 and BBRv3: at most 0.5 at every RTT (1 BDP)"
        out.append(count("low", words, source, "near or below 0.33", low))
        cubic = frames.pick(runs, cc="cubic").groupby("queue_bdp")["ratio"].mean()
        if len(cubic) > 1:
            falling = [(f"{q:g} BDP", float(v)) for q, v in cubic.items()]
            out.append(order("cubic-queue", "Cubic: less fair with larger queues", source, falling))
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
    "parking-lot": "Ratio by RTT, a panel per queue. Bars: standard deviation over the seconds of a run, mean over "
    "runs. Triangles at the right edge: published, from the text (max-min or proportional fairness)."
}

WHY_PHASE = (
    "Only at 20 ms. A run is short there, and which of four equal, evenly paced flows finds a full drop-tail queue is "
    "a matter of phase: other starts and other queues give other ratios. The study's starts are as few draws."
)

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
        theirs=theirs(study),
        explained={"low": WHY_PHASE, "cubic-queue": "The runs are those of `orbcc/parking-lot`, whose page says why."},
        evidence=evidence.parking(cases) if study == "orbcc" else None,
        metrics=METRICS,
        captions=CAPTIONS,
    )
    for study, paper in PAPERS.items()
]
