# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Flows of real hosts compared with the simulator's, end to end. Needs a kernel (`make kernel`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, Cli
from perigee_lab.results.run import Run
from real_hosts import real, record, totals

MIXED = ROOT / "scenarios/micro/mixed-hosts.toml"
SHORT = ("--set", "run.duration=8 s", "--set", "run.warmup=1 s")


def hashes(run: Run) -> dict[str, str]:
    return {table: known.sha256 for table, known in run.manifest.tables.items()}


def is_conserved(row: dict[str, int]) -> bool:
    dropped = sum(n for name, n in row.items() if name.startswith("drops_"))
    return row["sent_packets"] == row["delivered_packets"] + dropped + row["under_way_packets"]


@pytest.mark.slow
@real
def test_a_real_flow_and_simulated_ones_share_a_bottleneck(cli: Cli, tmp_path: Path) -> None:
    runs = []
    for name in ("one", "two"):
        done = cli("run", MIXED, "--cc", "cubic", "--backend", "linux", "--no-report", "--out", tmp_path / name, *SHORT)
        assert done.returncode == 0, done.stderr
        runs.append(record(tmp_path / name, "cubic"))
    assert hashes(runs[0]) == hashes(runs[1])
    flows = runs[0].table("flow_totals").to_pylist()
    assert [f.get("hosts") for f in runs[0].manifest["flows"]] == ["linux", None, None, None]
    assert runs[0].manifest.conserved
    for flow in flows:
        assert flow["delivered_packets"] > 0
        assert is_conserved(flow), flow
        # OrbCC receives telemetry of the queue that it shares with the packets of the real flow.
        assert (flow["telemetry_acks"] > 0) == (flow["cc"] == "orbcc")
    bottleneck = max(runs[0].table("link_totals").to_pylist(), key=lambda link: link["drops_queue"])
    assert bottleneck["drops_queue"] == sum(f["drops_queue"] for f in flows) > 0
    # The same flows compete without a kernel.
    cli("run", MIXED, "--cc", "cubic", "--no-report", "--out", tmp_path / "simulated", *SHORT)
    simulated = totals(record(tmp_path / "simulated", "cubic"))
    assert flows[0]["goodput_bytes"] == pytest.approx(simulated["goodput_bytes"], rel=0.05)


