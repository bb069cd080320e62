# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Verdicts on our results against a reference, and explanations of those outside the tolerance."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean, stdev

from perigee_lab.common import quoting
from perigee_lab.common.files import written

HERE = Path(__file__).parent
COUNTS_SHARE = 0.10
"""Retransmissions and loss events may differ by this fraction of the reference …"""
FEW = 5.0
"""… or by this number, since small counts vary by chance."""
CONFIDENCE = 0.95
FLOW = " flow "
"""Separator between the name of a cell with several flows and the number of a flow."""


@dataclass(frozen=True)
class Verdict:
    """Comparison of a quantity of a flow with the reference."""

    cell: str
    group: str
    cc: str
    quantity: str
    unit: str
    ours: float
    reference: float
    tolerance: float
    interval: float

    @property
    def error(self) -> float:
        """Ours minus the reference."""
        return self.ours - self.reference

    @property
    def good(self) -> bool:
        """Whether the error is within the tolerance or the interval of chance."""
        return abs(self.error) <= max(self.tolerance, self.interval)

    @property
    def by_chance(self) -> bool:
        """Whether the verdict is good only because the interval exceeds the tolerance."""
        return self.good and abs(self.error) > self.tolerance


@dataclass(frozen=True)
class Explained:
    """A known deviation of a quantity of a cell: our value, and its tolerance."""

    cell: str
    quantity: str
    expected: float
    band: float
    heading: str

    def covers(self, v: Verdict) -> bool:
        """Whether the explanation applies to this verdict and to its value."""
        return (v.cell, v.quantity) == (self.cell, self.quantity) and abs(v.ours - self.expected) <= self.band


def explained() -> list[Explained]:
    """Known deviations, with the heading of design/differences.md that explains them."""
    with (HERE / "explained.csv").open() as f:
        rows = csv.DictReader(f)
        return [Explained(r["cell"], r["quantity"], float(r["expected"]), float(r["band"]), r["heading"]) for r in rows]


def heading_of(v: Verdict, known: list[Explained]) -> str | None:
    """The heading that explains a verdict."""
    return next((e.heading for e in known if e.covers(v)), None)


@cache
def _students_t(freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, freedom))


def interval(got: list[float], wanted: list[float]) -> float:
    """Half of the 95 % interval of the difference of the means, from Student's t.

    A single reference run is assumed to vary like ours. The interval is then a prediction interval,
    which cannot become narrower than that variation, however many seeds we run.
    """
    if len(got) < 2:
        return 0.0
    spread = stdev(got)
    theirs = stdev(wanted) if len(wanted) > 2 else spread
    freedom = len(got) - 1 + (len(wanted) - 1 if len(wanted) > 2 else 0)
    return _students_t(freedom) * math.sqrt(spread**2 / len(got) + theirs**2 / len(wanted))


def needs_more(verdicts: list[Verdict], got: int, most: int) -> bool:
    """Whether an interval exceeds its tolerance and more of our runs may narrow it."""
    return got < most and any(v.interval > v.tolerance for v in verdicts)


def counts_tolerance(reference: float) -> float:
    """Tolerated difference of two counts."""
    return max(COUNTS_SHARE * reference, FEW)


def order(verdicts: list[Verdict], *, gap: float = 0.02) -> list[Verdict]:
    """One verdict for each path with several schemes.

    Counts pairs with a swapped order by goodput, if the gap in the reference is wide.

    A pair is not counted if an interval or tolerance of either side covers the gap.
    """
    paths: dict[str, list[Verdict]] = {}
    for v in verdicts:
        if v.quantity == "goodput" and FLOW not in v.cell and v.cc in v.cell.split("_"):
            paths.setdefault(v.cell.replace(f"_{v.cc}", "", 1), []).append(v)
    found = []
    for path, rows in paths.items():
        pairs = swapped = 0
        for i, a in enumerate(rows):
            for b in rows[i + 1 :]:
                wide = abs(a.reference - b.reference)
                if wide <= max(gap * max(a.reference, b.reference), a.interval, b.interval):
                    continue
                pairs += 1
                swapped += (a.reference > b.reference) != (a.ours > b.ours)
        if pairs:
            ccs = "+".join(r.cc for r in rows)
            # No pair may be swapped.
            found.append(Verdict(path, rows[0].group, ccs, "order", "swaps", swapped, 0.0, 0.0, 0.0))
    return found


def line(v: Verdict, known: list[Explained], reference: str) -> str:
    """A verdict as a line for a terminal."""
    heading = heading_of(v, known)
    word = _word(v) if v.good else f"explained: {heading}" if heading else "OUTSIDE"
    share = f"{100 * v.error / v.reference:+.2f} %" if v.reference else ""
    bound = f"±{max(v.tolerance, v.interval):.2f}"
    return (
        f"{v.cell:40s} {v.quantity:11s} {v.ours:9.2f} {v.unit:6s} {reference} {v.reference:9.2f} {share:>10s} "
        f"{bound:>9s}  {word}"
    )


def _word(v: Verdict) -> str:
    return "chance" if v.by_chance else "good"


def summary(verdicts: list[Verdict], known: list[Explained], cells: int) -> tuple[str, int]:
    """The last line, and the number of verdicts outside the tolerance that have no explanation."""
    outside = [v for v in verdicts if not v.good]
    open_ = sum(heading_of(v, known) is None for v in outside)
    chance = sum(v.by_chance for v in verdicts)
    within = len(verdicts) - len(outside) - chance
    text = f"{len(verdicts)} comparisons in {cells} cells: {within} within the tolerance, {chance} within chance, "
    return text + f"{len(outside) - open_} outside and explained, {open_} outside", open_


def write(out: Path, verdicts: list[Verdict], known: list[Explained]) -> None:
    """Writes a CSV file with one row per verdict."""
    with written(out, folders=True) as partial, partial.open("w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["cell", "group", "cc", "quantity", "unit", "ours", "reference", "tolerance", "interval", "verdict"])
        for v in verdicts:
            numbers = [f"{x:.4g}" for x in (v.ours, v.reference, v.tolerance, v.interval)]
            word = _word(v) if v.good else f"explained: {h}" if (h := heading_of(v, known)) else "outside"
            w.writerow(map(quoting.csv, [v.cell, v.group, v.cc, v.quantity, v.unit, *numbers, word]))


def compared(
    place: tuple[str, str, str],
    quantity: tuple[str, str],
    got: list[float],
    wanted: list[float],
    *,
    tolerance: float,
    by_chance: bool,
) -> Verdict:
    """A verdict on means; `place`: cell, group, scheme.

    With `by_chance`, the interval may exceed the tolerance.
    """
    spread = interval(got, wanted) if by_chance else 0.0
    return Verdict(*place, *quantity, mean(got), mean(wanted), tolerance, spread)
