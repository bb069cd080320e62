# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Goals of the validation: required fractions of good verdicts, in total and by group.

No parameter is fitted to the measured cells, but where a quantity was outside its tolerance, the
mechanism that causes the difference was searched for. The fraction of a single group indicates how
well findings from the other groups generalise to it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perigee_lab.validation.verdicts import FLOW, HERE, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

LOSSY = {"loss", "leoloss"}
"""Groups with random loss."""
NS3, INET = "ns3", "inet"
CLOSE = 0.02
"""Tolerated relative error of a single flow's goodput."""
QUEUE_SHARE, QUEUE_MS = 0.10, 1.5
NS3_GOODPUT = 0.04
ROUGH_SHARE, ROUGH_FEW = 2.0, 20.0
"""Tolerances of counts in the first validation, for comparison with the fractions published
then."""


@dataclass(frozen=True)
class Goal:
    """Fraction of cases that meet a criterion, and its required value."""

    name: str
    least: float
    met: int
    cases: int

    @property
    def share(self) -> float:
        """Fraction of cases; 1 if there are no cases."""
        return self.met / self.cases if self.cases else 1.0

    @property
    def reached(self) -> bool:
        """Whether the fraction is large enough."""
        return self.share >= self.least


def goals(found: Sequence[Verdict]) -> list[Goal]:
    """Computes the goals from verdicts."""
    judged = [v for v in found if v.quantity != "order"]
    linux = [v for v in judged if v.group not in (NS3, INET)]
    rows = [
        _goal("comparisons within the tolerance or chance", 0.97, [v.good for v in judged]),
        _goal("with Linux, within the tolerance or chance", 0.97, [v.good for v in linux]),
        _goal("with Linux, within the tolerance alone", 0.0, [v.good and not v.by_chance for v in linux]),
        _goal("with Linux, counts by a factor of 2 or 20 packets", 0.97, [_roughly(v) for v in linux]),
        _goal("single flows without random loss: goodput 2 %, queue 10 % or 1.5 ms", 0.97, _single(linux)),
        _goal("two flows: the same one is ahead", 0.95, [_same_winner(a, b) for a, b in _pairs(linux)]),
        _goal(
            "two flows: the same one is ahead, where chance leaves no doubt who",
            0.95,
            [_same_winner(a, b) for a, b in _pairs(linux) if _decided(a, b)],
        ),
        _goal("ns-3: goodput 4 %", 1.0, _near(judged, NS3_GOODPUT, lambda v: v.group == NS3)),
        _goal("INET: within 5 % or chance", 1.0, [v.good for v in judged if v.group == INET]),
    ]
    return [goal for goal in rows if goal.cases]


def by_group(found: Sequence[Verdict]) -> list[Goal]:
    """Fractions of comparisons within the tolerance or the interval of chance, by group."""
    judged = [v for v in found if v.quantity != "order"]
    groups = dict.fromkeys(v.group for v in judged)
    return [_goal(g, 0.97, [v.good for v in judged if v.group == g]) for g in groups]


def _goal(name: str, least: float, met: Sequence[bool]) -> Goal:
    return Goal(name, least, sum(met), len(met))


def _near(found: Iterable[Verdict], share: float, wanted: Callable[[Verdict], bool]) -> list[bool]:
    return [abs(v.error) <= share * v.reference for v in found if wanted(v) and v.quantity == "goodput"]


def _roughly(v: Verdict) -> bool:
    """Whether a verdict is good, or is a count within the first validation's tolerances."""
    few = abs(v.error) <= ROUGH_FEW
    within = v.reference / ROUGH_SHARE <= v.ours <= v.reference * ROUGH_SHARE
    return v.good or (not v.unit and (few or within))


def _single(found: Sequence[Verdict]) -> list[bool]:
    """Whether both quantities are near, for each cell with one flow and no random loss.

    The intervals of chance are ignored.
    """
    rows = {(v.cell, v.quantity): v for v in found if v.group not in LOSSY}
    cells = [cell for cell, quantity in rows if quantity == "goodput" and FLOW not in cell]
    return [_is_near(rows[cell, "goodput"], rows[cell, "queue"]) for cell in cells]


def _is_near(goodput: Verdict, queue: Verdict) -> bool:
    most_ms = max(QUEUE_SHARE * queue.reference, QUEUE_MS)
    return abs(goodput.error) <= CLOSE * goodput.reference and abs(queue.error) <= most_ms


def _pairs(found: Sequence[Verdict]) -> list[tuple[Verdict, Verdict]]:
    """The verdicts on both flows' goodputs, for each cell with two flows."""
    pairs: dict[str, list[Verdict]] = {}
    for v in found:
        if v.quantity == "goodput" and FLOW in v.cell:
            pairs.setdefault(v.cell.rsplit(FLOW, 1)[0], []).append(v)
    return [(p[0], p[1]) for p in pairs.values() if len(p) == 2]


def _same_winner(a: Verdict, b: Verdict) -> bool:
    return (a.ours > b.ours) == (a.reference > b.reference)


def _decided(a: Verdict, b: Verdict) -> bool:
    """Whether the same flow is ahead in 95 of 100 of our runs.

    One flow gains at the expense of the other, so that the difference varies by the sum of both
    intervals. If the order is not decided, either flow may be ahead in the measured run, which is a
    single draw.
    """
    return abs(a.ours - b.ours) > a.interval + b.interval


def kept(path: Path = HERE / "results.csv") -> list[Verdict]:
    """Reads the verdicts of the last full run."""
    with path.open() as f:
        return [
            Verdict(
                r["cell"],
                r["group"],
                r["cc"],
                r["quantity"],
                r["unit"],
                *(float(r[name]) for name in ("ours", "reference", "tolerance", "interval")),
            )
            for r in csv.DictReader(f)
        ]


def lines(found: Sequence[Verdict]) -> list[str]:
    """The goals as lines for a terminal."""
    rows = [f"{g.name:76s} {g.met:4d} of {g.cases:4d} {_wanted(g)}" for g in goals(found)]
    return [*rows, *(f"  {g.name:74s} {g.met:4d} of {g.cases:4d}" for g in by_group(found))]


def _wanted(goal: Goal) -> str:
    words = f"{goal.share:6.1%}"
    return f"{words} (goal {goal.least:.0%}{'' if goal.reached else ', missed'})" if goal.least else words


def table(found: Sequence[Verdict]) -> str:
    """The goals as a table of design/differences.md."""
    rows = ["| what | of | share | goal |", "|---|---|---|---|"]
    rows += [
        f"| {g.name} | {g.met} of {g.cases} | {g.share:.1%} | {f'{g.least:.0%}' if g.least else ''} |"
        for g in goals(found)
    ]
    groups = ", ".join(f"{g.name} {g.met} of {g.cases}" for g in by_group(found))
    return "\n".join([*rows, "", f"Each group alone: {groups}."])
