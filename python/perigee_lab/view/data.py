# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Data of the page of `perigee view`: satellites or a diagram of the network, routes, loads, curves."""

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
# Positions are integers in units of 1/4096 Earth radius (1.6 km, a tenth of a pixel): 16 bits cover
# distances up to 8 radii.
SCALE = 4096
# Least and largest step between frames. The page interpolates cubically between them, with errors of
# at most 400 m at 120 s.
STEP_S, LONGEST_STEP_S = 20.0, 120.0
# Size of all positions, in bytes, above which the step is increased.
ENOUGH = 6_000_000
# Backends of records without a scenario.
MEASURED = ("capture", "log", "measure")
# Number of links with loads (the busiest of each scheme), and of points of each.
MAX_LINKS, LINK_POINTS = 40, 300


def payload(
    runs: Sequence[Run], *, trust: bool = False, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """All data of the page.

    Positions and routes are those of the first run, loads those of the first run of each scheme.
    Without satellites, `sky` is None and `network` is a diagram of the nodes on the flows' paths.
    `progress` is called with the fraction of the positions that is complete.

    Raises:
        UntrustedError: the scenario names code, without `trust`.
        PluginError, ScenarioError: the scenario cannot be rebuilt.
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
    """Diagram of the nodes on the routes, which are passed in order of time."""
    names = found["names"]
    steps = sorted((t, int(pair), nodes) for pair, of_pair in found["routes"].items() for t, nodes in of_pair)
    return diagram([names.get(str(n), str(n)) for n in nodes] for _, _, nodes in steps)


def _sky(run: Run, progress: Callable[[float], None] | None, *, trust: bool) -> dict[str, Any] | None:
    """Positions at constant steps, changes of the ISLs, and ground points; None without satellites."""
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
    """Seconds between frames, from STEP_S to LONGEST_STEP_S: as short as the size limit allows."""
    for_size = duration_s * satellites * 6 / ENOUGH
    return float(min(LONGEST_STEP_S, max(STEP_S, math.ceil(for_size))))


def positions(satellites: Sequence[Sequence[float]]) -> npt.NDArray[np.int16]:
    """Converts positions to coordinates of the page: x, y (north), z in units of 1/SCALE Earth radius.

    `satellites` holds latitude and longitude in degrees, and height in km, of each. Returns an array
    of shape (satellites, 3).
    """
    at = np.array([s[:3] for s in satellites], dtype=np.float64)
    lat, lon = np.radians(at[:, 0]), np.radians(at[:, 1])
    radius = 1 + at[:, 2] / EARTH_RADIUS_KM
    xyz = radius * np.array([np.cos(lat) * np.cos(lon), np.sin(lat), -np.cos(lat) * np.sin(lon)])
    return np.asarray(np.clip(np.rint(xyz.T * SCALE), -32768, 32767), dtype=np.int16)


def _packed(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()).decode()


def _routes(found: dict[str, Any], index: dict[str, int]) -> dict[str, list[list[Any]]]:
    """Start time in s and nodes of each route by pair; nodes are indices, as in `index`."""
    names = {int(n): name for n, name in found["names"].items()}
    return {
        pair: [[t, [index[names[n]] for n in nodes if names.get(n) in index]] for t, nodes in steps]
        for pair, steps in found["routes"].items()
    }


def _loads(run: Run, index: dict[str, int]) -> list[dict[str, Any]]:
    """Utilisation (%) and queue (packets) over time of the links with the most traffic."""
    totals = run.to_pandas("link_totals").nlargest(MAX_LINKS, "tx_bytes")
    if totals.empty:
        return []
    totals = totals[totals["from"].isin(index.keys()) & totals["to"].isin(index.keys()) & (totals["tx_bytes"] > 0)]
    frame = run.columns("links", ["t_ns", "link", "utilisation", "queue_packets"]).to_pandas()
    frame = frame[frame["link"].isin(totals["link"])]
    # Bins are no shorter than the sampling interval, since a bin without a sample would appear idle.
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
    """`of` the values in each bin; 0 for bins without samples, as of idle links."""
    found = [0.0] * points
    starts = np.flatnonzero(np.diff(at, prepend=-1)).tolist()
    for start, end in zip(starts, [*starts[1:], len(at)], strict=True):
        found[int(at[start])] = round(float(of(values[start:end])), 1)
    return found
