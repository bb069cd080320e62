# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One and two flows over the paths of LeoEM: Mazilu et al., Fig. 1 and 2.

Metrics: goodput over 100 Mbit/s (mean of the seconds of the full run); delay inflation = smoothed
RTT over the base RTT of the same second, from 10 to 290 s and at least 1; retransmitted over sent
segments; ratio of two flows in each of the last 100 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import ratio_of_means, ratios
from perigee_studies import beside, frames, style
from perigee_studies.figures import leo_cc_astraea as astraea
from perigee_studies.figures import leo_cc_reasons as reasons
from perigee_studies.figures import leo_cc_vivace as vivace
from perigee_studies.figures.leo_cc_cases import LOGS, one_cases, two_cases
from perigee_studies.figures.leo_cc_common import (
    ALIKE,
    CAPACITY_MBPS,
    HIGH,
    NEAR_1,
    SCHEMES,
    VERY_HIGH,
    lowest_over_base,
)
from perigee_studies.kinds import Kind
from perigee_studies.model import Experiment, Outcome, Tables
from perigee_studies.verdicts import MISSING, Verdict, count, near, order, value, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

ROWS = {"recorded": "", "leoem-compat": " (rules)", "constellation": " (physical)"}
"""Suffix of a row's name by network: LeoEM's log, LeoEM's rules, or a physically correct
constellation."""
WINDOW_S = (10, 290)
FRAME_BYTES = 1514
ONE_SOURCE, TWO_SOURCE = "Fig. 1a to 1c and text", "Fig. 1d and 2"


def one_tables(found: Sequence[Outcome]) -> Tables:
    """Runs, one per row; seconds of the first runs over the path with jumps; its first jump."""
    import pandas as pd

    jumps = [o for o in found if o.case.seed == 1 and o.case.labels["path"] == "SD-NY ISL"]
    return {
        "runs": frames.table(found, _one),
        "series": frames.series(jumps, _seconds),
        "jumps": frames.table(jumps, lambda o: _after_jump(pd.DataFrame(_seconds(o)))),
    }


def two_tables(found: Sequence[Outcome]) -> Tables:
    """Runs, one per row, and seconds of the path with the most changes."""
    chosen = [o for o in found if o.case.labels["path"] == "SD-NY BP"]
    return {"runs": frames.table(found, _two), "series": frames.series(chosen, _pair_seconds)}


def _one(o: Outcome) -> dict[str, Any]:
    d = o.digest
    flow = d.flows[0]
    mask = (d.t_s > WINDOW_S[0]) & (d.t_s <= min(WINDOW_S[1], d.t_s[-1] - 10))
    queue_ms = LOGS[str(o.case.labels["path"])][1] * FRAME_BYTES * 8 / CAPACITY_MBPS / 1e3
    with np.errstate(invalid="ignore"):
        inflation = (d.columns["srtt_ns"] / d.columns["base_rtt_ns"])[0, mask]
    return {
        "norm": np.nan_to_num(d.mbps(0)).mean() / CAPACITY_MBPS,
        "inflation": max(1.0, float(np.nanmean(inflation))),
        "inflation_by_sample": frames.number(flow["inflation"]),
        "retransmit_pct": 100 * flow["retransmits"] / max(1, flow["data_sent"]),
        "full_inflation": 1 + np.nanmean(queue_ms / (d.columns["base_rtt_ns"][0, mask] / 1e6)),
        "base_rtt_ms": np.nanmean(d.columns["base_rtt_ns"]) / 1e6,
        "path_changes": flow["path_changes"],
        "lowest_over_base": lowest_over_base(d),
    }


def _seconds(o: Outcome) -> list[dict[str, Any]]:
    d = o.digest
    c = d.columns
    return [
        {
            "t_s": float(t),
            "goodput_mbps": d.mbps(0)[i],
            "base_rtt_ms": c["base_rtt_ns"][0, i] / 1e6,
            "srtt_ms": c["srtt_ns"][0, i] / 1e6,
            "cwnd_kb": c["cwnd_bytes"][0, i] / 1e3,
        }
        for i, t in enumerate(d.t_s)
    ]


