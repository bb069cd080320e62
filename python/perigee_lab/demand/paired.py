# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Paired differences of two records of a demand, interval by interval and cell by cell.

A demand has no random events, so that a difference has no confidence interval: its quantiles are
those over the time of the run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from perigee_lab.common.files import RecordError
from perigee_lab.demand.columns import DIRECTIONS

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.demand.record import Record

METRICS: dict[str, tuple[str, str]] = {
    "offered_gbps": ("offered", "Gbit/s"),
    "served_gbps": ("served", "Gbit/s"),
    "served_pct": ("served", "% of offered"),
    "no_gateway_pct": ("no gateway", "% of offered"),
    "no_capacity_pct": ("no capacity", "% of offered"),
    "below_pct": ("below threshold", "% of active"),
    "rate_mbps": ("rate of a terminal", "Mbit/s"),
    "rtt_ms": ("RTT by propagation", "ms"),
    "full_isls": ("ISLs at 95 %", "links"),
    "full_feeders": ("antennas at 95 %", "antennas"),
    "full_gateways": ("gateways at 95 %", "gateways"),
    "full_radios": ("radios at 95 %", "satellites"),
    "full_beams": ("beams at 95 %", "beams"),
}
"""Metrics of an interval: title and unit."""
GAIN = 0.05
"""Share of its traffic from which on a terminal counts as one that gains or loses."""


@dataclass(frozen=True)
class Difference:
    """A metric of both records, and its difference (second less first) over the intervals."""

    metric: str
    unit: str
    a: float
    b: float
    difference: float
    """`b` less `a`."""
    p5: float
    """5th percentile of the differences over the intervals."""
    p95: float
    more_pct: float
    """Percentage of the intervals in which the second has more."""
    less_pct: float
    """Percentage of the intervals in which the second has less."""


@dataclass(frozen=True)
class Paired:
    """The comparison of two records."""

    direction: str
    intervals: int
    rows: list[Difference]
    cells: pd.DataFrame | None
    """Served traffic of each cell in both, most lost first; None if the records have other cells."""

    def by_share(self) -> dict[str, float]:
        """Terminals in cells that gain, lose or keep their traffic, within `GAIN`."""
        if self.cells is None:
            return {}
        share, terminals = self.cells["change"], self.cells["terminals"]
        return {
            "gain": float(terminals[share >= GAIN].sum()),
            "lose": float(terminals[share <= -GAIN].sum()),
            "keep": float(terminals[share.abs() < GAIN].sum()),
        }

    def as_data(self) -> dict[str, Any]:
        """The comparison for JSON; NaN as None."""
        cells = None if self.cells is None else _without_nan(self.cells.to_dict("records"))
        rows = _without_nan([asdict(row) for row in self.rows])
        of = {"direction": self.direction, "intervals": self.intervals, "differences": rows}
        return {**of, "terminals": self.by_share(), "cells": cells}


def compare(a: Record, b: Record, direction: int = 0) -> Paired:
    """Compares `b` with `a`, interval by interval.

    `direction` is 0 for traffic to the terminals, 1 for traffic from them. Raises RecordError if
    the records are of other times or intervals.
    """
    (left, over_a), (right, over_b) = (metrics(record, direction) for record in (a, b))
    if a.start["start"] != b.start["start"] or not left.index.equals(right.index):
        shown = [f"{r.folder}: {_span(r, t)}" for r, t in ((a, left), (b, right))]
        raise RecordError(f"the records are of other times or intervals: {shown[0]}; {shown[1]}: only equal ones pair")
    rows = [
        _difference(name, left[name].to_numpy(), right[name].to_numpy(), (over_a[name], over_b[name]))
        for name in METRICS
        if not (left[name].isna().all() and right[name].isna().all())
    ]
    return Paired(DIRECTIONS[direction], len(left), rows, _cells(a, b, direction))


def metrics(record: Record, direction: int = 0) -> tuple[pd.DataFrame, dict[str, float]]:
    """The metrics of each interval, by its start in seconds (`t_s`), and over all intervals.

    Over all intervals, shares and rates are ratios of sums.
    """
    steps, rtt_ms = _steps(record, direction), _mean_rtt_ms(record)
    found = pd.DataFrame(_of_totals(steps))
    found["rtt_ms"] = rtt_ms.reindex(found.index)
    over = {**_of_totals(steps.mean()), "rtt_ms": rtt_ms.mean()}
    return found[list(METRICS)], {name: float(over[name]) for name in METRICS}


