# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Manifests of the former format 1: names, classes and queue disciplines of ports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Former class of ports between satellites.
RENAMED = {"laser": "isl"}
# Parameters: current name, and factor of the former unit.
PARAMETERS = {
    "min": ("red_min", 1.0),
    "max": ("red_max", 1.0),
    "p_ppb": ("red_p", 1e-9),
    "floor_ppb": ("red_floor", 1e-9),
    "weight_ppb": ("red_weight", 1e-9),
    "target": ("target", 1.0),
    "interval": ("interval", 1.0),
    "burst": ("burst", 1.0),
}
# Units in nanoseconds or bytes.
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def same_ports(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the ports of a manifest of format 1 are those of a later one."""
    return [_port(p, old=True) for p in old] == [_port(p, old=False) for p in new]


def _port(port: Mapping[str, Any], *, old: bool) -> dict[str, Any]:
    named = {k: RENAMED.get(str(port[k]), port[k]) for k in ("name", "class") if k in port}
    return {**port, **named, "discipline": _discipline(port.get("discipline"), old=old)}


def _discipline(said: Any, *, old: bool) -> tuple[str, dict[str, Any]]:
    """Name of a discipline, and its parameters in nanoseconds, bytes and fractions."""
    if not isinstance(said, dict) or len(said) != 1:
        return str(said), {}
    ((name, given),) = said.items()
    if not isinstance(given, dict):
        return str(said), {}
    return name, dict(_parameter(k, v, old=old) for k, v in given.items())


def _parameter(name: str, value: Any, *, old: bool) -> tuple[str, Any]:
    if isinstance(value, str) and (found := re.fullmatch(r"([\d.]+) (\w+)", value)) and found[2] in UNITS:
        value = float(found[1]) * UNITS[found[2]]
    if old and name in PARAMETERS and isinstance(value, (int, float)):
        name, unit = PARAMETERS[name]
        value = value * unit
    return name, round(value, 9) if isinstance(value, float) else value
