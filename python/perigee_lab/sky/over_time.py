# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Maps of a constellation over hours: latency from a place, coverage, handovers, load.

A map is made of pictures of the sky at many instants (`skymap.picture`). Places are on the ellipsoid of WGS 84.
Latencies are propagation at the speed of light over the shortest path: up to any satellite above the mask, along the
lasers of that instant, and down to any satellite that the other place sees. A policy can only add to them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perigee_lab import _core

if TYPE_CHECKING:
    from perigee_lab.results.record import Run
    from perigee_lab.runs.scenario import Scenario

Floats = npt.NDArray[np.float64]
Picture = dict[str, Any]

MAPS = ("latency", "coverage", "handovers", "load")
# Degrees of a cell of the grid.
CELL_DEG = 3.0
DEFAULT_MASK_DEG = 25.0
C_M_PER_S = 299_792_458.0
# Instants of a map unless a step is given: every ten minutes of a day.
INSTANTS = 144
# A terminal changes its satellite at the earliest after so long in the constellations that are known (s).
HANDOVER_STEP_S = 15.0
# WGS 84.
EQUATOR_M, FLATTENING = 6_378_137.0, 1 / 298.257223563


@dataclass(frozen=True)
class Panel:
    """One number for each cell."""

    title: str
    unit: str
    cells: Floats
    """By latitude from the south, then by longitude from -180; NaN = nothing to say."""
    places: Floats
    """The same for each ground point."""
    more_is_better: bool = False


@dataclass(frozen=True)
class OverTime:
    """A map over time, as computed."""

    what: str
    title: str
    note: str
    """What the numbers are, in a line."""
    t_s: Floats
    panels: list[Panel]
    ground: list[dict[str, Any]]
    frames: list[Floats] = field(default_factory=list)
    """The first panel's quantity at each instant."""
    origin: dict[str, Any] | None = None
    pictures: list[Picture] = field(default_factory=list)


def grid() -> tuple[Floats, Floats]:
    """Middles of the cells in degrees: latitudes from the south, longitudes from the west."""
    half = CELL_DEG / 2
    return np.arange(-90 + half, 90, CELL_DEG), np.arange(-180 + half, 180, CELL_DEG)


def positions(lat_deg: Floats, lon_deg: Floats, height_m: Floats | float = 0.0) -> tuple[Floats, Floats]:
    """Cartesian coordinates in metres, fixed to the Earth, and the vertical there (WGS 84)."""
    lat, lon = np.radians(lat_deg), np.radians(lon_deg)
    up = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)
    e2 = FLATTENING * (2 - FLATTENING)
    n = EQUATOR_M / np.sqrt(1 - e2 * np.sin(lat) ** 2)
    scale = np.stack([n + height_m, n + height_m, n * (1 - e2) + height_m], axis=-1)
    return up * scale, up


def pictures(
    scenario: Scenario, t_s: Floats, ends: Sequence[tuple[str, str]], tick: Callable[[], None]
) -> Iterator[Picture]:
    """The sky at each instant; `tick` is called after each."""
    sky = _core.Sky(scenario.core, list(ends), None)
    for t in t_s:
        yield json.loads(sky.picture(round(float(t) * 1e9)))
        tick()


def instants(over_s: float, step_s: float | None, what: str, *, moving: bool) -> Floats:
    """Of what map: handovers are looked for every 15 s, everything else at some 144 instants; even ones for a film."""
    step = step_s or (HANDOVER_STEP_S if what == "handovers" else max(over_s / INSTANTS, 1.0))
    t = np.arange(0.0, over_s, step)
    if what == "load":
        return t + step  # a sample tells of the time before it
    if step_s is not None or what == "handovers" or moving:
        return t
    # Even steps may keep time with the orbits and see one constellation again and again: the golden ratio does not.
    return np.asarray(t + step * ((np.arange(len(t)) * 0.6180339887) % 1.0), dtype=np.float64)


