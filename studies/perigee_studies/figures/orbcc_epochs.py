# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Dependence of the figure on crossing paths on its start time: OrbCC, Fig. 3(c) and table.

The share of time with both flows on one link follows from geometry. Pings over the same network
determine it for start times over a day; the schemes are run at two of these.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from perigee_studies import frames, style
from perigee_studies.beside import varied
from perigee_studies.figures.orbcc_common import MINE
from perigee_studies.figures.orbcc_constellation_cases import CROSSING
from perigee_studies.figures.orbcc_constellation_published import DELAY, GOODPUT_MBPS, RATIO
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from perigee_studies.model import Ask, Case, Tables

DAY, AT = "starts over a day", "at "
FIRST, STEP, COUNT = datetime(2021, 4, 22), timedelta(minutes=30), 48
HOURS = ("00:00", "04:30")
"""Start times at which the schemes are run: the two of the day with the smallest |Pair1 - 0.40| +
|Pair2 - 0.70|, where 0.40 and 0.70 are the published shares (here 0.42 and 0.68, 0.43 and 0.70)."""
OURS = "19:19"
PINGS = {f"flow.{i}.{key}": what for i in (0, 1) for key, what in (("app", "ping"), ("interval", "1 s"))}
SCHEMES = ("cubic", "bbr", "bbr3", MINE)


def evidence(figure: Callable[[Ask], list[Case]]) -> Evidence:
    """Pings at start times over a day, and the first run of each scheme at two of them."""

    def cases(ask: Ask) -> list[Case]:
        first = [c for c in figure(ask) if c.labels["run"] == 1]
        out = []
        for k in range(COUNT):
            begin = f"{FIRST + k * STEP:%Y-%m-%dT%H:%M:%S}Z"
            for c in (c for c in first if c.cc == MINE):
                out += _at(c, DAY, begin, PINGS)
        for hour in HOURS:
            for c in (c for c in first if c.cc in SCHEMES):
                out += _at(c, AT + hour, f"2021-04-22T{hour}:00Z", {})
        return out

    return Evidence(cases, words, (DAY, *(AT + hour for hour in HOURS)))


def _at(case: Case, name: str, begin: str, sets: dict[str, str]) -> list[Case]:
    [c] = varied([case], name, {"source.constellation.start": begin, **sets})
    c.labels["start"] = begin  # type: ignore[index]  # `varied` makes labels of its own
    return [c]


def words(t: Tables, variants: Tables) -> dict[str, str]:
    """Position of the published shares among a day's, and results at hours with these shares."""
    found = variants["runs"]
    shared = {pair: _shared(t["runs"], found, pair, CROSSING[pair][-1]) for pair in CROSSING}
    said = {f"shared-{pair}": what for pair, what in shared.items()}
    for pair in CROSSING:
        goodput = f"{shared[pair]} {_goodput(found, pair)}"
        delay = f"Queues come to be while both flows are on one link. {_two_hours(t['runs'], found, pair, 'delay')}"
        ratio = (
            "Two flows of one scheme and different RTTs on one link are unfair to each other (inter-rtt), and ours "
            f"share a link for another part of the time. {_two_hours(t['runs'], found, pair, 'goodput_ratio')}"
        )
        said |= {f"goodput-{pair}-{cc}": goodput for cc in GOODPUT_MBPS[pair]}
        said |= {f"delay-{pair}-{cc}": delay for cc in DELAY[pair]}
        said |= {f"ratio-{pair}-{cc}": ratio for cc in RATIO[pair]}
    return said


def of_a_day(found: pd.DataFrame, pair: str) -> pd.Series:
    """Shares of time on one link, at start times over a day."""
    return frames.pick(found, variant=DAY, pair=pair)["shared"]


def _shared(runs: pd.DataFrame, found: pd.DataFrame, pair: str, published: float) -> str:
    day, ours = of_a_day(found, pair), frames.pick(runs, pair=pair)["shared"].mean()
    less = 100 * (day < published).mean()
    return (
        "The share of the time on one link follows from the geometry, and from the hour at which the run begins: at "
        f"{len(day)} starts over a day it is {day.min():.2f} to {day.max():.2f}, with a median of {day.median():.2f} "
        f"(quartiles {day.quantile(0.25):.2f} and {day.quantile(0.75):.2f}). The start as configured, {OURS} UTC, has "
        f"{ours:.2f}; the published {published:.2f} lies above {less:.0f} % of the starts."
    )


def _goodput(found: pd.DataFrame, pair: str) -> str:
    by_hour = [frames.pick(found, variant=AT + hour, pair=pair, cc=MINE) for hour in HOURS]
    each = [f"{h['shared'].mean():.2f} and {h['goodput_mbps'].mean():.1f} Mbit/s at {n}" for h, n in _named(by_hour)]
    return f"OrbCC's goodput follows that share: {', '.join(each)} UTC."


def _named(by_hour: list[pd.DataFrame]) -> list[tuple[pd.DataFrame, str]]:
    return list(zip(by_hour, HOURS, strict=True))


def _two_hours(runs: pd.DataFrame, found: pd.DataFrame, pair: str, column: str) -> str:
    """A column at our start time and at the other two hours, for the three schemes with queues."""
    here = frames.pick(runs, pair=pair)
    parts = []
    for cc in SCHEMES[:-1]:
        ours = frames.average(here, column, cc=cc).value
        other = [frames.average(found, column, pair=pair, cc=cc, variant=AT + hour).value for hour in HOURS]
        parts.append(f"{style.label(cc)} {ours:.2f}, {other[0]:.2f}, {other[1]:.2f}")
    share = [frames.pick(found, variant=AT + hour, pair=pair)["shared"].mean() for hour in HOURS]
    times = f"at {OURS} (as run), {HOURS[0]} and {HOURS[1]} UTC, when the share of the common time is "
    times += f"{here['shared'].mean():.2f}, {share[0]:.2f} and {share[1]:.2f}"
    return f"{pair}, {times}: {'; '.join(parts)} (one run each at the other hours)."
