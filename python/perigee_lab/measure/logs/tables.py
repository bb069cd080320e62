# SPDX-License-Identifier: Apache-2.0 OR MIT
"""CSV with named columns: telemetry of dishes, ping logs of data sets, custom tables."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from perigee_lab.measure.logs.model import NS_PER_S, UNITS, Asked, Flow, Log, LogError, Probe, instant_ns

ROLES = {
    "time": "time",
    "rtt": "time",
    "out": "time",
    "back": "time",
    "loss": "share",
    "goodput": "rate",
    "upload": "rate",
    "bytes": "bytes",
    "number": "",
}
"""Roles of columns, and the dimension of their unit."""
NAMES = {
    "time": r"(?:date_?)?time(?:stamp)?(?:_utc)?|t|ts|epoch|utc|datetimestamp(?:_utc)?|date",
    "rtt": r"rtt|ping|latency|pop_ping_latency|ping_latency|round_trip(?:_time)?",
    "out": r"owd|one_way_delay|owd_up|uplink_delay",
    "back": r"owd_down|downlink_delay",
    "loss": r"loss|lost|packet_loss|pop_ping_drop_rate|drop_rate",
    "goodput": r"goodput|throughput|rate|download|downlink_throughput|downlink|bandwidth|bitrate",
    "upload": r"upload|uplink_throughput|uplink",
    "bytes": r"bytes|transferred",
    "number": r"seq(?:_?no)?|icmp_seq|number|counter",
}
SUFFIXES = {
    "ns": "ns", "us": "us", "ms": "ms", "s": "s", "sec": "s", "seconds": "s", "bps": "bps", "kbps": "kbps",
    "mbps": "mbps", "gbps": "gbps", "share": "share", "fraction": "share",
    "percent": "percent", "pct": "percent", "bytes": "bytes",
}  # fmt: skip
EMPTY = {"", "nan", "null", "none", "na", "n/a", "-"}


@dataclass(frozen=True)
class Column:
    """A column of the table: position, role and unit; times without a unit are dates."""

    index: int
    name: str
    role: str | None
    unit: str | None


def is_table(head: str) -> bool:
    """Whether a text starts with a line of names, followed by a line with as many cells."""
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith("#")][:2]
    if len(lines) < 2:
        return False
    names, first = (next(csv.reader([line], delimiter=_delimiter(lines[0]))) for line in lines)
    return len(names) == len(first) > 1 and all(re.search(r"[A-Za-z_]", n) for n in names)


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def read_table(lines: Iterable[tuple[int, str]], asked: Asked) -> Log:
    """Reads rows as samples: RTTs and losses of probes, or rates of transfers.

    Other numeric columns become columns `log.NAME`.
    """
    log = Log("table")
    columns: list[Column] = []
    delimiter, flow, rates, t_before = (
        ",",
        Flow("probes", "here", "there", "ping"),
        Flow("rates", "there", "here", "unknown"),
        None,
    )
    for where, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if not columns:
            delimiter = _delimiter(line)
            columns = columns_of(next(csv.reader([line], delimiter=delimiter)), asked)
            _tell(columns, log)
            continue
        cells = next(csv.reader([line], delimiter=delimiter), [])
        if len(cells) != len(columns):
            log.strange.append(f"line {where}: {len(cells)} cells, {len(columns)} are named")
            continue
        row = _row(cells, columns, asked, where, log)
        if row is None:
            continue
        t_ns = row.pop("time")
        if t_before is not None and t_ns < t_before:
            log.strange.append(f"line {where}: its time is before that of the line before")
        t_before = t_ns
        _add(row, t_ns, flow, rates)
    if not columns:
        raise LogError("it has no line with names of columns")
    log.flows = [f for f in (flow, rates) if f.probes or f.rows]
    if not log.flows:
        raise LogError("no row of it could be read" + (f": {log.strange.first[0]}" if log.strange else ""))
    first = log.flows[0]
    log.has_clock = (first.probes[0].sent_ns if first.probes else first.rows[0]["t_ns"]) > 10**17
    return log


def _add(row: dict[str, Any], t_ns: int, flow: Flow, rates: Flow) -> None:
    loss = row.pop("loss", None)
    if "rtt" in row or loss is not None:
        rtt = row.pop("rtt", None)
        number = row.pop("number", None)
        lost = (loss is not None and loss >= 1) or rtt is None
        whole = len(flow.probes) if number is None else int(number)
        flow.probes.append(Probe(t_ns, whole, None if lost else rtt, row.pop("out", None), row.pop("back", None)))
    if "goodput" in row or "upload" in row or "bytes" in row:
        before = rates.rows[-1] if rates.rows else None
        goodput = row.pop("goodput", None)
        delivered = row.pop("bytes", None)
        if delivered is None:
            since = 0 if before is None else t_ns - before["t_ns"]
            delivered = (0 if before is None else before["delivered_bytes"]) + round(
                (goodput or 0) * since / 8 / NS_PER_S
            )
        elif goodput is None and before is not None and t_ns > before["t_ns"]:
            goodput = max(0.0, (delivered - before["delivered_bytes"]) * 8 * NS_PER_S / (t_ns - before["t_ns"]))
        upload = row.pop("upload", None)
        further = {k: v for k, v in row.items() if k.startswith("log.")}
        rates.rows.append(
            {
                "t_ns": t_ns,
                "goodput_bps": goodput or 0.0,
                "delivered_bytes": int(delivered),
                "log.upload_bps": upload,
                **further,
            }
        )
    elif further := {k: v for k, v in row.items() if k.startswith("log.")}:
        flow.rows.append({"t_ns": t_ns, **further})


def columns_of(names: list[str], asked: Asked) -> list[Column]:
    """Roles of columns, given by the user or inferred from their names. Raises LogError."""
    for given in (*asked.columns, *asked.units):
        if given not in names:
            raise LogError(f"there is no column {given!r}; there are {', '.join(names)}")
    columns = [_column(i, n.strip(), asked) for i, n in enumerate(names)]
    for role in ROLES:
        several = [c.name for c in columns if c.role == role]
        if len(several) > 1:
            raise LogError(
                f"columns {', '.join(several)} could all be {role}: say which, --column NAME={role}, "
                "and --column NAME=other of the others"
            )
    if not any(c.role == "time" for c in columns):
        raise LogError(f"no column is a time; say which, --column NAME=time; there are {', '.join(names)}")
    if not any(c.role not in (None, "time", "number") for c in columns):
        known = ", ".join(ROLES)
        raise LogError(
            f"no column is known; say what they are, --column NAME=WHAT, WHAT of {known}; there are {', '.join(names)}"
        )
    return columns


def _column(index: int, name: str, asked: Asked) -> Column:
    said = asked.columns.get(name)
    if said is not None and said not in ROLES and said != "other":
        raise LogError(f"--column {name}={said}: it may be {', '.join(ROLES)} or other")
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    stem, _, last = plain.rpartition("_")
    unit = SUFFIXES.get(last) if stem else None
    base = stem if unit is not None else plain
    role = said
    if role is None:
        role = next((r for r, pattern in NAMES.items() if re.fullmatch(pattern, base)), None)
    if role == "other":
        role = None
    if name in asked.units:
        unit = asked.units[name]
    if role is None:
        return Column(index, plain, None, unit)
    kind = ROLES[role]
    if unit is not None and kind and unit not in UNITS[kind]:
        raise LogError(f"column {name}: {role} has no unit {unit!r}; it may be {', '.join(UNITS[kind])}")
    # These two names imply a fraction of 1; all other columns need a unit.
    if unit is None and plain in ("pop_ping_drop_rate", "lost"):
        unit = "share"
    if unit is None and kind and role not in ("time", "bytes"):
        raise LogError(f"column {name} has no unit: say which, --unit {name}={'|'.join(UNITS[kind])}")
    return Column(index, name, role, unit if kind else None)


def _tell(columns: list[Column], log: Log) -> None:
    roles = {c.role for c in columns}
    if "goodput" in roles and "bytes" not in roles:
        log.remarks.append(
            "bytes are each rate times the time since the sample before: in gaps the rate counts as held"
        )
    told = [f"{c.name} is {c.role}" + (f" in {c.unit}" if c.unit else "") for c in columns if c.role]
    log.remarks.append("columns: " + ", ".join(told))


def _row(cells: list[str], columns: list[Column], asked: Asked, where: int, log: Log) -> dict[str, Any] | None:
    row: dict[str, Any] = {}
    for c in columns:
        cell = cells[c.index].strip()
        if c.role == "time":
            row["time"] = _time(cell, c, asked, where, log)
            continue
        if cell.lower() in EMPTY:
            continue
        try:
            value = float(cell)
        except ValueError:
            if c.role is not None:
                log.strange.append(f"line {where}, {c.name}: {cell[:40]!r} is no number")
            elif cell.lower() in ("true", "false"):
                row[f"log.{c.name}"] = float(cell.lower() == "true")
            continue
        if not abs(value) < 1e30:
            log.strange.append(f"line {where}, {c.name}: {cell[:40]!r} is no number of this world")
        elif c.role is None:
            row[f"log.{c.name}"] = value
        else:
            _put(row, c, value, where, log)
    return row if row.get("time") is not None else None


def _put(row: dict[str, Any], c: Column, value: float, where: int, log: Log) -> None:
    role = str(c.role)
    factor = UNITS[ROLES[role]][c.unit] if c.unit else 1
    scaled = value * factor
    if role in ("rtt", "bytes", "goodput", "upload", "loss") and scaled < 0:
        log.strange.append(f"line {where}, {c.name}: {value:g} is below 0")
    else:
        row[role] = round(scaled) if ROLES[role] in ("time", "bytes") else scaled


def _time(cell: str, c: Column, asked: Asked, where: int, log: Log) -> int | None:
    try:
        value = float(cell)
    except ValueError:
        utc = c.name.lower().endswith("utc") and asked.zone is None
        try:
            return instant_ns(
                cell + ("+00:00" if utc and not re.search(r"(Z|[+-]\d\d:?\d\d)$", cell) else ""),
                asked,
                f"line {where}, {c.name}",
            )
        except LogError as error:
            if "time zone" in str(error):
                raise
            log.strange.append(str(error))
            return None
    if c.unit is None:
        raise LogError(
            f"column {c.name} counts something since some time: say what, --unit {c.name}={'|'.join(UNITS['time'])}"
        )
    if not abs(value) < 1e22:
        log.strange.append(f"line {where}, {c.name}: {cell[:40]!r} is no time")
        return None
    return round(value * float(UNITS["time"][c.unit]))
