# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Hypatia study's flows over links that lose packets and handovers that take time.

Question: what do losses of lasers and radios, losses of pointing, failed lasers, and outages at
handovers cost the schemes of the study, which has none of these, and two later ones?

Set-up, fixed before the runs: the study's flows over 11,000 km (Sao Paulo, Montreal) at its rates
and queues over the same shell, each run at another time of the orbits. *Perfect*: neither. *Handovers*:
each change of a terminal's satellite is an outage of 45 to 120 ms that drops what is at the link.
*Lasers*: each loses 0.01 or 0.1 % of its packets at random. *Radios*: each loses 0.1 or 1 %. *All*:
outages, 0.01 % by laser and 0.1 % by radio. *Pointing*: each link between satellites loses its
pointing once in 30 or 3 minutes in the mean and takes 5 to 20 s to acquire it again. *Failed*: 1 or
5 % of the lasers have failed. (Pointing and failed lasers were added later, with these values fixed
before their runs, since no rate of either is published. The first runs of the others used the study's
own rules of the constellation, under which all handovers are soft, so that outages had no effect.)
*Tables 1 to 4 again* was added later too, with its settings fixed before its runs, in
`unpublished_imperfect_again`: all cells of the study's tables over six of these settings.

Bound, fixed before the runs: 0.9 of the goodput over perfect links, by scheme, town and run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import Estimate, mean
from perigee_studies import frames, style
from perigee_studies.figures import unpublished_imperfect_again as again
from perigee_studies.figures.hypatia_cases import PAIR, TOWNS
from perigee_studies.model import OF_EVERY_RUN, Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

SOURCE = "Barbosa et al.: no loss but in queues, handovers without an outage"
SCHEMES = ("newreno", "cubic", "vegas", "bbr", "bbr3", "leocc")
PERFECT = "perfect"
SHELL: Mapping[str, object] = {"source.constellation.preset": "starlink-shell1", "handover.outage": "0 s"}
"""The study's shell, with one dish per terminal."""
OUTAGE: Mapping[str, object] = {"handover.mode": "flush", "handover.outage": "uniform(45 ms, 120 ms)"}
SETTINGS: dict[str, Mapping[str, object]] = {
    PERFECT: {},
    "handovers": OUTAGE,
    "lasers 0.01 %": {"port.isl.loss": 1e-4},
    "lasers 0.1 %": {"port.isl.loss": 1e-3},
    "radios 0.1 %": {"port.ground.loss": 1e-3},
    "radios 1 %": {"port.ground.loss": 1e-2},
    "all": {**OUTAGE, "port.isl.loss": 1e-4, "port.ground.loss": 1e-3},
    "pointing 30 min": {"source.constellation.isl_pointing_every": "30 min"},
    "pointing 3 min": {"source.constellation.isl_pointing_every": "3 min"},
    "failed 1 %": {"source.constellation.isl_failed": 0.01},
    "failed 5 %": {"source.constellation.isl_failed": 0.05},
}
MISALIGNED = ("pointing 30 min", "pointing 3 min", "failed 1 %", "failed 5 %")
BEGIN_S, LEAST = 10.0, 0.9
WIDEST = 0.5
"""Width of an interval, as a share of the goodput over perfect links, up to which its mean is a finding."""
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))


