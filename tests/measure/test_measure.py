# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Captures as records: the properties of simulated and real flows are recovered from packets."""

from __future__ import annotations

import gzip
import shutil
import struct
from pathlib import Path

import pytest

from analyser import TSHARK, tshark
from conftest import Cli
from perigee_lab.results.run import Run, find_records
from real_hosts import real

LOSSY = """
[run]
duration = "40 s"
[source.dumbbell]
rtt = "50 ms"
loss = 0.001
[port.bottleneck]
rate = "20 Mbit"
[[flow]]
"""
SENT = ("data_sent", "retransmits", "rtt_samples", "rtt_sum_ns", "timeouts")


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY, encoding="utf-8")
    return path


def captured(cli: Cli, scenario: Path, tmp_path: Path, *words: str) -> Run:
    done = cli("run", scenario, "--pcap", "--out", "out", "--no-report", *words)
    assert done.returncode == 0, done.stderr
    return find_records(tmp_path / "out")[0]


def imported(cli: Cli, file: Path, tmp_path: Path, *words: str) -> Run:
    done = cli("import", "capture", file, "--out", "in", "--force", *words)
    assert done.returncode == 0, done.stderr
    return find_records(tmp_path / "in")[0]


def goodput_bps(run: Run) -> float:
    row = run.table("flow_totals").to_pylist()[0]
    return float(row["window_bytes"] * 8e9 / row["window_ns"])


def assert_equal(ours: Run, theirs: Run) -> None:
    assert theirs.table("rtt").to_pylist() == ours.table("rtt").to_pylist()
    a, b = (r.table("flow_totals").to_pylist()[0] for r in (ours, theirs))
    assert {k: b[k] for k in SENT} == {k: a[k] for k in SENT}
    assert a["retransmits"] > 0, "there is something to find"
    assert goodput_bps(theirs) == pytest.approx(goodput_bps(ours), rel=1e-3)


@pytest.mark.parametrize("cc", ["cubic", "bbr"])
def test_a_simulated_run_comes_back_from_its_capture(cli: Cli, lossy: Path, tmp_path: Path, cc: str) -> None:
    run = captured(cli, lossy, tmp_path, "--cc", cc)
    assert run.folder is not None
    assert_equal(run, imported(cli, run.folder / "senders.pcapng", tmp_path))


