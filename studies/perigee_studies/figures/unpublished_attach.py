# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Attachment policies of a dish, compared by RTT, handovers and goodput.

The policy determines both the length of paths and the rate of handovers. Each study uses a single
policy, and rarely states why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames, style
from perigee_studies.figures import unpublished_attach_why as why
from perigee_studies.figures.orbcc_common import MINE
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, order

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "one policy per study; others not measured"
FILE = "leo-cc/leoem-sky.toml"
SCHEMES = ("cubic", MINE)
PAIRS = {"San Diego - New York": ("san-diego", "new-york"), "New York - London": ("new-york", "london")}
SHORTEST, KEPT, NEAREST, SLOTS, LONGEST = (
    "shortest path",
    "shortest path, kept 15 s",
    "nearest",
    "nearest, kept 15 s",
    "longest in view",
)
POLICIES: dict[str, tuple[str, str]] = {
    SHORTEST: ("shortest-path", "step"),
    KEPT: ("shortest-path", "hold"),
    NEAREST: ("nearest", "step"),
    SLOTS: ("nearest", "hold"),
    LONGEST: ("longest-visibility", "lost"),
}
"""Preferred satellite (`attach`), and condition for a new selection (`reselect`), by policy."""
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"), events=("handover",))
BEGIN_S = 10.0
LOOKS = ("#08306b", "#6baed6")


def cases(ask: Ask) -> list[Case]:
    """Runs for each pair, policy and scheme.

    Runs with the same number have the same orbits under all policies; others start at another time.
    """
    out = []
    for run in range(1, ask.count(1, 5, 20) + 1):
        for pair in ask.pick(tuple(PAIRS)[:1], tuple(PAIRS), tuple(PAIRS)):
            for policy, (attach, reselect) in POLICIES.items():
                a, b = PAIRS[pair]
                sets: dict[str, object] = {
                    "run.duration": f"{ask.count(40, 130, 300)} s",
                    "run.vary": ["phase", "outages"],
                    "source.constellation.attach": attach,
                    "source.constellation.reselect": reselect,
                    "flow": [{"from": a, "to": b, "cc": "*"}],
                }
                labels = {"pair": pair, "policy": policy, "run": run}
                out += [Case(FILE, cc, labels, run, sets, KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    window = d.window(BEGIN_S, end_s)
    base = d.columns["base_rtt_ns"][:, window] / 1e6
    return {
        "goodput_mbps": d.mean_mbps(BEGIN_S, end_s)[0],
        "base_rtt_ms": float(np.nanmean(base)),
        "inflation": d.inflation(window),
        "handovers_per_min": 60 * sum(t >= BEGIN_S for t, *_ in d.events) / (end_s - BEGIN_S),
        "timeouts": d.flows[0]["timeouts"],
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run."""
    return {"runs": frames.table(found, _row).rename(columns={"cc": "scheme"})}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on the effects of a policy on the base RTT, on handovers, and on goodput by scheme."""
    runs, out = t["runs"], []
    for pair in dict.fromkeys(runs["pair"]):
        here = frames.pick(runs, pair=pair)
        one = frames.pick(here, scheme=SCHEMES[0]) if SCHEMES[0] in set(here["scheme"]) else here
        for policy in (KEPT, NEAREST, LONGEST):
            rtt = _both(one, "base_rtt_ms", policy, SHORTEST)
            words = f"{pair}: with {policy} the base RTT is longer than with {SHORTEST}"
            out.append(order(f"rtt-{pair}-{policy}", words, SOURCE, rtt, unit="ms", kind=Kind.UNPUBLISHED))
        for more, less in ((SHORTEST, KEPT), (NEAREST, SLOTS), (KEPT, LONGEST)):
            words = f"{pair}: {more} has more handovers than {less}"
            rate = _both(one, "handovers_per_min", more, less)
            out.append(order(f"handovers-{pair}-{more}", words, SOURCE, rate, unit="per minute", kind=Kind.UNPUBLISHED))
        for cc in [s for s in SCHEMES if s in set(here["scheme"])]:
            mine = frames.pick(here, scheme=cc)
            for better, worse in ((LONGEST, SHORTEST), (LONGEST, KEPT), (KEPT, NEAREST)):
                words = f"{pair}: {style.label(cc)} has more goodput with {better} than with {worse}"
                both = _both(mine, "goodput_mbps", better, worse)
                out.append(
                    order(
                        f"goodput-{pair}-{cc}-{better}-{worse}",
                        words,
                        SOURCE,
                        both,
                        unit="Mbit/s",
                        kind=Kind.UNPUBLISHED,
                    )
                )
    return out


def _both(runs: Any, column: str, *policies: str) -> list[tuple[str, float]]:
    return [(p, frames.average(runs, column, policy=p).value) for p in policies]


def draw(t: Tables) -> dict[str, Any]:
    """Plots base RTT, handovers and goodput by policy, with a dot for each run."""
    runs = t["runs"]
    pairs, policies = list(dict.fromkeys(runs["pair"])), [p for p in POLICIES if p in set(runs["policy"])]
    figure, axes = style.panels(3, len(pairs), width=2.7, height=0.3 * len(policies) + 0.9)
    panels = (
        ("base_rtt_ms", "base RTT, ms"),
        ("handovers_per_min", "handovers a minute, both ends"),
        ("goodput_mbps", "goodput, Mbit/s"),
    )
    for row, pair in zip(axes, pairs, strict=True):
        here = frames.pick(runs, pair=pair)
        for a, (column, title) in zip(row, panels, strict=True):
            ccs = list(dict.fromkeys(here["scheme"])) if column == "goodput_mbps" else here["scheme"].iloc[:1]
            for i, cc in enumerate(ccs):
                of = frames.pick(here, scheme=cc).groupby("policy")[column]
                y = np.arange(len(policies)) + (i - (len(ccs) - 1) / 2) * 0.36
                label = style.label(cc) if column == "goodput_mbps" else None
                colour = LOOKS[i % 2] if label else style.SOFT
                a.barh(y, of.mean().reindex(policies), color=colour, label=label, height=0.32)
                one = frames.pick(here, scheme=cc)
                places = [y[policies.index(policy)] for policy in one["policy"]]
                a.plot(one[column], places, color=style.INK, **style.DOT)
            a.set_yticks(range(len(policies)), policies if a is row[0] else [])
            a.set_ylim(len(policies) - 0.4, -0.6)
            a.set_xlim(left=0)
            a.set_xlabel(title)
        row[0].set_title(pair, loc="left")
    style.shared_legend(figure, axes[0][-1:])
    return {"attach": figure}


EXPERIMENTS = [
    Experiment(
        name="leo-cc/attach",
        title="Attachment policies of a dish",
        figure="never measured",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""A flow between one dish in each of two cities over Starlink's first shell, 100 Mbit/s, a hard
handover of 45 to 120 ms at each change of satellite. Dishes select the satellite of the shortest path to the other
end, the nearest one (in a single shell also the highest), or the one that stays in view longest; they repeat the
selection whenever routes are computed (every 100 ms), every 15 s, or only when the satellite is lost. Runs with the
same number have the same orbits under all policies; others start at another time. Results are from 10 s on. OrbCC is
that of its study's simulator, with telemetry at all ports.""",
        metrics="""Base RTT: RTT of the path without queues, mean over time, ms. Handovers: of both dishes together, per
minute. Goodput of the flow, Mbit/s. Orders are tested run by run; base RTT and handovers do not depend on the
scheme.""",
        evidence=why.evidence(cases, NEAREST, SHORTEST, LONGEST),
        captions={"attach": "Bars: means over runs; dots: runs."},
    ),
]
