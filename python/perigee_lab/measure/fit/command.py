# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee fit`: from records to a fitted scenario and its report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import TYPE_CHECKING

from perigee_lab.measure.fit import files, quality
from perigee_lab.measure.fit.files import write_scenario
from perigee_lab.measure.fit.model import Path, fitted
from perigee_lab.measure.fit.observed import Load, Probes, loads_of, probes_of, train_rates
from perigee_lab.measure.fit.recording import Given, Recording, exactly, read
from perigee_lab.measure.store import UNKNOWN

if TYPE_CHECKING:
    from perigee_lab.results.run import Run

FIT_ON = ("cubic", "newreno", "bbr", "bbr3")
"""Schemes on which a path is fitted, by preference: those that fill a queue."""


FATES = {
    "flush": "what waits is lost",
    "hold": "what waits is served afterwards",
    "blackhole": "what waits is served meanwhile, into nothing",
}


@dataclass(frozen=True)
class Fit:
    """A fitted path, and the quality of the fit."""

    scenario: File
    path: Path
    probes: quality.Distance
    flows: list[quality.Flow]


def fit(
    runs: Sequence[Run], folder: File, *, title: str, command: str, rate_bps: float | None = None, on: str | None =
    None, score: bool = True, tell: Callable[[str], None] = lambda _: None, given: Given | None = None,
    queue_bytes: float | None = None,
) -> Fit:  # fmt: skip
    """Fits a path to runs, or to the recordings `given`.

    Writes scenario, schedule and figure into `folder`. Distances are those of a fit that has used
    every other probe and one flow, on the probes and flows held out from it; the fit that is
    written uses all probes. Raises MeasureError if data are missing, and ScenarioError.
    """
    with tempfile.TemporaryDirectory() as scratch:
        recorded = None if given is None or not given.any else read(given, File(scratch))
        seen = _seen(runs, on, recorded, rate_bps, queue_bytes)
        path = seen.fitted(seen.probes)
        scenario = write_scenario(path, folder, title=title, command=command)
        if not score:
            return Fit(scenario, path, quality.probes_beside(seen.probes, seen.probes), [])
        if recorded is not None and recorded.probes is not None:
            tell("the recording is replayed as it is")
            exact, loads = exactly(recorded, files.queue_bytes(path), path.usual_bps, path.duration_s)
            seen = replace(seen, exact=exact, loads=loads)
        with tempfile.TemporaryDirectory() as trials:
            return _scored(seen, Fit(scenario, path, quality.NONE, []), File(trials), tell)


@dataclass(frozen=True)
class _Seen:
    """Input of a fit, and the data with which it is compared."""

    probes: Probes
    exact: Probes
    """Probes with which the replay is compared: the same, or those replayed over a recording."""
    chosen: list[Load]
    loads: list[Load]
    fitted: Callable[[Probes], Path]


def _seen(
    runs: Sequence[Run], on: str | None, recorded: Recording | None, rate_bps: float | None, queue_bytes: float | None
) -> _Seen:
    probes = recorded.probes if recorded is not None and recorded.probes is not None else probes_of(runs)
    trains = train_rates(runs)
    loads = [x.aligned_with(probes) for x in loads_of(runs)]
    chosen = _chosen(loads, on)
    ways = {(x.target, x.origin) for x in chosen}
    back = [x for x in loads if (x.origin, x.target) in ways]
    loads = [x for x in loads if (x.origin, x.target) not in ways]

    def path_of(some: Probes) -> Path:
        return fitted(some, chosen, rate_bps, back, trains, recorded, queue_bytes)

    return _Seen(probes, probes, chosen, loads, path_of)


def _scored(seen: _Seen, found: Fit, scratch: File, tell: Callable[[str], None]) -> Fit:
    """Computes the quality of a fit to half of the probes, on the other half and on flows."""
    known = _known()
    if any(x.cc == UNKNOWN for x in seen.loads):
        found.path.unknown.append(
            "whether flows whose scheme nobody named come back: a capture does not say it, perigee import capture FILE "
            "--cc cubic does"
        )
    half = seen.fitted(seen.probes.part(slice(0, None, 2)))
    trial = write_scenario(half, scratch, title="trial", command="trial")
    tell("probes are replayed")
    unseen = seen.exact.part(slice(1, None, 2))
    probes = quality.probes_beside(unseen, quality.replayed_probes(trial, seen.exact))
    flows = []
    for load in seen.loads:
        if load.cc in known:
            tell(f"{load.cc} is replayed")
            flows.append(quality.flow_beside(trial, load, seen=load in seen.chosen))
    replay = quality.replayed_probes(found.scenario, seen.exact)
    drawn = [(x, quality.replayed_load(found.scenario, x)) for x in seen.loads[:4] if x.cc in known]
    quality.draw(found.scenario.parent / "fit.png", seen.exact, replay, drawn)
    return replace(found, probes=probes, flows=flows)


def _chosen(loads: Sequence[Load], on: str | None) -> list[Load]:
    """The flow that is available to the fit."""
    order = [on] if on is not None else list(FIT_ON)
    for cc in order:
        for load in loads:
            if load.cc == cc:
                return [load]
    return sorted(loads, key=lambda x: -x.delivered[-1] if len(x.delivered) else 0.0)[:1] if on is None else []


def _known() -> set[str]:
    from perigee_lab.runs.scenario import schemes

    return {s["id"] for s in schemes()}


def lines(found: Fit) -> list[str]:
    """The report of a fit as lines for a terminal."""
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
        parts.append(f"{len(lengths)} outages of {lengths[0]:.0f} to {lengths[-1]:.0f} ms ({_fate(p)})")
    if p.events is not None:
        parts.append(f"events every {p.events[0]:.1f} s, {100 * p.events[1]:.0f} % of one packet")
    if p.bursts is not None:
        parts.append(f"bursts every {p.bursts[0]:.1f} s of {1e3 * p.bursts[1]:.0f} ms")
    if p.loss:
        parts.append(f"{100 * p.loss:.3g} % of packets at random")
    return "; ".join(parts) or "none seen"


def _fate(p: Path) -> str:
    what = FATES[p.mode]
    if p.seen is None or not p.seen.decided:
        return what
    said = max(p.seen.lost, p.seen.served)
    return f"{what}: {said} of {p.seen.lost + p.seen.served} that a flow with a queue met"


__all__ = ["Fit", "Probes", "fit", "lines"]
