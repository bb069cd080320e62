# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of senders: sixty runs with the limit set by construction, records without accounts, captures, logs."""

from __future__ import annotations

import csv
import io
import json
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import perigee_lab as perigee
from conftest import ROOT, Cli
from perigee_lab.common.files import RecordError
from perigee_lab.results.report.data import shown_flows
from perigee_lab.results.report.limits import strips
from perigee_lab.results.run import Run, find_records
from perigee_lab.results.sender_limits import NAMES
from perigee_lab.results.why import FlowLimits, limits, notes, text
from why_cases import CASES, QUICK, Case, case, change

RIGHT = 0.95


def run_of(made: Case) -> Run:
    """The run of a case."""
    return perigee.loads(made.toml).run(made.cc)


def found(of: FlowLimits) -> dict[int, str]:
    """The largest limit in each second."""
    return {int(b["t_s"]): max(NAMES, key=lambda n: b[n]) for b in of.over_time()}


def verdicts(made: Case, of: FlowLimits) -> Counter[str]:
    """Seconds by verdict: right, unknown, or the wrong limit with the time."""
    seconds = found(of)
    kinds: Counter[str] = Counter()
    for begin, end, name in made.truth:
        for t in range(begin, end):
            got = seconds.get(t, "none")
            kinds["right" if got == name else got if got == "unknown" else f"{made.name}, {t} s: {got}"] += 1
    return kinds


def without_accounts(run: Run) -> Run:
    """The record as of a version that had no accounts of senders."""
    tables = {name: table for name, table in run.manifest.tables.items() if name != "limits"}
    return Run(replace(run.manifest, tables=tables), None, {name: run.table(name) for name in tables})


def check(cases: Iterable[Case]) -> None:
    """Asserts that 95 % of the seconds are right, and those decided from the rows alone, too."""
    exact: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    for made in cases:
        run = run_of(made)
        exact += verdicts(made, run.why()[0])
        rows += verdicts(made, without_accounts(run).why()[0])
    assert exact["right"] >= RIGHT * exact.total(), exact
    decided = rows.total() - rows["unknown"]
    assert rows["right"] >= RIGHT * decided, rows
    assert decided >= 0.6 * rows.total(), "what the rows show is decided"


def test_there_are_sixty_runs_and_every_limit_is_among_them() -> None:
    assert len(CASES) >= 60
    assert len({made.name for made in CASES}) == len(CASES)
    assert {name for made in CASES for *_, name in made.truth} == {*NAMES} - {"unknown"}


def test_the_limit_of_one_run_of_each_kind_is_found_second_by_second() -> None:
    check(QUICK)


@pytest.mark.slow
def test_the_limits_of_sixty_runs_are_found_second_by_second() -> None:
    check(CASES)


@pytest.mark.parametrize("made", QUICK, ids=lambda c: c.family)
def test_shares_add_up_to_one(made: Case) -> None:
    of = run_of(made).why()[0]
    for bins in (of.over_time(), of.over_time(0.25)):
        assert all(sum(b[n] for n in NAMES) == pytest.approx(1.0) for b in bins)
        assert sum(b["length_s"] for b in bins) == pytest.approx(of.end_s - of.begin_s)
    assert sum(of.totals().values()) == pytest.approx(of.end_s - of.begin_s)


def test_accounts_of_the_sender_add_up_to_the_time_since_the_handshake() -> None:
    run = perigee.load(ROOT / "scenarios/micro/chain.toml", {"run.duration": "4 s", "flow.0.stagger": "100 ms"}).run(
        "orbcc"
    )
    table = run.to_pandas("limits")
    times = table.filter(like="_ns").drop(columns="t_ns").sum(axis=1).groupby(table["flow"]).sum()
    begun = run.to_pandas("flow_totals").set_index("flow")["started_ns"]
    last = table.groupby("flow")["t_ns"].max()
    waits = (last - begun - times) / 1e6
    assert ((waits > 19) & (waits < 41)).all(), "a handshake takes a round trip of 20 ms, and what waits in queues"


