# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What `perigee diff` prints: two saved timelines beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perigee import _core


def diff(a: Path, b: Path, *, step_s: float = 0.1, tolerance_s: float = 0.2) -> dict[str, Any]:
    """Compares two timelines every `step_s`; notes may be `tolerance_s` apart."""
    found: dict[str, Any] = json.loads(_core.diff_timelines(a, b, round(step_s * 1e9), round(tolerance_s * 1e9)))
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """The comparison in words."""
    d = found["diff"]
    if found["same"]:
        return ["no difference"]
    out = [f"{title or 'untitled'}: {length:g} s" for title, length in zip(d["titles"], d["durations_s"], strict=True)]
    for which, alone in zip("ab", d["pairs_alone"], strict=True):
        out += [f"only in {which}: {pair}" for pair in alone]
    for p in d["pairs"]:
        share = p["same_way"] / p["steps"] if p["steps"] else 1.0
        first = "" if p["first_difference_s"] is None else f", first other way at {p['first_difference_s']:g} s"
        out.append(
            f"{p['from']} to {p['to']}: same way in {share:.2%} of {p['steps']} instants{first}; "
            f"one way {p['mean_ms'][0]:.3f} and {p['mean_ms'][1]:.3f} ms, "
            f"apart by {p['mean_difference_ms']:.4f} on average, {p['largest_difference_ms']:.4f} at most"
        )
        if p["only_a"] or p["only_b"]:
            out.append(f"  a way only in a: {p['only_a']} instants, only in b: {p['only_b']}")
    for n in d["notes"]:
        out.append(
            f"{n['kind']}: {n['count'][0]} and {n['count'][1]}, without a partner {n['alone'][0]} and {n['alone'][1]}"
        )
    return out
