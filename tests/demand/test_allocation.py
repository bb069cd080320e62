# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The fluid's allocations against linear programmes (HiGHS), on small random networks."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog

from perigee_lab import _core

Demand = tuple[float, float, list[tuple[int, float]]]


def network(seed: int, *, resources: int = 8, demands: int = 14) -> tuple[list[float], list[Demand]]:
    draw = np.random.default_rng(seed)
    capacity = (10 ** draw.uniform(6, 9, resources)).tolist()
    found: list[Demand] = []
    for _ in range(demands):
        used = draw.choice(resources, size=draw.integers(1, 5), replace=False).tolist()
        # One path, or fixed parts over several.
        shares = [1.0] * len(used) if draw.random() < 0.5 else draw.uniform(0.1, 1.0, len(used)).tolist()
        limit = float(10 ** draw.uniform(5, 9)) if draw.random() < 0.5 else float("inf")
        found.append((float(draw.uniform(0.2, 5.0)), limit, list(zip(used, shares, strict=True))))
    return capacity, found


def matrix(capacity: list[float], demands: list[Demand]) -> np.ndarray:
    uses = np.zeros((len(capacity), len(demands)))
    for d, (_, _, of) in enumerate(demands):
        for r, share in of:
            uses[r, d] += share
    return uses


def successive(capacity: list[float], demands: list[Demand]) -> np.ndarray:
    """Weighted max-min rates by linear programmes: raise the level of all that can still grow."""
    uses, scale = matrix(capacity, demands), 1e6
    room = np.array(capacity) / scale
    weight = np.array([d[0] for d in demands])
    limit = np.array([d[1] for d in demands]) / scale
    rate = np.full(len(demands), np.nan)
    while np.isnan(rate).any():
        free = np.isnan(rate)
        # Variables: the rates of all, and the common level.
        rows = np.hstack([uses, np.zeros((len(room), 1))])
        level = np.zeros((int(free.sum()), len(demands) + 1))
        for i, d in enumerate(np.flatnonzero(free)):
            level[i, d], level[i, -1] = -1.0, weight[d]
        bounds = [
            (0, None if np.isinf(limit[d]) else limit[d]) if free[d] else (rate[d], rate[d])
            for d in range(len(demands))
        ]
        cost = np.zeros(len(demands) + 1)
        cost[-1] = -1.0
        best = linprog(
            cost, A_ub=np.vstack([rows, level]), b_ub=np.concatenate([room, np.zeros(len(level))]),
            bounds=[*bounds, (0, None)], method="highs",
        )  # fmt: skip
        assert best.status == 0, best.message
        top = best.x[-1]
        # Whoever cannot have more at this level of the others has it for good.
        for d in np.flatnonzero(free):
            low = [(weight[e] * top * (1 - 1e-9), b[1]) if free[e] else b for e, b in enumerate(bounds)]
            one = np.zeros(len(demands))
            one[d] = -1.0
            most = linprog(one, A_ub=uses, b_ub=room * (1 + 1e-9), bounds=low, method="highs")
            assert most.status == 0, most.message
            if most.x[d] <= weight[d] * top * (1 + 1e-5) + 1e-9:
                rate[d] = weight[d] * top
    return rate * scale


@pytest.mark.parametrize("seed", range(25))
def test_max_min_rates_are_those_of_successive_linear_programmes(seed: int) -> None:
    capacity, demands = network(seed)
    found, gap = _core.allocate(capacity, demands)
    assert gap == 0.0
    np.testing.assert_allclose(found, successive(capacity, demands), rtol=1e-4)


def _number(cell: int, direction: int, *, first: int) -> int:
    return 2 * (first + cell) + direction


def between_cells(seed: int, *, cells: int = 4, pairs: int = 12) -> tuple[list[float], list[Demand]]:
    """Traffic between cells: beams and radios at both ends, in opposite directions, and links between them."""
    draw = np.random.default_rng(seed)
    # Beams down and up, radios down and up, links from one satellite to the next in each direction.
    beam, radio, link = (partial(_number, first=first) for first in (0, cells, 2 * cells))
    capacity = (10 ** draw.uniform(6, 8, 6 * cells)).tolist()
    found: list[Demand] = []
    for _ in range(pairs):
        here, there = draw.choice(cells, 2, replace=False).tolist()
        for up in (0, 1):
            low, high = min(here, there), max(here, there)
            used = [beam(here, up), radio(here, up), beam(there, 1 - up), radio(there, 1 - up)]
            used += [link(c, int((here < there) == bool(up))) for c in range(low, high)]
            limit = float(10 ** draw.uniform(5, 8))
            found.append((float(draw.uniform(0.2, 5.0)), limit, [(r, 1.0) for r in used]))
    return capacity, found


@pytest.mark.parametrize("seed", range(10))
def test_rates_between_cells_are_those_of_successive_linear_programmes(seed: int) -> None:
    capacity, demands = between_cells(seed)
    found, _ = _core.allocate(capacity, demands)
    np.testing.assert_allclose(found, successive(capacity, demands), rtol=1e-4)
    load = matrix(capacity, demands) @ found
    assert (load <= np.array(capacity) * (1 + 1e-9)).all()


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(8))
def test_alpha_fair_rates_have_a_small_gap_and_no_direction_of_ascent(seed: int, alpha: float) -> None:
    capacity, demands = network(seed)
    found, gap = _core.allocate(capacity, demands, alpha)
    assert gap <= 1e-6
    weight = np.array([d[0] for d in demands])
    uses = matrix(capacity, demands)
    # The objective is concave: at its maximum, no feasible direction has a positive derivative.
    slope = (found / weight) ** -alpha
    bounds = [(0, None if np.isinf(d[1]) else d[1]) for d in demands]
    scale = slope.max()
    best = linprog(-slope / scale, A_ub=uses / 1e6, b_ub=np.array(capacity) / 1e6, bounds=bounds, method="highs")
    assert best.status == 0, best.message
    gain = slope @ (best.x - found)
    assert gain <= 1e-5 * (slope @ found)


def test_wrong_numbers_are_named() -> None:
    with pytest.raises(ValueError, match="indices must be below 1"):
        _core.allocate([1.0], [(1.0, 1.0, [(1, 1.0)])])
    with pytest.raises(ValueError, match="neither a limit nor a resource"):
        _core.allocate([1.0], [(1.0, float("inf"), [])])
    with pytest.raises(ValueError, match=r"from 0\.2 to 8"):
        _core.allocate([1.0], [(1.0, 1.0, [(0, 1.0)])], 9.0)
