# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Amounts, times and rates with units, in campaign files and options."""

from __future__ import annotations

import re

from perigee_lab.common.quantities import quantity
from perigee_lab.measure.net.protocol import MeasureError

BYTES = {"GB": 10**9, "MB": 10**6, "kB": 10**3, "B": 1}


def time_ns(text: str, where: str) -> int:
    """Parses a time such as "50 ms" or "7 days", in ns. Raises MeasureError."""
    return _more_than_zero(re.sub(r"days?\s*$", "d", text), text, where, "ns", "a time such as 50ms, 20s or 7days")


def amount_bytes(text: str, where: str) -> int:
    """Parses an amount such as "1 GB", in bytes. Raises MeasureError."""
    return _more_than_zero(text, text, where, "B", "an amount such as 10MB or 1GB")


def amount_text(amount: int) -> str:
    """Formats an amount: 1500000 is 1.5MB."""
    unit = next((u for u, factor in BYTES.items() if amount >= factor), "B")
    return f"{amount / BYTES[unit]:g}{unit}"


def rate_bps(text: str, where: str) -> int:
    """Parses a rate such as "100 Mbit", in bit/s. Raises MeasureError."""
    return _more_than_zero(text, text, where, "bit/s", "a rate such as 100Mbit")


def _more_than_zero(text: str, given: str, where: str, unit: str, wanted: str) -> int:
    found = quantity(text)
    if found.unit != unit:
        raise MeasureError(f"{where} {given!r}: {wanted} is wanted")
    value = int(found.value)
    if value <= 0:
        raise MeasureError(f"{where} {given!r}: more than 0 is wanted")
    return value
