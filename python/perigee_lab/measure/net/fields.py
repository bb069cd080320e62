# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fields of a server's messages, each with its type and range: servers may be hostile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perigee_lab.measure.net.protocol import MeasureError

MOST = 1 << 61
"""Bound of times and counts: sums and differences of two of them still fit 64 bits."""
MOST_ROWS = 250_000
MOST_NAMES = 64
MOST_GAPS = 100_000
TEXT_CHARS = 64


def whole(message: Mapping[str, Any], key: str, least: int = 0, most: int = MOST) -> int:
    """A whole number. Raises MeasureError."""
    value = message.get(key)
    if type(value) is not int or not least <= value <= most:
        raise MeasureError(f"the server's answer has {key} = {shown(value)}, must be {least} to {most}")
    return value


def maybe(message: Mapping[str, Any], key: str, least: int = 0, most: int = MOST) -> int | None:
    """As `whole`, or None if there is no such number."""
    return None if message.get(key) is None else whole(message, key, least, most)


def text(message: Mapping[str, Any], key: str) -> str:
    """A short text that is not empty. Raises MeasureError."""
    value = message.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= TEXT_CHARS:
        raise MeasureError(f"the server's answer has {key} = {shown(value)}, must be a short text")
    return value


def column(message: Mapping[str, Any], key: str, least: int = 0) -> list[int]:
    """A list of whole numbers that do not decrease. Raises MeasureError."""
    values = message.get(key)
    if not isinstance(values, list) or len(values) > MOST_ROWS:
        raise MeasureError(f"the server's {key} is {shown(values)}, must be a list of at most {MOST_ROWS} numbers")
    before = least
    for value in values:
        if type(value) is not int or not before <= value < MOST:
            raise MeasureError(f"the server's {key} has {shown(value)} after {before}, must not decrease")
        before = value
    return values


def rows(message: Mapping[str, Any], key: str, width: int) -> list[list[int]]:
    """A list of rows of whole numbers. Raises MeasureError."""
    found = message.get(key)
    if not isinstance(found, list) or len(found) > MOST_ROWS:
        raise MeasureError(f"the server's {key} is {shown(found)}, must be a list of at most {MOST_ROWS} rows")
    for row in found:
        if not isinstance(row, list) or len(row) != width or any(type(v) is not int or abs(v) >= 1 << 64 for v in row):
            raise MeasureError(f"the server's {key} has the row {shown(row)}, must be {width} whole numbers")
    return found


def texts(message: Mapping[str, Any], key: str) -> list[str]:
    """A list of short texts. Raises MeasureError."""
    found = message.get(key)
    if not isinstance(found, list) or len(found) > MOST_NAMES or any(not isinstance(v, str) for v in found):
        raise MeasureError(f"the server's {key} is {shown(found)}, must be a list of names")
    return found


def gaps(message: Mapping[str, Any], key: str) -> list[tuple[int, int]]:
    """Ranges of numbers in order, as first and last. Raises MeasureError."""
    found = message.get(key)
    if not isinstance(found, list) or len(found) > MOST_GAPS:
        raise MeasureError(f"the server's {key} is {shown(found)}, must be a list of at most {MOST_GAPS} ranges")
    before, ranges = -1, []
    for pair in found:
        if not isinstance(pair, list) or len(pair) != 2 or any(type(v) is not int for v in pair):
            raise MeasureError(f"the server's {key} has {shown(pair)}, must be two numbers")
        if not before < pair[0] <= pair[1] < MOST:
            raise MeasureError(f"the server's {key} has {shown(pair)} after {before}, must be in order")
        before = pair[1]
        ranges.append((pair[0], pair[1]))
    return ranges


def shown(value: Any) -> str:
    """A value for a message, shortened."""
    found = repr(value[:3] if isinstance(value, (list, str)) else value)
    return found if len(found) <= TEXT_CHARS else found[:TEXT_CHARS] + " …"
