# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Style of the figures of studies: panels, legends and labels.

Schemes look as defined in perigee_lab.results.looks.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import inner, written
from perigee_lab.results.looks import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

# Colours of other items in a figure, selected by the sum of the letters of their names.
OTHERS = ("#4D4D4D", "#8C6BB1", "#41AB5D", "#EF6548", "#2B8CBE", "#A6761D", "#666666", "#1B9E77")
MARKERS = "dHpxs^v<>"
LABELS = {
    "orbcc-repro": "OrbCC",
    "orbcc": "OrbCC (text)",
    "bbr": "BBRv1",
    "leocc_omnet": "LeoCC",
    "vivace": "Vivace",
}
INK, SOFT = "#16202c", "#5b6876"
HATCHES = ("", "////", "....", "xxxx", "----", "++++")
LINE_IN = 0.16
"""Height of a line of a legend, in inches."""
WIDTH_IN = 3.5
"""Width of one panel in inches: a column of a paper."""


def label(cc: str) -> str:
    """The name of a scheme in figures."""
    from perigee_lab.runs.scenario import schemes

    return LABELS.get(cc) or {s["id"]: s["label"] for s in schemes()}.get(cc, cc)


def look(cc: str) -> dict[str, Any]:
    """Colour, marker and dashes of a scheme, for `Axes.plot`."""
    if cc in BUILT_IN:
        return BUILT_IN[cc].both()
    at = sum(cc.encode()) % len(OTHERS)
    return {"color": OTHERS[at], "marker": MARKERS[at], "linestyle": "--"}


def line(cc: str) -> dict[str, Any]:
    """Colour and dashes of a scheme, without a marker."""
    return {k: v for k, v in look(cc).items() if k != "marker"}


