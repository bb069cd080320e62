# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Goodput of programs' flows from first to last packet."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from perigee_lab.results import program_goodput
from perigee_lab.results.active import active_columns, last_arrivals
from perigee_lab.results.delays import Distribution
from perigee_lab.results.program_goodput import Goodput

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


def test_a_line_names_the_other_direction_where_most_packets_went_that_way() -> None:
    upload = Goodput("s1->d1", 14.512, 1.6, 5.11)
    assert upload.line == (
        "s1->d1: goodput 14.51 Mbit/s from first to last packet (1.60 s), 5.11 Mbit/s until the end of the run"
    )
    assert upload.as_json()["active_goodput_mbps"] == 14.512
    download = Goodput("s1->d1", 0.0, 0.2, 0.0, ("d1", "s1"))
    assert 'for a download write from = "d1" and to = "s1" in the [[flow]]' in download.line


@pytest.mark.parametrize(("back", "hint"), [(2767, True), (1660, False), (12, False)])
def test_the_direction_with_more_packets_decides(monkeypatch: pytest.MonkeyPatch, *, back: int, hint: bool) -> None:
    class Ends:
        """The ends of the flow of a record."""

        def table(self, name: str) -> Any:
            """The table."""
            assert name == "flow_totals"
            return pa.Table.from_pylist([{"name": "up", "from": "s1", "to": "d1"}])

    row = {"flow": "up", "active_goodput_mbps": 0.01, "active_s": 0.2, "goodput_mbps": 0.01}
    counts = {"forward": 1660, "return": back}
    monkeypatch.setattr(
        program_goodput, "flow_rows", lambda _run: [row, {"flow": "tcp"}, {**row, "active_s": math.nan}]
    )
    monkeypatch.setattr(
        program_goodput, "distributions", lambda _run: [Distribution("up", of, n, {}) for of, n in counts.items()]
    )
    (found,) = program_goodput.goodputs(Ends())  # type: ignore[arg-type]
    assert found.other_way == (("d1", "s1") if hint else None)
