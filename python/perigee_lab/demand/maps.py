# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Maps of a record: what cells get and miss, loads of links, losses against another record."""

from __future__ import annotations

import shutil
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError, write_text, written
from perigee_lab.demand import outages
from perigee_lab.demand.columns import DIRECTIONS, KINDS
from perigee_lab.sky.over_time_maps import base, encoding
from perigee_lab.sky.skymap import labels, segments

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from perigee_lab.demand.record import Record

MAPS = ("rate", "below", "unserved", "load", "lost")
WIDE_IN, HIGH_IN = 7.16, 3.75
ISL, FEEDER = KINDS.index("isl"), KINDS.index("feeder")
# Frames of a film: more of a day than this are hard to follow.
MOST_FRAMES = 96
FRAMES_PER_S = 8
# A map shows the world if cells and gateways are farther apart than this, north to south.
REGION_DEG = 50.0
# Colours of loads, in percent of the capacity.
LOADS = "YlOrRd"
# More cells than this are merged into squares, of which this number fits the width of the map.
MOST_DOTS = 400
SQUARES = 75
SQUARE_DEG = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
# Named links of a map of loads: this number, with this load or more. Named gateways.
HOTTEST = 6
HOT_PERCENT = 50.0
# Characters of a line of the title.
TITLE_WIDTH = 105
# Characters of a legend of one line.
LEGEND_WIDTH = 120
MOST_NAMED = 40
FAILS = "gateway that fails"
IDLE = "gateway without traffic (out by rain, or unused)"
GATEWAY, FAILED, UNKNOWN = "white", "#d1495b", "#9aa3ad"
# Side of a square with few terminals, of that with most.
LEAST_SIDE = 0.35


@dataclass(frozen=True)
class Cells:
    """A value for each cell."""

    title: str
    unit: str
    values: npt.NDArray[np.float64]
    high: float
    """End of the scale."""
    more_is_better: bool
    weights: npt.NDArray[np.float64]
    """Weights of cells in the mean of several: terminals or traffic to which the value applies."""
    unknown: str = "no active terminals"
    """Cells without a value."""


