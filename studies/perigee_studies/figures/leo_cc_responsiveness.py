# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Responsiveness: Mazilu et al., Fig. 3.

Metric: mean over the seconds of a run of their goodput; a curve is its distribution over the
schedules. "Share" is this over the mean rate of the run's schedule. The run plotted over time is
the one with the events that the text describes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import Estimate, mean, median
from perigee_studies import beside, frames, style
from perigee_studies.figures import leo_cc_astraea as astraea
from perigee_studies.figures import leo_cc_moments as moments
from perigee_studies.figures import orbcc_responsiveness as orbcc
from perigee_studies.figures.leo_cc_cases import responsiveness_cases
from perigee_studies.figures.leo_cc_common import DEVIATIONS, SCHEMES, lowest_over_base
from perigee_studies.kinds import Kind
from perigee_studies.model import Experiment, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, order, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

HALF = 0.5
"""Approximate ratio of Astraea's goodput to the optimum in Fig. 3a."""


def tables(found: Sequence[Outcome]) -> Tables:
    """Tables as in OrbCC's experiment, distances of the path, and the text's moments."""
    both = orbcc.tables(found, moments.RUN if any(o.case.seed == moments.RUN for o in found) else 2)
    rows = [{"lowest_over_base": lowest_over_base(o.digest), **moments.of_run(o)} for o in found]
    for column in rows[0] if rows else ():
        both["runs"][column] = [row[column] for row in rows]
    return both | {"moments": moments.table(found)}


def draw(t: Tables) -> dict[str, Any]:
    """Plots distributions with (dashed) and without loss, and one run over time."""
    runs = t["runs"]
    figure, axes = style.panels(2, 1, height=2.6, sharey=True)
    for a, loss in zip(axes[0], (0, 1), strict=True):
        here = frames.pick(runs, loss=loss)
        if here.empty:
            continue
        for cc in frames.schemes(here):
            style.cdf(a, here[here["cc"] == cc]["goodput_mbps"].to_numpy(), cc)
        path = here[here["cc"] == frames.schemes(here)[0]]["capacity_mbps"].to_numpy()
        a.step(
            np.sort(path), np.arange(1, len(path) + 1) / len(path), where="post", color="black", lw=0.9, label="path"
        )
        if "astraea" in frames.schemes(here):
            style.published(a, HALF * path.mean(), style.look("astraea")["color"], "published of Astraea: about half")
        a.set_title("rate, RTT and loss change" if loss else "rate and RTT change", loc="left")
        a.set_xlabel("mean goodput, Mbit/s")
    axes[0][0].set_ylabel("share of runs")
    style.shared_legend(figure, axes[0])
    pictures = {"distributions": figure}
    if len(t.get("series", [])):
        for loss, one in t["series"].groupby("loss"):
            pictures["run-loss" if loss else "run"] = orbcc.over_time(one, 105, 225)
    return pictures


