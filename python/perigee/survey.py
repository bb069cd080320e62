# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Paths over a constellation without packets: statistics, a list, a plot."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perigee import _core

if TYPE_CHECKING:
    from perigee.scenario import Scenario

Floats = npt.NDArray[np.float64]
Hop = dict[str, Any]

C_KM_PER_MS = 299.792458


@dataclass(frozen=True)
class Leg:
    """A stretch of time with one path."""

    t_s: float
    rtt_ms: float | None
    hops: list[Hop] | None
    """Satellites and relays from end to end; None = unreachable."""

    @property
    def links(self) -> int:
        """Links of the path."""
        return len(self.hops) + 1 if self.hops else 0


@dataclass(frozen=True)
class PairPaths:
    """A pair over time under one way of choosing satellites."""

    label: str
    origin: str
    target: str
    distance_km: float
    fibre_rtt_ms: float
    t_s: Floats
    rtt_ms: Floats
    """Round-trip propagation time; NaN = unreachable."""
    apart: npt.NDArray[np.bool_]
    """One end's satellite flies north and the other's south."""
    legs: list[Leg]

    @property
    def links(self) -> Floats:
        """Links at each step; NaN = unreachable."""
        starts = np.array([leg.t_s for leg in self.legs])
        counts = np.array([leg.links or np.nan for leg in self.legs])
        return np.asarray(counts[np.searchsorted(starts, self.t_s + 1e-9) - 1], dtype=np.float64)

    def handovers(self, end: int) -> list[float]:
        """Times at which the first (0) or last (-1) satellite changes."""
        kept = [leg for leg in self.legs if leg.hops]
        pairs = itertools.pairwise(kept)
        return [b.t_s for a, b in pairs if a.hops and b.hops and a.hops[end]["name"] != b.hops[end]["name"]]

    def changes(self) -> list[float]:
        """Times at which the path changes, gaps not counted."""
        return [b.t_s for a, b in itertools.pairwise(self.legs) if a.hops and b.hops]

    def statistics(self) -> dict[str, Any]:
        """What the table shows."""
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


def survey(scenario: Scenario, ends: Sequence[tuple[str, str]] = (), label: str = "") -> list[PairPaths]:
    """The paths of some pairs (nodes, cities or "lat, lon"), or else of the scenario's flows."""
    text, steps = _core.Sky(scenario.core, list(ends)).paths()
    found = json.loads(text)
    return [_pair(p, s, found["step_s"], label) for p, s in zip(found["pairs"], steps, strict=True)]


def paths(scenario: Scenario, ends: Sequence[tuple[str, str]] = ()) -> list[PairPaths]:
    """The paths of a scenario's flows, or of some pairs of nodes, cities or "lat, lon", over the whole run.

    No packet runs; raises `ScenarioError` or `RunError` as a run would.
    """
    return survey(scenario, ends, "as in the scenario")


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
    """Two ways of choosing satellites on the same pair."""

    mean_ratio: float
    largest_ratio: float
    slow_share: float
    """Share of the steps at which the second is more than half longer than the first."""
    apart_share: float | None
    """Of these, the share at which the satellites of the two ends fly apart under the second."""


def contrast(first: PairPaths, second: PairPaths) -> Contrast | None:
    """How much longer the second is; None if they never exist together."""
    both = ~np.isnan(first.rtt_ms) & ~np.isnan(second.rtt_ms)
    if not both.any():
        return None
    ratio = second.rtt_ms[both] / first.rtt_ms[both]
    slow = ratio > 1.5
    apart = float(second.apart[both][slow].mean()) if slow.any() else None
    return Contrast(float(ratio.mean()), float(ratio.max()), float(slow.mean()), apart)


def hop_name(hop: Hop) -> str:
    """A satellite with its plane and an arrow for its direction; a relay with a dot."""
    if hop["ascending"] is None:
        return f"•{hop['name']}"
    arrow = "↑" if hop["ascending"] else "↓"
    return f"{hop['name']}{arrow}" if hop["plane"] is None else f"{hop['name']}{arrow}p{hop['plane']}"


