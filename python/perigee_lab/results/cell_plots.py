# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plots of sweeps with matplotlib: lines over one key, heat maps over two keys."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError, inner, written
from perigee_lab.common.quantities import TEXT, Quantity, quantity
from perigee_lab.results import looks
from perigee_lab.results.columns import COLUMNS, named

if TYPE_CHECKING:
    from pathlib import Path

    from perigee_lab.results.cells import Sweep

# Metrics that are plotted by default, if the runs have them.
USUAL = ("goodput_mbps", "share", "rtt_mean_ms", "inflation", "retransmit_pct", "jain")
MOST_PICTURES = 40
# Maximum number of panels in a figure of lines, of lines in a panel, and of rows in a heat map.
MOST_PANELS, MOST_LINES, MOST_ROWS = 24, 8, 12
SEED = "run.seed"
# Units of axes by those of values, largest first, with their sizes.
SHOWN = {
    "ns": (("s", 1e9), ("ms", 1e6), ("µs", 1e3)),
    "bit/s": (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)),
    "B": (("MB", 1e6), ("kB", 1e3)),
}
# An axis is logarithmic if its largest value is this many times the smallest, or more.
FAR_APART = 50.0
# Maxima of metrics, above which an interval by Student's t may extend.
MOST = {"jain": 1.0}


def pictures(sweep: Sweep, folder: Path) -> list[Path]:
    """Writes the default plots: a heat map for each pair of keys, lines for each key.

    Returns the files.
    """
    import matplotlib.pyplot as plt

    inner(folder)
    there = [m for m in USUAL if any(_value(r.get(m)) is not None for r in sweep.rows)]
    keys = [a.key for a in sweep.index.axes if len(a.values) > 1]
    keys = [k for k in keys if k != SEED]
    wanted: list[tuple[str, str, str | None]] = [(m, k, None) for k in keys for m in there]
    if sweep.index.zip:
        wanted = [w for w in wanted if _distinct(sweep, w[1])]
    else:
        wanted = [(m, x, y) for i, x in enumerate(keys) for y in keys[i + 1 :] for m in there] + wanted
    made = []
    for metric, x, y in wanted[:MOST_PICTURES]:
        figure = lines(sweep, metric, x) if y is None else heat_map(sweep, metric, x, y)
        name = "-".join(
            re.sub(r"[^\w.]+", "_", part) for part in ("lines" if y is None else "heat", metric, x, y or "")
        )
        path = folder / f"{name.rstrip('-')}.png"
        with written(path) as partial:
            figure.savefig(partial, dpi=120, format="png")
        plt.close(figure)
        made.append(path)
    return made


def lines(sweep: Sweep, metric: str, x: str) -> Any:
    """Plots one line per scheme over `x`, in one panel for each combination of the other keys.

    Points are means over seeds; bars are their 95 % intervals if several seeds yield different
    values. With a single scheme, the values of one other key are lines in the same panel.
    """
    import matplotlib.pyplot as plt

    if sweep.index.zip and not _distinct(sweep, x):
        raise RecordError(f"several combinations of this zipped sweep have the same {x}: choose another key as x")
    scale = _scale(sweep, x)
    places, ticks = scale.places, scale.ticks
    schemes = _schemes(sweep)
    panels, of = _panels(sweep, {x}, MOST_PANELS)
    varied = list(panels[0])
    if len(schemes) == 1 and len(varied) == 1 and 1 < of <= MOST_LINES:
        drawn = [[(f"{_short(varied[0])} = {_text(p[varied[0]])}", {**p, "cc": schemes[0]}) for p in panels]]
        titles = [schemes[0]]
    else:
        drawn = [[(cc, {**p, "cc": cc}) for cc in schemes] for p in panels]
        titles = [_panel_title(p) for p in panels]
    look = looks.of([name for name, _ in drawn[0]])
    last = len({p[varied[-1]] for p in panels}) if varied else 1
    across = last if len(varied) > 1 and 1 < last <= 4 else min(len(drawn), 4)
    down = math.ceil(len(drawn) / across)
    size = (6.2, 4.2) if len(drawn) == 1 else (3.2 * across + 0.6, 2.6 * down + 0.6)
    figure, grid = plt.subplots(
        down, across, figsize=size, layout="constrained", squeeze=False, sharex=True, sharey=True
    )
    for axes, of_panel, title in zip(grid.flat, drawn, titles, strict=False):
        for name, place in of_panel:
            points = [_mean(sweep, metric, {x: v, **place}) for v in places]
            heights, halves = [p[0] for p in points], [p[1] for p in points]
            bars = None if all(map(math.isnan, halves)) else [halves, upper(metric, heights, halves)]
            axes.errorbar(
                list(places.values()), heights, yerr=bars, capsize=2.5, label=quoting.plot(name), **look[name].both()
            )
        if ticks is not None:
            axes.set_xticks(list(places.values()), ticks, rotation=30 if len(ticks) > 5 else 0)
        elif scale.is_logarithmic:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(visible=True, alpha=0.25)
        axes.set_title(quoting.plot(title), fontsize=9)
    for axes in grid.flat[len(drawn) :]:
        axes.set_visible(False)
    for i, axes in enumerate(grid.flat[: len(drawn)]):
        if i + across >= len(drawn):
            axes.set_xlabel(quoting.plot(", ".join(filter(None, (x, scale.unit)))))
            axes.tick_params(labelbottom=True)
        if i % across == 0:
            axes.set_ylabel(label(metric))
    grid[0][0].legend(frameon=False, fontsize=8)
    figure.suptitle(quoting.plot(_title(sweep, {x, *varied}, _left_out(len(panels), of))), fontsize=9)
    return figure


