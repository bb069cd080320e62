# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Comparison of the simulator's TCP with that of Linux over the same network."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.files import written
from perigee_lab.common.reading import MOST_TEXT, opened, parsed_toml, read_text
from perigee_lab.results.metrics import flow_rows, run_summary
from perigee_lab.runs.scenario import Scenario, loads
from perigee_lab.validation.verdicts import HERE, interval

if TYPE_CHECKING:
    from perigee_lab.results.run import Run

TABLE = HERE / "real-hosts.toml"
ORBCC_TABLE = HERE / "orbcc-hosts.toml"
"""OrbCC; the version of its kernels is over the text of `orbcc/core`."""
NEAR_PCT = 1.0
"""Tolerated difference of goodputs, in percent."""
ALL = "all"
"""All flows of a run together."""
OUTSIDE = "OUTSIDE"


@dataclass(frozen=True)
class Cell:
    """A path, and the schemes that are compared on it."""

    name: str
    scenario: Scenario
    schemes: tuple[str, ...]
    seeds: tuple[int, ...] = (1,)
    by_flow: bool | None = False
    """Whether flows are compared one by one; None: only if there are two to four."""


@dataclass(frozen=True)
class Measured:
    """Results of one side as means over the seeds; NaN = unknown or no value.

    Goodput in Mbit/s after the warm-up, times in ms, counts of packets and timeouts of the entire
    run.
    """

    goodput_mbps: float
    rtt_ms: float
    queue_ms: float
    retransmits: float
    timeouts: float
    completed_ms: float


@dataclass(frozen=True)
class Pair:
    """A scheme on a path, or one of its flows, on both sides."""

    cell: str
    cc: str
    flow: str
    seeds: int
    simulated: Measured
    linux: Measured
    interval_mbps: float
    """Half of the 95 % interval of the difference of the mean goodputs; 0 with one seed."""

    @property
    def goodput_pct(self) -> float:
        """Simulated goodput minus Linux's, in percent of Linux's."""
        return percent(self.simulated.goodput_mbps, self.linux.goodput_mbps)

    @property
    def rtt_pct(self) -> float:
        """Excess of the simulated mean RTT, in percent of Linux's."""
        return percent(self.simulated.rtt_ms, self.linux.rtt_ms)

    @property
    def retransmits(self) -> float:
        """Simulated minus Linux's, in packets."""
        return self.simulated.retransmits - self.linux.retransmits

    @property
    def near(self) -> bool:
        """Whether goodputs differ by at most 1 %."""
        return abs(self.goodput_pct) <= NEAR_PCT

    @property
    def by_chance(self) -> bool:
        """Whether goodputs differ by more than 1 %, but within the 95 % interval over seeds."""
        gap = abs(self.simulated.goodput_mbps - self.linux.goodput_mbps)
        return not self.near and gap <= self.interval_mbps

    @property
    def name(self) -> str:
        """Cell, scheme and flow."""
        return " ".join([self.cell, self.cc, *([] if self.flow == ALL else [self.flow])])


@dataclass(frozen=True)
class Explained:
    """An explained difference of a cell under several schemes, with the supporting experiment."""

    cell: str
    schemes: tuple[str, ...]
    heading: str
    text: str

    def covers(self, p: Pair) -> bool:
        """Whether the explanation applies to this pair."""
        return p.cell == self.cell and p.cc in self.schemes


@dataclass(frozen=True)
class Summary:
    """Absolute differences of a scheme; goodput and RTT in percent, retransmissions in packets."""

    cc: str
    pairs: int
    goodput_median: float
    goodput_largest: float
    rtt_median: float
    rtt_largest: float
    retransmits_median: float
    retransmits_largest: float
    worst: str
    """The pair with the largest goodput difference."""


def read(path: Path = TABLE) -> list[Cell]:
    """The cells of a table. Raises ScenarioError."""
    table = parsed_toml(read_text(path))
    return [_cell(row, table["path"]) for row in table["cell"]]


def explained(path: Path = TABLE) -> list[Explained]:
    """The explained differences of a table."""
    rows = parsed_toml(read_text(path)).get("explained", [])
    return [Explained(r["cell"], tuple(r["schemes"]), r["heading"], r["text"].strip()) for r in rows]


def verdict(p: Pair, known: Sequence[Explained]) -> str:
    """Empty if goodputs are within 1 %; otherwise chance, an explanation's heading, or OUTSIDE."""
    if p.near:
        return ""
    if p.by_chance:
        return f"within the 95 % interval of {p.seeds} seeds, ±{p.interval_mbps:.3f} Mbit/s"
    heading = next((e.heading for e in known if e.covers(p)), None)
    if heading is not None:
        return f"explained: {heading}"
    return OUTSIDE


def _cell(row: dict[str, Any], paths: dict[str, str]) -> Cell:
    text = paths[row.get("on", "dumbbell")] + row.get("more", "")
    if "[[flow]]" not in text:
        text += "[[flow]]\n"
    sets = dict(entry.split("=", 1) for entry in row.get("set", ()))
    values = {key: parsed_toml(f"value = {value}")["value"] for key, value in sets.items()}
    seeds = tuple(range(1, row.get("seeds", 1) + 1))
    scenario = loads(text, values, name=row["name"], folder=HERE)
    return Cell(row["name"], scenario, tuple(row["schemes"]), seeds, row.get("by_flow", False))


