# SPDX-License-Identifier: Apache-2.0 OR MIT
"""World map of a constellation at one instant."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.sky.path_plot import legend

if TYPE_CHECKING:
    from perigee_lab.runs.scenario import Scenario
    from perigee_lab.sky.hotspots import Busy

Floats = npt.NDArray[np.float64]

EARTH_RADIUS_KM = 6371.0
# Maximum number of named ground points; the others are only dots.
MAX_NAMED = 40
# Characters of a legend line that fit the figure's width.
LEGEND_WIDTH = 170
# Resolution of the shaded coverage.
CELL_DEG = 1.0
# Ground points; satellites are blue and brown.
TERMINAL, STATION = "#111827", "#b5179e"
ASCENDING, DESCENDING, LAND, SEA = "#2f6f9f", "#b0623a", "#e9e4d8", "#f7f9fb"


def picture(
    scenario: Scenario, time_s: float, ends: Sequence[tuple[str, str]] = (), *, seed: int | None = None
) -> dict[str, Any]:
    """A snapshot: satellites, ISLs, ground points and paths; `seed` is that of drawn traffic."""
    found: dict[str, Any] = json.loads(_core.Sky(scenario.core, list(ends), seed).picture(round(time_s * 1e9)))
    return found


def elevations(scenario: Scenario, node: str, steps: int, step_s: float) -> Floats:
    """Elevation in degrees of the satellite that a node uses at each step.

    It is the serving satellite, or the first on a path.

    While there is none, the previous value is kept (at the start, the first value). The Earth is
    assumed to be a sphere, which is accurate to 0.3 degrees. Raises KeyError if the node never uses
    a satellite.
    """
    sky = _core.Sky(scenario.core, [], None)
    found = np.full(steps, np.nan)
    last = float(scenario.core.duration_ns - 1)
    for k in range(steps):
        at = json.loads(sky.picture(round(min(k * step_s * 1e9, last))))
        used = _used(at, node)
        if used is not None:
            g = next(g for g in at["ground"] if g["name"] == node)
            found[k] = elevation_deg(g["place"], at["satellites"][used][:3])
    there = np.flatnonzero(~np.isnan(found))
    if not len(there):
        raise KeyError(f"{node} uses no satellite in this run")
    before = np.maximum.accumulate(np.where(np.isnan(found), -1, np.arange(steps)))
    return np.asarray(found[np.where(before < 0, there[0], before)], dtype=np.float64)


def _used(at: dict[str, Any], node: str) -> int | None:
    """Number of the satellite that a node uses in a snapshot."""
    g = next(i for i, g in enumerate(at["ground"]) if g["name"] == node)
    if at["ground"][g]["serving"] is not None:
        return int(at["ground"][g]["serving"])
    for path in at["paths"]:
        if path["vertices"] and g in (path["from"], path["to"]):
            return int(path["vertices"][0 if path["from"] == g else -1])
    return None


def elevation_deg(place: Sequence[float], over: Sequence[float]) -> float:
    """Elevation of a satellite above `over` from a place on a sphere.

    `over` is degrees north, degrees east, and height in km.
    """
    lat, lon, there, along = np.radians([place[0], place[1], over[0], over[1]])
    cosine = np.sin(lat) * np.sin(there) + np.cos(lat) * np.cos(there) * np.cos(lon - along)
    up = cosine - EARTH_RADIUS_KM / (EARTH_RADIUS_KM + over[2])
    return float(np.degrees(np.arctan2(up, np.sqrt(max(0.0, 1 - cosine * cosine)))))


def draw(found: dict[str, Any], *, zoom: bool = False, isls: bool = True, links: Sequence[Busy] | None = None) -> Any:
    """Draws the map.

    With `zoom`, only the region of the paths; with `links`, utilisation instead of paths.
    """
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(12, 7.1), layout="constrained")
    axis.set_facecolor(SEA)
    coast(axis)
    _coverage(axis, found)
    satellites = np.array([[s[0], s[1]] for s in found["satellites"]], dtype=np.float64).reshape(-1, 2)
    if isls and links is None and found["isls"]:
        _isls(axis, satellites, found["isls"])
    for up, colour, marker, name in ((True, ASCENDING, "^", "northbound"), (False, DESCENDING, "v", "southbound")):
        of = [i for i, s in enumerate(found["satellites"]) if bool(s[4]) == up]
        size = 7 if len(satellites) > 300 else 16
        axis.scatter(
            satellites[of, 1], satellites[of, 0], s=size, color=colour, marker=marker, linewidths=0, zorder=3,
            label=quoting.plot(f"satellites, {name}"),
        )  # fmt: skip
    _ground(axis, found, satellites, circles=links is None)
    if links is None:
        _paths(axis, found, satellites)
    else:
        bar = figure.colorbar(_utilisation(axis, found, list(links)), ax=axis, shrink=0.6, pad=0.01)
        bar.set_label("share of the port's rate in use, busier direction")
    axis.set_aspect("equal")
    axis.set_xticks(np.arange(-180, 181, 30))
    axis.set_yticks(np.arange(-90, 91, 30))
    # The limits are set after the ticks, which would extend them.
    axis.set_xlim(-180, 180)
    axis.set_ylim(-90, 90)
    if zoom:
        _zoom(axis, found, satellites)
        wide, high = np.ptp(axis.get_xlim()), np.ptp(axis.get_ylim())
        figure.set_size_inches(12, float(np.clip(12 * high / wide + 1.6, 4, 12)))
    degrees(axis)
    axis.tick_params(labelsize=8, color="#b8c0c8")
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.set_title(
        quoting.plot(f"{found['title']}: {found['t_s']:g} s ({found['instant']})"), loc="left", fontsize=11, pad=8
    )
    legend(figure, axis.get_legend_handles_labels()[0], LEGEND_WIDTH)
    _name(figure, axis, found, _named(found))
    return figure


def degrees(axis: Any) -> None:
    """Labels longitude and latitude with their units, such as 10° W."""

    def of(negative: str, positive: str) -> Any:
        return lambda value, _: f"{abs(value):g}°" + ("" if value == 0 else f" {positive if value > 0 else negative}")

    axis.xaxis.set_major_formatter(of("W", "E"))
    axis.yaxis.set_major_formatter(of("S", "N"))


def _named(found: dict[str, Any]) -> list[int]:
    """Ground points with a label: all, or the stations where there are many terminals."""
    ground = found["ground"]
    if len(ground) <= MAX_NAMED:
        return list(range(len(ground)))
    stations = [i for i, g in enumerate(ground) if g["kind"] != "terminal"]
    return stations if len(stations) <= MAX_NAMED else []


def coast(axis: Any) -> None:
    """Draws the land, in degrees east and north."""
    from matplotlib.collections import PolyCollection

    text = (files("perigee_lab.results.report") / "coast.json").read_text(encoding="utf-8")
    rings = [np.array(flat, dtype=np.float64).reshape(-1, 2) / 10 for flat in json.loads(text)]
    axis.add_collection(PolyCollection(rings, facecolors=LAND, edgecolors="#c9bfa8", linewidths=0.4, zorder=0))


def _coverage(axis: Any, found: dict[str, Any]) -> None:
    """Shades the number of satellites above the mask of the first ground point."""
    masks = [g["mask_deg"] for g in found["ground"] if g["mask_deg"] is not None]
    if not masks or not found["satellites"]:
        return
    lat = np.arange(-90 + CELL_DEG / 2, 90, CELL_DEG)
    lon = np.arange(-180 + CELL_DEG / 2, 180, CELL_DEG)
    count = np.zeros((len(lat), len(lon)))
    for s in found["satellites"]:
        _add_footprint(count, lat, lon, s[0], s[1], footprint_deg(s[2], masks[0]))
    top = max(4.0, float(count.max()))
    levels = [0.5, 1.5, 3.5, 6.5, 10.5, max(20.5, top + 1)]
    shades = ["#dceaf3", "#c3dbea", "#a8cadf", "#8cb8d3", "#6fa5c6"]
    axis.contourf(lon, lat, count, levels=levels, colors=shades, alpha=0.45, zorder=1)


def footprint_deg(height_km: float, mask_deg: float) -> float:
    """Radius of the region with the satellite above the mask, as an angle at the Earth's centre."""
    mask = np.radians(mask_deg)
    inner = np.clip(EARTH_RADIUS_KM * np.cos(mask) / (EARTH_RADIUS_KM + height_km), -1, 1)
    return float(np.degrees(np.arccos(inner) - mask))


