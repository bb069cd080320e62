# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The campaign of the geostationary study over one timeline: a week of pings, then 80 cycles in a day.

Question: the study took turns: a download with Cubic, one with BBR, a pause, 80 times in about a
day, after a week of pings. `geo/downloads` runs each download alone. Does taking turns over a day
change means and standard deviations?

Set-up, fixed before the runs: 8 days from midnight on, in virtual time. Days 1 to 7: pings. Day 8: a
cycle every 18 minutes (the study has cycles of about 7 minutes and 80 of them in "about a day"; 80
cycles of 18 minutes are a day), with Cubic from 30 s and BBR from 200 s on, and pings throughout.
*Quiet*: RTTs and losses of the published pings, as in `geo/downloads` (its week of pings is
`geo/ping`). *Constant load*: also the crowd of `geo/neighbours` as planned there (100 neighbours on
a forward carrier of 170 Mbit/s, bursts of 2 MB, a quarter of the carrier). *Day*: the same crowd
with a load that follows the hour (the activity of `[demand]`, scaled to a quarter of the carrier in
the mean), and rain at the client's place. *Day, long bursts*: the same with the bursts of 20 MB that
`geo/neighbours` chose after its runs. (The first runs had no constant load, which separates the
crowd from its course over the day.)

Each run is a section of the timeline: a cycle, or an hour of pings. What a section inherits is its
load and its weather; the queue is empty and the jitter, correlated over 2 s, is drawn again after
minutes of pause.

Bounds, fixed before the runs: those of `geo/downloads` and `geo/ping`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import t_test
from perigee_lab.sky.weather import Climate, modem, series
from perigee_studies import frames, style
from perigee_studies.figures import geo_downloads as downloads
from perigee_studies.figures import geo_neighbours as neighbours
from perigee_studies.figures import geo_ping as pings
from perigee_studies.figures.unpublished_rain import port_changes
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Second, Tables
from perigee_studies.verdicts import Verdict, near, value, within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

FILE = "geo/campaign.toml"
MIXED = "bbr+cubic+ping"
"""The schemes of a cycle, as a run names them."""
DAY_S, HOUR_S = 86_400, 3_600
CYCLES, CYCLE_S, WEEK_DAYS = 80, 1_080, 7
BEFORE_S, AFTER_S = 30.0, 400.0
"""Pings of a cycle before the first and after both downloads."""
ACTIVITY = (
    *(0.70, 0.52, 0.38, 0.29, 0.25, 0.25, 0.29, 0.37, 0.45, 0.51, 0.55, 0.58),
    *(0.60, 0.61, 0.62, 0.65, 0.70, 0.76, 0.84, 0.92, 0.98, 1.00, 0.96, 0.85),
)
"""Activity of each hour of the day relative to the busy hour, as `[demand]` has it."""
CLIMATE = Climate(m=-3.5798265, sigma=1.7441516, rain_share=0.13171604)
"""P.618 (itur 0.4.0) at 42.27 N, 71.8 W, 20 GHz, an elevation of 41.2 degrees: the authors'
university, a satellite at 69.9 W."""
CLEAR_SKY_DB = 12.7
"""Es/N0 without rain: 16APSK 5/6, 3.3 bits per symbol, with the modem's margin of 1 dB."""
PEAK_MBPS = 144.0
WEATHER_SEED = 1
CROWD = {"beam.neighbours": 100, "beam.forward_rate": "170 Mbit"}
CYCLE_KEEP = downloads.KEEP
PING_KEEP = Keep(("rtt_ns",))
QUIET, STEADY, DAY, LONG = "quiet", "constant load", "day", "day, long bursts"


@dataclass(frozen=True)
class Setting:
    """What the timeline of a campaign contains in addition to the published RTTs and losses."""

    name: str
    sets: Mapping[str, object] = field(default_factory=dict)
    by_hour: bool = False
    """Whether load and weather follow the time."""


