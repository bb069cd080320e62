# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ping logs: output of ping (iputils, with or without -D, BSD, BusyBox, Windows), irtt, mtr."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from perigee_lab.measure.logs.model import NS_PER_S, Asked, Flow, Log, LogError, Probe, at, instant_ns, number

# Three expressions and not one: with several `.*?` in one, a long line takes time by the square of its length.
REPLY = re.compile(
    r"^(?:\[(?P<stamp>\d+\.\d+)\] )?(?:\d+ bytes from|Reply from) "
    r"(?P<host>[^:\s]+(?: \([^)]*\))?|[0-9a-fA-F:]+):? (?:(?:icmp_)?seq[= ](?P<seq>\d+) )?"
)
TIME = re.compile(r"time[=<](?P<ms>\d+(?:\.\d+)?) ?ms")
DUPLICATE = "DUP!"
LOST = re.compile(
    r"^(?:\[(?P<stamp>\d+\.\d+)\] )?"
    r"(?:no answer yet for icmp_seq=(?P<seq>\d+)|Request timeout for icmp_seq (?P<bsd>\d+)"
    r"|Request timed out|From .* icmp_seq=(?P<from>\d+) .*)"
)
HEAD = re.compile(r"^(?:PING|Pinging) (\S+)")
# iputils prints the lengths of the data and of the IP packet, the others only that of the data.
SIZE = re.compile(
    r"^PING .*\) .*?\d+\((?P<whole>\d+)\)|^(?:PING|Pinging) .*?(?P<data>\d+) (?:data )?bytes(?: of data)?"
)
HEADERS = {False: 28, True: 48}
"""Bytes of the ICMP or UDP header plus the IP header: IPv4, IPv6."""
MOST_MISSING = 1_000_000
MOST_CHARS = 1000
"""Length of a line of ping."""
TOTAL = re.compile(r"(?<!\d)(\d+) packets transmitted, (\d+) (?:packets )?received.*?(?:time (\d+) ?ms)?$")
IGNORED = re.compile(r"^(---|rtt |round-trip |Ping statistics|Approximate|\s+(Packets:|Minimum)|\s*$|PING|Pinging)")


def is_ping(head: str) -> bool:
    """Whether a text starts like the output of ping."""
    return any(_reply(line) or HEAD.match(line) for line in head.splitlines()[:20])


def _reply(line: str) -> tuple[re.Match[str], re.Match[str]] | None:
    """The host and the time of an answer; None if the line is none."""
    if len(line) > MOST_CHARS or (reply := REPLY.match(line)) is None:
        return None
    time = TIME.search(line, reply.end())
    return None if time is None else (reply, time)


def read_ping(lines: Iterable[tuple[int, str]], asked: Asked) -> Log:
    """Reads one probe per sequence number; missing numbers are lost probes."""
    log = Log("ping")
    seen: list[tuple[float | None, int | None, int | None]] = []
    target, total_ms, sent, duplicates, size = "?", None, None, 0, None
    for where, line in lines:
        if len(line) > MOST_CHARS:
            log.strange.append(f"line {where}: {line[:80]!r}")
        elif reply := _reply(line):
            host, time = reply
            if DUPLICATE in line[time.end() :]:
                duplicates += 1
                continue
            target = target if target != "?" else str(host["host"])
            seen.append((_float(host["stamp"]), _int(host["seq"]), round(float(time["ms"]) * 1e6)))
        elif match := LOST.match(line):
            seq = next((match[k] for k in ("seq", "bsd", "from") if match[k]), None)
            seen.append((_float(match["stamp"]), _int(seq), None))
        elif match := TOTAL.search(line):
            sent, total_ms = int(match[1]), _int(match[3])
        elif match := HEAD.match(line):
            target = match[1]
            size = _size(line)
        elif not IGNORED.match(line):
            log.strange.append(f"line {where}: {line[:80]!r}")
    if not any(rtt is not None for _, _, rtt in seen):
        raise LogError("no answer of ping is in it")
    flow = Flow("ping", "here", target, "ping", duplicates=duplicates, probe_bytes=size)
    flow.probes = _probes(seen, sent, total_ms, asked, log)
    log.flows = [flow]
    return log


def _size(line: str) -> int | None:
    """Length of a probe's IP packet, according to the first line of ping."""
    match = SIZE.match(line)
    if match is None:
        return None
    whole = match["whole"]
    return int(whole) if whole else int(match["data"]) + HEADERS[line.count(":") > 1]


