# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Responsiveness of one flow on a path that changes every few seconds: OrbCC and LeoTCP, Fig. 1.

Metrics for a run of 300 s: unweighted mean over seconds of the goodput; mean over seconds of the
mean RTT; retransmitted bits per second. A curve is the distribution over 50 schedules, without and
with loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import mean, median
from perigee_studies import frames, style
from perigee_studies.figures import orbcc_evidence as evidence
from perigee_studies.figures.orbcc_common import DEVIATIONS, INET, MINE, PAPERS, SCHEMES
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, near, order, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

ALL_RUNS = 50
MODEL = (66.9, 53.2)
"""Goodput (Mbit/s) and RTT (ms) of OrbCC in an independent model of the protocol, over all
schedules."""
KEEP = Keep(("goodput_bps", "rtt_ns", "retransmits", "path_rate_bps", "base_rtt_ns"))
PUBLISHED = {"orbcc": ("cubic", "bbr", "bbr3", "satcp", "leocc_omnet", MINE, "orbcc"), "leotcp": SCHEMES}
DRAWN = {"orbcc": (74.59, 50.76), "leotcp": (75.14, 52.2)}
"""Means over the study's 50 schedules of the drawn rates (Mbit/s) and RTTs (ms)."""


def cases(study: str, *, loss: bool) -> Callable[[Ask], list[Case]]:
    """Run k of the study has seed k.

    With loss, the delay is on the bottleneck link (OrbCC) or on the access links.
    """

    def make(ask: Ask) -> list[Case]:
        sets: dict[str, object] = {}
        if loss:
            sets["schedule.loss"] = True
            if study == "orbcc":
                sets["source.dumbbell.rtt_at"] = "bottleneck"
        if ask.size.value == "quick":
            sets["run.duration"] = "100 s"
        runs = range(1, ask.count(3, 12, 50) + 1)
        file = f"{study}/responsiveness.toml"
        return [
            Case(file, cc, {"run": run, "loss": int(loss)}, run, sets, KEEP)
            for run in runs
            for cc in ask.schemes(PUBLISHED[study])
        ]

    return make


def with_clean(study: str) -> Callable[[Ask], list[Case]]:
    """The cases with loss, and OrbCC without loss for comparison."""

    def make(ask: Ask) -> list[Case]:
        clean = [c for c in cases(study, loss=False)(ask) if c.cc == MINE]
        return [*cases(study, loss=True)(ask), *clean]

    return make


def tables(found: Sequence[Outcome], drawn: int = 2) -> Tables:
    """One row per run, and the seconds of the plotted run."""
    one = [o for o in found if o.case.seed == drawn]
    return {"runs": frames.table(found, _row), "series": frames.series(one, _seconds)}


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    flow = d.flows[0]
    duration_s = d.info["duration_ns"] / 1e9
    return {
        "goodput_mbps": float(np.nan_to_num(d.mbps(0)).mean()),
        "rtt_ms": float(np.nanmean(d.columns["rtt_ns"][0])) / 1e6,
        "rtt_by_sample_ms": frames.number(flow["rtt_mean_ms"]),
        "retransmit_mbps": flow["retransmits"] * 1448 * 8 / 1e6 / duration_s,
        "timeouts": flow["timeouts"],
        "capacity_mbps": flow["capacity_bps"] / 1e6,
        "base_rtt_ms": float(np.nanmean(d.columns["base_rtt_ns"][0])) / 1e6,
        "inflation": frames.number(flow["inflation"]),
    }


def _seconds(o: Outcome) -> list[Mapping[str, Any]]:
    d = o.digest
    c = d.columns
    return [
        {
            "t_s": float(t),
            "goodput_mbps": float(d.mbps(0)[i]),
            "rtt_ms": float(c["rtt_ns"][0, i]) / 1e6,
            "rate_mbps": float(c["path_rate_bps"][0, i]) / 1e6,
            "base_rtt_ms": float(c["base_rtt_ns"][0, i]) / 1e6,
        }
        for i, t in enumerate(d.t_s)
    ]


