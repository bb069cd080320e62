# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Import of logs as records."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common import names
from perigee_lab.common.files import RecordError
from perigee_lab.measure.capture import refuse_name, refuse_warmup, stem_of
from perigee_lab.measure.logs.model import NS_PER_S, Asked, Flow, Log, LogError
from perigee_lab.measure.logs.reader import read_log
from perigee_lab.measure.store import UNKNOWN, About, add_tables, as_table, manifest_of, stored

if TYPE_CHECKING:
    from perigee_lab.results.manifest import Manifest
    from perigee_lab.results.writer import RecordWriter

# Longer times between samples than this multiple of the usual one are reported as gaps.
GAP = 5.0
MAX_TOLD_GAPS = 3
LEAST_NS = 1_000_000
NO_LINK = 0xFFFF_FFFF
"""An unknown link in the tables of a record."""


def import_log(
    file: Path, asked: Asked, out: Path | None = None, *, written_by: str | None = None, cc: str | None = None,
    warmup_ns: int = 0, force: bool = False,
) -> Path:  # fmt: skip
    """Imports a log as a record; returns its folder.

    Raises:
        RecordError: the format is unknown, the log needs an option, or the record exists.
        OSError: a file cannot be read or written.
    """
    refuse_name(file)
    try:
        log = read_log(file, asked, written_by)
        _refuse_names(log)
    except LogError as error:
        raise RecordError(f"{file}: {error}") from None
    refuse_warmup(file, warmup_ns, _span(log)[1] - _span(log)[0])
    schemes = {f.cc for f in log.flows}
    scheme = cc or (schemes.pop() if len(schemes) == 1 else UNKNOWN)

    def make(writer: RecordWriter) -> Manifest:
        start_ns, end_ns = _span(log)
        tables = add_tables(writer, _tables(log, start_ns, end_ns, cc))
        about = About(
            backend="log",
            name=stem_of(file),
            title=f"{log.format}: {file.name}",
            cc=scheme,
            began_ns=start_ns if log.has_clock else 0,
            duration_ns=end_ns - start_ns,
            sample_ns=max(1, _usual(log)),
            warmup_ns=warmup_ns,
            flows=[_listed(f, cc, end_ns - start_ns) for f in log.flows],
            nodes=list(dict.fromkeys(end for f in log.flows for end in (f.origin, f.target))),
            remarks=remarks(log),
            files=[file],
            more={"log": {"format": log.format, "not_understood": len(log.strange), "probe_bytes": _sizes(log)}},
        )
        return manifest_of(about, tables)

    return stored(out, stem_of(file), scheme, make, force=force)


def _refuse_names(log: Log) -> None:
    """Raises LogError for invalid names, since they appear in tables, pages and paths."""
    for number, flow in enumerate(log.flows, 1):
        for what, name in (("name", flow.name), ("sender", flow.origin), ("receiver", flow.target), ("cc", flow.cc)):
            why = names.problem(name)
            if why is not None:
                raise LogError(f"flow {number}: its {what} {names.visible(name)!r} {why}")


def _sizes(log: Log) -> list[int | None]:
    return [f.probe_bytes for f in log.flows]


def _span(log: Log) -> tuple[int, int]:
    """First and last time; a log without samples (mtr) has a nominal length."""
    first = [p.sent_ns for f in log.flows for p in f.probes] + [r["t_ns"] for f in log.flows for r in f.rows]
    first += [f.totals["started_ns"] for f in log.flows if "started_ns" in f.totals]
    last = [p.sent_ns + (p.rtt_ns or 0) for f in log.flows for p in f.probes]
    last += [r["t_ns"] for f in log.flows for r in f.rows]
    start = min(first, default=0)
    return start, max(max(last, default=0), start + LEAST_NS)


def _times(flow: Flow) -> list[int]:
    return [p.sent_ns for p in flow.probes] or [r["t_ns"] for r in flow.rows]