def test_a_recovery_has_its_reason_its_windows_and_its_round_trips() -> None:
    burst = change("4 s", "loss = 0.02") + change("4.1 s", "loss = 0")
    made = case(
        "recovery", "newreno", (), rtt="100 ms", rate="100 Mbit", queue="0.3 bdp", changes=burst, duration=10,
        flow="tcp.init_ssthresh = 400",
    )  # fmt: skip
    of = run_of(made).why()[0]
    longest = max(of.episodes, key=lambda r: r.end_ns - r.begin_ns)
    assert longest.reason == "loss"
    assert 4.0 < longest.begin_ns / 1e9 < 4.3
    assert longest.after_bytes == pytest.approx(longest.before_bytes / 2, rel=0.1), "NewReno halves"
    assert not longest.recovered, "220 round trips of 100 ms are 22 s"
    assert longest.rounds == pytest.approx((longest.end_ns - longest.begin_ns) / 1e8, rel=0.1)


def test_flow_control_is_reported_with_the_remedy() -> None:
    made = next(c for c in CASES if c.family == "receive")
    (note,) = [n for n in run_of(made).why()[0].notes if n.startswith("flow control")]
    assert "raise the receive window" in note
    assert "to 15" in note, "20 Mbit/s over 60 ms are 150 kB"


def test_a_stale_minimum_rtt_is_reported() -> None:
    longer = change("4 s", 'rtt = "140 ms"')
    of = run_of(case("stale", "bbr", (), changes=longer, duration=10)).why()[0]
    (note,) = [n for n in of.notes if n.startswith("stale minimum RTT")]
    assert "60." in note
    assert "140." in note
    none = run_of(case("steady", "bbr", (), duration=10)).why()[0]
    assert not [n for n in none.notes if n.startswith("stale")]


def test_the_epoch_of_cubic_and_the_restarts_of_leocc_are_reported() -> None:
    made = next(c for c in CASES if c.family == "recovery" and c.cc == "cubic")
    (epoch,) = [n for n in run_of(made).why()[0].notes if n.startswith("Cubic's epoch")]
    assert "the path holds 16" in epoch, "200 Mbit/s over 100 ms are 1667 packets"
    sky = perigee.load(ROOT / "scenarios/leo/london-new-york.toml", {"run.duration": "60 s"}).run("leocc")
    (restarts,) = [n for n in sky.why()[0].notes if "restart" in n]
    assert "after reconfigurations that it detected" in restarts


def test_a_recovery_between_two_rows_has_no_plateau() -> None:
    at = [10**9, 2 * 10**9]
    own = {"cc_w_max_segments": np.ones(2), "cc_k_s": np.ones(2)}
    rows: Any = SimpleNamespace(t_ns=np.array(at), own=own)
    between = SimpleNamespace(begin_ns=at[0] + 1, end_ns=at[1] - 1)
    of: Any = SimpleNamespace(episodes=[between], begin_s=0.0, end_s=2.0)
    assert notes._cubic(rows, of) == ""


def test_the_full_buffer_of_a_proxy_limits_both_of_its_legs() -> None:
    toml = """
[run]
duration = "20 s"
[source.dumbbell]
rtt = "600 ms"
rtt_at = "access"
bottleneck_delay = "290 ms"
[port.all]
queue = "20000 packets"
[port.bottleneck]
rate = "50 Mbit"
[[flow]]
cc = "*"
from = "s1"
to = "d1"
via = ["r1", "r2"]
via_cc = ["*", "hybla", "cubic"]
via_buffer = "8 MB"
tcp.rmem = 0
"""
    run = perigee.loads(toml).run("cubic")
    first, second, third = run.why()
    assert first.totals()["receive_window"] > 19
    assert second.totals()["send_buffer"] > 18
    assert third.totals()["application"] > 18
    assert first.notes[0].endswith("the next leg decides")
    assert "via_buffer" in second.notes[0]
    assert run.why(2)[0].totals() == second.totals(), "also without the first leg"


def test_flows_are_chosen_by_name_and_number() -> None:
    run = perigee.load(ROOT / "scenarios/micro/chain.toml", {"run.duration": "2 s", "flow.0.stagger": "100 ms"}).run(
        "cubic"
    )
    names = run.table("flow_totals").column("name").to_pylist()
    assert run.why(names[2])[0].name == run.why(3)[0].name == names[2]
    assert [of.name for of in limits(run)] == names
    with pytest.raises(RecordError, match="no flow 'x'"):
        run.why("x")


