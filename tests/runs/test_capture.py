# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Captures, read by a real protocol analyser."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyser import TSHARK, tshark
from conftest import Cli
from real_hosts import real

pytestmark = pytest.mark.skipif(TSHARK is None, reason="no tshark on this machine: captures were not read")


def capture(cli: Cli, scenario: Path, tmp_path: Path, *more: str) -> Path:
    done = cli("run", scenario, "--pcap", "--out", "out", "--no-report", *more)
    assert done.returncode == 0, done.stderr
    return next((tmp_path / "out").rglob("senders.pcapng"))


@pytest.mark.slow
def test_analysis_finds_nothing_but_the_true_retransmissions(cli: Cli, small: Path, tmp_path: Path) -> None:
    import perigee_lab as perigee

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


@pytest.mark.slow
def test_telemetry_on_the_wire_is_an_ipv6_option(cli: Cli, small: Path, tmp_path: Path) -> None:
    path = capture(
        cli, small, tmp_path, "--cc", "orbcc", "--set", "telemetry.overhead=wire", "--set", "run.duration=1 s"
    )
    assert tshark(path, "ipv6.opt.type == 0x3e", "frame.number")
    assert tshark(path, "ipv6.opt.type == 0x1e", "frame.number")
    assert tshark(path, "_ws.malformed", "frame.number") == []


ECHOES = {"full": "stack", "bottleneck": "compact", "pint": "fixed size"}


@pytest.mark.slow
@pytest.mark.parametrize("echo", ECHOES)
def test_the_dissector_shows_what_ports_and_receivers_wrote(cli: Cli, small: Path, tmp_path: Path, echo: str) -> None:
    settings = ["telemetry.overhead=wire", "run.duration=2 s", f"cc.orbcc.echo={echo}"]
    path = capture(cli, small, tmp_path, "--cc", "orbcc", *(w for s in settings for w in ("--set", s)))
    lua = cli("dissector").stdout.strip()
    shows = lambda wanted, *fields: tshark(path, wanted, *fields, lua=lua)  # noqa: E731
    assert shows("orbcc.cut || _ws.lua.error", "frame.number") == []
    acks = shows("ipv6.opt.type == 0x1e && orbcc", "orbcc.form", "orbcc.hop.rate_kbps", "orbcc.base_rtt_us")
    assert len(acks) > 100
    assert {form.split(",")[0] for form, _, _ in acks} == {ECHOES[echo]}
    # The only metered port of the dumbbell has 10 Mbit/s; the sender states a base RTT near the 30
    # ms of the path.
    assert acks[-1][1] == "10000"
    data = shows("ipv6.opt.type == 0x3e", "orbcc.base_rtt_us", "orbcc.cwnd_bytes")
    base_rtt_us, cwnd = (int(x) for x in data[-1])
    bdp = 10e6 / 8 * 0.03
    assert 30_000 < base_rtt_us < 33_000
    assert 0.8 * bdp < cwnd < 1.5 * bdp


@pytest.mark.slow
def test_the_dissector_says_what_is_cut_short(cli: Cli, small: Path, tmp_path: Path) -> None:
    path = capture(
        cli, small, tmp_path, "--cc", "orbcc", "--set", "telemetry.overhead=wire", "--set", "run.duration=1 s"
    )
    # The version of the first blocks: eight bytes that start with 0x10.
    raw = path.read_bytes()
    option = b"\x3e\x08\x10\x00"
    assert option in raw
    path.write_bytes(raw.replace(option, b"\x3e\x08\x20\x00"))
    lua = cli("dissector").stdout.strip()
    assert tshark(path, "orbcc.cut", "frame.number", lua=lua)
    assert tshark(path, "_ws.lua.error", "frame.number", lua=lua) == []


@pytest.mark.slow
def test_several_flows_have_an_interface_per_sender(cli: Cli, small: Path, tmp_path: Path) -> None:
    path = capture(
        cli, small, tmp_path, "--cc", "cubic", "--set", "source.dumbbell.pairs=2", "--set", "run.duration=1 s"
    )
    names = {row[0] for row in tshark(path, "frame", "frame.interface_name")}
    assert names == {"s1", "s2"}


@pytest.mark.slow
@real
def test_captures_of_real_hosts_have_their_bytes(cli: Cli, small: Path, tmp_path: Path) -> None:
    import perigee_lab as perigee

    senders = capture(cli, small, tmp_path, "--cc", "cubic", "--backend", "linux")
    receivers = senders.with_name("receivers.pcapng")
    wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0"
    assert [tshark(path, wrong, "frame.number") for path in (senders, receivers)] == [[], []]
    assert len(tshark(senders, "tcp.flags.syn == 1", "frame.number")) == 2
    assert tshark(senders, "tcp.options.sack_le", "frame.number")
    totals = perigee.open_record(senders.parent).table("flow_totals").to_pylist()[0]
    data = len(tshark(senders, "tcp.len > 0", "frame.number"))
    again = len(tshark(senders, "tcp.analysis.retransmission || tcp.analysis.out_of_order", "frame.number"))
    assert (data, again) == (totals["data_sent"], totals["retransmits"])
    # All packets that arrive at a host were delivered; ACKs are captured both where they leave and
    # where they arrive.
    seen = {path: len(tshark(path, "ip.src == 10.0.0.2", "frame.number")) for path in (senders, receivers)}
    arrived = len(tshark(receivers, "ip.src == 10.0.0.1", "frame.number")) + seen[senders]
    assert arrived == totals["delivered_packets"]
    assert len(tshark(senders, "ip.src == 10.0.0.1", "frame.number")) + seen[receivers] == totals["sent_packets"]


@pytest.mark.slow
@real
def test_captures_of_programs_are_whole(cli: Cli, small: Path, tmp_path: Path) -> None:
    send = "import socket as s; u = s.socket(s.AF_INET6, s.SOCK_DGRAM); u.sendto(b'x' * 500, ('d1', 9))"
    words = ["--at", "s1", "--", "python3", "-c", send, "--at", "d1", "--", "sleep", "1"]
    done = cli("exec", small, "--pcap", "--out", tmp_path / "out", *words)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out/programs/seed1"
    for name in ("senders.pcapng", "receivers.pcapng"):
        path = folder / name
        # A datagram, followed by ICMP port unreachable.
        assert tshark(path, "udp && !icmpv6", "udp.length") == [["508"]]
        assert len(tshark(path, "icmpv6.checksum.status == 1", "frame.number")) == 1
        assert tshark(path, "frame.cap_len != frame.len || _ws.malformed", "frame.number") == []
    assert not list((tmp_path / "out").rglob("*.partial"))