def _usual(log: Log) -> int:
    """The usual time between samples: the median."""
    steps = sorted(b - a for f in log.flows for a, b in _steps(f) if b > a)
    return steps[len(steps) // 2] if steps else NS_PER_S


def _steps(flow: Flow) -> list[tuple[int, int]]:
    times = _times(flow)
    return list(itertools.pairwise(times))


def _listed(flow: Flow, cc: str | None, stop_ns: int) -> dict[str, Any]:
    return {
        "name": flow.name, "from": flow.origin, "to": flow.target,
        "cc": flow.cc if flow.probes or cc is None else cc, "start_ns": 0, "stop_ns": stop_ns,
    }  # fmt: skip


def _tables(log: Log, start_ns: int, end_ns: int, cc: str | None) -> dict[str, Any]:
    series: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    rtts: list[dict[str, Any]] = []
    totals, windows = [], []
    for i, flow in enumerate(log.flows):
        mine = _rows(flow, i, start_ns)
        series += mine
        events += [
            {"t_ns": p.sent_ns - start_ns, "kind": "probe-lost", "flow": i, "value": float(p.number)}
            for p in flow.probes
            if p.rtt_ns is None
        ]
        counted = Counter(round(r["rtt_ns"] / 1000) for r in mine if r.get("rtt_ns") is not None)
        rtts += [{"flow": i, "rtt_us": us, "count": n} for us, n in sorted(counted.items())]
        totals.append(_totals(flow, i, mine, start_ns, end_ns, cc))
        kind = "ping" if flow.cc == "ping" else "bulk"
        windows.append(
            {"flow": i, "class": kind, "payload_bytes": totals[-1]["window_bytes"], "there_ns": end_ns - start_ns}
        )
    series.sort(key=lambda row: (row["t_ns"], row["flow"]))
    events.sort(key=lambda row: row["t_ns"])
    tables = {"flows": series, "events": events, "rtt": rtts, "flow_totals": totals, "windows": windows}
    return {name: as_table(name, rows) for name, rows in tables.items()}


def _rows(flow: Flow, number: int, start_ns: int) -> list[dict[str, Any]]:
    """Samples of a flow; those of probes are at the arrival times of the answers."""
    rows = [{**r, "t_ns": r["t_ns"] - start_ns, "flow": number} for r in flow.rows]
    for p in flow.probes:
        if p.rtt_ns is None:
            continue
        row: dict[str, Any] = {"t_ns": p.sent_ns + p.rtt_ns - start_ns, "flow": number, "rtt_ns": p.rtt_ns}
        ways = {"log.out_ms": p.out_ns, "log.back_ms": p.back_ns}
        rows.append(row | {key: ns / 1e6 for key, ns in ways.items() if ns is not None})
    return rows


def _totals(
    flow: Flow, number: int, rows: list[dict[str, Any]], start_ns: int, end_ns: int, cc: str | None
) -> dict[str, Any]:
    rtts = [r["rtt_ns"] for r in rows if r.get("rtt_ns") is not None]
    delivered = max((r["delivered_bytes"] for r in rows if r.get("delivered_bytes") is not None), default=0)
    known: dict[str, Any] = {
        "flow": number, "name": flow.name, "from": flow.origin, "to": flow.target,
        "cc": flow.cc if flow.probes or cc is None else cc, "started_ns": 0, "stop_ns": end_ns - start_ns,
        "goodput_bytes": delivered, "window_bytes": delivered, "window_ns": end_ns - start_ns,
        "bottleneck": NO_LINK, "inflation_samples": 0, "inflation_sum": 0.0, "base_rtt_sum_ns": 0, "payload_share": 1.0,
        "data_sent": 0, "rtt_samples": len(rtts), "rtt_sum_ns": sum(rtts),
    }  # fmt: skip
    if flow.probes:
        answered = sum(p.rtt_ns is not None for p in flow.probes)
        known |= {"data_sent": len(flow.probes), "sent_packets": len(flow.probes), "delivered_packets": answered}
    elif rows:
        # Counters are those of the last sample, or unknown if the log has none.
        known |= {k: rows[-1][k] for k in ("retransmits", "sent_packets") if rows[-1].get(k) is not None}
        known["data_sent"] = rows[-1].get("sent_packets")
    own = {k: v for k, v in flow.totals.items() if k != "started_ns"}
    return known | own


def remarks(log: Log) -> list[str]:
    """Warnings about a log."""
    found = list(log.remarks)
    if not log.has_clock:
        found.append("the log does not say when it was made: time 0 is its first sample")
    for flow in log.flows:
        found += _of_probes(flow) + _of_clock(flow, _usual(log))
    return found + log.not_understood()


def _of_probes(flow: Flow) -> list[str]:
    found = []
    lost = [p.rtt_ns is None for p in flow.probes]
    if any(lost):
        bursts = "".join("x" if gone else " " for gone in lost).split()
        longest = max(map(len, bursts))
        share = 100 * sum(lost) / len(lost)
        runs = f"in {len(bursts)} runs, {longest} at most in a row"
        found.append(f"{flow.name}: {sum(lost)} of {len(lost)} probes lost ({share:.3g} %), {runs}")
    if flow.duplicates:
        found.append(f"{flow.name}: {flow.duplicates} answers came twice; the first of each counts")
    return found


def _of_clock(flow: Flow, usual_ns: int) -> list[str]:
    back = [(a, b) for a, b in _steps(flow) if b < a]
    gaps = [(a, b) for a, b in _steps(flow) if b - a > GAP * usual_ns]
    found = []
    if back:
        most = max(a - b for a, b in back) / 1e9
        found.append(
            f"{flow.name}: times go back {len(back)} times, by up to {most:.3g} s: the clock was set, or lines moved"
        )
    for a, b in sorted(gaps, key=lambda gap: gap[0] - gap[1])[:MAX_TOLD_GAPS]:
        since = (a - _times(flow)[0]) / 1e9
        found.append(f"{flow.name}: no sample for {(b - a) / 1e9:.4g} s from {since:.4g} s on")
    if len(gaps) > MAX_TOLD_GAPS:
        found.append(f"{flow.name}: {len(gaps) - MAX_TOLD_GAPS} more gaps")
    return found
