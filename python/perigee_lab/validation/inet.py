# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Validation against the OrbCC authors' simulator (OMNeT++, INET), under the profile `inet`.

Goodput and RTT of each flow in a window may differ by 5 %. If flows share a full drop-tail queue,
microseconds determine which of them loses a packet: runs with slightly different starts are samples
of one distribution. Such cells (`draws`) run with several seeds of `start_jitter`, and the single
run of the reference counts as one more sample.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from perigee_lab.validation.kernel import tables
from perigee_lab.validation.verdicts import FLOW, HERE, Verdict, compared

GROUP = "inet"
TABLE = "inet.csv"
TOLERANCE = 0.05
BIN_S = 0.1
"""Length in s of the bins over which the published curves average RTTs."""
SAMPLE_MS = 10
JITTER = "20 ms"
ALL = "all"
"""Flow name in the table for all flows together: sum of goodputs, mean of RTTs."""


@dataclass(frozen=True)
class Row:
    """A quantity of a flow in a window (s), in the unit of `unit`.

    `authors` is the reference; `before` is our value before INET's TCP was modelled.
    """

    flow: str
    quantity: str
    begin_s: float
    end_s: float
    authors: float
    before: float

    @property
    def unit(self) -> str:
        """Unit of the values; empty for a ratio."""
        return "ms" if self.quantity == "rtt" else "Mbit/s" if self.quantity == "goodput" else ""


@dataclass(frozen=True)
class Cell:
    """One run of the authors' simulator."""

    name: str
    cc: str
    setup: str
    draws: bool
    rows: tuple[Row, ...]

    @property
    def group(self) -> str:
        """Group of the cell in the report."""
        return GROUP

    @property
    def schemes(self) -> set[str]:
        """Congestion controls of the flows."""
        return {self.cc}

    @property
    def is_random(self) -> bool:
        """Whether the cell is compared by distribution, over several seeds."""
        return self.draws


@dataclass(frozen=True)
class Ours:
    """Results of our simulator, with one value per row of the cell."""

    values: tuple[float, ...]


def read() -> list[Cell]:
    """Reads all cells of `TABLE`."""
    rows: dict[tuple[str, str, str, bool], list[Row]] = {}
    with (HERE / TABLE).open() as f:
        for r in csv.DictReader(f):
            numbers = (float(r[k]) for k in ("begin_s", "end_s", "authors", "before"))
            key = (r["cell"], r["cc"], r["setup"], r["draws"] == "1")
            rows.setdefault(key, []).append(Row(r["flow"], r["quantity"], *numbers))
    return [Cell(*key, tuple(found)) for key, found in rows.items()]


def scenario(cell: Cell) -> str:
    """The scenario of a cell, as TOML."""
    text = SETUPS[cell.setup](cell.cc)
    return text.replace("[run]\n", f'[run]\nstart_jitter = "{JITTER}"\n', 1) if cell.draws else text


def _head(duration_s: float, queue: int, access: str = "10 Gbit") -> str:
    return f"""
[run]
duration = "{duration_s:g} s"
sample = "{SAMPLE_MS} ms"
[port.all]
queue = "{queue} packets"
metered = false
[port.access]
rate = "{access}"
[port.bottleneck]
rate = "100 Mbit"
[port.reverse]
rate = "100 Mbit"
[tcp]
profile = "inet"
"""


def _flows(cc: str, starts_s: tuple[float, ...], first: int = 1) -> str:
    lines = (
        f'[[flow]]\nfrom = "s{i}"\nto = "d{i}"\ncc = "{cc}"\nstart = "{start:.6f} s"\n'
        for i, start in enumerate(starts_s, start=first)
    )
    return "".join(lines)


def _responsiveness(cc: str) -> str:
    """A single flow over a path that changes every 5 s.

    Rate and RTT change after an outage, to the values drawn in the authors' first run.
    """
    drawn = '[schedule]\nrecipe = "orbcc"\ndirection = "both"\n'
    path = '[source.dumbbell]\nrtt = "73 ms"\nrtt_at = "even"\nreordering = true\n'
    return _head(20, 340) + path + drawn + f'[[flow]]\ncc = "{cc}"\n'


def _inter_rtt(cc: str) -> str:
    """Two flows with RTTs of 20 and 40 ms over one bottleneck; the second starts at 4 s."""
    path = '[source.dumbbell]\npairs = 2\nrtt = ["20 ms", "40 ms"]\nbottleneck_delay = "0.5 ms"\n'
    return _head(12, 345) + path + _flows(cc, (0.01, 4.0))


def _crossing(cc: str, duration_s: float, starts_s: tuple[float, ...], moves: str) -> str:
    """Two flows with an RTT of 20 ms move to the bottleneck of two with 50 ms, and back."""
    path = (
        '[source.crossing]\nstaying = 2\nmoving = 2\nrtt = ["50 ms", "50 ms", "20 ms", "20 ms"]\n'
        f'bottleneck_delay = "0.5 ms"\nmoves = {moves}\n'
    )
    threshold = f"[tcp.{cc}]\ninit_ssthresh = 400\n"
    return _head(duration_s, 432, "1 Gbit") + threshold + path + _flows(cc, starts_s)


