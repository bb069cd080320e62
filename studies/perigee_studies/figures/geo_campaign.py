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

The day is drawn several times: each has its own crowd (seeds of the runs) and its own weather (the
eighth day of a series with its own seed); the course of the load is the same. Claims on it are on
means over days, with intervals over days; the finding counts the days in which a claim holds.

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

from perigee_lab.sky.weather import Climate, modem, series
from perigee_studies import frames
from perigee_studies.figures import geo_campaign_views as views
from perigee_studies.figures import geo_downloads as downloads
from perigee_studies.figures import geo_neighbours as neighbours
from perigee_studies.figures import geo_ping as pings
from perigee_studies.figures.unpublished_rain import port_changes
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Second, Tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
DAYS = 5
"""Drawn days of the setting *day*; twice as many in the full size."""
CROWD = {"beam.neighbours": 100, "beam.forward_rate": "170 Mbit"}
CYCLE_KEEP = downloads.KEEP
PING_KEEP = Keep(("rtt_ns",))
QUIET, STEADY, DAY, LONG = views.QUIET, views.STEADY, views.DAY, "day, long bursts"


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


@lru_cache(maxsize=2)
def _weather(draw: int = 1) -> tuple[Any, Any]:
    """The modem's share of the rate and its loss in each second of the eight days of a draw."""
    rain = series(CLIMATE, (WEEK_DAYS + 1) * DAY_S, step_s=1.0, seed=draw)
    link = modem(rain, clear_sky_db=CLEAR_SKY_DB)
    return link.rate_share, link.loss


def section(setting: Setting, begin_s: int, length_s: int, draw: int = 1) -> dict[str, object]:
    """Settings of a section of a draw's timeline: load at its middle, changes of rate and loss by rain."""
    sets: dict[str, object] = {"run.duration": f"{length_s} s", **setting.sets}
    if not setting.by_hour:
        return sets
    sets["beam.forward_load"] = round(load_at((begin_s + length_s / 2) % DAY_S / HOUR_S), 4)
    share, loss = (x[begin_s : begin_s + length_s] for x in _weather(draw))
    rain = port_changes(share, loss, PEAK_MBPS)
    return sets | ({"change": rain} if rain else {})


def cases(ask: Ask) -> list[Case]:
    """Sections of the timeline, by setting and in the order of time."""
    cycles, hours = ask.count(2, CYCLES, CYCLES), ask.count(2, 24 * WEEK_DAYS, 24 * WEEK_DAYS)
    days = ask.count(2, DAYS, 2 * DAYS)
    out = []
    for s in SETTINGS:
        for hour in range(hours if s.name == DAY else 0):
            sets, labels = section(s, hour * HOUR_S, HOUR_S), _labels(s, "pings", hour, hour % 24)
            out.append(Case(pings.FILE, "ping", labels, hour + 1, sets, PING_KEEP))
        for draw in range(1, days + 1 if s.name == DAY else 2):
            out += [_cycle(s, draw, k) for k in range(cycles)]
    return out


def _cycle(s: Setting, draw: int, k: int) -> Case:
    begin_s = WEEK_DAYS * DAY_S + k * CYCLE_S
    labels = _labels(s, "cycle", k, k * CYCLE_S / HOUR_S, draw)
    return Case(FILE, MIXED, labels, CYCLES * (draw - 1) + k + 1, section(s, begin_s, CYCLE_S, draw), CYCLE_KEEP)


def _labels(s: Setting, part: str, k: int, hour: float, draw: int = 1) -> dict[str, object]:
    return {"setting": s.name, "part": part, "draw": draw, "run": k + 1, "hour": round(hour, 2)}


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


EXPERIMENTS = [
    Experiment(
        name="geo/campaign",
        title="The campaign of 80 cycles and a week of pings",
        figure="sections III and IV over one timeline",
        schemes=(MIXED,),
        cases=cases,
        tables=tables,
        verdicts=views.verdicts,
        draw=views.draw,
        finding=views.finding,
        summary=views.summary,
        explain=views.explain,
        method=views.METHOD,
        metrics=views.METRICS,
        captions=views.CAPTIONS,
        deviations=views.DEVIATIONS,
        changes=views.CHANGES,
        columns=views.COLUMNS,
        second=Second("geo/downloads", "The campaign", views.column),
    )
]