SETTINGS = (
    Setting(QUIET),
    Setting(STEADY, {**CROWD, "beam.forward_load": neighbours.LOAD}),
    Setting(DAY, CROWD, by_hour=True),
    Setting(LONG, {**CROWD, **neighbours.LONG}, by_hour=True),
)


def load_at(hour: float) -> float:
    """Load of the forward carrier at an hour of the day: linear between full hours."""
    before = int(hour) % 24
    now = ACTIVITY[before] + (ACTIVITY[(before + 1) % 24] - ACTIVITY[before]) * (hour - int(hour))
    return neighbours.LOAD * now / (sum(ACTIVITY) / len(ACTIVITY))


@lru_cache(maxsize=1)
def _weather() -> tuple[Any, Any]:
    """The modem's share of the rate and its loss in each second of the eight days."""
    rain = series(CLIMATE, (WEEK_DAYS + 1) * DAY_S, step_s=1.0, seed=WEATHER_SEED)
    link = modem(rain, clear_sky_db=CLEAR_SKY_DB)
    return link.rate_share, link.loss


def section(setting: Setting, begin_s: int, length_s: int) -> dict[str, object]:
    """Settings of a section of the timeline: load at its middle, changes of rate and loss by rain."""
    sets: dict[str, object] = {"run.duration": f"{length_s} s", **setting.sets}
    if not setting.by_hour:
        return sets
    sets["beam.forward_load"] = round(load_at((begin_s + length_s / 2) % DAY_S / HOUR_S), 4)
    share, loss = (x[begin_s : begin_s + length_s] for x in _weather())
    rain = port_changes(share, loss, PEAK_MBPS)
    return sets | ({"change": rain} if rain else {})


def cases(ask: Ask) -> list[Case]:
    """Sections of the timeline, by setting and in the order of time."""
    cycles, hours = ask.count(2, CYCLES, CYCLES), ask.count(2, 24 * WEEK_DAYS, 24 * WEEK_DAYS)
    out = []
    for s in SETTINGS:
        for hour in range(hours if s.name == DAY else 0):
            sets, labels = section(s, hour * HOUR_S, HOUR_S), _labels(s, "pings", hour, hour % 24)
            out.append(Case(pings.FILE, "ping", labels, hour + 1, sets, PING_KEEP))
        for k in range(cycles):
            begin_s = WEEK_DAYS * DAY_S + k * CYCLE_S
            labels = _labels(s, "cycle", k, k * CYCLE_S / HOUR_S)
            out.append(Case(FILE, MIXED, labels, k + 1, section(s, begin_s, CYCLE_S), CYCLE_KEEP))
    return out


def _labels(s: Setting, part: str, k: int, hour: float) -> dict[str, object]:
    return {"setting": s.name, "part": part, "run": k + 1, "hour": round(hour, 2)}


def each_download(found: Sequence[Outcome]) -> list[Outcome]:
    """The downloads of all cycles as runs of their own, which start with their first packet."""
    return [
        one
        for o in found
        if o.case.labels["part"] == "cycle"
        for cc in downloads.SCHEMES
        for one in [_download(o, cc)]
        if one is not None
    ]


def _download(o: Outcome, cc: str) -> Outcome | None:
    """One download of a cycle, or None if the run has no such flow."""
    d = o.digest
    at = [i for i, f in enumerate(d.flows) if f["name"] == cc]
    if not at:
        return None
    [i] = at
    start_s = d.flows[i]["started_ns"] / 1e9
    done_s = d.flows[i]["completed_s"]
    flow = {**d.flows[i], "completed_s": None if done_s is None else done_s - start_s}
    seen = np.flatnonzero(~np.isnan(d.columns["sent_packets"][i]))
    if not len(seen):
        return None
    later = (d.t_s > start_s + 1e-9) & (np.arange(len(d.t_s)) <= seen[-1])
    columns = {name: values[i : i + 1, later] for name, values in d.columns.items()}
    alone = replace(d, flows=[flow], t_s=d.t_s[later] - start_s, columns=columns, rtt_ms=d.rtt_ms[i : i + 1])
    return Outcome(replace(o.case, cc=cc), alone)