def draw(record: Record, what: str, direction: int, t_s: float | None, other: Record | None = None) -> Any:
    """Draws a map. Raises DemandError for damaged records, and for two with different cells."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(WIDE_IN, HIGH_IN), layout="constrained")
    _draw(figure, axis, record, what, direction, t_s, other)
    return figure


def draw_on(figure: Any, record: Record, what: str, other: Record | None = None) -> None:
    """Draws a map of the traffic to the terminals over the run on an empty figure."""
    _draw(figure, figure.subplots(), record, what, 0, None, other)


def _draw(
    figure: Any, axis: Any, record: Record, what: str, direction: int, t_s: float | None, other: Record | None
) -> None:
    base(axis)
    chosen = what == "load" and t_s is None
    if chosen:
        t_s = busiest(record, direction)
    whole = "mean over the run"
    if record.window_s is not None:
        whole = f"mean from {clock(record.window_s[0])} to {clock(record.window_s[1])}"
    when = whole if t_s is None else f"at {clock(t_s)}" + (", the busiest interval" if chosen else "")
    _zoom(axis, record)
    if t_s is not None and what == "load":
        title = "load of ISLs, feeders and gateways"
        marks, named = _loads(figure, axis, record, direction, t_s)
    else:
        found = cells(record, what, direction, t_s, other)
        marks, named = _ground(figure, axis, record, found), []
        marks += _gateways(axis, record, t_s)
        title = found.title
    text = f"{record.start['title']}: {title}, {DIRECTIONS[direction]}, {when}"
    axis.set_title(quoting.plot("\n".join(textwrap.wrap(text, TITLE_WIDTH))), loc="left", fontsize=8)
    columns = 4 if sum(len(m.get_label()) for m in marks) < LEGEND_WIDTH else 2
    axis.legend(
        handles=marks, loc="upper center", bbox_to_anchor=(0.5, -0.07), ncols=columns, fontsize=6.5, frameon=False
    )
    gateways = [((_turned(g["lon"]), g["lat"]), g["name"]) for g in record.start["gateways"]]
    if len(gateways) <= MOST_NAMED or what == "load":
        ground = record.cells
        dots = what != "load" and len(ground) <= MOST_DOTS
        cells_at = list(zip(ground["lon_deg"].tolist(), ground["lat_deg"].tolist(), strict=True)) if dots else []
        labels(figure, axis, named or gateways, [*(at for at, _ in gateways), *cells_at], 6.5, 9.0)


def _zoom(axis: Any, record: Record) -> None:
    """Shows the region of cells and gateways if that is a part of the world."""
    ground = record.vertices[record.vertices["kind"] != "satellite"]
    lon, lat = (ground[name].to_numpy(np.float64) for name in ("lon_deg", "lat_deg"))
    wide, high = float(np.ptp(lon)), float(np.ptp(lat))
    if max(wide / 2, high) > REGION_DEG:
        return
    # Twice as wide as high, as the world is.
    half = max(wide / 4, high / 2) * 1.25 + 2.0
    x, y = float(lon.min() + wide / 2), float(lat.min() + high / 2)
    axis.set_xticks(np.arange(-180, 181, 10))
    axis.set_yticks(np.arange(-90, 91, 10))
    axis.set_xlim(x - 2 * half, x + 2 * half)
    axis.set_ylim(y - half, y + half)


def clock(t_s: float) -> str:
    """A time since the start of the run."""
    return f"{t_s / 3600:.4g} h" if t_s >= 3600 else f"{t_s / 60:.4g} min" if t_s >= 60 else f"{t_s:.4g} s"


def cells(record: Record, what: str, direction: int, t_s: float | None, other: Record | None = None) -> Cells:
    """The value of each cell, over the run or at an instant."""
    mine = _rates(record, direction, t_s)
    if what == "unserved":
        share = 100 * (1 - _divided(mine["served"], mine["offered"]))
        return Cells("offered traffic that is not served", "%", share, 100.0, False, mine["offered"])
    if what == "below":
        share = 100 * (_divided(mine["below"], mine["active"]))
        title = f"active terminals with less than {record.start['threshold_bps'] / 1e6:g} Mbit/s (or their plan)"
        return Cells(title, "% of active terminals", share, 100.0, False, mine["active"])
    rate = _divided(mine["served"], mine["active"]) / 1e6
    if what == "rate":
        # A few cells with everything that they want would darken all others.
        high = (
            max(float(np.nanpercentile(rate, 98)), record.start["threshold_bps"] / 1e6 / 2)
            if np.isfinite(rate).any()
            else 1.0
        )
        return Cells("rate of an active terminal", "Mbit/s", rate, high, True, mine["active"])
    if (
        other is None
        or len(other.cells) != len(record.cells)
        or list(other.cells["name"]) != list(record.cells["name"])
    ):
        raise RecordError("the two records have different cells: compare demands with the same [demand] cells")
    before = _rates(other, direction, t_s)
    lost = 100 * (1 - _divided(mine["served"], before["served"]))
    known = lost[np.isfinite(lost)]
    high = max(float(np.percentile(known, 98)), 5.0) if len(known) else 100.0
    title = f"traffic lost against {other.folder.name}"
    return Cells(title, "%", lost, high, False, before["served"], "served in neither record")


def _divided(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Quotients, NaN or infinite where `b` is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return a / b


def _rates(record: Record, direction: int, t_s: float | None) -> dict[str, npt.NDArray[np.float64]]:
    """Active terminals, those below the threshold, offered and served traffic of each cell, all plans together."""
    count = int(record.start["cells"])
    found = {name: np.zeros(count) for name in ("active", "below", "offered", "served")}
    if t_s is None:
        frame = record.by_cell
        frame = frame[frame["direction"] == DIRECTIONS[direction]]
        plans = len(record.start["plans"])
        for name, column in (("active", "active"), ("offered", "offered_bps"), ("served", "served_bps")):
            found[name] = frame[column].to_numpy(np.float64).reshape(count, plans).sum(axis=1)
        below = (frame["below_share"].fillna(0.0) * frame["active"]).to_numpy(np.float64)
        found["below"] = below.reshape(count, plans).sum(axis=1)
        return found
    rows = record.part("cells", int(t_s // record.chunk_s))
    start = t_s // record.start["record_s"] * record.start["record_s"]
    rows = rows[(rows["t_s"] == start) & (rows["direction"] == direction)]
    for name in ("active", "below"):
        np.add.at(found[name], rows["cell"], rows[name])
    np.add.at(found["offered"], rows["cell"], rows["elastic_offered_bps"] + rows["inelastic_offered_bps"])
    np.add.at(found["served"], rows["cell"], rows["elastic_bps"] + rows["inelastic_bps"])
    return found


def _ground(figure: Any, axis: Any, record: Record, found: Cells) -> list[Any]:
    """Draws cells in the colours of their values, many of them merged into squares; returns the legend."""
    ground = record.cells
    many = len(ground) > MOST_DOTS
    colours = "viridis" if found.more_is_better else "viridis_r"
    look = {"cmap": colours, "edgecolors": "#111827", "linewidths": 0.2, "zorder": 4}
    if many:
        shown, most, size = _squares(axis, ground, found, look)
        text = f"square of {size:g}°; area: its terminals (the largest: {most:,.0f})"
    else:
        shown = _dots(axis, ground, found, look)
        text = f"cell; area: its terminals (the largest: {ground['terminals'].max():,.0f})"
    shown.set_clim(0, found.high)
    above = bool(np.nanmax(found.values, initial=0.0) > found.high)
    bar = figure.colorbar(shown, ax=axis, shrink=0.85, pad=0.01, extend="max" if above else "neither")
    bar.ax.tick_params(labelsize=7)
    bar.set_label(found.unit, fontsize=7)
    if not found.more_is_better and not np.any(np.nan_to_num(found.values)):
        note = f"0 {found.unit} in all cells"
        axis.text(0.5, 0.97, note, transform=axis.transAxes, ha="center", va="top", fontsize=8, zorder=8)
    marks = [_mark("s" if many else "o", "#5ec962", text)]
    if not np.isfinite(found.values).all():
        marks.append(_mark("s" if many else "o", UNKNOWN, found.unknown))
    return marks


def _mark(marker: str, colour: str, label: str) -> Any:
    """An entry of the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker=marker, color=colour, mec="#111827", mew=0.4, ms=5, label=label)


