# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of `perigee paths`: RTT, links and orbital planes of pairs over time, by policy."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.sky.survey import C_KM_PER_MS

if TYPE_CHECKING:
    from perigee_lab.sky.survey import PairPaths

# Characters of a title and of a legend that fit the figure's width.
TITLE_WIDTH, LEGEND_WIDTH = 88, 118
GREY = "#5b6876"


def plot(pairs: Sequence[PairPaths]) -> Any:
    """Plots RTT, number of links and the orbital planes of the two end satellites over time.

    `pairs` holds the paths between the same two places, one item per policy. Returns a matplotlib
    figure.
    """
    import matplotlib.pyplot as plt

    from perigee_lab.results.plots import COLOURS

    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 8), layout="constrained", height_ratios=(2.2, 1, 1.4))
    first = pairs[0]
    for p, colour in zip(pairs, COLOURS * len(pairs), strict=False):
        _draw_pair(axes, p, colour, named=len(pairs) > 1)
    # Names may be long: the title wraps, and the legend is below the panels.
    title = f"{first.origin} to {first.target}"
    if first.distance_km is not None:
        straight = 2 * first.distance_km / C_KM_PER_MS
        axes[0].axhline(
            first.fibre_rtt_ms, linestyle="--", color=GREY, linewidth=1.0,
            label=f"great-circle fibre (c/1.47): {first.fibre_rtt_ms:.1f} ms",
        )  # fmt: skip
        label = f"great circle at c: {straight:.1f} ms"
        axes[0].axhline(straight, linestyle=":", color=GREY, linewidth=1.0, label=label)
        title += f", {first.distance_km:,.0f} km"
    axes[0].set_title(quoting.plot(textwrap.fill(title, TITLE_WIDTH)), loc="left", fontsize=11)
    for axis, label in zip(axes, ("RTT, ms", "links", "plane (▲ north, ▼ south)"), strict=True):
        axis.set_ylabel(label)
        axis.grid(alpha=0.2)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylim(bottom=0)
    axes[2].set_xlabel("time, s")
    axes[2].set_xlim(0, float(first.t_s[-1]) if len(first.t_s) > 1 else 1)
    legend(figure, [*axes[0].get_legend_handles_labels()[0], *_ends(first)])
    return figure


def distribution(pairs: Sequence[Sequence[PairPaths]]) -> Any:
    """Plots empirical distributions over many pairs, with one line per policy.

    `pairs[i][j]` holds the paths of pair i under policy j. Returns a matplotlib figure.
    """
    import matplotlib.pyplot as plt

    from perigee_lab.results.plots import COLOURS

    figure, axes = plt.subplots(2, 2, sharey=True, figsize=(7.16, 5.4), layout="constrained")
    labels = [p.label for p in pairs[0]]
    for i, (label, colour) in enumerate(zip(labels, COLOURS * len(labels), strict=False)):
        rows = [of_pair[i].statistics() for of_pair in pairs]
        hours = [max(float(of_pair[i].t_s[-1]), 1.0) / 3600 for of_pair in pairs]
        there = [r for r in rows if r["rtt_mean_ms"] is not None]
        curves = (
            [r["rtt_mean_ms"] for r in there],
            [r["rtt_mean_ms"] / r["fibre_rtt_ms"] for r in there if r["fibre_rtt_ms"]],
            [r["rtt_max_ms"] - r["rtt_min_ms"] for r in there],
            [(r["handovers_from"] + r["handovers_to"]) / h for r, h in zip(rows, hours, strict=True)],
        )
        for axis, values in zip(axes.flat, curves, strict=True):
            if values:
                steps = np.sort(np.array(values))
                axis.step(
                    steps,
                    np.arange(1, len(steps) + 1) / len(steps),
                    where="post",
                    color=colour,
                    label=quoting.plot(label),
                )
    names = ("mean RTT, ms", "mean RTT over that of a great-circle fibre", "maximum minus minimum RTT, ms",
             "handovers at both ends per hour")  # fmt: skip
    for axis, name in zip(axes.flat, names, strict=True):
        axis.set_xlabel(name, fontsize=8)
        axis.tick_params(labelsize=8)
        axis.set_ylim(0, 1.02)
        axis.grid(alpha=0.2)
        axis.spines[["top", "right"]].set_visible(False)
    # For nearby places the ratio is large: the altitude of the satellites is many times the distance.
    axes[0, 1].set_xscale("log")
    for axis in axes[:, 0]:
        axis.set_ylabel("share of pairs", fontsize=8)
    figure.suptitle(f"{len(pairs)} pairs", x=0.01, ha="left", fontsize=10)
    if len(labels) > 1:
        legend(figure, axes[0, 0].get_legend_handles_labels()[0])
    return figure


def legend(figure: Any, handles: Sequence[Any], width: int = LEGEND_WIDTH) -> None:
    """Draws a legend below the panels, in as many columns as its longest entry allows.

    `width` is the width of the figure in characters of the legend.
    """
    longest = max((len(str(h.get_label())) for h in handles), default=1)
    columns = max(1, min(len(handles), width // (longest + 8)))
    made = figure.legend(handles=list(handles), loc="outside lower left", frameon=False, fontsize=8, ncols=columns)
    # Small points of a map would be invisible.
    for handle in made.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([24.0])


def _ends(p: PairPaths) -> list[Any]:
    """Legend entries for the line of each end in the lowest panel."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"color": "#111827", "linewidth": 1.1}
    return [
        Line2D([], [], linestyle="-", label=quoting.plot(f"plane at {p.origin}"), **style),
        Line2D([], [], linestyle="--", label=quoting.plot(f"plane at {p.target}"), **style),
    ]


def _draw_pair(axes: Any, p: PairPaths, colour: str, *, named: bool) -> None:
    name = p.label if named else "RTT over the satellites"
    # A new path starts a new line, so that jumps are not drawn as slopes.
    jumps = np.searchsorted(p.t_s, [leg.t_s - 1e-9 for leg in p.legs[1:]])
    x, y = np.insert(p.t_s, jumps, np.nan), np.insert(p.rtt_ms, jumps, np.nan)
    axes[0].plot(x, y, color=colour, linewidth=1.5, label=quoting.plot(name))
    axes[1].step(p.t_s, p.links, where="post", color=colour, linewidth=1.2)
    for t in p.changes():
        axes[0].axvline(t, color=colour, alpha=0.18, linewidth=0.8)
    for end, style in ((0, "-"), (-1, "--")):
        for t in p.handovers(end):
            axes[0].plot([t], [0.015], marker="|", color=colour, transform=axes[0].get_xaxis_transform(), ms=9)
        _draw_planes(axes[2], p, end, style, colour)


def _draw_planes(axis: Any, p: PairPaths, end: int, style: str, colour: str) -> None:
    times = [leg.t_s for leg in p.legs] + [float(p.t_s[-1])]
    hops = [leg.hops[end] if leg.hops else None for leg in p.legs]
    planes = [np.nan if h is None or h["plane"] is None else h["plane"] for h in hops]
    axis.step(times, [*planes, planes[-1]], where="post", linestyle=style, color=colour, linewidth=1.1)
    for t, plane, hop, before in zip(times, planes, hops, [None, *hops], strict=False):
        if hop is not None and (before is None or before["name"] != hop["name"]):
            marker = "^" if hop["ascending"] else "v"
            axis.plot([t], [plane], marker=marker, color=colour, ms=5, markeredgecolor="white", clip_on=False)
