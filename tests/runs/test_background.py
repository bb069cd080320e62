# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`[[background]]`, from the scenario file to the queue, marks and telemetry that packets see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli

NETWORK = """
[run]
duration = "40 s"
warmup = "10 s"
start_jitter = "100 ms"
host_jitter = "100 us"
[source.dumbbell]
pairs = 2
rtt = "50 ms"
[port.bottleneck]
rate = "100 Mbit"
queue = "1 bdp"
MORE
[[flow]]
from = "s1"
to = "d1"
cc = "*"
"""
CALLS = '[[flow]]\nfrom = "s2"\nto = "d2"\ncount = 20\nbackground = true\napp = "cbr"\nrate = "3 Mbit"\n'
FLUID = '[[background]]\nload = 0.6\nburst = "1 B"\n'


def finished(rest: str, cc: str, port: str = "") -> perigee.Run:
    return perigee.loads(NETWORK.replace("MORE", port) + rest).run(cc=cc, seed=1)


def bottleneck(run: perigee.Run, table: str) -> dict[str, float]:
    """Means of the bottleneck after the warm-up."""
    links = run.to_pandas(table)
    rows = links[(links["link"] == 0) & (links["t_ns"] > 10e9)]
    return dict(rows.mean(numeric_only=True))


@pytest.mark.parametrize("cc", ["cubic", "bbr", "orbcc"])
def test_a_fluid_delays_and_displaces_packets_as_flows_do(cc: str) -> None:
    flows, fluid = finished(CALLS, cc), finished(FLUID, cc)
    assert fluid.manifest["conserved"]
    assert fluid.summary["goodput_mbps"] == pytest.approx(flows.summary["goodput_mbps"], rel=0.05)
    assert fluid.summary["rtt_mean_ms"] == pytest.approx(flows.summary["rtt_mean_ms"], rel=0.08)
    assert bottleneck(fluid, "links")["utilisation"] == pytest.approx(
        bottleneck(flows, "links")["utilisation"], abs=0.02
    )
    assert fluid.manifest["packet_hops"] < 0.6 * flows.manifest["packet_hops"]


def test_elastic_flows_leave_their_share_to_a_flow_in_front() -> None:
    run = finished('[[background]]\nflows = 9\nrtt = "50 ms"\n', "cubic")
    assert 5.0 < run.summary["goodput_mbps"] < 20.0
    link = bottleneck(run, "links")
    assert link["utilisation"] > 0.97
    assert link["queue_bytes"] > 200_000, "a loss-based aggregate keeps the queue long"


def test_marks_and_drops_of_a_discipline_follow_the_background() -> None:
    port = 'discipline = "codel"'
    totals = {}
    for name, rest in (("alone", ""), ("among", '[[background]]\nflows = 50\nrtt = "50 ms"\n')):
        run = finished(f"[tcp]\necn = true\n{rest}", "cubic", port)
        totals[name] = run.to_pandas("link_totals").iloc[0]
    share = {k: t["marked_packets"] / t["crossed_packets"] for k, t in totals.items()}
    assert share["among"] > 5 * share["alone"] > 0.0, share


@pytest.mark.slow
def test_threads_change_no_bit(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        '[run]\nduration = "5 s"\ncc = ["cubic"]\n[source.parking_lot]\nbottlenecks = 3\nrtt = "40 ms"\n'
        'bottleneck_delay = "4 ms"\n[[background]]\nload = 0.3\nflows = 20\n[[flow]]\ncc = "*"\n'
    )
    for threads in ("1", "2"):
        out = tmp_path / f"threads{threads}"
        cli("run", str(tmp_path / "s.toml"), "--out", str(out), "--threads", threads, "--no-report")
    one, two = (json.loads((tmp_path / f"threads{n}/cubic/seed1/manifest.json").read_text())["tables"] for n in (1, 2))
    assert one == two
