# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Maps over time as figures, films and tables; `over_time` computes them."""

from __future__ import annotations

import csv
import dataclasses
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import written
from perigee_lab.sky.over_time import CELL_DEG, Floats, OverTime, Panel, grid
from perigee_lab.sky.skymap import SEA, coast, degrees

PICTURES = (".png", ".svg", ".pdf")
FILMS = (".gif", ".mp4")
TABLES = (".csv", ".geojson", ".czml")
# Frames per second of a film, and its largest number of frames.
FRAMES_PER_S = 12
MOST_FRAMES = 144
# Width of two journal columns in inches.
TWO_COLUMNS_IN = 7.16
# Perceptually uniform and safe for colour-blind readers; good values are bright.
COLOURS = {False: "viridis_r", True: "viridis"}


class NoFilmError(PerigeeError, ValueError):
    """A film cannot be written; the message has the missing requirement."""


def draw(found: OverTime, over_s: float) -> Any:
    """Draws the panels below each other, two journal columns wide."""
    import matplotlib.pyplot as plt

    rows = len(found.panels)
    size = (TWO_COLUMNS_IN, 3.15 * rows + 0.5)
    figure, axes = plt.subplots(rows, 1, figsize=size, layout="constrained", squeeze=False)
    for axis, panel in zip(axes[:, 0], found.panels, strict=True):
        _panel(figure, axis, panel, found)
    figure.suptitle(quoting.plot(f"{found.title}, {_span(over_s)}"), x=0.01, ha="left", fontsize=10)
    figure.supxlabel(found.note, x=0.01, ha="left", fontsize=7, color="#5b6876")
    return figure


def _span(over_s: float) -> str:
    return f"over {over_s / 3600:.4g} h" if over_s >= 3600 else f"over {over_s:.4g} s"


def base(axis: Any) -> None:
    """Draws land and grid of a world map."""
    axis.set_facecolor(SEA)
    coast(axis)
    axis.set_aspect("equal")
    axis.set_xticks(np.arange(-120, 181, 60))
    axis.set_yticks(np.arange(-60, 91, 30))
    axis.set_xlim(-180, 180)
    axis.set_ylim(-90, 90)
    degrees(axis)
    axis.tick_params(labelsize=7, color="#b8c0c8")
    axis.grid(alpha=0.25, linewidth=0.4)


def _limits(panel: Panel) -> tuple[float, float]:
    values = np.concatenate([panel.cells.ravel(), panel.places])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    if panel.unit == "%":
        return min(0.0, float(values.min())), 100.0
    # A few extreme cells at the edge of coverage would dominate the colour scale.
    low, high = (float(v) for v in np.percentile(values, [0, 99]))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _panel(figure: Any, axis: Any, panel: Panel, found: OverTime) -> Any:
    base(axis)
    low, high = _limits(panel)
    mesh = _mesh(axis, panel.cells, low, high, COLOURS[panel.more_is_better])
    _places(axis, panel.places, found, low, high, COLOURS[panel.more_is_better])
    bar = figure.colorbar(
        mesh, ax=axis, shrink=0.9, pad=0.01, extend="max" if panel.unit not in ("%", "") else "neither"
    )
    bar.ax.tick_params(labelsize=7)
    bar.set_label(panel.unit or "satellites", fontsize=8)
    axis.set_title(panel.title, loc="left", fontsize=9)
    return mesh


def _mesh(axis: Any, cells: Floats, low: float, high: float, colours: str) -> Any:
    lat, lon = grid()
    half = CELL_DEG / 2
    edges = np.append(lon - half, lon[-1] + half), np.append(lat - half, lat[-1] + half)
    return axis.pcolormesh(
        *edges, np.ma.masked_invalid(cells), cmap=colours, vmin=low, vmax=high, alpha=0.75, zorder=1, rasterized=True,
        linewidth=0, edgecolors="none",
    )  # fmt: skip


def _places(axis: Any, values: Floats, found: OverTime, low: float, high: float, colours: str) -> None:
    """Draws ground points in the colours of the map; grey ones have no value."""
    places = np.array([g["place"] for g in found.ground], dtype=np.float64).reshape(-1, 2)
    if not len(places):
        return
    lon = (places[:, 1] + 180) % 360 - 180
    known = np.isfinite(values)
    # Many points would cover the map: they are small, and have no edges.
    size, edge = (26, 0.5) if len(places) <= 40 else (9, 0.5) if len(places) <= 400 else (2, 0.0)
    axis.scatter(lon[~known], places[~known, 0], s=size / 2, color="#9aa3ad", linewidths=0, zorder=3)
    axis.scatter(lon[known], places[known, 0], s=size, c=values[known], cmap=colours, vmin=low, vmax=high,
                 edgecolors="#111827", linewidths=edge, zorder=4)  # fmt: skip
    if found.origin is not None:
        at = found.origin["place"]
        axis.plot([(at[1] + 180) % 360 - 180], [at[0]], marker="*", ms=11, color="#d1495b", mec="white", zorder=5)


