# SPDX-License-Identifier: Apache-2.0 OR MIT
"""OrbCC's figures with the integer meter of a switch, which the study calls trivial in P4.

The same runs are made twice, with `meter = "reference"` and `meter = "integer"` at every metering
port: responsiveness, two flows with unequal and with equal RTTs, and flows that join many others.
Differences are computed run by run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perigee_lab.common.statistics import jain, mean
from perigee_studies import frames, style
from perigee_studies.figures.orbcc_common import MINE, generator
from perigee_studies.figures.orbcc_initial_phase import FILE as JOINS
from perigee_studies.figures.orbcc_two_flows import FILE as TWO
from perigee_studies.figures.orbcc_two_flows import queue_packets, second_start_s
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

SOURCE = "OrbCC, section II: stated, not measured"
METERS = ("reference", "integer")
ETA, OFF_ETA = 0.95, 0.931
LESS_PCT = round(100 * (1 - OFF_ETA / ETA))
OFF = "lower target"
"""A modified control law, which tests which claims can fail."""
RESPONSIVENESS = "responsiveness"
UNLIKE, LIKE = "20 ms and r", "r and r"
JOINING = "joins"
LENGTH_RTTS = 600
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))


def cases(ask: Ask) -> list[Case]:
    """Every set-up and run with each meter."""
    return [
        Case(file, MINE, {**labels, "meter": name}, run, {**sets, **more}, KEEP)
        for file, run, labels, sets in _set_ups(ask)
        for name, more in _laws(ask)
    ]


def _laws(ask: Ask) -> list[tuple[str, dict[str, object]]]:
    """Both meters, and a modified control law."""
    both: list[tuple[str, dict[str, object]]] = [(meter, {"port.bottleneck.meter": meter}) for meter in METERS]
    off: dict[str, object] = {"port.bottleneck.meter": METERS[0], "cc.orbcc-repro.eta": OFF_ETA}
    return both if ask.size.value == "quick" else [*both, (OFF, off)]


def _set_ups(ask: Ask) -> Iterator[tuple[str, int, dict[str, Any], dict[str, object]]]:
    for run in range(1, ask.count(1, 8, 20) + 1):
        length = f"{ask.count(40, 150, 300)} s"
        yield (
            "orbcc/responsiveness.toml",
            run,
            {"part": RESPONSIVENESS, "rtt_ms": 0, "run": run},
            {"run.duration": length},
        )
    for run in range(1, ask.count(1, 3, 5) + 1):
        for rtt_ms in ask.pick((60,), (20, 60, 100, 200), (20, 60, 100, 140, 200)):
            for part in (UNLIKE, LIKE):
                yield TWO, run, {"part": part, "rtt_ms": rtt_ms, "run": run}, _two(rtt_ms, run, part)
    for run in range(1, ask.count(1, 3, 5) + 1):
        draw = generator(run)
        starts = [draw.uniform(0.7, 1.2) for _ in range(50)] + [10.0]
        flows = [{"from": f"s{k}", "to": f"d{k}", "cc": "*", "start": f"{s:.9f} s"} for k, s in enumerate(starts, 1)]
        yield (
            JOINS,
            run,
            {"part": JOINING, "rtt_ms": 100, "run": run},
            {"flow": flows, "run.duration": f"{ask.count(13, 16, 16)} s"},
        )


def _two(rtt_ms: int, run: int, part: str) -> dict[str, object]:
    return {
        "run.duration": f"{LENGTH_RTTS * rtt_ms / 1e3:g} s",
        "source.dumbbell.rtt": [f"{20 if part == UNLIKE else rtt_ms} ms", f"{rtt_ms} ms"],
        "port.all.queue": f"{queue_packets(rtt_ms)} packets",
        "flow.1.start": f"{second_start_s(run, rtt_ms, LENGTH_RTTS):.9f} s",
    }


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    begin_s = {RESPONSIVENESS: 0.0, JOINING: 11.0}.get(str(o.case.labels["part"]), 0.75 * end_s)
    goodput = d.mean_mbps(begin_s, end_s)
    return {
        "goodput_mbps": goodput.sum(),
        "inflation": d.inflation(d.window(begin_s, end_s)),
        "ratio": goodput.min() / goodput.max() if len(goodput) == 2 else float("nan"),
        "jain": jain(goodput) if len(goodput) > 1 else float("nan"),
        "joined": d.mean_mbps(11.0, 12.0)[-1] / d.mean_mbps(11.0, 12.0)[:-1].mean()
        if len(goodput) > 2
        else float("nan"),
    }


MEASURES = (
    (RESPONSIVENESS, "goodput_mbps", "goodput", "relative", 1.0),
    (RESPONSIVENESS, "inflation", "RTT over base RTT", "relative", 1.0),
    (UNLIKE, "ratio", "goodput ratio", "plain", 0.01),
    (UNLIKE, "inflation", "RTT over base RTT", "relative", 1.0),
    (LIKE, "ratio", "goodput ratio", "plain", 0.01),
    (LIKE, "inflation", "RTT over base RTT", "relative", 1.0),
    (JOINING, "joined", "goodput of the newcomer over the others', 1 to 2 s after it came", "plain", 0.05),
    (JOINING, "jain", "Jain's index of 51 flows from then on", "plain", 0.01),
    (JOINING, "inflation", "RTT over base RTT", "relative", 1.0),
)
"""Set-up, column, label, form of the difference (relative: per cent), and bound within which meters
count as equal."""


def pairs(runs: pd.DataFrame, part: str, column: str) -> pd.DataFrame:
    """One row per run, with the result of each meter."""
    here = frames.pick(runs, part=part)
    return here.pivot_table(index=["rtt_ms", "run"], columns="meter", values=column)


def verdicts(t: Tables) -> list[Verdict]:
    """Compares means of the differences, with their intervals, with the relevant bounds."""
    out = []
    for part, column, words, how, most in MEASURES:
        both = pairs(t["runs"], part, column)
        gap = both["integer"] - both["reference"]
        unit = "%" if how == "relative" else ""
        of = mean((gap / both["reference"] * 100 if how == "relative" else gap).to_numpy())
        claim = f"{part}: {words}, integer less reference (reference: {both['reference'].mean():.4g})"
        # Digits below a thousandth of the bound are irrelevant.
        places = 3 - round(math.log10(most))
        out.append(bound(f"{part}-{column}", claim, SOURCE, "trivial in P4", of, -most, most, unit, places=places))
    return out


def note(t: Tables) -> str:
    """Sensitivity of the claims: results of a control law that is modified by a relevant amount."""
    said = []
    for part, column, words, how, _ in MEASURES:
        both = pairs(t["runs"], part, column)
        if OFF not in both:
            continue
        gap = (both[OFF] - both["reference"]) / (both["reference"] / 100 if how == "relative" else 1)
        unit = " %" if how == "relative" else ""
        said.append(f"{part}, {words.split(',')[0]}: {mean(gap.to_numpy()).rounded(3)}{unit}")
    if not said:
        return ""
    return (
        f"Could these claims fail? Over the reference meter, with a target {LESS_PCT} % lower "
        f"(`cc.orbcc-repro.eta = {OFF_ETA:g}` for 0.95), the same differences are: {'; '.join(said)}."
    )


def draw(t: Tables) -> dict[str, Any]:
    """Plots the integer meter's result over the reference's, one point per run."""
    panels = (
        (RESPONSIVENESS, "goodput_mbps", "goodput, Mbit/s"),
        (UNLIKE, "ratio", "goodput ratio, unequal RTTs"),
        (LIKE, "ratio", "goodput ratio, equal RTTs"),
        (JOINING, "joined", "newcomer over the others"),
    )
    figure, axes = style.panels(len(panels), 1, width=2.6, height=2.6)
    for a, (part, column, title) in zip(axes[0], panels, strict=True):
        both = pairs(t["runs"], part, column)
        low, high = float(both[list(METERS)].min().min()), float(both[list(METERS)].max().max())
        room = 0.08 * (high - low) + 0.002 * high
        ends = [low - room, high + room]
        a.plot(ends, ends, color=style.SOFT, linewidth=0.8, label="no difference")
        a.plot(both["reference"], both["integer"], "o", color=style.look(MINE)["color"], label="a run")
        a.set_title(title, loc="left")
        a.set_xlabel("reference meter")
        a.set_xlim(*ends)
        a.set_ylim(*ends)
        a.locator_params(nbins=4)
    axes[0][0].set_ylabel("integer meter")
    style.shared_legend(figure, axes[0][:1])
    return {"integer-meter": figure}


EXPERIMENTS = [
    Experiment(
        name="orbcc/integer-meter",
        title="OrbCC over a meter in integers",
        figure="stated, never measured",
        schemes=(MINE,),
        cases=cases,
        tables=frames.per_run(_row),
        verdicts=verdicts,
        draw=draw,
        method="""The set-ups of the study's figures, each run with both meters at the bottleneck (`meter`,
docs/explanation/integer-meter.md): responsiveness (rate and RTT change every 5 s), two flows of 20 ms and r
and of r and r, r from 20 to 200 ms over 600 r, and one flow that joins 50 others on 200 Mbit/s and 100 ms at 10 s.""",
        metrics="""Goodput: all flows together, Mbit/s; of the whole run for responsiveness, of the final quarter for
two flows, from 11 s on for joins. RTT over base RTT: means over the same window. Goodput ratio: smaller over larger of
the two means. Differences: integer less reference, run by run, with Student's interval over all runs; "%" of the
reference's value.""",
        note=note,
        captions={"integer-meter": "A point per run; on the line both meters give the same."},
    ),
]
