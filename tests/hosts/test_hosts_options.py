# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transport options on real hosts, end to end: the same meaning as in the simulator."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from conftest import Cli
from real_hosts import SCENARIO, real, record, scenario, totals

__all__ = ["scenario"]


@real
@pytest.mark.parametrize(
    "options",
    ["receive_buffer = 30000", "send_buffer = 30000", "buffer_factor = 0.3"],
)
def test_buffers_cap_what_is_in_flight(cli: Cli, scenario: Path, tmp_path: Path, options: str) -> None:
    scenario.write_text(f"{SCENARIO}[tcp]\n{options}\n")
    both = ("run", scenario, "--cc", "cubic", "--no-report", "--out")
    done = cli(*both, tmp_path / "linux", "--backend", "linux")
    assert done.returncode == 0, done.stderr
    cli(*both, tmp_path / "simulated")
    mine, theirs = (totals(record(tmp_path / out, "cubic")) for out in ("linux", "simulated"))
    # Without the cap, it would be 2.4 MB/s.
    assert mine["window_bytes"] * 1e9 / mine["window_ns"] < 1.8e6
    assert mine["window_bytes"] == pytest.approx(theirs["window_bytes"], rel=0.01)


@pytest.mark.slow
@real
def test_the_initial_window_is_an_attribute_of_the_route(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    seen = {}
    for window in (2, 30):
        # 40 kB fit into a first window of 30 packets, but take several round trips from one of 2.
        text = SCENARIO.replace("1 bdp", "100 packets") + f'bytes = "40 kB"\n[tcp]\ninit_cwnd = {window}\n'
        scenario.write_text(text)
        both = ("run", scenario, "--cc", "newreno", "--no-report", "--out")
        done = cli(*both, tmp_path / f"linux{window}", "--backend", "linux")
        assert done.returncode == 0, done.stderr
        cli(*both, tmp_path / f"simulated{window}")
        mine, theirs = (totals(record(tmp_path / f"{out}{window}", "newreno")) for out in ("linux", "simulated"))
        assert mine["completed_ns"] == pytest.approx(theirs["completed_ns"], rel=0.02)
        seen[window] = mine["completed_ns"]
    assert seen[2] > seen[30] + 50e6


@real
def test_every_segment_is_acknowledged_where_asked(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    sent = {}
    for every in (1, 2):
        scenario.write_text(f"{SCENARIO}[tcp]\ndelayed_ack = {every}\n")
        out = tmp_path / f"{every}"
        done = cli("run", scenario, "--cc", "cubic", "--backend", "linux", "--no-report", "--out", out)
        assert done.returncode == 0, done.stderr
        row = totals(record(out, "cubic"))
        sent[every] = (row["sent_packets"] - row["data_sent"]) / row["data_sent"]
    assert sent[1] > 0.95
    assert sent[2] < 0.75


@real
def test_offload_changes_no_packet(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    # The second flow has ECN and ends: CWR, FIN and small segments are among what offload splits.
    more = '[[flow]]\nbytes = "300 kB"\nstart = "1 s"\n[tcp]\necn = true\n'
    base = SCENARIO.replace('"1 bdp"', '"1 bdp"\ndiscipline = "fq_codel"') + more
    packets, hashes = [], []
    for name, section in (("off", ""), ("on", "[hosts]\noffload = true\n")):
        scenario.write_text(base + section)
        words = (
            "run",
            scenario,
            "--cc",
            "bbr",
            "--backend",
            "linux",
            "--no-report",
            "--pcap",
            "--out",
            tmp_path / name,
        )
        done = cli(*words)
        assert done.returncode == 0, done.stderr
        run = record(tmp_path / name, "bbr")
        assert run.manifest.conserved
        hashes.append({table: known.sha256 for table, known in run.manifest.tables.items()})
        packets.append(
            [hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted((tmp_path / name).rglob("*.pcapng"))]
        )
    assert hashes[0] == hashes[1]
    # This compares every byte of every packet, checksums included.
    assert len(packets[0]) == 2
    assert packets[0] == packets[1]
