# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Goodput of programs' flows, as `perigee exec` prints it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

    def as_json(self) -> dict[str, Any]:
        """For output of commands, by the names of the columns."""
        known = {"active_goodput_mbps": self.active_mbps, "active_s": self.active_s, "goodput_mbps": self.window_mbps}
        return {"flow": self.flow, **known}

    @property
    def line(self) -> str:
        """Human-readable."""
        return (
            f"{self.flow}: goodput {self.active_mbps:.2f} Mbit/s from first to last packet ({self.active_s:.2f} s), "
            f"{self.window_mbps:.2f} Mbit/s until the end of the run"
        )


def goodputs(run: Run) -> list[Goodput]:
    """The goodput of each flow of programs that carried payload to its destination."""
    rows = [row for row in flow_rows(run) if not math.isnan(row.get("active_s", math.nan))]
    return [Goodput(r["flow"], r["active_goodput_mbps"], r["active_s"], r["goodput_mbps"]) for r in rows]
