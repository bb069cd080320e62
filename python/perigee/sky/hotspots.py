# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How busy each link of a run was at an instant, and where on the map that is."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee.common.files import RecordError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from perigee.results.record import Run
    from perigee.runs.scenario import Scenario


@dataclass(frozen=True)
class Busy:
    """A directed link at a sample of the run."""

    origin: str
    target: str
    utilisation: float
    """Share of the rate of its port that was used since the sample before."""
    queue_packets: int


@dataclass(frozen=True)
class Difference:
    """A key in which a record's scenario is not the one that is drawn."""

    key: str
    in_record: str
    """As written there; empty = not given."""
    in_scenario: str
    moves: bool
    """Satellites or places are elsewhere: loads of the one cannot be drawn on the map of the other."""


def differences(run: Run, scenario: Scenario) -> list[Difference]:
    """Where the scenario of a record and another differ, apart from title, schemes, seeds and repetitions."""
    there, here = _recorded(run), _flat(scenario.core.toml)
    keys = [k for k in dict.fromkeys([*there, *here]) if k not in IGNORED and there.get(k) != here.get(k)]
    moves = ("source.", "node.", "nodes.")
    return [Difference(k, there.get(k, ""), here.get(k, ""), k.startswith(moves)) for k in keys]


# What runs of one scenario may differ in.
IGNORED = {"title", "run.cc", "run.seed", "run.runs"}


def _recorded(run: Run) -> dict[str, str]:
    try:
        return _flat(run.manifest.scenario_toml)
    except tomllib.TOMLDecodeError as error:
        raise RecordError(f"{run.folder}: scenario_toml of its manifest is no TOML: {error}") from None


def _flat(toml: str) -> dict[str, str]:
    """Values by dotted key, as they are written; entries of lists of tables by their number."""
    flat: dict[str, str] = {}

    def walk(key: str, value: Any) -> None:
        if isinstance(value, dict):
            inner = list(value.items())
        elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            inner = [(str(i), v) for i, v in enumerate(value)]
        else:
            flat[key] = json.dumps(value, ensure_ascii=False, default=str)
            return
        for name, v in inner:
            walk(f"{key}.{name}" if key else name, v)

    walk("", tomllib.loads(toml))
    return flat


def busy(run: Run, t_s: float) -> list[Busy]:
    """The links that carried something at the last sample up to `t_s`, the busiest first."""
    links, totals = run.table("links"), run.table("link_totals")
    t = links.column("t_ns").to_numpy()
    before = t[t <= round(t_s * 1e9)]
    if len(before) == 0:
        raise RecordError(f"the record has no sample of its links up to {t_s:g} s")
    rows = np.flatnonzero(t == before.max())
    ends = dict(zip(totals["link"].to_pylist(), zip(totals["from"].to_pylist(), totals["to"].to_pylist(), strict=True),
                    strict=True))  # fmt: skip
    number = links.column("link").to_numpy()[rows]
    share = links.column("utilisation").to_numpy()[rows]
    queue = links.column("queue_packets").to_numpy()[rows]
    found = []
    for n, u, q in zip(number.tolist(), share, queue, strict=True):
        if n in ends and u > 0:
            origin, target = ends[n]
            found.append(Busy(origin, target, float(u), int(q)))
    return sorted(found, key=lambda b: (-b.utilisation, b.origin, b.target))


def draw(axis: Any, found: dict[str, Any], links: list[Busy]) -> Any:
    """Lines on the map of `found`, coloured by the busier direction of each link; returns what a colour bar needs."""
    from matplotlib.collections import LineCollection

    from perigee.sky.skymap import segments

    places = {name: s[:2] for name, s in zip(found["names"], found["satellites"], strict=True)}
    places |= {g["name"]: g["place"] for g in found["ground"]}
    both: dict[tuple[str, str], float] = {}
    for b in links:
        key = (min(b.origin, b.target), max(b.origin, b.target))
        both[key] = max(both.get(key, 0.0), b.utilisation)
    lines, values = [], []
    # The busiest are drawn last, on top.
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