class _Targets:
    """The cells and ground points whose numbers are wanted."""

    def __init__(self, ground: Sequence[dict[str, Any]]) -> None:
        lat, lon = grid()
        of_cells = [axis.ravel() for axis in np.meshgrid(lat, lon, indexing="ij")]
        places = np.array([g["place"] for g in ground], dtype=np.float64).reshape(-1, 2)
        self.cells = len(of_cells[0])
        self.shape = (len(lat), len(lon))
        at, up = positions(np.concatenate([of_cells[0], places[:, 0]]), np.concatenate([of_cells[1], places[:, 1]]))
        # Metres in single precision: half a metre at the Earth's radius.
        self.at, self.up = at.astype(np.float32), up.astype(np.float32)

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Cells, on the grid, and ground points."""
        return values[: self.cells].reshape(self.shape), values[self.cells :]


def _satellites(at: Picture) -> Floats:
    flat = np.array([s[:3] for s in at["satellites"]], dtype=np.float64).reshape(-1, 3)
    return positions(flat[:, 0], flat[:, 1], flat[:, 2] * 1e3)[0]


def _seen(at: Any, up: Any, satellites: Floats, mask_deg: float) -> tuple[Any, Any]:
    """Distance to each satellite in metres, and whether it stands above the mask: by place, then satellite."""
    s = satellites.astype(at.dtype)
    square = (at * at).sum(axis=1)[:, None] + (s * s).sum(axis=1)[None, :] - 2 * (at @ s.T)
    distance = np.sqrt(np.maximum(square, 1))
    height = up @ s.T - (at * up).sum(axis=1)[:, None]
    return distance, height >= np.sin(np.radians(mask_deg)) * distance


def mask_deg(at: Picture) -> float:
    """The mask of the first ground point that has one."""
    masks = [g["mask_deg"] for g in at["ground"] if g["mask_deg"] is not None]
    return float(masks[0]) if masks else DEFAULT_MASK_DEG


def _from_origin(at: Picture, satellites: Floats, origin: int) -> Floats:
    """Shortest way in metres from a ground point to each satellite; infinite = none."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    n = len(satellites)
    place = np.array([at["ground"][origin]["place"]], dtype=np.float64)
    here, up = positions(place[:, 0], place[:, 1])
    own = at["ground"][origin]["mask_deg"]
    distance, visible = _seen(here, up, satellites, mask_deg(at) if own is None else own)
    first = np.flatnonzero(visible[0])
    lasers = np.array(at["isls"], dtype=np.int64).reshape(-1, 2)
    lengths = np.linalg.norm(satellites[lasers[:, 0]] - satellites[lasers[:, 1]], axis=1)
    rows = np.concatenate([lasers[:, 0], np.full(len(first), n)])
    columns = np.concatenate([lasers[:, 1], first])
    graph = csr_matrix((np.concatenate([lengths, distance[0, first]]), (rows, columns)), shape=(n + 1, n + 1))
    return np.asarray(dijkstra(graph, directed=False, indices=n)[:n], dtype=np.float64)


def latency(scenario: Scenario, origin: str, t_s: Floats, tick: Callable[[], None]) -> OverTime:
    """RTT from a place to everywhere: its median over time, how much it varies, and how long there is a path."""
    frames: list[Floats] = []
    first: Picture | None = None
    kept: list[Picture] = []
    start = 0
    for at in pictures(scenario, t_s, ends_from(scenario, origin), tick):
        if first is None:
            first, start = at, at["paths"][0]["from"]
            targets = _Targets(at["ground"])
        satellites = _satellites(at)
        to_satellite = _from_origin(at, satellites, start).astype(np.float32)
        distance, visible = _seen(targets.at, targets.up, satellites, mask_deg(at))
        way = np.where(visible, distance + to_satellite[None, :], np.inf).min(axis=1)
        frames.append(np.where(np.isfinite(way), way * (2e3 / C_M_PER_S), np.nan).astype(np.float64))
        kept.append(at)
    assert first is not None
    all_ms = np.stack(frames)
    there = ~np.isnan(all_ms)
    with _Quiet():
        median = np.nanmedian(all_ms, axis=0)
        spread = np.nanpercentile(all_ms, 95, axis=0) - np.nanpercentile(all_ms, 5, axis=0)
    share = 100 * there.mean(axis=0)
    name = first["ground"][start]["name"]
    panels = [
        Panel(f"RTT from {name}, median", "ms", *targets.split(median)),
        Panel("Its 95th minus its 5th percentile", "ms", *targets.split(spread)),
        Panel(
            "Share of time with a path", "%", *targets.split(np.where(share > 0, share, np.nan)), more_is_better=True
        ),
    ]
    note = "propagation over the shortest path of satellites and lasers; without queues and attachment policies"
    ground, grids = first["ground"], [targets.split(f)[0] for f in frames]
    return OverTime("latency", first["title"], note, t_s, panels, ground, grids, ground[start], kept)


def coverage(scenario: Scenario, t_s: Floats, tick: Callable[[], None]) -> OverTime:
    """Share of time with a satellite above the mask, and how many are in view."""
    frames: list[Floats] = []
    first: Picture | None = None
    kept: list[Picture] = []
    for at in pictures(scenario, t_s, (), tick):
        if first is None:
            first, targets = at, _Targets(at["ground"])
        frames.append(_seen(targets.at, targets.up, _satellites(at), mask_deg(at))[1].sum(axis=1).astype(np.float64))
        kept.append(at)
    assert first is not None
    counts = np.stack(frames)
    share = 100 * (counts > 0).mean(axis=0)
    panels = [
        Panel("Satellites in view, mean", "", *targets.split(counts.mean(axis=0)), more_is_better=True),
        Panel("Share of time with a satellite in view", "%", *targets.split(share), more_is_better=True),
        Panel("Fewest satellites in view", "", *targets.split(counts.min(axis=0)), more_is_better=True),
    ]
    note = f"satellites at least {mask_deg(first):g} degrees above the horizon"
    grids = [targets.split(f)[0] for f in frames]
    return OverTime("coverage", first["title"], note, t_s, panels, first["ground"], grids, None, kept)


