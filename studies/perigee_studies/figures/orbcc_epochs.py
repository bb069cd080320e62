# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Share of the common time of crossing paths by start time: OrbCC, Fig. 3(c) and table.

The share of time with both flows on one link follows from geometry. Pings over the same network
determine it for start times over a day.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from perigee_studies import frames
from perigee_studies.beside import varied
from perigee_studies.figures.orbcc_common import MINE
from perigee_studies.figures.orbcc_constellation_cases import CONFIGURED, CROSSING, PRINTED_SHARE, STARTS
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from perigee_studies.model import Ask, Case, Tables

DAY = "starts over a day"
FIRST, STEP, COUNT = datetime(2021, 4, 22), timedelta(minutes=30), 48
PINGS = {f"flow.{i}.{key}": what for i in (0, 1) for key, what in (("app", "ping"), ("interval", "1 s"))}


def evidence(figure: Callable[[Ask], list[Case]]) -> Evidence:
    """Pings at start times over a day."""

    def cases(ask: Ask) -> list[Case]:
        first = [c for c in figure(ask) if c.cc == MINE and (c.labels["run"], c.labels["start"]) == (1, CONFIGURED)]
        out: list[Case] = []
        for k in range(COUNT):
            start = FIRST + k * STEP
            begin = {"source.constellation.start": f"{start:%Y-%m-%dT%H:%M:%S}Z"}
            for c in varied(first, DAY, {**begin, **PINGS}):
                c.labels["start"] = f"{start:%H:%M}"  # type: ignore[index]  # `varied` makes labels of its own
                out.append(c)
        return out

    return Evidence(cases, words, (DAY,))


def nearest(day: pd.DataFrame, pair: str) -> tuple[str, ...]:
    """The starts with a share nearest to the printed one, by the rule of STARTS."""
    one = frames.pick(day, pair=pair)
    off = [
        (round(abs(share - PRINTED_SHARE[pair]), 6), str(start))
        for start, share in zip(one["start"], one["shared"], strict=True)
    ]
    return tuple(start for _, start in sorted(off)[: len(STARTS[pair])])


def of_a_day(found: pd.DataFrame, pair: str) -> pd.Series:
    """Shares of time on one link, at start times over a day."""
    return frames.pick(found, variant=DAY, pair=pair)["shared"]


def words(t: Tables, variants: Tables) -> dict[str, str]:
    """Position of the published shares among a day's."""
    return {
        f"shared-{pair}": _shared(t["runs"], variants["runs"], pair, published)
        for pair, (*_, published) in CROSSING.items()
    }


def _shared(runs: pd.DataFrame, found: pd.DataFrame, pair: str, published: float) -> str:
    day, ours = of_a_day(found, pair), frames.pick(runs, pair=pair, start=CONFIGURED)["shared"].mean()
    less = 100 * (day < published).mean()
    return (
        "The share of the time on one link follows from the geometry, and from the hour at which the run begins: at "
        f"{len(day)} starts over a day it is {day.min():.2f} to {day.max():.2f}, with a median of {day.median():.2f} "
        f"(quartiles {day.quantile(0.25):.2f} and {day.quantile(0.75):.2f}). The start as configured, {CONFIGURED} "
        f"UTC, has {ours:.2f}; the published {published:.2f} (printed as {PRINTED_SHARE[pair]:.0%}) lies above "
        f"{less:.0f} % of the starts."
    )
