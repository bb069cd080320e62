# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Soft handover: OrbCC and LeoTCP, Fig. 7 and the RTTs of the text.

Two flows with an RTT of 20 ms join two flows with 50 ms on their bottleneck at 100 s (Change 1) and
leave it at 200 s (Change 2). Metrics: Jain's index over the four flows' means from 101 to 106 s,
and sum of goodputs from 101 to 103 s over 100 Mbit/s; for Change 2, the means over both bottlenecks
(201 to 206 s for that of the 50 ms flows, 201 to 203 s for the other). RTTs: mean of all samples of
the two flows of a group during the first 100 base RTTs from 101 s on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain, mean
from perigee_studies import frames, style
from perigee_studies.figures.orbcc_common import DEVIATIONS, INET, MINE, PAPERS, SCHEMES, generator
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, near, order, within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

FILE = "orbcc/soft-handover.toml"
PUBLISHED = {
    "orbcc": {"cubic": (62.70, 94.57), "bbr": (63.45, 92.44), "bbr3": (43.63, 78.74), MINE: (21.50, 51.50)},
    "leotcp": {"cubic": (61.96, 93.77), "bbr": (63.94, 94.63), "bbr3": (46.36, 77.77), MINE: (21.50, 51.50)},
}
"""RTT in ms of the 20 ms flows and of the 50 ms flows after Change 1."""
TOLERANCE_MS = {"cubic": 4.0, "bbr": 5.0, "bbr3": 6.0, MINE: 0.5}
STAYING, MOVING = slice(0, 2), slice(2, 4)


def starts_s(run: int) -> list[int]:
    """Start times in seconds, drawn as in the study."""
    draw = generator(run)
    return [draw.randint(0, 50) for _ in range(4)]


def cases(ask: Ask) -> list[Case]:
    """Five runs with different start times."""
    out = []
    for run in range(1, ask.count(1, 5, 5) + 1):
        sets: dict[str, object] = {f"flow.{i}.start": f"{s} s" for i, s in enumerate(starts_s(run))}
        keep = Keep(("goodput_bps", "rtt_ns"))
        out += [Case(FILE, cc, {"run": run}, run, sets, keep) for cc in ask.schemes(SCHEMES)]
    return out


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run, and the first run's seconds."""
    first = [o for o in found if o.case.seed == 1]
    return {"runs": frames.table(found, _row), "series": frames.series(first, _seconds)}


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    after = [d.mean_mbps(101, 106), d.mean_mbps(201, 206)[STAYING], d.mean_mbps(201, 203)[MOVING]]
    back = (d.mean_mbps(201, 206)[STAYING].sum() + d.mean_mbps(201, 203)[MOVING].sum()) / 2
    return {
        "jain1": jain(after[0]),
        "goodput1": d.mean_mbps(101, 103).sum() / 100,
        "jain2": (jain(after[1]) + jain(after[2])) / 2,
        "goodput2": back / 100,
        "rtt20_ms": d.mean_rtt_ms(101, 103)[MOVING].mean(),
        "rtt50_ms": d.mean_rtt_ms(101, 106)[STAYING].mean(),
        "rtt20_steady_ms": d.mean_rtt_ms(150, 200)[MOVING].mean(),
        "rtt50_steady_ms": d.mean_rtt_ms(150, 200)[STAYING].mean(),
    }


def _seconds(o: Outcome) -> list[dict[str, Any]]:
    d = o.digest
    rows = []
    for second in range(90, 130):
        goodput, rtt = d.mean_mbps(second, second + 1), d.mean_rtt_ms(second, second + 1)
        rows.append(
            {
                "t_s": second + 1,
                "goodput20_mbps": goodput[MOVING].mean(),
                "goodput50_mbps": goodput[STAYING].mean(),
                "rtt20_ms": np.nanmean(rtt[MOVING]),
                "rtt50_ms": np.nanmean(rtt[STAYING]),
            }
        )
    return rows


def draw(study: str) -> Callable[[Tables], dict[str, Any]]:
    """Plots fairness against goodput after changes, RTTs with the paper's, one run over time."""
    return lambda t: {
        "handover": _handover(t["runs"], t.get("linux-runs", t["runs"].iloc[:0]), study),
        "run": _over_time(t),
    }


