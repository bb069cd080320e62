# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Traces of IOAM, read by a protocol analyser that has no dissector of ours."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from analyser import TSHARK, tshark
from conftest import ROOT, Cli

pytestmark = pytest.mark.skipif(TSHARK is None, reason="no tshark on this machine: traces were not read")

VECTORS = ROOT / "crates/perigee-telemetry/tests/ioam.txt"
NODE = "ipv6.opt.ioam.trace.node"
RAW_IP, NO_NEXT_HEADER = 101, 59


def packets(path: Path, areas: list[bytes]) -> Path:
    """A capture of IPv6 packets with these hop-by-hop options and nothing else."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW_IP))
        for area in areas:
            extension = bytes([NO_NEXT_HEADER, (2 + len(area)) // 8 - 1]) + area
            packet = struct.pack(">IHBB", 0x60000000, len(extension), 0, 64) + bytes(32) + extension
            file.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
    return path


def test_the_analyser_reads_the_node_data_of_each_carrier(tmp_path: Path) -> None:
    lines = dict(line.split() for line in VECTORS.read_text(encoding="utf-8").splitlines())
    path = packets(tmp_path / "traces.pcap", [bytes.fromhex(area) for area in lines.values()])
    assert tshark(path, "_ws.malformed || _ws.expert.severity >= 6291456", "frame.number") == []
    fields = [f"{NODE}.{name}" for name in ("hlim", "id", "tsf", "qdepth", "oss.scid", "oss.data")]
    rows = dict(zip(lines, tshark(path, "ipv6.opt.type == 0x31", *fields), strict=True))
    # The last port comes first: 19.999216 s and 19.777216 s, and what the packet found queued.
    for name in ("ioam", "ioam_rate"):
        assert [int(x) for x in rows[name][0].split(",")] == [62, 63]
        assert [int(x, 0) for x in rows[name][1].split(",")] == [0x2222, 0x1111]
        assert [int(x, 0) for x in rows[name][2].split(",")] == [999216, 777216]
        assert [int(x, 0) for x in rows[name][3].split(",")] == [0, 1500]
    assert [int(x, 0) for x in rows["ioam_rate"][4].split(",")] == [1, 1]
    assert [int(x, 16) for x in rows["ioam_rate"][5].split(",")] == [100_000] * 2
    assert [len(x) for x in rows["ioam_snapshot"][5].split(",")] == [2 * 20] * 2, "17 bytes in words of 4"


@pytest.mark.slow
@pytest.mark.parametrize("carrier", ["ioam", "ioam_rate", "ioam_snapshot"])
def test_packets_of_a_capture_have_room_for_the_trace(cli: Cli, small: Path, tmp_path: Path, carrier: str) -> None:
    settings = ["run.duration=1 s", f"cc.orbcc.carrier={carrier}", "telemetry.overhead=wire"]
    words = [w for s in settings for w in ("--set", s)]
    done = cli("run", small, "--cc", "orbcc", "--pcap", "--out", "out", "--no-report", *words)
    assert done.returncode == 0, done.stderr
    path = next((tmp_path / "out").rglob("senders.pcapng"))
    found = tshark(path, "ipv6.opt.type == 0x31", "ipv6.opt.ioam.trace.remlen", "ipv6.opt.ioam.trace.nodelen")
    assert found
    each = {"ioam": 3, "ioam_rate": 5, "ioam_snapshot": 7}[carrier]
    assert all(int(remaining) > 0 and int(remaining) % each == 0 for remaining, _ in found)
    assert tshark(path, "_ws.malformed", "frame.number") == []
