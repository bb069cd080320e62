# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Campaign files: the measurements of a cycle, the number of cycles and their timetable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from perigee_lab.common.reading import parsed_toml, read_text
from perigee_lab.measure.net.protocol import PORT, PROBE_BYTES, MeasureError
from perigee_lab.measure.quantities import amount_bytes, time_ns

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MAX_CYCLES = 1_000_000
MAX_STREAMS = 64
LEAST_SAMPLE_NS, MOST_SAMPLE_NS = 10_000_000, 10 * 10**9


@dataclass(frozen=True)
class Step:
    """One measurement of a cycle; times in ns."""

    do: str
    """download, upload, pings, trains or pause."""
    name: str = ""
    cc: str | None = None
    """Congestion control of the sender's kernel; None = its default."""
    bytes: int | None = None
    duration: int | None = None
    streams: int = 1
    sample: int = 100_000_000
    interval: int = 20_000_000
    burst: int = 1
    size: int = 64
    buffer: int | None = None
    server: str | None = None
    """Overrides the campaign's server."""
    beside: bool = False
    """Runs at the same time as the previous step."""
    first: bool = False
    """Runs in the first cycle only."""

    @property
    def title(self) -> str:
        """Name of the step in the table of flows."""
        return self.name or (f"{self.do} {self.cc}" if self.cc else self.do)