def bar(cc: str) -> dict[str, Any]:
    """Arguments of `Axes.bar`: colour, and a hatch if a related scheme has the same colour."""
    colour = look(cc)["color"]
    relatives = sorted((c for c, found in BUILT_IN.items() if found.colour == colour), key=_is_dashed)
    hatch = HATCHES[relatives.index(cc) % len(HATCHES)] if cc in relatives else ""
    return {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def _is_dashed(cc: str) -> bool:
    return bool(BUILT_IN[cc].dashes)


def panels(columns: int = 1, rows: int = 1, *, width: float = WIDTH_IN, height: float = 2.5, **keys: Any) -> Any:
    """A figure and its axes (always an array), with the spines, grid and fonts of a paper."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update(
        {
            "font.size": 8,
            "axes.titlesize": 8.5,
            "axes.labelsize": 8,
            "legend.fontsize": 7.5,
            "xtick.labelsize": 7.5,
            "ytick.labelsize": 7.5,
            "axes.edgecolor": SOFT,
            "axes.labelcolor": INK,
            "xtick.color": SOFT,
            "ytick.color": SOFT,
            "lines.linewidth": 1.2,
            "lines.markersize": 4,
            "svg.hashsalt": "perigee",
            "svg.fonttype": "none",
            "pdf.fonttype": 42,
        }
    )
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained", **keys
    )
    for a in axes.flat:
        a.grid(alpha=0.25, linewidth=0.6)
        a.spines[["top", "right"]].set_visible(False)
        a.set_axisbelow(True)
    return figure, axes


def shared_legend(figure: Any, axes: Iterable[Any], columns: int = 8) -> None:
    """One legend for all panels, above them, in as many columns as fit."""
    handles: dict[str, Any] = {}
    for a in axes:
        for handle, name in zip(*a.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    # Curves without data come last.
    handles = dict(sorted(handles.items(), key=lambda item: _is_empty(item[1])))
    if handles:
        # A character takes about 0.058 in, a legend line with its margins 0.6 in.
        widest = 0.6 + 0.058 * max(len(name) for name in handles)
        columns = max(1, min(columns, int(figure.get_figwidth() / widest)))
        rows = math.ceil(len(handles) / columns)
        columns = math.ceil(len(handles) / rows)
        # More than two lines increase the height of the figure.
        figure.set_figheight(figure.get_figheight() + LINE_IN * max(0, rows - 2))
        names = _by_rows(list(handles), columns)
        figure.legend(
            [handles[name] for name in names],
            names,
            loc="outside upper center",
            ncols=columns,
            frameon=False,
            handlelength=3,
        )


def _by_rows(names: list[str], columns: int) -> list[str]:
    """Reorders names so that a legend, which is filled column by column, shows them row by row.

    The first columns of a legend may have one more entry than the others.
    """
    return [name for column in range(columns) for name in names[column::columns]]


def _is_empty(handle: Any) -> bool:
    data = getattr(handle, "get_xdata", None)
    return data is not None and len(data()) == 0


# Published values are black with a white edge (`tick`), triangles at the edge (`stated`) or diamonds
# with a black edge (`printed`); their tolerance is a grey band. Ours are in the colour of the
# scheme: a mean, and a dot for each run, which unlike whiskers never leaves the possible range.
# Hollow marks are Linux's schemes beside those of the study's simulator.
DOT = {"marker": ".", "markersize": 3.5, "alpha": 0.55, "linestyle": "none", "markeredgewidth": 0}
LINUX = "Linux's schemes (hollow)"


def over(axis: Any, runs: pd.DataFrame, x: str, y: str, cc: str, name: str | None = None, **keys: Any) -> None:
    """Draws means over `x` as a line, and each run as a dot."""
    if runs.empty:
        return
    mean = runs.groupby(x)[y].mean()
    axis.plot(runs[x], runs[y], color=look(cc)["color"], zorder=1.8, **DOT)
    axis.plot(mean.index, mean, label=name or label(cc), **{**look(cc), **keys})


def hollow_over(axis: Any, runs: pd.DataFrame | None, x: str, y: str, cc: str) -> None:
    """Draws the means of Linux's scheme over `x` as hollow marks."""
    if runs is None or runs.empty:
        return
    mean = runs[runs["cc"] == cc].groupby(x)[y].mean()
    axis.plot(mean.index, mean, **_hollow(cc), zorder=1.9)


def cloud(axis: Any, x: Sequence[float], y: Sequence[float], cc: str, *, linux: bool = False) -> None:
    """Draws runs in two quantities as dots, and their mean as a mark; hollow for Linux's scheme."""
    import numpy as np

    if not len(x):
        return
    axis.plot(x, y, color=look(cc)["color"], **{**DOT, **({"alpha": 0.25} if linux else {})})
    if linux:
        axis.plot(np.mean(x), np.mean(y), **_hollow(cc))
    else:
        axis.plot(np.mean(x), np.mean(y), label=label(cc), zorder=3, **{**look(cc), "linestyle": "none"})


def dots(axis: Any, x: float, values: Sequence[float], half: float) -> None:
    """Draws the runs of a bar as dots, spread over its width."""
    import numpy as np

    if len(values) > 1:
        places = x + np.linspace(-0.7, 0.7, len(values)) * half
        axis.plot(places, values, color=INK, zorder=4, marker=".", markersize=3.5, linestyle="none", markeredgewidth=0)


def hollow_at(axis: Any, x: float, value: float, cc: str) -> None:
    """Draws the mean of Linux's scheme at a bar."""
    axis.plot(x, value, **_hollow(cc), zorder=4.5)


def name_hollow(axis: Any) -> None:
    """Adds hollow marks to the legend."""
    axis.plot([], [], marker="o", markerfacecolor="white", markeredgecolor=SOFT, linestyle="none", label=LINUX)


def _hollow(cc: str) -> dict[str, Any]:
    colour, marker = look(cc)["color"], look(cc).get("marker") or "o"
    return {
        "marker": marker, "markersize": 5, "markerfacecolor": "white", "markeredgecolor": colour, "linestyle": "none"
    }  # fmt: skip


def tolerance(axis: Any, x: float, half: float, low: float, high: float) -> None:
    """Draws the tolerance around a published value at a bar or a point as a grey band."""
    axis.fill_between([x - half, x + half], low, high, color=SOFT, alpha=0.35, linewidth=0, zorder=3.5)


def printed(axis: Any, x: float, y: float, cc: str) -> None:
    """Draws a published pair of values as a diamond in the colour of its scheme, with a black edge."""
    (drawn,) = axis.plot(
        x, y, marker="D", markersize=5.5, color=look(cc)["color"], markeredgecolor="black", markeredgewidth=0.9,
        linestyle="none", zorder=6,
    )  # fmt: skip
    mark(axis, drawn)


FAIR = {"max-min fair": (0, (6, 2)), "proportionally fair": (0, (1, 2))}
"""Dashes of the lines that mark two kinds of fairness."""


def fair(axis: Any, name: str, level: float) -> None:
    """Draws a line at the ratio of goodputs under a kind of fairness."""
    axis.axhline(level, color=SOFT, linewidth=0.9, linestyle=FAIR[name], label=name)


PUBLISHED = "published"
"""Prefix of the names of published values in a figure (`Artist.get_gid`)."""


def mark(axis: Any, artist: Any) -> None:
    """Names an artist as a published value; names are unique in a figure."""
    artist.set_gid(f"{PUBLISHED}-{axis.get_figure().axes.index(axis)}-{len(axis.get_children())}")


def tick(axis: Any, x: float, half: float, level: float) -> None:
    """Draws a published value over a bar, black with a white edge, visible on any colour."""
    for width, colour in ((2.8, "white"), (1.3, "black")):
        (drawn,) = axis.plot(
            [x - half, x + half], [level, level], color=colour, linewidth=width, solid_capstyle="butt", zorder=5
        )
    mark(axis, drawn)


def published(axis: Any, x: float, colour: str = "black", label: str | None = "published") -> None:
    """Draws a published value on the abscissa as a dotted line in the colour of its scheme."""
    mark(axis, axis.axvline(x, color=colour, linewidth=1, linestyle=(0, (1, 1.5)), zorder=0.5, label=label))


def stated(axis: Any, levels: Iterable[tuple[float, str]]) -> None:
    """Draws published levels of schemes as triangles in their colours at the right edge.

    Equal levels are drawn side by side.
    """
    beside: dict[float, int] = {}
    for level, cc in levels:
        at = beside[level] = beside.get(level, -1) + 1
        (drawn,) = axis.plot(
            1.03 + 0.045 * at,
            level,
            marker="<",
            markersize=5,
            color=look(cc)["color"],
            markeredgecolor="black",
            markeredgewidth=0.5,
            linestyle="none",
            clip_on=False,
            zorder=6,
            transform=axis.get_yaxis_transform(),
        )
        mark(axis, drawn)
    axis.plot([], [], marker="<", color=SOFT, linestyle="none", label="published (right edge)")


def cdf(axis: Any, values: Sequence[float], cc: str, name: str | None = None, **keys: Any) -> None:
    """Draws the empirical distribution of values as steps."""
    import numpy as np

    x = np.sort(np.asarray(values, dtype=float))
    x = x[~np.isnan(x)]
    if len(x):
        y = np.arange(1, len(x) + 1) / len(x)
        axis.step(x, y, where="post", label=name or label(cc), **{**line(cc), **keys})


def heat(axis: Any, rows: Sequence[str], columns: Sequence[str], cells: Any, errors: Any = None, **keys: Any) -> Any:
    """Draws a heat map with the numbers in its cells."""
    import numpy as np

    grid = np.asarray(cells, dtype=float)
    keys.setdefault("cmap", "cividis")
    image = axis.imshow(np.ma.masked_invalid(grid), aspect="auto", **keys)
    axis.grid(visible=False)
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(rows)), rows)
    low, high = image.get_clim()
    for (i, j), v in np.ndenumerate(grid):
        if np.isnan(v):
            axis.text(j, i, "-", ha="center", va="center", color=SOFT, fontsize=7)
            continue
        red, green, blue, _ = image.cmap((v - low) / max(high - low, 1e-12))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        text = f"{v:.2f}" if errors is None or np.isnan(errors[i][j]) else f"{v:.2f}\n±{errors[i][j]:.2f}"
        axis.text(j, i, text, ha="center", va="center", color="white" if dark else "black", fontsize=6.5)
    return image


def framed(axis: Any, row: int, column: int) -> None:
    """Draws a frame around a cell of a heat map, which marks it as a published value."""
    from matplotlib.patches import Rectangle

    frame = Rectangle((column - 0.46, row - 0.44), 0.92, 0.88, fill=False, edgecolor="black", linewidth=1.4, zorder=4)
    mark(axis, axis.add_patch(frame))


def save(figure: Any, folder: Path, name: str) -> None:
    """Writes NAME.svg, NAME.pdf and NAME.png without dates: equal data yields equal files."""
    import matplotlib.pyplot as plt

    inner(folder)
    kinds: dict[str, dict[str, Any]] = {
        "svg": {"metadata": {"Date": None, "Creator": None}},
        "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
        "png": {"metadata": {"Software": None}, "dpi": 150},
    }
    for kind, options in kinds.items():
        path = folder / f"{name}.{kind}"
        with written(path) as partial:
            figure.savefig(partial, format=kind, **options)
    plt.close(figure)