def heat_map(sweep: Sweep, metric: str, x: str, y: str) -> Any:
    """Plots one map per scheme, with `x` to the right and `y` upwards.

    Cells are means over seeds, on one scale for all maps. There is one row of maps for each
    combination of the other keys.
    """
    import matplotlib.pyplot as plt

    across, up, schemes = _values(sweep, x), _values(sweep, y), _schemes(sweep)
    panels, of = _panels(sweep, {x, y}, MOST_ROWS)
    grids = [
        [[[_mean(sweep, metric, {x: a, y: b, "cc": cc, **p})[0] for a in across] for b in up] for cc in schemes]
        for p in panels
    ]
    every = [v for row in grids for grid in row for line in grid for v in line if not math.isnan(v)]
    if not every:
        raise RecordError(f"no run of this sweep has a value of {metric}")
    size = (
        max(3.2, 0.75 * len(across) + 1.6) * len(schemes) + 0.6,
        max(2.8, 0.5 * len(up) + 1.6) * len(panels),
    )
    figure, all_axes = plt.subplots(
        len(panels), len(schemes), figsize=size, squeeze=False, layout="constrained", sharey=True, sharex=True
    )
    low, high = min(every), max(every)
    for row, panel, of_row in zip(all_axes, panels, grids, strict=True):
        for axes, cc, grid in zip(row, schemes, of_row, strict=True):
            image = axes.imshow(grid, origin="lower", aspect="auto", vmin=low, vmax=high, cmap="viridis")
            axes.set_xticks(range(len(across)), [_text(v) for v in across], rotation=30 if len(across) > 5 else 0)
            axes.set_yticks(range(len(up)), [_text(v) for v in up])
            axes.set_title(quoting.plot("; ".join(filter(None, (cc, _panel_title(panel))))), fontsize=9)
            if len(across) * len(up) <= 200:
                _write_numbers(axes, grid, low, high)
        row[0].set_ylabel(y)
    for axes in all_axes[-1]:
        axes.set_xlabel(x)
    figure.colorbar(image, ax=all_axes.ravel().tolist(), label=label(metric))
    figure.suptitle(quoting.plot(_title(sweep, {x, y, *panels[0]}, _left_out(len(panels), of))), fontsize=9)
    return figure


def _write_numbers(axes: Any, grid: list[list[float]], low: float, high: float) -> None:
    for j, row in enumerate(grid):
        for i, v in enumerate(row):
            bright = high > low and (v - low) / (high - low) > 0.6
            text = "-" if math.isnan(v) else f"{v:.3g}"
            axes.text(i, j, text, ha="center", va="center", size=7, color="black" if bright else "white")


