# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Starts of flows in scenarios, and SEARCH against a second implementation."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from search_oracle import Oracle

import perigee_lab as perigee
from perigee_lab import _core

PATH = """
title = "a start"
[run]
duration = "{duration} s"
sample = "10 ms"
[source.dumbbell]
rtt = "{rtt} ms"
[port.bottleneck]
rate = "{rate} Mbit"
queue = "{queue} bdp"
[tcp]
rmem = 0
[[flow]]
cc = "*"
"""


def left(run: perigee.Run) -> tuple[int | None, float]:
    """When the start was left for congestion avoidance, and the window then."""
    events = run.table("events").to_pylist()
    at = [e["t_ns"] for e in events if e["kind"] == "mode" and e["text"] == "congestion avoidance"]
    cwnd = run.table("flows").column("cc_start_left_cwnd_bytes").to_pylist()
    return (at[0] if at else None), cwnd[-1]


def compare(path: dict[str, float], rule: str) -> bool:
    """Compares one start with the oracle's; true if SEARCH has ended it."""
    text = PATH.format(**path)
    given = {"run.slow_start": "search", "slow_start.search.rule": rule}
    ours = perigee.loads(text, given).run("newreno")
    Oracle.ends.clear()
    Oracle.logs.clear()
    theirs = perigee.loads(text).run(type("Named", (Oracle,), {"params": {"rule": rule}}))
    rows = (ours.to_pandas("flows"), theirs.to_pandas("flows"))
    lost = ours.to_pandas("flows")["lost_packets"].to_numpy()
    by_loss = rows[0]["cc_start_left_by_loss"].iloc[-1] == 1
    until = int(np.argmax(lost > 0)) if lost.any() else len(lost)
    at, cwnd = left(ours)
    if at is not None and not by_loss:
        assert [(e["at_ns"], e["cwnd"]) for e in Oracle.ends] == [(at, cwnd)], path
        until = min(until, int(np.argmax(rows[0]["t_ns"].to_numpy() >= at)))
    for name in ("search_bin", "search_acked_bytes", *(["search_sent_bytes"] if rule == "draft" else [])):
        ours_, theirs_ = (r[f"cc_{name}"].to_numpy()[:until] for r in rows)
        assert np.array_equal(ours_, theirs_, equal_nan=True), (path, name)
    return at is not None and not by_loss


def paths(count: int) -> list[dict[str, float]]:
    """Geostationary and low paths, with queues of half to eight times what they carry."""
    draw = random.Random(1)
    found = []
    for i in range(count):
        rtt = draw.uniform(550, 700) if i % 2 else draw.uniform(20, 90)
        rate = 10 ** draw.uniform(0.7, 2.2)
        found.append(
            {
                "rtt": round(rtt, 3),
                "rate": round(rate, 3),
                "queue": round(2 ** draw.uniform(-1, 3), 2),
                "duration": round(16 * rtt / 1000 + 0.5, 3),
            }
        )
    return found


@pytest.mark.parametrize("rule", ["draft", "linux"])
def test_search_has_the_bins_and_ends_of_a_second_implementation(rule: str) -> None:
    ended = sum(compare(path, rule) for path in paths(16))
    assert ended >= 3


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["draft", "linux"])
def test_search_has_the_bins_and_ends_of_a_second_implementation_on_200_starts(rule: str) -> None:
    ended = sum(compare(path, rule) for path in paths(200))
    assert ended >= 60


def test_a_start_replaces_that_of_its_scheme_in_manifest_and_states() -> None:
    path = {"rtt": 100, "rate": 50, "queue": 4, "duration": 4}
    run = perigee.loads(PATH.format(**path), {"run.slow_start": "hystart++"}).run("newreno")
    [flow] = run.manifest["flows"]
    assert flow["slow_start"]["id"] == "hystart++"
    assert flow["slow_start"]["params"]["css_rounds"] == 5
    states = [e["text"] for e in run.table("events").to_pylist() if e["kind"] == "mode"]
    assert states[0] == "conservative slow start"
    own = perigee.loads(PATH.format(**path)).run("newreno")
    assert "slow_start" not in own.manifest["flows"][0]


def test_the_flows_key_comes_before_that_of_the_run() -> None:
    text = PATH.format(rtt=100, rate=50, queue=4, duration=2) + 'slow_start = "own"\n'
    run = perigee.loads(text, {"run.slow_start": "search"}).run("newreno")
    assert "slow_start" not in run.manifest["flows"][0]


