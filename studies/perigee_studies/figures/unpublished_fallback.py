# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fallbacks of OrbCC on paths with ports that lack telemetry, which the study leaves open.

Two flows over eight links, of which 25, 50 or 75 % write telemetry; the fifth is the bottleneck.
The fallbacks are to Cubic and to LeoCC, by three rules (`cc.orbcc.fallback`). Their cost is
measured on paths with losses and with idle ports that lack telemetry.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain, mean
from perigee_studies import frames, style
from perigee_studies.beside import varied
from perigee_studies.model import Ask, Case, Evidence, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound, largest, smallest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

SOURCE = "OrbCC, section IV: left to future work, not measured"
WANTED = 0.8
TOGETHER = "both from the beginning"
RULES = {
    "cubic": "watch, Cubic",
    "leocc": "watch, LeoCC",
    "partial_cubic": "if partial, Cubic",
    "partial_leocc": "if partial, LeoCC",
    "smaller_cubic": "smaller, Cubic",
    "smaller_leocc": "smaller, LeoCC",
}
"""Values of `cc.orbcc.fallback`, and their names on the page."""
ALONE = ("cubic", "leocc")
LINKS, BOTTLENECK, MBPS, RTT_S = 8, "r4->r5", 100, 0.05
SHARES = (0.25, 0.5, 0.75)
SECOND_S = 20.0
PARTIAL, LOSSES = "partial deployment", "random losses"
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns", "cwnd_bytes"))
QUICK_RULES = ("cubic", "smaller_leocc")


def cases(ask: Ask) -> list[Case]:
    """Rules x fractions of ports x runs; the schemes alone; the rules under random losses."""
    rules = ask.pick(QUICK_RULES, tuple(RULES), tuple(RULES))
    out = []
    for run, share, sets in _deployments(ask):
        for rule in rules:
            labels = {"part": PARTIAL, "share": share, "run": run, "rule": rule}
            labels["bottleneck"] = int(f"port.{BOTTLENECK}.metered" in sets)
            out.append(Case("orbcc/partial.toml", "orbcc", labels, run, {**sets, "cc.orbcc.fallback": rule}, KEEP))
        if share == SHARES[0] or ask.size.value == "quick":
            plain = {k: v for k, v in sets.items() if not k.startswith("port.")}
            labels = {"part": PARTIAL, "share": 0.0, "run": run, "bottleneck": 0}
            alone = ((cc, {"cc.leocc.signal": "notices"} if cc == "leocc" else {}) for cc in ALONE)
            out += [
                Case("orbcc/partial.toml", cc, {**labels, "rule": f"{cc} alone"}, run, {**plain, **more}, KEEP)
                for cc, more in alone
            ]
    for run in range(1, ask.count(1, 5, 12) + 1):
        lossy = {
            "schedule.loss": True,
            "source.dumbbell.rtt_at": "bottleneck",
            "run.duration": f"{ask.count(40, 120, 300)} s",
        }
        for rule in ("none", *rules):
            labels = {"part": LOSSES, "share": 0.0, "run": run, "rule": rule, "bottleneck": 1}
            sets = {**lossy, "cc.orbcc.fallback": rule}
            out.append(Case("orbcc/responsiveness.toml", "orbcc", labels, run, sets, KEEP))
    return out


def _deployments(ask: Ask) -> Iterator[tuple[int, float, dict[str, object]]]:
    for run in range(1, ask.count(1, 5, 12) + 1):
        ports = [f"{'s' if k == 0 else f'r{k}'}->{'d' if k == LINKS - 1 else f'r{k + 1}'}" for k in range(LINKS)]
        draw = random.Random(run)
        draw.shuffle(ports)
        sets: dict[str, object] = {
            "run.duration": f"{ask.count(40, 80, 120)} s",
            "flow.1.start": f"{SECOND_S + draw.random():.6f} s",
        }
        for share in ask.pick((0.5,), SHARES, SHARES):
            yield run, share, {**sets, **{f"port.{p}.metered": True for p in ports[: round(share * LINKS)]}}


