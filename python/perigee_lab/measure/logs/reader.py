# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reader of logs that detects their format by their contents."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from perigee_lab.common.reading import counted
from perigee_lab.measure.logs import pings, qlog, tables, transfers
from perigee_lab.measure.logs.model import MOST_LOG_VALUES, Asked, Log, LogError

HEAD_CHARS = 1 << 16
# JSON is read into memory completely; iperf3 writes about 300 bytes per stream and interval.
MAX_JSON_CHARS = 1 << 27
MOST_JSON_LINES = 1_000_000
MAX_LINE_CHARS = 1 << 16
MAX_CHARS = 1 << 30
"""Text of a log: 20 million lines of ping."""
MOST_UNPACKED = 1 << 28
MOST_RATIO = 200
"""Limits for what gzip unpacks to: bytes, and the ratio to the size of the file, above `FREE` bytes."""
FREE = 1 << 20
MOST_NS = 1 << 62
MOST_SPAN_NS = 100 * 366 * 86_400 * 10**9
GZIP = b"\x1f\x8b"
# The Windows shell writes redirected output as UTF-16.
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Lines = Callable[[Iterable[tuple[int, str]], Asked], Log]
BY_LINES: dict[str, tuple[Callable[[str], bool], Lines]] = {
    "ping": (pings.is_ping, pings.read_ping),
    "qlog": (qlog.is_qlog, qlog.read_qlog),
    "ss": (transfers.is_ss, transfers.read_ss),
    "table": (tables.is_table, tables.read_table),
}
BY_JSON = {
    "irtt": (pings.is_irtt, pings.read_irtt),
    "mtr": (pings.is_mtr, pings.read_mtr),
    "iperf3": (transfers.is_iperf3, transfers.read_iperf3),
}
FORMATS = (*BY_LINES, *BY_JSON, "speedtest")


def read_log(file: Path, asked: Asked, written_by: str | None = None) -> Log:
    """Reads a log file, which may be compressed with gzip.

    `written_by` is one of FORMATS; None = detected.

    Raises:
        LogError: the format is unknown, the log is damaged, or it needs an option.
        OSError: the file cannot be read.
    """
    if not file.is_file():
        raise LogError("there is no such file" if not file.exists() else "it is no plain file")
    try:
        log = _read(file, asked, written_by)
        _refuse_idle(log, asked)
        _refuse_impossible(log)
        return log
    except (OverflowError, RecursionError) as error:
        raise LogError(f"a number of it is out of range, or it is nested too deep ({error})") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise LogError(
            f"its compression is damaged ({error}); unpack what can be saved: gzip -dc FILE > PLAIN"
        ) from None


def _read(file: Path, asked: Asked, written_by: str | None) -> Log:
    with closing(_open(file)) as opened:
        head = opened.read(HEAD_CHARS)
        if not head.strip():
            raise LogError("it is empty")
        if "\0" in head:
            raise LogError("it is no text; captures are for perigee import capture")
        name = written_by
        if name is None:
            name = next((n for n, (known, _) in BY_LINES.items() if n != "table" and known(head)), None)
        if name in BY_JSON or name == "speedtest" or (name is None and head.lstrip()[:1] in "{["):
            return _json(_text(head, opened), asked, name)
        if name is None and tables.is_table(head):
            name = "table"
        if name is None:
            raise LogError(f"it is no log of {', '.join(FORMATS)} (table: CSV with names of columns in its first line)")
    with closing(_open(file)) as opened:
        # JSON may be a single line of any length.
        longest = MAX_JSON_CHARS if name == "qlog" else MAX_LINE_CHARS
        return BY_LINES[name][1](_lines(opened, longest), asked)


def _refuse_idle(log: Log, asked: Asked) -> None:
    """Raises LogError for options that have no effect on this log."""
    if log.format != "table" and (asked.columns or asked.units):
        given = "--column" if asked.columns else "--unit"
        raise LogError(f"{given} is for tables (CSV), and it is a log of {log.format}: leave it out")
    # The reader of pings decides whether the interval is needed: a single timestamp has none.
    if asked.interval_ns is not None and log.format != "ping" and (log.has_clock or log.format != "ss"):
        raise LogError(f"--interval is for logs without times, and this log of {log.format} has its own: leave it out")


