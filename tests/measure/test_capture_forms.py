# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Synthetic captures: IPv4, IPv6, Ethernet, Linux cooked mode, time units, offloaded segments."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.results.run import find_records

MSS, SEGMENT, COUNT, RTT_NS = 1460, 40_000, 12, 20_123_456
OPTIONS = struct.pack(">BBH", 2, 4, MSS) + b"\x01\x03\x03\x0a"


def packet(link: int, version: int, *, back: bool, seq: int, ack: int, flags: int, payload: int) -> bytes:
    ports = (80, 5000) if back else (5000, 80)
    options = OPTIONS if flags & 2 else b""
    words = 5 + len(options) // 4
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, words << 4, flags, 65535, 0, 0) + options + bytes(payload)
    ends = [bytes(15) + b"\x01", bytes(15) + b"\x02"] if version == 6 else [b"\x0a\0\0\x01", b"\x0a\0\0\x02"]
    source, target = reversed(ends) if back else ends
    if version == 6:
        ip = struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + source + target
    else:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + source + target
    kind = 0x86DD if version == 6 else 0x0800
    ether = bytes(12) + struct.pack(">H", kind)
    cooked = struct.pack(">HHIHBB", kind, 0, 1, 1, 0, 6) + bytes(8)
    return (cooked if link == 276 else ether) + ip + tcp


def capture(link: int, version: int, *, nanoseconds: bool) -> bytes:
    """A capture at a sender: a segment of 40 kB every 100 ms, acknowledged one RTT later."""
    unit = 1 if nanoseconds else 1000
    found = [struct.pack("<IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link)]

    def add(t_ns: int, data: bytes) -> None:
        second, rest = divmod(t_ns, 10**9)
        found.append(struct.pack("<IIII", 1_700_000_000 + second, rest // unit, len(data), len(data)) + data)

    add(0, packet(link, version, back=False, seq=0, ack=0, flags=2, payload=0))
    add(RTT_NS, packet(link, version, back=True, seq=0, ack=1, flags=18, payload=0))
    add(RTT_NS + 1000, packet(link, version, back=False, seq=1, ack=1, flags=16, payload=0))
    for k in range(COUNT):
        t, seq = 10**8 * (k + 1), 1 + k * SEGMENT
        add(t, packet(link, version, back=False, seq=seq, ack=1, flags=24, payload=SEGMENT))
        add(t + RTT_NS, packet(link, version, back=True, seq=1, ack=seq + SEGMENT, flags=16, payload=0))
    return b"".join(found)


@pytest.mark.parametrize("link", [1, 276])
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("nanoseconds", [True, False])
def test_every_form_gives_the_same_record(cli: Cli, tmp_path: Path, link: int, version: int, nanoseconds: bool) -> None:
    (tmp_path / "a.pcap").write_bytes(capture(link, version, nanoseconds=nanoseconds))
    done = cli("import", "capture", "a.pcap", "--out", "in")
    assert done.returncode == 0, done.stderr
    (run,) = find_records(tmp_path / "in")
    (flow,) = run.table("flow_totals").to_pylist()
    assert flow["goodput_bytes"] == SEGMENT * COUNT
    # Segments are counted as on the wire, not as passed to the interface.
    assert flow["data_sent"] == COUNT * math.ceil(SEGMENT / MSS)
    assert flow["retransmits"] == 0
    resolution = 1 if nanoseconds else 1000
    assert flow["rtt_sum_ns"] / flow["rtt_samples"] == pytest.approx(RTT_NS, abs=resolution)
