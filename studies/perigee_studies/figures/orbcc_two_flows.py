# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fairness of two flows with different and with equal RTTs: OrbCC and LeoTCP, Fig.

5, 6 and 9 (ablation).

Metric: min(g1, g2) / max(g1, g2) in each second of the window; mean over all seconds of all runs
(in addition, the ratio of the two means and Jain's index). The window is the final 500 RTTs in the
text and the final 1000 in the inter-RTT script: both are in the table, and the final 500 are
compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain, ratio_of_means, ratios
from perigee_studies import frames, style
from perigee_studies.figures.orbcc_common import DEVIATIONS, INET, MINE, PAPERS, SCHEMES, generator
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, near, order, smallest, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

FILE = "orbcc/two-flows.toml"
KEEP = Keep(("goodput_bps",))
RTTS_MS = tuple(range(20, 201, 20))
FIRST_MS = 20
NEAR = 1.0
"""OrbCC's ratio in Fig. 5, 6 and 9: near or close to 1 at all RTTs, according to the text."""
MODEL = {20: 1.0, 60: 0.45, 100: 0.31, 200: 0.22}
"""Ratio without avgRTT in an independent model of the protocol, by RTT in ms."""
VARIANTS: dict[str, Mapping[str, object]] = {
    "OrbCC": {},
    "without avgRTT": {"cc.orbcc-repro.t_ref": "own_rtt"},
    "without base RTT": {"cc.orbcc-repro.base_rtt": "srtt"},
}


def length_in_rtts(ask: Ask) -> int:
    """Length of runs: 2000 RTTs, or 600 in a smoke check."""
    return ask.count(600, 2000, 2000)


def second_start_s(run: int, rtt_ms: int, length: int) -> float:
    """Start of the second flow, about a quarter of the run, drawn as in the study."""
    return generator(run).uniform(490, 510) * rtt_ms / 1e3 * length / 2000


def queue_packets(rtt_ms: int, bdp: float = 1.0) -> int:
    """Converts a number of BDP at 100 Mbit/s to packets of 1448 bytes."""
    return int(bdp * 100e6 * rtt_ms / 1e3 / 8 / 1448)


def points(ask: Ask) -> list[tuple[int, int]]:
    """The points as (RTT in ms, run)."""
    rtts = ask.pick((20, 100, 200), RTTS_MS, RTTS_MS)
    return [(r, run) for r in rtts for run in range(1, ask.count(1, 2, 5) + 1)]


def _case(ask: Ask, cc: str, rtt_ms: int, run: int, *, same: bool, variant: str = "") -> Case:
    length = length_in_rtts(ask)
    sets: dict[str, object] = {
        "run.duration": f"{length * rtt_ms / 1e3:g} s",
        "source.dumbbell.rtt": [f"{rtt_ms if same else FIRST_MS} ms", f"{rtt_ms} ms"],
        "port.all.queue": f"{queue_packets(rtt_ms)} packets",
        "flow.1.start": f"{second_start_s(run, rtt_ms, length):.9f} s",
        **VARIANTS.get(variant, {}),
    }
    labels: dict[str, str | float | int] = {"rtt_ms": rtt_ms, "run": run, "length_rtts": length}
    if variant:
        labels["variant"] = variant
    return Case(FILE, cc, labels, run, sets, KEEP)


def fairness_cases(*, same: bool) -> Callable[[Ask], list[Case]]:
    """All points under each scheme."""
    return lambda ask: [
        _case(ask, cc, rtt_ms, run, same=same) for rtt_ms, run in points(ask) for cc in ask.schemes(SCHEMES)
    ]


def ablation_cases(ask: Ask) -> list[Case]:
    """All points, with and without the mean RTT that ports compute."""
    return [_case(ask, MINE, r, run, same=False, variant=v) for r, run in points(ask) for v in VARIANTS]


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    rtt_s, length = float(o.case.labels["rtt_ms"]) / 1e3, int(o.case.labels["length_rtts"])
    out: dict[str, Any] = {}
    for name, share in (("", 0.75), ("_1000", 0.5)):
        mask = d.window(length * share * rtt_s, length * rtt_s)
        g1, g2 = np.nan_to_num(d.mbps(0)[mask]), np.nan_to_num(d.mbps(1)[mask])
        each = ratios(g1, g2)
        out |= {
            f"ratio{name}": each.mean(),
            f"ratio_sd{name}": each.std(),
            f"ratio_of_means{name}": ratio_of_means(g1, g2),
        }
        if not name:
            out |= {"goodput1_mbps": g1.mean(), "goodput2_mbps": g2.mean(), "jain": jain([g1.mean(), g2.mean()])}
    for i in (0, 1):
        out[f"rtt{i + 1}_mean_ms"] = frames.number(d.flows[i]["rtt_mean_ms"])
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots the ratio by second (the published definition) and the ratio of means against RTT."""
    return {"fairness": ratio_picture(t["runs"], "cc", linux=t.get("linux-runs"))}


def draw_ablation(t: Tables) -> dict[str, Any]:
    """Plots the same by variant."""
    return {"ablation": ratio_picture(t["runs"], "variant")}


def ratio_picture(
    runs: pd.DataFrame,
    by: str,
    x: str = "rtt_ms",
    xlabel: str = "RTT of the second flow, ms",
    linux: pd.DataFrame | None = None,
) -> Any:
    """Plots ratios by second and ratios of means: means over runs, and each run."""
    figure, axes = style.panels(2, 1, height=2.7, sharey=True)
    looks = list(dict.fromkeys(runs[by]))
    for a, column, title in zip(axes[0], ("ratio", "ratio_of_means"), ("per second", "of means"), strict=True):
        for i, name in enumerate(looks):
            cc = name if by == "cc" else ("orbcc-repro", "bbr3", "cubic")[i]
            # Larger markers, since other curves may cover smaller ones.
            size = {"markersize": 7} if name == "OrbCC" else {}
            style.over(a, runs[runs[by] == name], x, column, cc, None if by == "cc" else name, **size)
            style.hollow_over(a, linux, x, column, cc)
        if MINE in set(runs["cc"]):
            style.stated(a, [(NEAR, MINE)])
        a.set_title(f"goodput ratio {title}", loc="left")
        a.set_xlabel(xlabel)
        a.set_ylim(-0.05, 1.1)
    axes[0][0].set_ylabel("goodput ratio")
    if linux is not None:
        style.name_hollow(axes[0][0])
    style.shared_legend(figure, axes[0], 5)
    return figure


def _by_rtt(runs: pd.DataFrame, cc: str, column: str = "ratio") -> pd.Series:
    return runs[runs["cc"] == cc].groupby("rtt_ms")[column].mean()


def _inter(source: str) -> Callable[[Tables], list[Verdict]]:
    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]
        mine = _by_rtt(runs, MINE)
        out = [
            within(
                "orbcc",
                "OrbCC: smallest ratio over all RTTs",
                source,
                "close to 1",
                smallest(mine.to_numpy()),
                0.97,
            ),
        ]
        unfair: dict[str, bool] = {}
        falls: dict[str, bool] = {}
        for cc in ("cubic", "bbr", "bbr3"):
            one, name = _by_rtt(runs, cc), style.label(cc)
            unfair |= {f"{name} {r} ms ({v:.2f})": bool(v <= 0.6) for r, v in one[one.index >= 120].items()}
            if len(one) > 1:
                falls[f"{name} ({one.iloc[0]:.2f}, {one.iloc[-1]:.2f})"] = bool(one.iloc[0] > one.iloc[-1])
        words = "Cubic, BBRv1 and BBRv3: unfair at 120 ms and more (at most 0.6)"
        out.append(count("unfair", words, source, "unfair as RTTs diverge", unfair))
        words = "Cubic, BBRv1 and BBRv3: the ratio is smaller at 200 ms than at 20 ms"
        out.append(count("falls", words, source, "falls with the RTT", falls))
        return out

    return check


def _intra(source: str) -> Callable[[Tables], list[Verdict]]:
    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]
        least = {cc: smallest(_by_rtt(runs, cc).to_numpy()) for cc in (MINE, "cubic")}
        average = [(style.label(cc), frames.average(runs, "ratio", "rtt_ms", cc=cc).value) for cc in (MINE, "cubic")]
        bbrs = [(style.label(cc), frames.average(runs, "ratio", "rtt_ms", cc=cc).value) for cc in ("bbr", "bbr3")]
        best = max(bbrs, key=lambda b: b[1])
        return [
            within("orbcc", "OrbCC: smallest ratio over all RTTs", source, "near 1", least[MINE], 0.97),
            within("cubic", "Cubic: smallest ratio over all RTTs", source, "strong", least["cubic"], 0.8),
            order("order", "OrbCC before Cubic before both BBRs (mean over RTTs)", source, [*average, best]),
        ]

    return check


def _ablation(source: str) -> Callable[[Tables], list[Verdict]]:
    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]
        without, whole = runs[runs["variant"] == "without avgRTT"], runs[runs["variant"] == "OrbCC"]
        model = "independent model of the protocol"
        out = [
            within(
                "with",
                "OrbCC: smallest ratio",
                source,
                "near 1",
                smallest(whole.groupby("rtt_ms")["ratio"].mean()),
                0.97,
            )
        ]
        for rtt_ms, ratio in MODEL.items():
            one = frames.average(without, "ratio", rtt_ms=rtt_ms)
            if one.n:
                out.append(
                    near(
                        f"without-{rtt_ms}",
                        f"without avgRTT: ratio at {rtt_ms} ms",
                        model,
                        ratio,
                        one,
                        0.1,
                        kind=Kind.MODEL,
                    )
                )
        far = without[without["rtt_ms"] > 40].groupby("rtt_ms")[["goodput1_mbps", "goodput2_mbps"]].mean()
        wins = {f"{r} ms": bool(g["goodput2_mbps"] > g["goodput1_mbps"]) for r, g in far.iterrows()}
        out.append(count("winner", "without avgRTT the flow with the larger RTT wins", source, "it wins", wins))
        return out

    return check


def explain_intra(t: Tables, _: Tables) -> dict[str, str]:
    """Explains Cubic's ratio by RTT."""
    by_rtt = frames.pick(t["runs"], cc="cubic").groupby("rtt_ms")["ratio"].mean()
    return {
        "cubic": "Chance and drop-tail: two Cubic flows of the measured kernel over a queue of one BDP share it no "
        f"better (docs/explanation/kernel.md). Ours are between {by_rtt.min():.2f} ({by_rtt.idxmin()} ms) and "
        f"{by_rtt.max():.2f} ({by_rtt.idxmax()} ms)."
    }


METHOD = """Two bulk flows over 100 Mbit/s, {what}. Queue: one BDP of the larger RTT r in packets of 1448 bytes. The
second flow joins after about 500 r (drawn as the study did), runs last 2000 r. Window: the final 500 r; the table
also has the final 1000 r."""
METRICS = """Ratio (claims): for each second of the window min / max of the two goodputs, mean over all seconds and
runs (`ratio`; `ratio_1000` of the final 1000 r). Also the ratio of means (`ratio_of_means`), Jain's index,
goodputs (Mbit/s) and mean RTTs (ms) of both flows."""
CAPTIONS = {
    "fairness": "Left: the studies' metric; right: ratio of means. Lines: means over runs; dots: runs; hollow: Linux's "
    "schemes. Triangles at the right edge: published of OrbCC, near 1 at all RTTs (text).",
    "ablation": 'As for inter-rtt. "Without base RTT": senders report their smoothed RTT to the ports in place of the '
    "base RTT; its curve coincides with that of OrbCC. Triangles at the right edge: published of OrbCC, near 1 "
    "(text).",
}
INTER = "the first with 20 ms, the second with r = 20 to 200 ms"


def _experiments(study: str) -> list[Experiment]:
    paper = PAPERS[study]
    return [
        Experiment(
            name=f"{study}/inter-rtt",
            title="Fairness of two flows with different RTTs",
            figure=f"{paper}, Fig. 5",
            schemes=SCHEMES,
            cases=fairness_cases(same=False),
            tables=frames.per_run(_row),
            verdicts=_inter(f"{paper}, Fig. 5"),
            draw=draw,
            method=METHOD.format(what=INTER),
            deviations=DEVIATIONS,
            theirs=INET,
            metrics=METRICS,
            captions=CAPTIONS,
        ),
        Experiment(
            name=f"{study}/intra-rtt",
            title="Fairness of two flows with the same RTT",
            figure=f"{paper}, Fig. 6",
            schemes=SCHEMES,
            cases=fairness_cases(same=True),
            tables=frames.per_run(_row),
            verdicts=_intra(f"{paper}, Fig. 6"),
            draw=draw,
            method=METHOD.format(what="both with r = 20 to 200 ms"),
            explain=explain_intra,
            deviations=DEVIATIONS,
            theirs=INET,
            metrics=METRICS,
            captions=CAPTIONS,
        ),
        Experiment(
            name=f"{study}/ablation-avgrtt",
            title="OrbCC without the ports' average RTT",
            figure=f"{paper}, Fig. 9",
            schemes=(MINE,),
            cases=ablation_cases,
            tables=frames.per_run(_row),
            verdicts=_ablation(f"{paper}, Fig. 9"),
            draw=draw_ablation,
            method=METHOD.format(what=INTER) + " Without avgRTT the utilisation is related to the flow's own RTT.",
            deviations=(
                *DEVIATIONS,
                "The study's variant without avgRTT also has an older initial phase; ours differs in avgRTT alone.",
            ),
            metrics=METRICS,
            captions=CAPTIONS,
        ),
    ]


EXPERIMENTS = [e for study in PAPERS for e in _experiments(study)]
