# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of a record of `perigee demand`, and their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("radio", "isl", "gateway", "feeder", "beam")
"""Kinds of links, by their number."""
DIRECTIONS = ("down", "up")
"""Directions, by their number: towards the terminals, and from them."""


@dataclass(frozen=True)
class Column:
    """A column: its name, Arrow type, unit and meaning."""

    name: str
    type: str
    unit: str
    help: str


_TIME = Column("t_s", "float64", "s", "start of the interval, from the start of the run")
_DIRECTION = Column("direction", "int8", "", "0 = down, towards the terminals; 1 = up")
_SERVED = (
    Column("active", "float64", "", "active terminals, mean over the interval (as all columns that follow)"),
    Column("below", "float64", "", "active terminals with less than the threshold and less than their plan"),
    Column("elastic_offered_bps", "float64", "bit/s", "elastic traffic offered by the active terminals"),
    Column("elastic_bps", "float64", "bit/s", "elastic traffic carried"),
    Column("inelastic_offered_bps", "float64", "bit/s", "inelastic traffic offered by the active terminals"),
    Column("inelastic_bps", "float64", "bit/s", "inelastic traffic carried"),
    Column(
        "no_gateway_bps",
        "float64",
        "bit/s",
        "unserved because no satellite in view reaches a gateway, or the other cell",
    ),
    Column("no_capacity_bps", "float64", "bit/s", "unserved for lack of capacity; offered = carried + both of these"),
)
TABLES: dict[str, tuple[str, tuple[Column, ...]]] = {
    "vertices": (
        "a row per satellite, gateway and cell; others refer to them by number",
        (
            Column("id", "int32", "", "number"),
            Column("kind", "string", "", "satellite, gateway or cell"),
            Column("name", "string", "", "name"),
            Column("lat_deg", "float64", "deg", "latitude in degrees north; null for satellites"),
            Column("lon_deg", "float64", "deg", "longitude in degrees east; null for satellites"),
            Column("population", "float64", "", "of a cell; null for others"),
            Column("terminals", "float64", "", "of a cell; null for others"),
        ),
    ),
    "cells": (
        "a row per interval (`record`), cell, plan and direction",
        (
            _TIME,
            Column("cell", "int32", "", "cell, counted from 0: `id` minus that of the first cell"),
            _DIRECTION,
            Column("plan", "int16", "", "plan, in the order of the manifest"),
            *_SERVED,
        ),
    ),
    "paths": (
        "a row per interval (`record`) and cell",
        (
            _TIME,
            Column("cell", "int32", "", "cell, counted from 0"),
            Column("satellites", "float32", "", "satellites that serve the cell"),
            Column(
                "rtt_ms",
                "float32",
                "ms",
                "propagation to the gateway (or its exchange) or other cell and back, mean over terminals; NaN = none",
            ),
            Column("isls", "float32", "", "ISLs on the path, mean over terminals; NaN = no path"),
            Column("gateway", "int32", "", "vertex of the gateway with the most of its terminals; -1 = none"),
            Column(
                "reached", "float32", "", "fraction of its active terminals that reach a gateway, or the other cells"
            ),
        ),
    ),
    "links": (
        "a row per interval (`record_links`), link and direction; links without load are omitted",
        (
            _TIME,
            Column("kind", "int8", "", "0 = radio of a satellite, 1 = ISL, 2 = gateway, 3 = feeder, 4 = beam"),
            Column("direction", "int8", "", "direction of the traffic: 0 = down, 1 = up"),
            Column("from", "int32", "", "vertex: satellite; for a feeder the gateway"),
            Column(
                "to",
                "int32",
                "",
                "vertex: neighbour of an ISL, satellite of a feeder, cell of a beam; otherwise as from",
            ),
            Column("mean_bps", "float32", "bit/s", "load, mean over the steps of the interval"),
            Column("peak_bps", "float32", "bit/s", "load of the busiest step"),
            Column("capacity_bps", "float32", "bit/s", "maximum capacity in the interval (weather and failures)"),
            Column("full_s", "float32", "s", "time with a load of 95 % of the capacity or more"),
        ),
    ),
    "steps": (
        "a row per interval (`record`) and direction: sums over all cells",
        (
            _TIME,
            _DIRECTION,
            *_SERVED,
            Column("full_isls", "float64", "", "ISLs at 95 % of their capacity or more"),
            Column("full_feeders", "float64", "", "antennas of gateways at 95 % of their capacity or more"),
            Column("full_gateways", "float64", "", "gateways at 95 % of their capacity or more"),
            Column("full_radios", "float64", "", "radios of satellites at 95 % of their capacity or more"),
            Column("full_beams", "float64", "", "beams at 95 % of their capacity or more"),
        ),
    ),
    "tracks": (
        "a row per interval (`record_links`) and satellite",
        (
            _TIME,
            Column("satellite", "int32", "", "vertex"),
            Column(
                "lat_deg",
                "float32",
                "deg",
                "latitude of the sub-satellite point in degrees north, at the start of the interval",
            ),
            Column("lon_deg", "float32", "deg", "longitude in degrees east"),
        ),
    ),
}
"""Purpose and columns of each table."""
PARTS = tuple(name for name in TABLES if name != "vertices")
"""Tables that are written in parts, one per chunk."""


def schema(name: str) -> pa.Schema:
    """The Arrow schema of a table."""
    import pyarrow as pa

    of = {"float64": pa.float64(), "float32": pa.float32(), "int8": pa.int8(), "int16": pa.int16()}
    types = {**of, "int32": pa.int32(), "string": pa.string()}
    return pa.schema([(c.name, types[c.type]) for c in TABLES[name][1]])
