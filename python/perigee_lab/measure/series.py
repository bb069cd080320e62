# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Analysis of a series of RTTs: steps of the base RTT, the 15 s grid, runs of losses, correlation.

The base of a window is a low quantile of its RTTs, since queues only add delay. A step is a point
at which the medians of several windows before and after differ by more than the noise between
neighbouring windows explains; its time is then refined with single samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

GRID_S = 15.0
"""Starlink reassigns the satellites of terminals every 15 s, synchronised worldwide (first
published by Tanveer et al., CoNEXT 2023)."""
BASE_QUANTILE = 0.1
WINDOW_SAMPLES = 12
LEAST_WINDOW_S, MOST_WINDOW_S = 0.2, 5.0
BESIDE, BESIDE_S = 3, 2.0
"""Minimum number and total length of windows for the medians before and after a step; shorter
changes are jitter."""
NOISE = 6.0
"""Threshold for steps, in standard deviations of the differences between neighbouring windows and
between windows at a step's distance."""
LEAST_STEP_MS = 0.6
PLATEAU = 0.98
SIGNIFICANT = 1e-3
LEAST_STEPS = 8


@dataclass(frozen=True)
class Step:
    """A change of the base RTT."""

    t_s: float
    before_ms: float
    after_ms: float


@dataclass(frozen=True)
class Windows:
    """The base RTT in each window."""

    t_s: Floats
    """Centres of the windows that have samples."""
    base_ms: Floats
    length_s: float


@dataclass(frozen=True)
class Grid:
    """Result of testing events for a period."""

    period_s: float
    phase_s: float
    """Phase of the events, relative to time 0."""
    strength: float
    """Length of the mean vector of the phases on the circle: 0 = uniform, 1 = all at one phase."""
    p: float
    """p-value of Rayleigh's test against a uniform distribution."""
    events: int

    @property
    def found(self) -> bool:
        """Whether the period is significant."""
        return self.events >= LEAST_STEPS and self.p < SIGNIFICANT


def windows(t_s: Floats, rtt_ms: Floats, length_s: float | None = None) -> Windows:
    """The base RTT of each window; without `length_s`, a window is as long as a dozen samples."""
    if len(t_s) < 2:
        return Windows(t_s, rtt_ms, 1.0)
    usual = float(np.median(np.diff(t_s)))
    length = length_s or min(MOST_WINDOW_S, max(LEAST_WINDOW_S, WINDOW_SAMPLES * usual))
    index = np.floor((t_s - t_s[0]) / length).astype(np.int64)
    cuts = np.flatnonzero(np.diff(index)) + 1
    groups = np.split(rtt_ms, cuts)
    base = np.array([np.quantile(g, BASE_QUANTILE) for g in groups])
    middle = np.array([t_s[0] + (index[i] + 0.5) * length for i in np.concatenate(([0], cuts))])
    return Windows(middle, base, length)


def steps(t_s: Floats, rtt_ms: Floats) -> list[Step]:
    """Steps of the base RTT, with the time of the first sample after each."""
    found = windows(t_s, rtt_ms)
    base = found.base_ms
    beside = max(BESIDE, round(BESIDE_S / found.length_s))
    if len(base) < 2 * beside:
        return []
    ahead = np.array([np.median(base[j : j + beside]) for j in range(len(base) - beside + 1)])
    jump = np.zeros(len(base))
    jump[beside : len(ahead)] = ahead[beside:] - ahead[: len(ahead) - beside]
    size = np.abs(jump)
    least = max(LEAST_STEP_MS, NOISE * max(_deviation(np.diff(base)), _deviation(jump[beside : len(ahead)])))
    out = []
    j = beside
    while j < len(ahead):
        near = size[max(0, j - beside + 1) : j + beside]
        if size[j] < least or size[j] < near.max():
            j += 1
            continue
        # Around a step, many windows show about the same difference; the middle one is at the step.
        end = j
        while end + 1 < len(ahead) and size[end + 1] >= PLATEAU * size[j]:
            end += 1
        middle = (j + end) // 2
        about = found.t_s[middle] - found.length_s / 2
        at = _refined(t_s, rtt_ms, about, beside * found.length_s / 2)
        out.append(Step(at, float(ahead[middle - beside]), float(ahead[middle])))
        j = max(end, middle + beside) + 1
    return out


def _deviation(values: Floats) -> float:
    """Standard deviation of a normal variable with the same median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def _refined(t_s: Floats, rtt_ms: Floats, about_s: float, within_s: float) -> float:
    """Time of the sample that best splits the samples around it into two levels."""
    low, high = np.searchsorted(t_s, (about_s - within_s, about_s + within_s))
    x = rtt_ms[low:high]
    if len(x) < 4:
        return about_s
    # Least absolute deviations from medians, robust against late samples.
    costs = [np.abs(x[:k] - np.median(x[:k])).sum() + np.abs(x[k:] - np.median(x[k:])).sum() for k in range(1, len(x))]
    return float(t_s[low + 1 + int(np.argmin(costs))])


def grid(times_s: Sequence[float] | Floats, period_s: float = GRID_S) -> Grid:
    """Tests events for a period by the length of their mean vector (Rayleigh)."""
    t = np.asarray(times_s, dtype=float)
    n = len(t)
    if n == 0:
        return Grid(period_s, 0.0, 0.0, 1.0, 0)
    turn = np.exp(2j * np.pi * t / period_s).mean()
    strength = float(abs(turn))
    z = n * strength**2
    # Rayleigh's distribution with the first correction for small n.
    p = math.exp(-z) * (1 + (2 * z - z * z) / (4 * n))
    phase = float(np.angle(turn)) / (2 * np.pi) * period_s % period_s
    return Grid(period_s, phase, strength, min(1.0, max(p, math.exp(-z) / 10, 1e-300)), n)


@dataclass(frozen=True)
class Losses:
    """Runs of lost probes."""

    starts: npt.NDArray[np.int64]
    """Number of the first lost probe of each run."""
    lengths: npt.NDArray[np.int64]

    @property
    def lost(self) -> int:
        """Total number of lost probes."""
        return int(self.lengths.sum())


def losses(lost: Bools) -> Losses:
    """Finds runs of consecutive losses."""
    edges = np.diff(np.concatenate(([0], lost.astype(np.int8), [0])))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return Losses(starts, ends - starts)


def correlation_s(t_s: Floats, values: Floats, most_s: float = 10.0) -> float:
    """Correlation time: where the autocorrelation falls below 1/e; 0 = uncorrelated."""
    if len(values) < 20:
        return 0.0
    step = float(np.median(np.diff(t_s)))
    ranks = np.argsort(np.argsort(values)).astype(float)
    x = ranks - ranks.mean()
    power = float((x * x).mean())
    if power <= 0 or step <= 0:
        return 0.0
    before = 1.0
    for lag in range(1, min(len(x) // 4, max(2, int(most_s / step)))):
        now = float((x[:-lag] * x[lag:]).mean()) / power
        if now < math.exp(-1):
            # Linear interpolation between two lags.
            share = (before - math.exp(-1)) / max(1e-9, before - now)
            return 0.0 if lag == 1 and now < 0.1 else (lag - 1 + share) * step
        before = now
    return most_s
