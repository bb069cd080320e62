# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transport profiles, from the scenario file to the record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli

# 100 Mbit/s, 50 ms, a queue of one bandwidth-delay product in packets, as ns-3 counts it.
NS3 = """
[run]
duration = "60 s"
warmup = "10 s"
[source.dumbbell]
rtt = "50 ms"
rtt_at = "bottleneck"
[port.bottleneck]
rate = "100 Mbit"
queue = "419 packets"
[port.access]
rate = "1 Gbit"
[tcp]
profile = "study-hypatia"
mss = 1448
header = 40
timestamps = false
[cc.vegas]
alpha = 2
[[flow]]
cc = "*"
"""


@pytest.mark.parametrize(
    ("cc", "retransmits", "queue_ms"),
    # Measured with ns-3 3.48: retransmitted segments, mean queueing delay.
    [("newreno", 842, 25.7), ("cubic", 280, 36.3), ("vegas", 0, 0.25)],
)
def test_study_hypatia_behaves_as_ns3(cc: str, retransmits: int, queue_ms: float) -> None:
    """Goodput is within 4 %, the queue within 15 % or 2 ms, and retransmissions within 2 %."""
    run = perigee.loads(NS3).run(cc=cc, seed=1)
    flow = run.to_pandas("flow_totals").iloc[0]
    links = run.to_pandas("link_totals")
    wait_ms = float(links.loc[links["name"] == "r1->r2", "mean_wait_ns"].iloc[0]) * 1e-6
    goodput = flow["window_bytes"] * 8e3 / flow["window_ns"]
    assert goodput == pytest.approx(97.18 if cc != "vegas" else 96.32, rel=0.04)
    assert flow["retransmits"] == pytest.approx(retransmits, rel=0.02)
    assert wait_ms == pytest.approx(queue_ms, rel=0.15, abs=2)


def test_the_manifest_says_what_a_profile_resolved_to(cli: Cli, small: Path, tmp_path: Path) -> None:
    words = ["run", small, "--no-report", "--cc", "cubic,bbr", "--set", "tcp.profile=study-orbcc", "--out", "out"]
    done = cli(*words, "--set", "tcp.min_rto=300 ms")
    assert done.returncode == 0, done.stderr
    manifests = {cc: json.loads((tmp_path / f"out/{cc}/seed1/manifest.json").read_text()) for cc in ("cubic", "bbr")}
    assert manifests["cubic"]["tcp_profile"] == "study-orbcc"
    tcp = {cc: m["flows"][0]["tcp"] for cc, m in manifests.items()}
    assert (tcp["cubic"]["init_cwnd"], tcp["bbr"]["init_cwnd"]) == (3, 4)
    assert tcp["cubic"]["min_rto"] == "300 ms"
    assert tcp["cubic"]["tlp"] is False
    assert "rto_rule" in manifests["cubic"]["scenario_toml"]


@pytest.mark.slow
def test_the_resolved_scenario_runs_again_to_the_same_record(cli: Cli, small: Path, tmp_path: Path) -> None:
    first = cli("run", small, "--no-report", "--cc", "cubic", "--set", "tcp.profile=study-geo", "--out", "a")
    assert first.returncode == 0, first.stderr
    manifest = json.loads((tmp_path / "a/cubic/seed1/manifest.json").read_text())
    again = tmp_path / "again.toml"
    again.write_text(manifest["scenario_toml"], encoding="utf-8")
    assert cli("run", again, "--no-report", "--cc", "cubic", "--out", "b").returncode == 0
    assert json.loads((tmp_path / "b/cubic/seed1/manifest.json").read_text())["tables"] == manifest["tables"]


def test_an_unknown_profile_is_refused(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--set", "tcp.profile=study-hypatai")
    assert done.returncode == 2
    assert "tcp.profile" in done.stderr
    assert "study-hypatia" in done.stderr