def test_strips_of_the_report_add_up_to_a_hundred() -> None:
    run = run_of(QUICK[0])
    strip = strips(run, shown_flows(run))["0"]
    assert strip["said"].startswith("5")
    assert all(sum(b[3::2]) == 100 for b in strip["bins"])
    assert sum(b[1] for b in strip["bins"]) == pytest.approx(12.0, abs=0.01)


@pytest.mark.slow
def test_the_command_prints_lines_rows_and_objects(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(QUICK[1].toml, encoding="utf-8")
    assert cli("run", "s.toml", "--cc", "cubic,bbr", "--out", "out").returncode == 0
    shown = cli("why", "out").stdout
    assert "receive window" in shown
    assert "raise the receive window" in shown
    assert "bbr, seed 1" in shown
    rows = list(csv.DictReader(io.StringIO(cli("why", "out", "--cc", "cubic", "--csv").stdout)))
    assert [float(r["t_s"]) for r in rows] == list(range(12))
    assert all(sum(float(r[n]) for n in NAMES) == pytest.approx(1, abs=1e-4) for r in rows)
    (item,) = json.loads(cli("why", "out", "--cc", "cubic", "--flow", "1", "--json").stdout)
    assert item["seconds"]["receive_window"] > 9
    assert item["headline"].endswith("of 12.0 s: receive window")
    assert cli("why", "out", "--flow", "7").returncode == 2
    assert cli("why", "out", "--cc", "vegas").returncode == 2
    assert cli("why", "nowhere").returncode == 2


# ---- captures and logs ---------------------------------------------------------------------------

VISIBLE = {"outage": "timeout"}
"""Limits as packets show them: a capture has no network, so an outage is the wait for a timeout."""
CAPTURED = ("application", "start", "recovery", "steady", "timeout", "outage", "pacing", "send")


def captured(cli: Cli, made: Case, folder: Path) -> Path:
    """The capture of a case at its sender."""
    folder.mkdir()
    (folder / "s.toml").write_text(made.toml, encoding="utf-8")
    done = cli("run", folder / "s.toml", "--cc", made.cc, "--pcap", "--no-report", "--out", folder / "out")
    assert done.returncode == 0, done.stderr
    return folder / "out" / made.cc / "seed1" / "senders.pcapng"


def imported(cli: Cli, capture: Path, folder: Path) -> FlowLimits:
    """The limits of the flow of a capture."""
    done = cli("import", "capture", capture, "--out", folder)
    assert done.returncode == 0, done.stderr
    (run,) = find_records(folder)
    return max(run.why(), key=lambda of: of.end_s - of.begin_s)


def as_visible(made: Case, end_s: float) -> Case:
    """The case with the limits that packets show, up to the last packet."""
    truth = tuple((a, min(b, int(end_s)), VISIBLE.get(name, name)) for a, b, name in made.truth)
    return replace(made, truth=truth)


def check_captures(cli: Cli, cases: Iterable[Case], folder: Path) -> None:
    """Asserts that 95 % of the decided seconds are right."""
    kinds: Counter[str] = Counter()
    for i, made in enumerate(cases):
        of = imported(cli, captured(cli, made, folder / f"c{i}"), folder / f"in{i}")
        kinds += verdicts(as_visible(made, of.end_s), of)
    decided = kinds.total() - kinds["unknown"]
    assert kinds["right"] >= RIGHT * decided, kinds
    assert decided >= 0.5 * kinds.total(), kinds


@pytest.mark.slow
def test_captures_show_some_limits_and_the_others_are_unknown(cli: Cli, tmp_path: Path) -> None:
    families = {c.family: c for c in QUICK}
    check_captures(cli, [families[f] for f in ("application", "start", "recovery", "steady", "timeout")], tmp_path)
    paced = families["pacing"]
    of = imported(cli, captured(cli, paced, tmp_path / "p"), tmp_path / "in-p")
    assert verdicts(paced, of)["unknown"] >= 8, "nothing in the packets tells a pacing rate from a window"


@pytest.mark.slow
def test_decided_seconds_of_captures_of_all_runs_are_right(cli: Cli, tmp_path: Path) -> None:
    check_captures(cli, [c for c in CASES if c.family in CAPTURED], tmp_path)


def limited_windows(capture: Path, window: int) -> None:
    """Writes a receive window into all packets of a capture of a simulated flow."""
    data, at = bytearray(capture.read_bytes()), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        tcp = at + 28 + 20
        # An enhanced packet block with IPv4, without SYN.
        if kind == 6 and not data[tcp + 13] & 2:
            struct.pack_into(">H", data, tcp + 14, window >> 14)
        at += length
    capture.write_bytes(data)


@pytest.mark.slow
def test_a_full_receive_window_is_seen_in_a_capture(cli: Cli, tmp_path: Path) -> None:
    made = next(c for c in CASES if c.name.startswith("receive fixed 200 ms"))
    capture = captured(cli, made, tmp_path / "c")
    limited_windows(capture, 25 << 14)
    of = imported(cli, capture, tmp_path / "in")
    kinds = verdicts(made, of)
    assert kinds["right"] == kinds.total(), kinds
    assert any("SO_RCVBUF" in note for note in of.notes)


def qlog(frames_sent: list[str], frames_received: list[str]) -> str:
    """A sender with a window of 10 MB and 100 kB in flight per round trip of 100 ms, for 5 s."""
    header = {"packet_type": "1RTT"}
    events: list[dict[str, object]] = []
    for k in range(50):
        t = 100.0 * k
        for i in range(80):
            frames = [{"frame_type": "stream", "length": 1200}]
            if i == 79:
                frames += [{"frame_type": kind} for kind in frames_sent]
            data = {"header": header | {"packet_number": 80 * k + i}, "raw": {"length": 1250}, "frames": frames}
            events.append({"time": t + i / 80, "name": "transport:packet_sent", "data": data})
        state = {"smoothed_rtt": 100, "latest_rtt": 100, "congestion_window": 10_000_000, "bytes_in_flight": 100_000}
        events.append({"time": t + 2, "name": "recovery:metrics_updated", "data": state})
        got = {"frame_type": "ack", "acked_ranges": [[80 * k, 80 * k + 79]]}
        data = {"header": header, "frames": [got, *({"frame_type": kind} for kind in frames_received)]}
        events.append({"time": t + 99, "name": "transport:packet_received", "data": data})
    return json.dumps({"qlog_version": "0.3", "qlog_format": "JSON", "traces": [{"events": events}]})


@pytest.mark.parametrize(
    ("sent", "received", "name"),
    [(["data_blocked"], ["max_data"], "receive_window"), ([], ["max_data"], "application"), ([], [], "unknown")],
)
def test_flow_control_of_quic_is_read_from_a_qlog(
    cli: Cli, tmp_path: Path, sent: list[str], received: list[str], name: str
) -> None:
    (tmp_path / "a.qlog").write_text(qlog(sent, received), encoding="utf-8")
    assert cli("import", "log", "a.qlog", "--out", "in").returncode == 0
    (run,) = find_records(tmp_path / "in")
    (of,) = run.why()
    assert of.totals()[name] == pytest.approx(of.end_s - of.begin_s, rel=0.05)
    remedies = [note for note in of.notes if "initial_max_data" in note]
    assert bool(remedies) == (name == "receive_window")
    assert all("100 kB per round trip of 100 ms are 8 Mbit/s" in note for note in remedies)


def test_a_flow_without_any_evidence_is_one_line() -> None:
    shares = np.zeros((4, len(NAMES)))
    shares[:, NAMES.index("unknown")] = 1
    limits = FlowLimits(0, "a", "programs", 0.0, 4.0, np.arange(5) * 10**9, shares)
    assert text._of_flow(limits, "") == [
        "a (programs): the limits are unknown: the record has packets of this flow, but no state of its sender"
    ]
    shares[1] = 0
    shares[1, NAMES.index("application")] = 1
    assert len(text._of_flow(limits, "")) == 4
