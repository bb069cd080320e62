# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One-way delays and RTTs of the packets of real hosts, as the network carried them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perigee_lab.results.metrics import percentile_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.run import Run

QUANTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "max_ms": 1.0}
"""Keys of a distribution, and the share of its values that they are at least as large as."""
LABELS = {"p50_ms": "50 %", "p90_ms": "90 %", "p99_ms": "99 %", "max_ms": "at most"}


@dataclass(frozen=True)
class Distribution:
    """Values of a flow, in milliseconds."""

    flow: str
    of: str
    """forward, return: one-way delays of that direction; rtt: RTTs."""
    count: int
    quantiles: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        """For output of commands."""
        return {"flow": self.flow, "of": self.of, "count": self.count, **self.quantiles}

    @property
    def line(self) -> str:
        """Human-readable."""
        values = ", ".join(f"{LABELS[key]} {value:.3f} ms" for key, value in self.quantiles.items())
        what = (
            f"{self.count} RTTs of TCP or QUIC"
            if self.of == "rtt"
            else f"{self.count} packets, one-way delay ({self.of})"
        )
        return f"{self.flow}: {what}: {values}"


def distributions(run: Run) -> list[Distribution]:
    """Delays by direction and RTTs of each flow with packets of real hosts; empty without any."""
    names = dict(zip(*(run.table("flow_totals").column(c).to_pylist() for c in ("flow", "name")), strict=True))
    counts: dict[tuple[int, str], list[tuple[int, int]]] = {}
    rows = run.table("delays").to_pylist() if "delays" in run.manifest.tables else []
    for row in rows:
        counts.setdefault((row["flow"], row["direction"]), []).append((row["delay_us"], row["count"]))
    real = {flow for flow, _ in counts}
    for row in run.table("rtt").to_pylist() if real else ():
        if row["flow"] in real:
            counts.setdefault((row["flow"], "rtt"), []).append((row["rtt_us"], row["count"]))
    # Directions and RTTs of a flow follow each other: "forward", "return", "rtt".
    return [_of(names[flow], of, sorted(values)) for (flow, of), values in sorted(counts.items())]


def _of(name: str, of: str, values: Sequence[tuple[int, int]]) -> Distribution:
    found = {key: percentile_ms(values, q) for key, q in QUANTILES.items()}
    return Distribution(name, of, sum(count for _, count in values), found)