def cases(ask: Ask) -> list[Case]:
    """Settings x towns x runs (other times of the orbits) x schemes, and Tables 1 to 4 again."""
    out = []
    for run in range(1, ask.count(1, 5, 10) + 1):
        for town in ask.pick(("Sao Paulo",), ("Sao Paulo", "Montreal"), tuple(TOWNS)):
            for name in ask.pick((PERFECT, "all"), tuple(SETTINGS), tuple(SETTINGS)):
                ends = {"flow.0.from": TOWNS[town], "flow.0.to": f"{TOWNS[town]}-11000"}
                length = {"run.duration": f"{ask.count(20, 50, 200)} s", "run.vary": "phase"}
                labels = {"town": town, "setting": name, "run": run}
                sets = {**length, **ends, **SHELL, **SETTINGS[name]}
                out += [Case(PAIR, cc, labels, run, sets, KEEP) for cc in ask.schemes(SCHEMES)]
    return out + again.cases(ask, SHELL, SETTINGS)


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    later = d.window(BEGIN_S, d.info["duration_ns"] / 1e9)
    rtt, base = d.columns["rtt_ns"][0, later], d.columns["base_rtt_ns"][0, later]
    flow = d.flows[0]
    return {
        "mbps": float(np.nan_to_num(d.mbps(0))[later].mean()),
        "inflation": float(np.nanmean(rtt) / np.nanmean(base)),
        "lost_pct": again.lost_pct(flow),
        "timeouts": flow["timeouts"],
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run, and one per cell, setting and scheme; a table without runs is left out."""
    runs, cells = [o for o in found if not again.is_here(o)], [o for o in found if again.is_here(o)]
    tables = {"runs": frames.table(runs, _row), again.TABLE: again.table(cells)}
    return {name: frame for name, frame in tables.items() if len(frame)}


def _runs(t: Tables) -> pd.DataFrame:
    """The table `runs`, without rows if only cells of Tables 1 to 4 were run."""
    import pandas as pd

    return t.get("runs", pd.DataFrame(columns=[*OF_EVERY_RUN, *COLUMNS]))


def kept(runs: pd.DataFrame, cc: str, setting: str) -> Estimate:
    """Goodput over that of perfect links; a run is the mean over towns of ratios."""
    mine = frames.pick(runs, cc=cc)
    wide = mine.pivot_table(index=["run", "town"], columns="setting", values="mbps")
    if not {setting, PERFECT} <= set(wide):
        return mean([])
    return mean((wide[setting] / wide[PERFECT]).groupby("run").mean().to_numpy())


def _settings(runs: pd.DataFrame) -> list[str]:
    return [name for name in dict.fromkeys(runs["setting"]) if name != PERFECT]


def verdicts(t: Tables) -> list[Verdict]:
    """Claims by setting and scheme."""
    runs, out = _runs(t), []
    for setting in _settings(runs):
        for cc in frames.schemes(runs):
            claim = f"{style.label(cc)}, {setting}: goodput over that of perfect links"
            ours = kept(runs, cc, setting)
            out.append(bound(f"{setting}-{cc}", claim, SOURCE, "little less", ours, LEAST, places=3))
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots goodput and RTT by setting and scheme, and Tables 1 to 4 again."""
    return (_draw_runs(_runs(t)) if "runs" in t else {}) | again.draw(t)


def _draw_runs(runs: pd.DataFrame) -> dict[str, Any]:
    ccs, settings = frames.schemes(runs), list(dict.fromkeys(runs["setting"]))
    figure, axes = style.panels(2, 1, width=7, height=2.6)
    for a, (column, title) in zip(
        axes[0], (("mbps", "goodput, Mbit/s (of 10)"), ("inflation", "RTT over base RTT")), strict=True
    ):
        for j, setting in enumerate(settings):
            for i, cc in enumerate(ccs):
                here = frames.pick(runs, setting=setting, cc=cc)[column]
                x = j + (i - (len(ccs) - 1) / 2) * 0.14
                a.bar(x, here.mean(), 0.13, label=style.label(cc) if j == 0 else None, **style.bar(cc))
                style.dots(a, x, here.to_numpy(), 0.06)
        a.set_xticks(range(len(settings)), [name.replace(" ", "\n", 1) for name in settings])
        a.set_title(title, loc="left")
    axes[0][1].set_ylim(bottom=0.9)
    style.shared_legend(figure, axes[0][:1], 6)
    return {"imperfect": figure}


def finding(t: Tables) -> str:
    """The result in a few sentences, the last of which is on Tables 1 to 4."""
    runs = _runs(t)

    lost = runs[runs["setting"] == PERFECT].groupby("cc")["lost_pct"].mean()

    def known(setting: str) -> dict[str, Estimate]:
        """Results of the schemes with an interval narrow enough for a number."""
        found = {cc: kept(runs, cc, setting) for cc in frames.schemes(runs)}
        return {cc: e for cc, e in found.items() if e.high - e.low <= WIDEST}

    def of(setting: str) -> str:
        return ", ".join(f"{style.label(cc)} {100 * e.value:.0f} %" for cc, e in known(setting).items())

    shares = [100 * e.value for e in known("handovers").values()]
    if not shares:
        return "**Too few runs for a finding:** the interval of every scheme is wider than the effects."
    return (
        f"**One lost packet in ten thousand per laser costs more goodput than all outages at handovers: "
        f"{_dearer(runs)}.** (95 % intervals apart, over runs from one town.) "
        f"Of the goodput over perfect links, outages of 45 to 120 ms leave {min(shares):.0f} to "
        f"{max(shares):.0f} % (means over towns). Losses of 0.01 % per laser leave {of('lasers 0.01 %')}; of 1 % per "
        f"radio, {of('radios 1 %')}. {_misaligned(known)}"
        f"Left out are schemes with a 95 % interval wider than {WIDEST:g} of the goodput over perfect links. "
        f"Over perfect links {lost.min():.2f} to {lost.max():.2f} % of the packets are lost at changes of satellite."
        f"{again.finding(t)}"
    )


def _misaligned(known: Callable[[str], Mapping[str, Estimate]]) -> str:
    """What losses of pointing and failed lasers leave, where they were run."""

    def left(setting: str) -> str:
        shares = [100 * e.value for e in known(setting).values()]
        return f"{min(shares):.0f} to {max(shares):.0f} %"

    if not all(map(known, MISALIGNED)):
        return ""
    rare, often, few, many = map(left, MISALIGNED)
    return (
        f"Links between satellites that lose their pointing once in 30 minutes, and take 5 to 20 s to acquire it "
        f"again, leave {rare}, once in 3 minutes {often}; 1 % of lasers that have failed leave {few}, 5 % {many}: "
        "paths avoid them. "
    )


def _dearer(runs: pd.DataFrame) -> str:
    """By town, the schemes to which lasers cost more than outages, and for the others what both leave."""
    parts = []
    for town in dict.fromkeys(runs["town"]):
        here = frames.pick(runs, town=town)
        both = {cc: (kept(here, cc, "lasers 0.01 %"), kept(here, cc, "handovers")) for cc in frames.schemes(here)}
        more = [style.label(cc) for cc, (lasers, outages) in both.items() if lasers.high < outages.low]
        parts.append(f"from {town}, for {_listed(more)}")
    return "; ".join(parts)


def _listed(names: list[str]) -> str:
    """Names as a sentence has them."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names) or "no scheme"


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim: what is lost, and how often the flow times out."""
    runs, out = _runs(t), {}
    for setting in _settings(runs):
        for cc in frames.schemes(runs):
            here = frames.pick(runs, cc=cc, setting=setting)
            lost, times, mbps = (frames.average(here, c).value for c in ("lost_pct", "timeouts", "mbps"))
            out[f"{setting}-{cc}"] = (
                f"{mbps:.1f} Mbit/s with {lost:.2f} % of the packets lost on links and {times:.1f} timeouts a run."
            )
    return out


METHOD = f"""The flows of `hypatia/tables` over 11,000 km from Sao Paulo and Montreal (10 Mbit/s on the ground, 1 Gbit/s
between satellites, 100 packets of queue, a transport like ns-3's) over Starlink's first shell with one dish per
terminal, for 50 s (200 s in the full size); each run is at another time of the orbits. Perfect: no random loss, and a
change of satellite takes no time. Handovers: each is an outage of 45 to 120 ms. Lasers, radios: each link loses this
share of its packets at random, in both directions. All: outages, 0.01 % by laser and 0.1 % by radio. Pointing: each
link between satellites loses its pointing once in 30 or 3 minutes in the mean and is down for 5 to 20 s; paths avoid it
from the next step of 100 ms on. Failed: 1 or 5 % of the lasers have failed before the run, others in each run. (Both
were added after the other settings, with these values fixed before their runs; no rate of either is published.)
{again.METHOD}"""
METRICS = f"""Goodput over that of perfect links: of the same town and run, from 10 s on; means over towns, then over
runs. Packets lost on links: at random and in outages, % of those sent; what is in flight over the link at a change of
satellite is lost even if that takes no time. {again.METRICS}"""
CAPTIONS = {"imperfect": "Means over towns and runs, and a point for each run and town.", "again": again.CAPTION}
CHANGES = (
    "The number of lasers: Montreal's path has more than Sao Paulo's, and its flows lose more.",
    "Retransmission on the link, or coding: both hide random losses from TCP at the price of delay (not run).",
    "The knowledge of routes: paths avoid a link that lost its pointing within 100 ms (`isl_pointing_every` of "
    "[source.constellation](../reference/scenario/source.md#sourceconstellation)); with routes that are computed less "
    "often each loss would last longer (not run).",
    "Fades of the ground links that last: rates that follow rain are those of [`orbcc/rain`](orbcc-rain.md).",
    "The rate: NewReno and Cubic lose so much because a window of these paths takes long to regrow; at 10 Mbit/s it is "
    "small, and the full rates would need twenty times as large a one (not run).",
)

COLUMNS = {
    "town": "sender's town",
    "setting": "imperfections of the links (Method)",
    "mbps": "goodput from 10 s on, Mbit/s",
    "inflation": "mean RTT over mean base RTT from 10 s on",
    "lost_pct": "packets lost on links, at random and in outages, % of those sent",
    "timeouts": "retransmission timeouts",
    **again.COLUMNS,
}

EXPERIMENTS = [
    Experiment(
        name="hypatia/imperfect",
        title="Flows over imperfect links",
        figure="left open: losses, and outages at handovers",
        schemes=(*SCHEMES, "orbcc"),
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        finding=finding,
        summary=again.summary,
        explain=explain,
        method=METHOD,
        metrics=METRICS,
        captions=CAPTIONS,
        changes=CHANGES,
        columns=COLUMNS,
    )
]
