# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Maps of a constellation over hours: latency from a place, coverage, handovers, load.

A map is computed from snapshots of the sky at many times (`skymap.picture`, and `Sky.reach` for the
places of the grid). Latencies are propagation delays over the shortest path: up to any satellite
above the mask, along the lasers at that time, and down from any satellite visible from the other
place. A policy can only increase them.
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
    from perigee_lab.results.run import Run
    from perigee_lab.runs.scenario import Scenario

Floats = npt.NDArray[np.float64]
Picture = dict[str, Any]

MAPS = ("latency", "coverage", "handovers", "load")
# Size of a grid cell in degrees.
CELL_DEG = 3.0
DEFAULT_MASK_DEG = 25.0
C_M_PER_S = 299_792_458.0
# Number of snapshots of a map unless a step is given: every ten minutes of a day.
INSTANTS = 144
# Minimum time in s between handovers of a terminal in known constellations.
HANDOVER_STEP_S = 15.0


@dataclass(frozen=True)
class Panel:
    """One value for each cell."""

    title: str
    unit: str
    cells: Floats
    """By latitude from the south, then by longitude from -180; NaN = no value."""
    places: Floats
    """Values of ground points."""
    more_is_better: bool = False


@dataclass(frozen=True)
class OverTime:
    """A computed map over time."""

    what: str
    title: str
    note: str
    """One-line description of the values."""
    t_s: Floats
    panels: list[Panel]
    ground: list[dict[str, Any]]
    frames: list[Floats] = field(default_factory=list)
    """The quantity of the first panel at each time."""
    origin: dict[str, Any] | None = None
    pictures: list[Picture] = field(default_factory=list)


def grid() -> tuple[Floats, Floats]:
    """Centres of the cells in degrees: latitudes from the south, longitudes from the west."""
    half = CELL_DEG / 2
    return np.arange(-90 + half, 90, CELL_DEG), np.arange(-180 + half, 180, CELL_DEG)


def pictures(
    scenario: Scenario, t_s: Floats, ends: Sequence[tuple[str, str]], tick: Callable[[], None]
) -> Iterator[Picture]:
    """Snapshots of the sky at these times; `tick` is called after each."""
    return (at for _, _, at in _skies(scenario, t_s, ends, tick))


def _skies(
    scenario: Scenario, t_s: Floats, ends: Sequence[tuple[str, str]], tick: Callable[[], None]
) -> Iterator[tuple[_core.Sky, int, Picture]]:
    """The sky, a time in nanoseconds, and the snapshot at that time."""
    sky = _core.Sky(scenario.core, list(ends), None)
    for t_ns in (round(float(t) * 1e9) for t in t_s):
        yield sky, t_ns, json.loads(sky.picture(t_ns))
        tick()


def instants(over_s: float, step_s: float | None, what: str, *, moving: bool) -> Floats:
    """Times of the snapshots of a map.

    Handovers are checked every 15 s, all other values at about 144 times, which are evenly spaced
    for a film.
    """
    step = step_s or (HANDOVER_STEP_S if what == "handovers" else max(over_s / INSTANTS, 1.0))
    t = np.arange(0.0, over_s, step)
    if what == "load":
        return t + step  # a sample covers the interval before it
    if step_s is not None or what == "handovers" or moving:
        return t
    # Even steps may resonate with the orbits and always sample the same constellation; offsets by
    # the golden ratio do not.
    return np.asarray(t + step * ((np.arange(len(t)) * 0.6180339887) % 1.0), dtype=np.float64)


class _Targets:
    """The cells and ground points for which a map is computed."""

    def __init__(self) -> None:
        axes = grid()
        self.shape = (len(axes[0]), len(axes[1]))
        self.places = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
        """Latitude and longitude of each cell."""

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Cells, on the grid, and ground points."""
        cells = len(self.places)
        return values[:cells].reshape(self.shape), values[cells:]


def mask_deg(at: Picture) -> float:
    """The elevation mask of the first ground point that has one."""
    masks = [g["mask_deg"] for g in at["ground"] if g["mask_deg"] is not None]
    return float(masks[0]) if masks else DEFAULT_MASK_DEG


def latency(scenario: Scenario, origin: str, t_s: Floats, tick: Callable[[], None]) -> OverTime:
    """RTT from a place to all others: median, variation, and fraction of time with a path."""
    frames: list[Floats] = []
    first: Picture | None = None
    kept: list[Picture] = []
    start = 0
    targets = _Targets()
    for sky, t_ns, at in _skies(scenario, t_s, ends_from(scenario, origin), tick):
        if first is None:
            first, start = at, at["paths"][0]["from"]
        path_m = sky.reach(t_ns, targets.places, mask_deg(at), start)[1]
        frames.append(np.where(np.isfinite(path_m), path_m * (2e3 / C_M_PER_S), np.nan))
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
    """Fraction of time with a satellite above the mask, and number of satellites in view."""
    frames: list[Floats] = []
    first: Picture | None = None
    kept: list[Picture] = []
    targets = _Targets()
    for sky, t_ns, at in _skies(scenario, t_s, (), tick):
        first = first or at
        frames.append(sky.reach(t_ns, targets.places, mask_deg(at))[0])
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
    """Handover rates of the scenario's ground points under its policy."""
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
    # A ground point without flows uses no satellite.
    active = without < len(t_s)
    panels = [
        Panel("Handovers per hour", "1/h", empty, np.where(active, changes / hours, np.nan)),
        Panel("Share of time without a satellite", "%", empty, np.where(active, 100 * without / len(t_s), np.nan)),
    ]
    note = f"by the scenario's policy, looked at every {step_s:g} s"
    return OverTime("handovers", first["title"], note, t_s, panels, first["ground"])


def _used(at: Picture) -> list[int | None]:
    """The satellite of each ground point: the serving satellite, or the first on its first path."""
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
    """Positions and utilisation of a record's busy links, by the midpoint of each link."""
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
    """Midpoint along the great circle, in degrees."""
    lat, lon = np.radians(np.array([a[0], b[0]])), np.radians(np.array([a[1], b[1]]))
    x, y, z = (np.cos(lat) * np.cos(lon)).sum(), (np.cos(lat) * np.sin(lon)).sum(), np.sin(lat).sum()
    return float(np.degrees(np.arctan2(z, np.hypot(x, y)))), float(np.degrees(np.arctan2(y, x)))


def _cell(lat_deg: float, lon_deg: float) -> tuple[int, int]:
    row = min(int((lat_deg + 90) // CELL_DEG), round(180 / CELL_DEG) - 1)
    return row, int(((lon_deg + 180) % 360) // CELL_DEG)


def ends_from(scenario: Scenario, origin: str) -> list[tuple[str, str]]:
    """A pair that starts at a place, so that the core treats the place as a ground point.

    Raises ScenarioError if the place is unknown.
    """
    names = [g["name"] for g in json.loads(_core.Sky(scenario.core, [], None).picture(0))["ground"]]
    other = next((name for name in names if name.casefold() != origin.casefold()), None)
    return [(origin, other or "0, 0")]


class _Quiet:
    """Suppresses NumPy's warnings about cells without any path, which are empty on the map."""

    def __enter__(self) -> None:
        import warnings

        self.caught = warnings.catch_warnings()
        self.caught.__enter__()
        warnings.simplefilter("ignore", RuntimeWarning)

    def __exit__(self, *error: object) -> None:
        self.caught.__exit__(None, None, None)
