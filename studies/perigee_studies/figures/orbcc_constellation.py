# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Two flows over a constellation: OrbCC and LeoTCP, Fig. 3 and the table of results.

Metrics: goodput ratio of the two run averages; mean goodput of both flows; normalised delay = mean
RTT over the mean base RTT of the same run (mean over the flows). The table in the OrbCC paper
divides by base RTTs that differ from the stated ones; its delays are compared after the correction
that its own goodputs imply.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import mean
from perigee_studies import frames, style
from perigee_studies.figures import orbcc_epochs as epochs
from perigee_studies.figures.orbcc_common import DEVIATIONS, INET, MINE, PAPERS, SCHEMES
from perigee_studies.figures.orbcc_constellation_cases import (
    CONFIGURED,
    CROSSING,
    PRINTED_SHARE,
    STARTS,
    crossing_cases,
    sharing_cases,
)
from perigee_studies.figures.orbcc_constellation_published import (
    DELAY,
    FAIR,
    GOODPUT_MBPS,
    MOST,
    PRINTED,
    RATIO,
    STUDIES,
)
from perigee_studies.model import Experiment, Outcome, Tables
from perigee_studies.verdicts import Verdict, largest, near, order, smallest, within

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

GOODPUT_TOLERANCE_MBPS = 1.5
CEILING_MBPS = 96.085


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    begin = 2.0
    mask = d.t_s > begin
    goodput = np.nan_to_num(d.mbps()[:, mask]).mean(axis=1)
    rtt, base = np.nanmean(d.columns["rtt_ns"], axis=1) / 1e6, np.nanmean(d.columns["base_rtt_ns"], axis=1) / 1e6
    return {
        "goodput_ratio": goodput.min() / goodput.max(),
        "goodput_mbps": goodput.mean(),
        "delay": rtt.mean() / base.mean(),
        "delay_by_flow": (rtt / base).mean(),
        "base_rtt_ms": base.mean(),
        "base_rtt1_ms": base[0],
        "base_rtt2_ms": base[1],
        "shared": _shared(o),
        "path_changes": d.flows[0]["path_changes"],
    }


def _shared(o: Outcome) -> float:
    """Share of time during which the data of both flows crosses the same directed link."""
    d = o.digest
    ends = [(f["from"], f["to"]) for f in d.flows]
    end_s = d.info["duration_ns"] / 1e9
    changes = sorted({t for t, _, _ in d.routes})
    now: dict[tuple[str, str], set[tuple[str, str]]] = {}
    together: float = 0.0
    at = 0
    for i, t in enumerate(changes):
        while at < len(d.routes) and d.routes[at][0] <= t:
            nodes = d.routes[at][2]
            if nodes:
                now[nodes[0], nodes[-1]] = set(pairwise(nodes))
            at += 1
        until = changes[i + 1] if i + 1 < len(changes) else end_s
        if now.get(ends[0], set()) & now.get(ends[1], set()):
            together += until - t
    return float(together / end_s)


def draw_sharing(study: str) -> Callable[[Tables], dict[str, Any]]:
    """Plots heat maps of delay and ratio, with the worst pair below and the text's values."""
    at = STUDIES.index(study)
    delays = {cc: values[at] for cc, values in MOST.items()}

    def pictures(t: Tables) -> dict[str, Any]:
        runs = t["runs"]
        pairs, ccs = list(dict.fromkeys(runs["pair"])), frames.schemes(runs)
        figure, axes = style.panels(2, 1, width=4.6, height=0.42 * (len(pairs) + 2) + 1.2)
        for a, column, title, worst, published, keys in (
            (axes[0][0], "delay", "RTT / base RTT", max, delays, {"vmin": 1.0, "vmax": 2.2}),
            (axes[0][1], "goodput_ratio", "goodput ratio", min, {MINE: FAIR}, {"vmin": 0.3, "vmax": 1.0}),
        ):
            grid = runs.groupby(["pair", "cc"])[column]
            cells = [[grid.mean().get((p, cc), np.nan) for cc in ccs] for p in pairs]
            errors = [[grid.std().get((p, cc), np.nan) for cc in ccs] for p in pairs]
            cells += [[worst(column) for column in zip(*cells, strict=True)], [published.get(cc, np.nan) for cc in ccs]]
            errors += [[np.nan] * len(ccs)] * 2
            names = [style.label(cc).replace(" (", "\n(") for cc in ccs]
            rows = [*pairs, "worst of all pairs", "published worst"]
            figure.colorbar(style.heat(a, rows, names, cells, errors, **keys), ax=a, shrink=0.8)
            for cc in published.keys() & set(ccs):
                style.framed(a, len(rows) - 1, ccs.index(cc))
            a.axhline(len(pairs) - 0.5, color="white", linewidth=3)
            a.set_title(title, loc="left")
        axes[0][1].set_yticklabels([])
        return {"path-sharing": figure}

    return pictures


