# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Causes of long paths over the nearest satellites, and of Cubic's lower goodput.

Each hypothesis has its own variant.

Lasers connect neighbours in the same plane and in the next one; northbound and southbound
satellites are neighbours only at the turning latitudes. In a shell with planes that rise over only
half of the equator, a place sees satellites of only one direction for hours, so that both ends have
satellites of the same direction under any policy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perigee_studies import frames
from perigee_studies.beside import varied
from perigee_studies.decided import Decided, by_share, gap
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from perigee_lab.common.statistics import Estimate
    from perigee_studies.model import Ask, Case, Tables

RUNS = 20
"""As in the figure at full size: start times differ too much for five runs to be conclusive."""
PAIR, CC = "San Diego - New York", "cubic"
ONE_WAY, CALM, DEEP = "one direction", "handovers that lose nothing", "queue for the longer path"
RAAN_DEG = (262, 298)
"""Range of ascending nodes from which San Diego and New York see only northbound satellites, at the
start time of the file."""
STEP = 7
"""Step between runs in twentieths of that range, coprime to 20, so that the first runs are spread
out."""
DEEP_PACKETS = 1667
"""BDP of 200 ms at 100 Mbit/s, in packets of 1500 bytes."""


def shell(run: int) -> Mapping[str, object]:
    """Starlink's first shell without the planes that rise over the other half of the equator."""
    low, high = RAAN_DEG
    turn = low + (high - low) * ((run - 1) * STEP % RUNS) / (RUNS - 1)
    return {
        "planes": 36,
        "per_plane": 22,
        "altitude": "550 km",
        "inclination": "53 deg",
        "phasing": 19,
        "raan_spread": "180 deg",
        "raan": f"{turn:.3f} deg",
    }


def evidence(figure: Callable[[Ask], list[Case]], nearest: str, shortest: str, longest: str) -> Evidence:
    """Variants of Cubic's first runs over one pair, and conclusions on each hypothesis."""

    def cases(ask: Ask) -> list[Case]:
        some = [c for c in figure(ask) if c.cc == CC and c.labels["pair"] == PAIR and int(c.labels["run"]) <= RUNS]
        near = [c for c in some if c.labels["policy"] == nearest]
        both = [c for c in some if c.labels["policy"] in (nearest, shortest)]
        return [
            *(_over(c, ONE_WAY) for c in both),
            *varied(near, CALM, {"handover.outage": "0 ms", "handover.mode": "hold"}),
            *varied(near, DEEP, {"port.all.queue": f"{DEEP_PACKETS} packets"}),
        ]

    def decide(t: Tables, variants: Tables) -> list[Decided]:
        runs, other = t["runs"], variants["runs"]
        return [
            _direction(runs, other, nearest, shortest),
            *_goodput(runs, other, nearest, shortest, longest),
        ]

    return Evidence(cases, lambda t, variants: {}, (ONE_WAY, CALM, DEEP), decide)


def _over(case: Case, name: str) -> Case:
    """The same policy over half of the shell, rotated between runs instead of shifted in time."""
    prefix = "source.constellation."
    sky = {key.removeprefix(prefix): v for key, v in case.sets.items() if key.startswith(prefix)}
    rest = {key: v for key, v in case.sets.items() if not key.startswith(prefix)}
    sky["shell"] = shell(int(case.labels["run"]))
    sets = {**rest, "run.vary": ["outages"], "source.constellation": sky}
    return replace(case, labels={**case.labels, "variant": name}, sets=sets)


def _of(runs: pd.DataFrame, column: str, **where: object) -> Estimate:
    """Mean over the first runs, which the variants also have."""
    return frames.average(runs[runs["run"] <= RUNS], column, pair=PAIR, scheme=CC, **where)


def _direction(runs: pd.DataFrame, other: pd.DataFrame, nearest: str, shortest: str) -> Decided:
    near, short = (_of(runs, "base_rtt_ms", policy=p) for p in (nearest, shortest))
    one, least = (_of(other, "base_rtt_ms", variant=ONE_WAY, policy=p) for p in (nearest, shortest))
    return Decided(
        "the nearest satellites make paths long because one end's flies north and the other's south",
        by_share(near.value - short.value, gap(near, one)),
        f"{PAIR}, base RTT: {frames.in_words(near, 0)} ms with the nearest, {frames.in_words(short, 0)} on the "
        f"shortest path. Over half of the shell, where all in view fly north, {frames.in_words(one, 0)} and "
        f"{frames.in_words(least, 0)} ms.",
    )


def _goodput(runs: pd.DataFrame, other: pd.DataFrame, nearest: str, shortest: str, longest: str) -> list[Decided]:
    def rate(name: str) -> Estimate:
        return _of(other, "goodput_mbps", variant=name, policy=nearest)

    near, short, long = (_of(runs, "goodput_mbps", policy=p) for p in (nearest, shortest, longest))
    missing = short.value - near.value
    less = (
        f"{PAIR}, Cubic: {frames.in_words(near, 1)} Mbit/s with the nearest, {frames.in_words(short, 1)} on the "
        "shortest path"
    )
    rtt = _of(runs, "base_rtt_ms", policy=longest)
    return [
        Decided(
            "Cubic has less with the nearest satellite because handovers lose packets and take time",
            by_share(missing, gap(rate(CALM), near)),
            f"{less}; with handovers that lose nothing and take no time {frames.in_words(rate(CALM), 1)}.",
        ),
        Decided(
            "Cubic has less there because the queue is short for the longer path",
            by_share(missing, gap(rate(DEEP), near)),
            f"{less}; with a queue of {DEEP_PACKETS:,} packets {frames.in_words(rate(DEEP), 1)}.",
        ),
        Decided(
            "Cubic has less there because two satellites of different directions make the path long",
            by_share(missing, gap(rate(ONE_WAY), near)),
            f"{less}; over the half shell, with the shorter path, {frames.in_words(rate(ONE_WAY), 1)}.",
        ),
        Decided(
            "Cubic has less on any path that is long",
            by_share(missing, gap(short, long)),
            f"{less}; with the satellite that stays longest, at {frames.in_words(rtt, 0)} ms and without a handover, "
            f"{frames.in_words(long, 1)}.",
        ),
    ]
