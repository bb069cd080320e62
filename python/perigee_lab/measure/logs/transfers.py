# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Logs of transfers: JSON of iperf3, results of speed tests, and series of `ss -ti`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from perigee_lab.measure.logs.model import NS_PER_S, Asked, Flow, Log, LogError, at, instant_ns, number
from perigee_lab.measure.logs.pings import time_of


def is_iperf3(data: Any) -> bool:
    """Whether this is the JSON output of `iperf3 -J`."""
    return isinstance(at(data, "intervals"), list) and at(data, "start") is not None


def read_iperf3(data: Any, asked: Asked) -> Log:
    """Reads one flow per stream, with one row per interval."""
    if (error := at(data, "error")) and not data["intervals"]:
        raise LogError(f"iperf3 failed: {error}")
    log = Log("iperf3")
    began = number(at(data, "start", "timestamp", "timesecs")) or number(
        at(data, "start", "timestamp", "timemillisecs")
    )
    log.has_clock = began is not None
    base = round((began or 0) * NS_PER_S)
    connected = at(data, "start", "connected")
    ends = {str(at(c, "socket")): c for c in (connected if isinstance(connected, list) else [])}
    reverse = bool(at(data, "start", "test_start", "reverse"))
    udp = at(data, "start", "test_start", "protocol") == "UDP"
    cc = str(at(data, "end", "sender_tcp_congestion") or ("cbr" if udp else "unknown"))
    flows: dict[Any, Flow] = {}
    sums: dict[Any, list[int]] = {}
    for i, interval in enumerate(data["intervals"]):
        streams = at(interval, "streams")
        for j, stream in enumerate(streams if isinstance(streams, list) else []):
            end_s, count = number(at(stream, "end")), number(at(stream, "bytes"))
            if end_s is None or count is None:
                log.strange.append(f"intervals[{i}].streams[{j}]: no end or bytes")
                continue
            key = str(at(stream, "socket"))
            here, there = (str(at(ends.get(key), k) or "?") for k in ("local_host", "remote_host"))
            sends = at(stream, "sender") if isinstance(at(stream, "sender"), bool) else not reverse
            if key not in flows:
                a, b = (here, there) if sends else (there, here)
                flows[key], sums[key] = Flow(f"stream {key}", a, b, cc), [0, 0]
            total = sums[key]
            total[0] += int(count)
            total[1] += int(number(at(stream, "retransmits")) or 0)
            rtt, cwnd = number(at(stream, "rtt")), number(at(stream, "snd_cwnd"))
            flows[key].rows.append(
                {
                    "t_ns": base + round(end_s * NS_PER_S),
                    "goodput_bps": number(at(stream, "bits_per_second")) or 0.0,
                    "delivered_bytes": total[0],
                    "retransmits": total[1],
                    "cwnd_bytes": int(cwnd) if cwnd else None,
                    "rtt_ns": round(rtt * 1000) if rtt else None,
                    "srtt_ns": round(rtt * 1000) if rtt else None,
                }
            )
    if not flows:
        raise LogError("no interval of it has a stream")
    for flow in flows.values():
        flow.totals["started_ns"] = base
    log.flows = list(flows.values())
    log.remarks.append("iperf3's rtt is the kernel's smoothed value at the end of each interval, not a sample")
    if not (reverse or udp):
        log.remarks.append(
            "bytes are what iperf3 handed to its kernel, ahead of what arrived by as much as its socket buffers; "
            "with -R, or at the server, they are what arrived"
        )
    if at(data, "error"):
        log.remarks.append(f"iperf3 ended with an error: {data['error']}")
    return log


def is_speedtest(data: Any) -> bool:
    """Whether this is a result of Ookla's client or of speedtest-cli."""
    ookla = number(at(data, "download", "bandwidth")) is not None
    return ookla or (number(at(data, "download")) is not None and number(at(data, "ping")) is not None)


def read_speedtest(results: list[tuple[str, Any]], asked: Asked) -> Log:
    """Reads one row per result, with download and upload."""
    log = Log("speedtest")
    down, up = Flow("download", "server", "here", "unknown"), Flow("upload", "here", "server", "unknown")
    for where, data in results:
        if not is_speedtest(data):
            log.strange.append(f"{where}: no result with a download")
            continue
        t_ns = time_of(at(data, "timestamp"), asked, f"{where}, timestamp")
        latency = number(at(data, "ping", "latency")) or number(at(data, "ping"))
        for flow, name in ((down, "download"), (up, "upload")):
            ookla = number(at(data, name, "bandwidth"))
            rate = ookla * 8 if ookla is not None else number(at(data, name))
            if rate is None:
                continue
            size = number(at(data, name, "bytes")) or number(
                at(data, "bytes_received" if name == "download" else "bytes_sent")
            )
            before = flow.rows[-1]["delivered_bytes"] if flow.rows else 0
            loaded = number(at(data, name, "latency", "iqm"))
            flow.rows.append(
                {
                    "t_ns": t_ns,
                    "goodput_bps": rate,
                    "delivered_bytes": before + int(size or 0),
                    "rtt_ns": round(latency * 1e6) if latency is not None else None,
                    "log.loaded_rtt_ms": loaded,
                }
            )
    log.flows = [f for f in (down, up) if f.rows]
    if not log.flows:
        raise LogError("no result in it has a download")
    log.remarks.append(
        "each row is one speed test: several connections to a server near by; its rtt is that of the idle path"
    )
    return log