def draw_crossing(study: str) -> Callable[[Tables], dict[str, Any]]:
    """Plots ratio, goodput and delay against the share of common time, with the published values."""
    at = STUDIES.index(study)

    def pictures(t: Tables) -> dict[str, Any]:
        runs, linux = t["runs"], t.get("linux-runs")
        figure, axes = style.panels(3, len(CROSSING), width=2.9, height=2.3, sharex="row", sharey="col")
        for row, pair in zip(axes, CROSSING, strict=True):
            for a, column, title, published in zip(
                row,
                ("goodput_ratio", "goodput_mbps", "delay"),
                ("goodput ratio", "mean goodput, Mbit/s", "RTT / base RTT"),
                (RATIO, GOODPUT_MBPS, DELAY),
                strict=True,
            ):
                for cc in frames.schemes(runs):
                    _by_share(a, frames.pick(runs, pair=pair, cc=cc), column, cc)
                    if linux is not None:
                        style.hollow_over(a, frames.pick(linux, pair=pair), "shared", column, cc)
                    if cc in published[pair]:
                        style.printed(a, PRINTED_SHARE[pair], published[pair][cc][at], cc)
                a.set_title(f"{pair}: {title}", loc="left")
            row[0].set_xlabel("")
        for a in axes[-1]:
            a.set_xlabel("share of the time on one link")
        axes[0][0].plot([], [], "D", color="white", markeredgecolor="black", label="published, at the printed share")
        if linux is not None:
            style.name_hollow(axes[0][0])
        style.shared_legend(figure, axes[0])
        return {"intermittent": figure}

    return pictures


def _by_share(a: Any, runs: pd.DataFrame, column: str, cc: str) -> None:
    """Draws a mark for each start; of the configured start the mean over runs."""
    mean = runs.groupby("start")[["shared", column]].mean().sort_values("shared")
    look = style.look(cc) | {"linestyle": "none"}
    a.plot(mean["shared"], mean[column], label=style.label(cc), **look)


def check_sharing(study: str) -> Callable[[Tables], list[Verdict]]:
    """Compares shares of flows with common paths with the paper's figure."""
    source = f"{PAPERS[study]}, Fig. 3(a) and 3(b)"

    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]

        def by_pair(cc: str, column: str) -> Any:
            return runs[runs["cc"] == cc].groupby("pair")[column].mean().to_numpy()

        out = [
            near(f"max-{cc}", f"{style.label(cc)}: largest delay of all pairs", source, v[STUDIES.index(study)],
                 largest(by_pair(cc, "delay")), 0.25)
            for cc, v in MOST.items()
        ]  # fmt: skip
        delay, ratio = largest(by_pair(MINE, "delay")), smallest(by_pair(MINE, "goodput_ratio"))
        out.append(within("orbcc-delay", "OrbCC: largest delay of all pairs", source, "minimal", delay, high=1.12))
        out.append(
            within(
                "orbcc-ratio",
                "OrbCC: smallest ratio of all pairs",
                source,
                f"about {FAIR:g}",
                ratio,
                0.97,
            )
        )
        fair = min(frames.by_scheme(runs, "goodput_ratio", ["cubic", "bbr"], "mean", "pair"), key=lambda v: v[1])
        poor = frames.by_scheme(runs, "goodput_ratio", ["bbr3"], "mean", "pair")
        out.append(order("bbr3", "BBRv3 less fair than Cubic and BBRv1", source, [fair, *poor]))
        return out

    return check


def check_crossing(study: str) -> Callable[[Tables], list[Verdict]]:
    """Claims on section 8.7: the share of common time as configured, the table where it is the printed one."""
    source, at = f"{PAPERS[study]}, Fig. 3(c) and table", STUDIES.index(study)

    def check(t: Tables) -> list[Verdict]:
        runs, out = t["runs"], []
        for pair, (*_, published) in CROSSING.items():
            here = at_starts(runs, pair)
            shared = mean(frames.pick(runs, pair=pair, start=CONFIGURED)["shared"].to_numpy())
            words = f"{pair}: share of the time on one link (the published one is implied by its goodputs)"
            out.append(near(f"shared-{pair}", words, source, published, shared, 0.05))
            for cc, values in DELAY[pair].items():
                ours = frames.average(here, "delay", cc=cc)
                words, tolerance = f"{pair}, {style.label(cc)}: normalised delay", 0.04 if cc == MINE else 0.15
                printed = f"corrected; printed {PRINTED[pair][cc]:g}" if study == "orbcc" else ""
                out.append(near(f"delay-{pair}-{cc}", words, source, values[at], ours, tolerance, printed=printed))
            for cc, values in GOODPUT_MBPS[pair].items():
                ours = frames.average(here, "goodput_mbps", cc=cc)
                words, key = f"{pair}, {style.label(cc)}: mean goodput of a flow", f"goodput-{pair}-{cc}"
                out.append(near(key, words, source, values[at], ours, GOODPUT_TOLERANCE_MBPS, "Mbit/s"))
            out.append(_most(here, pair, source))
            for cc, values in RATIO[pair].items():
                ours = frames.average(here, "goodput_ratio", cc=cc)
                tolerance = 0.15 if cc == "bbr3" else 0.06
                out.append(
                    near(
                        f"ratio-{pair}-{cc}",
                        f"{pair}, {style.label(cc)}: goodput ratio",
                        source,
                        values[at],
                        ours,
                        tolerance,
                    )
                )
            mine = frames.pick(here, cc=MINE)
            efficiency = mean((mine["goodput_mbps"] / (CEILING_MBPS * (1 - mine["shared"] / 2))).to_numpy())
            words = f"{pair}, OrbCC: goodput over what the common time leaves"
            out.append(within(f"efficiency-{pair}", words, source, "full", efficiency, 0.99))
        return out

    return check


