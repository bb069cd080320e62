# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Goodput of the flows that share their slowest port."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.results.run import Run
    from perigee_lab.results.why.evidence import Evidence

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]


class Shared:
    """Sums of goodput by slowest port and sampling instant, of the ports that several flows share."""

    def __init__(self, run: Run, wanted: set[int]) -> None:
        """Adds up the rows of all flows over the ports of those wanted."""
        totals = run.table("flow_totals")
        ports = totals.column("bottleneck").to_pylist() if "bottleneck" in totals.column_names else []
        port_of = dict(zip(totals.column("flow").to_pylist(), ports, strict=False))
        flows_of = Counter(ports)
        shared = {p for f in wanted if (p := port_of.get(f)) is not None and flows_of[p] > 1}
        self.port = {f: p for f, p in port_of.items() if p in shared}
        self.sums: dict[tuple[int, int], float] = {}
        """Goodput by port and time (ns)."""
        if self.port:
            of = np.array(sorted(self.port.items()), dtype=np.int64)
            for part in run.groups("flows", ("t_ns", "flow", "goodput_bps")):
                self._add(of, *(np.asarray(part.column(c).to_pandas()) for c in ("t_ns", "flow", "goodput_bps")))

    def _add(self, of: Numbers, times: Numbers, flows: Numbers, goodput: Floats) -> None:
        here = np.isin(flows, of[:, 0])
        ports = of[np.searchsorted(of[:, 0], flows[here]), 1]
        instants, at = np.unique(times[here], return_inverse=True)
        keys, group = np.unique(ports * max(1, len(instants)) + at, return_inverse=True)
        found = np.bincount(group, weights=np.nan_to_num(goodput[here]), minlength=len(keys))
        for key, bps in zip(keys.tolist(), found.tolist(), strict=True):
            place = (key // len(instants), int(instants[key % len(instants)]))
            self.sums[place] = self.sums.get(place, 0.0) + bps

    def others_bps(self, e: Evidence) -> Floats:
        """Goodput of the other flows over the slowest port of a flow, at its rows."""
        port = self.port.get(e.flow)
        if port is None:
            return np.zeros(len(e.t_ns))
        total = np.array([self.sums.get((port, t), 0.0) for t in e.t_ns.tolist()], dtype=np.float64)
        return np.maximum(0.0, total - np.nan_to_num(e["goodput_bps"]))