@contextmanager
def encoding(file: Path) -> Iterator[None]:
    """Raises NoFilmError if the encoder of a film fails."""
    try:
        yield
    except subprocess.CalledProcessError as error:
        printed = error.stderr or error.output or ""
        lines = (printed if isinstance(printed, str) else printed.decode("utf-8", "replace")).splitlines()
        why = next((line.strip() for line in reversed(lines) if line.strip()), "it printed no reason")
        raise NoFilmError(f"{file}: ffmpeg ended with exit code {error.returncode}: {why}") from error


def refuse_without_ffmpeg(file: Path) -> None:
    """Raises NoFilmError for an MP4 if ffmpeg is not installed."""
    if file.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise NoFilmError(f"{file}: MP4 needs ffmpeg, which is not installed; a .gif needs nothing")


def film(found: OverTime, file: Path, tick: Callable[[], None] = lambda: None) -> None:
    """Writes the first panel's quantity over time: GIF by Pillow, MP4 by ffmpeg.

    Raises NoFilmError without ffmpeg.
    """
    import matplotlib.pyplot as plt
    from matplotlib.animation import FFMpegWriter, PillowWriter

    refuse_without_ffmpeg(file)
    if not found.frames:
        raise NoFilmError(f"{file}: the map of {found.what} has one picture only, say .png, .svg or .pdf")
    panel = found.panels[0]
    low, high = _limits(dataclasses.replace(panel, cells=np.stack(found.frames)))
    colours = COLOURS[panel.more_is_better]
    figure, axis = plt.subplots(figsize=(TWO_COLUMNS_IN, 3.9), layout="constrained")
    try:
        base(axis)
        mesh = _mesh(axis, found.frames[0], low, high, colours)
        _places(axis, np.full(len(found.ground), np.nan), found, low, high, colours)
        figure.colorbar(mesh, ax=axis, shrink=0.9, pad=0.01).set_label(panel.unit, fontsize=8)
        title = axis.set_title(" ", loc="left", fontsize=9)
        chosen = np.unique(np.linspace(0, len(found.frames) - 1, MOST_FRAMES).round().astype(int))
        writer: Any = PillowWriter(fps=FRAMES_PER_S) if file.suffix == ".gif" else FFMpegWriter(fps=FRAMES_PER_S)
        with written(file, folders=True) as partial, tempfile.TemporaryDirectory(prefix="perigee-") as scratch:
            # The writers choose the format by file extension; one of them runs a process.
            named = Path(scratch, f"film{file.suffix}")
            with encoding(file), writer.saving(figure, str(named), dpi=110):
                for k in chosen.tolist():
                    mesh.set_array(np.ma.masked_invalid(found.frames[k]))
                    title.set_text(f"{panel.title.split(',')[0]}, {found.t_s[k] / 3600:.2f} h")
                    writer.grab_frame()
                    tick()
            shutil.copyfile(named, partial)
    finally:
        plt.close(figure)


def rows(found: OverTime) -> list[dict[str, Any]]:
    """A row for each ground point."""
    out = []
    for i, g in enumerate(found.ground):
        row: dict[str, Any] = {"name": g["name"], "kind": g["kind"], "lat_deg": g["place"][0], "lon_deg": g["place"][1]}
        for panel in found.panels:
            value = float(panel.places[i])
            row[_key(panel)] = value if np.isfinite(value) else None
        out.append(row)
    return out


def _key(panel: Panel) -> str:
    return f"{panel.title} ({panel.unit})" if panel.unit else panel.title


def write_table(found: OverTime, file: Path) -> None:
    """Writes ground points as CSV, with the map's cells as GeoJSON, or an animation as CZML."""
    with written(file, folders=True) as partial:
        if file.suffix == ".csv":
            table = rows(found)
            with partial.open("w", newline="", encoding="utf-8") as out:
                writer = csv.DictWriter(out, list(table[0]) if table else ["name"])
                writer.writeheader()
                writer.writerows({k: quoting.csv(v) for k, v in row.items()} for row in table)
            return
        data = geojson(found) if file.suffix == ".geojson" else czml(found)
        partial.write_text(quoting.geojson(data), encoding="utf-8")