def test_real_flows_need_real_hosts(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", MIXED, "--set", 'flow.0.backend="linux"', "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "compared" in done.stderr
    assert "--backend linux" in done.stderr


def test_only_flows_of_ours_are_given_a_backend(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[run]\nduration = "1 s"\n[source.dumbbell]\n[[flow]]\napp = "programs"\nbackend = "linux"\n')
    done = cli("check", path)
    assert done.returncode == 2
    assert "s.toml:6" in done.stderr
    assert "flow.0.backend: no effect with app" in done.stderr


APPLICATION = """\
[run]
duration = "8 s"
warmup = "1 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "20 bdp"
[[flow]]
from = "s1"
to = "d1"
"""


LONG = ("--set", "run.duration=60 s")


def both(cli: Cli, tmp_path: Path, flow: str) -> list[Run]:
    """Runs a flow on real hosts and in the simulator."""
    path = tmp_path / "s.toml"
    path.write_text(APPLICATION + flow)
    runs = []
    for backend in ("linux", "simulator"):
        done = cli("run", path, "--cc", "cubic", "--backend", backend, "--no-report", "--out", tmp_path / backend)
        assert done.returncode == 0, done.stderr
        runs.append(record(tmp_path / backend, "cubic"))
        assert runs[-1].manifest.conserved
    return runs


def completions(run: Run) -> dict[tuple[int, int], dict[str, int]]:
    return {(row["flow"], row["object"]): row for row in run.table("completions").to_pylist()}


@pytest.mark.slow
@real
@pytest.mark.parametrize(
    "flow",
    [
        'app = "request"\nobject = "uniform(20 kB, 200 kB)"\nthink = "exponential(100 ms)"\nperiod = "200 ms"\n',
        'app = "request"\nobject = "uniform(20 kB, 200 kB)"\nobjects = 5\n',
        'arrivals = "exponential(1 s)"\nobject = "uniform(20 kB, 200 kB)"\n',
    ],
)
def test_objects_are_the_same_and_take_as_long_as_simulated_ones(cli: Cli, tmp_path: Path, flow: str) -> None:
    real_run, simulated = (completions(run) for run in both(cli, tmp_path, flow))
    assert len(real_run) > 4
    assert set(real_run) == set(simulated)
    off = []
    for which, mine in real_run.items():
        theirs = simulated[which]
        assert mine["bytes"] == theirs["bytes"]
        # With real hosts, the connection is established half a round trip later, when the client
        # has the SYN-ACK.
        assert mine["asked_ns"] == pytest.approx(theirs["asked_ns"], abs=40e6)
        took, expected = (row["done_ns"] - row["asked_ns"] for row in (mine, theirs))
        off.append(abs(took / expected - 1))
        if theirs["first_ns"] is not None:
            waited, expected = (row["first_ns"] - row["asked_ns"] for row in (mine, theirs))
            assert waited == pytest.approx(expected, rel=0.02), which
    # For one of them, the window may have been idle for one tick of the kernel less.
    assert sorted(off)[-2] < 0.005
    assert max(off) < 0.1


@pytest.mark.slow
@real
def test_an_on_off_source_sends_and_is_silent_as_a_simulated_one(cli: Cli, tmp_path: Path) -> None:
    mine, theirs = both(cli, tmp_path, 'app = "on-off"\non = "uniform(1500 ms, 2500 ms)"\noff = "1 s"\n')
    assert totals(mine)["goodput_bytes"] == pytest.approx(totals(theirs)["goodput_bytes"], rel=0.01)
    there = [run.table("windows").to_pylist()[0]["there_ns"] for run in (mine, theirs)]
    assert there[0] == pytest.approx(there[1], rel=0.01)
    assert there[1] < 6.5e9


@real
def test_a_source_that_changes_too_often_is_refused_by_name(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(APPLICATION + 'name = "nervous"\napp = "on-off"\non = "100 us"\noff = "100 us"\n')
    done = cli("run", path, "--cc", "cubic", "--backend", "linux", "--out", tmp_path / "out", *LONG)
    assert done.returncode != 0
    assert all(word in done.stderr for word in ("nervous", "200000")), done.stderr


SPLIT = """\
via = ["r1", "r2"]
via_cc = ["*", "hybla", "cubic"]
"""


@pytest.mark.slow
@real
@pytest.mark.parametrize("standing", ["true", "false"])
def test_a_split_transfer_takes_as_long_as_a_simulated_one(cli: Cli, tmp_path: Path, standing: str) -> None:
    flow = f'{SPLIT}bytes = "5 MB"\nstart = "1 s"\nvia_standing = {standing}\n'
    mine, theirs = both(cli, tmp_path, flow)
    assert [f["goodput_bytes"] for f in mine.table("flow_totals").to_pylist()] == [5_000_000] * 3
    assert mine.manifest["splits"] == theirs.manifest["splits"]
    assert set(completions(mine)) == set(completions(theirs)) == {(2, 0)}
    # A permanent connection starts as in the simulator, except for the handshake of the first leg.
    starts = [[f["started_ns"] for f in run.table("flow_totals").to_pylist()] for run in (mine, theirs)]
    assert starts[0] == pytest.approx(starts[1], abs=60_000_000)
    took, expected = (row["done_ns"] - row["asked_ns"] for row in (completions(mine)[2, 0], completions(theirs)[2, 0]))
    assert took == pytest.approx(expected, rel=0.001)


@pytest.mark.slow
@real
def test_a_proxy_holds_no_more_than_its_buffer(cli: Cli, tmp_path: Path) -> None:
    mine, theirs = both(cli, tmp_path, SPLIT + 'via_buffer = "400 kB"\n')
    delivered = {(row["t_ns"], row["flow"]): row["delivered_bytes"] for row in mine.table("flows").to_pylist()}
    held = [delivered[t, 0] - delivered.get((t, 1), 0) for t, flow in delivered if flow == 0]
    # The bottleneck is downstream of the first proxy.
    assert 200_000 < max(held) <= 400_000
    assert totals(mine, 2)["goodput_bytes"] == pytest.approx(totals(theirs, 2)["goodput_bytes"], rel=0.02)


@real
def test_proxies_that_no_kernel_can_be_are_refused_by_name(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    for key, words in (("via_spoof = false", "via_spoof = false"), ('via_buffer = "10 kB"', "256000 bytes")):
        path.write_text(f'{APPLICATION}name = "split"\nvia = "r1"\n{key}\n')
        done = cli("run", path, "--cc", "cubic", "--backend", "linux", "--out", tmp_path / "out")
        assert done.returncode == 2
        assert "split leg 1" in done.stderr
        assert words in done.stderr


OWN = "[hosts]\nkernel = 'own'\n"


@pytest.mark.slow
@real
@pytest.mark.parametrize("flow", ['app = "request"\nobject = "90 kB"\nobjects = 5\n', SPLIT + 'bytes = "1 MB"\n'])
def test_requests_and_proxies_reach_across_kernels(cli: Cli, tmp_path: Path, flow: str) -> None:
    mine, theirs = (completions(run) for run in both(cli, tmp_path, flow + OWN))
    assert set(mine) == set(theirs) != set()
    took, expected = (sum(row["done_ns"] - row["asked_ns"] for row in rows.values()) for rows in (mine, theirs))
    assert took == pytest.approx(expected, rel=0.005)


@real
def test_on_off_sources_between_kernels_are_refused(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(APPLICATION + 'name = "part-time"\napp = "on-off"\n' + OWN)
    done = cli("run", path, "--cc", "cubic", "--backend", "linux", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert all(word in done.stderr for word in ("part-time", "hosts.kernel")), done.stderr


PROBES = """
[run]
duration = "4 s"
cc = ["cubic"]
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
from = "s1"
to = "d1"
[[flow]]
name = "constant"
app = "cbr"
rate = "2 Mbit"
from = "s1"
to = "d1"
backend = "WHO"
[[flow]]
name = "echo"
app = "ping"
from = "s1"
to = "d1"
start = "0.5 s"
stop = "3 s"
backend = "WHO"
"""


@pytest.mark.slow
@real
def test_datagrams_and_pings_of_real_hosts_are_those_of_simulated_ones(cli: Cli, tmp_path: Path) -> None:
    runs = {}
    for who, more in (("linux", ""), ("own", '[hosts]\nkernel = "own"\n'), ("simulator", "")):
        file = tmp_path / f"{who}.toml"
        file.write_text(PROBES.replace("WHO", who.replace("own", "linux")) + more, encoding="utf-8")
        done = cli("run", file, "--backend", "linux", "--no-report", "--out", tmp_path / who)
        assert done.returncode == 0, done.stderr
        runs[who] = record(tmp_path / who, "cubic")
    for who in ("linux", "own"):
        assert [f.get("hosts") for f in runs[who].manifest["flows"]] == ["linux"] * 3
        assert runs[who].manifest.conserved
        for real_row, row in zip(
            *(runs[w].table("flow_totals").to_pylist()[1:] for w in (who, "simulator")), strict=True
        ):
            assert is_conserved(real_row)
            for name in ("data_sent", "delivered_packets", "goodput_bytes"):
                assert real_row[name] == pytest.approx(row[name], rel=0.002), name
        ours, theirs = (runs[w].table("windows").to_pylist() for w in (who, "simulator"))
        assert ours[1]["datagrams"] > 600
        for name in ("datagrams", "delay_sum_ns", "delay_max_ns"):
            assert ours[1][name] == pytest.approx(theirs[1][name], rel=0.01), name
        rtts = [
            [r["rtt_ns"] for r in runs[w].table("flows").to_pylist() if r["flow"] == 2 and r["rtt_ns"]]
            for w in (who, "simulator")
        ]
        assert len(rtts[0]) == len(rtts[1]) > 20
        assert sum(rtts[0]) == pytest.approx(sum(rtts[1]), rel=0.02)