def _refuse_impossible(log: Log) -> None:
    """Raises LogError for numbers that no table can hold: huge ones, and negative times and counts."""
    for number, flow in enumerate(log.flows, 1):
        for p in flow.probes:
            _check(number, "sent", p.sent_ns, -MOST_NS)
            _check(number, "RTT", p.rtt_ns, 0)
            for one_way in (p.out_ns, p.back_ns):
                _check(number, "one-way delay", one_way, -MOST_NS)
        for row in (*flow.rows, flow.totals):
            for key, value in row.items():
                # Columns of the format's own are fractions, and may be negative.
                _check(number, key, value, -MOST_NS if key == "t_ns" or "." in key else 0)
    times = [p.sent_ns for f in log.flows for p in f.probes] + [r["t_ns"] for f in log.flows for r in f.rows]
    if times and max(times) - min(times) > MOST_SPAN_NS:
        years = (max(times) - min(times)) / (366 * 86_400 * 1e9)
        raise LogError(f"its times span {years:,.0f} years: a line of it is damaged")


def _check(flow: int, what: str, value: object, least: int) -> None:
    if isinstance(value, (int, float)) and not least <= value < MOST_NS:
        shown = str(value) if len(str(value)) <= 30 else f"{str(value)[:30]} …"
        raise LogError(f"flow {flow}: {what} is {shown}, which is impossible: a line of it is damaged")


def _text(head: str, opened: IO[str]) -> str:
    """The rest of a text after its head, in memory of at most twice `MAX_JSON_CHARS`."""
    parts, size = [head], len(head)
    while part := opened.read(HEAD_CHARS):
        parts.append(part)
        # Python keeps a text with four bytes for each character if one of them is outside of ASCII.
        size += len(part) if part.isascii() else 4 * len(part)
        if size > MAX_JSON_CHARS:
            raise LogError(f"it is larger than {MAX_JSON_CHARS >> 20} MB: JSON is read completely; split it")
    return "".join(parts)


def _json(text: str, asked: Asked, name: str | None) -> Log:
    if sum(counted(text)) > MOST_LOG_VALUES:
        raise LogError(f"it has more than {MOST_LOG_VALUES:,} values: JSON is read completely; split it")
    data = pings.first_json(text)
    for known, (matches, read) in BY_JSON.items():
        if name in (None, known) and matches(data):
            return read(data, asked)
    results = [("it", data)] if transfers.is_speedtest(data) and "\n{" not in text.strip() else None
    if results is None and text.count("\n") > MOST_JSON_LINES:
        results = []
    if results is None:
        results = transfers.lines_of_json(enumerate(text.splitlines(), 1))
    if name == "speedtest" or any(transfers.is_speedtest(r) for _, r in results):
        return transfers.read_speedtest(results, asked)
    if data is None:
        raise LogError("its JSON is damaged or breaks off")
    raise LogError(f"its JSON is none of {', '.join([*BY_JSON, 'speedtest'])}" if name is None else f"it is no {name}")


def _open(file: Path) -> IO[str]:
    with file.open("rb") as raw:
        packed = raw.read(2) == GZIP
    with gzip.open(file, "rb") if packed else file.open("rb") as plain:
        encoding = "utf-16" if plain.read(2) in UTF16 else "utf-8-sig"
    if not packed:
        return file.open(encoding=encoding, errors="replace", newline=None)
    return io.TextIOWrapper(io.BufferedReader(_Unpacked(file)), encoding=encoding, errors="replace", newline=None)


class _Unpacked(io.RawIOBase):
    """What gzip unpacks, within the limits. Raises LogError beyond them."""

    def __init__(self, file: Path) -> None:
        size = file.stat().st_size
        self.most = min(MOST_UNPACKED, max(FREE, MOST_RATIO * size))
        self.file = gzip.GzipFile(file)
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self.file.readinto(buffer)
        self.count += count
        if self.count > self.most:
            raise LogError(
                f"it would unpack to more than {self.most / 1e6:,.0f} MB: unpack it with gzip -d, or split it"
            )
        return count

    def close(self) -> None:
        self.file.close()
        super().close()


def _lines(opened: IO[str], longest: int) -> Iterator[tuple[int, str]]:
    """Lines with their numbers.

    A line longer than `longest` is split, and then reported as not understood.
    """
    number = chars = 0
    while line := opened.readline(longest):
        number += 1
        chars += len(line)
        if chars > MAX_CHARS:
            raise LogError(f"it has more than {MAX_CHARS >> 20} MB of text: split it")
        yield number, line.rstrip("\n")