def lines_of_json(lines: Iterable[tuple[int, str]]) -> list[tuple[str, Any]]:
    """The JSON value of each line; None if a line has none."""
    found: list[tuple[str, Any]] = []
    for where, line in lines:
        if not line.strip():
            continue
        try:
            found.append((f"line {where}", json.loads(line)))
        except (ValueError, RecursionError):
            found.append((f"line {where}", None))
    return found


SOCKET = re.compile(
    r"^\s*(?:tcp\s+)?(?:ESTAB|ESTABLISHED|SYN-\S+|FIN-\S+|CLOSE-WAIT|LAST-ACK|CLOSING|TIME-WAIT)\s+\d+\s+\d+\s+(\S+)\s+(\S+)"
)
WORD = re.compile(r"(\w+):([\d.]+)(?:/([\d.]+))?")
RATE = re.compile(r"\b(send|pacing_rate|delivery_rate) ([\d.]+)([KMGT]?)bps")
EPOCH = re.compile(r"^\s*(\d{9,10}(?:\.\d+)?)\s*$")
FACTORS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def is_ss(head: str) -> bool:
    """Whether a text lists sockets in the format of `ss -ti`."""
    return "cwnd:" in head and any(SOCKET.match(line) for line in head.splitlines())


def read_ss(lines: Iterable[tuple[int, str]], asked: Asked) -> Log:
    """Reads one flow per pair of endpoints, with one row for each time that it is listed.

    Times are on separate lines (`date +%s.%N`).
    """
    log = Log("ss")
    flows: dict[tuple[str, str], Flow] = {}
    now, shown, ends, known_time = None, 0, None, False
    for where, line in lines:
        if match := EPOCH.match(line):
            now, known_time = round(float(match[1]) * NS_PER_S), True
        elif re.match(r"^\s*\d{4}-\d\d-\d\d[T ]", line):
            now, known_time = instant_ns(line, asked, f"line {where}"), True
        elif line.startswith(("State", "Recv-Q")):
            # Each call of ss starts with a header.
            if asked.interval_ns is not None and not known_time:
                now = shown * asked.interval_ns
                shown += 1
        elif match := SOCKET.match(line):
            ends = (match[1], match[2])
            if "cwnd:" in line:
                _shown(flows, ends, line, now, where)
        elif "cwnd:" in line and ends is not None:
            _shown(flows, ends, line, now, where)
        elif line.strip():
            log.strange.append(f"line {where}: {line.strip()[:80]!r}")
    if not flows:
        raise LogError("no socket in it has a congestion window (ss needs -i)")
    log.has_clock = known_time
    log.flows = list(flows.values())
    log.remarks.append("rtt is the kernel's smoothed value at that moment, not a sample")
    return log


def _shown(flows: dict[tuple[str, str], Flow], ends: tuple[str, str], line: str, now: int | None, where: int) -> None:
    if now is None:
        raise LogError(
            f"line {where}: sockets without a time: print one before each call (date +%s.%N), or say how far apart the "
            "calls were, --interval 100ms (with the header lines of ss)"
        )
    words = {m[0]: (m[1], m[2]) for m in WORD.findall(line)}
    rates = {m[0]: float(m[1]) * FACTORS[m[2]] for m in RATE.findall(line) if re.fullmatch(r"\d+(\.\d*)?", m[1])}

    def value(name: str, part: int = 0) -> float | None:
        found = words.get(name, ("", ""))[part]
        return float(found) if re.fullmatch(r"\d+(\.\d+)?", found) else None

    mss = value("mss") or 1448
    flow = flows.setdefault(
        ends, Flow(f"{ends[0]} > {ends[1]}", *ends, line.split(maxsplit=1)[0] if line[:1].isspace() else "unknown")
    )
    cwnd, threshold, unacked = value("cwnd"), value("ssthresh"), value("unacked")
    acked, rtt = value("bytes_acked") or 0, value("rtt")
    before = flow.rows[-1] if flow.rows else None
    goodput = 0.0
    if before is not None and now > before["t_ns"]:
        goodput = max(0.0, (acked - before["delivered_bytes"]) * 8 * NS_PER_S / (now - before["t_ns"]))
    flow.rows.append(
        {
            "t_ns": now,
            "goodput_bps": goodput,
            "delivered_bytes": int(acked),
            "cwnd_bytes": int((cwnd or 0) * mss),
            "ssthresh_bytes": int(threshold * mss) if threshold else None,
            "in_flight_bytes": int((unacked or 0) * mss),
            "rtt_ns": round(rtt * 1e6) if rtt is not None else None,
            "srtt_ns": round(rtt * 1e6) if rtt is not None else None,
            "pacing_bps": round(rates["pacing_rate"]) if "pacing_rate" in rates else None,
            "delivery_rate_bps": round(rates["delivery_rate"]) if "delivery_rate" in rates else None,
            "sent_packets": int(value("data_segs_out") or 0),
            "retransmits": int(value("retrans", 1) or 0),
            "log.min_rtt_ms": value("minrtt"),
        }
    )
