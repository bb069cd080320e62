# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Quantities as people write them, for comparing: `600 ms` is `0.6s`. They are read as scenario files are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from perigee_lab import _core

TEXT, NUMBER = "text", "number"


@dataclass(frozen=True)
class Quantity:
    """What a text says; two of them are ordered where `kind` and `unit` are equal."""

    kind: str
    """time, rate, size, number or text."""
    unit: str
    """Of `value`: ns, bit/s, B, packets or bdp; empty for numbers and text."""
    value: float | str


def quantity(text: str) -> Quantity:
    """What a text says; text where it is no quantity. Times, rates and bytes are whole, as a scenario's are."""
    found = _core.quantity(text) if encodable(text) else None
    if found is not None:
        return Quantity(*found)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return Quantity(NUMBER, "", number) if math.isfinite(number) else Quantity(TEXT, "", text.strip())


def encodable(text: str) -> bool:
    """Whether a text is Unicode throughout: arguments of a command line may have bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