def _add_footprint(count: Floats, lat: Floats, lon: Floats, at_lat: float, at_lon: float, radius: float) -> None:
    rows = np.flatnonzero(np.abs(lat - at_lat) <= radius)
    here, there = np.radians(at_lat), np.radians(lat[rows])
    # Half width of the circle on each parallel; near a pole, the circle may cover the entire
    # parallel.
    across = np.cos(here) * np.cos(there)
    cosine = np.divide(np.cos(np.radians(radius)) - np.sin(here) * np.sin(there), across, out=np.full_like(across, 2),
                       where=across > 1e-9)  # fmt: skip
    half = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    for row, width in zip(rows, half, strict=True):
        distance = np.abs((lon - at_lon + 180) % 360 - 180)
        count[row, distance <= width] += 1


def _utilisation(axis: Any, found: dict[str, Any], links: list[Busy]) -> Any:
    """Draws lines on the map of `found`, coloured by the port of the busier direction.

    Returns the artist for a colour bar.
    """
    from matplotlib.collections import LineCollection

    places = {name: s[:2] for name, s in zip(found["names"], found["satellites"], strict=True)}
    places |= {g["name"]: g["place"] for g in found["ground"]}
    both: dict[tuple[str, str], float] = {}
    for b in links:
        key = (min(b.origin, b.target), max(b.origin, b.target))
        both[key] = max(both.get(key, 0.0), b.port_utilisation)
    lines, values = [], []
    # The busiest links are drawn last, on top.
    for (a, z), value in sorted(both.items(), key=lambda item: item[1]):
        if a in places and z in places:
            pieces = segments(np.array([places[a], places[z]], dtype=np.float64))
            lines += pieces
            values += [value] * len(pieces)
    shown = LineCollection(lines, cmap="YlOrRd", array=np.array(values), zorder=5)
    shown.set_clim(0, 1)
    shown.set_linewidth([0.8 + 2.2 * v for v in values])
    axis.add_collection(shown)
    return shown


