# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Quantities for comparisons: `600 ms` equals `0.6s`. Parsed as in scenario files."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from perigee_lab import _core

TEXT, NUMBER = "text", "number"


@dataclass(frozen=True)
class Quantity:
    """A parsed text; two of them are ordered if `kind` and `unit` are equal."""

    kind: str
    """time, rate, size, number or text."""
    unit: str
    """Unit of `value`: ns, bit/s, B, packets or bdp; empty for numbers and text."""
    value: float | str


def quantity(text: str) -> Quantity:
    """The parsed text, or a text if it is no quantity. Times, rates and sizes are integers; percent is a number."""
    found = _core.quantity(text) if encodable(text) else None
    if found is not None:
        return Quantity(*found)
    number = _number(text)
    return Quantity(TEXT, "", text.strip()) if number is None else Quantity(NUMBER, "", float(number))


def _number(text: str) -> Decimal | None:
    """A number or a percentage: as decimals, 0.7 % is 0.007, and 0.7 / 100 is not."""
    body, percent, rest = text.strip().partition("%")
    try:
        found = Decimal(body.strip()).scaleb(-2) if percent and not rest else Decimal(text.strip())
        return found if math.isfinite(float(found)) else None
    except (ValueError, ArithmeticError):
        return None


def repeated(texts: Iterable[str]) -> str | None:
    """The first text with the value of an earlier one: `1%` after `0.01`; None without any."""
    seen: set[object] = set()
    for text in texts:
        found = quantity(text)
        # Exactly: floats cannot distinguish all seeds.
        value = _number(text) if found.kind == NUMBER else found
        if value in seen:
            return text
        seen.add(value)
    return None


def encodable(text: str) -> bool:
    """Whether a text is valid Unicode: command-line arguments may have bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