def _soft_handover(cc: str) -> str:
    """Routes change 50 and 100 µs after 4 and 8 s, when INET's configurator updates them."""
    return _crossing(cc, 11, (0.01, 0.3, 0.6, 1.3), '["4.00005 s", "8.0001 s"]')


def _soft_handover_full(cc: str) -> str:
    return _crossing(cc, 101, (7, 22, 9, 46), '["100 s", "200 s"]')


def _hard_handover(cc: str) -> str:
    """Ten flows with staggered starts, a queue of five BDP, and outages of 102 and 79 ms."""
    path = '[source.dumbbell]\npairs = 10\nrtt = "50 ms"\nbottleneck_delay = "0.5 ms"\n'
    outages = '[schedule]\nfile = "inet-outages.csv"\ndirection = "both"\n'
    return _head(19, 2158) + path + outages + _flows(cc, tuple(0.01 + 0.9 * i for i in range(10)))


def _parking_lot(cc: str) -> str:
    """A long flow over three bottlenecks, and a short flow over each of them.

    In the authors' file, the link to the receiver of the last short flow has no delay, so that its
    RTT is 15 ms.
    """
    path = '[source.parking_lot]\nbottlenecks = 3\nrtt = ["20 ms", "20 ms", "20 ms", "15 ms"]\n'
    threshold = f"[tcp.{cc}]\ninit_ssthresh = 400\n"
    return _head(41, 172) + threshold + path + _flows(cc, (1.169384, 0, 0, 0), first=0)


SETUPS: dict[str, Callable[[str], str]] = {
    "responsiveness": _responsiveness,
    "inter-rtt": _inter_rtt,
    "soft-handover": _soft_handover,
    "soft-handover-full": _soft_handover_full,
    "hard-handover": _hard_handover,
    "parking-lot": _parking_lot,
}


def run(cell: Cell, seed: int) -> Ours:
    """Runs the cell with one seed."""
    return measured(cell, tables(scenario(cell), cell.name, cell.cc, seed))


def measured(cell: Cell, found: dict[str, Any]) -> Ours:
    """Values of a cell's rows from the tables of a run."""
    flows = found["flows"]
    return Ours(tuple(_value(flows, row) for row in cell.rows))


def _value(flows: dict[str, Any], row: Row) -> float:
    if row.quantity == "ratio":
        long, *short = (_goodput(flows, i, row) for i in _numbers(flows))
        return long / max(short)
    if row.flow != ALL:
        return _goodput(flows, int(row.flow), row) if row.quantity == "goodput" else _rtt(flows, int(row.flow), row)
    if row.quantity == "goodput":
        return float(sum(_goodput(flows, i, row) for i in _numbers(flows)))
    return float(np.mean([_rtt(flows, i, row) for i in _numbers(flows)]))


def _numbers(flows: dict[str, Any]) -> list[int]:
    return sorted({int(i) for i in flows["flow"]})


def _window(flows: dict[str, Any], flow: int, row: Row) -> Any:
    ends = flows["t_ns"] * 1e-9
    return (flows["flow"] == flow) & (ends > row.begin_s + 1e-6) & (ends <= row.end_s + 1e-6)


def _goodput(flows: dict[str, Any], flow: int, row: Row) -> float:
    return float(np.mean(flows["goodput_bps"][_window(flows, flow, row)].astype(float))) * 1e-6


def _rtt(flows: dict[str, Any], flow: int, row: Row) -> float:
    """Mean RTT in ms over the bins with samples; 0 without any."""
    at = _window(flows, flow, row)
    rtts = flows["rtt_ns"][at].astype(float) * 1e-6
    bins = np.floor((flows["t_ns"][at] * 1e-9 - row.begin_s - 1e-6) / BIN_S).astype(int)
    sampled = rtts > 0
    means = [rtts[sampled & (bins == b)].mean() for b in np.unique(bins[sampled])]
    return float(np.mean(means)) if means else 0.0


def name_of(cell: Cell, row: Row) -> str:
    """Name of the cell in the report, with the flow if the cell has several."""
    several = len({r.flow for r in cell.rows}) > 1
    return f"{cell.name}{FLOW}{row.flow}" if several else cell.name


def judge(cell: Cell, ours: list[Ours]) -> list[Verdict]:
    """One verdict per row; `ours` has the results of each seed."""
    found = []
    for i, row in enumerate(cell.rows):
        got, bound = [o.values[i] for o in ours], TOLERANCE * row.authors
        place = (name_of(cell, row), cell.group, cell.cc)
        what = (row.quantity, row.unit)
        found.append(compared(place, what, got, [row.authors], tolerance=bound, by_chance=cell.draws))
    return found
