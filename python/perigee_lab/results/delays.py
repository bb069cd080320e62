# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One-way delays and RTTs of the packets of real hosts, as the network carried them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perigee_lab.results.checked import wrong_row
from perigee_lab.results.metrics import percentile_ms

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from perigee_lab.results.run import Run

QUANTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "max_ms": 1.0}
"""Keys of a distribution, and the share of its values that they are at least as large as."""
DIRECTIONS = ("forward", "return")
MOST_PACKETS = 1 << 53
"""Maximum number of packets of a record: three years of a terabit per second."""
Place = tuple[int, str, int]
"""Flow, direction and delay of a row."""
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
    """Delays by direction and RTTs of each flow with packets of real hosts; empty without any.

    Raises RecordError for a row of the table `delays` that cannot be one.
    """
    names = dict(zip(*(run.table("flow_totals").column(c).to_pylist() for c in ("flow", "name")), strict=True))
    counts: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for row in _rows(run, names) if "delays" in run.manifest.tables else ():
        counts.setdefault((row["flow"], row["direction"]), []).append((row["delay_us"], row["count"]))
    real = {flow for flow, _ in counts}
    for row in run.table("rtt").to_pylist() if real else ():
        if row["flow"] in real:
            counts.setdefault((row["flow"], "rtt"), []).append((row["rtt_us"], row["count"]))
    # Directions and RTTs of a flow follow each other: "forward", "return", "rtt".
    return [_of(names[flow], of, sorted(values)) for (flow, of), values in sorted(counts.items())]


def _rows(run: Run, names: Container[int]) -> Iterator[dict[str, Any]]:
    """Rows of the table `delays`: ascending by flow, direction and delay, and with packets."""
    before: Place = (-1, "", 0)
    packets = 0
    for number, row in enumerate(run.table("delays").to_pylist()):
        place = (row["flow"], row["direction"], row["delay_us"])
        packets += row["count"]
        if row["flow"] not in names:
            raise wrong_row(run.folder, "delays", number, f"flow {row['flow']} is not in flow_totals")
        if why := _problem(row, place, before, packets):
            raise wrong_row(run.folder, "delays", number, why)
        before = place
        yield row


def _problem(row: dict[str, Any], place: Place, before: Place, packets: int) -> str | None:
    """What is wrong with a row; `packets` is the number up to it."""
    if row["direction"] not in DIRECTIONS:
        return f"direction is {row['direction']}, must be {' or '.join(DIRECTIONS)}"
    if row["count"] < 1 or packets > MOST_PACKETS:
        return f"count is {row['count']}, must be at least 1, and at most {MOST_PACKETS} of all rows together"
    if place <= before:
        how = "repeats the previous one" if place == before else "is not in order"
        return f"it {how}: rows ascend by flow, direction and delay_us"
    return None


def _of(name: str, of: str, values: Sequence[tuple[int, int]]) -> Distribution:
    found = {key: percentile_ms(values, q) for key, q in QUANTILES.items()}
    return Distribution(name, of, sum(count for _, count in values), found)
