# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ours against a reference: verdicts, and what is known of those that fall outside."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

HERE = Path(__file__).parent
FACTOR = 2.0
"""Retransmissions and loss events may differ by this factor …"""
FEW = {"retransmits": 20.0, "loss events": 3.0}
"""… or by so many: chance decides about few."""


@dataclass(frozen=True)
class Verdict:
    """A quantity of a flow of a cell, ours against the reference."""

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
        """Within the tolerance, or not to be told from it by these seeds."""
        return abs(self.error) <= max(self.tolerance, self.interval)


@dataclass(frozen=True)
class Explained:
    """Quantities known to fall outside: of a cell, or of all whose name begins so (`two_hybla*`)."""

    cell: str
    quantity: str
    heading: str

    def covers(self, v: Verdict) -> bool:
        """It speaks of this verdict."""
        named = v.cell.startswith(self.cell[:-1]) if self.cell.endswith("*") else v.cell == self.cell
        return named and self.quantity in {"*", v.quantity}


def explained() -> list[Explained]:
    """What falls outside, and the heading of docs/differences.md that says why."""
    with (HERE / "explained.csv").open() as f:
        return [Explained(**row) for row in csv.DictReader(f)]


def heading_of(v: Verdict, known: list[Explained]) -> str | None:
    """Where a verdict is explained."""
    return next((e.heading for e in known if e.covers(v)), None)


def interval(got: list[float], wanted: list[float]) -> float:
    """Half of the 95 % interval of the difference of the means (normal approximation).

    A single reference run is taken to scatter as ours do.
    """
    spread = stdev(got) if len(got) > 1 else 0.0
    theirs = stdev(wanted) if len(wanted) > 2 else spread
    return 1.96 * math.sqrt(spread**2 / len(got) + theirs**2 / len(wanted))


def counts_tolerance(quantity: str, ours: float, reference: float) -> float:
    """What two counts may differ by: a factor of 2 either way, or few."""
    allowed = FACTOR * reference - reference if ours > reference else reference - reference / FACTOR
    return max(allowed, FEW[quantity])


def order(verdicts: list[Verdict], *, gap: float = 0.02) -> list[Verdict]:
    """One verdict per path of several schemes: pairs whose order by goodput differs, if the reference's gap is wide.

    A pair of which one side's chance, or tolerance, covers the gap is not counted.
    """
    paths: dict[str, list[Verdict]] = {}
    for v in verdicts:
        if v.quantity == "goodput" and " flow " not in v.cell and v.cc in v.cell.split("_"):
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
            # Of so many pairs, none may be swapped.
            found.append(Verdict(path, rows[0].group, ccs, "order", "swaps", swapped, 0.0, 0.0, 0.0))
    return found


def line(v: Verdict, known: list[Explained], reference: str) -> str:
    """One line for the terminal."""
    heading = heading_of(v, known)
    word = "good" if v.good else f"explained: {heading}" if heading else "OUTSIDE"
    share = f"{100 * v.error / v.reference:+.2f} %" if v.reference else ""
    bound = f"±{max(v.tolerance, v.interval):.2f}"
    return (
        f"{v.cell:40s} {v.quantity:11s} {v.ours:9.2f} {v.unit:6s} {reference} {v.reference:9.2f} {share:>10s} "
        f"{bound:>9s}  {word}"
    )


def summary(verdicts: list[Verdict], known: list[Explained], cells: int) -> tuple[str, int]:
    """The last line, and how many are outside without an explanation."""
    outside = [v for v in verdicts if not v.good]
    open_ = sum(heading_of(v, known) is None for v in outside)
    text = f"{len(verdicts)} comparisons in {cells} cells: {len(verdicts) - len(outside)} good, "
    return text + f"{len(outside) - open_} outside and explained, {open_} outside", open_


def write(out: Path, verdicts: list[Verdict], known: list[Explained]) -> None:
    """A CSV file with a row per verdict."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["cell", "group", "cc", "quantity", "unit", "ours", "reference", "tolerance", "interval", "verdict"])
        for v in verdicts:
            numbers = [f"{x:.4g}" for x in (v.ours, v.reference, v.tolerance, v.interval)]
            word = "good" if v.good else f"explained: {h}" if (h := heading_of(v, known)) else "outside"
            w.writerow([v.cell, v.group, v.cc, v.quantity, v.unit, *numbers, word])


def compared(
    place: tuple[str, str, str],
    quantity: tuple[str, str],
    got: list[float],
    wanted: list[float],
    *,
    tolerance: float,
    by_chance: bool,
) -> Verdict:
    """A verdict on means; `place`: cell, group, scheme. Chance counts where it has a part."""
    spread = interval(got, wanted) if by_chance else 0.0
    return Verdict(*place, *quantity, mean(got), mean(wanted), tolerance, spread)