def geojson(found: OverTime) -> dict[str, Any]:
    """A FeatureCollection (RFC 7946): a polygon per cell with a value, a point per ground point."""
    lat, lon = grid()
    half = CELL_DEG / 2
    features = []
    for i, south in enumerate((lat - half).tolist()):
        for j, west in enumerate((lon - half).tolist()):
            values = {_key(p): round(float(p.cells[i, j]), 3) for p in found.panels if np.isfinite(p.cells[i, j])}
            if not values:
                continue
            north, east = south + CELL_DEG, west + CELL_DEG
            # Counter-clockwise, as the RFC requires for outer rings.
            ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
            features.append(_feature({"type": "Polygon", "coordinates": [ring]}, values))
    for row in rows(found):
        at = [row.pop("lon_deg"), row.pop("lat_deg")]
        features.append(_feature({"type": "Point", "coordinates": at}, row))
    return {"type": "FeatureCollection", "features": features}


def _feature(geometry: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def czml(found: OverTime) -> list[dict[str, Any]]:
    """Moving satellites, ground points, and paths of the flows, as packets of CZML (Cesium).

    Raises NoFilmError for maps without snapshots of the sky.
    """
    if not found.pictures:
        raise NoFilmError(f"the map of {found.what} has no satellites to write: CZML is for latency and coverage")
    begin = found.pictures[0]["instant"]
    span = f"{begin}/{found.pictures[-1]['instant']}"
    clock = {"interval": span, "currentTime": begin, "multiplier": 60, "range": "LOOP_STOP"}
    packets: list[dict[str, Any]] = [{"id": "document", "name": found.title, "version": "1.0", "clock": clock}]
    for i, name in enumerate(found.pictures[0]["names"]):
        samples: list[float] = []
        for t, at in zip(found.t_s.tolist(), found.pictures, strict=True):
            lat, lon, height_km = at["satellites"][i][:3]
            samples += [t, round(lon, 4), round(lat, 4), round(height_km * 1e3)]
        place = {"epoch": begin, "cartographicDegrees": samples, "interpolationDegree": 5,
                 "interpolationAlgorithm": "LAGRANGE"}  # fmt: skip
        point = {"pixelSize": 3, "color": {"rgba": [70, 130, 180, 255]}}
        packets.append({"id": f"satellite/{name}", "name": name, "position": place, "point": point})
    for g in found.ground:
        at = {"cartographicDegrees": [g["place"][1], g["place"][0], 0.0]}
        point = {"pixelSize": 7, "color": {"rgba": [209, 73, 91, 255]}}
        packets.append({"id": f"ground/{g['name']}", "name": g["name"], "position": at, "point": point,
                        "label": _label(g["name"])})  # fmt: skip
    return packets + _czml_paths(found)


def _label(text: str) -> dict[str, Any]:
    return {"text": text, "font": "12px sans-serif", "pixelOffset": {"cartesian2": [0, -14]}}


def _czml_paths(found: OverTime) -> list[dict[str, Any]]:
    """A line per pair, with the current path in each interval."""
    packets = []
    last = found.pictures[-1]["instant"]
    for number, path in enumerate(found.pictures[0]["paths"]):
        ends = [found.ground[path[which]]["name"] for which in ("from", "to")]
        positions = []
        for k, at in enumerate(found.pictures):
            until = found.pictures[k + 1]["instant"] if k + 1 < len(found.pictures) else last
            vertices = at["paths"][number]["vertices"]
            if vertices is None or until == at["instant"]:
                continue
            satellites = len(at["satellites"])
            inner = [
                f"satellite/{at['names'][v]}" if v < satellites else f"ground/{at['ground'][v - satellites]['name']}"
                for v in vertices
            ]
            references = [f"{one}#position" for one in (f"ground/{ends[0]}", *inner, f"ground/{ends[1]}")]
            positions.append({"interval": f"{at['instant']}/{until}", "references": references})
        line = {"positions": positions, "width": 3, "arcType": "NONE",
                "material": {"solidColor": {"color": {"rgba": [230, 159, 0, 255]}}}}  # fmt: skip
        packets.append({"id": f"path/{number}", "name": f"{ends[0]} to {ends[1]}", "polyline": line})
    return packets
