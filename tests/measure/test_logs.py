# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Logs of other tools as records."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from perigee_lab.measure.logs import reader
from perigee_lab.measure.logs.model import Asked, LogError, zone_of
from perigee_lab.measure.logs.reader import read_log
from perigee_lab.results.run import find_records

PING = """PING example.org (192.0.2.1) 56(84) bytes of data.
[1700000000.032000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=32.0 ms
[1700000000.240000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=40.0 ms
[1700000000.241000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=41.0 ms (DUP!)
[1700000000.836000] 64 bytes from 192.0.2.1: icmp_seq=5 ttl=57 time=36.0 ms
what is this

--- example.org ping statistics ---
6 packets transmitted, 3 received, +1 duplicates, 50% packet loss, time 1000ms
rtt min/avg/max/mdev = 32.000/36.000/40.000/3.266 ms
"""
WINDOWS = """Pinging 192.0.2.1 with 32 bytes of data:
Reply from 192.0.2.1: bytes=32 time=14ms TTL=116
Request timed out.
Reply from 192.0.2.1: bytes=32 time=18ms TTL=116
"""
SS = """1700000000.0
State Recv-Q Send-Q Local Address:Port Peer Address:Port Process
ESTAB 0 100 10.0.0.1:5000 10.0.0.2:80
\t cubic wscale:7,7 rtt:23.5/0.3 mss:1448 cwnd:10 ssthresh:50 bytes_acked:100000 data_segs_out:70 retrans:0/1 unacked:4
1700000002.0
State Recv-Q Send-Q Local Address:Port Peer Address:Port Process
ESTAB 0 100 10.0.0.1:5000 10.0.0.2:80
\t cubic wscale:7,7 rtt:25.5/0.3 mss:1448 cwnd:20 ssthresh:50 bytes_acked:1100000 pacing_rate 9856Kbps retrans:0/3
"""
DISH = """timestamp_utc,pop_ping_latency_ms,pop_ping_drop_rate,downlink_throughput_bps,snr,obstructed
2026-11-01T00:00:00,31.5,0,80000000,9.1,false
2026-11-01T00:00:01,33.0,0,80000000,9.0,false
2026-11-01T00:00:02,,1,40000000,8.0,true
2026-11-01T00:00:03,nonsense,0,40000000,8.0,true
"""
IPERF3 = {
    "start": {
        "connected": [{"socket": 5, "local_host": "10.0.0.1", "remote_host": "10.0.0.2"}],
        "timestamp": {"timesecs": 1_700_000_000},
        "test_start": {"protocol": "TCP", "reverse": 0},
    },
    "intervals": [
        {
            "streams": [
                {"socket": 5, "start": k, "end": k + 1, "bytes": 1_250_000, "bits_per_second": 1e7, "retransmits": k,
                 "snd_cwnd": 28960, "rtt": 20_000 + k, "sender": True}
            ]
        }
        for k in range(3)
    ],
    "end": {"sender_tcp_congestion": "cubic"},
}  # fmt: skip


def written(folder: Path, name: str, text: str | dict[str, Any]) -> Path:
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def test_pings_have_their_instants_losses_and_duplicates(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, "p", PING), Asked())
    (flow,) = log.flows
    assert (log.format, flow.target, flow.duplicates, log.has_clock) == ("ping", "example.org", 1, True)
    assert [p.rtt_ns for p in flow.probes] == [32_000_000, 40_000_000, None, None, 36_000_000, None]
    assert [p.sent_ns - 1_700_000_000 * 10**9 for p in flow.probes[:5]] == [k * 200_000_000 for k in range(5)]
    assert log.strange.first == ["line 6: 'what is this'"]


@pytest.mark.parametrize(
    ("head", "size"),
    [
        ("PING example.org (192.0.2.1) 56(84) bytes of data.", 84),
        ("PING example.org(2001:db8::1 (2001:db8::1)) 56 data bytes", 104),
        ("PING example.org (192.0.2.1): 56 data bytes", 84),
        ("Pinging 192.0.2.1 with 32 bytes of data:", 60),
        ("PING example.org", None),
    ],
)
def test_the_size_of_probes_is_what_ping_says(tmp_path: Path, head: str, size: int | None) -> None:
    reply = "64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=12.3 ms\n"
    log = read_log(written(tmp_path, "p", f"{head}\n{reply}"), Asked(interval_ns=10**9))
    assert log.flows[0].probe_bytes == size