def _probes(
    seen: list[tuple[float | None, int | None, int | None]],
    sent: int | None,
    total_ms: int | None,
    asked: Asked,
    log: Log,
) -> list[Probe]:
    # Windows prints no sequence numbers; the order of the lines replaces them.
    numbers = _unwrapped([n for _, n, _ in seen]) if all(n is not None for _, n, _ in seen) else list(range(len(seen)))
    answers: dict[int, tuple[float | None, int | None]] = {}
    for n, (stamp, _, rtt) in zip(numbers, seen, strict=True):
        if answers.get(n, (None, None))[1] is None:
            answers[n] = (stamp, rtt)
    first, last = min(answers), max(answers)
    if sent is not None and 0 < sent <= 10 * len(answers) + 1000:
        last = max(last, first + sent - 1)
    if last - first > MOST_MISSING + 1000 * len(answers):
        raise LogError(f"its numbers go from {first} to {last}, with {len(answers)} answers: a line of it is damaged")
    interval = asked.interval_ns
    timed = sum(s is not None and rtt is not None for s, rtt in answers.values()) > 1
    if interval is None and not timed and total_ms and sent and sent > 1:
        interval = round(total_ms * 1e6 / (sent - 1))
        log.remarks.append(f"time between pings from the summary: {interval / 1e6:.1f} ms")
    stamped = {n: round(s * 1e9) - (rtt or 0) for n, (s, rtt) in answers.items() if s is not None and rtt is not None}
    if len(stamped) > 1:
        if asked.interval_ns is not None:
            raise LogError("--interval is for logs without times, and this log of ping has its own: leave it out")
        a, b = min(stamped), max(stamped)
        interval = (stamped[b] - stamped[a]) // max(1, b - a)
    elif interval is None:
        raise LogError(
            "it has no times (ping -D prints them) and no summary: say how far apart the pings were, --interval 1s"
        )
    log.has_clock = bool(stamped)
    origin_n, origin = (min(stamped), stamped[min(stamped)]) if stamped else (first, 0)
    return [
        Probe(stamped.get(n, origin + (n - origin_n) * interval), n, answers.get(n, (None, None))[1])
        for n in range(first, last + 1)
    ]


def _unwrapped(numbers: list[int | None]) -> list[int]:
    """Unwraps 16-bit sequence numbers."""
    found: list[int] = []
    for n in numbers:
        value = int(n or 0)
        before = found[-1] if found else value
        found.append(
            before + (value - before + 0x8000) % 0x10000 - 0x8000
            if before - value > 0x8000
            else value + (before - before % 0x10000 if before > 0xFFFF else 0)
        )
    return found


def _float(text: str | None) -> float | None:
    return None if text is None else float(text)


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)


def is_irtt(data: Any) -> bool:
    """Whether this is the JSON output of `irtt client -o`."""
    return isinstance(at(data, "round_trips"), list) and at(data, "config") is not None


def read_irtt(data: Any, asked: Asked) -> Log:
    """Reads one probe per round trip, with one-way delays measured by the clocks of both ends."""
    log = Log("irtt")
    target = str(at(data, "config", "remote_address") or at(data, "config", "remoteAddress") or "server")
    flow = Flow("irtt", "here", target, "ping")
    length = number(at(data, "config", "length"))
    if length is not None and 0 < length < 1 << 16:
        flow.probe_bytes = int(length) + HEADERS[target.count(":") > 1]
    for i, trip in enumerate(data["round_trips"]):
        sent = number(at(trip, "timestamps", "client", "send", "wall"))
        if sent is None:
            log.strange.append(f"round_trips[{i}]: no timestamps.client.send.wall")
            continue
        lost = at(trip, "lost") not in ("false", False)
        rtt, out, back = (number(at(trip, "delay", k)) for k in ("rtt", "send", "receive"))
        seq = number(at(trip, "seqno"))
        flow.probes.append(
            Probe(
                int(sent),
                i if seq is None else int(seq),
                None if lost or rtt is None else int(rtt),
                _whole(out),
                _whole(back),
            )
        )
    if not flow.probes:
        raise LogError("none of its round trips has a time")
    log.remarks.append(
        "one-way delays are the differences of two clocks, as irtt measured them: their offset is in them"
    )
    log.flows = [flow]
    return log


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def is_mtr(data: Any) -> bool:
    """Whether this is the JSON output of `mtr --json`."""
    return isinstance(at(data, "report", "hubs"), list)


def read_mtr(data: Any, asked: Asked) -> Log:
    """Reads one flow per hop, with totals only: mtr writes no samples."""
    log = Log("mtr", has_clock=False)
    source = str(at(data, "report", "mtr", "src") or "here")
    for i, hub in enumerate(data["report"]["hubs"]):
        sent, mean, loss = (number(at(hub, k)) for k in ("Snt", "Avg", "Loss%"))
        best = number(at(hub, "Best"))
        if sent is None or mean is None or loss is None or best is None:
            log.strange.append(f"report.hubs[{i}]: one of Snt, Avg, Best, Loss% is missing")
            continue
        answered = round(sent * (1 - loss / 100))
        name = f"{i + 1} {at(hub, 'host') or '?'}"
        flow = Flow(name, source, str(at(hub, "host") or "?"), "ping")
        flow.totals = {
            "data_sent": int(sent),
            "sent_packets": int(sent),
            "delivered_packets": answered,
            "rtt_samples": answered,
            "rtt_sum_ns": round(mean * 1e6) * answered,
        }
        log.flows.append(flow)
    if not log.flows:
        raise LogError("no hop of it has numbers")
    log.remarks.append(
        "mtr keeps means, no samples: there are no percentiles and no time series; routers answer pings at leisure"
    )
    return log


def first_json(text: str) -> Any:
    """Parses a text, or its first line, as JSON; None if neither is JSON."""
    for part in (text, text.partition("\n")[0]):
        try:
            return json.loads(part)
        except (ValueError, RecursionError):
            continue
    return None


def time_of(value: Any, asked: Asked, where: str) -> int:
    """Converts a JSON time (text, or seconds since 1970) to ns since 1970."""
    seconds = number(value)
    if seconds is not None:
        return round(seconds * NS_PER_S)
    return instant_ns(str(value), asked, where)
