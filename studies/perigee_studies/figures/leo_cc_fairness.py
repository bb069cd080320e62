# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fairness and efficiency in the testbed: Mazilu et al., Fig. 4 to 7.

Fairness: ratio min(g1, g2) / max(g1, g2) of the goodputs in each second of the last 100 s, of the two
flows or of the long flow and the best short one; mean over all seconds and runs. The tables also
contain the ratio of means and Jain's index.

Efficiency, in the window from 100 to 150 s: utilisation is the sum of goodputs over 100 Mbit/s, delay
the mean smoothed RTT over 50 ms; "useful" goodput subtracts retransmitted frames of 1500 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain, ratio_of_means, ratios
from perigee_studies import beside, frames, style
from perigee_studies.figures import leo_cc_astraea as astraea
from perigee_studies.figures import leo_cc_evidence as evidence
from perigee_studies.figures import leo_cc_vivace as vivace
from perigee_studies.figures.leo_cc_cases import (
    FLOWS,
    SHALLOW_RTT_MS,
    efficiency_cases,
    inter_cases,
    intra_cases,
    parking_cases,
)
from perigee_studies.figures.leo_cc_common import (
    ALIKE,
    BARS,
    CAPACITY_MBPS,
    DEVIATIONS,
    HIGH,
    RATIO,
    SCHEMES,
    VERY_HIGH,
)
from perigee_studies.kinds import Kind
from perigee_studies.model import Evidence, Experiment, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, order, smallest, value, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from perigee_lab.common.statistics import Estimate

HALF = 0.5
"""Approximate ratio of two Cubic or SaTCP flows with unequal RTTs in Fig. 4, "in many cases"."""
PROPORTIONAL = {3: 1 / 3, 6: 1 / 6}
"""Ratio of the long flow in Fig. 6 with schemes that the text calls proportionally fair, by number of
bottlenecks."""
LONG = {
    3: dict.fromkeys(("cubic", "satcp", "bbr3", "leocc", "astraea"), PROPORTIONAL[3]),
    6: {**dict.fromkeys(("cubic", "satcp", "bbr3", "leocc"), PROPORTIONAL[6]), "vivace": 0.0, "astraea": 0.0},
}
"""Ratios that correspond to statements of the text on Fig. 6. Over six bottlenecks, Vivace's long flow
"almost completely" collapses, and Astraea's receives little above 120 ms."""


def _pair(o: Outcome) -> dict[str, Any]:
    d = o.digest
    goodput = np.nan_to_num(d.mbps()[:, d.window(100, 200)])
    one, other = goodput[0], goodput[1:].max(axis=0)
    each = ratios(one, other)
    return {
        "ratio": each.mean(),
        "ratio_sd": each.std(),
        "ratio_of_means": ratio_of_means(one, other),
        "jain": jain(goodput.mean(axis=1)),
        "goodput1_mbps": one.mean(),
        "goodput2_mbps": goodput[1:].mean(),
        "sum_mbps": goodput.sum(axis=0).mean(),
    }


def _many(o: Outcome) -> dict[str, Any]:
    d = o.digest
    mask = d.window(100, 150)
    goodput = np.nan_to_num(d.mbps()[:, mask]).sum(axis=0).mean()
    resent = d.columns["retransmits"]
    again = np.nan_to_num(resent[:, d.t_s == 150]).sum() - np.nan_to_num(resent[:, d.t_s == 100]).sum()
    return {
        "utilisation": goodput / CAPACITY_MBPS,
        "useful": (goodput - again * 1500 * 8 / 50 / 1e6) / CAPACITY_MBPS,
        "inflation": np.nanmean(d.columns["srtt_ns"][:, mask]) / 1e6 / 50,
        "inflation_by_sample": np.nanmean(d.mean_rtt_ms(100, 150)) / 50,
        "jain": jain(np.nan_to_num(d.mbps()[:, mask]).mean(axis=1)),
    }


