# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Paths over a constellation, computed without packets, and their statistics."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.files import written

if TYPE_CHECKING:
    from perigee_lab.runs.scenario import Scenario

Floats = npt.NDArray[np.float64]
Hop = dict[str, Any]

C_KM_PER_MS = 299.792458


@dataclass(frozen=True)
class Leg:
    """A time interval during which the path does not change."""

    t_s: float
    rtt_ms: float | None
    hops: list[Hop] | None
    """Satellites and relays in order; None = unreachable."""

    @property
    def links(self) -> int:
        """Number of links of the path."""
        return 0 if self.hops is None else len(self.hops) + 1


@dataclass(frozen=True)
class PairPaths:
    """The paths of a pair over time under one attachment policy."""

    label: str
    origin: str
    target: str
    distance_km: float | None
    """Great-circle distance; None if the nodes have no locations."""
    fibre_rtt_ms: float | None
    t_s: Floats
    rtt_ms: Floats
    """Round-trip propagation time; NaN = unreachable."""
    apart: npt.NDArray[np.bool_]
    """Whether the satellite of one end flies north and that of the other south."""
    legs: list[Leg]

    @property
    def links(self) -> Floats:
        """Number of links at each step; NaN = unreachable."""
        starts = np.array([leg.t_s for leg in self.legs])
        counts = np.array([leg.links or np.nan for leg in self.legs])
        return np.asarray(counts[np.searchsorted(starts, self.t_s + 1e-9) - 1], dtype=np.float64)

    def handovers(self, end: int) -> list[float]:
        """Times at which the first (0) or last (-1) satellite changes."""
        kept = [leg for leg in self.legs if leg.hops]
        pairs = itertools.pairwise(kept)
        return [b.t_s for a, b in pairs if a.hops and b.hops and a.hops[end]["name"] != b.hops[end]["name"]]

    def changes(self) -> list[float]:
        """Times at which the path changes; gaps are not counted."""
        return [b.t_s for a, b in itertools.pairwise(self.legs) if a.hops is not None and b.hops is not None]

    def statistics(self) -> dict[str, Any]:
        """The values for the table."""
        there = ~np.isnan(self.rtt_ms)
        rtt, links = self.rtt_ms[there], self.links[there]
        some = bool(there.any())
        return {
            "from": self.origin,
            "to": self.target,
            "attach": self.label,
            "distance_km": self.distance_km,
            "fibre_rtt_ms": self.fibre_rtt_ms,
            "rtt_mean_ms": float(rtt.mean()) if some else None,
            "rtt_min_ms": float(rtt.min()) if some else None,
            "rtt_max_ms": float(rtt.max()) if some else None,
            "links_mean": float(links.mean()) if some else None,
            "links_min": int(links.min()) if some else None,
            "links_max": int(links.max()) if some else None,
            "path_changes": len(self.changes()),
            "handovers_from": len(self.handovers(0)),
            "handovers_to": len(self.handovers(-1)),
            "unreachable_share": float(1.0 - there.mean()),
        }


def survey(
    scenario: Scenario,
    ends: Sequence[tuple[str, str]] = (),
    label: str = "",
    remark: Callable[[str], None] = lambda _: None,
    *,
    alone: bool = False,
) -> list[PairPaths]:
    """The paths of pairs (nodes, cities or "lat, lon"), by default of the scenario's flows.

    Terminals choose satellites for the pairs of the scenario and for these pairs, or with `alone`,
    only for these. `remark` receives warnings. Without a label, each pair is labelled by its
    attachment policy.
    """
    if scenario.core.has_sky:
        sky = _core.Sky(scenario.core, list(ends), None, alone)
        text, steps = sky.paths()
        shared = sky.shared_choices()
    else:
        text, steps = _core.network_paths(scenario.core, list(ends), None)
        shared = []
    found = json.loads(text)
    for warning in [*found["warnings"], *shared]:
        remark(warning)
    pairs = zip(found["pairs"], steps, strict=True)
    return [_pair(p, s, found["step_s"], label or p["attachment"]) for p, s in pairs]


def paths(scenario: Scenario, ends: Sequence[tuple[str, str]] = (), *, alone: bool = False) -> list[PairPaths]:
    """The paths of a scenario's flows, or of pairs of nodes, cities or "lat, lon", over the run.

    Terminals also choose satellites for the scenario's pairs, unless `alone` is set. No packets are
    sent. Raises `ScenarioError` or `RunError` like a run, and warns about old element sets and
    about satellites that depend on other pairs.
    """
    import warnings

    return survey(scenario, ends, "", lambda text: warnings.warn(text, stacklevel=5), alone=alone)


def _pair(found: dict[str, Any], steps: tuple[Floats, npt.NDArray[np.bool_]], step_s: float, label: str) -> PairPaths:
    rtt, apart = steps
    return PairPaths(
        label=label,
        origin=found["from"],
        target=found["to"],
        distance_km=found["distance_km"],
        fibre_rtt_ms=found["fibre_rtt_ms"],
        t_s=np.arange(len(rtt), dtype=np.float64) * np.float64(step_s),
        rtt_ms=rtt,
        apart=apart,
        legs=[Leg(leg["t_s"], leg["rtt_ms"], leg["hops"]) for leg in found["legs"]],
    )


@dataclass(frozen=True)
class Contrast:
    """Comparison of two attachment policies on the same pair."""

    mean_ratio: float
    largest_ratio: float
    slow_share: float
    """Fraction of steps at which the second RTT exceeds 1.5 times the first."""
    apart_share: float | None
    """Fraction of these steps at which the end satellites under the second policy fly in opposite
    directions."""


def contrast(first: PairPaths, second: PairPaths) -> Contrast | None:
    """Compares two policies; None if they never have a path at the same time."""
    both = ~np.isnan(first.rtt_ms) & ~np.isnan(second.rtt_ms)
    if not both.any():
        return None
    ratio = second.rtt_ms[both] / first.rtt_ms[both]
    slow = ratio > 1.5
    apart = float(second.apart[both][slow].mean()) if slow.any() else None
    return Contrast(float(ratio.mean()), float(ratio.max()), float(slow.mean()), apart)


def hop_name(hop: Hop) -> str:
    """Label of a hop: a satellite with plane and direction arrow, or a relay with a dot."""
    if hop["ascending"] is None:
        return f"•{hop['name']}"
    arrow = "↑" if hop["ascending"] else "↓"
    return f"{hop['name']}{arrow}" if hop["plane"] is None else f"{hop['name']}{arrow}p{hop['plane']}"


def write_statistics(path: Path, pairs: Sequence[PairPaths]) -> None:
    """Writes one row per pair and policy."""
    table = [p.statistics() for p in pairs]
    with written(path, folders=True) as partial, partial.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(table[0]))
        writer.writeheader()
        writer.writerows({k: quoting.csv(v) for k, v in row.items()} for row in table)


def write_csv(path: Path, pairs: Sequence[PairPaths]) -> None:
    """Writes RTT and number of links over time, one row per step and pair.

    An `OSError` names the file.
    """
    with written(path, folders=True) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["from", "to", "attach", "t_s", "rtt_ms", "links"])
        for p in pairs:
            for t, rtt, links in zip(p.t_s, p.rtt_ms, p.links, strict=True):
                there = not np.isnan(rtt)
                row = [f"{rtt:.6f}", int(links)] if there else ["", ""]
                out.writerow([*map(quoting.csv, (p.origin, p.target, p.label)), f"{t:.3f}", *row])
