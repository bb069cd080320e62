# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Goodput of programs' flows, as `perigee exec` prints it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perigee_lab.results.delays import distributions
from perigee_lab.results.metrics import flow_rows

if TYPE_CHECKING:
    from perigee_lab.results.run import Run


@dataclass(frozen=True)
class Goodput:
    """Goodput of a flow of programs over two times, Mbit/s."""

    flow: str
    active_mbps: float
    """From the first to the last packet."""
    active_s: float
    window_mbps: float
    """From the first packet to the end of the run."""
    other_way: tuple[str, str] | None = None
    """The flow's end and its origin if more packets went from that end to the origin than to it."""

    def as_json(self) -> dict[str, Any]:
        """For output of commands, by the names of the columns."""
        known = {"active_goodput_mbps": self.active_mbps, "active_s": self.active_s, "goodput_mbps": self.window_mbps}
        return {"flow": self.flow, **known}

    @property
    def line(self) -> str:
        """Human-readable."""
        line = (
            f"{self.flow}: goodput {self.active_mbps:.2f} Mbit/s from first to last packet ({self.active_s:.2f} s), "
            f"{self.window_mbps:.2f} Mbit/s until the end of the run"
        )
        if self.other_way is None:
            return line
        end, origin = self.other_way
        return (
            f"{line}; more packets went from {end} to {origin}, and goodput is payload to {end}: for a download write "
            f'from = "{end}" and to = "{origin}" in the [[flow]]'
        )


def goodputs(run: Run) -> list[Goodput]:
    """The goodput of each flow of programs that carried payload to its destination."""
    packets = {(d.flow, d.of): d.count for d in distributions(run)}
    ends = {t["name"]: (t["to"], t["from"]) for t in run.table("flow_totals").to_pylist()}
    found = []
    for row in flow_rows(run):
        if math.isnan(row.get("active_s", math.nan)):
            continue
        flow = row["flow"]
        back = packets.get((flow, "return"), 0) > packets.get((flow, "forward"), 0)
        values = row["active_goodput_mbps"], row["active_s"], row["goodput_mbps"]
        found.append(Goodput(flow, *values, ends[flow] if back else None))
    return found
