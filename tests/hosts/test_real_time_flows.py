# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Flows of real hosts in real time, with the same behaviour as in virtual time."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from test_emulate import REAL, SCENARIO, needs_namespaces, perigee, scenario

from perigee_lab.results.run import Run, find_records

__all__ = ["scenario"]

NETWORK = SCENARIO.partition("[[flow]]")[0].replace('"20 s"', '"3 s"')
APPLICATIONS = """
[[flow]]
name = "client"
app = "request"
object = "10 kB"
think = "50 ms"
objects = 5
[[flow]]
name = "now and then"
app = "on-off"
on = "300 ms"
off = "400 ms"
[[flow]]
name = "rate"
app = "cbr"
rate = "400 kbit"
backend = "linux"
[[flow]]
name = "ping"
app = "ping"
interval = "20 ms"
backend = "linux"
"""


def ran(scenario: Path, text: str, *words: str) -> Run:
    """The record of a scenario in real time."""
    scenario.write_text(text, encoding="utf-8")
    done = perigee(scenario, "run", str(scenario), *REAL, "--force", *words)
    assert done.returncode == 0, done.stderr
    [record] = find_records(scenario.parent / "flows")
    return record


@pytest.mark.alone
@needs_namespaces
def test_applications_and_flows_over_udp_run_in_real_time(scenario: Path) -> None:
    record = ran(scenario, NETWORK + APPLICATIONS)
    client, now_and_then, rate, ping = record.table("flow_totals").to_pylist()
    done = record.table("completions").to_pylist()
    assert [(d["flow"], d["object"], d["bytes"]) for d in done] == [(0, i, 10_000) for i in range(5)]
    # An object takes a round trip for its request, and the next object is not requested before the
    # think time is over.
    assert all(d["first_ns"] - d["asked_ns"] >= 40_000_000 for d in done)
    assert all(b["asked_ns"] - a["done_ns"] >= 50_000_000 for a, b in itertools.pairwise(done))
    assert client["goodput_bytes"] == 50_000
    told = [r["delivered_bytes"] for r in record.table("flows").to_pylist() if r["flow"] == 1]
    still = [b == a for a, b in itertools.pairwise(told)]
    # The flow is silent for four of seven samples, except for the end of its data, and then sends
    # again.
    assert still.count(True) >= 6, told
    assert False in still[still.index(True) :], told
    assert now_and_then["goodput_bytes"] > 100_000
    # 50 kB/s minus headers, with few losses.
    assert 100_000 < rate["goodput_bytes"] <= 150_000
    assert ping["data_sent"] > 100
    # No RTT is shorter than the path.
    assert ping["rtt_sum_ns"] / ping["rtt_samples"] >= 40_000_000


@pytest.mark.slow
@needs_namespaces
@pytest.mark.parametrize("standing", ["true", "false"])
def test_a_proxy_carries_a_split_transfer_on_in_real_time(scenario: Path, standing: str) -> None:
    flow = f'[[flow]]\nfrom = "s1"\nto = "d1"\nvia = ["r1", "r2"]\nbytes = "400 kB"\nvia_standing = {standing}\n'
    record = ran(scenario, f'{NETWORK}{flow}via_cc = ["*", "newreno", "cubic"]\nstart = "200 ms"\n')
    assert [f["goodput_bytes"] for f in record.table("flow_totals").to_pylist()] == [400_000] * 3
    [done] = record.table("completions").to_pylist()
    assert done["flow"] == 2
    # Over the bottleneck, it takes at least 160 ms.
    assert done["done_ns"] - done["asked_ns"] > 180_000_000


@pytest.mark.alone
@needs_namespaces
def test_receivers_offer_no_more_than_their_buffer_in_real_time(scenario: Path) -> None:
    record = ran(scenario, f"{NETWORK}[[flow]]\n[tcp]\nreceive_buffer = 30000\n")
    rows = record.table("flows").to_pylist()
    assert 20_000 < max(r["in_flight_bytes"] or 0 for r in rows) <= 30_000
    [total] = record.table("flow_totals").to_pylist()
    # 30 kB every 40 ms.
    assert total["goodput_bytes"] < 2_250_000


@needs_namespaces
@pytest.mark.parametrize(
    ("flows", "told"),
    [
        ('via = "r1"\n[[flow]]\nfrom = "r1"\nto = "d1"\n', "no other flow begins or ends at r1"),
        ('via = "r1"\n[[flow]]\nfrom = "s1"\nto = "d1"\nvia = "r1"\nvia_buffer = "1 MB"\n', "the same via_buffer"),
    ],
)
def test_proxies_that_namespaces_cannot_be_are_refused(scenario: Path, flows: str, told: str) -> None:
    scenario.write_text(f'{NETWORK}[[flow]]\nfrom = "s1"\nto = "d1"\n{flows}', encoding="utf-8")
    done = perigee(scenario, "run", str(scenario), *REAL)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr


OUTAGE = """
[hosts]
carrier = "s1"
[[change]]
at = "2 s"
outage = "1 s"
"""
WATCH = """
import subprocess, time
seen, begin = [], time.monotonic()
while (now := time.monotonic() - begin) < 7 and len(seen) < 3:
    told = subprocess.run(["ip", "link", "show", "eth1"], capture_output=True, text=True).stdout
    state = "down" if "NO-CARRIER" in told else "up"
    if not seen or seen[-1][0] != state:
        seen.append((state, now))
    time.sleep(0.01)
print(*(state for state, _ in seen), round(seen[2][1] - seen[1][1], 1))
"""


@pytest.mark.alone
@needs_namespaces
def test_an_interface_loses_its_carrier_in_real_time(scenario: Path) -> None:
    network = NETWORK.replace('"3 s"', '"9 s"')
    scenario.write_text(f'{network}{OUTAGE}[[flow]]\ncc = "*"\n', encoding="utf-8")
    (scenario.parent / "watch.py").write_text(WATCH, encoding="utf-8")
    done = perigee(scenario, "emulate", str(scenario), "--at", "s1", "--", "python3", "watch.py")
    assert done.returncode == 0, done.stderr
    states, length = done.stdout.rstrip().rsplit(" ", 1)
    assert states == "up down up"
    assert 0.8 <= float(length) <= 1.5


def test_a_carrier_of_nobody_is_refused(scenario: Path) -> None:
    scenario.write_text(f"{NETWORK}[hosts]\ncarrier = ['mars']\n[[flow]]\n", encoding="utf-8")
    done = perigee(scenario, "run", str(scenario), *REAL)
    assert done.returncode == 2, done.stderr
    assert "hosts.carrier" in done.stderr
    assert "s1, d1" in done.stderr
