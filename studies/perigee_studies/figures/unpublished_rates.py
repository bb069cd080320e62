# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Hypatia study's flows at the rates before scaling.

These are 200 Mbit/s on the ground and 100 Gbit/s by laser.

The runs test whether the schemes' use of the path depends on the scale: published rates and queues,
full rates with the same queues in packets, and full rates with the same queues in milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames, style
from perigee_studies.figures import unpublished_rates_why as why
from perigee_studies.figures.hypatia_cases import PAIR, TOWNS
from perigee_studies.figures.hypatia_published import SCHEMES
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, order

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "Barbosa et al.: rates scaled down, the full ones not measured"
SCALED, SAME, LONG = "scaled down", "full rates, 100 packets", "full rates, 2000 packets"
FULL = {"port.ground.rate": "200 Mbit", "port.isl.rate": "100 Gbit"}
SETTINGS: dict[str, tuple[float, dict[str, object]]] = {
    SCALED: (10.0, {}),
    SAME: (200.0, {**FULL}),
    LONG: (200.0, {**FULL, "port.ground.queue": "2000 packets", "port.isl.queue": "2000 packets"}),
}
"""Rate on the ground (Mbit/s) and overrides, by setting."""
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))
BEGIN_S = 10.0


def cases(ask: Ask) -> list[Case]:
    """Settings x towns x runs (other times of the orbits) x schemes."""
    out = []
    for run in range(1, ask.count(1, 3, 8) + 1):
        for town in ask.pick(("Sao Paulo",), ("Sao Paulo", "Montreal"), tuple(TOWNS)):
            for name, (_, sets) in SETTINGS.items():
                ends = {"flow.0.from": TOWNS[town], "flow.0.to": f"{TOWNS[town]}-11000"}
                whole = {"run.duration": f"{ask.count(20, 60, 200)} s", "run.vary": "phase", **ends, **sets}
                labels = {"town": town, "setting": name, "run": run}
                out += [Case(PAIR, cc, labels, run, whole, KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    later = d.window(BEGIN_S, end_s)
    mbps = float(d.mean_mbps(BEGIN_S, end_s)[0])
    rate_mbps = why.MORE_MBPS if "variant" in o.case.labels else SETTINGS[str(o.case.labels["setting"])][0]
    rtt, base = d.columns["rtt_ns"][0, later], d.columns["base_rtt_ns"][0, later]
    return {
        "mbps": mbps,
        "share": mbps / rate_mbps,
        "inflation": float(np.nanmean(rtt) / np.nanmean(base)),
        "timeouts": d.flows[0]["timeouts"],
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run; each claim compares one scheme at two scales."""
    return {"runs": frames.table(found, _row).rename(columns={"cc": "scheme"})}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims by scheme: the share of the full rate is at least that of the scaled, minus 5 %."""
    out = []
    for cc in dict.fromkeys(t["runs"]["scheme"]):
        here = frames.pick(t["runs"], scheme=cc)
        scaled = frames.average(here, "share", "town", setting=SCALED).value
        for name in (SAME, LONG):
            full = frames.average(here, "share", "town", setting=name).value
            claim = f"{style.label(cc)}, {name}: as large a share of the rate as scaled down"
            rows = [("full", full), ("scaled", scaled)]
            out.append(order(f"{cc}-{name}", claim, SOURCE, rows, slack=0.05, kind=Kind.UNPUBLISHED))
    return out


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim."""
    out: dict[str, str] = {}
    for cc in dict.fromkeys(t["runs"]["scheme"]):
        of = frames.pick(t["runs"], scheme=cc).groupby("setting")[["share", "inflation"]].mean()
        each = (f"{name}: {row['share']:.2f} at {row['inflation']:.2f} base RTTs" for name, row in of.iterrows())
        words = ", ".join(each)
        said = (
            f"Of the rate the flow has, in the mean from {BEGIN_S:g} s on: {words}. A queue of as many packets is a "
            "twentieth as long in time. Windows have twenty times as many packets."
        )
        out |= {f"{cc}-{name}": said for name in (SAME, LONG)}
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots share of the rate and delay by scheme and setting."""
    runs = t["runs"]
    names = list(dict.fromkeys(runs["scheme"]))
    figure, axes = style.panels(2, 1, height=2.6)
    colours = ("#bdbdbd", "#9ecae1", "#08519c")
    for a, column, title in (
        (axes[0][0], "share", "goodput over rate"),
        (axes[0][1], "inflation", "RTT over base RTT"),
    ):
        for i, (setting, colour) in enumerate(zip(SETTINGS, colours, strict=True)):
            for j, cc in enumerate(names):
                one = frames.pick(runs, scheme=cc, setting=setting)[column]
                x = j + (i - 1) * 0.27
                a.bar(x, one.mean(), 0.25, color=colour, label=setting if j == 0 else None)
                a.plot([x] * len(one), one, ".", color="black", markersize=2.5, label="a run" if i == j == 0 else None)
        a.set_xticks(range(len(names)), [style.label(cc) for cc in names])
        a.set_title(title, loc="left")
    axes[0][1].set_ylim(bottom=0.9)
    style.shared_legend(figure, axes[0][:1])
    return {"full-rates": figure}


EXPERIMENTS = [
    Experiment(
        name="hypatia/full-rates",
        title="The flows at the full rates",
        figure="scaled down, never measured",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""One flow over 11,000 km, as in Table 1, from Sao Paulo and Montreal (full size: from all five towns),
each run at another time of the orbits: with 10 Mbit/s on the ground, 1 Gbit/s by laser and queues of 100 packets as
published, with 200 Mbit/s and 100 Gbit/s and the same queues, and with queues of 2000 packets, as long in time as the
published ones: windows have twenty times as many packets.""",
        metrics="""From 10 s on. Share: goodput over the rate on the ground. RTT over base RTT: of the means over time.
Orders are tested run by run, with a twentieth of slack.""",
        explain=explain,
        evidence=why.evidence(cases, SCALED),
        captions={"full-rates": "Bars: means over runs and towns; points: runs."},
    ),
]