def _panels(
    runs: pd.DataFrame,
    by: str,
    names: dict[Any, str],
    lines: dict[Any, dict[float, str]] | None = None,
    x: tuple[str, str] = ("rtt_ms", "RTT, ms"),
    published: Mapping[Any, Mapping[str, float]] | None = None,
) -> Any:
    shown = [v for v in names if v in set(runs[by])]
    figure, axes = style.panels(len(shown), 1, width=2.9 if len(shown) > 1 else 4.2, height=2.6, sharey=True)
    for a, v in zip(axes[0], shown, strict=True):
        for cc in frames.schemes(runs):
            style.over(a, runs[(runs[by] == v) & (runs["cc"] == cc)], x[0], "ratio", cc)
        for level, name in (lines or {}).get(v, {}).items():
            style.fair(a, name, level)
        if levels := (published or {}).get(v):
            style.stated(a, ((level, cc) for cc, level in levels.items() if cc in set(runs["cc"])))
        a.set_title(names[v], loc="left")
        a.set_xlabel(x[1])
        a.set_ylim(-0.1, 1.1)
    axes[0][0].set_ylabel("goodput ratio per second")
    style.shared_legend(figure, axes[0])
    return figure


def draw_inter(t: Tables) -> dict[str, Any]:
    """Plots the ratio by RTT: one panel per queue, and one with cuts."""
    runs = t["runs"].assign(kind=[f"{q:g}/{c}" for q, c in zip(t["runs"]["queue_bdp"], t["runs"]["cuts"], strict=True)])
    names = {"0.2/0": "0.2 BDP", "1/0": "1 BDP", "4/0": "4 BDP", "1/1": "1 BDP, cuts every 15 s"}
    half = {kind: dict.fromkeys(("cubic", "satcp"), HALF) for kind in ("0.2/0", "1/0", "4/0")}
    return {"inter-rtt": _panels(runs, "kind", names, published=half)}


def draw_intra(t: Tables) -> dict[str, Any]:
    """Plots the ratio by RTT in one panel."""
    return {"intra-rtt": _panels(t["runs"], "cuts", {1: "1 BDP, cuts every 15 s"})}


def draw_parking(t: Tables) -> dict[str, Any]:
    """Plots the ratio by RTT for three and six bottlenecks, and by queue length."""
    lines = {n: {1.0: "max-min fair", 1 / n: "proportionally fair"} for n in (3, 6)}
    one_bdp = t["runs"][t["runs"]["queue_bdp"] == 1.0]
    titles = {3: "3 bottlenecks", 6: "6 bottlenecks"}
    figures = {"parking-lot": _panels(one_bdp, "bottlenecks", titles, lines, published=LONG)}
    by_queue = frames.pick(t["runs"], bottlenecks=3, rtt_ms=SHALLOW_RTT_MS)
    if len(by_queue) and by_queue["queue_bdp"].nunique() > 1:
        title = {3: f"3 bottlenecks, {SHALLOW_RTT_MS} ms"}
        figures["queue"] = _panels(by_queue, "bottlenecks", title, lines, ("queue_bdp", "queue, BDP"))
    return figures


def draw_efficiency(t: Tables) -> dict[str, Any]:
    """Plots utilisation against delay: means, and each run as a dot.

    Pale symbols are the useful goodput.
    """

    def mark(a: Any, one: pd.DataFrame, cc: str) -> None:
        style.cloud(a, one["inflation"].tolist(), one["utilisation"].tolist(), cc)
        look = style.look(cc) | {"linestyle": "none"}
        a.plot(one["inflation"].mean(), one["useful"].mean(), alpha=0.35, **look)

    figure = frames.efficiency_panels(t["runs"], "smoothed RTT / 50 ms", mark)
    for a in figure.axes:
        for delay, name in ((NEAR_FULL, "cubic"), (SHORTER, "bbr3")):
            style.published(a, delay, style.look(name)["color"], None)
    return {"efficiency": figure}


NEAR_FULL, SHORTER = 6, 2.5
"""Published delays, relative to 50 ms: "near 6" for Cubic and SaTCP; about 2.5 for BBRv3 and LeoCC."""


def _mean(runs: pd.DataFrame, cc: str, column: str = "ratio") -> float:
    one = runs[runs["cc"] == cc]
    return float(one[column].mean()) if len(one) else float("nan")