def _handover(runs: pd.DataFrame, linux: pd.DataFrame, study: str) -> Any:
    figure, axes = style.panels(3, 1, width=2.9, height=2.7)
    for a, k, title in zip(axes[0], (1, 2), ("Change 1: four flows share", "Change 2: two flows each"), strict=False):
        for cc in frames.schemes(runs):
            for frame, hollow in ((runs, False), (linux, True)):
                one = frame[frame["cc"] == cc]
                style.cloud(a, one[f"jain{k}"].tolist(), one[f"goodput{k}"].tolist(), cc, linux=hollow)
        a.axhline(0.961, color=style.SOFT, linewidth=0.7, linestyle=":", label="link full")
        style.published(a, 1.0, style.look(MINE)["color"], None)
        a.set_title(title, loc="left")
        a.set_xlabel("Jain's index")
    axes[0][0].sharex(axes[0][1])
    axes[0][0].sharey(axes[0][1])
    axes[0][0].set_ylabel("goodput / 100 Mbit/s")
    a = axes[0][2]
    names = frames.schemes(runs)
    for i, cc in enumerate(names):
        one = runs[runs["cc"] == cc]
        colour = style.look(cc)["color"]
        for column, base in (("rtt20_ms", 0), ("rtt50_ms", 1)):
            x = i + base * 0.4 - 0.2
            a.bar(x, one[column].mean(), 0.36, **_bar(colour, base))
            style.dots(a, x, one[column].tolist(), 0.16)
            if len(other := linux.loc[linux["cc"] == cc, column]):
                style.hollow_at(a, x + 0.12, float(other.mean()), cc)
        for base, value in enumerate(PUBLISHED[study].get(cc, ())):
            x = i + base * 0.4 - 0.2
            style.tolerance(a, x, 0.19, value - TOLERANCE_MS[cc], value + TOLERANCE_MS[cc])
            style.tick(a, x, 0.16, value)
    for base, name in enumerate(("flows of 20 ms", "flows of 50 ms")):
        a.bar(0, 0, label=name, **_bar(style.SOFT, base))
    a.plot([], [], color="black", linewidth=1.4, label="published (grey: tolerance)")
    if len(linux):
        style.name_hollow(a)
    a.set_xticks(range(len(names)), [style.label(cc).replace(" (", "\n(") for cc in names])
    a.set_title("RTT after Change 1, ms", loc="left")
    style.shared_legend(figure, axes[0], 7)
    return figure


def _bar(colour: str, moving_or_staying: int) -> dict[str, Any]:
    """Style of a bar; those of the flows with 20 ms are pale."""
    return {"color": colour, "alpha": 1 if moving_or_staying else 0.55}


def _over_time(t: Tables) -> Any:
    s = t["series"]
    figure, axes = style.panels(2, 2, height=1.8, sharex=True)
    for j, base in enumerate((20, 50)):
        for i, (column, title) in enumerate(
            ((f"goodput{base}_mbps", "goodput per flow, Mbit/s"), (f"rtt{base}_ms", "RTT, ms"))
        ):
            for cc in frames.schemes(s):
                one = s[s["cc"] == cc]
                axes[i][j].plot(one["t_s"], one[column], label=style.label(cc), **style.line(cc))
            axes[i][j].axvline(100, color=style.SOFT, linewidth=0.7, linestyle=":")
            axes[i][j].set_ylabel(title)
        axes[0][j].set_title(f"flows of {base} ms", loc="left")
        axes[1][j].set_xlabel("time, s")
    style.shared_legend(figure, axes.flat, 5)
    return figure


