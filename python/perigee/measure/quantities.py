# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Amounts and times as people write them, in campaign files and options."""

from __future__ import annotations

import re

from perigee.common import quantities
from perigee.common.quantities import BYTES, RATES_BPS
from perigee.measure.net.protocol import MeasureError

TIMES_NS = {**quantities.TIMES_NS, "day": 86_400 * 10**9, "days": 86_400 * 10**9}


def time_ns(text: str, where: str) -> int:
    """A time such as "50 ms", in ns. Raises MeasureError."""
    return _quantity(text, where, TIMES_NS, "a time such as 50ms, 20s or 7days")


def amount_bytes(text: str, where: str) -> int:
    """An amount such as "1 GB", in bytes. Raises MeasureError."""
    return _quantity(text, where, BYTES, "an amount such as 10MB or 1GB")


def amount_text(amount: int) -> str:
    """The same the other way: 1500000 is 1.5MB."""
    unit = next((u for u in ("GB", "MB", "kB") if amount >= BYTES[u]), "B")
    return f"{amount / BYTES[unit]:g}{unit}"


def rate_bps(text: str, where: str) -> int:
    """A rate such as "100 Mbit", in bit/s. Raises MeasureError."""
    return _quantity(text.removesuffix("/s"), where, RATES_BPS, "a rate such as 100Mbit")


def _quantity(text: str, where: str, units: dict[str, int], wanted: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2] not in units:
        raise MeasureError(f"{where} {text!r}: {wanted} is wanted")
    found = round(float(match[1]) * units[match[2]])
    if found <= 0:
        raise MeasureError(f"{where} {text!r}: more than 0 is wanted")
    return found
