# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a log says, whatever its format: flows with their samples, and what of it was not understood."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from perigee_lab.common.errors import PerigeeError

NS_PER_S = 10**9
MAX_TOLD = 5
"""Lines that were not understood are quoted up to this number."""
UNITS: dict[str, dict[str, float]] = {
    "time": {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
    "rate": {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9, "Bps": 8, "kBps": 8 * 10**3, "MBps": 8 * 10**6},
    "share": {"share": 1.0, "percent": 0.01},
    "bytes": {"bytes": 1, "kB": 10**3, "MB": 10**6},
}


class LogError(PerigeeError):
    """A log cannot be read, or needs to be told something; for a person, with the remedy."""


@dataclass(frozen=True)
class Asked:
    """What the user says of a log; nothing of it is guessed."""

    interval_ns: int | None = None
    """Between samples, where the log has no times."""
    zone: tzinfo | None = None
    """Of times without one."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of a table: name of its column → what it is (time, rtt, loss, goodput, …)."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Of a table: name of its column → unit."""


@dataclass
class Probe:
    """A ping; times in ns since 1970, or since the first where no clock is known."""

    sent_ns: int
    number: int
    rtt_ns: int | None
    """None = lost."""
    out_ns: int | None = None
    """One way there, as far as clocks agree."""
    back_ns: int | None = None


@dataclass
class Flow:
    """A flow of a log. Rows have columns of the table `flows` (`t_ns` since 1970) and others of their own."""

    name: str
    origin: str
    target: str
    cc: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    totals: dict[str, Any] = field(default_factory=dict)
    """Columns of flow_totals that the log itself sums up."""
    duplicates: int = 0
    probe_bytes: int | None = None
    """Length of a probe's IP packet, where the log says it."""


@dataclass
class Log:
    """What was read."""

    format: str
    flows: list[Flow] = field(default_factory=list)
    has_clock: bool = True
    """Times are since 1970; else since the first."""
    remarks: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """What was not understood, with its place."""

    def not_understood(self) -> list[str]:
        """Lines for a person."""
        told = [f"not understood: {s}" for s in self.strange[:MAX_TOLD]]
        more = len(self.strange) - MAX_TOLD
        return told + ([f"not understood: {more} more places"] if more > 0 else [])


def zone_of(text: str) -> tzinfo:
    """A time zone: its name (Europe/London), UTC, or an offset such as +01:00. Raises LogError."""
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
    """A date and time as ns since 1970. Raises LogError: no time, or one without a zone."""
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
    """A number that is one; None for whatever else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    found = float(value)
    return found if abs(found) < 1e30 else None  # NaN compares false


def at(data: Any, *path: str | int) -> Any:
    """What stands at a path of keys and indices of JSON; None where there is nothing."""
    for key in path:
        if isinstance(key, int):
            data = data[key] if isinstance(data, list) and -len(data) <= key < len(data) else None
        else:
            data = data.get(key) if isinstance(data, dict) else None
    return data
