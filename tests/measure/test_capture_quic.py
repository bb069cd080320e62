# SPDX-License-Identifier: Apache-2.0 OR MIT
"""QUIC in captures: handshake, sizes, RTTs from the spin bit; random bits and other datagrams."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from analyser import TSHARK, tshark
from conftest import Cli
from perigee_lab.results.run import Run, find_records

RTT_NS, COUNT, SIZE = 40_000_000, 400, 1200
Packet = tuple[int, bool, bytes]
INITIAL, HANDSHAKE = 0xC3, 0xE3


def long(first: int, size: int = SIZE, to: bytes = b"c" * 8, own: bytes = b"s" * 8) -> bytes:
    """A long header of version 1 with connection IDs, padded."""
    ids = bytes([len(to)]) + to + bytes([len(own)]) + own
    token = b"\0" if first == INITIAL else b""
    head = bytes([first]) + struct.pack(">I", 1) + ids + token
    return head + struct.pack(">H", 0x4000 | (size - len(head) - 2)) + bytes(size - len(head) - 2)


def short(spin: bool, size: int = SIZE, to: bytes = b"c" * 8) -> bytes:
    """A short header; `to` is the receiver's ID. Only the receiver knows its length."""
    return bytes([0x40 | 0x20 * spin]) + to + bytes(size - 1 - len(to))


CLIENT, SERVER, NEW = b"c" * 8, b"s" * 8, b"n" * 8


def talk(spin: Callable[[int], bool], later: tuple[bytes, bytes] = (SERVER, CLIENT)) -> Iterator[Packet]:
    """A connection as captured at the client: packets, with time and whether from the server.

    `later`: the IDs of server and client in the second half.
    """
    yield 0, False, long(INITIAL, to=b"at random", own=CLIENT)
    yield RTT_NS, True, long(INITIAL, to=CLIENT, own=SERVER)
    yield RTT_NS + 1000, False, long(HANDSHAKE, 80, to=SERVER, own=CLIENT)
    for k in range(COUNT):
        # A packet every millisecond, and acknowledgements.
        t = 2 * RTT_NS + k * 1_000_000
        server, client = (SERVER, CLIENT) if k < COUNT // 2 else later
        yield t, True, short(spin(k), to=client)
        yield t + 500_000, False, short(spin(k), 40, to=server)


def capture(packets: Iterator[Packet], moves_at_ns: int | None = None) -> bytes:
    """A capture; `moves_at_ns` is the time at which the client's port changes."""
    found = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)]
    for t_ns, back, payload in packets:
        port = 5000 if moves_at_ns is None or t_ns < moves_at_ns else 6000
        ports = (443, port) if back else (port, 443)
        udp = struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload
        ends = (b"\x0a\0\0\x02", b"\x0a\0\0\x01") if back else (b"\x0a\0\0\x01", b"\x0a\0\0\x02")
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + b"".join(ends)
        data = bytes(12) + b"\x08\0" + ip + udp
        second, rest = divmod(t_ns, 10**9)
        found.append(struct.pack("<IIII", 1_700_000_000 + second, rest, len(data), len(data)) + data)
    return b"".join(found)


def imported(cli: Cli, tmp_path: Path, packets: Iterator[Packet]) -> Run:
    (tmp_path / "q.pcap").write_bytes(capture(packets))
    done = cli("import", "capture", "q.pcap", "--out", "in", "--force")
    assert done.returncode == 0, done.stderr
    return find_records(tmp_path / "in")[0]


def regular(k: int) -> bool:
    return k * 1_000_000 // RTT_NS % 2 == 1


