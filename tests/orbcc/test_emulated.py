# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transfers over an emulated path from London to New York with handovers; a short form of bench/orbcc.py."""

from __future__ import annotations

import pytest
from emulated import CARRIERS, Carrier, over_one_of_three, over_the_sky, unequal
from network import missing

LACK = missing()
pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.skipif(bool(LACK), reason=LACK)]


@pytest.mark.parametrize("carrier", CARRIERS[:3], ids=lambda carrier: carrier.name)
def test_changes_of_the_path_are_noticed_and_none_is_invented(carrier: Carrier) -> None:
    t = over_the_sky(carrier, 14)
    assert t.changes >= 3
    # One may precede the connection.
    assert t.changes - 1 <= t.flow["path_changes"] <= t.changes, t
    assert (t.flow["fallback"], t.flow["handovers"], t.flow["late"]) == (0, 0, 0), t
    assert abs(t.flow["base_rtt_us"] / 1e3 - t.last_base_ms) < 0.1 * t.last_base_ms, t
    assert t.share > 0.7, t
    assert t.inflation < 1.3, t


def test_flows_of_unequal_rtts_have_equal_shares() -> None:
    rates = unequal(CARRIERS[0], 15)
    assert max(rates) < 1.15 * min(rates), rates
    assert sum(rates) > 60, rates


def test_leocc_takes_over_where_records_do_not_explain_the_queue() -> None:
    t = over_one_of_three(14, "leocc")
    assert t.flow["handovers"] >= 1, t
    assert t.share > 0.6, t