def _steps(record: Record, direction: int) -> pd.DataFrame:
    """Rows of `steps` by the start of their interval."""
    steps = record.table("steps")
    return _within(record, steps[steps["direction"] == direction]).set_index("t_s")


def _within(record: Record, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows within the part of the time that the record is limited to."""
    if record.window_s is None:
        return rows
    from_s, to_s = record.window_s
    return rows[(rows["t_s"] >= from_s) & (rows["t_s"] < to_s)]


def _of_totals(steps: Any) -> dict[str, Any]:
    """The metrics of rows of `steps`, or of their means."""
    offered = steps["elastic_offered_bps"] + steps["inelastic_offered_bps"]
    served = steps["elastic_bps"] + steps["inelastic_bps"]
    return {
        "offered_gbps": offered / 1e9,
        "served_gbps": served / 1e9,
        "served_pct": 100 * served / offered,
        "no_gateway_pct": 100 * steps["no_gateway_bps"] / offered,
        "no_capacity_pct": 100 * steps["no_capacity_bps"] / offered,
        "below_pct": 100 * steps["below"] / steps["active"],
        "rate_mbps": served / steps["active"] / 1e6,
        **{name: steps[name] for name in METRICS if name.startswith("full_")},
    }


def _mean_rtt_ms(record: Record) -> pd.Series:
    """Mean over the terminals that reach a gateway, by start of the interval."""
    paths = _within(record, record.table("paths"))
    terminals = record.cells["terminals"].to_numpy()[paths["cell"].to_numpy()]
    known = np.isfinite(paths["rtt_ms"].to_numpy())
    weight = np.where(known, terminals * paths["reached"].to_numpy(), 0.0)
    total = np.where(known, paths["rtt_ms"].to_numpy(), 0.0) * weight
    sums = pd.DataFrame({"t_s": paths["t_s"], "total": total, "weight": weight}).groupby("t_s").sum()
    return sums["total"] / sums["weight"].where(sums["weight"] > 0)


def _difference(
    name: str, a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], over: tuple[float, float]
) -> Difference:
    """`a` and `b` by interval; `over` all of them."""
    both = np.isfinite(a) & np.isfinite(b)
    of = b[both] - a[both]
    if not len(of):
        return Difference(name, METRICS[name][1], *(float("nan") for _ in range(7)))
    # Sums in another order differ in the last digits.
    of[np.abs(of) <= 1e-9 * np.maximum(np.abs(a[both]), np.abs(b[both]))] = 0.0
    p5, p95 = np.percentile(of, [5, 95])
    more, less = (100 * float(np.mean(x)) for x in (of > 0, of < 0))
    between = 0.0 if not of.any() else over[1] - over[0]
    return Difference(name, METRICS[name][1], *over, between, float(p5), float(p95), more, less)


def _cells(a: Record, b: Record, direction: int) -> pd.DataFrame | None:
    columns = ["cell", "lat_deg", "lon_deg", "terminals"]
    grouped = [
        r.by_cell[r.by_cell["direction"] == DIRECTIONS[direction]].groupby(columns, sort=False)["served_bps"].sum()
        for r in (a, b)
    ]
    if not grouped[0].index.equals(grouped[1].index):
        return None
    frame = grouped[0].rename("a_bps").reset_index()
    frame["b_bps"] = grouped[1].to_numpy()
    frame["difference_bps"] = frame["b_bps"] - frame["a_bps"]
    with np.errstate(invalid="ignore", divide="ignore"):
        change = frame["difference_bps"] / frame["a_bps"]
    # A cell that had nothing gains all it has.
    frame["change"] = np.where(frame["a_bps"] > 0, change, np.where(frame["b_bps"] > 0, 1.0, 0.0))
    return frame.sort_values("difference_bps", kind="stable").reset_index(drop=True)


def _span(record: Record, found: pd.DataFrame) -> str:
    step = record.start["record_s"]
    return f"{len(found)} intervals of {step:g} s from {record.start['start']}"


def _without_nan(rows: list[dict[Any, Any]]) -> list[dict[Any, Any]]:
    return [{k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in r.items()} for r in rows]