def at_starts(runs: pd.DataFrame, pair: str) -> pd.DataFrame:
    """The runs of a pair at the starts with the printed share of common time (`STARTS`)."""
    here = frames.pick(runs, pair=pair)
    return here[here["start"].isin(STARTS[pair])]


def _most(here: pd.DataFrame, pair: str, source: str) -> Verdict:
    """Claim that OrbCC's flows have the largest mean goodput."""
    mine = frames.by_scheme(here, "goodput_mbps", [MINE], "mean")
    rest = frames.by_scheme(here, "goodput_mbps", [cc for cc in GOODPUT_MBPS[pair] if cc != MINE], "mean")
    rows = [*mine, max(rest, key=lambda v: v[1])]
    return order(f"most-{pair}", f"{pair}: OrbCC's mean goodput is the largest", source, rows, unit="Mbit/s")


METHOD = """72 x 22 satellites (550 km, 53 degrees, no phasing, lasers without a seam link), fixed start 2021-04-22
19:19 UTC, 100 Mbit/s on every link with a drop-tail queue of the study's length, routes anew every 100 ms by
propagation delay; {what}."""
WHERE = """ The papers print the shares of common time, 40 and 70 %, on which the table hangs. The share as
configured is compared with the published one, the table where it has the printed value. The rule, which looks at pings
alone: of 48 starts over a day, half an hour apart, the five whose share is nearest to the printed one, for each pair;
one run at each."""
METRICS = """Goodput ratio: smaller over larger of the two flows' means from 2 s on. Delay (normalised): the RTT's
mean over time and flows over that of the base RTT of the same run (`delay_by_flow`: mean of both flows' quotients).
Mean goodput: of both flows, Mbit/s. Share of the time on one link: in which the data of both crosses one link in the
same direction (`shared`)."""
CAPTIONS = {
    "path-sharing": "Means ± standard deviation over runs; the lighter the larger. Framed: published in the text.",
    "intermittent": "A mark per start of the runs: the configured one (mean over its runs), and those whose share of "
    "common time is nearest to the printed one, of this pair and of the other. Diamonds: published, at the printed "
    "share. Hollow: Linux's schemes.",
}
NO_ROUTES = (
    "The published runs load routing files that are not public; their paths are not quite the shortest ones of ours "
    "(`orbcc/intermittent` shows by how much: the share of the time on one link)."
)
SAME_RUNS = "The runs are those of `orbcc/intermittent`, whose page says why, from variants of them."


def _crossing_keys() -> list[str]:
    """Keys of the claims of both pairs."""
    by_scheme = [f"{what}-{p}-{cc}" for what in ("goodput", "delay", "ratio") for p in CROSSING for cc in RATIO[p]]
    return [*(f"shared-{p}" for p in CROSSING), *by_scheme]


EXPERIMENTS = [
    *(
        Experiment(
            name=f"{study}/path-sharing",
            title="Two flows on one path over a constellation",
            figure=f"{PAPERS[study]}, Fig. 3(a), 3(b)",
            schemes=SCHEMES,
            cases=sharing_cases,
            tables=frames.per_run(_row),
            verdicts=check_sharing(study),
            draw=draw_sharing(study),
            method=METHOD.format(what="both flows between the same two cities"),
            deviations=(*DEVIATIONS, NO_ROUTES),
            theirs=INET,
            metrics=METRICS,
            captions=CAPTIONS,
        )
        for study in STUDIES
    ),
    *(
        Experiment(
            name=f"{study}/intermittent",
            title="Two flows whose paths meet now and then",
            figure=f"{PAPERS[study]}, Fig. 3(c) and table",
            schemes=SCHEMES,
            cases=crossing_cases,
            tables=frames.per_run(_row),
            verdicts=check_crossing(study),
            draw=draw_crossing(study),
            method=METHOD.format(
                what="New York to London and New York to St John's (Pair1), San Diego and Lawrence to New York (Pair2)"
            )
            + WHERE,
            deviations=(*DEVIATIONS, NO_ROUTES),
            theirs=INET,
            evidence=epochs.evidence(crossing_cases) if study == "orbcc" else None,
            explained={} if study == "orbcc" else dict.fromkeys(_crossing_keys(), SAME_RUNS),
            metrics=METRICS,
            captions=CAPTIONS,
        )
        for study in STUDIES
    ),
]
