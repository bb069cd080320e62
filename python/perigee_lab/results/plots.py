# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of runs with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.results import looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.run import Run

# Colours of pairs of nodes, in order; for schemes see perigee_lab.results.looks.
COLOURS = ("#0b6fb8", "#d1495b", "#1b8a5a", "#b7791f", "#6d4bc3", "#0e8c97", "#8a5a44", "#5a6b7b")
USUAL = 0.99
"""Fraction of a curve's values that an axis shows with a margin."""
OFTEN = 0.95
"""The same for goodput, which peaks when a retransmission fills a hole and many bytes are delivered
together."""
INK = "#16202c"
"""Colour of handovers and outages, which no scheme has."""
NOTE = (
    "Goodput counts bytes as the application reads them, in order: a sample after a recovery, which reads what had "
    "waited for a hole, can exceed the link."
)
MARKS = 120
"""Maximum number of marks for values beyond an axis."""


def overview(runs: Sequence[Run], flow: str | None = None) -> Any:
    """Plots goodput and RTT of one flow, and the fullest queue, over time, with handovers as lines.

    `flow` is the name of a flow; default: the first. Raises KeyError if the report has no such
    flow.
    """
    import matplotlib.pyplot as plt

    from perigee_lab.results.report.data import payload

    data = payload(runs)
    names = runs[0].table("flow_totals").column("name").to_pylist()
    known = {names[f["flow"]]: f for f in data["flows"]}
    chosen = data["flows"][0] if flow is None else known.get(flow)
    if chosen is None:
        raise KeyError(f"no flow {flow!r} among those shown: {', '.join(known)}")
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 7), layout="constrained")
    found = looks.of([scheme["cc"] for scheme in data["schemes"]])
    for scheme in data["schemes"]:
        style = {**found[scheme["cc"]].line(), "linewidth": 1.1}
        own = scheme["curves"][str(chosen["flow"])]
        axes[0].plot(own["t"], _gaps(own["goodput"]), label=quoting.plot(scheme["label"]), **style)
        axes[1].plot(own["t"], _gaps(own["rtt"]), **style)
        axes[2].plot(scheme["queue"]["t"], _gaps(scheme["queue"]["ms"]), **style)
    base = data["schemes"][0]["curves"][str(chosen["flow"])]
    axes[1].plot(base["t"], _gaps(base["base"]), color="#5b6876", linewidth=0.9, linestyle=":", label="base RTT")
    if base["capacity"]:
        axes[0].plot(
            base["t"], _gaps(base["capacity"]), color="#5b6876", linewidth=0.9, linestyle=":", label="capacity"
        )
    events = [
        time
        for time, kind, _, _, _, pairs in data["marks"]
        if kind in ("handover", "outage-begin") and (pairs is None or chosen["pair"] in pairs)
    ]
    for a, label in zip(axes, ("goodput, Mbit/s", "RTT, ms", "fullest queue, ms"), strict=True):
        a.set_ylabel(label)
        a.grid(alpha=0.25)
        a.spines[["top", "right"]].set_visible(False)
        cap(a, usual=OFTEN if a is axes[0] else USUAL)
        _mark_events(a, events)
    axes[0].set_title(
        quoting.plot(data["title"] + (f": {chosen['name']}" if len(data["flows"]) > 1 else "")), loc="left", pad=11
    )
    _legend(figure, axes)
    axes[2].set_xlabel("time, s")
    axes[2].set_xlim(0, data["duration_s"])
    # Wrapped when drawn: the size may change until then.
    figure.supxlabel(NOTE, fontsize=7, x=0.02, ha="left", color="#5b6876", wrap=True)
    return figure


def _mark_events(axis: Any, times: Sequence[float]) -> None:
    """Handovers and outages: a triangle above the panel, where there are no curves, and a faint line."""
    for time in times:
        axis.axvline(time, color=INK, alpha=0.25, linewidth=0.8)
    if times:
        axis.plot(
            times, [1.03] * len(times), "v", color=INK, markersize=4, linestyle="", clip_on=False,
            transform=axis.get_xaxis_transform(), label="handover or outage",
        )  # fmt: skip


def _legend(figure: Any, axes: Sequence[Any]) -> None:
    """One legend for all panels, above them."""
    of: dict[str, Any] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            of.setdefault(name, handle)
    # Letters of 8 points are about 0.07 in wide; a legend line with its margins takes 0.6 in.
    columns = max(1, int(figure.get_figwidth() / (0.6 + 0.07 * max(len(name) for name in of))))
    figure.legend(
        list(of.values()), list(of), ncols=columns, loc="outside upper center", frameon=False, fontsize=8,
        handlelength=4,
    )  # fmt: skip


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if v is None else v for v in values]


def ceiling(curves: Sequence[Any], usual: float = USUAL) -> float:
    """Upper limit of an axis for curves, so that single peaks do not flatten the rest.

    Above a fraction `usual` of each curve's values, there is a margin of 15 %; curves within that
    limit are shown completely. The limit is one if there are no values.
    """
    import numpy as np

    finite = [y[np.isfinite(y)] for y in (np.asarray(c, dtype=float) for c in curves)]
    filled = [y for y in finite if len(y)]
    if not filled:
        return 1.0
    most = max(float(y.max()) for y in filled)
    bulk = max(float(np.quantile(y, usual)) for y in filled)
    return min(1.05 * most, 1.15 * bulk) if bulk > 0 else 1.05 * most or 1.0


def cap(axis: Any, usual: float = USUAL) -> None:
    """Limits a matplotlib axis to 0 … `ceiling`; triangles at the edge mark curves beyond it.

    The highest hidden value is printed at the right. Vertical lines across the axis do not count as
    curves.
    """
    import numpy as np

    lines = [line for line in axis.lines if len(line.get_xdata()) > 2]
    top = ceiling([line.get_ydata() for line in lines], usual)
    axis.set_ylim(0, top)
    highest = top
    for line in lines:
        x, y = (np.asarray(v, dtype=float) for v in (line.get_xdata(), line.get_ydata()))
        beyond = np.nan_to_num(y, nan=0.0) > top
        if not beyond.any():
            continue
        highest = max(highest, float(y[beyond].max()))
        # One mark per slot, to avoid overlap.
        slot = np.floor((x[beyond] - x[0]) / max(float(x[-1] - x[0]), 1e-9) * MARKS)
        at = x[beyond][np.unique(slot, return_index=True)[1]]
        axis.plot(at, np.full(len(at), top), "^", color=line.get_color(), markersize=4, clip_on=False, zorder=5)
    if highest > top:
        axis.annotate(
            f"▲ up to {highest:.3g}",
            (1, 1),
            (0, 9),
            "axes fraction",
            textcoords="offset points",
            ha="right",
            fontsize=7,
        )