def verdicts(study: str) -> Callable[[Tables], list[Verdict]]:
    """Compares queues and goodput at soft handovers with the paper's figure."""
    source = {"orbcc": "OrbCC, section III, Fig. 7", "leotcp": "LeoTCP, Fig. 7 and text"}[study]

    def check(t: Tables) -> list[Verdict]:
        runs = t["runs"]
        out = []
        for cc, values in PUBLISHED[study].items():
            for column, base, published in zip(("rtt20_ms", "rtt50_ms"), (20, 50), values, strict=True):
                ours = frames.average(runs, column, cc=cc)
                words = f"{style.label(cc)}: RTT of the {base} ms flows during 100 RTTs after Change 1"
                out.append(near(f"{cc}-{base}", words, source, published, ours, TOLERANCE_MS[cc], "ms"))
        mine = runs[runs["cc"] == MINE]
        for k in (1, 2):
            good, fair = mean(mine[f"goodput{k}"].to_numpy()), mean(mine[f"jain{k}"].to_numpy())
            out.append(within(f"jain{k}", f"OrbCC: Jain after Change {k}", source, "near 1 (figure)", fair, 0.98))
            out.append(within(f"goodput{k}", f"OrbCC: goodput after Change {k}", source, "full (figure)", good, 0.93))
        two = frames.by_scheme(runs, "goodput2", [MINE, "cubic"], "mean")
        out.append(order("cubic2", "Cubic's goodput after Change 2 below OrbCC's", source, two))
        pair = frames.by_scheme(runs, "goodput2", ["bbr", "bbr3"], "mean")
        out.append(order("bbr2", "BBRv3 slower than BBRv1 after Change 2", source, pair))
        return out

    return check


METHOD = """Two dumbbells of 100 Mbit/s, queues of 432 packets everywhere, access links of 1 Gbit/s. Two flows of 50
ms stay on the first; two of 20 ms start on the second, move to the first at 100 s and back at 200 s, with 20 ms on
either way. Nothing is lost by the move; packets under way arrive. Start times are the study's. RTTs are weighted by
acknowledged bytes in tenths of a second, which equals the mean over all samples."""
METRICS = """After Change 1 (four flows on one link): Jain's index over the flows' mean goodputs from 101 to 106 s;
goodput, the sum of the flows' from 101 to 103 s, over 100 Mbit/s. After Change 2 (two flows on each link): means of
both links, 201 to 206 s for that of the 50 ms flows and 201 to 203 s for the other. RTT: mean over the samples of both
flows of a group in their first 100 base RTTs from 101 s on (2 and 5 s). In the table also the RTTs of 150 to 200 s
(`rtt20_steady_ms`, `rtt50_steady_ms`)."""
CAPTIONS = {
    "handover": "Means over runs, with a dot for each; hollow: Linux's schemes. Goodput counts "
    "what arrives in order: BBRv1 loses packets at the change, and what waited for them counts when they have been "
    "sent again (up to 210 Mbit/s in a tenth of a second of run 1), so that it is above the link's rate for 2 s. "
    "Dotted at a Jain's index of 1, and black lines: published; grey: tolerances.",
    "run": "Run 1, mean of both flows of a group in each second; dotted: Change 1.",
}


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explains BBRv1 by run, and BBRv3 with Linux's beside it."""
    of = {base: frames.pick(t["runs"], cc="bbr")[f"rtt{base}_ms"] for base in (20, 50)}
    bbr = (
        "BBRv1 keeps two bandwidth-delay products of its old rate under way until its bandwidth filter forgets (ten "
        "rounds): the queue stays full, or nearly empty once a PROBE_RTT falls into the window. By run the flows of "
        f"20 ms have {of[20].min():.0f} to {of[20].max():.0f} ms, those of 50 ms {of[50].min():.0f} to "
        f"{of[50].max():.0f}. With as few runs the mean depends on how many meet a PROBE_RTT."
    )
    bbr3 = "BBRv3 is the model of the study's simulator."
    if "linux-runs" in t:
        inet, linux = (
            [f"{frames.average(runs, f'rtt{base}_ms', cc='bbr3').value:.1f}" for base in (20, 50)]
            for runs in (t["runs"], t["linux-runs"])
        )
        bbr3 += f" It has {inet[0]} and {inet[1]} ms, Linux's {linux[0]} and {linux[1]}."
    return {**{f"bbr3-{rtt}": bbr3 for rtt in (20, 50)}, **{f"bbr-{rtt}": bbr for rtt in (20, 50)}}


EXPERIMENTS = [
    Experiment(
        name=f"{study}/soft-handover",
        title="Soft handover",
        figure=f"{paper}, Fig. 7",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=verdicts(study),
        draw=draw(study),
        method=METHOD,
        deviations=(
            *DEVIATIONS,
            "The study's script averages Jain's index of Change 2 over the seconds of Change 1; ours is over those of "
            "Change 2.",
        ),
        explain=explain,
        theirs=INET,
        metrics=METRICS,
        captions=CAPTIONS,
    )
    for study, paper in PAPERS.items()
]