def check_inter(t: Tables) -> list[Verdict]:
    """Claims on the fairness between flows with different RTTs (Fig. 4)."""
    runs, source = t["runs"], "Fig. 4"
    plain = runs[runs["cuts"] == 0]
    one = plain[plain["queue_bdp"] == 1.0]
    far = one[one["rtt_ms"] >= 60]
    cubic, satcp = _mean(far, "cubic"), _mean(far, "satcp")
    out = [
        within(
            "cubic",
            "Cubic: mean ratio at 60 ms and more, 1 BDP",
            source,
            f"about {HALF:g}",
            value(cubic),
            0.35,
            0.65,
            kind=Kind.NUMBER,
        ),
        within("satcp", "SaTCP like Cubic: difference", source, "the same", value(abs(cubic - satcp)), high=ALIKE),
    ]
    out += _disparity(one[one["cc"] == "bbr3"], source)
    shallow = plain[(plain["queue_bdp"] == 0.2) & (plain["rtt_ms"] >= 80)]
    if len(shallow):
        rows = [("0.2 BDP", _mean(shallow, "bbr3")), ("1 BDP", _mean(one[one["rtt_ms"] >= 80], "bbr3"))]
        out.append(order("bbr3-shallow", "BBRv3 fairer with 0.2 BDP (80 ms and more)", source, rows))
    by = ["queue_bdp", "rtt_ms"]
    bbr3, leocc = (plain[plain["cc"] == cc].groupby(by)["ratio"].mean() for cc in ("bbr3", "leocc"))
    worse = {f"{r} ms over {q:g} BDP": bool(leocc[q, r] < bbr3[q, r]) for q, r in leocc.index.intersection(bbr3.index)}
    need = len(worse) // 2 + 1
    out.append(count("leocc", "LeoCC less fair than BBRv3 over most of the range", source, "less fair", worse, need))
    others = min(((style.label(cc), _mean(one, cc)) for cc in SCHEMES if cc != "vivace"), key=lambda v: v[1])
    out.append(order("vivace", "Vivace least fair (1 BDP)", source, [others, ("Vivace", _mean(one, "vivace"))]))
    vivace = far[far["cc"] == "vivace"]
    rows = [
        ("flow of 20 ms", _mean(vivace, "vivace", "goodput1_mbps")),
        ("other", _mean(vivace, "vivace", "goodput2_mbps")),
    ]
    out.append(order("vivace-winner", "Vivace: the flow with the short RTT dominates", source, rows, unit="Mbit/s"))
    fairest = max(((style.label(cc), _mean(one, cc)) for cc in SCHEMES if cc != "astraea"), key=lambda v: v[1])
    out.append(order("astraea", "Astraea fairest (1 BDP)", source, [("Astraea", _mean(one, "astraea")), fairest]))
    return out


def _disparity(bbr3: pd.DataFrame, source: str) -> list[Verdict]:
    """Claims on BBRv3 with a queue of 1 BDP, by the difference of the RTTs."""
    ratio = bbr3.groupby("rtt_ms")["ratio"].mean()
    if len(ratio) < 2:
        return []
    rows = [(f"at {rtt_ms} ms", float(here)) for rtt_ms, here in ratio.items() if rtt_ms > 20]
    far = bbr3[bbr3["rtt_ms"] >= 80].groupby("rtt_ms")[["goodput1_mbps", "goodput2_mbps"]].mean()
    wins = {f"{r} ms": bool(g["goodput2_mbps"] > g["goodput1_mbps"]) for r, g in far.iterrows()}
    return [
        order("bbr3", "BBRv3, 1 BDP: progressively unfair with the disparity", source, rows),
        count(
            "bbr3-winner", "BBRv3, 1 BDP: the flow with the longer RTT wins (80 ms and more)", source, "it wins", wins
        ),
    ]


def _spread(runs: pd.DataFrame) -> float:
    """Standard deviation of the ratio over seconds and runs (the error bars), averaged over RTTs."""
    if runs.empty:
        return float("nan")
    by_rtt = (
        runs.assign(square=runs["ratio"] ** 2 + runs["ratio_sd"] ** 2).groupby("rtt_ms")[["ratio", "square"]].mean()
    )
    return float(np.sqrt(by_rtt["square"] - by_rtt["ratio"] ** 2).mean())