def test_schemes_with_only_their_own_start_keep_it() -> None:
    path = PATH.format(rtt=100, rate=50, queue=4, duration=1)
    run = perigee.loads(path, {"run.slow_start": "search"}).run("bbr3")
    assert "slow_start" not in run.manifest["flows"][0]
    assert any("bbr3 keeps its own start" in warning for warning in run.manifest["warnings"])
    own = path.replace('cc = "*"', 'cc = "bbr3"\nslow_start = "search"')
    with pytest.raises(_core.ScenarioError, match=r"bbr3 has its own slow start.*own, careful"):
        perigee.loads(own).run()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('slow_start = "searchh"', "search"),
        ("slow_start_params = { css_rounds = 3 }", "named slow start"),
        ('slow_start = "search"\nslow_start_params = { css_rounds = 3 }', "rule, threshold, window, after"),
        ('slow_start = "careful"\nslow_start_params = { saved_window = "1 MB" }', "saved_rtt"),
        ("[slow_start.fast]\nx = 1", "classic, hystart"),
        ('slow_start = "hystart++"\nslow_start_params = { min_rtt_thresh = "20 ms" }', "above max_rtt_thresh = 16 ms"),
    ],
)
def test_mistakes_are_named_with_what_is_allowed(more: str, said: str) -> None:
    text = PATH.format(rtt=100, rate=50, queue=4, duration=1) + more + "\n"
    with pytest.raises(_core.ScenarioError, match=said):
        perigee.loads(text).run("cubic")


def test_flows_in_turn_resume_with_what_the_earlier_has_observed() -> None:
    text = PATH.format(rtt=200, rate=50, queue=1, duration=20).replace('cc = "*"', 'cc = "*"\nbytes = "20 MB"')
    later = text + '[[flow]]\ncc = "*"\nstart = "10 s"\nbytes = "20 MB"\n'
    run = perigee.loads(later, {"run.slow_start": "careful"}).run("cubic")
    totals = run.table("flow_totals").to_pylist()
    first, second = (t["completed_ns"] - t["started_ns"] for t in totals)
    assert second < first - 200e6
    modes = {(e["flow"], e["text"]) for e in run.table("events").to_pylist() if e["kind"] == "mode"}
    assert (1, "validating") in modes
    assert (0, "validating") not in modes


def test_every_start_is_listed_with_its_schemes() -> None:
    starts, schemes = json.loads(_core.starts()), json.loads(_core.schemes())
    assert {"classic", "hystart", "careful"} < {s["id"] for s in starts}
    of = {s["id"]: s["starts"] for s in schemes}
    assert of["cubic"] == [s["id"] for s in starts]
    assert (of["bbr3"], of["orbcc"]) == (["careful"], [])


def test_a_resumption_fills_a_long_path_two_round_trips_after_its_handshake() -> None:
    sets = {"slow_start.careful.saved_window": "3750 kB", "slow_start.careful.saved_rtt": "600 ms"}
    text = PATH.format(rtt=600, rate=50, queue=1, duration=12)
    full = {}
    for start in ("classic", "careful"):
        run = perigee.loads(text, {**(sets if start == "careful" else {}), "run.slow_start": start}).run("cubic")
        rows = run.to_pandas("flows")
        full[start] = rows[rows["goodput_bps"].rolling(20).mean() > 40e6]["t_ns"].iloc[0] / 1e9
    # Handshake, initial window, jump at half of the rate, and the full rate.
    assert full["careful"] < 3.1
    assert full["classic"] > 5


@pytest.mark.parametrize("scheme", ["bbr", "bbr3"])
def test_bbr_jumps_to_all_of_a_saved_window_if_it_may(scheme: str) -> None:
    sets = {"slow_start.careful.saved_window": "3750 kB", "slow_start.careful.saved_rtt": "600 ms"}
    text = PATH.format(rtt=600, rate=50, queue=1, duration=12).replace('cc = "*"', 'cc = "*"\nbytes = "20 MB"')
    seconds = []
    for given in (
        {},
        {**sets, "run.slow_start": "careful"},
        {**sets, "run.slow_start": "careful", "slow_start.careful.share": 1.0},
    ):
        [t] = (
            perigee.loads(text, given if "run.slow_start" in given else {}).run(scheme).table("flow_totals").to_pylist()
        )
        seconds.append(t["completed_ns"] / 1e9)
    own, half, whole = seconds
    assert whole < half < own - 1
