# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The initial phase: OrbCC and LeoTCP, Fig. 10 and the RTTs of the text.

Metrics: mean goodput of the first 50 flows and of each group of late flows in intervals of 0.5 s;
mean RTTs as printed by the authors' script, over the first 100 recorded samples of flows (their
recorder omits samples equal to the previous one), and mean RTTs of the first 50 flows during their
first 100 base RTTs (10 s).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames, style
from perigee_studies.figures.orbcc_common import DEVIATIONS, MINE, PAPERS, generator
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, near, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

FILE = "orbcc/initial-phase.toml"
VARIANTS: dict[str, Mapping[str, object]] = {"with": {}, "without": {"cc.orbcc-repro.initial_phase": False}}
JOINS = {10: (50,), 20: (51, 52), 30: (53, 54, 55, 56), 40: tuple(range(57, 65))}
"""Flows that join, by second."""
PAYLOAD_MBPS = 200 * 1448 / 1507
PUBLISHED = {
    "orbcc": {"first": (104.68, 104.13), "join": (105.48, 104.18)},
    "leotcp": {"first": (113.50, 103.05), "join": (105.53, 104.18)},
}
"""RTT in ms with and without the phase."""
FIRST = {"orbcc": "rtt_first_ms", "leotcp": "rtt_samples_ms"}
"""Column for the text's "first 100 RTTs": 10 s, or 100 recorded samples."""
SAMPLES = 100
"""Number of recorded samples of a flow that the authors' script averages."""
REGULAR = {"run.host_jitter": "0 s", "run.rtt_spread": 0.0, "run.rtt_changes": SAMPLES}
"""Equal samples occur only without jitter at hosts, as in the authors' simulator; start times are
drawn, so that runs differ."""


def cases(ask: Ask) -> list[Case]:
    """50 flows start within half a second, and 15 later."""
    out = []
    for run in range(1, ask.count(1, 3, 5) + 1):
        draw = generator(run)
        starts = [draw.uniform(0.7, 1.2) for _ in range(50)] + [float(s) for s, who in JOINS.items() for _ in who]
        flows = [{"from": f"s{k}", "to": f"d{k}", "cc": "*", "start": f"{s:.9f} s"} for k, s in enumerate(starts, 1)]
        for variant, sets in VARIANTS.items():
            labels: dict[str, str | float | int] = {"variant": variant, "run": run}
            keep = Keep(("goodput_bps", "rtt_ns"), events=("rtt-change",))
            out.append(Case(FILE, MINE, labels, run, {"flow": flows, **REGULAR, **sets}, keep))
    return out


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run, and half seconds of each group."""
    return {"runs": frames.table(found, _row), "series": frames.series(found, _halves)}


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    after = {s: d.mean_mbps(s + 0.5, s + 1)[list(who)].mean() for s, who in JOINS.items()}
    old = d.mean_mbps(8, 10)[:50].mean(), d.mean_mbps(10, 12)[:50].mean()
    return {
        "rtt_first_ms": d.mean_rtt_ms(1.0, 11.2)[:50].mean(),
        "rtt_samples_ms": recorded_ms(d.events),
        "rtt_join_ms": recorded_ms(d.events, JOINS[40]),
        "rtt_all_ms": _overall(d.flows),
        **{f"join{s}_mbps": v for s, v in after.items()},
        "reach10_s": _reach(o, 10),
        "dip10": old[1] / old[0] / (50 / 51),
    }


def recorded_ms(events: Sequence[tuple[float, str, int, float]], flows: Sequence[int] | None = None) -> float:
    """Mean recorded RTT sample in ms of some or all flows, pooled as by the authors' script."""
    found = [v for _, kind, flow, v in events if kind == "rtt-change" and (flows is None or flow in flows)]
    return 1e3 * float(np.mean(found)) if found else float("nan")


def _overall(flows: Sequence[Mapping[str, Any]]) -> float:
    """Mean of all samples of all flows, ms."""
    return float(1e-6 * sum(f["rtt_sum_ns"] for f in flows) / max(1, sum(f["rtt_samples"] for f in flows)))