@dataclass(frozen=True)
class Campaign:
    """A campaign; times in ns."""

    name: str
    steps: tuple[Step, ...]
    server: str | None = None
    title: str = ""
    cycles: int = 1
    every: int | None = None
    """Time between the starts of two cycles; None = back to back."""
    patience: int = 3600 * 10**9
    """Time for which an unreachable server is retried before the step is abandoned."""
    hours: tuple[int, int] | None = None
    """Cycles start only between these minutes of the day (local time)."""
    days: tuple[str, ...] = ()
    """Cycles start only on these days; empty = all."""
    text: str = ""
    """Contents of the file."""

    def groups(self) -> list[list[Step]]:
        """Groups of steps that run at the same time, in the order of the file."""
        found: list[list[Step]] = []
        for step in self.steps:
            if step.beside and found:
                found[-1].append(step)
            else:
                found.append([step])
        return found

    def opens(self, now: datetime) -> datetime:
        """The next time at which a cycle may start."""
        at = now
        for _ in range(16):
            if not self.days or DAYS[at.weekday()] in self.days:
                if self.hours is None:
                    return at
                low, high = self.hours
                minute = at.hour * 60 + at.minute
                if low <= minute < high:
                    return at
                if minute < low:
                    return at.replace(hour=low // 60, minute=low % 60, second=0, microsecond=0)
            at = (at + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return now


Reader = Callable[[Any, str], Any]


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise MeasureError(f"{where} = {value!r}: a text is wanted")
    return value


def _time(value: Any, where: str) -> int:
    return time_ns(_text(value, where), f"{where} =")


def _bytes(value: Any, where: str) -> int:
    return amount_bytes(_text(value, where), f"{where} =")


def _yes(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise MeasureError(f"{where} = {value!r}: true or false is wanted")
    return value


def _whole(least: int, most: int) -> Reader:
    def read(value: Any, where: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise MeasureError(f"{where} = {value!r}: a whole number from {least} to {most} is wanted")
        return value

    return read


def _sample(value: Any, where: str) -> int:
    found = _time(value, where)
    if not LEAST_SAMPLE_NS <= found <= MOST_SAMPLE_NS:
        raise MeasureError(f"{where} = {value!r}: from 10 ms to 10 s")
    return found


def _one_of(*known: str) -> Reader:
    def read(value: Any, where: str) -> str:
        if value not in known:
            raise MeasureError(f"{where} = {value!r}: it may be {', '.join(known)}")
        return str(value)

    return read


def _hours(value: Any, where: str) -> tuple[int, int]:
    try:
        low, high = (datetime.strptime(t.strip(), "%H:%M") for t in _text(value, where).split("-"))
    except ValueError:
        raise MeasureError(f'{where} = {value!r}: hours such as "08:00-20:00" are wanted') from None
    if low >= high:
        raise MeasureError(f"{where} = {value!r}: the first hour must be before the second")
    return low.hour * 60 + low.minute, high.hour * 60 + high.minute


def _days(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or any(d not in DAYS for d in value):
        raise MeasureError(f"{where} = {value!r}: a list of {', '.join(DAYS)} is wanted")
    return tuple(value)


STEP: dict[str, Reader] = {
    "do": _one_of("download", "upload", "pings", "trains", "pause"), "name": _text, "cc": _text, "bytes": _bytes,
    "duration": _time, "streams": _whole(1, MAX_STREAMS), "sample": _sample, "interval": _time,
    "burst": _whole(1, 100), "size": _whole(PROBE_BYTES, 1400), "buffer": _bytes, "server": _text, "beside": _yes,
    "first": _yes,
}  # fmt: skip
TRANSFER = {"cc", "bytes", "duration", "streams", "sample", "buffer", "server", "name", "beside", "first", "do"}
ONLY = {
    "download": TRANSFER, "upload": TRANSFER, "pause": {"do", "duration", "first", "name"},
    "pings": {"do", "name", "duration", "interval", "burst", "size", "server", "beside", "first"},
    "trains": {"do", "name", "duration", "interval", "burst", "size", "server", "first"},
}  # fmt: skip
TRAINS = {"interval": 10**9, "burst": 20, "size": 1400}
"""Defaults of trains: 28 kB a second."""
CAMPAIGN: dict[str, Reader] = {
    "title": _text, "server": _text, "cycles": _whole(1, MAX_CYCLES), "every": _time, "patience": _time,
    "hours": _hours, "days": _days,
}  # fmt: skip


def read_campaign(file: Path) -> Campaign:
    """Reads a campaign file.

    Raises MeasureError, which names file, key, value and remedy.
    """
    try:
        text = read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise MeasureError(f"{file}: {error}") from None
    try:
        return parsed(text, file.stem)
    except MeasureError as error:
        raise MeasureError(f"{file}: {error}") from None


def parsed(text: str, name: str) -> Campaign:
    """Parses the text of a campaign file. Raises MeasureError."""
    try:
        data = parsed_toml(text)
    except ValueError as error:
        raise MeasureError(str(error)) from None
    for key in data:
        if key not in ("campaign", "step"):
            raise MeasureError(f"[{key}]: there are [campaign] and [[step]]")
    head, rows = data.get("campaign", {}), data.get("step", [])
    if not isinstance(head, dict) or not isinstance(rows, list) or not rows:
        raise MeasureError("a campaign has a section [campaign] and one [[step]] at least")
    found = Campaign(name, tuple(_step(row, i, text) for i, row in enumerate(rows, start=1)), text=text)
    if found.steps[0].beside:
        raise MeasureError("the first [[step]] has nothing to be beside of")
    return replace(found, **_read(head, CAMPAIGN, "[campaign]", text, 0))


def _step(row: Any, number: int, text: str) -> Step:
    where = f"[[step]] {number}"
    if not isinstance(row, dict) or "do" not in row:
        raise MeasureError(
            f'{where} does not say what it does: do = "download", "upload", "pings", "trains" or "pause"'
        )
    values = _read(row, STEP, where, text, number)
    step = Step(**((TRAINS if values["do"] == "trains" else {}) | values))
    for key in row:
        if key not in ONLY[step.do]:
            raise MeasureError(f"{where}{_line(text, number, key)}: {key} has no effect on {step.do}; take it out")
    timed = step.do in ("pings", "trains", "pause")
    if step.do == "trains" and step.burst < 2:
        raise MeasureError(
            f"{where}{_line(text, number, 'burst')}: burst = {step.burst}: a train has two packets or more"
        )
    if timed and step.duration is None and not (step.do == "pings" and step.beside):
        raise MeasureError(f"{where}: {step.do} need a duration (only pings beside something else end with it)")
    if not timed and step.bytes is None and step.duration is None:
        raise MeasureError(f"{where}: say how much (bytes) or how long (duration)")
    return step


def _read(row: Mapping[str, Any], known: Mapping[str, Reader], where: str, text: str, number: int) -> dict[str, Any]:
    found = {}
    for key, value in row.items():
        line = _line(text, number, key)
        if key not in known:
            raise MeasureError(f"{where}{line}: there is no key {key}; there are {', '.join(known)}")
        found[key] = known[key](value, f"{where}{line}: {key}")
    return found


def _line(text: str, number: int, key: str) -> str:
    """Position of a key, as ", line N", in the section of the n-th step or of the campaign (0)."""
    step = 0
    for n, line in enumerate(text.splitlines(), start=1):
        word = line.strip()
        step += word.startswith("[[step]]")
        if step == number and word.split("=")[0].strip() == key:
            return f", line {n}"
    return ""


def place(text: str) -> tuple[str, int]:
    """Parses HOST, HOST:PORT or [HOST]:PORT. Raises MeasureError."""
    host, port = text, ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    if not host or (port and not (port.isdecimal() and 0 < int(port) < 65536)):
        raise MeasureError(f"{text!r}: a server is HOST, HOST:PORT or [ADDRESS]:PORT")
    return host, int(port) if port else PORT
