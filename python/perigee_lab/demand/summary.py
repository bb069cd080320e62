# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Summary of a record: what cells got, which links were hot, the day by hour."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from perigee_lab.demand.columns import DIRECTIONS, KINDS

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.demand.record import Record

SUMS = (
    "active", "below", "elastic_offered_bps", "elastic_bps", "inelastic_offered_bps", "inelastic_bps",
    "no_gateway_bps", "no_capacity_bps",
)  # fmt: skip
BEAM = KINDS.index("beam")
CELL_COLUMNS = (
    "cell", "lat_deg", "lon_deg", "terminals", "plan", "direction", "active", "rate_mbps", "worst_rate_mbps",
    "worst_t_s", "below_share", "served_share", "no_gateway_share", "no_capacity_share", "offered_bps", "served_bps",
    "rtt_ms", "isls", "satellites", "gateway",
)  # fmt: skip
"""Columns of cells.csv."""
LINK_COLUMNS = (
    "kind", "direction", "from", "to", "mean_mbps", "peak_mbps", "capacity_mbps", "peak_share", "full_s",
)  # fmt: skip
"""Columns of links.csv."""
HOUR_COLUMNS = (
    "clock", "hour", "plan", "direction", "below_share", "rate_mbps", "served_share", "active_weight",
)  # fmt: skip
"""Columns of hours.csv."""
SUMMARIES = {"cells": CELL_COLUMNS, "links": LINK_COLUMNS, "hours": HOUR_COLUMNS}
"""Columns of the tables of a record that are CSV."""
TEXTS = {"cell", "plan", "direction", "gateway", "kind", "from", "to", "clock"}
"""Columns of these that are texts; others are numbers."""


@dataclass(frozen=True)
class Summary:
    """Tables of a record's totals."""

    cells: pd.DataFrame
    """A row per cell, plan and direction."""
    links: pd.DataFrame
    """A row per link but beams, and direction; the fullest first."""
    hours: pd.DataFrame
    """A row per hour (UTC and local), plan and direction."""
    totals: dict[str, Any]
    """Totals and errors, for the manifest."""


def of(record: Record) -> Summary:
    """Reads a record once, in order."""
    cells, links, failed = _Cells(record), _Links(record), []
    errors: dict[str, float] = {}
    unreached, gap = 0, 0.0
    for number in range(record.chunks):
        facts = record.facts(number)
        failed += facts["failed"]
        unreached += facts["unreached"]
        gap = max(gap, facts["gap"])
        for name, value in facts["errors"].items():
            errors[name] = max(errors.get(name, 0.0), value)
        cells.add(record.part("cells", number), record.part("paths", number))
        links.add(record.part("links", number))
    frame = cells.frame()
    totals = {
        "totals": {name: cells.total(i) for i, name in enumerate(DIRECTIONS)},
        "conservation": errors,
        "duality_gap": gap,
        "failed_steps": len(failed),
        "failed": failed[:20],
        "steps_without_a_path": unreached,
    }
    return Summary(frame, links.frame(), cells.hours(), totals)