def test_rtts_are_those_of_the_spin_bit(cli: Cli, tmp_path: Path) -> None:
    run = imported(cli, tmp_path, talk(regular))
    totals = run.table("flow_totals").to_pylist()
    # Acknowledgements do not form a flow.
    assert [t["name"] for t in totals] == ["10.0.0.2:443 > 10.0.0.1:5000"]
    assert totals[0]["goodput_bytes"] == COUNT * SIZE
    assert totals[0]["sent_packets"] == COUNT
    # There are nine edges, with eight RTTs between them.
    assert run.table("rtt").to_pylist() == [{"flow": 0, "rtt_us": RTT_NS // 1000, "count": 8}]
    shaken = next(e for e in run.table("events").to_pylist() if e["kind"] == "handshake")
    assert shaken["value"] == pytest.approx((RTT_NS + 1000) / 1e9)
    assert "QUIC" in shaken["text"]
    assert any("1 flows are QUIC" in w for w in run.manifest.warnings)


@pytest.mark.skipif(TSHARK is None, reason="no tshark on this machine: nothing to compare with")
def test_the_edges_are_those_that_tshark_shows(cli: Cli, tmp_path: Path) -> None:
    imported(cli, tmp_path, talk(regular))
    bits = [b for (b,) in tshark(tmp_path / "q.pcap", "udp.srcport==443 && quic.short", "quic.spin_bit")]
    assert len(bits) == COUNT
    assert sum(a != b for a, b in pairwise(bits)) == 9


def test_bits_that_tell_nothing_are_named(cli: Cli, tmp_path: Path) -> None:
    draw = random.Random(1)
    still, wild = (imported(cli, tmp_path, talk(spin)) for spin in (lambda _: False, lambda _: draw.random() < 0.5))
    for run, words in ((still, "stands still"), (wild, "seems random")):
        assert run.table("flow_totals").to_pylist()[0]["rtt_samples"] == 0
        assert any(words in w for w in run.manifest.warnings), run.manifest.warnings


def test_other_datagrams_are_counted(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "q.pcap").write_bytes(capture((k, False, b"\x12\x34" + bytes(50)) for k in range(7)))
    done = cli("import", "capture", "q.pcap", "--out", "in")
    assert done.returncode == 2
    assert "7 packets are UDP and of no connection of QUIC" in done.stderr


MOVES_NS = 2 * RTT_NS + COUNT // 2 * 1_000_000


def moved(cli: Cli, tmp_path: Path, packets: Iterator[Packet]) -> Run:
    (tmp_path / "q.pcap").write_bytes(capture(packets, MOVES_NS))
    done = cli("import", "capture", "q.pcap", "--out", "in", "--force")
    assert done.returncode == 0, done.stderr
    return find_records(tmp_path / "in")[0]


def test_a_connection_is_followed_to_another_address_by_its_id(cli: Cli, tmp_path: Path) -> None:
    """This happens if a NAT rebinds the port: the client does not notice, and keeps its IDs."""
    run = moved(cli, tmp_path, talk(regular))
    (flow,) = run.table("flow_totals").to_pylist()
    assert (flow["name"], flow["goodput_bytes"]) == ("10.0.0.2:443 > 10.0.0.1:5000", COUNT * SIZE)
    # The spin bit continues as well.
    assert run.table("rtt").to_pylist() == [{"flow": 0, "rtt_us": RTT_NS // 1000, "count": 8}]
    (change,) = (e for e in run.table("events").to_pylist() if e["kind"] == "address-change")
    assert (change["t_ns"], change["text"]) == (MOVES_NS, "10.0.0.1:5000 is now 10.0.0.1:6000")
    assert any(w.startswith("1 times a connection of QUIC went on") for w in run.manifest.warnings)
    assert not any("look like QUIC's" in w for w in run.manifest.warnings), run.manifest.warnings


def test_one_direction_whose_ids_are_known_is_followed(cli: Cli, tmp_path: Path) -> None:
    """A client without an ID (many browsers) is followed by its server's ID and the return path."""
    run = moved(cli, tmp_path, (p for p in without_own(talk(regular))))
    (flow,) = run.table("flow_totals").to_pylist()
    # Packets count from the client's first packet at the new address; the server's packet before
    # that is reported.
    assert flow["goodput_bytes"] == (COUNT - 1) * SIZE
    assert any(w.startswith("1 packets look like QUIC's") for w in run.manifest.warnings), run.manifest.warnings


def without_own(packets: Iterator[Packet]) -> Iterator[Packet]:
    """The same packets with a zero-length ID of the client."""
    for t_ns, back, payload in packets:
        if payload[0] & 0x80:
            ids = (b"", SERVER) if back else (SERVER, b"")
            yield t_ns, back, long(payload[0], len(payload), *ids)
        else:
            spin = bool(payload[0] & 0x20)
            yield t_ns, back, short(spin, len(payload), b"" if back else SERVER)


def test_new_ids_that_were_used_before_the_move_are_known(cli: Cli, tmp_path: Path) -> None:
    packets = list(talk(regular, (NEW, NEW[:4] + CLIENT[:4])))
    # One packet in each direction with the new IDs still has the old address.
    early = [(MOVES_NS - 2, True, short(regular(COUNT // 2), 40, NEW[:4] + CLIENT[:4]))]
    early += [(MOVES_NS - 1, False, short(regular(COUNT // 2), 40, NEW))]
    run = moved(cli, tmp_path, iter(sorted(packets + early, key=lambda p: p[0])))
    assert run.table("flow_totals").to_pylist()[0]["goodput_bytes"] == COUNT * SIZE + 40


def test_a_client_that_moves_with_new_ids_is_told(cli: Cli, tmp_path: Path) -> None:
    """Packets without a handshake belong to no flow, and are counted separately."""
    run = moved(cli, tmp_path, talk(regular, (NEW, NEW)))
    assert [t["goodput_bytes"] for t in run.table("flow_totals").to_pylist()] == [COUNT // 2 * SIZE]
    assert any(w.startswith(f"{COUNT} packets look like QUIC's") for w in run.manifest.warnings), run.manifest.warnings
    assert not any("of no connection" in w for w in run.manifest.warnings)


def test_another_pair_of_addresses_with_the_same_id_is_another_connection(cli: Cli, tmp_path: Path) -> None:
    """One end of a migrated connection keeps its address."""
    found = capture(talk(regular))
    other = capture(((t + 1, b, p) for t, b, p in talk(regular)), 0).replace(b"\x0a\0\0\x02", b"\x0a\0\0\x09")
    (tmp_path / "q.pcap").write_bytes(found + other[24:])
    done = cli("import", "capture", "q.pcap", "--out", "in", "--force")
    assert done.returncode == 0, done.stderr
    (run,) = find_records(tmp_path / "in")
    assert [t["goodput_bytes"] for t in run.table("flow_totals").to_pylist()] == [COUNT * SIZE] * 2
