# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Timelines: networks over time, without traffic."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.files import written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.runs.scenario import Scenario

Floats = npt.NDArray[np.float64]

STEP_S = 0.1
# Maximum number of samples that the width of a figure can resolve.
MAX_SAMPLES = 20_000
# Maximum number of pairs that are distinguishable in a figure.
MAX_DRAWN = 8


def plotted_step(duration_s: float) -> float:
    """Time between samples of a figure.

    It does not affect outages and path changes, which are exact.
    """
    return max(STEP_S, duration_s / MAX_SAMPLES)


@dataclass(frozen=True)
class PairOverTime:
    """Path properties of a pair over time."""

    origin: str
    target: str
    t_s: Floats
    base_rtt_ms: Floats
    """Round-trip propagation delay; NaN = unreachable."""
    rate_mbps: Floats
    """Rate of the slowest port of the forward path; NaN = unreachable."""
    hops: npt.NDArray[np.int64]
    """Number of links of the forward path; zero = unreachable."""
    outages_s: list[tuple[float, float]]
    """Exact starts and ends of outages: no route, a link down, or a blocked port."""
    path_changes_s: list[float]


class Timeline:
    """A network whose links change over time."""

    def __init__(self, core: _core.Timeline) -> None:
        """Wraps a validated timeline of the core."""
        self.core = core
        self.facts: dict[str, Any] = json.loads(core.describe())

    def __repr__(self) -> str:
        return f"<Timeline {self.title!r}, {self.duration_s:g} s, {len(self.pairs)} pairs>"

    def _repr_html_(self) -> str:
        from perigee_lab.results.notebook import of_pairs

        return of_pairs(self.title, self.duration_s, self.pairs)

    @property
    def title(self) -> str:
        """The human-readable title."""
        return str(self.facts["title"])

    @property
    def duration_s(self) -> float:
        """The duration in s."""
        return float(self.facts["duration_ns"]) / 1e9

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names of the two ends of each traffic pair."""
        return [(p["from"], p["to"]) for p in self.facts["pairs"]]

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the timeline as JSON.

        The first line has the network at time zero, each further line a chunk of changes.
        """
        path = Path(path)
        if path.exists() and not force:
            raise FileExistsError(f"{path} exists; say force=True to replace it")
        with written(path) as partial:
            self.core.save(partial)
        return path

    def pair(self, index: int = 0, *, step_s: float = STEP_S, turned: bool = False) -> PairOverTime:
        """Path properties of the pair at this index of `pairs`, sampled every `step_s`.

        With `turned`, the properties of the return path.
        """
        place = self.facts["pairs"][index]
        if turned:
            place = {"from": place["to"], "to": place["from"], "forward": place["reverse"], "reverse": place["forward"]}
        seen = self.core.follow(place["forward"], place["reverse"], max(1, round(step_s * 1e9)))
        return _over_time(place, seen)

    def plot(self, pairs: Sequence[int] | None = None) -> Any:
        """Plots base RTT and rate over time, with outages and path changes."""
        chosen = range(min(len(self.pairs), MAX_DRAWN)) if pairs is None else pairs
        step_s = plotted_step(self.duration_s)
        from perigee_lab.results.notebook import once

        return once(draw(self.title, self.duration_s, [self.pair(i, step_s=step_s) for i in chosen]))


def _over_time(place: dict[str, Any], seen: str) -> PairOverTime:
    found = json.loads(seen)
    numbers = {k: np.array([np.nan if v is None else v for v in found[k]]) for k in ("rtt_ns", "rate_bps")}
    return PairOverTime(
        origin=place["from"],
        target=place["to"],
        t_s=np.array(found["t_ns"]) / 1e9,
        base_rtt_ms=numbers["rtt_ns"] / 1e6,
        rate_mbps=numbers["rate_bps"] / 1e6,
        hops=np.array(found["hops"], dtype=np.int64),
        outages_s=[(a / 1e9, b / 1e9) for a, b in found["outages_ns"]],
        path_changes_s=[t / 1e9 for t in found["path_changes_ns"]],
    )


@dataclass(frozen=True)
class Passed:
    """Summary of a timeline that was not kept in memory while it was generated."""

    facts: dict[str, Any]
    """Title, length, pairs, and counts of objects and changes."""
    pairs: list[PairOverTime]
    """Path properties of the first pairs."""

    def plot(self) -> Any:
        """Like `Timeline.plot`."""
        return draw(str(self.facts["title"]), float(self.facts["duration_ns"]) / 1e9, self.pairs)


def pass_by(
    scenario: Scenario, seed: int | None = None, *, path: Path | None = None, watched: int = 0, step_s: float = STEP_S
) -> Passed:
    """Generates the network of a scenario over the full run without keeping it in memory.

    The timeline is written to `path`, if one is given; the first `watched` pairs are sampled every
    `step_s`.
    """
    seed = scenario.core.seed if seed is None else seed
    with nullcontext() if path is None else written(path) as partial:
        found, views = _core.Timeline.pass_by(scenario.core, seed, partial, watched, max(1, round(step_s * 1e9)))
    facts = json.loads(found)
    return Passed(facts, [_over_time(p, v) for p, v in zip(facts["pairs"], views, strict=False)])


def load_timeline(path: str | Path) -> Timeline:
    """Reads and validates a saved timeline."""
    return Timeline(_core.Timeline.load(path))


def draw(title: str, duration_s: float, pairs: Sequence[PairOverTime]) -> Any:
    """Plots base RTT, rate and links in one colour per pair, with outages and path changes."""
    import matplotlib.pyplot as plt

    from perigee_lab.results.plots import COLOURS

    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 6.5), layout="constrained", height_ratios=(2, 1.2, 1))
    for p, colour in zip(pairs, COLOURS * len(pairs), strict=False):
        style = {"color": colour, "linewidth": 1.2, "where": "post"}
        axes[0].step(p.t_s, p.base_rtt_ms, label=quoting.plot(f"{p.origin} to {p.target}"), **style)
        axes[1].step(p.t_s, p.rate_mbps, **style)
        axes[2].step(p.t_s, np.where(p.hops > 0, p.hops, np.nan), **style)
        for begin, end in p.outages_s:
            for a in axes:
                # The outline keeps short outages visible in a long timeline.
                a.axvspan(begin, end, facecolor=colour, edgecolor=colour, alpha=0.25, linewidth=0.8)
        foot = axes[0].get_xaxis_transform()
        axes[0].plot(p.path_changes_s, [0.02] * len(p.path_changes_s), "|", color=colour, transform=foot)
    for a, label in zip(axes, ("base RTT, ms", "rate, Mbit/s", "links"), strict=True):
        a.set_ylabel(label)
        a.set_ylim(bottom=0)
        a.grid(alpha=0.25)
        a.spines[["top", "right"]].set_visible(False)
    axes[0].set_title(quoting.plot(title), loc="left")
    axes[0].legend(loc="lower right", frameon=False)
    axes[2].set_xlabel("time, s (bands: outages; ticks: changes of the path)")
    axes[2].set_xlim(0, duration_s)
    return figure
