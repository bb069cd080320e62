# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Quality of a fitted path: simulated probes and flows compared with those of the record.

Distances between two samples of RTTs: Kolmogorov-Smirnov (largest difference of the distribution
functions) and Wasserstein (mean shift, ms). Since neighbouring samples are correlated, intervals
are computed by resampling blocks of several seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.common.files import written
from perigee_lab.measure.fit.observed import Load, Probes, loads_of, probes_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

BLOCK_S = 5.0
RESAMPLES = 200
SHOWN = (1, 5, 25, 50, 75, 95, 99)
FLOW = "[[flow]]"
MOST_SAMPLES = 20_000


@dataclass(frozen=True)
class Distance:
    """Distance between two samples, with the 95 % interval over resampled blocks."""

    ks: float
    shift_ms: float
    shift_low_ms: float
    shift_high_ms: float
    here: tuple[float, ...]
    """Quantiles of the record, ms, at SHOWN."""
    there: tuple[float, ...]
    """Quantiles of the replay."""


NONE = Distance(float("nan"), float("nan"), float("nan"), float("nan"), (), ())
"""Placeholder if nothing is compared."""


@dataclass(frozen=True)
class Flow:
    """A flow of the record and its replay."""

    cc: str
    goodput_bps: float
    replayed_bps: float
    rtt: Distance | None
    seen: bool
    """Whether the fit used this flow."""

    @property
    def error(self) -> float:
        """Relative error of the goodput."""
        return self.replayed_bps / max(1.0, self.goodput_bps) - 1


def replayed_probes(scenario: File, like: Probes) -> Probes:
    """Simulates probes over the fitted path, at the interval of `like`."""
    ms = like.interval_s * 1e3
    flow = f'{FLOW}\nname = "probes"\napp = "ping"\ninterval = "{ms:.3f} ms"\nsize = {like.bytes}\n'
    run = _run(scenario, flow, {"run.sample": f"{max(1.0, ms):.3f} ms"}, None)
    return probes_of([run])


def replayed_load(scenario: File, load: Load) -> Load:
    """Simulates a flow over the fitted path, with the start and end of the original."""
    size = "" if load.bytes is None else f'bytes = "{load.bytes:.0f} B"\n'
    flow = f'{FLOW}\ncc = "*"\nstart = "{load.start_s:.6f} s"\n{size}'
    sets: dict[str, object] = {"run.sample": f"{max(1.0, load.step_s * 1e3):.3f} ms"}
    if load.bytes is None:
        flow += f'stop = "{load.stop_s:.6f} s"\n'
    return loads_of([_run(scenario, flow, sets, load.cc)])[0]


def _run(scenario: File, flow: str, sets: dict[str, object], cc: str | None) -> Any:
    from perigee_lab.runs.scenario import loads

    text = scenario.read_text(encoding="utf-8")
    return loads(text[: text.index(FLOW)] + flow, sets, name=scenario.name, folder=scenario.parent).run(cc)


def flow_beside(scenario: File, load: Load, *, seen: bool) -> Flow:
    """Compares a flow of the record with its replay."""
    other = replayed_load(scenario, load)
    rtt = None
    if not load.smoothed and len(load.rtts[0]) and len(other.rtts[0]):
        rtt = distance(_spread(load), _spread(other), None)
    return Flow(load.cc, load.goodput_bps, other.goodput_bps, rtt, seen)


def _spread(load: Load) -> Floats:
    """RTT samples, thinned to the number needed by a comparison."""
    ms, count = load.rtts
    share = np.cumsum(count) / count.sum()
    found: Floats = ms[
        np.minimum(
            np.searchsorted(share, np.linspace(0.5, MOST_SAMPLES - 0.5, MOST_SAMPLES) / MOST_SAMPLES), len(ms) - 1
        )
    ]
    return found


def distance(here: Floats, there: Floats, times_s: Floats | None) -> Distance:
    """Distance between the RTTs of record and replay.

    `times_s`: times of the record's samples, which define the blocks.
    """
    from scipy import stats

    shift = float(stats.wasserstein_distance(here, there))
    low, high = _interval(here, there, times_s)
    return Distance(
        float(stats.ks_2samp(here, there).statistic), shift, low, high,
        tuple(float(v) for v in np.percentile(here, SHOWN)), tuple(float(v) for v in np.percentile(there, SHOWN)),
    )  # fmt: skip


def _interval(here: Floats, there: Floats, times_s: Floats | None) -> tuple[float, float]:
    from scipy import stats

    if times_s is None:
        return float("nan"), float("nan")
    rng = np.random.default_rng(1)
    thin = max(1, len(there) // 2000)
    blocks = np.floor((times_s - times_s[0]) / BLOCK_S).astype(np.int64)
    parts = [p[:: max(1, thin)] for p in np.split(here, np.flatnonzero(np.diff(blocks)) + 1)]
    other = there[::thin]
    found = [
        float(
            stats.wasserstein_distance(
                np.concatenate([parts[i] for i in rng.integers(len(parts), size=len(parts))]), other
            )
        )
        for _ in range(RESAMPLES)
    ]
    return float(np.quantile(found, 0.025)), float(np.quantile(found, 0.975))


def probes_beside(unseen: Probes, replay: Probes) -> Distance:
    """Compares probes that were held out from the fit with those of the replay."""
    fine = unseen.answered
    return distance(unseen.rtt_ms[fine], replay.rtt_ms[replay.answered], unseen.sent_s[fine])


def draw(file: File, record: Probes, replay: Probes, flows: Sequence[tuple[Load, Load]]) -> None:
    """Plots the record and the replay side by side."""
    import matplotlib.pyplot as plt

    wide = 3 if flows else 2
    figure, axes = plt.subplots(1, wide, figsize=(4 * wide, 3.4), layout="constrained")
    for probes, label, colour in ((record, "record", "#0b6fb8"), (replay, "replay", "#d1495b")):
        fine = probes.answered
        rtt = np.sort(probes.rtt_ms[fine])
        axes[0].plot(rtt, np.linspace(0, 1, len(rtt)), label=label, color=colour, linewidth=1.3)
        axes[1].plot(
            probes.sent_s[fine], probes.rtt_ms[fine], ".", markersize=1.2, color=colour, alpha=0.6, rasterized=True
        )
    known = record.rtt_ms[record.answered]
    axes[0].set_xlim(np.quantile(known, 0) - 1, np.quantile(known, 0.998) + 1)
    axes[1].set_ylim(np.quantile(known, 0) - 1, np.quantile(known, 0.998) + 1)
    axes[0].set_xlabel("RTT of probes, ms")
    axes[0].set_ylabel("share")
    axes[1].set_xlabel("time, s")
    axes[1].set_ylabel("RTT of probes, ms")
    for k, (a, b) in enumerate(flows):
        for load, style in ((a, "-"), (b, "--")):
            every = max(1, round(1.0 / load.step_s))
            t, d = load.t_s[::every], load.delivered[::every]
            axes[2].plot(
                t[1:],
                np.diff(d) * 8e-6 / np.diff(t),
                style,
                color=f"C{k}",
                linewidth=1,
                label=quoting.plot(f"{load.cc}{'' if style == '-' else ', replayed'}"),
            )
    if flows:
        axes[2].set_xlabel("time, s")
        axes[2].set_ylabel("goodput, Mbit/s")
    for axis in axes:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=8)
    with written(file) as partial:
        figure.savefig(partial, dpi=120, format=file.suffix[1:] or "png")
    plt.close(figure)