def _dots(axis: Any, ground: pd.DataFrame, found: Cells, look: dict[str, Any]) -> Any:
    """A disc for each cell."""
    terminals = ground["terminals"].to_numpy()
    size = 3 + 60 * np.sqrt(terminals / max(float(terminals.max()), 1.0))
    order = np.argsort(-terminals, kind="stable")
    known = np.isfinite(found.values)
    unknown = order[~known[order]]
    axis.scatter(ground["lon_deg"][unknown], ground["lat_deg"][unknown], s=size[unknown] / 2, color=UNKNOWN, lw=0)
    shown = order[known[order]]
    return axis.scatter(
        ground["lon_deg"][shown], ground["lat_deg"][shown], s=size[shown], c=found.values[shown], **look
    )


def _squares(axis: Any, ground: pd.DataFrame, found: Cells, look: dict[str, Any]) -> tuple[Any, float, float]:
    """Squares with the mean of their cells; returns them, the most terminals of one, and their size in degrees."""
    from matplotlib.collections import PolyCollection

    west, east = axis.get_xlim()
    size = next((d for d in SQUARE_DEG if (east - west) / d <= SQUARES), SQUARE_DEG[-1])
    place = np.stack([np.floor(ground[c].to_numpy(np.float64) / size) for c in ("lon_deg", "lat_deg")], axis=1)
    squares, number = np.unique(place, axis=0, return_inverse=True)
    known = np.isfinite(found.values)
    weights = np.where(known, found.weights, 0.0)
    sums = [
        np.bincount(number.reshape(-1), weights=w, minlength=len(squares))
        for w in (ground["terminals"].to_numpy(np.float64), weights, weights * np.where(known, found.values, 0.0))
    ]
    terminals, weight, total = sums
    half = 0.5 * size * np.clip(np.sqrt(terminals / max(float(terminals.max()), 1.0)), LEAST_SIDE, 0.97)
    centre = (squares + 0.5) * size
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    polygons = centre[:, None, :] + half[:, None, None] * corners[None]
    there = weight > 0
    axis.add_collection(PolyCollection(polygons[~there], facecolors=UNKNOWN, linewidths=0, zorder=3))
    shown = PolyCollection(polygons[there], array=total[there] / weight[there], **look)
    axis.add_collection(shown)
    return shown, float(terminals.max()), size