def between(record: Record, from_s: float, to_s: float) -> Summary:
    """Summary of a part of the time; links are those of its intervals (`record_links`), which may be longer."""
    cells = _Cells(record)
    since_s, until_s = links_window(record, from_s, to_s)
    links = _Links(record, since_s, until_s)
    for number in range(int(since_s // record.chunk_s), record.chunks):
        if number * record.chunk_s >= until_s:
            break
        rows, paths = record.part("cells", number), record.part("paths", number)
        rows, paths = (f[(f["t_s"] >= from_s) & (f["t_s"] < to_s)] for f in (rows, paths))
        if len(rows):
            cells.add(rows, paths)
        of = record.part("links", number)
        links.add(of[(of["t_s"] >= since_s) & (of["t_s"] < until_s)])
    totals = {"totals": {name: cells.total(i) for i, name in enumerate(DIRECTIONS)}}
    return Summary(cells.frame(), links.frame(), cells.hours(), totals)


def links_window(record: Record, from_s: float, to_s: float) -> tuple[float, float]:
    """Start and end of the intervals of links that overlap with a part of the time."""
    length = float(record.start["record_links_s"])
    return from_s // length * length, min(-(-to_s // length) * length, float(record.start["duration_s"]))


class _Cells:
    """Sums over time by cell, plan and direction, and by hour."""

    def __init__(self, record: Record) -> None:
        start = record.start
        self.record = record
        self.shape = (int(start["cells"]), len(start["plans"]), 2)
        self.sums = {name: np.zeros(self.shape) for name in SUMS}
        self.rows = 0
        self.least = np.full(self.shape, np.inf)
        self.least_t_s = np.full(self.shape, np.nan)
        self.paths = np.zeros((self.shape[0], 4))
        self.gateways: Counter[tuple[int, int]] = Counter()
        self.by_hour = {name: np.zeros((2, 24, *self.shape[1:])) for name in SUMS}
        self.counts = np.zeros(24)
        self.lon = record.cells["lon_deg"].to_numpy()
        self.start_h = _hour(str(start["start"]))

    def add(self, rows: pd.DataFrame, paths: pd.DataFrame) -> None:
        times = rows["t_s"].to_numpy().reshape(-1, *self.shape)[:, 0, 0, 0]
        values = {name: rows[name].to_numpy().reshape(-1, *self.shape) for name in SUMS}
        self.rows += len(times)
        for name, value in values.items():
            self.sums[name] += value.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = (values["elastic_bps"] + values["inelastic_bps"]) / values["active"]
        rate[~np.isfinite(rate)] = np.inf
        least = rate.argmin(axis=0)
        lowest = np.take_along_axis(rate, least[None], axis=0)[0]
        new = lowest < self.least
        self.least[new] = lowest[new]
        self.least_t_s[new] = times[least[new]]
        self._hours(times, values)
        self._paths(paths)

    def _hours(self, times: npt.NDArray[np.float64], values: dict[str, npt.NDArray[np.float64]]) -> None:
        utc = self.start_h + times / 3600.0
        hour = np.floor(utc % 24).astype(int)
        local = np.floor((utc[:, None] + self.lon[None, :] / 15.0) % 24).astype(int) % 24
        np.add.at(self.counts, hour, 1.0)
        for name, value in values.items():
            np.add.at(self.by_hour[name][0], hour, value.sum(axis=1))
            flat = value.reshape(-1, *self.shape[1:])
            np.add.at(self.by_hour[name][1], local.reshape(-1), flat)

    def _paths(self, paths: pd.DataFrame) -> None:
        shape = (-1, self.shape[0])
        known = np.isfinite(paths["rtt_ms"].to_numpy().reshape(shape))
        self.paths[:, 0] += known.sum(axis=0)
        for i, name in ((1, "rtt_ms"), (2, "isls"), (3, "satellites")):
            value = paths[name].to_numpy(np.float64).reshape(shape)
            self.paths[:, i] += np.where(known, value, 0.0).sum(axis=0)
        used = paths["gateway"].to_numpy().reshape(shape)
        cell = np.broadcast_to(np.arange(self.shape[0]), used.shape)
        pairs, counts = np.unique(np.stack([cell[used >= 0], used[used >= 0]]), axis=1, return_counts=True)
        for (c, g), n in zip(pairs.T.tolist(), counts.tolist(), strict=True):
            self.gateways[c, g] += n

    def frame(self) -> pd.DataFrame:
        """A row per cell, plan and direction; rates are those of an active terminal."""
        record = self.record
        cell, plan, direction = (i.reshape(-1) for i in np.indices(self.shape))
        mean = {name: value.reshape(-1) / max(self.rows, 1) for name, value in self.sums.items()}
        ground = record.cells.iloc[cell].reset_index(drop=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            per = 1.0 / mean["active"]
            offered = mean["elastic_offered_bps"] + mean["inelastic_offered_bps"]
            served = mean["elastic_bps"] + mean["inelastic_bps"]
            paths = self.paths[:, 1:] / self.paths[:, :1]
            worst = np.where(np.isfinite(self.least), self.least, np.nan).reshape(-1)
            columns = {
                "cell": ground["name"],
                "lat_deg": ground["lat_deg"],
                "lon_deg": ground["lon_deg"],
                "terminals": ground["terminals"],
                "plan": [record.start["plans"][i]["name"] for i in plan],
                "direction": [DIRECTIONS[i] for i in direction],
                "active": mean["active"],
                "rate_mbps": served * per / 1e6,
                "worst_rate_mbps": worst / 1e6,
                "worst_t_s": self.least_t_s.reshape(-1),
                "below_share": mean["below"] * per,
                "served_share": served / offered,
                "no_gateway_share": mean["no_gateway_bps"] / offered,
                "no_capacity_share": mean["no_capacity_bps"] / offered,
                "offered_bps": offered,
                "served_bps": served,
                "rtt_ms": paths[cell, 0],
                "isls": paths[cell, 1],
                "satellites": paths[cell, 2],
            }
        most: dict[int, tuple[int, int]] = {}
        for (c, g), n in sorted(self.gateways.items()):
            if n > most.get(c, (0, 0))[0]:
                most[c] = (n, g)
        names = record.vertices["name"]
        gateway = [names[most[c][1]] if c in most else "" for c in range(self.shape[0])]
        return pd.DataFrame({**columns, "gateway": [gateway[c] for c in cell]})

    def hours(self) -> pd.DataFrame:
        """A row per hour, plan and direction, by UTC and by local time."""
        found = []
        for which, clock in enumerate(("utc", "local")):
            for h in range(24):
                for p, plan in enumerate(self.record.start["plans"]):
                    for d, direction in enumerate(DIRECTIONS):
                        at = {name: float(value[which, h, p, d]) for name, value in self.by_hour.items()}
                        active = at["active"]
                        offered = at["elastic_offered_bps"] + at["inelastic_offered_bps"]
                        served = at["elastic_bps"] + at["inelastic_bps"]
                        found.append({
                            "clock": clock, "hour": h, "plan": plan["name"], "direction": direction,
                            "below_share": at["below"] / active if active else np.nan,
                            "rate_mbps": served / active / 1e6 if active else np.nan,
                            "served_share": served / offered if offered else np.nan,
                            "active_weight": active,
                        })  # fmt: skip
        return pd.DataFrame(found)

    def total(self, direction: int) -> dict[str, float]:
        """Means over the run of all cells in a direction."""
        return {name: float(value[:, :, direction].sum() / max(self.rows, 1)) for name, value in self.sums.items()}


class _Links:
    """Sums over time of every link but beams."""

    def __init__(self, record: Record, from_s: float = 0.0, to_s: float = math.inf) -> None:
        self.record = record
        self.frames: list[pd.DataFrame] = []
        self.to_s = min(to_s, float(record.start["duration_s"]))
        self.duration_s = self.to_s - from_s
        self.interval_s = float(record.start["record_links_s"])

    def add(self, rows: pd.DataFrame) -> None:
        rows = rows[rows["kind"] != BEAM].copy()
        length_s = np.minimum(self.interval_s, self.to_s - rows["t_s"])
        for name in ("mean_bps", "peak_bps", "capacity_bps", "full_s"):
            rows[name] = rows[name].astype(np.float64)
        rows["bits"] = rows["mean_bps"] * length_s
        rows["use"] = rows["peak_bps"] / rows["capacity_bps"]
        self.frames.append(self._sum([rows]))

    @staticmethod
    def _sum(frames: list[pd.DataFrame]) -> pd.DataFrame:
        of = pd.concat(frames).groupby(["kind", "direction", "from", "to"], sort=True)
        how = {"bits": "sum", "peak_bps": "max", "capacity_bps": "max", "use": "max", "full_s": "sum"}
        return of.agg(how).reset_index()

    def frame(self) -> pd.DataFrame:
        """The fullest first: by time at 95 % or more, then by peak."""
        found = self._sum(self.frames)
        names = self.record.vertices["name"]
        frame = pd.DataFrame({
            "kind": [KINDS[k] for k in found["kind"]],
            "direction": [DIRECTIONS[d] for d in found["direction"]],
            "from": names.loc[found["from"]].to_numpy(),
            "to": names.loc[found["to"]].to_numpy(),
            "mean_mbps": found["bits"] / self.duration_s / 1e6,
            "peak_mbps": found["peak_bps"] / 1e6,
            "capacity_mbps": found["capacity_bps"] / 1e6,
            "peak_share": found["use"],
            "full_s": found["full_s"],
        })  # fmt: skip
        keys = ["full_s", "peak_share", "mean_mbps"]
        return frame.sort_values(keys, ascending=False, kind="stable").reset_index(drop=True)


def _hour(instant: str) -> float:
    """UTC hour of the day of an instant such as 2000-01-01T06:30:00Z."""
    hours, minutes, seconds = instant.removesuffix("Z").split("T")[1].split(":")
    return int(hours) + int(minutes) / 60 + float(seconds) / 3600
