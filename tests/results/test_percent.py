# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Swept fractions in percent, compared by value."""

from __future__ import annotations

from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import SMALL
from perigee_lab.common.files import RecordError
from perigee_lab.common.quantities import NUMBER, TEXT, quantity, repeated
from perigee_lab.results import cell_plots, dataset
from perigee_lab.results.cells import number
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


def test_swept_percent_are_numbers_in_tables_and_plots(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    key = "source.dumbbell.loss"
    sweep = perigee.sweep(tmp_path / "s.toml", {key: ["10 %", "2 %", "0.005"]}, cc="cubic", out=tmp_path / "out")
    assert [row[key] for row in sweep.rows] == [0.1, 0.02, 0.005]
    assert cell_plots._scale(sweep, key) == cell_plots.Scale({0.1: 0.1, 0.02: 0.02, 0.005: 0.005})
    assert [len(sweep.runs(**{"source__dumbbell__loss": v})) for v in ("2 %", 0.02)] == [1, 1]
    for text, values in (("loss>1%", [0.1, 0.02]), ("loss=0.5 %", [0.005]), ("loss<0.02", [0.005])):
        assert dataset.query(tmp_path / "out", [text])[key].to_pylist() == values, text
    assert [number(t) for t in ("5 %", "%", "5 ms", "7")] == [0.05, "%", "5 ms", 7]


@pytest.mark.parametrize("values", [["1 %", "1%"], ["0.01", "0.010"], ["1%", "0.01"], ["1bdp", "1.0bdp"]])
def test_a_value_in_two_notations_is_given_twice(tmp_path: Path, values: list[str]) -> None:
    assert repeated(values) == values[1]
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    with pytest.raises(RecordError, match="given twice"):
        perigee.sweep(tmp_path / "s.toml", {"source.dumbbell.loss": values}, out=tmp_path / "out")
    own = SMALL + f'\n[sweep]\n"source.dumbbell.loss" = {values}\n'
    (tmp_path / "s.toml").write_text(own, encoding="utf-8")
    with pytest.raises(RecordError, match="given twice"):
        perigee.sweep(tmp_path / "s.toml", out=tmp_path / "out")


def test_seeds_that_floats_do_not_distinguish_are_two() -> None:
    assert repeated(["9007199254740992", "9007199254740993"]) is None
    assert repeated(["5 ms", "5 Mbit", "5", "5 %", "x"]) is None
