# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Goodput of programs' flows from first to last packet."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from perigee_lab.results.active import active_columns, last_arrivals

S = 1_000_000_000


class Rows:
    """The table `flows` of a record: (seconds, flow, bytes)."""

    def __init__(self, *rows: tuple[int, int, int]) -> None:
        """Stores the rows."""
        self.rows = [{"t_ns": t * S, "flow": f, "delivered_bytes": b} for t, f, b in rows]

    def columns(self, name: str, columns: list[str]) -> Any:
        """The table."""
        assert name == "flows"
        return pa.Table.from_pylist(self.rows).select(columns)


def flow(number: int, begin_s: float, payload: int, *, total: int | None = None) -> dict[str, Any]:
    """A flow of programs in a run of 10 s, from its first packet on."""
    window = {"begin_ns": int(begin_s * S), "payload_bytes": payload, "stop_ns": 10 * S}
    return {"flow": number, **window, "goodput_bytes": payload if total is None else total}


SAMPLED = Rows((1, 0, 0), (1, 1, 500), (2, 0, 1000), (2, 1, 500), (3, 0, 1000), (3, 1, 500))


def test_the_time_ends_with_the_sample_that_has_all_payload() -> None:
    flows = [flow(0, 1.5, 1000), flow(1, 0.5, 500)]
    last = last_arrivals(SAMPLED, flows)  # type: ignore[arg-type]
    assert last == {0: 2 * S, 1: 1 * S}
    assert active_columns(flows[:1], last) == {"active_goodput_mbps": pytest.approx(0.016), "active_s": 0.5}
    both = active_columns(flows, last)
    assert both["active_s"] == 1.5, "from the first packet of any to the last of any"
    assert both["active_goodput_mbps"] == pytest.approx(1500 * 8 / 1.5 / 1e6)


def test_payload_after_the_last_sample_counts_until_the_stop() -> None:
    late = [{**flow(0, 1.5, 1200), "stop_ns": int(3.25 * S)}]
    last = last_arrivals(SAMPLED, late)  # type: ignore[arg-type]
    assert active_columns(late, last)["active_s"] == 1.75


def test_without_payload_in_the_window_there_is_no_value() -> None:
    for flows in ([flow(0, 2.5, 0, total=1000)], [flow(0, 0.0, 0)], [flow(0, 2.5, 10, total=1000)]):
        found = active_columns(flows, last_arrivals(SAMPLED, flows))  # type: ignore[arg-type]
        assert all(map(math.isnan, found.values())), flows
    assert active_columns([], {}) == {}, "other runs do not have the columns"
