# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Quantities as people write them, for comparing: `600 ms` is `0.6s`. Units are those of scenario files."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

TIMES_NS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
}  # fmt: skip
RATES_BPS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
TEXT, NUMBER = "text", "number"
_WRITTEN = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)\s*([^\W\d_]+(?:/s)?)?\s*")
_UNITS = {
    **{unit: ("time", "ns", factor) for unit, factor in TIMES_NS.items()},
    **{unit + end: ("rate", "bit/s", factor) for unit, factor in RATES_BPS.items() for end in ("", "/s", "ps")},
    **{unit: ("size", "B", factor) for unit, factor in BYTES.items()},
    **dict.fromkeys(("packets", "packet", "pkts"), ("size", "packets", 1)),
}


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
    found = _WRITTEN.fullmatch(text)
    amount = math.nan if found is None else float(found[1].replace("_", ""))
    if found is None or not math.isfinite(amount):
        return Quantity(TEXT, "", text.strip())
    if found[2] is None:
        return Quantity(NUMBER, "", amount)
    if found[2] in ("bdp", "BDP") and amount >= 0:
        return Quantity("size", "bdp", amount)
    if found[2] not in _UNITS or amount < 0 or not math.isfinite(amount * _UNITS[found[2]][2]):
        return Quantity(TEXT, "", text.strip())
    kind, unit, factor = _UNITS[found[2]]
    return Quantity(kind, unit, int(amount * factor + 0.5))