def check_intra(t: Tables) -> list[Verdict]:
    """Claims on the fairness between flows with the same RTT (Fig. 5)."""
    runs, source = t["runs"], "Fig. 5"
    gap = abs(_mean(runs, "cubic") - _mean(runs, "satcp"))
    spread = {cc: _spread(runs[runs["cc"] == cc]) for cc in SCHEMES}
    noisiest = max((cc for cc in SCHEMES if cc != "vivace"), key=lambda cc: spread[cc])
    leocc = smallest(runs[runs["cc"] == "leocc"].groupby("rtt_ms")["ratio"].mean())
    bbr3 = frames.average(runs, "ratio", "rtt_ms", cc="bbr3")
    rows = [("Vivace", spread["vivace"]), (style.label(noisiest), spread[noisiest])]
    return [
        within("satcp", "SaTCP like Cubic: difference of mean ratios", source, "the same", value(gap), high=ALIKE),
        within("leocc", "LeoCC: smallest ratio over all RTTs", source, "high", leocc, HIGH),
        within("bbr3", "BBRv3: mean ratio", source, "fair", bbr3, HIGH),
        order("vivace", "Vivace noisiest (standard deviation over seconds and runs)", source, rows),
        *_trained_range(runs[runs["cc"] == "astraea"], source),
    ]


TRAINED_MS = 140
"""Longest RTT in Astraea's training, ms."""


def _trained_range(astraea: pd.DataFrame, source: str) -> list[Verdict]:
    """Claims on Astraea within and beyond the RTTs of its training."""
    within_range = astraea[astraea["rtt_ms"] <= TRAINED_MS].groupby("rtt_ms")["ratio"].mean()
    beyond = astraea[astraea["rtt_ms"] > TRAINED_MS].groupby("rtt_ms")["ratio"].mean()
    rows = [(f"to {TRAINED_MS} ms", within_range.mean()), ("beyond", beyond.mean())]
    words = f"Astraea: smallest ratio to {TRAINED_MS} ms"
    return [
        within("astraea", words, source, "very high", smallest(within_range), VERY_HIGH),
        order("astraea-beyond", "Astraea less fair beyond the RTTs of its training", source, rows),
    ]


def check_parking(t: Tables) -> list[Verdict]:
    """Claims on the long flow in a parking lot (Fig. 6)."""
    out = []
    for n in PROPORTIONAL:
        here = frames.pick(t["runs"], bottlenecks=n, queue_bdp=1.0)
        source = f"Fig. 6{'a' if n == 3 else 'b'}"
        for cc in ("cubic", "satcp", "bbr3", "leocc"):
            words = f"{style.label(cc)}, {n} bottlenecks: mean ratio"
            ours = frames.average(here, "ratio", "rtt_ms", cc=cc)
            out.append(_proportional(f"{cc}-{n}", words, source, n, ours))
        out.append(_long_astraea(here[here["cc"] == "astraea"], n, source))
        words, high = f"Vivace, {n} bottlenecks", 0.333 if n == 3 else 0.05
        published_words = "below the proportional line" if n == 3 else "almost 0"
        out.append(
            within(
                f"vivace-{n}",
                words,
                source,
                published_words,
                frames.average(here, "ratio", "rtt_ms", cc="vivace"),
                high=high,
            )
        )
    return out


CLOSE = {3: 0.08, 6: 0.05}
"""Our tolerance around the proportionally fair ratio, by number of bottlenecks."""


def _proportional(key: str, words: str, source: str, n: int, ours: Estimate) -> Verdict:
    """Claim that the ratio is proportionally fair; the study prints no number."""
    low, high = (round(PROPORTIONAL[n] + sign * CLOSE[n], 3) for sign in (-1, 1))
    return within(key, words, source, f"proportional fairness (1/{n})", ours, low, high)


def _long_astraea(astraea: pd.DataFrame, n: int, source: str) -> Verdict:
    """Claim on the long flow of Astraea.

    Its ratio is proportionally fair over three bottlenecks, and small over six with a long RTT.
    """
    if n == 3:
        inside = astraea[astraea["rtt_ms"] <= TRAINED_MS]
        words = f"Astraea, 3 bottlenecks: mean ratio to {TRAINED_MS} ms"
        return _proportional("astraea-3", words, source, n, frames.average(inside, "ratio", "rtt_ms"))
    far = astraea[astraea["rtt_ms"] > SHALLOW_RTT_MS]
    words = f"Astraea, {n} bottlenecks beyond {SHALLOW_RTT_MS} ms"
    return within(f"astraea-{n}", words, source, "not much at all", frames.average(far, "ratio", "rtt_ms"), high=0.1)


