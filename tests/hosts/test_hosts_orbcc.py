# SPDX-License-Identifier: Apache-2.0 OR MIT
"""OrbCC in the kernels of real hosts, against the simulator's. Needs a kernel (`make kernel`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, Cli
from perigee_lab.hosts import own
from perigee_lab.results.metrics import flow_rows
from perigee_lab.results.run import Run
from real_hosts import real, record

PATH = """\
[run]
duration = "12 s"
warmup = "4 s"
[source.dumbbell]
pairs = 2
rtt = ["40 ms", "80 ms"]
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
from = "s1"
to = "d1"
[[flow]]
from = "s2"
to = "d2"
"""


def run(cli: Cli, tmp_path: Path, backend: str, name: str, text: str = PATH) -> Run:
    file = tmp_path / "s.toml"
    file.write_text(text, encoding="utf-8")
    words = ("run", file, "--cc", "orbcc", "--backend", backend, "--no-report", "--out", tmp_path / name)
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    return record(tmp_path / name, "orbcc")


def test_kernels_have_the_text_of_the_core() -> None:
    core = ROOT / "orbcc/core"
    headers = {p.name: p for p in own.sources()}
    shared = [p for p in sorted(core.glob("*.h")) if p.name in headers]
    assert len(shared) >= 6
    for path in shared:
        assert headers[path.name].read_text(encoding="utf-8") == path.read_text(encoding="utf-8"), path.name


@real
def test_flows_of_kernels_have_the_shares_and_rtts_of_simulated_ones(cli: Cli, tmp_path: Path) -> None:
    ours, theirs = (run(cli, tmp_path, backend, backend) for backend in ("simulator", "linux"))
    assert theirs.manifest.conserved
    assert [f.get("hosts") for f in theirs.manifest["flows"]] == ["linux"] * 2
    for flow in theirs.table("flow_totals").to_pylist():
        assert flow["telemetry_acks"] == pytest.approx(flow["data_sent"], rel=0.02)
    for mine, his in zip(flow_rows(ours), flow_rows(theirs), strict=True):
        assert his["goodput_mbps"] == pytest.approx(mine["goodput_mbps"], rel=0.02)
        assert his["rtt_mean_ms"] == pytest.approx(mine["rtt_mean_ms"], abs=1)
        assert his["retransmits"] == 0
    both = [sum(row["goodput_mbps"] for row in flow_rows(r)) for r in (ours, theirs)]
    assert both[1] == pytest.approx(both[0], rel=0.01)


@pytest.mark.slow
@real
def test_the_same_run_gives_the_same_bits(cli: Cli, tmp_path: Path) -> None:
    tables = [run(cli, tmp_path, "linux", name).manifest.tables for name in ("one", "two")]
    assert tables[0] == tables[1]


@real
def test_cubic_beside_it_has_the_packets_that_it_has_alone(cli: Cli, tmp_path: Path) -> None:
    # The interfaces of both hosts have room for telemetry; packets of IPv4 are of 1,500 bytes.
    text = PATH.replace('from = "s1"', 'cc = "cubic"\nfrom = "s1"').replace('"s2"', '"s1"').replace('"d2"', '"d1"')
    beside = run(cli, tmp_path, "linux", "beside", text)
    flows = beside.table("flow_totals").to_pylist()
    assert [f["cc"] for f in flows] == ["cubic", "orbcc"]
    for f in flows:
        assert f["goodput_bytes"] / (f["data_sent"] - f["retransmits"]) == pytest.approx(1448, rel=0.03), f


@real
def test_without_records_the_connection_is_cubics(cli: Cli, tmp_path: Path) -> None:
    # Cubic fills the queue of one BDP, which OrbCC leaves empty.
    text = PATH.replace('queue = "1 bdp"', 'queue = "1 bdp"\nmetered = false')
    file = tmp_path / "unmetered"
    for row in flow_rows(run(cli, tmp_path, "linux", file.name, text)):
        assert row["rtt_mean_ms"] > 1.2 * row["base_rtt_ms"], row


@real
def test_a_proxy_reads_a_leg_of_orbcc(cli: Cli, tmp_path: Path) -> None:
    leg = 'from = "s1"\nto = "d1"\nvia = "r2"\nvia_cc = ["*", "cubic"]\nbytes = "2 MB"\n'
    path = PATH.partition("[[flow]]")[0]
    split = run(cli, tmp_path, "linux", "split", f"{path}[[flow]]\n{leg}")
    flows = split.table("flow_totals").to_pylist()
    assert [(f["cc"], f["goodput_bytes"]) for f in flows] == [("orbcc", 2_000_000), ("cubic", 2_000_000)]
    assert flows[0]["telemetry_acks"] > 1000


@real
def test_parameters_of_the_simulators_orbcc_are_refused_by_name(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(PATH + '[telemetry]\noverhead = "none"\n')
    done = cli("run", file, "--cc", "orbcc", "--backend", "linux", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "overhead" in done.stderr
