# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transfers of programs that know nothing of OrbCC, over a router that stamps, in namespaces."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from network import BUILT, missing, network

LACK = missing()
pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.skipif(bool(LACK), reason=LACK)]


def left() -> tuple[str, str, list[str]]:
    """What programs leave on the machine: schemes, links, control groups."""
    schemes = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="utf-8")
    links = subprocess.run(["bpftool", "link", "show"], check=False, capture_output=True, text=True).stdout
    groups = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines() if " cgroup2 " in line]
    return schemes, links, sorted(str(p) for g in groups for p in Path(g).glob("perigee-orbcc-*"))


def test_a_program_fills_the_link_without_a_queue_and_nothing_is_left() -> None:
    before = left()
    with network() as n:
        n.receiver()
        n.port()
        orbcc, cubic = n.iperf(5), n.iperf(5, "cubic")
        flow = orbcc["report"]["flows"][-1]
        assert orbcc["mbit"] > 13, orbcc
        assert orbcc["srtt_ms"] < 0.8 * cubic["srtt_ms"], (orbcc, cubic)
        assert orbcc["retransmissions"] == 0
        assert (flow["fallback"], flow["bottleneck_kbit"], flow["bottleneck_flows"]) == (0, 20_000, 1)
        assert n.status("h2")["counters"]["echoes"] > 1000
    time.sleep(0.3)
    assert left() == before


@pytest.mark.parametrize("v4", [True, False])
def test_the_option_carries_over_both_versions_of_ip(v4: bool) -> None:
    with network() as n:
        n.port()
        r = n.iperf(5, v4=v4, options=("--carrier", "tcp"))
        flow = r["report"]["flows"][-1]
        assert r["mbit"] > 13, r
        assert (flow["carrier"], flow["fallback"], flow["bottleneck_kbit"]) == (2, 0, 20_000)
        assert r["report"]["counters"]["no_room"] == 0


def test_an_unpatched_router_that_fills_ioam_suffices_for_a_flow() -> None:
    with network() as n:
        n.trace()
        n.receiver()
        r, cubic = n.iperf(6, options=("--carrier", "ioam")), n.iperf(5, "cubic")
        flow = r["report"]["flows"][-1]
        assert r["mbit"] > 13, r
        assert r["srtt_ms"] < 0.8 * cubic["srtt_ms"], (r, cubic)
        assert (flow["carrier"], flow["fallback"], flow["path"]) == (3, 0, 7), r
        # Nobody reports it: it follows from backlogs and times.
        assert abs(flow["bottleneck_kbit"] - 20_000) < 2_000, r
        assert n.status("h2")["counters"]["traces"] > 1000


def test_traces_that_no_router_fills_leave_the_flow_to_cubic() -> None:
    with network() as n:
        n.receiver()
        r = n.iperf(4, options=("--carrier", "ioam"))
        assert r["report"]["flows"][-1]["fallback"] == 1
        assert r["report"]["counters"]["feeds"] == 0
        assert r["mbit"] > 15, r


def test_without_a_port_that_stamps_cubic_takes_over() -> None:
    with network() as n:
        n.receiver()
        r = n.iperf(4)
        assert r["report"]["flows"][-1]["fallback"] == 1
        assert r["report"]["counters"]["to_fallback"] >= 1
        assert r["mbit"] > 15, r


@pytest.mark.parametrize("meddling", ["drop-headers", "strip-headers", "strip-options"])
def test_a_box_that_does_not_understand_telemetry_costs_no_connection(meddling: str) -> None:
    with network(meddling=meddling) as n:
        n.port()
        if meddling == "strip-options":
            r = n.iperf(5, options=("--carrier", "tcp"))
        else:
            n.receiver()
            r = n.iperf(5)
        assert r["mbit"] > 8, (meddling, r)
        assert r["report"]["flows"][-1]["fallback"] == 1, (meddling, r)


@pytest.mark.parametrize("meddling", ["duplicate", "reorder=3"])
def test_copies_and_other_orders_of_packets_are_no_loss_of_telemetry(meddling: str) -> None:
    with network(meddling=meddling) as n:
        n.receiver()
        n.port()
        r = n.iperf(5)
        assert r["mbit"] > 13, (meddling, r)
        assert r["report"]["flows"][-1]["fallback"] == 0, (meddling, r)


def test_a_killed_loader_leaves_nothing() -> None:
    before = left()
    with network() as n:
        words = [str(BUILT / "orbcc"), "run", "--object", str(BUILT / "orbcc.bpf.o"), "--dev", "e0", "--", "sleep", "1"]
        loader = n.start("h1", *words)
        time.sleep(0.8)
        assert left() != before
        loader.kill()
        loader.wait()
        time.sleep(1.5)
        assert left() == before


def test_a_port_that_lies_about_its_rate_gains_its_flow_little_in_open() -> None:
    """It reports 2 Gbit/s at a link of 20 Mbit/s."""
    with network() as n:
        n.receiver()
        words = ["--object", str(BUILT / "port.bpf.o"), "--dev", "r1", "--rate", "2000000"]
        n.loader("r", "port", "port", *words)
        r = n.iperf(5)
        flow = r["report"]["flows"][-1]
        assert flow["handovers"] >= 1, r
        assert r["mbit"] > 8, r
        assert r["retransmissions"] < 2000, r


@pytest.mark.parametrize("carrier", ["ip6", "tcp"])
def test_of_two_stamping_ports_the_busier_one_controls(carrier: str) -> None:
    """A second port behind the cable reports that it has half of the first one's rate."""
    with network(queue=200_000) as n:
        if carrier == "ip6":
            n.receiver()
        n.port(switch=0x5157)
        words = ["--object", str(BUILT / "port.bpf.o"), "--dev", "d1", "--rate", "10000", "--switch", "9"]
        n.loader("d", "port", "second", *words)
        r = n.iperf(6, options=("--carrier", carrier, "--trust-path"))
        flow = r["report"]["flows"][-1]
        assert flow["path"] == 0x5157 ^ 9
        assert (flow["bottleneck_kbit"], flow["fallback"]) == (10_000, 0), r
        if carrier == "ip6":
            assert flow["bottleneck_hop"] == 1
        assert r["mbit"] < 11, r