FULL = {"cubic": 0.90, "satcp": 0.90, "bbr3": 0.88}
"""Utilisation from which a link counts as full, relative to the maximum for payload (0.956)."""


def check_efficiency(t: Tables) -> list[Verdict]:
    """Claims on the efficiency with many flows (Fig. 7)."""
    runs, source, out = t["runs"], "Fig. 7", []
    for n in sorted(set(runs["flows"])):
        here = runs[runs["flows"] == n]
        for cc in ("cubic", "satcp"):
            inflation = frames.average(here, "inflation", cc=cc)
            words = f"{style.label(cc)}, {n} flows: delay"
            out.append(within(f"{cc}-{n}", words, source, f"near {NEAR_FULL} (figure)", inflation, 4.5))
        for cc, tolerance in (("bbr3", 0.4), ("leocc", 0.5)):
            words = f"{style.label(cc)}, {n} flows: delay"
            inflation = frames.average(here, "inflation", cc=cc)
            least, most = (round(SHORTER + sign * tolerance, 3) for sign in (-1, 1))
            out.append(within(f"{cc}-{n}", words, source, f"about {SHORTER:g} (figure)", inflation, least, most))
        low = min(frames.by_scheme(here, "inflation", ["cubic", "satcp"], "mean"), key=lambda v: v[1])
        rest = [cc for cc in SCHEMES if cc not in {"cubic", "satcp"}]
        top = max(frames.by_scheme(here, "inflation", rest, "mean"), key=lambda v: v[1])
        out.append(order(f"peak-{n}", f"{n} flows: delay of Cubic and SaTCP above all others'", source, [low, top]))
    use = {(cc, n): _mean(runs[runs["flows"] == n], cc, "utilisation") for cc in FULL for n in FLOWS}
    full = {f"{style.label(cc)}, {n} flows": v >= FULL[cc] * 0.956 for (cc, n), v in use.items() if not np.isnan(v)}
    out.append(count("full", "Cubic, SaTCP and BBRv3: goodput with 5, 10 and 20 flows", source, "full", full))
    rising = [(f"{n} flows", frames.average(runs, "utilisation", cc="vivace", flows=n).value) for n in reversed(FLOWS)]
    out.append(order("vivace", "Vivace: utilisation rises with the number of flows", source, rising))
    spread = [(style.label(cc), _between_runs(runs[runs["cc"] == cc])) for cc in ("leocc", "bbr3")]
    words = "LeoCC's delay varies more than BBRv3's (standard deviation over runs)"
    out.append(order("leocc-varies", words, source, spread))
    return out + _queue_of_astraea(runs, source)


def _between_runs(runs: pd.DataFrame) -> float:
    """Standard deviation of the delay over runs, averaged over the numbers of flows."""
    return float(runs.groupby("flows")["inflation"].std().mean())


def _queue_of_astraea(runs: pd.DataFrame, source: str) -> list[Verdict]:
    """Claims that Astraea has the shortest queue, which grows with the number of flows."""
    inflation = {n: {cc: _mean(runs[runs["flows"] == n], cc, "inflation") for cc in SCHEMES} for n in FLOWS}
    least = {
        f"{n} flows": all(mine["astraea"] <= v for v in mine.values())
        for n, mine in inflation.items()
        if not np.isnan(list(mine.values())).any()
    }
    words = "Astraea: queue of 20 flows over that of 5 (delay above 1)"
    grown = value((inflation[20]["astraea"] - 1) / (inflation[5]["astraea"] - 1))
    return [
        count("astraea", "Astraea: the smallest delay of all", source, "the smallest persistent queue", least),
        within("astraea-grows", words, source, "in proportion to the number of flows (4)", grown, 2, 6),
    ]


EDGE = "Triangles at the right edge: levels that the study's text states."
COMMON = "100 Mbit/s, the entire RTT on the data path, queues in bytes."
PARKING = beside.together(
    Evidence(evidence.parking_cases, evidence.explain_parking, tuple(evidence.PARKING)),
    astraea.PARKING,
    vivace.evidence(
        parking_cases, check_parking, lambda c: (c.labels["bottlenecks"], c.labels["queue_bdp"]) == (3, 1.0)
    ),
)
EFFICIENCY = beside.together(
    Evidence(evidence.efficiency_cases, evidence.explain_efficiency, tuple(evidence.EFFICIENCY)),
    astraea.EFFICIENCY,
    vivace.evidence(efficiency_cases, check_efficiency),
)
INTER = beside.together(
    astraea.INTER,
    vivace.evidence(inter_cases, check_inter, lambda c: (c.labels["queue_bdp"], c.labels["cuts"]) == (1.0, 0)),
)
INTRA = beside.together(
    astraea.INTRA,
    Evidence(evidence.intra_cases, evidence.explain_intra, tuple(evidence.INTRA)),
    vivace.evidence(intra_cases, check_intra),
)

