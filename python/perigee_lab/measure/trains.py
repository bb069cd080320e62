# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Capacity from dispersion: packets sent back to back arrive at the spacing of the slowest port.

As Dovrolis, Ramanathan and Moore (2004) show, a train measures the capacity in the absence of cross
traffic, and less with it. A train that arrives as dense as it left gives only a lower bound: the
path has at least the sender's rate. A train of a few packets does not show rates that a token
bucket or a schedule of slots imposes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

LOST = -1
WAYS = ("there", "back")
FEWEST_PACKETS = 2
SPREAD = 1.15
"""Trains with a dispersion below this multiple of the sender's were limited by the sender."""
RESAMPLES = 1000
FEWEST_TRAINS = 5


@dataclass(frozen=True)
class Trains:
    """A series of trains, with one value for each answered train.

    Times are in ns, as in the columns of the probes.
    """

    first: npt.NDArray[np.int64]
    """Number of the train's first answered probe."""
    mbps: dict[str, Floats]
    """Rate on the wire (IP packets) by direction; NaN: too few packets arrived."""
    spread: dict[str, Floats]
    """Duration of the arrival over duration of the departure, by direction."""


def trains_of(columns: Mapping[str, Ints], about: Mapping[str, Any]) -> Trains:
    """Computes the rates of all trains of one measurement."""
    length, wire = int(about["burst"]), int(about["size"]) + int(about["header_bytes"])
    number = np.arange(len(columns["sent"])) // length
    answered = columns["back"] != LOST
    there = np.flatnonzero(answered)
    first = there[np.unique(number[there], return_index=True)[1]]
    mbps = {way: np.full(len(first), np.nan) for way in WAYS}
    spread = {way: np.full(len(first), np.nan) for way in WAYS}
    for k, start in enumerate(first):
        own = np.flatnonzero(answered & (number == number[start]))
        for way, (left, came) in {"there": ("sent", "arrived"), "back": ("left", "back")}.items():
            mbps[way][k], spread[way][k] = _rate(columns[left][own], columns[came][own], wire)
    return Trains(first, mbps, spread)


def _rate(left: Ints, came: Ints, wire_bytes: int) -> tuple[float, float]:
    """Rate in Mbit/s between the first and last arrival, and the spread.

    NaN for too few packets.
    """
    took, gone = int(np.ptp(came)) if len(came) else 0, int(np.ptp(left)) if len(left) else 0
    if len(came) < FEWEST_PACKETS or took <= 0 or gone <= 0:
        return float("nan"), float("nan")
    return (len(came) - 1) * wire_bytes * 8e3 / took, took / gone


@dataclass(frozen=True)
class Capacity:
    """Capacity of one direction from many trains.

    It has the median, its 95 % interval over resampled trains, and the spread between trains.
    """

    mbps: float
    low: float
    high: float
    tenth: float
    ninetieth: float
    trains: int
    least: bool
    """Whether trains arrived as dense as they left, which makes this a lower bound."""

    @property
    def told(self) -> str:
        """The capacity as text."""
        if self.least:
            return f"at least {self.mbps:.1f} Mbit/s: {self.trains} trains arrived as dense as they were sent"
        return (
            f"{self.mbps:.2f} Mbit/s from {self.trains} trains (median; 95 % interval {self.low:.2f} to "
            f"{self.high:.2f}; four fifths of the trains within {self.tenth:.2f} to {self.ninetieth:.2f})"
        )


def capacity(mbps: Floats, spread: Floats) -> Capacity | None:
    """Capacity from all trains; None if too few."""
    fine = ~np.isnan(mbps)
    own = mbps[fine]
    if len(own) < FEWEST_TRAINS:
        return None
    rng = np.random.default_rng(1)
    drawn = np.median(own[rng.integers(len(own), size=(RESAMPLES, len(own)))], axis=1)
    low, high = (float(v) for v in np.quantile(drawn, (0.025, 0.975)))
    tenth, ninetieth = (float(v) for v in np.quantile(own, (0.1, 0.9)))
    least = bool(np.median(spread[fine]) < SPREAD)
    return Capacity(float(np.median(own)), low, high, tenth, ninetieth, len(own), least)