def handovers(scenario: Scenario, t_s: Floats, tick: Callable[[], None]) -> OverTime:
    """How often ground points of the scenario change their satellite, by the scenario's own policy."""
    before: list[int | None] = []
    changes: Floats = np.zeros(0)
    without: Floats = np.zeros(0)
    first: Picture | None = None
    for at in pictures(scenario, t_s, (), tick):
        used = _used(at)
        if first is None:
            first, before, changes, without = at, used, np.zeros(len(used)), np.zeros(len(used))
        for i, (old, new) in enumerate(zip(before, used, strict=True)):
            changes[i] += old is not None and new is not None and old != new
            without[i] += new is None
            before[i] = old if new is None else new
    assert first is not None
    shape = tuple(len(axis) for axis in grid())
    empty = np.full(shape, np.nan)
    step_s = float(t_s[1] - t_s[0]) if len(t_s) > 1 else 1.0
    hours = max(float(t_s[-1] - t_s[0]), 1.0) / 3600
    # A ground point that no flow uses has nothing to change.
    active = without < len(t_s)
    panels = [
        Panel("Handovers per hour", "1/h", empty, np.where(active, changes / hours, np.nan)),
        Panel("Share of time without a satellite", "%", empty, np.where(active, 100 * without / len(t_s), np.nan)),
    ]
    note = f"by the scenario's policy, looked at every {step_s:g} s"
    return OverTime("handovers", first["title"], note, t_s, panels, first["ground"])


def _used(at: Picture) -> list[int | None]:
    """The satellite of each ground point: the one that serves it, or the end of its first path."""
    used: list[int | None] = [g["serving"] for g in at["ground"]]
    satellites = len(at["satellites"])
    for path in at["paths"]:
        if not path["vertices"]:
            continue
        for end, which in (("from", 0), ("to", -1)):
            vertex = path["vertices"][which]
            if used[path[end]] is None and vertex < satellites:
                used[path[end]] = int(vertex)
    return used


def load(scenario: Scenario, run: Run, tick: Callable[[], None], t_s: Floats) -> OverTime:
    """Where the busy links of a record were: their share in use, by the place of the middle of each link."""
    from perigee_lab.sky.hotspots import busy

    lat, lon = grid()
    total = np.zeros((len(lat), len(lon)))
    peak = np.full(total.shape, np.nan)
    frames: list[Floats] = []
    first: Picture | None = None
    for t, at in zip(t_s, pictures(scenario, t_s, (), tick), strict=True):
        first = first or at
        names = {name: s[:2] for name, s in zip(at["names"], at["satellites"], strict=True)}
        names |= {g["name"]: g["place"] for g in at["ground"]}
        now = np.full(total.shape, np.nan)
        for b in busy(run, float(t)):
            if b.origin in names and b.target in names:
                row, column = _cell(*_middle(names[b.origin], names[b.target]))
                now[row, column] = np.fmax(now[row, column], b.port_utilisation)
        total += np.nan_to_num(now)
        peak = np.fmax(peak, now)
        frames.append(100 * now)
    assert first is not None
    mean = np.where(np.isnan(peak), np.nan, 100 * total / len(t_s))
    nowhere = np.full(len(first["ground"]), np.nan)
    panels = [
        Panel("Busiest port of a cell, mean", "%", mean, nowhere),
        Panel("Busiest port of a cell, peak", "%", 100 * peak, nowhere),
    ]
    note = "share of the rate of a link's port in use, where its middle was; a cell without links in use is empty"
    return OverTime("load", first["title"], note, t_s, panels, first["ground"], frames)


def _middle(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Half way along the great circle, in degrees."""
    lat, lon = np.radians(np.array([a[0], b[0]])), np.radians(np.array([a[1], b[1]]))
    x, y, z = (np.cos(lat) * np.cos(lon)).sum(), (np.cos(lat) * np.sin(lon)).sum(), np.sin(lat).sum()
    return float(np.degrees(np.arctan2(z, np.hypot(x, y)))), float(np.degrees(np.arctan2(y, x)))


def _cell(lat_deg: float, lon_deg: float) -> tuple[int, int]:
    row = min(int((lat_deg + 90) // CELL_DEG), round(180 / CELL_DEG) - 1)
    return row, int(((lon_deg + 180) % 360) // CELL_DEG)


def ends_from(scenario: Scenario, origin: str) -> list[tuple[str, str]]:
    """A pair that begins at the place, so that the core has it as a ground point. Raises ScenarioError if unknown."""
    names = [g["name"] for g in json.loads(_core.Sky(scenario.core, [], None).picture(0))["ground"]]
    other = next((name for name in names if name.casefold() != origin.casefold()), None)
    return [(origin, other or "0, 0")]


class _Quiet:
    """NumPy warns of cells that never have a way: they are empty on the map."""

    def __enter__(self) -> None:
        import warnings

        self.caught = warnings.catch_warnings()
        self.caught.__enter__()
        warnings.simplefilter("ignore", RuntimeWarning)

    def __exit__(self, *error: object) -> None:
        self.caught.__exit__(None, None, None)
