# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Log model, independent of the format: flows with samples, and unparsed lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from perigee_lab.common.errors import PerigeeError

NS_PER_S = 10**9
MOST_LOG_VALUES = 6_500_000
"""Maximum number of values of a log in JSON: 100 MB of a qlog, which take 0.7 GB of memory."""
MAX_TOLD = 5
"""Maximum number of unparsed lines that are quoted."""
UNITS: dict[str, dict[str, float]] = {
    "time": {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
    "rate": {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9, "Bps": 8, "kBps": 8 * 10**3, "MBps": 8 * 10**6},
    "share": {"share": 1.0, "percent": 0.01},
    "bytes": {"bytes": 1, "kB": 10**3, "MB": 10**6},
}


class LogError(PerigeeError):
    """A log cannot be read or needs an option; the message has the remedy."""


@dataclass(frozen=True)
class Asked:
    """Options of an import of a log, as given by the user."""

    interval_ns: int | None = None
    """Time between samples, for logs without times."""
    zone: tzinfo | None = None
    """Time zone of times without one."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Tables: column name → role (time, rtt, loss, goodput, …)."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Tables: column name → unit."""


class Strange:
    """Unparsed places of a log: their number, and the first ones, with their positions."""

    def __init__(self) -> None:
        """Starts empty."""
        self.first: list[str] = []
        self.count = 0

    def append(self, place: str) -> None:
        """Counts a place, and keeps it if it is one of the first."""
        self.count += 1
        if len(self.first) < MAX_TOLD:
            self.first.append(place)

    def __len__(self) -> int:
        """Number of places."""
        return self.count


@dataclass
class Probe:
    """A ping; times in ns since 1970, or since the first one if the clock is unknown."""

    sent_ns: int
    number: int
    rtt_ns: int | None
    """None = lost."""
    out_ns: int | None = None
    """One-way delay of the forward path, by the clocks of both ends."""
    back_ns: int | None = None


@dataclass
class Flow:
    """A flow of a log.

    Rows have columns of the table `flows` (`t_ns` since 1970) and columns specific to the format.
    """

    name: str
    origin: str
    target: str
    cc: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    totals: dict[str, Any] = field(default_factory=dict)
    """Columns of flow_totals that the log itself contains."""
    duplicates: int = 0
    probe_bytes: int | None = None
    """Length of a probe's IP packet, if the log has it."""
    first_ns: int | None = None
    """Time of the first event, if the log has others than those of rows."""
    states: list[tuple[int, str]] = field(default_factory=list)
    """States of the congestion control from a time on."""


@dataclass
class Log:
    """The contents of a log."""

    format: str
    flows: list[Flow] = field(default_factory=list)
    has_clock: bool = True
    """Whether times are since 1970; otherwise, they are since the first."""
    remarks: list[str] = field(default_factory=list)
    strange: Strange = field(default_factory=Strange)
    """Unparsed input with its position."""

    def not_understood(self) -> list[str]:
        """Human-readable lines about unparsed input."""
        told = [f"not understood: {s}" for s in self.strange.first]
        more = len(self.strange) - MAX_TOLD
        return told + ([f"not understood: {more} more places"] if more > 0 else [])


def zone_of(text: str) -> tzinfo:
    """Parses a time zone: name (Europe/London), UTC, or offset (+01:00). Raises LogError."""
    if match := re.fullmatch(r"([+-])(\d\d):?(\d\d)", text):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    if text in ("UTC", "Z"):
        return timezone.utc
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise LogError(
            f"--timezone {text!r}: give UTC, an offset such as +01:00, or a name such as Europe/London"
        ) from None


def instant_ns(text: str, asked: Asked, where: str) -> int:
    """Parses date and time as ns since 1970.

    Raises LogError without a valid time or a time zone.
    """
    # Python reads at most six digits of a second.
    short = re.sub(r"(\.\d{6})\d+", r"\1", text.strip().replace("Z", "+00:00"))
    try:
        found = datetime.fromisoformat(short)
    except ValueError:
        raise LogError(f"{where}: {text!r} is no date and time such as 2026-11-24T01:02:03Z") from None
    if found.tzinfo is None:
        if asked.zone is None:
            raise LogError(f"{where}: {text!r} has no time zone: say which, such as --timezone UTC")
        found = found.replace(tzinfo=asked.zone)
    since = found - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86_400 + since.seconds) * NS_PER_S + since.microseconds * 1000


def number(value: Any) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    found = float(value)
    return found if abs(found) < 1e30 else None  # NaN compares false


def at(data: Any, *path: str | int) -> Any:
    """The JSON value at a path of keys and indices; None if the path does not exist."""
    for key in path:
        if isinstance(key, int):
            data = data[key] if isinstance(data, list) and -len(data) <= key < len(data) else None
        else:
            data = data.get(key) if isinstance(data, dict) else None
    return data
