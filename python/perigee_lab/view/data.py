# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Data of the page: satellites or a diagram of the network, routes, loads and curves."""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perigee_lab import _core
from perigee_lab.extensions.trust import Permission
from perigee_lab.results.report.data import payload as reported
from perigee_lab.runs.relocation import relocated
from perigee_lab.runs.verify import again
from perigee_lab.view.network import diagram

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perigee_lab.results.run import Run

EARTH_RADIUS_KM = 6371.0
# Positions are integers in units of 1/4096 Earth radius: 1.6 km, a tenth of a pixel; 16 bits cover
# 8 radii.
SCALE = 4096
# The page interpolates cubically between frames: errors are at most 400 m at two minutes.
STEP_S, LONGEST_STEP_S = 20.0, 120.0
# Bytes of positions above which the step increases.
ENOUGH = 6_000_000
# Backends without a scenario.
MEASURED = ("capture", "log", "measure")
# Number of links with loads, the busiest of each scheme, and their points.
MAX_LINKS, LINK_POINTS = 40, 300


def payload(
    runs: Sequence[Run], *, trust: bool = False, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """All data of the page.

    Sky or network, routes and loads are those of the first run of each scheme.

    `sky` is None if the record has no satellites; then `network` is a diagram of the nodes on the
    flows' paths.

    Raises:
        UntrustedError, PluginError, ScenarioError: its scenario cannot be rebuilt.
    """
    report = reported(runs)
    firsts = list({r.cc: r for r in reversed(runs)}.values())[::-1]
    sky = None if firsts[0].manifest.backend in MEASURED else _sky(firsts[0], progress, trust=trust)
    if sky is None:
        network = _network(report["map"])
        index = {node["name"]: i for i, node in enumerate(network["nodes"])}
    else:
        network = None
        index = {name: i for i, name in enumerate(sky["names"])}
        index |= {g["name"]: -1 - i for i, g in enumerate(sky["ground"])}
    kept = ("title", "scenario", "seeds", "duration_s", "flows", "schemes", "marks", "warnings", "hosts")
    return {key: report[key] for key in kept} | {
        "scale": SCALE,
        "sky": sky,
        "network": network,
        "routes": _routes(report["map"], index),
        "loads": [_loads(r, index) for r in firsts],
    }


def _network(found: dict[str, Any]) -> dict[str, Any]:
    """The diagram of the routes, in order of time."""
    names = found["names"]
    steps = sorted((t, int(pair), nodes) for pair, of_pair in found["routes"].items() for t, nodes in of_pair)
    return diagram([names.get(str(n), str(n)) for n in nodes] for _, _, nodes in steps)


def _sky(run: Run, progress: Callable[[float], None] | None, *, trust: bool) -> dict[str, Any] | None:
    """Positions at even steps, changes of lasers, and ground points; None without satellites."""
    scenario, _ = again(relocated(run), Permission(everything=trust))
    if not scenario.has_sky:
        return None
    sky = _core.Sky(scenario, [], run.seed)
    first = json.loads(sky.picture(0))
    step_s = step(run.manifest.duration_ns / 1e9, len(first["satellites"]))
    count = math.ceil(run.manifest.duration_ns / 1e9 / step_s) + 1
    frames, lasers, last = [], [], None
    for k in range(count):
        at = first if k == 0 else json.loads(sky.picture(round(k * step_s * 1e9)))
        frames.append(positions(at["satellites"]))
        if at["isls"] != last:
            last = at["isls"]
            lasers.append([k * step_s, _packed(np.array(last, dtype=np.uint32))])
        if progress is not None:
            progress((k + 1) / count)
    return {
        "names": first["names"],
        "instant": first["instant"],
        "step_s": step_s,
        "frames": _packed(np.array(frames)),
        "lasers": lasers,
        "ground": [{key: g[key] for key in ("name", "kind", "place", "mask_deg")} for g in first["ground"]],
    }


def step(duration_s: float, satellites: int) -> float:
    """Seconds between frames.

    The time increases with satellites and duration, within the limit of interpolation.
    """
    for_size = duration_s * satellites * 6 / ENOUGH
    return float(min(LONGEST_STEP_S, max(STEP_S, math.ceil(for_size))))


def positions(satellites: Sequence[Sequence[float]]) -> npt.NDArray[np.int16]:
    """Converts positions to the page's x, y (to the pole), z, of shape (satellites, 3).

    `satellites` have degrees north, degrees east, and height in km.
    """
    at = np.array([s[:3] for s in satellites], dtype=np.float64)
    lat, lon = np.radians(at[:, 0]), np.radians(at[:, 1])
    radius = 1 + at[:, 2] / EARTH_RADIUS_KM
    xyz = radius * np.array([np.cos(lat) * np.cos(lon), np.sin(lat), -np.cos(lat) * np.sin(lon)])
    return np.asarray(np.clip(np.rint(xyz.T * SCALE), -32768, 32767), dtype=np.int16)


def _packed(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()).decode()


def _routes(found: dict[str, Any], index: dict[str, int]) -> dict[str, list[list[Any]]]:
    """Time and nodes of each route by pair; satellites by number, ground points as -1 - number."""
    names = {int(n): name for n, name in found["names"].items()}
    return {
        pair: [[t, [index[names[n]] for n in nodes if names.get(n) in index]] for t, nodes in steps]
        for pair, steps in found["routes"].items()
    }


def _loads(run: Run, index: dict[str, int]) -> list[dict[str, Any]]:
    """Utilisation (%) and queue (packets) over time of the links with most traffic."""
    totals = run.to_pandas("link_totals").nlargest(MAX_LINKS, "tx_bytes")
    if totals.empty:
        return []
    totals = totals[totals["from"].isin(index.keys()) & totals["to"].isin(index.keys()) & (totals["tx_bytes"] > 0)]
    frame = run.columns("links", ["t_ns", "link", "utilisation", "queue_packets"]).to_pandas()
    frame = frame[frame["link"].isin(totals["link"])]
    # No finer than the record's samples, since a bin without one would look idle.
    points = max(1, min(LINK_POINTS, run.manifest.duration_ns // max(1, run.manifest.sample_ns)))
    bins = np.linspace(0, run.manifest.duration_ns / 1e9, points + 1)[1:]
    found = []
    for link, origin, target in zip(totals["link"], totals["from"], totals["to"], strict=True):
        rows = frame[frame["link"] == link]
        at = np.minimum(np.searchsorted(bins, rows["t_ns"] / 1e9 - 1e-9), points - 1)
        found.append(
            {
                "from": index[origin],
                "to": index[target],
                "used_pct": _by_bin(points, at, 100 * rows["utilisation"].to_numpy(dtype=float), np.mean),
                "queue": _by_bin(points, at, rows["queue_packets"].to_numpy(dtype=float), np.max),
            }
        )
    return found


def _by_bin(
    points: int, at: npt.NDArray[np.int64], values: npt.NDArray[np.float64], of: Callable[..., Any]
) -> list[float]:
    """One value per bin; 0 for bins without samples, since idle links have none."""
    found = [0.0] * points
    starts = np.flatnonzero(np.diff(at, prepend=-1)).tolist()
    for start, end in zip(starts, [*starts[1:], len(at)], strict=True):
        found[int(at[start])] = round(float(of(values[start:end])), 1)
    return found