def _two(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end = d.t_s[-1]
    mask = d.window(end - 100, end) if end >= 300 else d.window(end * 2 / 3, end)
    g1, g2 = np.nan_to_num(d.mbps()[:, mask])
    each = ratios(g1, g2)
    return {
        "ratio": each.mean(),
        "ratio_sd": each.std(),
        "ratio_of_means": ratio_of_means(g1, g2),
        "goodput_sd_mbps": (g1.std() + g2.std()) / 2,
        "step_sd_mbps": (np.diff(g1).std() + np.diff(g2).std()) / 2,
        "sum_mbps": (g1 + g2).mean(),
    }


def _pair_seconds(o: Outcome) -> list[dict[str, Any]]:
    d = o.digest
    return [
        {
            "t_s": float(t),
            "goodput1_mbps": np.nan_to_num(d.mbps(0)[i]),
            "goodput2_mbps": np.nan_to_num(d.mbps(1)[i]),
            "base_rtt_ms": d.columns["base_rtt_ns"][0, i] / 1e6,
        }
        for i, t in enumerate(d.t_s)
        if t >= d.t_s[-1] * 2 / 3
    ]


def _rows(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    named = runs.assign(row=[p + ROWS[n] for p, n in zip(runs["path"], runs["network"], strict=True)])
    return named, list(dict.fromkeys(named.sort_values("network", ascending=False, kind="stable")["row"]))


def _columns(runs: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Schemes and their names."""
    ccs = frames.schemes(runs)
    return ccs, [style.label(cc) for cc in ccs]


def draw_one(t: Tables) -> dict[str, Any]:
    """Plots three heat maps, and the effect of a jump of the base RTT."""
    runs, rows = _rows(t["runs"])
    ccs, names = _columns(runs)
    figure, axes = style.panels(3, 1, width=3.7, height=0.36 * (len(rows) + 2) + 1.2)
    for a, column, title, keys in (
        (axes[0][0], "norm", "goodput / 100 Mbit/s", {"vmin": 0.0, "vmax": 1.0}),
        (axes[0][1], "inflation", "delay inflation", {"vmin": 1.0, "cmap": "cividis_r"}),
        (axes[0][2], "retransmit_pct", "retransmitted, %", {"vmin": 0.0, "cmap": "cividis_r"}),
    ):
        grid = runs.groupby(["row", "cc"])[column]
        cells = [[grid.mean().get((p, cc), np.nan) for cc in ccs] for p in rows]
        errors = [[grid.std().get((p, cc), np.nan) for cc in ccs] for p in rows]
        most = _by_path(runs, column).max()
        published = INFLATION if column == "inflation" else {}
        cells += [[float(most.get(cc, np.nan)) for cc in ccs], [published.get(cc, np.nan) for cc in ccs]]
        whole, blank = [*rows, *LARGEST], [[np.nan] * len(ccs)] * 2
        style.heat(a, whole if a is axes[0][0] else [""] * len(whole), names, cells, [*errors, *blank], **keys)
        for cc in published.keys() & set(ccs):
            style.framed(a, len(whole) - 1, ccs.index(cc))
        a.axhline(len(rows) - 0.5, color="white", linewidth=3)
        a.set_title(title, loc="left")
    pictures = {"single-flow": figure}
    if len(t.get("series", [])):
        pictures["jumps"] = _jumps(t["series"])
    return pictures


LARGEST = ("largest of LeoEM's paths", "published largest")
INFLATION = {"cubic": 2.14, "satcp": 2.30}
"""Maximum delay inflation over LeoEM's paths, according to the text."""


def _jumps(s: pd.DataFrame) -> Any:
    s = s[s["network"] == s["network"].iloc[0]]
    figure, axes = style.panels(1, 2, width=7.2, height=1.8, sharex=True)
    path = s[s["cc"] == frames.schemes(s)[0]]
    for a, column, title in (
        (axes[0][0], "goodput_mbps", "goodput, Mbit/s"),
        (axes[1][0], "srtt_ms", "smoothed RTT, ms"),
    ):
        for cc in frames.schemes(s):
            one = s[s["cc"] == cc]
            a.plot(one["t_s"], one[column], label=style.label(cc), linewidth=0.9, **style.line(cc))
        a.set_ylabel(title)
    axes[1][0].step(path["t_s"], path["base_rtt_ms"], where="pre", color="black", linewidth=0.9, label="base RTT")
    axes[1][0].set_xlabel("time, s (San Diego - New York, lasers)")
    style.shared_legend(figure, axes[:, 0])
    return figure


def draw_two(t: Tables) -> dict[str, Any]:
    """Plots a heat map of ratios, and goodputs over time on the path with the most changes."""
    runs, rows = _rows(t["runs"])
    ccs, names = _columns(runs)
    figure, axes = style.panels(1, 1, width=4.2, height=0.36 * len(rows) + 1.2)
    grid = runs.groupby(["row", "cc"])["ratio"]
    cells = [[grid.mean().get((p, cc), np.nan) for cc in ccs] for p in rows]
    errors = [[grid.std().get((p, cc), np.nan) for cc in ccs] for p in rows]
    style.heat(axes[0][0], rows, names, cells, errors, vmin=0.5, vmax=1.0)
    axes[0][0].set_title("goodput ratio per second, last 100 s", loc="left")
    pictures = {"fairness": figure}
    s = t.get("series")
    if s is not None and len(s):
        pictures["evolution"] = _evolution(s, ccs)
    return pictures


def _evolution(s: pd.DataFrame, ccs: Sequence[str]) -> Any:
    """Plots goodputs of both flows (solid, dashed) with the range of the runs.

    The axis on the right is the base RTT.
    """
    columns = 3
    figure, axes = style.panels(columns, -(-len(ccs) // columns), width=3.2, height=1.8, sharex=True, sharey=True)
    for i, a in enumerate(axes.flat):
        if i >= len(ccs):
            a.axis("off")
            continue
        cc = ccs[i]
        a.set_title(style.label(cc), loc="left")
        one = s[s["cc"] == cc].groupby("t_s")
        if not len(one):
            a.text(0.5, 0.5, "no runs", transform=a.transAxes, ha="center", color=style.SOFT)
            continue
        for column, dashes in (("goodput1_mbps", "-"), ("goodput2_mbps", "--")):
            mean = one[column].mean()
            a.plot(mean, color=style.look(cc)["color"], linestyle=dashes, linewidth=0.9)
            low, high = one[column].min(), one[column].max()
            a.fill_between(mean.index, low, high, color=style.look(cc)["color"], alpha=0.15, linewidth=0)
        right = a.twinx()
        right.step(*zip(*one["base_rtt_ms"].mean().items(), strict=True), where="pre", color="black", linewidth=0.6)
        right.set_ylim(0, 100)
        right.spines["top"].set_visible(False)
        right.set_yticks([0, 50, 100] if i % columns == columns - 1 else [])
        if i % columns == columns - 1:
            right.set_ylabel("base RTT, ms")
    for a in axes[-1]:
        a.set_xlabel("time, s")
    for a in axes[:, 0]:
        a.set_ylabel("goodput, Mbit/s")
    return figure


def _by_path(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Means on LeoEM's paths, recorded or generated by its rules.

    NaN for schemes that were not run.
    """
    on_leoem = runs[runs["network"] != "constellation"]
    return on_leoem.groupby(["path", "cc"])[column].mean().unstack().reindex(columns=list(SCHEMES))


def _paths(key: str, claim: str, published: str, margin: pd.Series, at_least: int | None = None) -> Verdict:
    """Claim that a margin is not negative on all (or `at_least`) paths with runs of its schemes."""
    holds = {f"{path} ({m:+.2f})": bool(m >= 0) for path, m in margin.dropna().items()}
    return count(key, claim, ONE_SOURCE, published, holds, at_least)


def check_one(t: Tables) -> list[Verdict]:
    """Checks L1 to L7: compares one flow on each of LeoEM's paths with the paper's figures."""
    runs, source, out = t["runs"], ONE_SOURCE, []
    norm, inflation, again = (_by_path(runs, c) for c in ("norm", "inflation", "retransmit_pct"))
    paths = list(norm.index)
    if not paths:
        return [Verdict("paths", "L1 to L7", source, "", "", "", "", MISSING, Kind.STATEMENT)]
    if "SD-NY BP" in paths:
        here = norm.loc["SD-NY BP"]
        gain = value(here["satcp"] - here["cubic"])
        out += [
            within("L1-cubic", "L1: Cubic cannot fill SD-NY BP", source, "not full", value(here["cubic"]), high=0.85),
            within("L1-gain", "L1: goodput of SaTCP less that of Cubic there", source, "better", gain, 0.05),
        ]
    if "SD-SHA ISL" in paths:
        least = value(norm.loc["SD-SHA ISL", ["cubic", "satcp"]].min())
        out.append(
            within("L1-quiet", "L1: Cubic and SaTCP fill SD-SHA ISL: the smaller goodput", source, "full", least, 0.88)
        )
    ranked = again[list(SCHEMES)].dropna(axis=1, how="all")
    most = (again["leocc"] - ranked.drop(columns="leocc", errors="ignore").max(axis=1)).rename("leocc")
    every = "on every path"
    out += [
        *(near(f"L2-{cc}", f"L2: largest inflation of {style.label(cc)}", source, published,
               value(inflation[cc].max()), 0.20) for cc, published in INFLATION.items()),
        _paths("L2-order", "L2: SaTCP's inflation at least Cubic's less 0.05", every,
               inflation["satcp"] - inflation["cubic"] + 0.05),
        within("L3-goodput", "L3: goodput of SaTCP less that of BBRv3, mean over paths", source, "slightly",
               value((norm["satcp"] - norm["bbr3"]).mean()), 0, 0.12),
        within("L3-delay", "L3: inflation of SaTCP less that of BBRv3, mean over paths", source, "much",
               value((inflation["satcp"] - inflation["bbr3"]).mean()), 0.4),
        _paths("L4-goodput", "L4: LeoCC at least SaTCP less 0.05", every, norm["leocc"] - norm["satcp"] + 0.05),
        _paths("L4-delay", "L4: LeoCC's inflation at most SaTCP's less 0.3", every,
               inflation["satcp"] - 0.3 - inflation["leocc"]),
        _paths("L4-retransmit", "L4: LeoCC retransmits most (percent more than the next)", "the most", most,
               round(len(paths) * 2 / 3)),
        _paths("L5-goodput", "L5: Vivace below LeoCC", every, norm["leocc"] - norm["vivace"]),
        _paths("L5-delay", f"L5: Vivace's inflation like BBRv3's (± {ALIKE:g})", "alike",
               ALIKE - (inflation["vivace"] - inflation["bbr3"]).abs()),
        _paths("L6-goodput", "L6: Astraea far below capacity (at most 0.6)", "very poorly", 0.6 - norm["astraea"]),
        _paths("L6-delay", "L6: Astraea does not inflate (at most 1.15)", "not inflated", 1.15 - inflation["astraea"]),
    ]  # fmt: skip
    physical = runs[runs["network"] == "constellation"].groupby(["path", "cc"])["inflation"].mean().unstack()
    for cc, published in INFLATION.items():
        if cc in physical:
            words = f"L2 over the physical constellation: largest inflation of {style.label(cc)}"
            elsewhere = f"{source}; over another network than there, not published"
            out.append(
                near(
                    f"L2-sky-{cc}", words, elsewhere, published, value(physical[cc].max()), 0.20, kind=Kind.UNPUBLISHED
                )
            )
    out += _jump(t)
    return out


def _after_jump(seconds: pd.DataFrame) -> dict[str, Any] | None:
    """Reaction of a flow to the first rise of the base RTT by more than 40 ms.

    None if there is no such rise.

    BBRv3 keeps its window of two BDP of the *old* RTT, so that the rate falls to 2 x old / new RTT
    (56 to 143 ms: 0.78 of the link, 0.75 of the capacity in payload), around which single seconds
    scatter. The metrics are the seconds until 0.9 of the capacity is reached again, and the mean
    rate of the first of them.
    """
    rises = seconds.index[seconds["base_rtt_ms"].diff() > 40]
    if not len(rises):
        return None
    after = seconds.loc[rises[0] + 1 : rises[0] + 20, "goodput_mbps"].to_numpy()
    back = after >= 0.9 * CAPACITY_MBPS
    return {
        "jump_ms": float(seconds["base_rtt_ms"].diff()[rises[0]]),
        "back_s": int(back.argmax()) if back.any() else len(after),
        "held": float(after[:LEAST_S].mean()) / CAPACITY_MBPS,
    }


def _jump(t: Tables) -> list[Verdict]:
    """L7: how long BBRv3 keeps its old window after the first jump (see `_after_jump`)."""
    found = t.get("jumps")
    if found is None or not len(found):
        return []
    one = frames.pick(found[found["network"] != "constellation"], cc="bbr3")
    if not len(one):
        return []
    seconds, held = value(one["back_s"].iloc[0]), value(one["held"].iloc[0])
    source = "text; LeoEM path SD-NY ISL"
    words = "L7: seconds until 0.9 of the capacity after the base RTT rose by more than 40 ms, BBRv3"
    rate = f"L7: mean goodput of the first {LEAST_S} s after it"
    return [
        within("L7", words, source, "until its minimum expires (10 s)", seconds, LEAST_S, 12, "s"),
        within("L7-rate", rate, source, "the old, smaller product", held, high=0.75),
    ]


LEAST_S = 4
"""Minimum time in s for which the old window lasts."""


def check_two(t: Tables) -> list[Verdict]:
    """Checks L8 and L9: two flows on each of LeoEM's paths."""
    runs, source, out = t["runs"], TWO_SOURCE, []
    ratio = _by_path(runs, "ratio")
    paths = list(ratio.index)
    if "SD-NY BP" in paths:
        words = "L8: Cubic on SD-NY BP"
        out.append(within("L8-cubic", words, source, "closer to 1", value(ratio["cubic"]["SD-NY BP"]), NEAR_1))
        out += _unused(runs, source)
        sd = _by_path(runs, "goodput_sd_mbps").loc["SD-NY BP"]
        noisy = min(((style.label(cc), float(sd[cc])) for cc in ("bbr3", "vivace")), key=lambda v: v[1])
        words = "L9: BBRv3 and Vivace noisier than LeoCC on SD-NY BP (standard deviation over seconds)"
        out.append(order("L9-noisy", words, source, [noisy, ("LeoCC", sd["leocc"])], unit="Mbit/s"))
        others = [(style.label(cc), float(v)) for cc, v in sd.dropna().items() if cc != "astraea"]
        rest = min(others, key=lambda v: v[1], default=("any other", float("nan")))
        words = "L9: Astraea's goodput varies least on SD-NY BP"
        out.append(order("L9-astraea", words, source, [rest, ("Astraea", sd["astraea"])], unit="Mbit/s"))
    for cc in ("bbr3", "leocc"):
        holds = {f"{p} ({v:.2f})": bool(v >= HIGH) for p, v in ratio[cc].dropna().items()}
        words = f"L8: {style.label(cc)} high everywhere (at least {HIGH:g})"
        out.append(count(f"L8-{cc}", words, source, "high", holds))
    if "SD-SHA ISL" in paths:
        words = "L8: Vivace on the stable SD-SHA ISL"
        out.append(within("L8-vivace", words, source, "very high", value(ratio["vivace"]["SD-SHA ISL"]), VERY_HIGH))
        astraea = ratio["astraea"].dropna()
        others = [(str(path), float(found)) for path, found in astraea.items() if path != "SD-SHA ISL"]
        if others:
            rows = [("SD-SHA ISL", astraea.get("SD-SHA ISL", float("nan"))), max(others, key=lambda v: v[1])]
            out.append(order("L8-astraea", "L8: Astraea is fairest on the stable SD-SHA ISL", source, rows))
    return out


def _unused(runs: pd.DataFrame, source: str) -> list[Verdict]:
    """Claims on unused capacity with two flows.

    Cubic leaves more of SD-NY BP unused than SaTCP; Astraea leaves the most of every path unused.
    """
    here = runs[(runs["path"] == "SD-NY BP") & (runs["network"] != "constellation")]
    rows = frames.by_scheme(here, "sum_mbps", ["satcp", "cubic"], "mean")
    words = "Cubic's two flows leave more of SD-NY BP unused than SaTCP's (goodput of both)"
    total = _by_path(runs, "sum_mbps")
    others = total.drop(columns="astraea").min(axis=1)
    holds = {f"{p} ({m:+.1f})": bool(m > 0) for p, m in (others - total["astraea"]).dropna().items()}
    return [
        order("unused-cubic", words, source, rows, unit="Mbit/s"),
        count("unused-astraea", "Astraea's two flows have least of every path", source, "under-utilisation", holds),
    ]


def paths_used(t: Tables) -> str:
    """States which paths were recorded and which were generated by rules."""
    words = {
        "recorded": "replayed from LeoEM's recorded logs",
        "leoem-compat": "made by the rules of LeoEM's generator",
    }
    said = []
    for network, how in words.items():
        mine = list(dict.fromkeys(t["runs"].loc[t["runs"]["network"] == network, "path"]))
        if mine:
            said.append(f"{', '.join(mine)} {'was' if len(mine) == 1 else 'were'} {how}")
    return f"Here {'; '.join(said)}. {_alike(t['runs'])}".strip() if said else ""


def _alike(runs: pd.DataFrame) -> str:
    """States where runs with other lengths of outages have identical results."""
    values = [name for name in runs if name not in {"run", "seed"}]
    counts = []
    for labels, rows in runs.groupby(["path", "network", "cc"], sort=False):
        if (different := len(rows[values].drop_duplicates())) < len(rows):
            counts.append(f"{labels[0]}{ROWS[labels[1]]} {style.label(labels[2])} {different} of {len(rows)}")
    if not counts:
        return ""
    return (
        "Runs differ in the lengths of outages alone. A length has no effect where no packet arrives at the link until "
        "it is up again, as the sender waits for a timer (an example is on the page on Linux's stack); then runs are "
        f"identical, and an interval over them is too narrow. Different results: {', '.join(counts)} runs."
    )


METHOD = """Paths logged by LeoEM (a line per second) with what its emulator breaks: links between satellites lose
what they hold when the path leaves or joins them, an end's link is down for three times its old and new delay when
its satellite changes, plus 45 to 120 ms (the study's text). 100 Mbit/s per link (dishes 150, behind a host's link of
100), queues of one BDP of the study's ping means. The rows "rules" are logs made by the rules of LeoEM's generator,
the rows "physical" are the same cities over a correct constellation (72 x 22, hard handovers of 45 to 120 ms).
Seattle SEA, New York NY, San Diego SD, Shanghai SHA, London LDN; ISL: by lasers from satellite to satellite, BP: bent
pipe, up and down by ground stations. L1 to L9: checks of ours."""
ONE_METRICS = """Goodput: mean of the seconds of the whole run, over 100 Mbit/s (`norm`). Delay inflation: smoothed RTT
over the base RTT of the same second, mean of 10 to 290 s, at least 1 (`inflation_by_sample`: each RTT sample over the
base RTT at its sending). Retransmitted: share of the segments sent, %. `full_inflation`: what a queue that is always
full would give. Claims "on every path" are on means over runs of LeoEM's paths, without the physical rows."""
ONE_CAPTIONS = {
    "single-flow": "Means ± standard deviation over runs. Dark is worse. Framed: published in the text.",
    "jumps": "Run 1 of SD-NY ISL, by second: what jumps of the base RTT do.",
}
TWO_METRICS = """Ratio: for each second of the last 100 s min / max of the two goodputs, mean over seconds and runs
(`ratio_of_means` beside it). Noise: standard deviation of a flow's goodput over these seconds, Mbit/s."""
TWO_CAPTIONS = {
    "fairness": "Means ± standard deviation over runs; the lighter the fairer.",
    "evolution": "SD-NY BP, last 100 s: goodput of the first flow (solid) and of the second (dashed), means over "
    "runs, with the range of the runs as shade. Black: base RTT, scale on the right.",
}
DEVIATIONS = (
    "Recorded logs are used if given (--data). The logs of New York - London and of Seattle - New York over bent pipes "
    "are not there: those paths are made by the rules of LeoEM's generator, its two defects included (preset "
    "`leoem-compat`; of the logs that can be compared it makes 93 % of the rows and more). Without --data all are.",
    "New delays hold from the start of a second; LeoEM's emulator sets them when its outages are over.",
)
FAIRNESS = beside.together(
    astraea.FAIRNESS,
    vivace.evidence(
        two_cases,
        check_two,
        lambda c: c.labels["path"] in {"SD-NY BP", "SD-SHA ISL"} and c.labels["network"] != "constellation",
    ),
)
EXPERIMENTS = [
    Experiment(
        name="leo-cc/single-flow",
        title="One flow over LeoEM's paths",
        figure="Fig. 1a to 1c",
        schemes=SCHEMES,
        cases=one_cases,
        tables=one_tables,
        verdicts=check_one,
        draw=draw_one,
        method=METHOD,
        deviations=DEVIATIONS,
        explain=reasons.explain_single,
        evidence=astraea.SINGLE,
        note=paths_used,
        metrics=ONE_METRICS,
        captions=ONE_CAPTIONS,
    ),
    Experiment(
        name="leo-cc/fairness",
        title="Two flows over LeoEM's paths",
        figure="Fig. 1d and 2",
        schemes=SCHEMES,
        cases=two_cases,
        tables=two_tables,
        verdicts=check_two,
        draw=draw_two,
        method=METHOD + " The second flow joins after a third of the run.",
        deviations=DEVIATIONS,
        explain=reasons.explain_fairness,
        evidence=FAIRNESS,
        note=paths_used,
        metrics=TWO_METRICS,
        captions=TWO_CAPTIONS,
    ),
]