def tables(found: Sequence[Outcome]) -> Tables:
    """A row per download; download times; a row per hour of pings and per cycle's pings."""
    mine = each_download(found)
    return {
        "runs": frames.table(mine, downloads.row),
        "pings": frames.table([replace(o, case=replace(o.case, cc="ping")) for o in found], _pings),
    }


def _pings(o: Outcome) -> dict[str, Any] | None:
    """Pings of an hour, or those of a cycle outside its downloads."""
    d = o.digest
    at = [i for i, f in enumerate(d.flows) if f["name"] == "ping"]
    if not at:
        return None
    rtt = d.columns["rtt_ns"][at[0]] / 1e6
    between = o.case.labels["part"] == "cycle"
    if between:
        rtt = rtt[(d.t_s <= BEFORE_S) | (d.t_s > AFTER_S)]
    known = rtt[~np.isnan(rtt)]
    low, high = 560 - pings.ROUNDING_MS, 625 + pings.ROUNDING_MS
    return {
        "answers": len(known),
        "lost": frames.number(d.flows[at[0]]["lost_probes"]) if not between else float("nan"),
        "median_ms": float(np.median(known)) if len(known) else float("nan"),
        "mean_ms": known.mean() if len(known) else float("nan"),
        "body_pct": 100 * float(np.mean((known >= low) & (known <= high))) if len(known) else float("nan"),
    }


def _of(t: Tables, setting: str, cc: str) -> pd.DataFrame:
    return frames.pick(t["runs"], setting=setting, cc=cc)


def _settings(t: Tables) -> list[str]:
    return list(dict.fromkeys(t["runs"]["setting"]))


def verdicts(t: Tables) -> list[Verdict]:
    """Means and standard deviations of Tables I to III, the size of the effect, and the pings, by setting."""
    out = []
    for name in _settings(t):
        for key, (words, source, column, unit, published) in downloads.TABLES.items():
            for i, cc in enumerate(downloads.SCHEMES):
                here, place = _of(t, name, cc), f"{key}-{cc}-{name}"
                mean, sd = (row[i] for row in published)
                within_mean, within_sd = round(downloads.MEAN_SHARE * mean, 1), round(downloads.SPREAD_SHARE * sd, 2)
                claim = f"{name}: {style.label(cc)}: mean {words}"
                ours = frames.average(here, column)
                out.append(near(place, claim, source, mean, ours, within_mean, unit, kind=Kind.TUNED))
                claim = f"{name}: {style.label(cc)}: standard deviation of the {words}"
                spread = value(float(here[column].std()))
                out.append(near(f"sd-{place}", claim, source, sd, spread, within_sd, unit, kind=Kind.TUNED))
        claim = f"{name}: size of the effect in steady state (Cohen's d)"
        out.append(near(f"effect-{name}", claim, "section IV", 0.7, value(effect(t, name)), 0.35, kind=Kind.TUNED))
        both = frames.pick(t["runs"], setting=name)
        claim = f"{name}: RTTs of {downloads.LONG_S} s and more, of both"
        late = frames.average(both, "rtt_over_2s_pct")
        out.append(within(f"late-{name}", claim, "Fig. 3", "about 5 %", late, 2.5, 7.5, "%", kind=Kind.TUNED))
    return [*out, *_baseline(t)]


def _baseline(t: Tables) -> list[Verdict]:
    """Claims on the week of pings."""
    week = _week(t)
    body, most = value(_body(week)), value(_pattern(week))
    of, claim = "section III", "medians of pings differ by the hour of the day by"
    return [
        within("body", "pings between 560 and 625 ms", of, "99 %", body, 98.5, 99.5, "%", kind=Kind.TUNED),
        within("hours", claim, of, "no pattern", most, 0, 2, "ms", kind=Kind.TUNED),
    ]