def draw(t: Tables) -> dict[str, Any]:
    """Plots distributions over the schedules, and one run over time."""
    runs = t["runs"]
    chosen = runs[runs["loss"] == runs["loss"].max()]
    linux = t.get("linux-runs", runs.iloc[:0])
    linux = linux[linux["loss"] == runs["loss"].max()]
    clean = frames.pick(runs, loss=0) if runs["loss"].max() else runs.iloc[:0]
    names = [
        ("goodput_mbps", "mean goodput, Mbit/s"),
        ("rtt_ms", "mean RTT, ms"),
        ("retransmit_mbps", "retransmitted, Mbit/s"),
    ]
    figure, axes = style.panels(3, 1, width=2.9, height=2.6)
    for a, (column, title) in zip(axes[0], names, strict=True):
        for cc in frames.schemes(chosen):
            style.cdf(a, chosen[chosen["cc"] == cc][column].to_numpy(), cc)
        for cc in frames.schemes(linux):
            style.cdf(a, linux[linux["cc"] == cc][column].to_numpy(), cc, "_", linewidth=0.8, linestyle=":")
        for cc in frames.schemes(clean):
            style.cdf(a, clean[clean["cc"] == cc][column].to_numpy(), cc, f"{style.label(cc)} without loss", alpha=0.45)
        optimum = {"goodput_mbps": "capacity_mbps", "rtt_ms": "base_rtt_ms"}.get(column)
        if optimum:
            one = chosen[chosen["cc"] == frames.schemes(chosen)[0]]
            x = np.sort(one[optimum].to_numpy())
            a.step(x, np.arange(1, len(x) + 1) / len(x), where="post", color="black", linewidth=0.9, label="path")
        a.set_xlabel(title)
        a.set_ylim(0, 1.02)
    axes[0][0].set_ylabel("share of schedules")
    if len(linux):
        axes[0][0].plot([], [], color=style.SOFT, linewidth=0.8, linestyle=":", label="Linux's schemes")
    _logarithmic(axes[0][2], runs["retransmit_mbps"].to_numpy())
    style.shared_legend(figure, axes[0], 8)
    pictures = {"distributions": figure}
    if len(t.get("series", [])):
        end = t["series"]["t_s"].max()
        begin = 30.0 if end <= 120 else 105.0
        pictures["run"] = over_time(t["series"], begin, min(begin + 60, end))
    return pictures


def draw_published(t: Tables) -> dict[str, Any]:
    """Plots the same as `draw`, with values for Cubic that are read off the paper's figure."""
    pictures = draw(t)
    style.published(pictures["distributions"].axes[0], CUBIC_MBPS, style.look("cubic")["color"], None)
    return pictures


CUBIC_MBPS = 50
"""Cubic's mean goodput in OrbCC's Fig. 1, read off the figure."""


def _logarithmic(axis: Any, values: Any) -> None:
    """A logarithmic axis from below the smallest value, or with zero if there are zeros."""
    least = values[values > 0].min() if (values > 0).any() else 0.1
    if (values > 0).all():
        axis.set_xscale("log")
        axis.set_xlim(left=least / 1.5)
    else:
        axis.set_xscale("symlog", linthresh=10.0 ** np.floor(np.log10(least)))
        axis.set_xlim(left=0)


def over_time(s: pd.DataFrame, begin_s: float, end_s: float) -> Any:
    """Plots goodput and RTT of one run with the path's rate and base RTT."""
    s = s[s["loss"] == s["loss"].max()]
    figure, axes = style.panels(1, 2, width=7.2, height=1.9, sharex=True)
    path = s[s["cc"] == frames.schemes(s)[0]]
    for a, column, base, title in (
        (axes[0][0], "goodput_mbps", "rate_mbps", "goodput, Mbit/s"),
        (axes[1][0], "rtt_ms", "base_rtt_ms", "RTT, ms"),
    ):
        a.step(path["t_s"], path[base], where="pre", color="black", linewidth=0.8, label="path")
        for cc in frames.schemes(s):
            one = s[s["cc"] == cc]
            a.plot(one["t_s"], one[column], label=style.label(cc), **style.line(cc), lw=0.9)
        a.set_ylabel(title)
    axes[1][0].set_xlabel("time, s")
    end = float(path["t_s"].max())
    axes[1][0].set_xlim(begin_s if begin_s < end else 0, min(end_s, end))
    style.shared_legend(figure, axes[:, 0], 8)
    return figure


def verdicts(study: str, *, loss: bool) -> Callable[[Tables], list[Verdict]]:
    """Claims on the published orders, and on OrbCC against the verification model."""
    source = {"orbcc": "OrbCC, Fig. 1 and section III", "leotcp": "LeoTCP, Fig. 1"}[study]

    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]
        now = frames.pick(runs, loss=int(loss))
        return _lossy(runs, now, source, study) if loss else _clean(now, source, study)

    return check


def _clean(now: pd.DataFrame, source: str, study: str) -> list[Verdict]:
    return [*(_against_model(now) if study == "orbcc" else []), *_orders(now, source, study)]


