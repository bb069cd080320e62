# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pictures of sweeps, in matplotlib: lines over one key, heat maps over two."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from perigee.common.files import RecordError
from perigee.results import looks
from perigee.results.columns import COLUMNS

if TYPE_CHECKING:
    from pathlib import Path

    from perigee.results.cells import Sweep

# What is drawn unasked, as far as the runs have it.
USUAL = ("goodput_mbps", "share", "rtt_mean_ms", "inflation", "retransmit_pct", "jain")
MOST_PICTURES = 40


def pictures(sweep: Sweep, folder: Path) -> list[Path]:
    """Writes the usual pictures: a heat map for each pair of keys, lines for each key. Returns what was written."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    there = [m for m in USUAL if any(_value(r.get(m)) is not None for r in sweep.rows)]
    keys = [a.key for a in sweep.index.axes if len(a.values) > 1]
    wanted: list[tuple[str, str, str | None]] = [(m, k, None) for k in keys for m in there]
    wanted = [(m, x, y) for i, x in enumerate(keys) for y in keys[i + 1 :] for m in there] + wanted
    written = []
    for metric, x, y in wanted[:MOST_PICTURES]:
        figure = lines(sweep, metric, x) if y is None else heat_map(sweep, metric, x, y)
        name = "-".join(
            re.sub(r"[^\w.]+", "_", part) for part in ("lines" if y is None else "heat", metric, x, y or "")
        )
        path = folder / f"{name.rstrip('-')}.png"
        figure.savefig(path, dpi=120)
        plt.close(figure)
        written.append(path)
    return written


def lines(sweep: Sweep, metric: str, x: str) -> Any:
    """A line per scheme: means over all runs at a value of `x`, with 95 % intervals as bars where seeds differ."""
    import matplotlib.pyplot as plt

    places, ticks = _places(sweep, x)
    schemes = _schemes(sweep)
    look = looks.of(schemes)
    figure, axes = plt.subplots(figsize=(6.2, 4.2), layout="constrained")
    for cc in schemes:
        points = [_mean(sweep, metric, {x: v, "cc": cc}) for v in places]
        heights, halves = [p[0] for p in points], [0.0 if math.isnan(p[1]) else p[1] for p in points]
        axes.errorbar(list(places.values()), heights, yerr=halves, capsize=2.5, label=cc, **look[cc].both())
    if ticks is not None:
        axes.set_xticks(list(places.values()), ticks)
    axes.set_xlabel(x)
    axes.set_ylabel(_label(metric))
    axes.grid(visible=True, alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    axes.set_title(_title(sweep, {x}), fontsize=9)
    return figure


def heat_map(sweep: Sweep, metric: str, x: str, y: str) -> Any:
    """A map per scheme, `x` to the right and `y` upwards, with the means in the cells and one scale for all."""
    import matplotlib.pyplot as plt

    across, up, schemes = _values(sweep, x), _values(sweep, y), _schemes(sweep)
    grids = [[[_mean(sweep, metric, {x: a, y: b, "cc": cc})[0] for a in across] for b in up] for cc in schemes]
    every = [v for grid in grids for row in grid for v in row if not math.isnan(v)]
    if not every:
        raise RecordError(f"no run of this sweep has a value of {metric}")
    size = (max(3.2, 0.75 * len(across) + 1.6) * len(schemes) + 0.6, max(2.8, 0.5 * len(up) + 1.6))
    figure, all_axes = plt.subplots(1, len(schemes), figsize=size, squeeze=False, layout="constrained", sharey=True)
    low, high = min(every), max(every)
    for axes, cc, grid in zip(all_axes[0], schemes, grids, strict=True):
        image = axes.imshow(grid, origin="lower", aspect="auto", vmin=low, vmax=high, cmap="viridis")
        axes.set_xticks(range(len(across)), [_text(v) for v in across], rotation=30 if len(across) > 5 else 0)
        axes.set_yticks(range(len(up)), [_text(v) for v in up])
        axes.set_xlabel(x)
        axes.set_title(cc, fontsize=9)
        if len(across) * len(up) <= 200:
            for j, row in enumerate(grid):
                for i, v in enumerate(row):
                    bright = high > low and (v - low) / (high - low) > 0.6
                    colour = "black" if bright else "white"
                    axes.text(
                        i, j, "-" if math.isnan(v) else f"{v:.3g}", ha="center", va="center", size=7, color=colour
                    )
    all_axes[0][0].set_ylabel(y)
    figure.colorbar(image, ax=list(all_axes[0]), label=_label(metric))
    figure.suptitle(_title(sweep, {x, y}), fontsize=9)
    return figure


def _title(sweep: Sweep, drawn: set[str]) -> str:
    others = [k for k in sweep.keys if k not in drawn and len({r[k] for r in sweep.rows}) > 1]
    fixed = [f"{k} = {_text(sweep.rows[0][k])}" for k in sweep.keys if k not in drawn and k not in others]
    seeds = len({r["seed"] for r in sweep.rows})
    over = [*(["seeds"] if seeds > 1 else []), *others]
    parts = [sweep.index.scenario, *fixed, *([f"means over {', '.join(over)}"] if over else [])]
    return "; ".join(parts)


def _label(metric: str) -> str:
    column = next((c for c in COLUMNS if c.name == metric), None)
    if column is None:
        raise RecordError(f"there is no column {metric!r}: `perigee columns` lists them")
    return metric if not column.unit else f"{metric} ({column.unit})"


def _schemes(sweep: Sweep) -> list[str]:
    return list(dict.fromkeys(r["cc"] for r in sweep.rows))


def _values(sweep: Sweep, key: str) -> list[Any]:
    return list(dict.fromkeys(r[key] for r in sweep.rows))


def _places(sweep: Sweep, key: str) -> tuple[dict[Any, float], list[str] | None]:
    """Where values stand on an axis, and their names unless they are numbers."""
    values = _values(sweep, key)
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return {v: float(v) for v in values}, None
    return {v: float(i) for i, v in enumerate(values)}, [_text(v) for v in values]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(cell: Any) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) and not math.isnan(cell) else None


def _mean(sweep: Sweep, metric: str, place: dict[str, Any]) -> tuple[float, float]:
    from perigee.results.summary import spread

    rows = [r for r in sweep.rows if all(r[k] == v for k, v in place.items())]
    rows = [r for r in rows if _value(r.get(metric)) is not None]
    return spread(rows, metric) if rows else (math.nan, math.nan)
