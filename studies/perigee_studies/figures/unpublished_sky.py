# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Several flows of the LEO schemes between two dishes of a constellation with hard handovers.

The LEO study runs SaTCP, StarQUIC and LeoCC on single recorded paths and in a dumbbell. No study
has several of their flows on moving paths, on which all lose packets at the same handover.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perigee_lab.common.statistics import jain
from perigee_studies import frames, style
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound, order

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "Mazilu et al.: one flow a path; several not measured"
FILE = "leo-cc/leoem-sky.toml"
PLAIN = {"satcp": "cubic", "starquic_cubic": "cubic", "starquic_bbr3": "bbr3", "leocc": "bbr"}
"""The scheme that each of these extends."""
SCHEMES = ("cubic", "satcp", "starquic_cubic", "bbr3", "starquic_bbr3", "bbr", "leocc")
PAIRS = {"San Diego - New York": ("san-diego", "new-york"), "New York - London": ("new-york", "london")}
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))
BEGIN_S = 10.0


def cases(ask: Ask) -> list[Case]:
    """Pairs x numbers of flows x runs x schemes.

    Each run starts at another time of the constellation.
    """
    out = []
    for run in range(1, ask.count(1, 4, 10) + 1):
        for pair in ask.pick(tuple(PAIRS)[:1], tuple(PAIRS), tuple(PAIRS)):
            for n in ask.pick((4,), (1, 4), (1, 4, 10)):
                sets = _sets(ask, pair, n)
                labels = {"pair": pair, "flows": n, "run": run}
                out += [Case(FILE, cc, labels, run, sets, KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def _sets(ask: Ask, pair: str, n: int) -> dict[str, object]:
    a, b = PAIRS[pair]
    flows = [{"from": a, "to": b, "cc": "*", "start": f"{0.2 * k:.1f} s"} for k in range(n)]
    return {
        "run.duration": f"{ask.count(40, 70, 300)} s",
        "run.vary": ["phase", "outages"],
        "run.start_jitter": "50 ms",
        "flow": flows,
    }


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    goodput = d.mean_mbps(BEGIN_S, end_s)
    return {
        "goodput_mbps": goodput.sum(),
        "inflation": d.inflation(d.window(BEGIN_S, end_s)),
        "jain": jain(goodput) if len(goodput) > 1 else float("nan"),
        "retransmits": sum(f["retransmits"] for f in d.flows),
        "timeouts": sum(f["timeouts"] for f in d.flows),
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run."""
    return {"runs": frames.table(found, _row).rename(columns={"cc": "scheme"})}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on each scheme's gain over the one that it extends, and on its fairness."""
    runs, out = t["runs"], []
    for pair in dict.fromkeys(runs["pair"]):
        for n in sorted(set(runs["flows"])):
            here = frames.pick(runs, pair=pair, flows=n)
            for cc, plain in PLAIN.items():
                both = [(style.label(s), frames.average(here, "goodput_mbps", scheme=s).value) for s in (cc, plain)]
                words = f"{pair}, {n} flow{'s' * (n > 1)}: {both[0][0]} has more goodput than {both[1][0]}"
                out.append(order(f"gain-{pair}-{n}-{cc}", words, SOURCE, both, unit="Mbit/s", kind=Kind.UNPUBLISHED))
            for cc in [s for s in SCHEMES if n > 1 and s in set(here["scheme"])]:
                fair = frames.average(here, "jain", scheme=cc)
                words = f"{pair}, {n} flows of {style.label(cc)}: Jain's index"
                out.append(bound(f"jain-{pair}-{n}-{cc}", words, SOURCE, "fair", fair, 0.8))
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots goodput, delay and fairness, one point per run."""
    runs = t["runs"]
    names = [s for s in SCHEMES if s in set(runs["scheme"])]
    figure, axes = style.panels(3, 1, width=3.0, height=2.9)
    panels = (
        ("goodput_mbps", "goodput of all flows, Mbit/s"),
        ("inflation", "RTT over base RTT"),
        ("jain", "Jain's index"),
    )
    for a, (column, title) in zip(axes[0], panels, strict=True):
        for i, n in enumerate(sorted(set(runs["flows"]))):
            for j, cc in enumerate(names):
                one = frames.pick(runs, scheme=cc, flows=n)[column]
                y = j + (i - 0.5) * 0.34
                colour = ("#9ecae1", "#3182bd", "#08306b")[i]
                label = f"{n} flow{'s' * (n > 1)}" if j == 0 else None
                a.barh(y, one.mean(), 0.3, color=colour, label=label)
                a.plot(one, [y] * len(one), ".", color="black", markersize=2.5, label="a run" if i == j == 0 else None)
        a.set_yticks(range(len(names)), [style.label(s) for s in names] if a is axes[0][0] else [])
        a.set_ylim(len(names) - 0.4, -0.6)
        a.set_xlabel(title)
    axes[0][1].set_xlim(left=1.0)
    style.shared_legend(figure, axes[0][:1])
    return {"hard-handover-sky": figure}


EXPERIMENTS = [
    Experiment(
        name="leo-cc/hard-handover-sky",
        title="Several flows of the LEO schemes over hard handovers",
        figure="never measured",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""One and four flows (full size: ten, too) between one dish in each of two cities over Starlink's first
shell, 100 Mbit/s, satellites kept for 15 s, a hard handover of 45 to 120 ms at each change, notices on time (SaTCP,
StarQUIC); LeoCC probes. Each run begins at another time of the orbits and draws other outages. From 10 s on.""",
        metrics="""Goodput: all flows together, Mbit/s. RTT over base RTT: of the means over time and flows. Jain's
index of the flows' mean goodputs. Differences between schemes are taken run by run.""",
        captions={"hard-handover-sky": "Bars: means over runs and both pairs; points: runs."},
    ),
]
