# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Differing keys of two scenarios, for warnings in comparisons of their results."""

from __future__ import annotations

import json
from typing import Any

from perigee_lab.common.reading import parsed_toml

# Keys that may differ between the runs of one comparison.
FREE = {"title", "run.cc", "run.seed", "run.runs"}


def differing(a: str, b: str) -> list[tuple[str, str, str]]:
    """Keys of two resolved scenarios (TOML) with different values, and both values.

    A missing value is "-".

    Empty if one of them is not a scenario, as in records of measurements.
    """
    try:
        left, right = _flat(parsed_toml(a)), _flat(parsed_toml(b))
    except ValueError:
        return []
    if not left or not right:
        return []
    keys = [k for k in dict.fromkeys([*left, *right]) if k not in FREE]
    return [(k, left.get(k, "-"), right.get(k, "-")) for k in keys if left.get(k) != right.get(k)]


def _flat(value: Any, path: str = "") -> dict[str, str]:
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list) and any(isinstance(v, dict) for v in value):
        inner = ((str(i), v) for i, v in enumerate(value))  # type: ignore[assignment]
    else:
        return {path: value if isinstance(value, str) else json.dumps(value, default=str)}
    found: dict[str, str] = {}
    for key, one in inner:
        found.update(_flat(one, f"{path}.{key}" if path else str(key)))
    return found
