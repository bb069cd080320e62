# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Report on concurrent flows, seeds, completions and bounds of a flow."""

from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.results.report.data import payload
from perigee_lab.results.report.shares import bands, completions, shares

TWO = """
title = "two flows"
[run]
duration = "12 s"
cc = ["cubic"]
[source.dumbbell]
pairs = 2
rtt = ["20 ms", "20 ms"]
loss = 0.0001
[port.bottleneck]
rate = "20 Mbit"
queue = "8 bdp"
[[flow]]
cc = "*"
name = "bulk"
from = "s1"
to = "d1"
[[flow]]
cc = "vegas"
name = "polite"
from = "s2"
to = "d2"
"""


def runs(text: str, seeds: int = 1) -> list[perigee.Run]:
    loaded = perigee.loads(text)
    return [loaded.run("cubic", seed) for seed in range(1, seeds + 1)]


def test_a_flow_with_less_than_a_quarter_of_the_average_starves() -> None:
    (found,) = shares(runs(TWO), {"cubic": "Cubic"})
    bulk, polite = found["bars"]
    assert (bulk["name"], polite["name"]) == ("bulk", "polite")
    assert (bulk["starves"], polite["starves"]) == (False, True)
    assert polite["of_fair"] == pytest.approx(2 * polite["mbps"] / (polite["mbps"] + bulk["mbps"]), abs=2e-3)
    assert found["starving"] == 1


def test_flows_over_different_bottlenecks_have_no_fair_share() -> None:
    text = TWO.replace("[source.dumbbell]\npairs = 2", "[source.chain]\nlinks = 1\ncopies = 2")
    text = text.replace('rtt = ["20 ms", "20 ms"]', 'rtt = "20 ms"')
    text = text.replace('"s1"', '"s.1"').replace('"d1"', '"d.1"').replace('"s2"', '"s.2"').replace('"d2"', '"d.2"')
    (found,) = shares(runs(text), {})
    assert [b["of_fair"] for b in found["bars"]] == [None, None]
    assert found["starving"] == 0


def test_one_flow_alone_has_nothing_to_be_compared_with() -> None:
    assert shares(runs(TWO[: TWO.rindex("[[flow]]")]), {}) == []


def test_bands_hold_the_curves_of_all_seeds() -> None:
    found = bands(runs(TWO, 3), [{"flow": 0}])["cubic"]["0"]
    low, high = found["goodput"]
    known = [(a, b) for a, b in zip(low, high, strict=True) if a is not None]
    assert all(a <= b for a, b in known)
    assert any(a < b for a, b in known)
    assert bands(runs(TWO), [{"flow": 0}]) == {}


def test_capacity_is_what_the_path_carries_and_left_out_where_it_is_no_bound() -> None:
    scheme = payload(runs(TWO))["schemes"][0]
    capacity = [c for c in scheme["curves"]["0"]["capacity"] if c is not None]
    # 20 Mbit/s in IP packets of 1,500 bytes, of which 1,448 are payload.
    assert capacity == pytest.approx([20 * 1448 / 1500] * len(capacity), rel=1e-3)
    assert payload(runs(TWO))["completions"] == {}


def test_completion_times_are_those_of_the_table() -> None:
    text = TWO.replace('name = "polite"', 'name = "polite"\napp = "request"\nobject = "100 kB"\nthink = "100 ms"')
    run = runs(text)[0]
    table = run.to_pandas("completions")
    found = completions([run])["cubic"]
    assert found["n"] == len(table)
    assert found["ms"][-1] == pytest.approx((table["done_ns"] - table["asked_ns"]).max() / 1e6, rel=1e-5)


def test_handovers_of_other_terminals_are_not_on_the_page_of_a_flow(cli: Cli, tmp_path: Path) -> None:
    places = {"a": "London", "b": "New York", "c": "Tokyo", "d": "Sydney"}
    nodes = "".join(f'[node.{n}]\nplace = "{p}"\n' for n, p in places.items())
    flows = '[[flow]]\nfrom = "a"\nto = "b"\ncc = "*"\n[[flow]]\nfrom = "c"\nto = "d"\napp = "ping"\n'
    text = f'title = "two pairs"\n[run]\nduration = "90 s"\n[source.constellation]\npreset = "iridium"\n{nodes}{flows}'
    run = perigee.loads(text, {"source.constellation.attach": "nearest"}).run("cubic")
    data = payload([run])
    of = {m[4] for m in data["marks"] if m[1] == "handover"}
    assert of <= set(places)
    assert [f["ends"] for f in data["flows"]] == [["a", "b"], ["c", "d"]]