def _against_model(now: pd.DataFrame) -> list[Verdict]:
    """Claims on OrbCC against the verification model, relative to the path.

    This makes results of fewer schedules comparable.
    """
    model = "independent model of the protocol"
    mine = frames.pick(now, cc=MINE)
    rate, rtt = MODEL[0] / DRAWN["orbcc"][0], MODEL[1] / DRAWN["orbcc"][1]
    share = mean((mine["goodput_mbps"] / mine["capacity_mbps"]).to_numpy())
    inflation = mean((mine["rtt_ms"] / mine["base_rtt_ms"]).to_numpy())
    again = mean(mine["retransmit_mbps"].to_numpy())
    out = [
        near("share", "OrbCC: goodput over the path's mean rate", model, round(rate, 3), share, 0.04, kind=Kind.MODEL),
        near(
            "inflation",
            "OrbCC: mean RTT over the path's mean RTT",
            model,
            round(rtt, 3),
            inflation,
            0.06,
            kind=Kind.MODEL,
        ),
        within(
            "retransmissions",
            "OrbCC: retransmissions, order of magnitude",
            model,
            "0.77",
            again,
            0.077,
            7.7,
            "Mbit/s",
            kind=Kind.MODEL,
        ),
    ]
    if len(mine) == ALL_RUNS:
        goodput, ms = mean(mine["goodput_mbps"].to_numpy()), mean(mine["rtt_ms"].to_numpy())
        out += [
            near(
                "goodput",
                "OrbCC: mean goodput over the 50 schedules",
                model,
                MODEL[0],
                goodput,
                3,
                "Mbit/s",
                kind=Kind.MODEL,
            ),
            near("rtt", "OrbCC: mean RTT over the 50 schedules", model, MODEL[1], ms, 3, "ms", kind=Kind.MODEL),
        ]
    return out


def _orders(now: pd.DataFrame, source: str, study: str) -> list[Verdict]:
    def by(column: str, ccs: Sequence[str]) -> list[tuple[str, float]]:
        return frames.by_scheme(now, column, ccs)

    goodput, rtt, again = "goodput_mbps", "rtt_ms", "retransmit_mbps"
    words = "both BBRs below OrbCC, BBRv1 below BBRv3"
    bbr = max(by(rtt, ["bbr", "bbr3"]), key=lambda row: row[1])
    shares = now.assign(share=now["retransmit_mbps"] / now["goodput_mbps"] * 100)
    out = [
        order("goodput-bbr", words, source, by(goodput, [MINE, "bbr3", "bbr"])),
        order("rtt-order", "RTT: OrbCC lowest, Cubic largest", source, [*by(rtt, ["cubic"]), bbr, *by(rtt, [MINE])]),
        order("retransmit-order", "OrbCC retransmits less than any other", source, _others(now, again)),
        order("retransmit-share", "the same per delivered bit, %", source, _others(shares, "share")),
    ]
    if study == "orbcc":
        rivals = ["leocc_omnet", "satcp"]
        high = [*_least(now, goodput, rivals), *by(goodput, [MINE])]
        large = [*_least(now, rtt, rivals), *by(rtt, [MINE])]
        words = "LeoCC and SaTCP about as high as OrbCC"
        cubic = mean(frames.pick(now, cc="cubic")["goodput_mbps"].to_numpy())
        short, level = "Cubic: mean goodput, sustained underutilisation", f"about {CUBIC_MBPS} Mbit/s (figure)"
        out += [
            within("goodput-cubic", short, source, level, cubic, CUBIC_MBPS - 5, CUBIC_MBPS + 5, "Mbit/s"),
            order("goodput-satcp", "SaTCP above Cubic", source, by(goodput, ["satcp", "cubic"])),
            order("goodput-high", words, source, high, slack=3, unit="Mbit/s"),
            order("rtt-large", "RTT: SaTCP and LeoCC above OrbCC", source, large, unit="ms"),
        ]
    return out


def _lossy(runs: pd.DataFrame, now: pd.DataFrame, source: str, study: str) -> list[Verdict]:
    out = []
    both = runs[runs["cc"] == MINE].pivot_table(index="run", columns="loss", values="goodput_mbps")
    if {0, 1} <= set(both.columns):
        change = mean(100 * (1 - both[1] / both[0]).to_numpy())
        words = "OrbCC: goodput that random loss costs, mean over runs"
        out.append(within("orbcc-unchanged", words, source, "robust", change, -4, 4, "%"))
    names = ["bbr", "leocc_omnet"] if study == "orbcc" else ["bbr"]
    robust = [*_least(now, "goodput_mbps", [MINE, *names]), *frames.by_scheme(now, "goodput_mbps", ["bbr3"])]
    words = "OrbCC, BBRv1 (and LeoCC) above BBRv3, which is clearly lower"
    out.append(order("robust", words, source, robust, unit="Mbit/s"))
    for cc in ["cubic", "satcp"] if study == "orbcc" else ["cubic"]:
        one = now[now["cc"] == cc]
        share = median((one["goodput_mbps"] / one["capacity_mbps"]).to_numpy()) if len(one) else median([])
        words = f"{style.label(cc)} collapses under loss: share of the path's rate"
        out.append(within(f"collapse-{cc}", words, source, "collapse", share, high=0.4))
    return out