def segments(points: Floats) -> list[Floats]:
    """A line in latitude and longitude, split where it crosses the date line."""
    out = []
    for (lat_a, lon_a), (lat_b, lon_b) in itertools.pairwise(points):
        turn = (lon_b - lon_a + 180) % 360 - 180
        out.append(np.array([[lon_a, lat_a], [lon_a + turn, lat_b]]))
        if abs(lon_b - lon_a) > 180:
            out.append(np.array([[lon_b - turn, lat_a], [lon_b, lat_b]]))
    return out


def _isls(axis: Any, satellites: Floats, isls: list[list[int]]) -> None:
    from matplotlib.collections import LineCollection

    lines = [line for a, b in isls for line in segments(satellites[[a, b]])]
    axis.add_collection(LineCollection(lines, colors="#7d8b99", linewidths=0.35, alpha=0.55, zorder=2))


def _ground(axis: Any, found: dict[str, Any], satellites: Floats, *, circles: bool) -> None:
    kinds = (
        ("terminals", [g for g in found["ground"] if g["kind"] == "terminal"], "o", TERMINAL),
        ("stations", [g for g in found["ground"] if g["kind"] != "terminal"], "s", STATION),
    )
    for name, of, marker, colour in kinds:
        if not of:
            continue
        places = np.array([g["place"] for g in of], dtype=np.float64)
        many = len(of) > MAX_NAMED
        axis.scatter(
            (places[:, 1] + 180) % 360 - 180, places[:, 0], s=4 if many else 25, color=colour, marker=marker,
            alpha=0.5 if many else 1.0, linewidths=0, zorder=6 if marker == "s" else 5.5, label=f"{name} ({len(of):,})",
        )  # fmt: skip
    seen = sorted({s for g in found["ground"] for s in g["visible"]})
    if seen and circles:
        axis.scatter(
            satellites[seen, 1], satellites[seen, 0], s=42, facecolors="none", edgecolors="#111827", linewidths=0.8,
            zorder=4, label="in view of a ground point",
        )  # fmt: skip


def _name(figure: Any, axis: Any, found: dict[str, Any], which: Sequence[int]) -> None:
    """Labels ground points, ends of paths first."""
    places = [((g["place"][1] + 180) % 360 - 180, g["place"][0]) for g in found["ground"]]
    ends = {p[end] for p in found["paths"] for end in ("from", "to")}
    order = sorted(which, key=lambda g: (g not in ends, g))
    labels(figure, axis, [(places[g], found["ground"][g]["name"]) for g in order], places if len(places) <= 400 else [])


