# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The downloads of `geo/downloads` in set-ups other than the published one.

The set-ups cover parameters that the study leaves open, and possible causes of its numbers. None of
them is the default, and no number of another page depends on them. The metrics are those of
`geo/downloads`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perigee_studies import frames, style
from perigee_studies.figures import geo_downloads as downloads
from perigee_studies.figures import geo_ping, geo_requests
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Evidence, Experiment, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, near, order

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


@dataclass(frozen=True)
class SetUp:
    """A set-up: overrides of the published one."""

    name: str
    sets: Mapping[str, object] = field(default_factory=dict)
    file: str = downloads.FILE


SLOWER = {"port.bottleneck.rate": "128 Mbit"}
FADES = {
    "jitter.loss_every": "65 s",
    "jitter.loss_single": 0.0,
    "jitter.loss_mean": 2.0,
    "jitter.loss_slot": "5 ms",
}
"""Two slots of 5 ms without reception every 65 s on average, which lose 1.5 of 10,000 pings, or 465
single pings in a week."""
SHALLOW, DEEP = "rate of 100 to 144 Mbit/s", "rate of 72 to 144 Mbit/s"
SET_UPS = (
    SetUp("as published"),
    SetUp("128 Mbit/s", SLOWER),
    SetUp("fades of 10 ms", FADES),
    SetUp("128 Mbit/s, fades", {**SLOWER, **FADES}),
    SetUp("RTT of 917 ms", file="geo/download-917.toml"),
    SetUp("a quarter dropped", {"port.bottleneck.red_floor": 0.25}),
    SetUp("pacing without fq", {"cc.bbr.pacing_rule": "linux-4.15"}),
    SetUp("window of 60 MB", {"tcp.receive_buffer": 60_000_000}),
)
PUBLISHED = SET_UPS[0].name
BESIDE = (
    SET_UPS[0],
    SetUp(SHALLOW, {"schedule.every": "5 s", "schedule.rate": "uniform(100 Mbit, 144 Mbit)"}),
    SetUp(DEEP, {"schedule.every": "5 s", "schedule.rate": "uniform(72 Mbit, 144 Mbit)"}),
)
"""Set-ups for explanations; no claim is computed from them."""
BESIDE_RUNS = 5
CHANGED = tuple(s.name for s in SET_UPS[1:])


@dataclass(frozen=True)
class Number:
    """A published number, with its tolerance in `geo/downloads`."""

    cc: str
    column: str
    words: str
    source: str
    published: float
    tolerance: float
    unit: str


NUMBERS = (
    Number("cubic", "mean_mbps", "mean steady throughput", "Table I", 123, 12, "Mbit/s"),
    Number("bbr", "mean_mbps", "mean steady throughput", "Table I", 113, 10, "Mbit/s"),
    Number("cubic", "rtt_ms", "mean steady RTT", "Table II", 821, 200, "ms"),
    Number("bbr", "rtt_ms", "mean steady RTT", "Table II", 780, 120, "ms"),
    Number("cubic", "startup_mbps", "start-up throughput", "Table III", 16.6, 3, "Mbit/s"),
    Number("bbr", "startup_mbps", "start-up throughput", "Table III", 23.1, 3, "Mbit/s"),
    Number("cubic", "get_30_mb_s", "time to download 30 MB", "Fig. 5", 22.5, 5.625, "s"),
    Number("bbr", "get_30_mb_s", "time to download 30 MB", "Fig. 5", 15, 3.75, "s"),
)


def cases(ask: Ask) -> list[Case]:
    """Downloads of `geo/downloads` for each set-up.

    For the published set-up, they are the same runs.
    """
    runs = range(1, ask.count(2, 20, 40) + 1)
    ccs = ask.schemes(downloads.SCHEMES)
    return [
        Case(s.file, cc, {"set_up": s.name, "run": run}, run, s.sets, downloads.KEEP)
        for s in SET_UPS
        for run in runs
        for cc in ccs
    ]


def beside_cases(ask: Ask) -> list[Case]:
    """Some downloads of each set-up for explanations, and pings over return links with requests."""
    runs = range(1, BESIDE_RUNS + 1)
    more = geo_requests.cases(runs, PUBLISHED)
    return more + [
        Case(s.file, cc, {"set_up": s.name, "run": run, "variant": s.name}, run, s.sets, downloads.KEEP)
        for s in BESIDE
        for run in runs
        for cc in downloads.SCHEMES
    ]