def write_csv(path: Path, pairs: Sequence[PairPaths]) -> None:
    """RTT and links over time, a row per step and pair."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["from", "to", "attach", "t_s", "rtt_ms", "links"])
        for p in pairs:
            for t, rtt, links in zip(p.t_s, p.rtt_ms, p.links, strict=True):
                there = not np.isnan(rtt)
                row = [f"{rtt:.6f}", int(links)] if there else ["", ""]
                out.writerow([p.origin, p.target, p.label, f"{t:.3f}", *row])


def plot(pairs: Sequence[PairPaths]) -> Any:
    """RTT, links, and planes of the two end satellites over time; the pairs have the same ends."""
    import matplotlib.pyplot as plt

    from perigee.plots import COLOURS

    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 7.5), layout="constrained", height_ratios=(2.2, 1, 1.4))
    first = pairs[0]
    for p, colour in zip(pairs, COLOURS * len(pairs), strict=False):
        _draw_pair(axes, p, colour, named=len(pairs) > 1)
    straight = 2 * first.distance_km / C_KM_PER_MS
    fibre = {"color": "#5b6876", "linewidth": 1.0}
    axes[0].axhline(first.fibre_rtt_ms, linestyle="--", **fibre)
    axes[0].axhline(straight, linestyle=":", **fibre)
    lines = ((first.fibre_rtt_ms, "great-circle fibre (c/1.47)", True), (straight, "great circle at c", False))
    for y, text, above in lines:
        axes[0].annotate(
            text, (1, y), xycoords=("axes fraction", "data"), xytext=(-3, 3 if above else -3),
            textcoords="offset points", ha="right", va="bottom" if above else "top", fontsize=8, color=fibre["color"],
        )  # fmt: skip
    axes[0].set_title(f"{first.origin} to {first.target}, {first.distance_km:,.0f} km", loc="left")
    for axis, label in zip(axes, ("RTT, ms", "links", "plane (▲ north, ▼ south)"), strict=True):
        axis.set_ylabel(label)
        axis.grid(alpha=0.2)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylim(bottom=0)
    axes[2].set_xlabel("time, s")
    axes[2].set_xlim(0, float(first.t_s[-1]) if len(first.t_s) > 1 else 1)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, fontsize=8, ncols=4)
    # Room for the legend above the planes.
    low, high = axes[2].get_ylim()
    axes[2].set_ylim(low, high + 0.3 * (high - low))
    axes[2].legend(loc="upper left", frameon=False, fontsize=8, ncols=4)
    return figure


def _draw_pair(axes: Any, p: PairPaths, colour: str, *, named: bool) -> None:
    name = p.label if named else "RTT over the satellites"
    rtt = p.rtt_ms.copy()
    # A new path begins a new line: a jump is not a slope.
    jumps = np.searchsorted(p.t_s, [leg.t_s - 1e-9 for leg in p.legs[1:]])
    x, y = np.insert(p.t_s, jumps, np.nan), np.insert(rtt, jumps, np.nan)
    axes[0].plot(x, y, color=colour, linewidth=1.5, label=name)
    axes[1].step(p.t_s, p.links, where="post", color=colour, linewidth=1.2)
    for t in p.changes():
        axes[0].axvline(t, color=colour, alpha=0.18, linewidth=0.8)
    for end, style in ((0, "-"), (-1, "--")):
        place = p.origin if end == 0 else p.target
        for t in p.handovers(end):
            axes[0].plot([t], [0.015], marker="|", color=colour, transform=axes[0].get_xaxis_transform(), ms=9)
        _draw_planes(axes[2], p, end, style, colour, f"{place}, {p.label}" if named else place)


def _draw_planes(axis: Any, p: PairPaths, end: int, style: str, colour: str, label: str) -> None:
    times = [leg.t_s for leg in p.legs] + [float(p.t_s[-1])]
    hops = [leg.hops[end] if leg.hops else None for leg in p.legs]
    planes = [np.nan if h is None or h["plane"] is None else h["plane"] for h in hops]
    axis.step(times, [*planes, planes[-1]], where="post", linestyle=style, color=colour, linewidth=1.1, label=label)
    for t, plane, hop, before in zip(times, planes, hops, [None, *hops], strict=False):
        if hop is not None and (before is None or before["name"] != hop["name"]):
            marker = "^" if hop["ascending"] else "v"
            axis.plot([t], [plane], marker=marker, color=colour, ms=5, markeredgecolor="white", clip_on=False)
