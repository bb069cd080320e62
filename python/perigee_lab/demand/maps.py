# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Maps of a record: what cells get and miss, loads of links, losses against another record."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError, write_text, written
from perigee_lab.demand.columns import DIRECTIONS, KINDS
from perigee_lab.sky.over_time_maps import base
from perigee_lab.sky.skymap import segments

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from perigee_lab.demand.record import Record

MAPS = ("rate", "unserved", "load", "lost")
WIDE_IN = 7.16
ISL, FEEDER = KINDS.index("isl"), KINDS.index("feeder")
# Frames of a film: more of a day than this are hard to follow.
MOST_FRAMES = 96
FRAMES_PER_S = 8
# A map shows the world if cells and gateways are farther apart than this, north to south.
REGION_DEG = 50.0
# Colours of loads, as shares of the capacity.
LOADS = "YlOrRd"


@dataclass(frozen=True)
class Cells:
    """A value for each cell."""

    title: str
    unit: str
    values: npt.NDArray[np.float64]
    high: float
    """End of the scale."""
    more_is_better: bool


def draw(record: Record, what: str, direction: int, t_s: float | None, other: Record | None = None) -> Any:
    """Draws a map. Raises DemandError for damaged records, and for two with different cells."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(WIDE_IN, 4.0), layout="constrained")
    _draw(figure, axis, record, what, direction, t_s, other)
    return figure


def draw_on(figure: Any, record: Record, what: str, other: Record | None = None) -> None:
    """Draws a map of the traffic to the terminals over the run on an empty figure."""
    _draw(figure, figure.subplots(), record, what, 0, None, other)


def _draw(
    figure: Any, axis: Any, record: Record, what: str, direction: int, t_s: float | None, other: Record | None
) -> None:
    base(axis)
    if what == "load" and t_s is None:
        t_s = busiest(record, direction)
    whole = "mean over the run"
    if record.window_s is not None:
        whole = f"mean from {_clock(record.window_s[0])} to {_clock(record.window_s[1])}"
    when = whole if t_s is None else f"at {_clock(t_s)}"
    if t_s is not None and what == "load":
        title = _loads(figure, axis, record, direction, t_s)
    else:
        found = cells(record, what, direction, t_s, other)
        _dots(figure, axis, record, found)
        title = found.title
    _gateways(axis, record)
    _zoom(axis, record)
    text = f"{record.start['title']}: {title}, {DIRECTIONS[direction]}, {when}"
    axis.set_title(quoting.plot(text), loc="left", fontsize=8)


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


def _clock(t_s: float) -> str:
    return f"{t_s / 3600:.4g} h" if t_s >= 3600 else f"{t_s:.4g} s"


def cells(record: Record, what: str, direction: int, t_s: float | None, other: Record | None = None) -> Cells:
    """The value of each cell, over the run or at an instant."""
    mine = _rates(record, direction, t_s)
    if what == "unserved":
        with np.errstate(invalid="ignore", divide="ignore"):
            share = 100 * (1 - mine["served"] / mine["offered"])
        return Cells("offered traffic that is not served", "%", share, 100.0, more_is_better=False)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = mine["served"] / mine["active"] / 1e6
    if what == "rate":
        # A few cells with everything that they want would darken all others.
        high = (
            max(float(np.nanpercentile(rate, 98)), record.start["threshold_bps"] / 1e6 / 2)
            if np.isfinite(rate).any()
            else 1.0
        )
        return Cells("rate of an active terminal", "Mbit/s", rate, high, more_is_better=True)
    if (
        other is None
        or len(other.cells) != len(record.cells)
        or list(other.cells["name"]) != list(record.cells["name"])
    ):
        raise RecordError("the two records have different cells: compare demands with the same [demand] cells")
    before = _rates(other, direction, t_s)
    with np.errstate(invalid="ignore", divide="ignore"):
        lost = 100 * (1 - mine["served"] / before["served"])
    known = lost[np.isfinite(lost)]
    high = max(float(np.percentile(known, 98)), 5.0) if len(known) else 100.0
    return Cells(f"traffic lost against {other.folder.name}", "%", lost, high, more_is_better=False)


def _rates(record: Record, direction: int, t_s: float | None) -> dict[str, npt.NDArray[np.float64]]:
    """Active terminals, offered and served traffic of each cell, all plans together."""
    count = int(record.start["cells"])
    found = {"active": np.zeros(count), "offered": np.zeros(count), "served": np.zeros(count)}
    if t_s is None:
        frame = record.by_cell
        frame = frame[frame["direction"] == DIRECTIONS[direction]]
        plans = len(record.start["plans"])
        for name, column in (("active", "active"), ("offered", "offered_bps"), ("served", "served_bps")):
            found[name] = frame[column].to_numpy(np.float64).reshape(count, plans).sum(axis=1)
        return found
    rows = record.part("cells", int(t_s // record.chunk_s))
    start = t_s // record.start["record_s"] * record.start["record_s"]
    rows = rows[(rows["t_s"] == start) & (rows["direction"] == direction)]
    np.add.at(found["active"], rows["cell"], rows["active"])
    np.add.at(found["offered"], rows["cell"], rows["elastic_offered_bps"] + rows["inelastic_offered_bps"])
    np.add.at(found["served"], rows["cell"], rows["elastic_bps"] + rows["inelastic_bps"])
    return found


def _dots(figure: Any, axis: Any, record: Record, found: Cells) -> None:
    ground = record.cells
    terminals = ground["terminals"].to_numpy()
    size = 3 + 60 * np.sqrt(terminals / max(float(terminals.max()), 1.0))
    order = np.argsort(-terminals, kind="stable")
    known = np.isfinite(found.values)
    unknown = order[~known[order]]
    axis.scatter(ground["lon_deg"][unknown], ground["lat_deg"][unknown], s=size[unknown] / 2, color="#9aa3ad", lw=0)
    shown = order[known[order]]
    colours = "viridis" if found.more_is_better else "viridis_r"
    dots = axis.scatter(
        ground["lon_deg"][shown], ground["lat_deg"][shown], s=size[shown], c=found.values[shown], cmap=colours,
        vmin=0, vmax=found.high, edgecolors="#111827", linewidths=0.2, zorder=4,
    )  # fmt: skip
    bar = figure.colorbar(dots, ax=axis, shrink=0.85, pad=0.01)
    bar.ax.tick_params(labelsize=7)
    bar.set_label(f"{found.unit}; area: terminals", fontsize=7)


def _gateways(axis: Any, record: Record) -> None:
    """Triangles; red ones fail at some time."""
    failed = {f["gateway"] for f in record.start["failures"]}
    for g in record.start["gateways"]:
        colour = "#d1495b" if g["name"] in failed else "white"
        axis.plot([_turned(g["lon"])], [g["lat"]], marker="^", ms=4.5, color=colour, mec="#111827", mew=0.5, zorder=6)


def _turned(lon: float) -> float:
    return (lon + 180) % 360 - 180


def _loads(figure: Any, axis: Any, record: Record, direction: int, t_s: float) -> str:
    """Lines of ISLs and feeders in the colour of their loads."""
    from matplotlib.collections import LineCollection

    links, place = links_at(record, direction, t_s)
    share = (links["mean_bps"] / links["capacity_bps"]).to_numpy(np.float64)
    order = np.argsort(share, kind="stable")
    pieces, values, widths = [], [], []
    for i in order.tolist():
        for piece in _pieces(place, links["from"].iloc[i], links["to"].iloc[i]):
            pieces.append(piece)
            values.append(share[i])
            widths.append(0.4 + 1.8 * share[i])
    lines = LineCollection(pieces, cmap=LOADS, linewidths=widths, zorder=3)
    lines.set_array(np.array(values))
    # Small loads are visible on this scale, whatever the capacity.
    lines.set_clim(0, max(float(share.max(initial=0.0)), 0.1))
    axis.add_collection(lines)
    bar = figure.colorbar(lines, ax=axis, shrink=0.85, pad=0.01)
    bar.ax.tick_params(labelsize=7)
    bar.set_label("load / capacity", fontsize=7)
    return "load of ISLs and feeders"


def _pieces(place: dict[int, tuple[float, float]], origin: int, target: int) -> list[npt.NDArray[np.float64]]:
    """The line between two vertices, in degrees east and north, cut at the date line."""
    (lon_a, lat_a), (lon_b, lat_b) = place[origin], place[target]
    return segments(np.array([[lat_a, lon_a], [lat_b, lon_b]]))


def busiest(record: Record, direction: int) -> float:
    """Start of the interval of links in which most traffic flows."""
    steps = record.table("steps")
    steps = steps[steps["direction"] == direction]
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
    """A map over the run as a GIF. Raises RecordError for a map that compares records."""
    import matplotlib.pyplot as plt
    from matplotlib.animation import PillowWriter

    if what == "lost":
        raise RecordError("a film shows one record: say --map rate, unserved or load")
    step_s = max(record.start["record_links_s"], record.start["duration_s"] / MOST_FRAMES)
    writer = PillowWriter(fps=FRAMES_PER_S)
    figure = plt.figure(figsize=(WIDE_IN, 4.0), layout="constrained")
    try:
        with written(file, folders=True) as partial, tempfile.TemporaryDirectory(prefix="perigee-") as scratch:
            # The writer chooses the format by file extension.
            named = Path(scratch, "film.gif")
            with writer.saving(figure, str(named), dpi=100):
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
                  "mean_mbps": row["mean_bps"] / 1e6, "capacity_mbps": row["capacity_bps"] / 1e6}  # fmt: skip
            lines = [piece.tolist() for piece in _pieces(place, row["from"], row["to"])]
            features.append(_feature({"type": "MultiLineString", "coordinates": lines}, of))
    else:
        found = cells(record, what, direction, t_s, other)
        for cell, value in zip(record.cells.to_dict("records"), found.values.tolist(), strict=True):
            known = round(value, 4) if np.isfinite(value) else None
            of = {"name": cell["name"], "terminals": cell["terminals"], what: known, "unit": found.unit}
            features.append(_feature({"type": "Point", "coordinates": [cell["lon_deg"], cell["lat_deg"]]}, of))
    write_text(file, quoting.geojson({"type": "FeatureCollection", "features": features}) + "\n")


def _feature(geometry: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}
