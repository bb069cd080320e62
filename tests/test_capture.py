# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Captures, read by a real protocol analyser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import Cli

TSHARK = shutil.which("tshark")

pytestmark = pytest.mark.skipif(TSHARK is None, reason="no tshark on this machine: captures were not read")


def tshark(path: Path, display_filter: str, *fields: str) -> list[list[str]]:
    """Fields of the packets that pass a filter."""
    assert TSHARK is not None
    words = [TSHARK, "-r", str(path), "-Y", display_filter, "-T", "fields"]
    words += ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    for f in fields:
        words += ["-e", f]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def capture(cli: Cli, scenario: Path, tmp_path: Path, *more: str) -> Path:
    done = cli("run", scenario, "--pcap", "--out", "out", "--no-report", *more)
    assert done.returncode == 0, done.stderr
    return next((tmp_path / "out").rglob("senders.pcapng"))


def test_analysis_finds_nothing_but_the_true_retransmissions(cli: Cli, small: Path, tmp_path: Path) -> None:
    import perigee

    path = capture(cli, small, tmp_path, "--cc", "cubic")
    assert len(tshark(path, "tcp.flags.syn == 1", "frame.number")) == 2
    complaints = "tcp.analysis.flags && !tcp.analysis.window_update && !tcp.analysis.duplicate_ack"
    flagged = tshark(path, complaints, "frame.number", "tcp.analysis.retransmission", "tcp.analysis.lost_segment")
    assert all(row[2] == "" for row in flagged), "no segment is missing from the capture"
    assert tshark(path, "_ws.malformed || ip.checksum.status == 0", "frame.number") == []
    run = perigee.open_record(path.parent)
    again = run.to_pandas("flow_totals")["retransmits"][0]
    found = len(tshark(path, "tcp.analysis.retransmission", "frame.number"))
    found += len(tshark(path, "tcp.analysis.out_of_order", "frame.number"))
    assert found == again


def test_telemetry_on_the_wire_is_an_ipv6_option(cli: Cli, small: Path, tmp_path: Path) -> None:
    path = capture(
        cli, small, tmp_path, "--cc", "orbcc", "--set", "telemetry.overhead=wire", "--set", "run.duration=1 s"
    )
    assert tshark(path, "ipv6.opt.type == 0x3e", "frame.number")
    assert tshark(path, "ipv6.opt.type == 0x1e", "frame.number")
    assert tshark(path, "_ws.malformed", "frame.number") == []


def test_several_flows_have_an_interface_per_sender(cli: Cli, small: Path, tmp_path: Path) -> None:
    path = capture(
        cli, small, tmp_path, "--cc", "cubic", "--set", "source.dumbbell.pairs=2", "--set", "run.duration=1 s"
    )
    names = {row[0] for row in tshark(path, "frame", "frame.interface_name")}
    assert names == {"s1", "s2"}