EXPERIMENTS = [
    Experiment(
        name="leo-cc/inter-rtt",
        title="Fairness of two flows with different RTTs",
        figure="Fig. 4",
        schemes=SCHEMES,
        cases=inter_cases,
        tables=frames.per_run(_pair),
        verdicts=check_inter,
        draw=draw_inter,
        method="Flow 1: 20 ms from 0 s; flow 2: 20 to 200 ms from 50 s; 200 s. Queues 0.2, 1 and 4 BDP of flow 2. "
        f"{COMMON} Window: the last 100 s. The study describes this figure without cuts; runs with cuts "
        "every 15 s are shown in addition.",
        deviations=DEVIATIONS,
        evidence=INTER,
        metrics=RATIO,
        captions={"inter-rtt": f"Ratio by the second flow's RTT, a panel per queue. {BARS} {EDGE}"},
    ),
    Experiment(
        name="leo-cc/intra-rtt",
        title="Fairness of two flows with the same RTT",
        figure="Fig. 5",
        schemes=SCHEMES,
        cases=intra_cases,
        tables=frames.per_run(_pair),
        verdicts=check_intra,
        draw=draw_intra,
        method=f"As inter-rtt with both flows at 20 to 200 ms, 1 BDP, a cut of 45 to 120 ms every 15 s. {COMMON}",
        deviations=DEVIATIONS,
        evidence=INTRA,
        metrics=f"{RATIO} Standard deviation (claim on Vivace): over all seconds and runs of an RTT, mean over RTTs.",
        captions={"intra-rtt": f"Ratio by both flows' RTT. {BARS}"},
    ),
    Experiment(
        name="leo-cc/parking-lot",
        title="A long flow over three and six bottlenecks",
        figure="Fig. 6",
        schemes=SCHEMES,
        cases=parking_cases,
        tables=frames.per_run(_pair),
        verdicts=check_parking,
        draw=draw_parking,
        method=f"Short flows from 0 s, the long one from 50 s; 200 s; 1 BDP; 20 to 200 ms; cuts every 15 s on all "
        f"bottlenecks at once. {COMMON}",
        deviations=DEVIATIONS,
        evidence=PARKING,
        metrics=RATIO.replace("the two flows' goodputs", "the long flow's goodput and that of the best short flow")
        + " Max-min fairness gives 1, proportional fairness 1/3 and 1/6.",
        captions={
            "parking-lot": f"Ratio of the long flow to the best short one by RTT. {BARS} {EDGE}",
            "queue": f"The same at 120 ms by the length of the queue; the study's text has 1 BDP. {BARS}",
        },
    ),
    Experiment(
        name="leo-cc/efficiency",
        title="Utilisation against delay of 5, 10 and 20 flows",
        figure="Fig. 7",
        schemes=SCHEMES,
        cases=efficiency_cases,
        tables=frames.per_run(_many),
        verdicts=check_efficiency,
        draw=draw_efficiency,
        method="Flows start evenly over 100 s and last 150 s; 50 ms, queue 5 BDP, cuts every 15 s. "
        f"{COMMON} Window 100 to 150 s.",
        deviations=DEVIATIONS,
        evidence=EFFICIENCY,
        metrics="""Goodput (utilisation): sum of all flows', over 100 Mbit/s. Delay: mean of the seconds' smoothed RTTs
over 50 ms, mean over flows (`inflation_by_sample`: with equal weight of all RTT samples). `useful`: goodput minus
retransmitted frames of 1500 bytes. Jain's index over mean goodputs (`jain`).""",
        captions={
            "efficiency": "Means over runs, with a dot for each run; pale: without retransmitted "
            "frames. Dotted: the published delays, near 6 (Cubic, SaTCP) and 2.5 (BBRv3, LeoCC). The upper right is "
            "best; the scales of the panels differ."
        },
    ),
]
