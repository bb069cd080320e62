# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Swept fractions in percent, compared by value."""

from __future__ import annotations

import pytest

from perigee_lab.common.files import RecordError
from perigee_lab.common.quantities import NUMBER, TEXT, quantity
from perigee_lab.results.dataset import _chosen

SWEPT = ["0.1 %", "1 %"]


def test_percent_is_a_number() -> None:
    assert quantity("0.1 %") == quantity("0.1%") == quantity("0.001") == quantity("1e-1 %")
    assert quantity("0.7%").value == 0.007, "not 0.7 / 100"
    assert [quantity(t).kind for t in ("5 %", "5 % 3", "%", "nan %", "5 %%")] == [NUMBER, TEXT, TEXT, TEXT, TEXT]


def test_conditions_compare_percent_by_value() -> None:
    assert _chosen("loss=0.001", "loss", "=", "0.001", SWEPT) == ["0.1 %"]
    assert _chosen("loss=0.1%", "loss", "=", "0.1%", SWEPT) == ["0.1 %"]
    assert _chosen("loss<0.5%", "loss", "<", "0.5%", SWEPT) == ["0.1 %"]
    with pytest.raises(RecordError, match="give a number"):
        _chosen("loss=high", "loss", "=", "high", SWEPT)
    with pytest.raises(RecordError, match="has a, b: give one of its values"):
        _chosen("x=3", "x", "=", "3", ["a", "b"])