def _row(o: Outcome) -> dict[str, Any] | None:
    if o.case.scenario == geo_ping.FILE:
        return geo_requests.ping_row(o)
    row = downloads.row(o)
    return row and {**row, "get_30_mb_s": downloads.time_to_get(o, 30) + downloads.CONTROL_S}


def draw(t: Tables) -> dict[str, Any]:
    """Plots each number by set-up, with the published number and its tolerance."""
    runs = t["runs"]
    kinds = list(dict.fromkeys(n.column for n in NUMBERS))
    names = [s.name for s in SET_UPS if s.name in set(runs["set_up"])]
    figure, axes = style.panels(len(kinds), 1, width=2.2, height=3.0, sharey=True)
    for axis, column in zip(axes[0], kinds, strict=True):
        mine = [n for n in NUMBERS if n.column == column]
        for k, n in enumerate(mine):
            look = style.look(n.cc)
            axis.axvspan(n.published - n.tolerance, n.published + n.tolerance, color=look["color"], alpha=0.15)
            style.published(axis, n.published, look["color"], None)
            for y, name in enumerate(names):
                one = frames.average(runs, column, set_up=name, cc=n.cc)
                every = frames.pick(runs, set_up=name, cc=n.cc)[column]
                label = style.label(n.cc) if y == 0 else None
                at = y + 0.15 * (2 * k - 1)
                axis.plot(every, [at] * len(every), color=look["color"], zorder=1.8, **style.DOT)
                axis.plot(one.value, at, label=label, **_dot(look))
        axis.set_xlabel(f"{mine[0].words}, {mine[0].unit}".removeprefix("mean "))
    axes[0][0].set_yticks(range(len(names)), names)
    axes[0][0].set_ylim(len(names) - 0.5, -0.5)
    style.shared_legend(figure, axes[0])
    return {"set-ups": figure}


def _dot(look: Mapping[str, Any]) -> dict[str, Any]:
    return {"color": look["color"], "marker": look["marker"], "markersize": 4, "linestyle": "none"}


def check(t: Tables) -> list[Verdict]:
    """Claims on Tables I to III and Fig.

    5 by set-up, and the rows of the one with the published steady state.
    """
    runs, out = t["runs"], []
    here = set(runs["set_up"])
    for name in (c for c in CHANGED if c in here):
        held = {}
        for n in (n for n in NUMBERS if n.cc in set(runs["cc"])):
            ours = frames.average(runs, n.column, set_up=name, cc=n.cc)
            words = f"{style.label(n.cc)}'s {n.words} {ours} {n.unit}"
            held[words] = abs(ours.value - n.published) <= n.tolerance
        claim = f"With {name}: numbers of the tables and 30 MB of Fig. 5 within their tolerances"
        out.append(count(f"all-{name}", claim, "Tables I to III, Fig. 5", "all", held, kind=Kind.TUNED))
    both = "128 Mbit/s, fades"
    out += [_near(runs, both, n) for n in NUMBERS if n.column in {"mean_mbps", "rtt_ms"}]
    spread = [
        (style.label(cc), float(frames.pick(runs, set_up=both, cc=cc)["rtt_ms"].std())) for cc in downloads.SCHEMES
    ]
    out.append(
        order(
            f"spread-{both}", f"With {both}: RTT of Cubic more spread", "Table II", spread, unit="ms", kind=Kind.TUNED
        )
    )
    slow = "RTT of 917 ms"
    out += [_near(runs, slow, n) for n in NUMBERS if n.column in {"startup_mbps", "get_30_mb_s"}]
    return out


def _near(runs: pd.DataFrame, name: str, n: Number) -> Verdict:
    ours = frames.average(runs, n.column, set_up=name, cc=n.cc)
    claim = f"With {name}: {style.label(n.cc)}: {n.words}"
    return near(f"{n.column}-{n.cc}-{name}", claim, n.source, n.published, ours, n.tolerance, n.unit, kind=Kind.TUNED)