def test_pings_without_times_need_to_be_told(tmp_path: Path) -> None:
    path = written(tmp_path, "w", WINDOWS)
    with pytest.raises(LogError, match="--interval 1s"):
        read_log(path, Asked())
    log = read_log(path, Asked(interval_ns=10**9))
    assert [p.rtt_ns for p in log.flows[0].probes] == [14_000_000, None, 18_000_000]
    assert not log.has_clock


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_windows_shell_redirects_is_read(tmp_path: Path, encoding: str, packed: bool) -> None:
    content = (("\ufeff" if encoding == "utf-16-be" else "") + WINDOWS.replace("\n", "\r\n")).encode(encoding)
    path = tmp_path / "x.txt"
    path.write_bytes(gzip.compress(content) if packed else content)
    log = read_log(path, Asked(interval_ns=10**9))
    assert [p.rtt_ns for p in log.flows[0].probes] == [14_000_000, None, 18_000_000]


def test_sockets_are_followed_from_call_to_call(tmp_path: Path) -> None:
    (flow,) = read_log(written(tmp_path, "ss", SS), Asked()).flows
    assert (flow.origin, flow.target, flow.cc) == ("10.0.0.1:5000", "10.0.0.2:80", "cubic")
    last = flow.rows[-1]
    assert last["goodput_bps"] == pytest.approx(4e6)
    assert (last["cwnd_bytes"], last["retransmits"], last["pacing_bps"]) == (28_960, 3, 9_856_000)
    with pytest.raises(LogError, match="line 2: sockets without a time"):
        read_log(written(tmp_path, "ss2", "\n".join(SS.splitlines()[2:4])), Asked())


