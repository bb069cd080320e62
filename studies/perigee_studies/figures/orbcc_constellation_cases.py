# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs of two flows over a constellation: OrbCC and LeoTCP, Fig. 3, by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies.figures.orbcc_common import SCHEMES, generator
from perigee_studies.model import Ask, Case, Keep

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = "orbcc/constellation.toml"
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"), routes=True)
SHARED = {
    "Seattle - New York": ("seattle", "new-york", "isl", 287),
    "Seattle - New York, bent pipe": ("seattle", "new-york", "bp", 311),
    "San Diego - New York": ("san-diego", "new-york", "isl", 287),
    "San Diego - New York, bent pipe": ("san-diego", "new-york", "bp", 317),
    "New York - London": ("new-york", "london", "isl", 371),
    "San Diego - Shanghai": ("san-diego", "shanghai", "isl", 707),
}
"""Ends, mode and queue in packets of each pair."""
CROSSING = {
    "Pair1": (("new-york", "london"), ("new-york", "st-johns"), 372, 0.37),
    "Pair2": (("san-diego", "new-york"), ("lawrence", "new-york"), 288, 0.71),
}
"""Ends of both flows, queue in packets, and the share of time on one link that the published
goodputs imply."""


def starts(run: int) -> list[str]:
    """Start times drawn as in the study."""
    draw = generator(run)
    return [f"{draw.uniform(0, 1.5):.9f} s" for _ in range(2)]


RELAYS = {"nodes": [{"set": "gateways"}]}
"""The study's other ground stations, which relay in both modes."""


def sky_sets(ask: Ask, run: int, ends: Sequence[tuple[str, str]], packets: int) -> dict[str, object]:
    """Overrides for two flows between these ends."""
    out: dict[str, object] = {
        "port.all.queue": f"{packets} packets",
        "run.duration": f"{ask.count(60, 300, 300)} s",
        **RELAYS,
    }
    for i, ((a, b), start) in enumerate(zip(ends, starts(run), strict=True)):
        out |= {f"flow.{i}.from": a, f"flow.{i}.to": b, f"flow.{i}.start": start}
    return out


def sharing_cases(ask: Ask) -> list[Case]:
    """Pairs x runs x schemes; bent pipes have no lasers."""
    out = []
    for pair in ask.pick(("San Diego - New York", "New York - London"), tuple(SHARED), tuple(SHARED)):
        a, b, mode, packets = SHARED[pair]
        more = {"source.constellation.isls": "none"} if mode == "bp" else {}
        for run in range(1, ask.count(1, 2, 5) + 1):
            sets = {**sky_sets(ask, run, [(a, b), (a, b)], packets), **more}
            out += [Case(FILE, cc, {"pair": pair, "run": run}, run, sets, KEEP) for cc in ask.schemes(SCHEMES)]
    return out


CONFIGURED = "19:19"
"""Start of the study's runs, UTC."""
PRINTED_SHARE = {"Pair1": 0.40, "Pair2": 0.70}
"""Shares of the time on one link that the papers print."""
STARTS = {
    "Pair1": ("06:30", "00:00", "10:30", "21:00", "01:00"),
    "Pair2": ("04:30", "12:30", "12:00", "23:00", "02:00"),
}
"""Starts at which the table is compared: of 48 over a day, half an hour apart, the five whose share
of the time on one link is nearest to the printed one, nearest first (equal ones by time). The
shares are those of pings (`orbcc_epochs`), so that no result of a scheme enters the choice."""


def crossing_cases(ask: Ask) -> list[Case]:
    """Two pairs of paths x runs x schemes: at the configured start, and at all of STARTS."""
    out = []
    for pair, (one, two, packets, _) in CROSSING.items():
        for run in range(1, ask.count(1, 2, 5) + 1):
            sets = sky_sets(ask, run, [one, two], packets)
            for start in (CONFIGURED, *(starts[run - 1] for starts in STARTS.values())):
                begin = {} if start == CONFIGURED else {"source.constellation.start": f"2021-04-22T{start}:00Z"}
                labels = {"pair": pair, "start": start, "run": run}
                out += [Case(FILE, cc, labels, run, {**sets, **begin}, KEEP) for cc in ask.schemes(SCHEMES)]
    return out
