# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Loads of a record of demand as background of a scenario with packets: `[[background]]` with a file.

Links become ports by their names in a sky with the same satellites and gateways: ISLs and feeders `FROM->TO`, the radio
of a satellite `NAME radio` (traffic to the terminals), beams `SATELLITE->CELL`. Elastic traffic becomes flows of the
mean rate of an active terminal, which they do not exceed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.common import quoting
from perigee_lab.common.files import write_text
from perigee_lab.demand.checked import DemandError
from perigee_lab.demand.columns import KINDS

if TYPE_CHECKING:
    import pandas as pd

    from perigee_lab.demand.record import Record

RADIO, GATEWAY = KINDS.index("radio"), KINDS.index("gateway")


@dataclass(frozen=True)
class Loads:
    """Loads over a part of a record."""

    from_s: float
    """Start, in seconds of the record."""
    ports: pd.DataFrame
    """A row per port and interval: port, t_s from the start, rate_mbps (inelastic), flows."""
    flow_bps: float
    """Rate of an elastic flow: mean over active terminals."""
    rtt_ms: float
    """Propagation to the gateway and back, mean over cells."""

    def section(self, file: str) -> str:
        """The lines of a scenario, for the table in this file."""
        values = {
            "file": f'"{file}"',
            "rtt": f'"{self.rtt_ms:.1f} ms"',
            "flow_rate": f'"{self.flow_bps / 1e3:.0f} kbit"',
        }
        return "[[background]]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())

    def write(self, path: Path) -> None:
        """Writes the table as CSV."""
        write_text(path, quoting.csv_frame(self.ports, "%.6g"))


def loads(record: Record, from_s: float | None, length_s: float) -> Loads:
    """Loads of all ports over a time.

    Args:
        record: a complete record.
        from_s: start in seconds; None = the busiest interval of length `record`, by traffic that flows.
        length_s: length in seconds.

    Raises:
        DemandError: the time is not within the record, or nothing flows then.
    """
    import numpy as np

    steps = record.table("steps")
    steps["bps"] = steps["elastic_bps"] + steps["inelastic_bps"]
    if from_s is None:
        from_s = float(steps.groupby("t_s")["bps"].sum().idxmax())
    duration_s = float(record.start["duration_s"])
    if not 0.0 <= from_s < duration_s:
        raise DemandError(f"{record.folder}: nothing at {from_s:g} s: its run ends at {duration_s:g} s")
    interval_s = float(record.start["record_links_s"])
    first_s = from_s // interval_s * interval_s
    links = _links(record, first_s, from_s + length_s)
    of_time = steps[(steps["t_s"] >= first_s) & (steps["t_s"] < from_s + length_s)]
    sums = of_time.groupby("direction")[["elastic_bps", "bps", "active"]].sum()
    if links.empty or float(sums["elastic_bps"].sum()) <= 0.0:
        raise DemandError(f"{record.folder}: no traffic from {from_s:g} s on: choose another time")
    flow_bps = float(sums["elastic_bps"].sum() / sums["active"].sum())
    elastic = links["mean_bps"] * links["direction"].map(sums["elastic_bps"] / sums["bps"])
    links["port"] = _ports(record, links)
    links["t_s"] = np.maximum(links["t_s"] - from_s, 0.0)
    links["rate_mbps"] = (links["mean_bps"] - elastic) / 1e6
    links["flows"] = elastic / flow_bps
    # Beams to cells with a comma in their name are left out: the scenario reads plain CSV.
    kept = (links["port"] != "") & ~links["port"].str.contains('[,"]')
    rows = links[kept].groupby(["port", "t_s"], as_index=False)[["rate_mbps", "flows"]].sum()
    rows["flows"] = rows["flows"].round().astype(int)
    paths = record.table("paths")
    paths = paths[(paths["t_s"] >= from_s) & (paths["t_s"] < from_s + length_s)]
    return Loads(from_s, rows, flow_bps, float(paths["rtt_ms"].mean()))


def _links(record: Record, first_s: float, until_s: float) -> pd.DataFrame:
    """Rows of links within a time."""
    import pandas as pd

    parts = range(int(first_s // record.chunk_s), record.chunks)
    wanted = [record.part("links", n) for n in parts if n * record.chunk_s < until_s]
    rows = pd.concat(wanted, ignore_index=True)
    return rows[(rows["t_s"] >= first_s) & (rows["t_s"] < until_s)].copy()


def _ports(record: Record, links: pd.DataFrame) -> pd.Series[str]:
    """Name of the port of each row; empty where packets have no port of their own."""
    names = record.vertices["name"]
    from_, to = links["from"].map(names), links["to"].map(names)
    port = (from_ + "->" + to).where(links["kind"] != RADIO, from_ + " radio")
    # The feeder of a gateway is named from the gateway; its traffic from the terminals comes from the satellite.
    turned = (links["kind"] == KINDS.index("feeder")) & (links["direction"] == 1)
    port = port.where(~turned, to + "->" + from_)
    # Uplinks of terminals are ports of terminals, and a gateway is limited as a sum of its feeders.
    up = (links["direction"] == 1) & links["kind"].isin([RADIO, KINDS.index("beam")])
    return port.where(~(up | (links["kind"] == GATEWAY)), "")