def effect(t: Tables, setting: str) -> float:
    """Cohen's d of the steady throughputs of both schemes; NaN for constant ones."""
    a, b = (_of(t, setting, cc)["mean_mbps"].dropna().to_numpy() for cc in downloads.SCHEMES)
    return t_test(a, b).d if min(len(a), len(b)) > 1 and a.std() + b.std() > 0 else float("nan")


def _week(t: Tables) -> pd.DataFrame:
    return frames.pick(t["pings"], part="pings")


def _body(week: pd.DataFrame) -> float:
    """Share of the answered pings of the week within 560 to 625 ms, in %."""
    return float((week["body_pct"] * week["answers"]).sum() / week["answers"].sum())


def _pattern(week: pd.DataFrame) -> float:
    """Largest difference in ms of an hour's median from that of all hours (means over the days)."""
    hours = week.groupby("hour")["median_ms"].mean()
    return float((hours - hours.median()).abs().max())


def draw(t: Tables) -> dict[str, Any]:
    """Plots both throughputs of each cycle over the day, by setting."""
    there = _settings(t)
    figure, axes = style.panels(len(there), 2, width=2.1, height=2.1, sharex=True, sharey="row")
    for row, (key, limit) in enumerate((("steady", 150), ("start", 45))):
        words, _, column, unit, (means, deviations) = downloads.TABLES[key]
        for x, name in enumerate(there):
            axis = axes[row][x]
            for i, cc in enumerate(downloads.SCHEMES):
                look, here = style.look(cc), _of(t, name, cc)
                axis.axhspan(means[i] - deviations[i], means[i] + deviations[i], color=look["color"], alpha=0.13)
                mean = axis.axhline(means[i], color=look["color"], linewidth=1, linestyle=(0, (1, 1.5)), zorder=0.5)
                style.mark(axis, mean)
                axis.plot(here["hour"], here[column], look["marker"], color=look["color"], markersize=2.5,
                          label=style.label(cc))  # fmt: skip
            axis.set_ylim(0, limit)
            if row == 0:
                axis.set_title(name, loc="left")
            else:
                axis.set_xlabel("hour of the day")
                axis.set_xticks(range(0, 25, 6))
        axes[row][0].set_ylabel(f"{words.replace(' (first 50 MB)', '')},\n{unit}")
    style.shared_legend(figure, axes[0])
    return {"day": figure}