def _gateways(axis: Any, record: Record, t_s: float | None) -> list[Any]:
    """Draws gateways as triangles, crosses while out of service; returns the legend."""
    failed, idle = outages.failing(record, t_s), outages.idle(record, t_s)
    marks = {}
    for g in record.start["gateways"]:
        marker, colour, text = _state(g["name"], failed, idle)
        at = [_turned(g["lon"])], [g["lat"]]
        axis.plot(*at, marker=marker, ms=_size(record), color=colour, mec="#111827", mew=0.7, zorder=6)
        marks[text] = _mark(marker, colour, text)
    return list(marks.values())


def _state(name: str, failed: set[str], idle: set[str]) -> tuple[str, str, str]:
    """Marker, colour and text of the legend of a gateway."""
    if name in failed:
        return "X", FAILED, FAILS
    return ("X", UNKNOWN, IDLE) if name in idle else ("^", GATEWAY, "gateway")


def _size(record: Record) -> float:
    """Size of the marks of gateways in points: many would hide the cells."""
    return 5.5 if len(record.start["gateways"]) <= MOST_NAMED else 3.0


def _turned(lon: float) -> float:
    return (lon + 180) % 360 - 180


def _loads(
    figure: Any, axis: Any, record: Record, direction: int, t_s: float
) -> tuple[list[Any], list[tuple[tuple[float, float], str]]]:
    """Draws ISLs, feeders and gateways in the colours of their loads.

    Returns the legend, and names of the hottest with their places.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    links, place = links_at(record, direction, t_s)
    share = 100 * (links["mean_bps"] / links["capacity_bps"]).to_numpy(np.float64)
    order = np.argsort(share, kind="stable")
    pieces, values, styles = [], [], []
    for i in order.tolist():
        for piece in _pieces(place, links["from"].iloc[i], links["to"].iloc[i]):
            pieces.append(piece)
            values.append(share[i])
            styles.append("-" if links["kind"].iloc[i] == FEEDER else (0, (2.5, 1.0)))
    at_gateways = gateway_loads(record, direction, t_s)
    lines = LineCollection(
        pieces, cmap=LOADS, linewidths=[0.4 + 0.018 * v for v in values], linestyles=styles, zorder=3
    )
    lines.set_array(np.array(values))
    # The same scale in each map, so that maps can be compared.
    lines.set_clim(0, 100)
    axis.add_collection(lines)
    bar = figure.colorbar(lines, ax=axis, shrink=0.85, pad=0.01)
    bar.ax.tick_params(labelsize=7)
    bar.set_label("load, % of the capacity", fontsize=7)
    hottest = _hottest(axis, record, place, links, share)
    failed, idle = outages.failing(record, t_s), outages.idle(record, t_s)
    states = {}
    for g in record.start["gateways"]:
        at = (_turned(g["lon"]), g["lat"])
        load = at_gateways.get(g["name"], 0.0)
        marker, colour, text = _state(g["name"], failed, idle)
        out = marker == "X"
        if out:
            states[text] = _mark(marker, colour, text)
        else:
            colour = lines.to_rgba(np.array([load]))[0]
        axis.plot(
            [at[0]],
            [at[1]],
            marker=marker,
            ms=_size(record) + 1.5,
            color=colour,
            mec="#111827",
            mew=0.7,
            zorder=6,
        )
        if out or load >= HOT_PERCENT or len(record.start["gateways"]) <= MOST_NAMED:
            what = "fails" if text == FAILS else "no traffic"
            hottest.append((at, f"{g['name']}: {what}" if out else f"{g['name']} {load:.0f} %"))
    marks = [
        Line2D([], [], color="#e31a1c", lw=1.4, label="feeder (gateway to satellite)"),
        Line2D([], [], color="#e31a1c", lw=1.4, linestyle=(0, (2.5, 1.0)), label="ISL (satellite to satellite)"),
        _mark("^", "#fd8d3c", "gateway, with its load"),
    ]
    return [*marks, *states.values()], hottest


def _hottest(
    axis: Any,
    record: Record,
    place: dict[int, tuple[float, float]],
    links: pd.DataFrame,
    share: npt.NDArray[np.float64],
) -> list[tuple[tuple[float, float], str]]:
    """Names of hot links with both ends on the map, at their middles."""
    names = record.vertices["name"]
    found: list[tuple[tuple[float, float], str]] = []
    (west, east), (south, north) = axis.get_xlim(), axis.get_ylim()
    for i in np.argsort(-share, kind="stable").tolist():
        if share[i] < HOT_PERCENT or len(found) == HOTTEST:
            break
        ends = [place[links[end].iloc[i]] for end in ("from", "to")]
        inside = all(west < x < east and south < y < north for x, y in ends)
        if not inside or abs(ends[0][0] - ends[1][0]) > 180:
            continue
        middle = ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
        found.append((middle, f"{names[links['from'].iloc[i]]} to {names[links['to'].iloc[i]]} {share[i]:.0f} %"))
    return found


def gateway_loads(record: Record, direction: int, t_s: float) -> dict[str, float]:
    """Loads of gateways in percent of their capacity in the interval of an instant, by name."""
    links = record.part("links", int(t_s // record.chunk_s))
    start = t_s // record.start["record_links_s"] * record.start["record_links_s"]
    links = links[
        (links["t_s"] == start) & (links["kind"] == KINDS.index("gateway")) & (links["direction"] == direction)
    ]
    names = record.vertices["name"]
    share = 100 * links["mean_bps"].to_numpy(np.float64) / links["capacity_bps"].to_numpy(np.float64)
    return dict(zip(names.loc[links["from"]].tolist(), share.tolist(), strict=True))


def _pieces(place: dict[int, tuple[float, float]], origin: int, target: int) -> list[npt.NDArray[np.float64]]:
    """The line between two vertices, in degrees east and north, cut at the date line."""
    (lon_a, lat_a), (lon_b, lat_b) = place[origin], place[target]
    return segments(np.array([[lat_a, lon_a], [lat_b, lon_b]]))


def busiest(record: Record, direction: int) -> float:
    """Start of the interval of links in which most traffic flows, within the window."""
    steps = record.table("steps")
    steps = steps[steps["direction"] == direction]
    if record.window_s is not None:
        steps = steps[steps["t_s"].between(*record.window_s, inclusive="left")]
    served = steps["elastic_bps"] + steps["inelastic_bps"]
    length = record.start["record_links_s"]
    return float(steps["t_s"].iloc[int(served.to_numpy().argmax())] // length * length)


def links_at(record: Record, direction: int, t_s: float) -> tuple[pd.DataFrame, dict[int, tuple[float, float]]]:
    """ISLs and feeders with load in the interval of an instant, and places by vertex."""
    number = int(t_s // record.chunk_s)
    start = t_s // record.start["record_links_s"] * record.start["record_links_s"]
    links = record.part("links", number)
    kinds = links["kind"].isin([ISL, FEEDER])
    links = links[(links["t_s"] == start) & kinds & (links["direction"] == direction)]
    tracks = record.part("tracks", number)
    tracks = tracks[tracks["t_s"] == start]
    of = [tracks[c].to_numpy(np.float64).tolist() for c in ("lon_deg", "lat_deg")]
    place = dict(zip(tracks["satellite"].tolist(), zip(*of, strict=True), strict=True))
    first = int(record.start["satellites"])
    place |= {first + i: (_turned(g["lon"]), g["lat"]) for i, g in enumerate(record.start["gateways"])}
    return links, place


def film(record: Record, what: str, direction: int, file: Path) -> None:
    """A map over the run: GIF by Pillow, MP4 by ffmpeg.

    Raises RecordError for a map that compares records, NoFilmError without ffmpeg.
    """
    import matplotlib.pyplot as plt
    from matplotlib.animation import FFMpegWriter, PillowWriter

    from perigee_lab.sky.over_time_maps import refuse_without_ffmpeg

    refuse_without_ffmpeg(file)
    if what == "lost":
        raise RecordError("a film shows one record: say --map rate, below, unserved or load")
    step_s = max(record.start["record_links_s"], record.start["duration_s"] / MOST_FRAMES)
    writer: Any = PillowWriter(fps=FRAMES_PER_S) if file.suffix == ".gif" else FFMpegWriter(fps=FRAMES_PER_S)
    figure = plt.figure(figsize=(WIDE_IN, HIGH_IN), layout="constrained")
    try:
        with written(file, folders=True) as partial, tempfile.TemporaryDirectory(prefix="perigee-") as scratch:
            # The writers choose the format by file extension.
            named = Path(scratch, f"film{file.suffix}")
            with encoding(file), writer.saving(figure, str(named), dpi=100):
                for t_s in np.arange(0.0, record.start["duration_s"], step_s).tolist():
                    figure.clear()
                    _draw(figure, figure.subplots(), record, what, direction, t_s, None)
                    writer.grab_frame()
            shutil.copyfile(named, partial)
    finally:
        plt.close(figure)


def write_geojson(
    record: Record, what: str, direction: int, t_s: float | None, file: Path, other: Record | None = None
) -> None:
    """Cells as points with their value, or links as lines with their load."""
    features: list[dict[str, Any]] = []
    if what == "load":
        at = busiest(record, direction) if t_s is None else t_s
        links, place = links_at(record, direction, at)
        names = record.vertices["name"]
        for row in links.to_dict("records"):
            of = {"from": names[row["from"]], "to": names[row["to"]], "kind": KINDS[row["kind"]],
                  "mean_mbps": round(row["mean_bps"] / 1e6, 3),
                  "capacity_mbps": round(row["capacity_bps"] / 1e6, 3)}  # fmt: skip
            lines = [piece.tolist() for piece in _pieces(place, row["from"], row["to"])]
            features.append(_feature({"type": "MultiLineString", "coordinates": lines}, of))
    else:
        found = cells(record, what, direction, t_s, other)
        for cell, value in zip(record.cells.to_dict("records"), found.values.tolist(), strict=True):
            known = round(value, 4) if np.isfinite(value) else None
            of = {"name": cell["name"], "terminals": round(cell["terminals"], 1), what: known, "unit": found.unit}
            features.append(_feature({"type": "Point", "coordinates": [cell["lon_deg"], cell["lat_deg"]]}, of))
    write_text(file, quoting.geojson({"type": "FeatureCollection", "features": features}) + "\n")


def _feature(geometry: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}
