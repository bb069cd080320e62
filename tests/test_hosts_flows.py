# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Flows of real hosts beside those of the simulator, end to end. Needs a kernel (`make kernel`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, Cli
from perigee.results.record import Run
from test_hosts import real, record, totals

MIXED = ROOT / "scenarios/micro/mixed-hosts.toml"
SHORT = ("--set", "run.duration=8 s", "--set", "run.warmup=1 s")


def hashes(run: Run) -> dict[str, str]:
    return {table: known.sha256 for table, known in run.manifest.tables.items()}


def is_conserved(row: dict[str, int]) -> bool:
    dropped = sum(n for name, n in row.items() if name.startswith("drops_"))
    return row["sent_packets"] == row["delivered_packets"] + dropped + row["under_way_packets"]


@real
def test_a_real_flow_and_simulated_ones_share_a_bottleneck(cli: Cli, tmp_path: Path) -> None:
    runs = []
    for name in ("one", "two"):
        done = cli("run", MIXED, "--cc", "cubic", "--hosts", "linux", "--no-report", "--out", tmp_path / name, *SHORT)
        assert done.returncode == 0, done.stderr
        runs.append(record(tmp_path / name, "cubic"))
    assert hashes(runs[0]) == hashes(runs[1])
    flows = runs[0].table("flow_totals").to_pylist()
    assert [f.get("hosts") for f in runs[0].manifest["flows"]] == ["linux", None, None, None]
    assert runs[0].manifest.conserved
    for flow in flows:
        assert flow["delivered_packets"] > 0
        assert is_conserved(flow), flow
        # OrbCC reads the queue that it shares with the real flow's packets.
        assert (flow["telemetry_acks"] > 0) == (flow["cc"] == "orbcc")
    bottleneck = max(runs[0].table("link_totals").to_pylist(), key=lambda link: link["drops_queue"])
    assert bottleneck["drops_queue"] == sum(f["drops_queue"] for f in flows) > 0
    # The same competition without a kernel.
    cli("run", MIXED, "--cc", "cubic", "--no-report", "--out", tmp_path / "simulated", *SHORT)
    simulated = totals(record(tmp_path / "simulated", "cubic"))
    assert flows[0]["goodput_bytes"] == pytest.approx(simulated["goodput_bytes"], rel=0.05)


def test_real_flows_need_real_hosts(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", MIXED, "--set", 'flow.0.hosts="linux"', "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "compared" in done.stderr
    assert "--hosts linux" in done.stderr


@pytest.mark.parametrize("app", ["ping", "programs"])
def test_only_flows_of_ours_are_given_hosts(cli: Cli, tmp_path: Path, app: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'[run]\nduration = "1 s"\n[source.dumbbell]\n[[flow]]\napp = "{app}"\nhosts = "linux"\n')
    done = cli("check", path)
    assert done.returncode == 2
    assert "s.toml:6" in done.stderr
    assert "flow.0.hosts: no effect with app" in done.stderr