def column(alone: Tables, t: Tables) -> str:
    """The section on the page of the downloads: published, isolated, and the campaign's settings."""
    there = _settings(t)
    heads = ["", "published", "each alone", *(f"campaign, {name}" for name in there)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for words, _, name, unit, (means, deviations) in downloads.TABLES.values():
        for i, cc in enumerate(downloads.SCHEMES):
            found = [frames.pick(alone["runs"], cc=cc), *(_of(t, setting, cc) for setting in there)]
            ours = [f"{x[name].mean():.1f} ± {x[name].std():.1f}" for x in found]
            cells = [f"{style.label(cc)}: {words}, {unit}", f"{means[i]:g} ± {deviations[i]:g}", *ours]
            lines.append(f"| {' | '.join(cells)} |")
    found = [effect({"runs": alone["runs"].assign(setting="")}, ""), *(effect(t, setting) for setting in there)]
    pairs = [alone["runs"], *(frames.pick(t["runs"], setting=setting) for setting in there)]
    late = " | ".join(f"{x['rtt_over_2s_pct'].mean():.1f}" for x in pairs)
    lines.append(f"| RTTs of {downloads.LONG_S} s and more, of both, % | about {downloads.LONG_PCT} | {late} |")
    lines.append(f"| steady: Cohen's d | 0.7 | {' | '.join(f'{d:.2f}' for d in found)} |")
    n = len(_of(t, there[0], downloads.SCHEMES[0]))
    return (
        f"{changed(t)}\n\nMeans and standard deviations over {len(alone['runs']) // 2} downloads each alone, and over "
        f"the {n} cycles of [the campaign](geo-campaign.md):\n\n" + "\n".join(lines)
    )


def changed(t: Tables) -> str:
    """What the campaign changes and what it does not, in three sentences."""
    there = _settings(t)

    def pair(setting: str, column: str, how: str, digits: int = 1) -> str:
        found = (getattr(_of(t, setting, cc)[column], how)() for cc in downloads.SCHEMES)
        return " and ".join(f"{x:.{digits}f}" for x in found)

    def published(key: str, row: int) -> str:
        return " and ".join(f"{x:g}" for x in downloads.TABLES[key][4][row])

    spreads = "; ".join(f"{name} {pair(name, 'mean_mbps', 'std')}" for name in there)
    starts = "; ".join(f"{name} {pair(name, 'startup_mbps', 'mean')}" for name in (QUIET, DAY))
    return (
        f"**Taking turns changes none of the means by itself. Neighbours raise the standard deviations of the steady "
        f"throughput: with a constant load they are within the tolerance (± {100 * downloads.SPREAD_SHARE:.0f} %) of "
        f"the published ones {_reached(t, STEADY)}, on one drawn day with a load that follows the hour "
        f"{_reached(t, DAY)}, at lower means and longer RTTs than published; Cubic's start-up stays as it was.** The "
        f"load was chosen "
        f"with Cubic's published mean in view (`geo/neighbours`); crowd and weather of the day are one draw. Standard "
        f"deviations of Cubic and BBRv1, Mbit/s (published {published('steady', 1)}): {spreads}. "
        f"Means over the day: {pair(DAY, 'mean_mbps', 'mean')} Mbit/s at {pair(DAY, 'rtt_ms', 'mean', 0)} ms "
        f"(published {published('steady', 0)} Mbit/s at {published('rtt', 0)} ms); the size of the effect is d = "
        f"{effect(t, DAY):.2f} (published 0.7). Start-ups, Mbit/s (published {published('start', 0)}): {starts}."
    )


def _reached(t: Tables, setting: str) -> str:
    """The schemes with a standard deviation of the steady throughput within the tolerance."""
    sds = zip(downloads.SCHEMES, downloads.TABLES["steady"][4][1], strict=True)
    near_by = {cc: abs(_of(t, setting, cc)["mean_mbps"].std() - sd) <= downloads.SPREAD_SHARE * sd for cc, sd in sds}
    names = [style.label(cc) for cc, held in near_by.items() if held]
    missing = "" if len(names) == len(near_by) else " only"
    return f"for {' and '.join(names)}{missing}" if names else "for neither scheme"


def finding(t: Tables) -> str:
    """The result, with the pings."""
    week, pairs = _week(t), "; ".join(f"{name} {_together(t, name):.2f}" for name in _settings(t))
    return (
        f"{changed(t)} Of the week of pings {_body(week):.1f} % take 560 to 625 ms (published: 99 %), and the medians "
        f"of the hours differ by up to {_pattern(week):.1f} ms from that of all (published: no pattern by time of "
        "day). Correlation over cycles of the two schemes' steady throughput, which turns are meant to raise: "
        f"{pairs}."
    )


def _together(t: Tables, setting: str) -> float:
    """Correlation over cycles of the steady throughputs of the two schemes."""
    by_run = [_of(t, setting, cc).set_index("run")["mean_mbps"] for cc in downloads.SCHEMES]
    return float(by_run[0].corr(by_run[1]))


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim: the range over cycles."""
    out: dict[str, str] = {}
    for name in _settings(t):
        for key, (words, _source, of, unit, _published) in downloads.TABLES.items():
            for cc in downloads.SCHEMES:
                here = _of(t, name, cc)[of]
                text = (
                    f"{name}: over cycles {style.label(cc)}'s {words} ranges from {here.min():.1f} to "
                    f"{here.max():.1f} {unit}."
                )
                out |= {f"{sd}{key}-{cc}-{name}": text for sd in ("", "sd-")}
        out[f"effect-{name}"] = f"{name}: the deviations of the steady throughput are smaller than the published ones."
        rtt = frames.pick(t["runs"], setting=name)["rtt_ms"]
        out[f"late-{name}"] = f"{name}: mean steady RTTs of downloads are {rtt.min():.0f} to {rtt.max():.0f} ms."
    of_hours = _week(t).groupby("hour")["median_ms"].mean()
    text = f"Medians of the hours of the day are {of_hours.min():.1f} to {of_hours.max():.1f} ms."
    return out | {"body": text, "hours": text}


METHOD = """Eight days from midnight on, in virtual time: seven of pings (a UDP packet of 20 bytes every 200 ms),
then a day of 80 cycles of 18 minutes, with 1 GB with Cubic from 30 s and with BBR from 200 s on, over the network
of `geo/downloads`, and pings throughout. (The study writes of cycles of about 7 minutes, and of about a day for
80; both cannot hold.) Quiet: RTTs and losses of the published pings; its week of pings is `geo/ping`. Constant
load: also the crowd of `geo/neighbours` with bursts of 2 MB, which takes a quarter of the forward carrier. Day:
the same crowd with a load that follows the hour as the activity of [`[demand]`](../reference/demand.md) does, a
quarter in the mean; and rain: attenuation by ITU-R P.618 and P.1853 at 42.3 N, 71.8 W, 20 GHz and an elevation of
41 degrees, rates in steps of DVB-S2 below 144 Mbit/s, 12.7 dB without rain. Long bursts: 20 MB. A run is an hour
of pings or a cycle: a section of the timeline, with the load at its middle and its seconds of rain; it is stored
as it ends, and the same command continues after an interruption."""
METRICS = """Those of `geo/downloads`. Pings: of those answered in the week. The hours' medians: means over the days."""
CAPTIONS = {
    "day": "Points: downloads, at the time of their cycle; dotted and shaded: published means ± standard deviations, "
    "in the colours of the schemes."
}
DEVIATIONS = (
    "Sections of the timeline start with an empty queue and idle neighbours; jitter is correlated over 2 s, and bursts "
    "of 2 MB last less than a second.",
    "Hosts keep nothing from earlier connections: Linux's cache of metrics by destination (initial ssthresh) is not "
    "modelled.",
    "Load, its course over the day, and weather are assumptions: the study has no data on either. The mean load was "
    "chosen with Cubic's published mean in view, and there is one day: one crowd, and one seed of the weather.",
    "The carrier has a queue per client, so that a ping never waits for neighbours: that pings do not reveal them, at "
    "any hour, is a property of this model, and says nothing about the service of the study.",
)
CHANGES = (
    "The day: another seed of the weather has days with more rain; there is little on the eighth day of this one.",
    "A return link on request (`geo/set-ups`), which changes the start-up, is not part of the campaign (not run).",
)
COLUMNS = {
    "setting": "what the timeline contains (Method)",
    "part": "pings = an hour of the week; cycle = of the last day",
    "hour": "hour of the day at which it starts",
    "answers": "answered pings; of a cycle, those outside its downloads",
    "lost": "lost pings, in hours of the week",
    "median_ms": "median RTT of the pings, ms",
    "mean_ms": "mean RTT of the pings, ms",
    "body_pct": "answered pings from 560 to 625 ms, %",
    "mean_mbps": "mean steady throughput, Mbit/s; the others as in `geo/downloads`",
}

EXPERIMENTS = [
    Experiment(
        name="geo/campaign",
        title="The campaign of 80 cycles and a week of pings",
        figure="sections III and IV over one timeline",
        schemes=(MIXED,),
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        finding=finding,
        explain=explain,
        method=METHOD,
        metrics=METRICS,
        captions=CAPTIONS,
        deviations=DEVIATIONS,
        changes=CHANGES,
        columns=COLUMNS,
        second=Second("geo/downloads", "The campaign", column),
    )
]
