# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee fit`: from records to a scenario, and what is said of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import TYPE_CHECKING

from perigee.measure.fit import quality
from perigee.measure.fit.files import write_scenario
from perigee.measure.fit.model import Path, fitted
from perigee.measure.fit.seen import Load, Probes, loads_of, probes_of, told_of

if TYPE_CHECKING:
    from perigee.results.record import Run

FIT_ON = ("cubic", "newreno", "bbr", "bbr3")
"""What a fit prefers of the flows that there are: those that fill a queue."""


@dataclass(frozen=True)
class Fit:
    """A fitted path and how well it does."""

    scenario: File
    path: Path
    probes: quality.Distance
    flows: list[quality.Flow]


def fit(
    runs: Sequence[Run], folder: File, *, title: str, command: str, rate_bps: float | None = None, on: str | None =
    None, score: bool = True, tell: Callable[[str], None] = lambda _: None,
) -> Fit:  # fmt: skip
    """Fits a path to these runs and writes scenario, schedule and picture into `folder`.

    Distances are those of a fit with every other probe and one flow, on the probes and flows that it has not seen;
    what is written is the fit with all probes. Raises MeasureError: what is missing; ScenarioError.
    """
    probes, loads, told = probes_of(runs), loads_of(runs), told_of(runs)
    known = _known()
    chosen = _chosen(loads, on)
    ways = {(x.target, x.origin) for x in chosen}
    back = [x for x in loads if (x.origin, x.target) in ways]
    loads = [x for x in loads if (x.origin, x.target) not in ways]
    path = fitted(probes, chosen, rate_bps, back, told)
    scenario = write_scenario(path, folder, title=title, command=command)
    if not score:
        return Fit(scenario, path, quality.probes_beside(probes, probes), [])
    with tempfile.TemporaryDirectory() as scratch:
        half = fitted(probes.part(slice(0, None, 2)), chosen, rate_bps, back, told)
        trial = write_scenario(half, File(scratch), title=title, command=command)
        tell("probes are replayed")
        found = quality.probes_beside(probes.part(slice(1, None, 2)), quality.replayed_probes(trial, probes))
        flows, drawn = [], []
        for load in loads:
            if load.cc in known:
                tell(f"{load.cc} is replayed")
                flows.append(quality.flow_beside(trial, load, seen=load in chosen))
    replay = quality.replayed_probes(scenario, probes)
    drawn = [(x, quality.replayed_load(scenario, x)) for x in loads[:4] if x.cc in known]
    quality.draw(folder / "fit.png", probes, replay, drawn)
    return Fit(scenario, path, found, flows)


def _chosen(loads: Sequence[Load], on: str | None) -> list[Load]:
    """The flow that the fit may see."""
    order = [on] if on is not None else list(FIT_ON)
    for cc in order:
        for load in loads:
            if load.cc == cc:
                return [load]
    return list(loads[:1]) if on is None else []


def _known() -> set[str]:
    from perigee.runs.scenario import schemes

    return {s["id"] for s in schemes()}


def lines(found: Fit) -> list[str]:
    """What a fit says, for a terminal."""
    p = found.path
    out = [
        f"base RTT: {len(p.base)} values, {min(v for _, v in p.base):.2f} to {max(v for _, v in p.base):.2f} ms; "
        f"{len(p.steps)} steps"
        + (f", on a grid of 15 s, phase {p.grid.phase_s:.2f} s" if p.grid and p.grid.found else ""),
        f"capacity: {_range([r / 1e6 for _, r in p.rates])} Mbit/s"
        + (f", {len(p.rates)} values" if len(p.rates) > 1 else "")
        + _by_trains(p, "there"),
        "queue: "
        + ("unknown" if p.queue_bytes is None else f"{p.queue_bytes / 1e3:.0f} kB")
        + ("" if p.early is None else ", from where on it drops at random (taken for RED)"),
        "way back: "
        + ("unknown" if p.reverse_bps is None else f"{p.reverse_bps / 1e6:.2f} Mbit/s")
        + _by_trains(p, "back"),
        "jitter: " + (_jitter(p) if p.added else "none beyond the steps"),
        "losses: " + _losses(p),
        "",
        f"probes that the fit has not seen, beside its replay: KS {found.probes.ks:.3f}, Wasserstein "
        f"{found.probes.shift_ms:.2f} ms "
        f"({found.probes.shift_low_ms:.2f} to {found.probes.shift_high_ms:.2f})",
        "  quantile, %     " + "".join(f"{q:>9}" for q in quality.SHOWN),
        "  record, ms      " + "".join(f"{v:9.2f}" for v in found.probes.here),
        "  replay, ms      " + "".join(f"{v:9.2f}" for v in found.probes.there),
    ]
    for f in found.flows:
        rtt = (
            "" if f.rtt is None else f"; RTT medians {f.rtt.here[3]:.1f} and {f.rtt.there[3]:.1f} ms, KS {f.rtt.ks:.3f}"
        )
        seen = "the fit has seen it" if f.seen else "not seen by the fit"
        out.append(
            f"{f.cc} ({seen}): {f.goodput_bps / 1e6:.2f} Mbit/s, replayed {f.replayed_bps / 1e6:.2f} "
            f"({100 * f.error:+.1f} %){rtt}"
        )
    return [*out, "cannot be known from this record:", *(f"  {u}" for u in p.unknown)]


def _by_trains(p: Path, way: str) -> str:
    said = p.dispersion.get(way)
    return "" if said is None else f", by dispersion: {said.told}"


def _range(values: Sequence[float]) -> str:
    return f"{values[0]:.2f}" if len(values) == 1 else f"{min(values):.2f} to {max(values):.2f}"


def _jitter(p: Path) -> str:
    middle = next((v for q, v in p.added if q == 50), 0.0)
    over = f"{p.correlation_s * 1e3:.0f} ms"
    return f"median {middle:.2f} ms, up to {p.added[-1][1]:.2f} ms above the base, correlated over {over}"


def _losses(p: Path) -> str:
    parts = []
    if p.outages:
        lengths = sorted(1e3 * n for _, n in p.outages)
        what = "what waits is served afterwards" if p.hold else "what waits is lost"
        parts.append(f"{len(lengths)} outages of {lengths[0]:.0f} to {lengths[-1]:.0f} ms ({what})")
    if p.events is not None:
        parts.append(f"events every {p.events[0]:.1f} s, {100 * p.events[1]:.0f} % of one packet")
    if p.bursts is not None:
        parts.append(f"bursts every {p.bursts[0]:.1f} s of {1e3 * p.bursts[1]:.0f} ms")
    if p.loss:
        parts.append(f"{100 * p.loss:.3g} % of packets at random")
    return "; ".join(parts) or "none seen"


__all__ = ["Fit", "Probes", "fit", "lines"]