def _share(runs: pd.DataFrame, cc: str, loss: int) -> Estimate:
    one = frames.pick(runs, cc=cc, loss=loss)
    return median((one["goodput_mbps"] / one["capacity_mbps"]).to_numpy()) if len(one) else median([])


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on shares of the path's rate, with and without loss.

    Unpublished bounds are marked as assumed.
    """
    runs = t["runs"]
    source, assumed = "Fig. 3 and text", "Fig. 3; bounds assumed, not published"
    clean = {cc: _share(runs, cc, 0) for cc in SCHEMES}
    lossy = {cc: _share(runs, cc, 1) for cc in SCHEMES}

    def rows(values: dict[str, Estimate], ccs: list[str]) -> list[tuple[str, float]]:
        return [(style.label(cc), values[cc].value) for cc in ccs]

    drop = {cc: _paired(runs, cc) for cc in SCHEMES}
    collapsed = {
        f"{style.label(cc)} ({lossy[cc].value:.2f})": bool(lossy[cc].value <= 0.35)
        for cc in ("cubic", "satcp")
        if lossy[cc].n
    }
    best = max((cc for cc in SCHEMES if cc != "leocc"), key=lambda cc: np.nan_to_num(clean[cc].value))
    return [
        order("leocc-best", "LeoCC best without loss", source, rows(clean, ["leocc", best])),
        within(
            "leocc-share",
            "LeoCC: share of the capacity, no loss",
            assumed,
            "best",
            clean["leocc"],
            0.85,
            kind=Kind.UNPUBLISHED,
        ),
        within(
            "bbr3-share",
            "BBRv3: share of the capacity, no loss",
            assumed,
            "below LeoCC",
            clean["bbr3"],
            0.80,
            0.93,
            kind=Kind.UNPUBLISHED,
        ),
        order("satcp", "SaTCP above Cubic", source, rows(clean, ["satcp", "cubic"])),
        order("cubic", "Cubic slightly below BBRv3", source, rows(clean, ["bbr3", "cubic"])),
        order("vivace", "Vivace below the others", source, rows(clean, ["cubic", "vivace"])),
        within("leocc-loss", "LeoCC: share that loss costs", source, "little", drop["leocc"], -0.05, 0.05),
        within("bbr3-loss", "BBRv3: share that loss costs", source, "clearly lower", drop["bbr3"], 0.05, 0.35),
        count("collapse", "Cubic and SaTCP under loss: at most 0.35 of the capacity", source, "collapse", collapsed),
        within("vivace-loss", "Vivace: share that loss costs", source, "close", drop["vivace"], -0.05, 0.05),
        within(
            "astraea", "Astraea: share of the capacity, no loss", source, "around half", clean["astraea"], 0.40, 0.60
        ),
        within("astraea-loss", "Astraea: share that loss costs", source, "resistant", drop["astraea"], -0.05, 0.05),
        *moments.verdicts(t),
    ]


def _paired(runs: pd.DataFrame, cc: str) -> Estimate:
    """Reduction by loss, run by run."""
    one = runs[runs["cc"] == cc].assign(share=lambda r: r["goodput_mbps"] / r["capacity_mbps"])
    wide = one.pivot_table(index="run", columns="loss", values="share")
    return mean((wide[0] - wide[1]).to_numpy()) if {0, 1} <= set(wide.columns) else mean([])


METHOD = """One flow for 300 s; every 15 s a cut of 45 to 120 ms and new values: 50 to 100 Mbit/s, 10 to 100 ms (whole
RTT on the way of the data), and in the second variant 0 to 1 % random loss. Queue 655,360 bytes. Schedules are those
of the study (run k is seed k). Delays change at the beginning of a cut, rates at its end; shrinking delays reorder,
as netem does."""

WHY_CUBIC = (
    "The measured kernel contradicts it: on such a schedule Linux's Cubic has more than its BBRv3 "
    "(docs/explanation/kernel.md)."
)
WHY_PROBES = (
    "The probes of LeoCC's companion, whose gaps it takes for reconfigurations: with notices of the true cuts in their "
    "place loss costs a small part of that."
)

EXPERIMENTS = [
    Experiment(
        name="leo-cc/responsiveness",
        title="Responsiveness, without and with random loss",
        figure="Fig. 3",
        schemes=SCHEMES,
        cases=responsiveness_cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method=METHOD,
        deviations=(
            *DEVIATIONS,
            "The series drawn are those of run 33: of the 50 schedules only that one has the lowest base RTT before "
            "135 s, a sharp rise at 150 s and a larger one near 190 s, as the text says (the code draws run 2).",
        ),
        explained={"cubic": WHY_CUBIC, "leocc-loss": WHY_PROBES},
        evidence=beside.together(astraea.RESPONSIVENESS, moments.evidence(responsiveness_cases)),
        metrics="""Goodput of a run: plain mean of its seconds, Mbit/s. Share: goodput over the mean rate of the run's
schedule, median over schedules; what loss costs: the difference of the shares without and with loss of the same run,
mean over runs. Moments: the changes of rate and RTT every 15 s; "190 s" is that of 195 s. A flow is back in the first
second in which it has 0.9 of the rate (payload is 0.96 of it; 15 s if there is none). Sharp rises: of the base RTT by
30 ms and more to 2.5 times and more. Over schedules: mean over the moments of a schedule, then over schedules.""",
        captions={
            "distributions": "Distribution over schedules of each run's goodput. Black: mean rate of the path. "
            "Dotted: half of its mean, which the text says Astraea has.",
            "run": "A part of run 33 without loss, by second. Black: rate and base RTT of the path.",
            "run-loss": "The same with loss.",
        },
    )
]