@pytest.mark.slow
@real
def test_a_run_of_real_hosts_comes_back_from_its_captures(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    run = captured(cli, lossy, tmp_path, "--cc", "cubic", "--backend", "linux")
    assert run.folder is not None
    assert_equal(run, imported(cli, run.folder / "senders.pcapng", tmp_path))
    # At the receiver, arrivals are exact, and retransmissions are inferred from holes.
    other = imported(cli, run.folder / "receivers.pcapng", tmp_path)
    assert goodput_bps(other) == pytest.approx(goodput_bps(run), rel=5e-3)
    assert any("captured at their receiver" in w for w in other.manifest.warnings)


def test_reports_comparisons_and_checks_work_and_traces_are_refused(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    run = captured(cli, lossy, tmp_path, "--cc", "cubic", "--set", "run.duration=3 s")
    assert run.folder is not None
    imported(cli, run.folder / "senders.pcapng", tmp_path, "--cc", "cubic")
    assert cli("report", "in").returncode == 0
    beside = cli("compare", "out", "in")
    assert beside.returncode == 0, beside.stderr
    assert "goodput" in beside.stdout
    checked = cli("verify", "in")
    assert checked.returncode == 0, checked.stdout
    assert "cannot be repeated" in checked.stdout
    traced = cli("trace", "in")
    assert traced.returncode == 2
    assert "senders.pcapng" in traced.stderr


@pytest.mark.skipif(TSHARK is None, reason="no tshark on this machine: nothing to compare with")
def test_retransmissions_are_those_that_tshark_finds(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    run = captured(cli, lossy, tmp_path, "--cc", "bbr", "--set", "run.duration=6 s")
    assert run.folder is not None
    file = run.folder / "senders.pcapng"
    ours = imported(cli, file, tmp_path).table("flow_totals").to_pylist()[0]["retransmits"]
    flags = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    assert len(tshark(file, flags, "frame.number")) == ours > 0


def test_a_compressed_file_and_one_that_breaks_off(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    run = captured(cli, lossy, tmp_path, "--cc", "cubic", "--set", "run.duration=3 s")
    assert run.folder is not None
    whole = (run.folder / "senders.pcapng").read_bytes()
    expected = imported(cli, run.folder / "senders.pcapng", tmp_path).hashes()
    (tmp_path / "a.pcapng.gz").write_bytes(gzip.compress(whole))
    assert imported(cli, tmp_path / "a.pcapng.gz", tmp_path).hashes() == expected
    (tmp_path / "b.pcapng").write_bytes(whole[: len(whole) // 2 + 3])
    half = imported(cli, tmp_path / "b.pcapng", tmp_path)
    assert any("ends early" in w for w in half.manifest.warnings)
    assert half.table("flow_totals").to_pylist()[0]["goodput_bytes"] > 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"PING 1.1.1.1 (1.1.1.1) 56(84) bytes of data.\n", "neither pcap nor pcapng"),
        (b"\x1f\x8bnothing", "neither pcap nor pcapng"),
        (
            struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1),
            "no connection of TCP or QUIC in it carries data (0 packets",
        ),
    ],
)
def test_what_is_no_capture_is_refused_by_name(cli: Cli, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x.pcap").write_bytes(content)
    done = cli("import", "capture", "x.pcap", "--out", "in")
    assert done.returncode == 2
    assert "x.pcap: " in done.stderr
    assert said in done.stderr or "it cannot be read" in done.stderr
    assert not (tmp_path / "in").exists()


def test_other_refusals(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    done = cli("import", "capture", "nowhere.pcap")
    assert (done.returncode, "there is no such file" in done.stderr) == (2, True)
    assert cli("import", "capture", "nowhere.pcap", "--at", "middle").returncode == 2
    assert cli("import", "capture", "nowhere.pcap", "--sample", "0s").returncode == 2
    run = captured(cli, lossy, tmp_path, "--cc", "cubic", "--set", "run.duration=1 s")
    assert run.folder is not None
    shutil.copy(run.folder / "senders.pcapng", tmp_path / "a.pcapng")
    assert cli("import", "capture", "a.pcapng", "--out", "in").returncode == 0
    taken = cli("import", "capture", "a.pcapng", "--out", "in")
    assert (taken.returncode, "--force" in taken.stderr) == (2, True)
    late = cli("import", "capture", "a.pcapng", "--out", "late", "--warmup", "100s")
    assert (late.returncode, "--warmup 100s leaves out all of its" in late.stderr) == (2, True)
    assert not (tmp_path / "late").exists()


@pytest.mark.slow
@pytest.mark.skipif(TSHARK is None, reason="no tshark on this machine: nothing to compare with")
def test_wireshark_s_classification_stands_beside_ours(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    run = captured(cli, lossy, tmp_path, "--cc", "cubic", "--set", "run.duration=6 s")
    assert run.folder is not None
    file = run.folder / "senders.pcapng"
    done = cli("import", "capture", file, "--out", "in", "--wireshark")
    assert done.returncode == 0, done.stderr
    (found,) = find_records(tmp_path / "in")
    row = found.table("flow_totals").to_pylist()[0]
    theirs = found.manifest["wireshark"]["flows"][row["name"]]
    assert theirs.get("retransmission", 0) + theirs.get("out_of_order", 0) == row["retransmits"] > 0
    assert theirs["duplicate_ack"] == len(tshark(file, "tcp.analysis.duplicate_ack", "frame.number"))
    assert "Wireshark's: duplicate ACKs" in done.stdout
    assert "Beside Wireshark's analysis" in (tmp_path / "in/report.html").read_text(encoding="utf-8")
    # An import without this option removes the section.
    assert cli("import", "capture", file, "--out", "in", "--force").returncode == 0
    assert "Beside Wireshark's analysis" not in (tmp_path / "in/report.html").read_text(encoding="utf-8")
