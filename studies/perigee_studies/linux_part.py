# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Claims on Linux hosts that have no verdict, since too little of what they are about was run.

A claim on a mean or an extreme over all values of a label, or on each of them, has a verdict only
if all of them were run (`SPANS`); one that also compares with a scheme without a kernel has none
(`WITHOUT`). Neither has one that more simulated runs leave undecided, if the runs on hosts are too
few for an interval (`open_on_page`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from perigee_lab.common.statistics import FEWEST_RUNS
from perigee_studies import linux
from perigee_studies.model import Ask, Label, Size
from perigee_studies.registry import experiments
from perigee_studies.verdicts import MODES, TIE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

Labels = dict[str, Label]


@dataclass(frozen=True)
class Span:
    """What some claims rest on: all values of labels among the cases of the full size."""

    what: str
    """Its name in the plural, such as "paths"."""
    labels: tuple[str, ...]
    keys: tuple[str, ...]
    """The claims."""
    where: Callable[[Labels], bool] = lambda _: True
    """Whether a case is among those that the claims are about, by its labels."""

    def points(self, cases: list[Labels]) -> set[tuple[Label, ...]]:
        """The values of the labels in the cases that the claims are about."""
        return {tuple(case[name] for name in self.labels) for case in cases if self.where(case)}


def _one_bdp(from_ms: int) -> Callable[[Labels], bool]:
    return lambda case: case["queue_bdp"] == 1.0 and not case["cuts"] and int(case["rtt_ms"]) >= from_ms


def _bottlenecks(n: int) -> Callable[[Labels], bool]:
    return lambda case: case["queue_bdp"] == 1.0 and case["bottlenecks"] == n


RTT, PATH = ("rtt_ms",), ("path",)
SPANS: Mapping[str, tuple[Span, ...]] = {
    "leo-cc/single-flow": (
        Span("paths", PATH, (
            "L2-cubic", "L2-satcp", "L2-order", "L3-goodput", "L3-delay", "L4-goodput", "L4-delay", "L4-retransmit",
        )),
    ),
    "leo-cc/fairness": (Span("paths", PATH, ("L8-bbr3", "L8-leocc")),),
    "leo-cc/inter-rtt": (
        Span("RTTs from 60 ms", RTT, ("cubic", "satcp"), _one_bdp(60)),
        Span("RTTs from 40 ms", RTT, ("bbr3",), _one_bdp(40)),
        Span("RTTs from 80 ms", RTT, ("bbr3-winner",), _one_bdp(80)),
        Span("RTTs from 80 ms and queues to 1 BDP", ("rtt_ms", "queue_bdp"), ("bbr3-shallow",),
             lambda case: not case["cuts"] and int(case["rtt_ms"]) >= 80 and float(case["queue_bdp"]) <= 1.0),
        Span("RTTs and queues", ("rtt_ms", "queue_bdp"), ("leocc",), lambda case: not case["cuts"]),
    ),
    "leo-cc/intra-rtt": (Span("RTTs", RTT, ("leocc",)),),
    "leo-cc/parking-lot": tuple(
        Span("RTTs", RTT, tuple(f"{cc}-{n}" for cc in linux.SCHEMES), _bottlenecks(n)) for n in (3, 6)
    ),
    "leo-cc/efficiency": (Span("numbers of flows", ("flows",), ("full", "leocc-varies")),),
}  # fmt: skip
WITHOUT: Mapping[str, Mapping[str, str]] = {
    "leo-cc/single-flow": {"L4-retransmit": "Vivace and Astraea"},
    "leo-cc/fairness": {"L9-noisy": "Vivace"},
    "leo-cc/efficiency": {f"peak-{n}": "Vivace and Astraea" for n in (5, 10, 20)},
}
"""Claims that also compare with schemes that no kernel has."""


def lacking(experiment: str, key: str, runs: pd.DataFrame) -> str:
    """What a claim lacks for a verdict, such as "2 of 10 RTTs run" or "Vivace not run".

    Empty if nothing. A value of a label was run if all schemes of `runs` were.
    """
    for span in SPANS.get(experiment, ()):
        if key in span.keys:
            every = span.points(_every(experiment))
            here = runs.to_dict("records")
            each = [span.points([row for row in here if row["cc"] == cc]) for cc in set(runs["cc"])]
            there = every.intersection(*each)
            if len(there) < len(every):
                return f"{len(there)} of {len(every)} {span.what} run"
    absent = WITHOUT.get(experiment, {}).get(key)
    return f"{absent} not run" if absent else ""


OPEN = "undecided on the simulated page"


def open_on_page(page: str, runs: pd.DataFrame) -> str:
    """OPEN if the runs on hosts are too few for an interval and more simulated ones do not decide a claim.

    `page` is the verdict on the simulated page, where the interval includes a bound, or modes of the
    runs lie on both sides of it. Otherwise empty.
    """
    return OPEN if page in {TIE, MODES} and runs["run"].nunique() < FEWEST_RUNS else ""


@lru_cache(maxsize=len(linux.NAMES))
def _every(experiment: str) -> list[Labels]:
    """The labels of all cases of the full size on hosts."""
    return [dict(case.labels) for case in linux.figure_cases(experiments()[experiment], Ask(Size.FULL))]
