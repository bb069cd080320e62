# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of runs, in matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee.record import Run

# Colours of the report page, in the same order.
COLOURS = ("#0b6fb8", "#d1495b", "#1b8a5a", "#b7791f", "#6d4bc3", "#0e8c97", "#8a5a44", "#5a6b7b")


def overview(runs: Sequence[Run]) -> Any:
    """Goodput, RTT and queue over time, a colour per run; handovers as vertical lines."""
    import matplotlib.pyplot as plt

    from perigee.report.data import payload

    data = payload(runs)
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 7), layout="constrained")
    for scheme, colour in zip(data["schemes"], COLOURS * len(runs), strict=False):
        style = {"color": colour, "linewidth": 1.1}
        axes[0].plot(scheme["t"], _gaps(scheme["goodput"]), label=scheme["label"], **style)
        axes[1].plot(scheme["t"], _gaps(scheme["rtt"]), **style)
        axes[2].plot(scheme["queue"]["t"], _gaps(scheme["queue"]["ms"]), **style)
    base = data["schemes"][0]
    axes[1].plot(base["t"], _gaps(base["base"]), color="#5b6876", linewidth=0.9, linestyle=":", label="base RTT")
    for time, kind, *_ in data["marks"]:
        if kind in ("handover", "outage-begin"):
            for a in axes:
                a.axvline(time, color="#7c3aed", alpha=0.35, linewidth=0.8)
    for a, label in zip(axes, ("goodput, Mbit/s", "RTT, ms", "fullest queue, ms"), strict=True):
        a.set_ylabel(label)
        a.grid(alpha=0.25)
        a.set_ylim(bottom=0)
        a.spines[["top", "right"]].set_visible(False)
    axes[1].set_ylim(top=_ceiling([v for s in data["schemes"] for v in s["rtt"] if v is not None]))
    axes[0].set_title(data["title"], loc="left")
    axes[0].legend(ncols=len(runs), loc="lower right", frameon=False)
    axes[1].legend(loc="upper right", frameon=False)
    axes[2].set_xlabel("time, s")
    axes[2].set_xlim(0, data["duration_s"])
    return figure


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if v is None else v for v in values]


def _ceiling(values: list[float]) -> float | None:
    """Single peaks after handovers are cut off: they would flatten everything else."""
    if not values:
        return None
    values.sort()
    return min(values[-1] * 1.05, values[int(len(values) * 0.997)] * 1.25)