def _panels(sweep: Sweep, drawn: set[str], most: int) -> tuple[list[dict[str, Any]], int]:
    """Up to `most` combinations of the varying keys that are not on an axis, and their number.

    Swept seeds are no key here: means and intervals are computed over them. Keys of a zipped sweep
    vary along the axis.
    """
    if sweep.index.zip:
        return [{}], 1
    others = [k for k in sweep.keys if k not in drawn and k != SEED and len({r[k] for r in sweep.rows}) > 1]
    found = list(dict.fromkeys(tuple(r[k] for k in others) for r in sweep.rows))
    return [dict(zip(others, values, strict=True)) for values in found[:most]], len(found)


def _distinct(sweep: Sweep, key: str) -> bool:
    """Whether no two cells have the same value of a key."""
    values = next(a.values for a in sweep.index.axes if a.key == key)
    return len(set(values)) == len(values)


def _panel_title(panel: dict[str, Any]) -> str:
    return ", ".join(f"{_short(k)} = {_text(v)}" for k, v in panel.items())


def _left_out(drawn: int, of: int) -> str:
    if drawn == of:
        return ""
    return f"the first {drawn} of {of} combinations of the other keys, --where KEY=VALUE chooses"


def _short(key: str) -> str:
    return key.rpartition(".")[2]


def _title(sweep: Sweep, drawn: set[str], remark: str) -> str:
    others = [k for k in sweep.keys if k not in drawn and k != SEED]
    along = [f"{_short(k)} along" for k in others if len({r[k] for r in sweep.rows}) > 1]
    fixed = along or [f"{k} = {_text(sweep.rows[0][k])}" for k in others]
    seeds = len({r["seed"] for r in sweep.rows})
    parts = [sweep.index.scenario, *fixed, *([f"means over {seeds} seeds"] if seeds > 1 else []), remark]
    return "; ".join(filter(None, parts))


def label(metric: str) -> str:
    """Label of an axis: name and unit of a column. Raises RecordError if there is no such column."""
    column = next((c for c in COLUMNS if c.name == metric), None)
    if column is None:
        raise RecordError(f"there is no column {metric!r}: `perigee columns` lists them")
    return ", ".join(filter(None, (named(metric), column.unit)))


def _schemes(sweep: Sweep) -> list[str]:
    return list(dict.fromkeys(r["cc"] for r in sweep.rows))


def _values(sweep: Sweep, key: str) -> list[Any]:
    return list(dict.fromkeys(r[key] for r in sweep.rows))


@dataclass(frozen=True)
class Scale:
    """Positions of a key's values on an axis."""

    places: dict[Any, float]
    unit: str = ""
    """Unit of the positions; empty for numbers and for texts."""
    ticks: list[str] | None = None
    """Labels of the positions, of values that are no numbers with one unit."""

    @property
    def is_logarithmic(self) -> bool:
        """Whether values lie so far apart that a linear axis would hide the small ones."""
        found = self.places.values()
        return self.ticks is None and min(found) > 0 and max(found) >= FAR_APART * min(found)


def _scale(sweep: Sweep, key: str) -> Scale:
    values = _values(sweep, key)
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return Scale({v: float(v) for v in values})
    found = [quantity(v) if isinstance(v, str) else Quantity(TEXT, "", "") for v in values]
    kinds = {(q.kind, q.unit) for q in found}
    kind, unit = kinds.pop() if len(kinds) == 1 else (TEXT, "")
    if kind == TEXT:
        return Scale({v: float(i) for i, v in enumerate(values)}, ticks=[_text(v) for v in values])
    sizes = {v: float(q.value) for v, q in zip(values, found, strict=True)}
    most = max(sizes.values())
    shown, divisor = next(((u, d) for u, d in SHOWN.get(unit, ()) if most >= d), (unit, 1.0))
    return Scale({v: size / divisor for v, size in sizes.items()}, "BDP" if shown == "bdp" else shown)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(cell: Any) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) and not math.isnan(cell) else None


def upper(metric: str, heights: list[float], halves: list[float]) -> list[float]:
    """Upper parts of intervals, which end at the maximum of the metric."""
    most = MOST.get(metric, math.inf)
    return [min(half, max(most - height, 0.0)) for height, half in zip(heights, halves, strict=True)]


def _mean(sweep: Sweep, metric: str, place: dict[str, Any]) -> tuple[float, float]:
    from perigee_lab.results.summary import spread

    rows = [r for r in sweep.rows if all(r[k] == v for k, v in place.items())]
    rows = [r for r in rows if _value(r.get(metric)) is not None]
    return spread(rows, metric) if rows else (math.nan, math.nan)
