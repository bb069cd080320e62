# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Gateways out of service: by failures and changes of the scenario, or without traffic."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.reading import parsed_toml
from perigee_lab.demand.columns import KINDS

if TYPE_CHECKING:
    from perigee_lab.demand.record import Record

GATEWAY = KINDS.index("gateway")
UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "min": 60.0, "h": 3600.0}


def failing(record: Record, t_s: float | None) -> set[str]:
    """Gateways that [[demand.failure]] or [[change]] take out of service within the window, or at an instant."""
    since, until = record.window_s or (0.0, np.inf)
    if t_s is not None:
        since, until = t_s, t_s + 1e-9
    failures = [(f["gateway"], f["from_s"], f["to_s"]) for f in record.start["failures"]]
    return {name for name, start, end in (*failures, *_changes(record)) if start < until and end > since}


def idle(record: Record, t_s: float | None) -> set[str]:
    """Gateways without traffic in either direction during the window, the run, or the interval of an instant.

    A record has no weather: a gateway that rain takes out of service is one without traffic.
    """
    if t_s is None:
        links = record.links
        used = set(links.loc[(links["kind"] == KINDS[GATEWAY]) & (links["peak_mbps"] > 0), "from"])
    else:
        rows = record.part("links", int(t_s // record.chunk_s))
        start = t_s // record.start["record_links_s"] * record.start["record_links_s"]
        of = (rows["kind"] == GATEWAY) & (rows["t_s"] == start) & (rows["peak_bps"] > 0)
        used = set(record.vertices["name"].loc[rows.loc[of, "from"]])
    return {g["name"] for g in record.start["gateways"]} - used


def _changes(record: Record) -> list[tuple[str, float, float]]:
    """Gateways with an outage by [[change]] in the scenario, and its start and end in s."""
    try:
        changes = parsed_toml(record.start["scenario"]).get("change", [])
    except ValueError:
        return []
    gateways = {g["name"] for g in record.start["gateways"]}
    found = []
    for change in changes if isinstance(changes, list) else []:
        if not isinstance(change, dict) or change.get("on") not in gateways:
            continue
        at, length = _seconds(change.get("at")), _seconds(change.get("outage"))
        if at is not None and length is not None:
            found.append((str(change["on"]), at, at + length))
    return found


def _seconds(text: Any) -> float | None:
    match = re.fullmatch(r"\s*([0-9]{0,12}\.?[0-9]{1,12})\s*(ns|us|µs|ms|s|min|h|)\s*", str(text))
    return None if match is None else float(match[1]) * UNITS_S[match[2]]