def _reach(o: Outcome, second: int) -> float:
    """Seconds until flows that join at a second have 90 % of their share, as 0.5 s means."""
    d, who = o.digest, list(JOINS[second])
    share = PAYLOAD_MBPS / (who[-1] + 1)
    for k in range(20):
        begin = second + k / 2
        if d.mean_mbps(begin, begin + 0.5)[who].mean() >= 0.9 * share:
            return k / 2 + 0.5
    return float("nan")


def _halves(o: Outcome) -> list[dict[str, Any]]:
    d = o.digest
    groups = {0: tuple(range(50)), **JOINS}
    rows = []
    for k in range(int(d.t_s[-1] * 2)):
        goodput = d.mean_mbps(k / 2, k / 2 + 0.5)
        for second, who in groups.items():
            if k / 2 >= second:
                rows.append({"t_s": k / 2 + 0.5, "joined_s": second, "goodput_mbps": goodput[list(who)].mean()})
    return rows


def draw(study: str) -> Callable[[Tables], dict[str, Any]]:
    """Plots goodput of the first and the joining flows, with and without the phase.

    Also plots RTTs, with the published ones.
    """

    def pictures(t: Tables) -> dict[str, Any]:
        figure, axes = style.panels(3, 1, width=3.0, height=2.6)
        _over_time(t["series"], axes[0][:2])
        _bars(t["runs"], axes[0][2], study)
        style.shared_legend(figure, axes[0], 7)
        return {"initial-phase": figure}

    return pictures


def _bars(runs: pd.DataFrame, a: Any, study: str) -> None:
    """Plots mean RTTs by phase of the run, with and without the initial phase."""
    first = "first 50,\nfirst 10 s" if study == "orbcc" else "all, first\n100 samples"
    groups = {"first": first, "join": "eight that join,\n100 samples"}
    for i, key in enumerate(groups):
        for k, (variant, shade) in enumerate(zip(VARIANTS, (1.0, 0.45), strict=True)):
            one = frames.pick(runs, variant=variant)[_column(study, key)]
            x = i + (k - 0.5) * 0.4
            name = f"{variant} initial phase" if i == 0 else None
            a.bar(x, one.mean(), 0.36, color=style.look(MINE)["color"], alpha=shade, label=name)
            style.dots(a, x, one.tolist(), 0.16)
            style.tick(a, x, 0.16, PUBLISHED[study][key][k])
    a.plot([], [], color="black", linewidth=1.4, label="published")
    a.set_xticks(range(len(groups)), list(groups.values()))
    a.set_ylim(bottom=100)
    a.set_title("mean RTT, ms (path: 100)", loc="left")


def _over_time(s: pd.DataFrame, axes: Any) -> None:
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
    for a, variant in zip(axes, VARIANTS, strict=True):
        mine = s[s["variant"] == variant]
        for i, (joined, one) in enumerate(mine.groupby("joined_s")):
            by_time = one.groupby("t_s")["goodput_mbps"]
            if joined == 0:
                a.plot(by_time.mean(), color="black", linestyle="--", label="first 50 flows (mean)")
                continue
            name = f"{len(JOINS[int(joined)])} from {int(joined)} s on"
            a.plot(by_time.mean(), color=colours[i - 1], linewidth=1, label=name)
            a.fill_between(
                by_time.min().index, by_time.min(), by_time.max(), color=colours[i - 1], alpha=0.2, linewidth=0
            )
        a.set_title(f"{variant} initial phase", loc="left")
        a.set_xlabel("time, s")
        a.set_ylim(0, 6)
    axes[0].set_ylabel("goodput of a flow, Mbit/s")


def verdicts(study: str) -> Callable[[Tables], list[Verdict]]:
    """Compares a joining flow, with and without the initial phase, with the paper and the model."""
    source = f"{PAPERS[study]}, Fig. 10"

    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]
        fast, slow = (frames.average(runs, "reach10_s", variant=v) for v in VARIANTS)
        dip = frames.average(runs, "dip10", variant="with")
        words = "the others' goodput changes by the share only"
        return [
            *_rtts(runs, study),
            *_joins(runs),
            within("fast", "with the phase: time to 90 % of the share", source, "quickly", fast, high=1.5, unit="s"),
            within("slow", "without it", source, "a large amount of RTTs", slow, 3, unit="s"),
            within("dip", words, source, "not affected", dip, 0.95, 1.05),
        ]

    return check


