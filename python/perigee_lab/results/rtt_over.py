# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The statistic of a run's RTTs: over all samples of all flows, or the mean over flows.

The scenario determines the statistic, not the measurements, so that all seeds and schemes of a
table have the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from perigee_lab.common.quantities import quantity
from perigee_lab.common.reading import parsed_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.run import Run

SAMPLES, FLOWS = "samples", "flows"
# Sources in which all pairs of hosts have the same delays in both directions, with patterns of the
# ends.
ALIKE = {
    "chain": (re.compile(r"s(\.\d+)?"), re.compile(r"d(\.\d+)?")),
    "dumbbell": (re.compile(r"s\d+"), re.compile(r"d\d+")),
    "crossing": (re.compile(r"s\d+"), re.compile(r"d\d+")),
}
WHOLE = {"bottleneck", "r1->r2"}
"""Targets of changes that affect all pairs of such a source equally."""


def rtt_over(run: Run, ends: Sequence[tuple[str, str]]) -> str:
    """The statistic for flows with these ends (sender, receiver)."""
    if len(ends) == 1:
        return SAMPLES
    try:
        scenario = parsed_toml(run.manifest.scenario_toml)
    except ValueError:
        # Records of measurements have no scenario, and damaged records may have invalid TOML.
        scenario = {}
    if any("pattern" in flow for flow in _tables(scenario, "flow")):
        # Pairs differ between seeds.
        return FLOWS
    return SAMPLES if len(set(ends)) == 1 or _alike(scenario, ends) else FLOWS


def _alike(scenario: dict[str, Any], ends: Sequence[tuple[str, str]]) -> bool:
    """Whether all pairs have the same base RTT at all times, by definition of the source."""
    source = scenario.get("source")
    name, keys = next(iter(source.items())) if isinstance(source, dict) and source else ("", None)
    if name not in ALIKE or not isinstance(keys, dict):
        return False
    rtts = keys.get("rtt", "")
    unequal = isinstance(rtts, list) and len({quantity(str(r)) for r in rtts}) > 1
    origin, target = ALIKE[name]
    ways = ((origin, target), (target, origin))
    across = any(all(a.fullmatch(x) and z.fullmatch(y) for x, y in ends) for a, z in ways)
    return across and not unequal and not _singles_out(scenario, name)


def _singles_out(scenario: dict[str, Any], source: str) -> bool:
    """Whether a change, a port or one bottleneck's jitter applies to single pairs."""
    changes = [c for key in ("change", "schedule") for c in _tables(scenario, key)]
    if any(str(c.get("on", "bottleneck")) not in WHOLE for c in changes) or (
        source != "dumbbell" and "jitter" in scenario
    ):
        return True
    ports = scenario.get("port", {})
    return not isinstance(ports, dict) or any("->" in p and p not in ("r1->r2", "r2->r1") for p in ports)


def _tables(scenario: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = scenario.get(key, [])
    return [t for t in (found if isinstance(found, list) else [found]) if isinstance(t, dict)]
