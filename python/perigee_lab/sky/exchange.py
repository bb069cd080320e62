# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Comparison of two saved timelines, for `perigee diff`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perigee_lab import _core

# Number of ports that are listed individually.
LISTED = 5


@dataclass(frozen=True)
class Names:
    """Mapping of node names that is applied before a comparison."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    """Old name → new name, in either timeline."""
    shell: tuple[int, int] | None = None
    """Numbers of planes and of slots: node n gets the name of satellite n in such a shell."""


def diff(
    a: Path, b: Path, *, step_s: float = 0.1, tolerance_s: float = 0.2, names: Names | None = None
) -> dict[str, Any]:
    """Compares two timelines every `step_s`; times of notes may differ by `tolerance_s`."""
    names = names or Names()
    text = _core.diff_timelines(a, b, round(step_s * 1e9), round(tolerance_s * 1e9), dict(names.renamed), names.shell)
    found: dict[str, Any] = json.loads(text)
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """The comparison as lines of text; no difference is too small to be shown."""
    d = found["diff"]
    if found["same"]:
        if d["identical"]:
            return ["no difference"]
        return ["no difference in what was compared (instants, ports, events within the tolerance); not identical"]
    out = [f"{title or 'untitled'}: {length:g} s" for title, length in zip(d["titles"], d["durations_s"], strict=True)]
    for which, alone in zip("ab", d["pairs_alone"], strict=True):
        out += [f"only in {which}: {pair}" for pair in alone]
    if not d["pairs"]:
        out.append("no pair of nodes is in both: --rename OLD=NEW brings names together")
    out += [line for p in d["pairs"] for line in _pair(p)]
    for n in d["notes"]:
        out.append(
            f"{n['kind']}: {n['count'][0]} and {n['count'][1]}, without a partner {n['alone'][0]} and {n['alone'][1]}"
        )
    out += d["ports"][:LISTED]
    if len(d["ports"]) > LISTED:
        out.append(f"… and {len(d['ports']) - LISTED} more ports that differ")
    return out


def _pair(p: dict[str, Any]) -> list[str]:
    share = p["same_way"] / p["steps"] if p["steps"] else 1.0
    first = "" if p["first_difference_s"] is None else f", first other way at {p['first_difference_s']:g} s"
    # A share below 100 % must not be printed as 100 % because of rounding.
    same = f"{share:.2%}" if share == 1 or round(share, 4) < 1 else f"all but {p['steps'] - p['same_way']}"
    delays = f"one way {p['mean_ms'][0]:.3f} and {p['mean_ms'][1]:.3f} ms, " if p["both"] else ""
    apart = (
        f"apart in {p['other_delay']} instants, by {length(p['mean_difference_ms'])} on average and "
        f"{length(p['largest_difference_ms'])} at most"
        if p["other_delay"]
        else "delays equal"
    )
    out = [f"{p['from']} to {p['to']}: same way in {same} of {p['steps']} instants{first}; {delays}{apart}"]
    if p["only_a"] or p["only_b"]:
        out.append(f"  a way only in a: {p['only_a']} instants, only in b: {p['only_b']}")
    return out


def length(ms: float) -> str:
    """A time with significant digits, however short it is.

    Delays are integers in nanoseconds, but their means are not.
    """
    if ms >= 0.01:
        return f"{ms:.4f} ms"
    return f"{ms * 1e6:.3g} ns"