def _column(study: str, key: str) -> str:
    return FIRST[study] if key == "first" else f"rtt_{key}_ms"


def _rtts(runs: pd.DataFrame, study: str) -> list[Verdict]:
    out = []
    first = {
        "orbcc": "mean RTT of the first 50 flows in their first 100 RTTs",
        "leotcp": "mean RTT of all flows in their first 100 recorded samples",
    }
    words = {
        "first": first[study],
        "join": "mean RTT of the eight that join at 40 s, in their first 100 recorded samples",
    }
    tolerances_ms = {"first": (1.0, 0.5), "join": (1.5, 0.5)}
    source = f"{PAPERS[study]}, Fig. 10 and text"
    for key, values in PUBLISHED[study].items():
        for variant, published, tolerance_ms in zip(VARIANTS, values, tolerances_ms[key], strict=True):
            ours = frames.average(runs, _column(study, key), variant=variant)
            claim = f"{words[key]}, {variant} initial phase"
            out.append(near(f"{key}-{variant}", claim, source, published, ours, tolerance_ms, "ms"))
    return out


def _joins(runs: pd.DataFrame) -> list[Verdict]:
    out = []
    source = "independent model of the protocol"
    for second, values in ((10, (3.5, 1.5)), (40, (2.6, 1.3))):
        for variant, published in zip(VARIANTS, values, strict=True):
            ours = frames.average(runs, f"join{second}_mbps", variant=variant)
            claim = f"goodput 1 s after joining at {second} s, {variant} initial phase"
            out.append(
                near(f"goodput{second}-{variant}", claim, source, published, ours, 0.3, "Mbit/s", kind=Kind.MODEL)
            )
    return out


METRICS = """RTT: as the authors' script prints it, the mean over the first 100 recorded samples of each flow, of all
flows (LeoTCP) or of the eight that join at 40 s; a sample is recorded where it differs from the flow's sample before,
in milliseconds. OrbCC's first 100 RTTs: mean over the samples of the first 50 flows from 1.0 to 11.2 s, ms. Goodput 1
s after joining: mean of the new flows from 0.5 to 1 s after, Mbit/s. Time to 90 % of the share: until the mean of
half a second is 90 % of an equal share of the payload's rate, s. The others' goodput: of the first 50 flows from 10
to 12 s over that from 8 to 10 s and over 50/51."""
CAPTIONS = {
    "initial-phase": "Goodput: means of half seconds over the flows of a group and over runs; shades: smallest to "
    "largest run. Right: mean RTTs, dots: runs; black lines: published (text)."
}
METHOD = """65 flows of 100 ms over 200 Mbit/s, queue 863 packets (half a BDP): 50 start between 0.7 and 1.2 s, 1, 2,
4 and 8 more at 10, 20, 30 and 40 s. With and without OrbCC's initial phase. What both texts call the first 100 RTTs
are in the authors' script (printRTT.py) the first 100 samples that their recorder keeps of each flow, and the
recorder leaves out samples that repeat the one before: with timestamps of a millisecond most do on a path at rest, so
that queues count for more. LeoTCP's 113.50 and 103.05 ms are this mean over all 65 flows, and the numbers for the
eight that join, in both texts, are it over these eight. OrbCC's 104.68 and 104.13 ms are not: they are near the mean
over all samples of the run, which the script prints as well (`rtt_all_ms` in the data), and near the mean over 10 s
of time, which the claim takes."""
WHY_LATE = (
    "The authors' code jumps once, at the first reference update after the first acknowledgement, and keeps the new "
    'window (`initial_jump = "once"`): a flow that joins others always has its jump. A difference that is left is not '
    "one of a missed jump."
)
EXPERIMENTS = [
    Experiment(
        name=f"{study}/initial-phase",
        title="Flows that join many others",
        figure=f"{paper}, Fig. 10",
        schemes=(MINE,),
        cases=cases,
        tables=tables,
        verdicts=verdicts(study),
        draw=draw(study),
        method=METHOD,
        deviations=DEVIATIONS,
        explained={
            **dict.fromkeys(("goodput10-with", "fast"), WHY_LATE),
        },
        metrics=METRICS,
        captions=CAPTIONS,
    )
    for study, paper in PAPERS.items()
]