def labels(
    figure: Any,
    axis: Any,
    named: Sequence[tuple[tuple[float, float], str]],
    places: Sequence[tuple[float, float]],
    size: float = 8,
    apart: float = 0.0,
) -> None:
    """Labels points so that names overlap neither names nor places; a distant label gets a line.

    Names keep a distance of `apart` points from other places if another spot in the same ring allows it.

    `named` is points (longitude, latitude) with their names, the most important first; a name without
    space near its point is omitted.
    """
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    # Positions are known only after the layout of all other elements.
    figure.draw_without_rendering()
    renderer, points = figure.canvas.get_renderer(), 72 / figure.dpi
    view = axis.get_window_extent(renderer)
    dots = [axis.transData.transform(at) for at in places]
    taken = [Bbox.from_bounds(x - 4 / points, y - 4 / points, 8 / points, 8 / points) for x, y in dots]
    for at, name in named:
        if not view.contains(*axis.transData.transform(at)):
            continue
        label = axis.annotate(
            quoting.plot(name), at, xytext=(0, 0), textcoords="offset points", fontsize=size, zorder=7,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.7, "linewidth": 0},
            arrowprops={"arrowstyle": "-", "color": "#5b6876", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        label.arrow_patch.set_visible(False)
        label.update_positions(renderer)
        # Extent without the line.
        box = Text.get_window_extent(label, renderer)
        own = axis.transData.transform(at)
        others = [d for d in dots if np.hypot(*(d - own)) > 1]
        spots = _spots(box.width * points, box.height * points)

        def crowded(spot: tuple[int, float, float], box: Any = box, others: Any = others) -> tuple[int, bool]:
            near = box.translated(spot[1] / points, spot[2] / points).padded(apart / points)
            return spot[0], apart > 0 and any(near.contains(*d) for d in others)

        for ring, dx, dy in sorted(spots, key=crowded):
            moved = box.translated(dx / points, dy / points)
            inside = view.x0 <= moved.x0 and moved.x1 <= view.x1 and view.y0 <= moved.y0 and moved.y1 <= view.y1
            if inside and not any(moved.overlaps(t) for t in taken):
                label.set_position((dx, dy))
                taken.append(moved)
                label.arrow_patch.set_visible(ring > 0)
                break
        else:
            label.remove()


def _spots(width: float, height: float) -> list[tuple[int, float, float]]:
    """Offsets in points of a label from its place, all around, with the number of the ring."""
    spots = []
    for ring in range(4):
        out = 6 + ring * height
        sides = (out, -out - width)
        spots += [(ring, x, y) for y in (-6 - out, out - 1) for x in (5.0, -5.0 - width, -width / 2)]
        spots += [(ring, x, -height / 3) for x in sides]
    return spots


def _corners(path: dict[str, Any], found: dict[str, Any], satellites: Floats) -> Floats:
    """Latitude and longitude of all points of a path."""
    ground = [g["place"] for g in found["ground"]]
    n = len(satellites)
    inner = [satellites[v] if v < n else np.array(ground[v - n]) for v in path["vertices"]]
    return np.array([ground[path["from"]], *inner, ground[path["to"]]], dtype=np.float64)


def _paths(axis: Any, found: dict[str, Any], satellites: Floats) -> None:
    from matplotlib.collections import LineCollection

    from perigee_lab.results.plots import COLOURS

    order = [COLOURS[1], *COLOURS[2:], COLOURS[0]]
    for path, colour in zip(found["paths"], order * len(found["paths"]), strict=False):
        if path["vertices"] is None:
            continue
        points = _corners(path, found, satellites)
        points[:, 1] = (points[:, 1] + 180) % 360 - 180
        name = f"{found['ground'][path['from']]['name']} to {found['ground'][path['to']]['name']}"
        label = f"{name}: {path['rtt_ms']:.1f} ms, {len(points) - 1} links" if len(found["paths"]) <= 6 else None
        lines = LineCollection(
            segments(points), colors=colour, linewidths=2.2, zorder=5, label=label and quoting.plot(label)
        )
        axis.add_collection(lines)
        axis.scatter(points[1:-1, 1], points[1:-1, 0], s=22, color=colour, edgecolors="white", linewidths=0.6, zorder=6)


def _zoom(axis: Any, found: dict[str, Any], satellites: Floats) -> None:
    points = [_corners(p, found, satellites) for p in found["paths"] if p["vertices"] is not None]
    points += [np.array([g["place"]]) for g in found["ground"][:1]]
    all_points = np.concatenate(points)
    lon = (all_points[:, 1] + 180) % 360 - 180
    axis.set_xlim(max(-180.0, lon.min() - 15), min(180.0, lon.max() + 15))
    axis.set_ylim(max(-90.0, all_points[:, 0].min() - 12), min(90.0, all_points[:, 0].max() + 12))
