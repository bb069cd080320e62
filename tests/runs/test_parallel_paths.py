# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Data spread over parallel paths, from the scenario file to the record."""

from __future__ import annotations

import pytest

import perigee_lab as perigee

NETWORK = """
[run]
duration = "4 s"
[source.parallel]
rtt = "40 ms"
path_delay = ["0 ms", "{more}"]
{choice}
[port.bottleneck]
rate = "20 Mbit"
queue = "20 MB"
[[flow]]
cc = "*"
"""


def run(cc: str, choice: str, more: str = "0 ms") -> perigee.Run:
    return perigee.loads(NETWORK.format(choice=choice, more=more)).run(cc=cc, seed=1)


def crossed(found: perigee.Run) -> dict[str, int]:
    links = found.to_pandas("link_totals").set_index("name")["crossed_packets"]
    return {name: int(links.get(name, 0)) for name in ("m1->r2", "m2->r2")}


def test_a_flow_has_one_path_and_its_packets_have_both() -> None:
    assert sorted(crossed(run("cubic", 'ecmp = "flow"')).values())[0] == 0
    both = crossed(run("cubic", 'ecmp = "packet"')).values()
    assert max(both) < 1.1 * min(both)


def test_packets_over_unequal_paths_are_reordered_and_orbcc_retransmits_none() -> None:
    cubic = run("cubic", 'ecmp = "packet"', "15 ms").to_pandas("flow_totals")
    orbcc = run("orbcc", 'ecmp = "packet"', "15 ms").to_pandas("flow_totals")
    assert cubic["retransmits"].sum() > 20, "no queue is ever full: the packets were only late"
    assert orbcc["retransmits"].sum() < cubic["retransmits"].sum() / 4
    assert orbcc["goodput_bytes"].sum() > 0.5 * 4 * 40e6 / 8


def test_a_path_that_flaps_is_the_only_one_in_its_turn() -> None:
    found = run("cubic", 'ecmp = "turns"\nturn = "1 s"')
    assert min(crossed(found).values()) > 1000
    links = found.to_pandas("links")
    names = found.to_pandas("link_totals").set_index("link")["name"]
    entered = links[links["link"].map(names) == "r1->m2"].sort_values("t_ns")
    by_second = entered.groupby(entered["t_ns"] // 10**9)["tx_packets"].agg(lambda n: n.iloc[-1] - n.iloc[0])
    assert by_second.get(2, 0) < 0.05 * by_second[1], "the third second is the first path's"


def test_paced_flows_have_one_flowlet_after_the_handshake() -> None:
    few = crossed(run("orbcc", 'ecmp = "flowlet"\nflowlet_gap = "5 ms"')).values()
    assert min(few) < 0.05 * max(few), "only pauses of the start"
    assert min(crossed(run("orbcc", 'ecmp = "flowlet"\nflowlet_gap = "100 us"')).values()) > 1000


@pytest.mark.parametrize("keys", ['flowlet_gap = "1 ms"', 'ecmp = "flow"\nturn = "1 s"', "paths = 1"])
def test_keys_without_effect_are_refused(keys: str) -> None:
    with pytest.raises(perigee.ScenarioError):
        run("cubic", keys)