def together_cases(ask: Ask) -> list[Case]:
    """The watching rules with both flows from the start, so that no flow finds a full queue."""
    watched = [c for c in cases(ask) if c.labels["part"] == PARTIAL and c.labels["rule"] in ("cubic", "leocc")]
    return varied((c for c in watched if c.labels["share"] == SHARES[1]), TOGETHER, {"flow.1.start": "50 ms"})


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    partial = o.case.labels["part"] == PARTIAL
    begin_s = (SECOND_S + end_s) / 2 if partial else 0.0
    goodput, later = d.mean_mbps(begin_s, end_s), d.window(begin_s, end_s)
    products = np.nan_to_num(d.columns["cwnd_bytes"][:, later]).mean(axis=1) * 8 / (MBPS * 1e6 * RTT_S)
    return {
        "goodput_mbps": goodput.sum(),
        "first_mbps": goodput[0],
        "second_mbps": goodput[-1] if partial else float("nan"),
        "jain": jain(goodput) if partial else float("nan"),
        "inflation": d.inflation(later),
        "timeouts": sum(f["timeouts"] for f in d.flows),
        "retransmits": sum(f["retransmits"] for f in d.flows),
        "first_window_bdp": products[0],
        "second_window_bdp": products[-1] if partial else float("nan"),
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run; for a scheme that runs alone, its name is in place of the rule."""
    return {"runs": frames.table(found, _row).assign(cc="orbcc")}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on the rules' fairness and timeouts, and on their cost under losses."""
    runs = t["runs"]
    out = []
    here = frames.pick(runs, part=PARTIAL)
    for rule in [r for r in RULES if r in set(here["rule"])]:
        mine = frames.pick(here, rule=rule)
        for share in sorted(set(mine["share"])):
            ours = frames.average(mine, "jain", share=share)
            claim = f"{RULES[rule]}: Jain's index with {share:.0%} of the ports instrumented"
            out.append(bound(f"jain-{rule}-{share}", claim, SOURCE, "robust operation", ours, 0.8))
        claim = f"{RULES[rule]}: smallest of Jain's indices of all runs"
        out.append(bound(f"least-{rule}", claim, SOURCE, "robust operation", smallest(mine["jain"].to_numpy()), 0.8))
        claim = f"{RULES[rule]}: timeouts in any run"
        out.append(
            bound(f"timeouts-{rule}", claim, SOURCE, "robust operation", largest(mine["timeouts"].to_numpy()), high=0)
        )
    for what in [w for w in dict.fromkeys(here["rule"]) if w.endswith(" alone")]:
        claim = f"{style.label(what.removesuffix(' alone'))} without OrbCC: Jain's index"
        out.append(bound(f"jain-{what}", claim, SOURCE, "to compare", frames.average(here, "jain", rule=what), 0.8))
    return [*out, *_losses(t)]


def note(t: Tables) -> str:
    """States which rules meet the goals."""
    here = frames.pick(t["runs"], part=PARTIAL)
    good = [
        RULES[rule]
        for rule, one in here.groupby("rule")
        if rule in RULES and one["jain"].min() >= 0.8 and one["timeouts"].max() == 0
    ]
    words = "; ".join(f'"{name}"' for name in good) or "no rule"
    return f"Fair in every run at every share (Jain's index of 0.8 or more), and without a timeout: {words}."


def _losses(t: Tables) -> list[Verdict]:
    here = frames.pick(t["runs"], part=LOSSES)
    table = here.pivot_table(index="run", columns="rule", values="goodput_mbps")
    out = []
    for rule in [r for r in RULES if r in table]:
        kept = mean((table[rule] / table["none"]).to_numpy())
        claim = f"{RULES[rule]}: goodput over that without a fallback, random losses and idle ports without telemetry"
        out.append(bound(f"losses-{rule}", claim, SOURCE, "robust operation", kept, 0.95))
    return out


def _explain(t: Tables, variants: Tables) -> dict[str, str]:
    """Explains starvation under the watching rules by windows and runs without late flows."""
    runs = frames.pick(t["runs"], part=PARTIAL)
    early = frames.pick(variants["runs"], variant=TOGETHER)
    losses = frames.pick(t["runs"], part=LOSSES)
    mbps = losses.groupby("rule")["goodput_mbps"].mean()
    price = (
        f"Idle access ports without telemetry are enough to make it partial, and then a loss counts that OrbCC would "
        f"not have answered: {mbps.get('smaller_cubic', math.nan):.0f} Mbit/s with the smaller of OrbCC's and Cubic's "
        f"windows, {mbps.get('smaller_leocc', math.nan):.0f} with LeoCC's, which answers to no loss but measures the "
        f"path anew after each change, {mbps.get('none', math.nan):.0f} without a fallback. The watch tells idle ports "
        "from full ones, and costs nothing here."
    )
    out: dict[str, str] = {}
    for rule in RULES:
        why = _starved(runs, early, rule) if rule in ("cubic", "leocc") else _slow(runs, rule)
        out |= {f"jain-{rule}-{share}": why for share in SHARES}
        out |= {f"least-{rule}": why, f"timeouts-{rule}": why, f"losses-{rule}": price}
    return out


def _starved(runs: pd.DataFrame, early: pd.DataFrame, rule: str) -> str:
    """Text on a watching rule, by telemetry at the bottleneck, and without late flows."""
    mine = frames.pick(runs, rule=rule)
    seen, blind = (mine[mine["bottleneck"] == there] for there in (1, 0))
    early = early[(early["bottleneck"] == 0) & (early["rule"] == rule)]
    return (
        f"The bottleneck's telemetry decides. Where it tells, Jain's index is {seen['jain'].min():.2f} at least, with "
        f"{seen['timeouts'].max():.0f} timeouts at most; where it does not, {(blind['jain'] < WANTED).sum()} of "
        f"{len(blind)} runs are below {WANTED:g} ({blind['jain'].mean():.2f} in the mean). There the port is full when "
        "the second flow comes, which never meets a shorter RTT: nothing rises and the watch sees nothing. OrbCC grows "
        f"by the ports with room, to {blind['second_window_bdp'].mean():.1f} BDP in the mean, and "
        f"{blind['retransmits'].mean() / 1e6:.1f} million packets of a run are sent again; the first flow, which saw "
        f"the queue begin and handed over, has {blind['first_mbps'].mean():.1f} Mbit/s, and there are "
        f"{blind['timeouts'].mean():.0f} timeouts. With both flows from the beginning (half of the ports instrumented, "
        f"the bottleneck not) Jain's index is {early['jain'].mean():.2f}, with {early['timeouts'].mean():.1f} timeouts."
    )


def _slow(runs: pd.DataFrame, rule: str) -> str:
    """Text on a rule that switches in time: its least fair run, with and without OrbCC."""
    mine, alone = (frames.pick(runs, rule=r) for r in (rule, "cubic alone"))
    if mine.empty or alone.empty:
        return "Without runs of Cubic alone there is nothing to compare with."
    worst = mine.loc[mine["jain"].idxmin()]
    same = frames.pick(alone, run=worst["run"])["jain"].mean()
    least = alone["jain"].min()
    return (
        f"{(mine['jain'] < WANTED).sum()} of {len(mine)} runs are below {WANTED:g}. The least fair is run "
        f"{worst['run']:.0f} with {worst['jain']:.2f}; Cubic without OrbCC has {same:.2f} in it, and {least:.2f} in "
        "its own least fair run: two flows of Cubic approach each other slowly, whatever the telemetry. Beside OrbCC "
        "its reductions are made at once instead of by PRR, over OrbCC's pacing and reference: which of them slows it "
        "further is open."
    )


def draw(t: Tables) -> dict[str, Any]:
    """Plots fairness and timeouts by rule and fraction of ports, and goodput under losses."""
    runs = t["runs"]
    here = frames.pick(runs, part=PARTIAL)
    rules = [r for r in RULES if r in set(here["rule"])]
    figure, axes = style.panels(3, 1, width=3.1, height=2.9)
    shades: Mapping[float, str] = {0.25: "#9ecae1", 0.5: "#4292c6", 0.75: "#08519c"}
    for a, column, title in ((axes[0][0], "jain", "Jain's index"), (axes[0][1], "timeouts", "timeouts in a run")):
        for j, rule in enumerate(rules):
            for i, (share, colour) in enumerate(shades.items()):
                one = frames.pick(here, rule=rule, share=share)[column]
                if len(one):
                    y = j + (i - 1) * 0.26
                    a.barh(y, one.mean(), 0.24, color=colour, label=f"{share:.0%} of ports" if j == 0 else None)
                    a.plot(
                        one, [y] * len(one), ".", color="black", markersize=2.5, label="a run" if i == j == 0 else None
                    )
        a.set_xlabel(title)
        a.set_yticks(range(len(rules)), [RULES[r] for r in rules] if a is axes[0][0] else [])
        a.set_ylim(len(rules) - 0.4, -0.6)
    axes[0][0].axvline(0.8, color=style.SOFT, linewidth=0.9, linestyle="--", label="wanted")
    axes[0][0].set_xlim(0, 1.02)
    losses = frames.pick(runs, part=LOSSES)
    names = ["none", *rules]
    for j, rule in enumerate(names):
        one = frames.pick(losses, rule=rule)["goodput_mbps"]
        axes[0][2].barh(j, one.mean(), 0.6, color="#bdbdbd")
        axes[0][2].plot(one, [j] * len(one), ".", color="black", markersize=2.5)
    axes[0][2].set_yticks(range(len(names)), [RULES.get(r, "no fallback") for r in names])
    axes[0][2].set_ylim(len(names) - 0.4, -0.6)
    axes[0][2].set_xlabel("goodput under random losses, Mbit/s")
    style.shared_legend(figure, axes[0][:1])
    return {"fallback": figure}


EXPERIMENTS = [
    Experiment(
        name="orbcc/fallback",
        title="A fallback for paths with some telemetry",
        figure="left to future work, never measured",
        schemes=("orbcc", *ALONE),
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""Two flows (the second after 20 s) over eight links, 50 ms, the fifth with 100 Mbit/s, the others with
400; 2, 4 or 6 ports write telemetry, chosen at random per run. Rules, each with Cubic and LeoCC (triggered by notices,
of which there are none here): *watch* hands over when telemetry is partial, the RTT has risen by a fifth and a wider
window brings no more data; *if partial* hands over at once; *smaller* runs both and takes the smaller of their windows
(and of their rates, where the second paces) while telemetry is partial. With all ports instrumented none of them does
anything. Random losses: the schedules of the responsiveness experiment with loss, the bottleneck instrumented, access
ports not.""",
        metrics="""Jain's index of both flows and their goodputs (Mbit/s): second half of the time in which both are
there. Timeouts: of both flows, whole run. Windows: mean over the same time, in BDPs of 100 Mbit/s and 50 ms. Data count
when they are in order: what fills a hole brings what waited behind it, and the mean of a part of a run can be above the
rate of the link. Goodput under losses: of the whole run; the claim's quotient is taken run by run.""",
        captions={"fallback": "Bars: means over runs; points: runs. Left and middle by share of instrumented ports."},
        note=note,
        evidence=Evidence(together_cases, _explain, (TOGETHER,)),
    ),
]