def _others(now: pd.DataFrame, column: str) -> list[tuple[str, float]]:
    ccs = [cc for cc in frames.schemes(now) if not cc.startswith("orbcc")]
    return [*_least(now, column, ccs), *frames.by_scheme(now, column, [MINE])]


def _least(now: pd.DataFrame, column: str, ccs: Sequence[str]) -> list[tuple[str, float]]:
    """The smallest median of several schemes."""
    rows = [r for r in frames.by_scheme(now, column, ccs) if not np.isnan(r[1])]
    return [min(rows, key=lambda r: r[1])] if rows else []


METHOD = """One bulk flow for 300 s over a dumbbell whose bottleneck changes {what}. The schedules are those of the
study, drawn by the same generator (run k is seed k). Queue 340 packets everywhere, access links of 10 Gbit/s."""
METRICS = """Goodput of a run: plain mean of its seconds, Mbit/s. RTT: mean over seconds of the mean of the samples in
that second, ms (`rtt_by_sample_ms`: mean over all samples). Retransmissions: bits sent again per second of the run,
Mbit/s. Orders compare medians over schedules. What loss costs: goodput without less goodput with loss on the same
schedule, in percent of the former."""
CAPTIONS = {
    "distributions": "Distribution over schedules of each run's goodput, RTT and retransmissions. Black: mean rate "
    "and mean base RTT of the path. Dotted curves: Linux's schemes. Dotted line (OrbCC, without loss): Cubic's mean in "
    "the published figure.",
    "run": "A part of run 2, by second. Black: rate and base RTT of the path.",
}

ORDER_OF_RTTS = (
    'The order "RTT: OrbCC lowest, Cubic largest" was worded after ours were seen: the paper says that OrbCC is lowest '
    "and Cubic and SaTCP large, an independent model has OrbCC < BBRv3 < BBRv1 < Cubic, of which ours keep the ends."
)
BOUNDS = {
    ("orbcc", False): 'The 3 Mbit/s of "about as high" and the tolerances around the verification model are ours.',
    ("orbcc", True): "The bound of a collapse, 40 % of the path's rate, is ours.",
    ("leotcp", True): "The bound of a collapse, 40 % of the path's rate, is ours.",
}
EXPLAINED = {
    "goodput-high": "Neither the paper's figure nor its text has a number; the bound of 3 Mbit/s is ours. Open: "
    "whether the figure shows as much.",
    "goodput-bbr": "The medians are closer than the schedules can tell apart. The BBRv3 of the study's simulator as of "
    "commit `a18f919` (`cc.bbr3.variant = inet`) is far below.",
    "goodput-satcp": "The medians are closer than the schedules of the quick size can tell apart.",
    "retransmit-order": "BBRv3 delivers less and so has less under way when an outage takes "
    "everything; per delivered bit (next row) the order is computed again.",
}
WHAT = {
    "orbcc": "every 5 s: an outage of 45 to 120 ms that loses everything at the link, then a rate of 50 to 100 Mbit/s "
    "and an RTT of 1 to 100 ms",
    "leotcp": "every 15 s, without outages: rate 50 to 100 Mbit/s, RTT 5 to 100 ms",
}


def _deviations(study: str, *, loss: bool) -> tuple[str, ...]:
    bound = BOUNDS.get((study, loss))
    return (*DEVIATIONS, *(() if loss else (ORDER_OF_RTTS,)), *((bound,) if bound else ()))


CUBIC = evidence.cubic(cases("orbcc", loss=False))


def _experiment(study: str, *, loss: bool) -> Experiment:
    what = WHAT[study] + (", and random loss of 0 to 1 % in the data direction" if loss else "")
    return Experiment(
        name=f"{study}/responsiveness{'-loss' if loss else ''}",
        title=f"Responsiveness{' with random loss' if loss else ''}",
        figure=f"{PAPERS[study]}, Fig. 1 ({'dashed' if loss else 'solid'})",
        schemes=PUBLISHED[study],
        cases=with_clean(study) if loss else cases(study, loss=False),
        tables=tables,
        verdicts=verdicts(study, loss=loss),
        draw=draw_published if study == "orbcc" and not loss else draw,
        method=METHOD.format(what=what),
        deviations=_deviations(study, loss=loss),
        explained=EXPLAINED,
        # LeoTCP's claims are counted with OrbCC's.
        theirs=INET if study == "orbcc" else None,
        evidence=CUBIC if study == "orbcc" and not loss else None,
        metrics=METRICS,
        captions=CAPTIONS,
    )


EXPERIMENTS = [_experiment(study, loss=loss) for study in PAPERS for loss in (False, True)]