METHOD = """The downloads of `geo/downloads`, each set-up with one thing changed, or two. "128 Mbit/s": the service
gives that much in place of its peak of 144. "Fades of 10 ms": nothing is received for 10 ms, once in 65 s in the mean
(drawn). Five pings a second meet one such fade in twenty, and so lose what the published week of pings lost singly; a
download meets each. In `geo/downloads` a single loss is one packet every 20 minutes, which no download meets either:
the pings do not tell the two apart. "RTT of 917 ms": the RTT that Table III gives for BBR's start-up is the RTT of
the path, for the numbers of the start-up alone. "A quarter dropped": of what arrives while the queue is above 18 MB,
in place of a share that rises to a tenth. "Pacing without fq": BBR as Linux 4.15 paces by its own timers, which send
payload only at a rate that counts headers (103.6 % of the estimate), and are never late here. "Window of 60 MB": all
of the receive buffer instead of the half that Linux 4.15 offers. Beside them, for explanations only:
return links whose capacity is granted on request (`port.reverse.dama_delay`, 600 ms, in frames of 26.5 ms: by volume
alone; with 100 kbit/s without being asked for; and with up to 5,120 kbit/s by rate, instead or as well; or with 1
Mbit/s of free capacity), with ten minutes of the study's pings over each; rates of 100 to 144 and of 72 to 144 Mbit/s,
drawn anew every 5 s, and falls to a third for 5 s or to a half for 10 s, once a minute in the mean, as adaptive coding
and modulation would have it. How the service grants is not published: the values are those of an open emulator of
DVB-RCS2 (OpenSAND)."""
DEVIATIONS = (
    "No set-up of this page is published; 128 Mbit/s and the 10 ms were chosen with the published tables in view, so "
    "that a match shows what would be enough, not what was.",
)
WHY_CUBIC = "Cubic's RTT in the start-up was shorter (Table III) than that of this set-up, BBR's."
WHY_LONG = (
    "The path's RTT is not 917 ms in steady state (Table II): this set-up is for the numbers of the start-up alone, "
    "which it has."
)


def explain(t: Tables, variants: Tables) -> dict[str, str]:
    """Explains the effect of a slow return link, or of varying rates, on start-up and queue."""
    runs = variants["runs"]

    def of(name: str, cc: str, column: str, digits: int = 1) -> str:
        return f"{frames.average(runs, column, set_up=name, cc=cc).value:.{digits}f}"

    volume, rate = geo_requests.CONSTANT, geo_requests.RATE
    start, rtt, steady = "startup_mbps", "startup_rtt_ms", "rtt_ms"
    why = (
        "What is missed is what the change leaves as it is. BBR's start-up is the published one only where the RTT is "
        "that of Table III from the beginning: doubling once per RTT, it then takes as many RTTs as here. With the "
        f"pings' RTT it has {of(PUBLISHED, 'bbr', start)} Mbit/s. A return link whose capacity is granted on request "
        f"({geo_requests.DELAY_MS} ms) makes each RTT of the start longer: {of(volume, 'bbr', start)} Mbit/s with an "
        f"RTT of {of(volume, 'bbr', rtt, 0)} ms where the terminal asks by volume beside {geo_requests.CRA_KBPS} "
        f"kbit/s, {of(rate, 'bbr', start)} at {of(rate, 'bbr', rtt, 0)} ms where it asks by rate, too. But the steady "
        f"RTT grows with it: BBR's to {of(volume, 'bbr', steady, 0)} and {of(rate, 'bbr', steady, 0)} ms "
        f"({of(PUBLISHED, 'bbr', steady, 0)} without), Cubic's to {of(volume, 'cubic', steady, 0)} and "
        f"{of(rate, 'cubic', steady, 0)} ms ({of(PUBLISHED, 'cubic', steady, 0)} without)."
    )
    return {
        **{f"all-{name}": why for name in CHANGED},
        "all-RTT of 917 ms": WHY_LONG,
        "startup_mbps-cubic-RTT of 917 ms": WHY_CUBIC,
        "get_30_mb_s-cubic-RTT of 917 ms": WHY_CUBIC,
    }


EXPERIMENTS = [
    Experiment(
        name="geo/set-ups",
        title="Downloads under other set-ups",
        figure="not published: what the numbers depend on",
        schemes=downloads.SCHEMES,
        cases=cases,
        tables=frames.per_run(_row),
        verdicts=check,
        draw=draw,
        method=METHOD,
        deviations=DEVIATIONS,
        evidence=Evidence(
            beside_cases, explain, (*(s.name for s in BESIDE), *geo_requests.ON_REQUEST, *geo_requests.FALLS)
        ),
        metrics="Those of `geo/downloads`.",
        captions={
            "set-ups": "Means, and a dot for each run; dotted: published numbers; shades: the "
            "tolerances of `geo/downloads`, blue for Cubic and green for BBRv1."
        },
    )
]