def test_an_import_makes_a_record_with_report(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", "log", written(tmp_path, "iperf3.json", IPERF3), "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "smoothed value" in done.stdout
    (run,) = find_records(tmp_path / "out")
    assert (run.cc, run.manifest.backend, run.manifest.duration_ns) == ("cubic", "log", 3 * 10**9)
    assert run.summary["goodput_mbps"] == pytest.approx(10)
    assert run.summary["retransmits"] == 3
    assert run.summary["rtt_mean_ms"] == pytest.approx(20.001)
    assert (tmp_path / "out/report.html").exists()
    assert cli("compare", "out", "out").returncode == 0


def test_lost_probes_and_gaps_are_told(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", "log", written(tmp_path, "ping.txt", PING), "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "3 of 6 probes lost (50 %), in 2 runs, 2 at most in a row" in done.stdout
    assert "1 answers came twice" in done.stdout
    assert "not understood: line 6" in done.stdout
    (run,) = find_records(tmp_path / "out")
    assert run.summary["rtt_mean_ms"] == pytest.approx(36)
    events = run.to_pandas("events")
    assert events[events["kind"] == "probe-lost"]["value"].tolist() == [3, 4, 6]


def test_columns_are_known_by_name_and_what_is_strange_is_told(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "dish.csv.gz"
    path.write_bytes(gzip.compress(DISH.encode()))
    done = cli("import", "log", path, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "pop_ping_drop_rate is loss in share" in done.stdout
    assert "line 5, pop_ping_latency_ms: 'nonsense' is no number" in done.stdout
    (run,) = find_records(tmp_path / "out")
    flows = run.to_pandas("flows")
    assert flows["log.snr"].dropna().tolist() == [9.1, 9.0, 8.0, 8.0]
    assert run.manifest["measured"]["began"] == "2026-11-01T00:00:00Z"
    # 80 Mbit in the second after the first sample, and 40 Mbit in each of the next two seconds.
    assert run.summary["goodput_mbps"] == pytest.approx(160 / 3, rel=0.02)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("time_s,rtt\n1,20\n", [], "column rtt has no unit: say which, --unit rtt=ns|us|ms|s"),
        ("time_s,rtt\n1,20\n", ["--unit", "rtt=miles"], "rtt has no unit 'miles'"),
        ("time,rtt_ms\n2026-01-01T00:00:00,20\n", [], "line 2, time: '2026-01-01T00:00:00' has no time zone"),
        ("time,rtt_ms\n7,20\n", [], "--unit time="),
        ("a,b\n1,2\n", [], "no column is a time"),
        ("time_s,rtt_ms,ping_ms\n1,2,3\n", [], "could all be rtt"),
        ("time_s,rtt_ms\n1,20\n", ["--column", "speed=goodput"], "there is no column 'speed'"),
        ("time_s,rtt_ms\n1,20\n", ["--column", "rtt_ms"], "expected NAME=WHAT"),
        ("time_s,rtt_ms\n1,20\n", ["--timezone", "Mars"], "--timezone 'Mars'"),
        ("time_s,rtt_ms\n1,20\n", ["--format", "pong"], "it may be ping"),
        (PING, ["--interval", "1s"], "--interval is for logs without times"),
        (SS, ["--interval", "1s"], "this log of ss has its own: leave it out"),
        (PING, ["--column", "a=rtt"], "--column is for tables (CSV), and it is a log of ping"),
        (SS, ["--unit", "a=ms"], "--unit is for tables (CSV), and it is a log of ss"),
        (PING, ["--warmup", "1min"], "--warmup 60s leaves out all of its 1 s"),
        (SS, ["--warmup", "2s"], "--warmup 2s leaves out all of its 2 s; take less"),
        ("", [], "it is empty"),
        ("\0\1\2", [], "perigee import capture"),
        ("dear diary\n", [], "it is no log of ping"),
        ('{"intervals": [{"streams"', [], "its JSON is damaged or breaks off"),
        ('{"a": 1}', [], "its JSON is none of irtt"),
        ('{"start": {}, "intervals": [], "error": "unable to connect"}', [], "iperf3 failed: unable to connect"),
    ],
)
def test_what_is_missing_or_damaged_is_said(cli: Cli, tmp_path: Path, text: str, options: list[str], said: str) -> None:
    done = cli("import", "log", written(tmp_path, "x.log", text), *options, "--out", "out")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_zones_are_names_or_offsets() -> None:
    assert zone_of("UTC").utcoffset(None) == zone_of("+00:00").utcoffset(None)
    assert str(zone_of("-05:30").utcoffset(None)) == "-1 day, 18:30:00"


def damaged(draw: random.Random, source: str) -> str:
    """A log with changed characters, and with pieces removed or duplicated."""
    text = list(source)
    for _ in range(draw.randrange(1, 8)):
        at = draw.randrange(len(text))
        damage = draw.randrange(3)
        if damage == 0:
            text[at] = draw.choice('0-9.,:{}[]"\n\t eE+√')
        elif damage == 1:
            del text[at : at + draw.randrange(1, 30)]
        else:
            text[at:at] = text[: draw.randrange(60)]
        if not text:
            break
    return "".join(text)


def test_damaged_logs_end_in_a_line_for_a_person(tmp_path: Path) -> None:
    """Changed bytes, and removed, swapped or duplicated lines, yield only a log or a LogError."""
    draw, seen = random.Random(7), 0
    sources = [PING, WINDOWS, SS, DISH, json.dumps(IPERF3)]
    for _ in range(1500):
        text = damaged(draw, draw.choice(sources))
        try:
            log = read_log(written(tmp_path, "d", text), Asked(interval_ns=10**9))
            assert log.flows
        except LogError:
            seen += 1
    assert 50 < seen < 1450


def qlog_events() -> list[dict[str, Any]]:
    header = {"packet_type": "1RTT"}
    found: list[dict[str, Any]] = []
    for n in range(5):
        sent = {"header": header | {"packet_number": n}, "raw": {"length": 1200}}
        found.append({"time": 10.0 * n, "name": "transport:packet_sent", "data": sent})
    ack = {"frame_type": "ack", "acked_ranges": [[0, 1], [3, 3]]}
    found.append({"time": 60.0, "name": "transport:packet_received", "data": {"header": header, "frames": [ack]}})
    lost = {"header": header | {"packet_number": 2}}
    found.append({"time": 60.5, "name": "recovery:packet_lost", "data": lost})
    metrics = {"latest_rtt": 30.5, "smoothed_rtt": 31, "congestion_window": 24000, "bytes_in_flight": 1200}
    found.append({"time": 61.0, "name": "recovery:metrics_updated", "data": metrics})
    found.append({"time": 90.0, "name": "recovery:metrics_updated", "data": {"latest_rtt": 29.5}})
    return found


@pytest.mark.parametrize("form", ["json", "json-seq", "pretty"])
def test_qlog_has_metrics_and_what_was_acknowledged(cli: Cli, tmp_path: Path, form: str) -> None:
    common = {"time_format": "relative", "reference_time": 1.7e12}
    trace = {"vantage_point": {"type": "server"}, "common_fields": common}
    if form == "json-seq":
        rows = [{"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}, *qlog_events()]
        text = "".join(f"\x1e{json.dumps(r)}\n" for r in rows)
    else:
        whole = {"qlog_version": "0.3", "qlog_format": "JSON", "traces": [trace | {"events": qlog_events()}]}
        text = json.dumps(whole, indent=1 if form == "pretty" else None)
    (tmp_path / "a.qlog").write_text(text, encoding="utf-8")
    done = cli("import", "log", "a.qlog", "--out", "in")
    assert done.returncode == 0, done.stderr
    (run,) = find_records(tmp_path / "in")
    first, second = run.table("flows").to_pylist()
    assert (first["rtt_ns"], first["srtt_ns"], first["cwnd_bytes"]) == (30_500_000, 31_000_000, 24_000)
    assert (first["delivered_bytes"], first["sent_packets"], first["retransmits"]) == (3600, 5, 1)
    # Values that are not repeated keep their previous value.
    assert (second["rtt_ns"], second["srtt_ns"], second["cwnd_bytes"]) == (29_500_000, 31_000_000, 24_000)
    assert run.manifest["measured"]["began"].startswith("2023-11-14T22:13:20")


def writer(name: str) -> str:
    """Five packets of 1200 bytes, of which the third is lost, as a stack writes them."""
    epoch = 1.7e12

    def events(names: tuple[str, str, str, str], zero: float, *, bare: bool, cwnd: str) -> list[dict[str, Any]]:
        made: list[tuple[float, str, dict[str, Any]]] = []
        header = {"packet_type": "1RTT", "scid": "", "dcid": "ab"}
        for n in range(5):
            sent = {"header": header | {"packet_number": n}, "raw": {"length": 1200}, "frames": []}
            made.append((10.0 * n, names[0], sent))
        ack = {"frame_type": "ack", "ack_delay": 0.5, "acked_ranges": [[0, 1], [3] if not bare else [3, 3]]}
        made.append((60.0, names[1], {"header": header | {"packet_number": 0}, "frames": [ack]}))
        lost = {"type": "1RTT", "packet_number": 2} if bare else {"header": header | {"packet_number": 2}}
        made.append((60.5, names[2], lost))
        made.append((61.0, names[3], {"latest_rtt": 30.5, "smoothed_rtt": 31.0, cwnd: 24000, "bytes_in_flight": 1200}))
        late = {"header": header | {"packet_number": 1}, "frames": [ack | {"acked_ranges": [[2, 2]]}]}
        made += [(62.0, names[1], late), (90.0, names[3], {"latest_rtt": 29.5})]
        return [{"time": zero + t, "name": n, "data": d} for t, n, d in made]

    old = ("transport:packet_sent", "transport:packet_received", "recovery:packet_lost", "recovery:metrics_updated")
    new = ("quic:packet_sent", "quic:packet_received", "quic:packet_lost", "quic:recovery_metrics_updated")
    if name == "aioquic":
        # QuicFileLogger: a document with times since 1970, "cwnd", lost packets without a header.
        trace = {"common_fields": {"ODCID": "ab"}, "vantage_point": {"name": "aioquic", "type": "client"}}
        trace["events"] = events(old, epoch, bare=True, cwnd="cwnd")
        return json.dumps({"qlog_format": "JSON", "qlog_version": "0.3", "traces": [trace]})
    if name == "quinn":
        # The crate qlog: a sequence with relative times.
        head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": "quinn", "trace": {}}
        head["trace"] = {"vantage_point": {"type": "server"}, "title": "quinn", "configuration": {"time_offset": 0.0}}
        rows = [head, *events(old, 0.0, bare=False, cwnd="congestion_window")]
    elif name == "ngtcp2":
        common = {"protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 1.7e12, "group_id": "ab"}
        trace = {"vantage_point": {"name": "ngtcp2", "type": "server"}, "common_fields": common}
        head = {"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": trace}
        rows = [head, *events(old, 0.0, bare=False, cwnd="congestion_window")]
    else:
        clock = {"clock_type": "system", "epoch": "2023-11-14T22:13:20.000Z"}
        trace = {"vantage_point": {"type": "server"}, "event_schemas": ["urn:ietf:params:qlog:events:quic-12"]}
        trace["common_fields"] = {"time_format": "relative_to_epoch", "reference_time": clock}
        rows = events(new, 0.0, bare=False, cwnd="congestion_window")
        if name == "contained":
            schema, kind = "urn:ietf:params:qlog:file:contained", "application/qlog+json"
            trace["events"] = rows
            return json.dumps({"file_schema": schema, "serialization_format": kind, "traces": [trace]})
        schema, kind = "urn:ietf:params:qlog:file:sequential", "application/qlog+json-seq"
        rows = [{"file_schema": schema, "serialization_format": kind, "trace": trace}, *rows]
    return "".join(f"\x1e{json.dumps(r)}\n" for r in rows)


@pytest.mark.parametrize("name", ["aioquic", "quinn", "ngtcp2", "contained", "sequential"])
def test_qlogs_of_several_writers_have_the_same_rows(tmp_path: Path, name: str) -> None:
    log = read_log(written(tmp_path, "a.qlog", writer(name)), Asked())
    (flow,) = log.flows
    first, second = flow.rows
    assert not log.strange.count
    assert (first["rtt_ns"], first["srtt_ns"], first["cwnd_bytes"]) == (30_500_000, 31_000_000, 24_000)
    assert (first["delivered_bytes"], first["sent_packets"], first["retransmits"]) == (3600, 5, 1)
    # A packet that was declared lost does not count as delivered if its ACK arrives late.
    assert (second["rtt_ns"], second["delivered_bytes"]) == (29_500_000, 3600)
    # Times since 1970 have no nanoseconds in floating point.
    assert abs(second["t_ns"] - first["t_ns"] - 29_000_000) <= (500 if name == "aioquic" else 0)
    assert log.has_clock == (name != "quinn")


@pytest.mark.parametrize("damage", ["truncated", "without an end of line", "a huge number"])
def test_a_damaged_record_of_a_qlog_costs_only_itself(tmp_path: Path, damage: str) -> None:
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "server"}}}
    records = [f"\x1e{json.dumps(r)}\n" for r in (head, *qlog_events())]
    records[2] = {
        "truncated": records[2][:40] + "\n",
        "without an end of line": records[2][:40],
        "a huge number": records[2].replace('"packet_number": 1', '"packet_number": ' + 5000 * "9"),
    }[damage]
    log = read_log(written(tmp_path, "a.qlog", "".join(records)), Asked())
    first, second = log.flows[0].rows
    assert (first["sent_packets"], first["delivered_bytes"], first["retransmits"]) == (4, 2400, 1)
    assert second["rtt_ns"] == 29_500_000
    assert log.remarks[0] == "a record is damaged and left out, the first in line 3: counts may be too low"
    records[4] = records[5] = "{\n"
    log = read_log(written(tmp_path, "a.qlog", "".join(records)), Asked())
    assert log.remarks[0].startswith("3 records are damaged and left out, the first in line 3")


def test_a_qlog_without_metrics_says_so(cli: Cli, tmp_path: Path) -> None:
    text = '{"qlog_version": "0.3", "traces": [{"events": []}]}'
    (tmp_path / "a.qlog").write_text(text, encoding="utf-8")
    done = cli("import", "log", "a.qlog", "--out", "in")
    assert (done.returncode, "recovery metrics" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "text",
    [
        "PING a (1.2.3.4) 56(84) bytes of data.\n64 bytes from 1.2.3.4: icmp_seq=1 ttl=64 time=12.3 ms\n"
        "64 bytes from 1.2.3.4: icmp_seq=99999999999999 ttl=64 time=12.3 ms\n",
        '{"start": {"connected": [{"socket": []}]}, "intervals": [{"streams": [{"socket": {}, "end": 1}]}]}',
        "1700000000.0\nESTAB 0 0 10.0.0.1:5000 10.0.0.2:80\n\t cubic rtt:13/3 pacing_rate 12.2.3Mbps\n",
        "time_ms,loss_share,strange,x\n17999999999999999999999999999999,,0,10\n1700000001,,0,2\n",
        '{"start": {}, "intervals": [{"streams": 1}]}',
        '{"start": {}, "intervals": [5, {"streams": [7]}]}',
    ],
)
def test_what_fuzzing_found_ends_in_a_line_and_without_exhausting_memory(cli: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.log").write_text(text, encoding="utf-8")
    done = cli("import", "log", "a.log", "--out", "in", "--interval", "1s")
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr


HUGE = "9" * 400
IRTT_TRIP = json.dumps(
    {"timestamps": {"client": {"send": {"wall": 1}}}, "lost": "false", "seqno": 1, "delay": {"rtt": "RTT"}}
).replace('"RTT"', "RTT")
SS_HUGE = f"""2024-01-01T00:00:00.000000+00:00
ESTAB 0 0 10.0.0.1:1 10.0.0.2:2
\t cubic rto:204 rtt:{HUGE}/1 mss:1448 cwnd:10 bytes_acked:1 data_segs_out:1
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ss", SS_HUGE),
        ("ss", SS_HUGE.replace(f"rtt:{HUGE}", "rtt:1").replace("bytes_acked:1", f"bytes_acked:{HUGE}")),
        ("ss", SS_HUGE.replace(f"rtt:{HUGE}", "rtt:1").replace("cwnd:10", f"cwnd:{HUGE[:30]}")),
        ("ping", f"64 bytes from 1.1.1.1: icmp_seq={HUGE} ttl=1 time={HUGE} ms\n" * 2),
        ("irtt", '{"round_trips": [WHEN], "config": {}}'.replace("WHEN", IRTT_TRIP.replace("RTT", HUGE[:25]))),
        ("irtt", '{"round_trips": [WHEN], "config": {}}'.replace("WHEN", IRTT_TRIP.replace("RTT", "-5"))),
        ("table", "time,rtt_ms\n2024-01-01T00:00:00Z,1e300\n"),
        ("table", "time,rtt_ms\n2024-01-01T00:00:00Z,-1\n"),
        ("table", "time,rtt_ms\n2024-01-01T00:00:00Z,1\n9999-01-01T00:00:00Z,1\n"),
    ],
)
def test_impossible_numbers_end_in_a_line(cli: Cli, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "log").write_text(text, encoding="utf-8")
    done = (
        cli("import", "log", "log", "--out", "out", "--interval=1s")
        if name == "ping"
        else cli("import", "log", "log", "--out", "out")
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert not (tmp_path / "out").exists()


def test_long_lines_of_ping_are_passed_over(tmp_path: Path) -> None:
    """Searching a line must not take time by the square of its length: this file once took hours."""
    digits = "9" * 60_000
    odd = f"Reply from 192.0.2.1: bytes=32 time={digits}\n{digits}\nPING a ({') ' * 20_000}\n" * 100
    log = read_log(written(tmp_path, "long", PING + odd), Asked())
    plain = read_log(written(tmp_path, "plain", PING), Asked())
    assert len(log.strange) == len(plain.strange) + 300
    assert log.flows[0].probes == plain.flows[0].probes


def test_a_log_has_a_bound_in_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_CHARS", 10_000)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress((PING + "an odd line\n" * 2000).encode()))
    with pytest.raises(LogError, match="of text: split it"):
        read_log(path, Asked())


def test_odd_lines_are_counted_and_the_first_are_kept(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(PING + "an odd line\n" * 1000, encoding="utf-8")
    found = read_log(tmp_path / "log", Asked())
    assert (len(found.strange), len(found.strange.first)) == (1001, 5)
    assert found.not_understood()[-1] == "not understood: 996 more places"
