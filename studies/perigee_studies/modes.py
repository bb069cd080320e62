# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Gap test for runs with two modes, whose mean is the value of no run.

Sorted runs are split at the gap that is largest relative to the standard deviation within both
parts (pooled); each part has at least a tenth of the runs, so that a single outlier among many is
no mode. Runs have two modes if this ratio is at least 2, and above the 99th percentile of the same
ratio for samples of a normal distribution of the same size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST = 5
"""Runs below which the test has no power."""
LEVEL, DRAWS = 0.99, 20_000
SMALLEST = 0.1
"""Share of the runs in the smaller mode."""
WIDEST = 2.0
"""Gap in standard deviations, which runs of one skewed mode do not reach."""


def split(values: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The lower and the upper mode of runs; None if the test finds only one, or for few runs."""
    x = np.sort(np.asarray(values, dtype=float))
    if len(x) < FEWEST or np.ptp(x) == 0:
        return None
    ratios = _ratios(x)
    at = int(np.argmax(ratios)) + 1
    if ratios[at - 1] < _critical(len(x)):
        return None
    return tuple(x[:at].tolist()), tuple(x[at:].tolist())


def in_words(parts: tuple[Sequence[float], Sequence[float]], unit: str = "") -> str:
    """Both modes with the numbers of their runs."""
    total = sum(map(len, parts))
    said = [f"{len(part)} of {total} runs {_range(part)}{f' {unit}' if unit else ''}" for part in parts]
    return ", ".join(said)


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    return low if low == high else f"{low} to {high}"


def _ratios(x: Any) -> Any:
    """Gap over the pooled deviation within both parts, for each split of sorted rows."""
    n = x.shape[-1]
    k = np.arange(1, n)
    x = x - x.mean(axis=-1, keepdims=True)
    sums, squares = np.cumsum(x, axis=-1), np.cumsum(x * x, axis=-1)
    low = squares[..., :-1] - sums[..., :-1] ** 2 / k
    high = squares[..., -1:] - squares[..., :-1] - (sums[..., -1:] - sums[..., :-1]) ** 2 / (n - k)
    within = np.sqrt(np.maximum(low + high, 0) / (n - 2))
    # Parts without any spread, up to rounding, are separated by any gap.
    floor = 1e-9 * np.ptp(x, axis=-1)[..., np.newaxis]
    few = np.minimum(k, n - k) < SMALLEST * n
    return np.where(few, 0.0, np.diff(x, axis=-1) / np.maximum(within, floor))


@lru_cache
def _critical(n: int) -> float:
    """The percentile of the largest ratio for normal samples of this size."""
    samples = np.sort(np.random.default_rng(n).standard_normal((DRAWS, n)), axis=-1)
    return max(WIDEST, float(np.quantile(_ratios(samples).max(axis=-1), LEVEL)))
