# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cells measured with ns-3 3.48, under the profile `study-hypatia` and settings of that release."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

from perigee_lab.validation.kernel import link_of, tables
from perigee_lab.validation.verdicts import HERE, Verdict, compared, counts_tolerance

WARMUP_S = 10
DELAYED_ACK_MS = 40
"""Maximum delay of an ACK in the measured runs, inferred from their series: of the first ten
packets, the first and then every second one are acknowledged immediately, and the RTT sample of the
tenth is 91 ms on a path of 50 ms."""
GOODPUT = 0.04
QUEUE_SHARE, QUEUE_MS = 0.15, 2.0
GROUP = "ns3"
RANDOM_SCHEMES = {"bbr"}


@dataclass(frozen=True)
class Cell:
    """One run of ns-3."""

    name: str
    cc: str
    rate_mbps: float
    rtt_ms: float
    queue_pkts: int
    delayed_ack: int
    timestamps: bool
    segment_bytes: int
    dur_s: float
    min_rto_ms: int
    goodput_mbps: float
    queue_ms: float
    retransmits: int

    @property
    def group(self) -> str:
        """The group of all these cells."""
        return GROUP

    @property
    def schemes(self) -> set[str]:
        """The scheme of the flow."""
        return {self.cc}

    @property
    def is_random(self) -> bool:
        """Whether it has random draws."""
        return self.cc in RANDOM_SCHEMES


@dataclass(frozen=True)
class Ours:
    """Results of the simulator, with one seed."""

    goodput_mbps: float
    queue_ms: float
    retransmits: int


def read() -> list[Cell]:
    """All cells of the table."""
    with (HERE / "ns3.csv").open() as f:
        return [_cell(row) for row in csv.DictReader(f)]


def _cell(row: dict[str, str]) -> Cell:
    return Cell(
        name=f"ns3_{row['run']}",
        cc=row["cc"],
        rate_mbps=float(row["rate_mbps"]),
        rtt_ms=float(row["rtt_ms"]),
        queue_pkts=int(row["queue_pkts"]),
        delayed_ack=int(row["delayed_ack"]),
        timestamps=row["timestamps"] == "1",
        segment_bytes=int(row["segment_bytes"]),
        dur_s=float(row["dur_s"]),
        min_rto_ms=int(row["min_rto_ms"]),
        goodput_mbps=float(row["goodput_mbps"]),
        queue_ms=float(row["queue_ms"]),
        retransmits=int(row["retrans_pkts"]),
    )


def scenario(cell: Cell) -> str:
    """The path of the cell as a scenario. ns-3 counts two bytes of PPP header per queued packet."""
    return f"""
[run]
duration = "{cell.dur_s:g} s"
warmup = "{WARMUP_S} s"
[source.dumbbell]
rtt = "{cell.rtt_ms:g} ms"
rtt_at = "bottleneck"
[port.all]
framing = 2
[port.bottleneck]
rate = "{cell.rate_mbps:g} Mbit"
queue = "{cell.queue_pkts} packets"
[port.reverse]
rate = "{cell.rate_mbps:g} Mbit"
queue = "100000 packets"
[port.access]
rate = "1 Gbit"
queue = "1000000 packets"
[tcp]
profile = "study-hypatia"
reduction = "ns3"
min_rto = "{cell.min_rto_ms} ms"
mss = {cell.segment_bytes}
header = {52 if cell.timestamps else 40}
timestamps = {"true" if cell.timestamps else "false"}
delayed_ack = {cell.delayed_ack}
delayed_ack_timeout = "{DELAYED_ACK_MS} ms"
[cc.vegas]
alpha = 2
[[flow]]
cc = "{cell.cc}"
"""


def run(cell: Cell, seed: int) -> Ours:
    """Runs the cell with one seed."""
    return measured(tables(scenario(cell), cell.name, cell.cc, seed))


def measured(found: dict[str, Any]) -> Ours:
    """Values from our tables that correspond to the columns of ns-3."""
    totals, links = found["flow_totals"], found["link_totals"]
    bottleneck = list(links["link"]).index(link_of(found, "r1->r2"))
    return Ours(
        float(totals["window_bytes"][0]) * 8e3 / float(totals["window_ns"][0]),
        float(links["mean_wait_ns"][bottleneck]) * 1e-6,
        int(totals["retransmits"][0]),
    )


def judge(cell: Cell, ours: list[Ours]) -> list[Verdict]:
    """Verdicts on goodput after 10 s, mean queueing delay per packet, and retransmissions."""
    place = (cell.name, cell.group, cell.cc)
    chance = cell.is_random
    got = [o.goodput_mbps for o in ours]
    bound = GOODPUT * cell.goodput_mbps
    found = [compared(place, ("goodput", "Mbit/s"), got, [cell.goodput_mbps], tolerance=bound, by_chance=chance)]
    got = [o.queue_ms for o in ours]
    bound = max(QUEUE_MS, QUEUE_SHARE * cell.queue_ms)
    found.append(compared(place, ("queue", "ms"), got, [cell.queue_ms], tolerance=bound, by_chance=chance))
    got = [float(o.retransmits) for o in ours]
    bound = counts_tolerance(cell.retransmits)
    found.append(
        compared(place, ("retransmits", ""), got, [float(cell.retransmits)], tolerance=bound, by_chance=chance)
    )
    return found