def percent(ours: float, linux: float) -> float:
    """Excess of ours over Linux's, in percent of Linux's; 0 if both are zero."""
    if ours == linux:
        return 0.0
    return 100 * (ours - linux) / linux if linux else math.inf


def pairs(cell: Cell, cc: str, simulated: Sequence[Run], linux: Sequence[Run]) -> list[Pair]:
    """Pairs of a scheme's runs with the same seeds, for its flows one by one or together."""
    by_flow = cell.by_flow
    if by_flow is None:
        by_flow = 2 <= simulated[0].table("flow_totals").num_rows <= 4
    ours, theirs = ([_rows(r, by_flow=by_flow) for r in side] for side in (simulated, linux))
    found = []
    for i, row in enumerate(ours[0]):
        mine, his = ([_measured(rows[i]) for rows in side] for side in (ours, theirs))
        spread = 0.0
        if len(mine) > 1:
            spread = interval([m.goodput_mbps for m in mine], [m.goodput_mbps for m in his])
        flow_cc = row["flow_cc"] if by_flow else cc
        found.append(Pair(cell.name, flow_cc, row["flow"], len(mine), means(mine), means(his), spread))
    return found


def _rows(run: Run, *, by_flow: bool) -> list[dict[str, Any]]:
    if not by_flow:
        return [run_summary(run)]
    totals = run.table("flow_totals").to_pylist()
    return [{**row, "took_ms": _took_ms(t)} for row, t in zip(flow_rows(run), totals, strict=True)]


def _took_ms(totals: dict[str, Any]) -> float:
    begin, end = totals["started_ns"], totals["completed_ns"]
    return math.nan if begin is None or end is None else float(end - begin) / 1e6


def _measured(row: dict[str, Any]) -> Measured:
    return Measured(
        goodput_mbps=row["goodput_mbps"],
        rtt_ms=row["rtt_mean_ms"],
        queue_ms=row.get("queue_mean_ms", math.nan),
        retransmits=row["retransmits"],
        timeouts=row["timeouts"],
        completed_ms=row.get("took_ms", math.nan),
    )


def means(several: Sequence[Measured]) -> Measured:
    """Means of all values."""
    return Measured(**{f.name: mean(getattr(m, f.name) for m in several) for f in fields(Measured)})


def summaries(found: Sequence[Pair]) -> Iterator[Summary]:
    """One summary per scheme, in order of appearance."""
    for cc in dict.fromkeys(p.cc for p in found):
        of = [p for p in found if p.cc == cc]
        worst = max(of, key=lambda p: abs(p.goodput_pct))
        yield Summary(
            cc,
            len(of),
            *_median_and_largest(p.goodput_pct for p in of),
            *_median_and_largest(p.rtt_pct for p in of),
            *_median_and_largest(p.retransmits for p in of),
            worst.cell if worst.flow == ALL else f"{worst.cell}, {worst.flow}",
        )


def _median_and_largest(differences: Iterable[float]) -> tuple[float, float]:
    known = [abs(d) for d in differences if not math.isnan(d)]
    return (median(known), max(known)) if known else (math.nan, math.nan)


# ---- as files ------------------------------------------------------------------------------------

COLUMNS = [f.name for f in fields(Measured)]


def as_row(p: Pair) -> dict[str, Any]:
    """A pair as a row, with its values on both sides; None if unknown."""
    sides = {"simulated": asdict(p.simulated), "linux": asdict(p.linux)}
    values = {f"{side}_{k}": _known(v) for side, of in sides.items() for k, v in of.items()}
    about = {"cell": p.cell, "cc": p.cc, "flow": p.flow, "seeds": p.seeds}
    return {**about, **values, "interval_mbps": _known(p.interval_mbps)}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.6g}")


def write(path: Path, found: Iterable[Pair]) -> None:
    """Writes a CSV file with one row per pair."""
    rows = [as_row(p) for p in found]
    with written(path) as partial, partial.open("w", newline="", encoding="utf-8") as f:
        w = csv.DictWriter(f, list(rows[0]), lineterminator="\n")
        w.writeheader()
        w.writerows({k: quoting.csv(v) for k, v in row.items()} for row in rows)


def read_results(path: Path) -> list[Pair]:
    """Reads the file of `write`."""
    with io.TextIOWrapper(opened(path, MOST_TEXT), encoding="utf-8") as f:
        return [_pair(row) for row in csv.DictReader(f)]


def _pair(row: dict[str, str]) -> Pair:
    def side(name: str) -> Measured:
        return Measured(**{c: float(row[f"{name}_{c}"] or "nan") for c in COLUMNS})

    cell, cc, flow = (quoting.from_csv(row[name]) for name in ("cell", "cc", "flow"))
    about = (cell, cc, flow, int(row["seeds"]))
    return Pair(*about, side("simulated"), side("linux"), float(row["interval_mbps"]))
