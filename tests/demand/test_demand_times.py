# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Times of two records of demand side by side."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perigee_lab.cli.demand import _same_times
from perigee_lab.common.errors import CommandError


def record(name: str, duration_s: float, start: str = "2026-01-01T18:00:00Z") -> Any:
    """What is compared of a record."""
    return SimpleNamespace(folder=Path(name), start={"duration_s": duration_s, "start": start})


@pytest.mark.parametrize("window", [None, (0.0, 601.0), (0.0, math.inf), (600.0, math.nextafter(600.0, math.inf))])
def test_records_of_other_times_are_not_put_side_by_side(window: tuple[float, float] | None) -> None:
    for a, b in ((2400.0, 600.0), (600.0, 2400.0)):
        with pytest.raises(CommandError, match="only equal times are compared"):
            _same_times(record("a", a), record("b", b), window)
    with pytest.raises(CommandError, match=r"b has 600 s from 2026-01-02"):
        _same_times(record("a", 600.0), record("b", 600.0, "2026-01-02T18:00:00Z"), window)


def test_equal_times_are_compared() -> None:
    short = record("b", 600.0)
    assert _same_times(record("a", 600.0), short, None) is short
    assert _same_times(record("a", 2400.0), short, (0.0, 600.0)) is short
