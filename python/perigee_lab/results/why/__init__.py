# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of senders over time, from a record alone.

Where a record has the accounts of the sender (table `limits`), they are exact; elsewhere the state
of the sender at its rows decides, or its packets do, and what they do not show is `unknown`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from perigee_lab.common.files import RecordError
from perigee_lab.results.checked import consistent
from perigee_lab.results.why.evidence import evidence
from perigee_lab.results.why.flow import FlowLimits, after_leg, limits_of
from perigee_lab.results.why.spans import outages

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from perigee_lab.results.run import Run

__all__ = ["FlowLimits", "NoFlowError", "limits", "limits_of_flow"]


class NoFlowError(RecordError):
    """A record has no such flow, or no sender of it."""


def limits(run: Run, flows: Collection[int] | None = None) -> list[FlowLimits]:
    """The limits of each flow over TCP or QUIC, or of those with these numbers; in order of flows.

    Flows that never started are left out. Raises RecordError for contradictory tables.
    """
    from perigee_lab.results.why.notes import notes

    with consistent(run.folder):
        wanted = None if flows is None else set(flows)
        before = {b: a for split in run.manifest.splits for a, b in pairwise(split.legs)}
        known = {e.flow: e for e in evidence(run, None if wanted is None else wanted | _beside(before, wanted))}
        down = outages(run, list(known.values()))
        found = {flow: limits_of(e, down[flow]) for flow, e in known.items()}
        for f in [f for f in found if before.get(f) in found]:
            a = before[f]
            found[f] = after_leg((known[f], found[f]), (known[a], found[a]))
        following = {a: found.get(b) for b, a in before.items()}
        return [
            replace(of, notes=tuple(notes(known[f], of, following.get(f))))
            for f, of in found.items()
            if wanted is None or f in wanted
        ]


def _beside(before: Mapping[int, int], wanted: set[int]) -> set[int]:
    """The legs of split flows before and after those wanted, and those before the latter."""
    after = wanted | {b for b, a in before.items() if a in wanted}
    return after | {before[f] for f in after if f in before}


def limits_of_flow(run: Run, flow: str | int) -> FlowLimits:
    """The limits of a flow, by name or by number from 1. Raises RecordError, and NoFlowError if there is none."""
    names = run.table("flow_totals").column("name").to_pylist()
    number = names.index(flow) if flow in names else int(flow) - 1 if str(flow).isdecimal() else -1
    if not 0 <= number < len(names):
        raise NoFlowError(f"there is no flow {str(flow)!r}; there are {len(names)}: {', '.join(names[:8])}")
    found = limits(run, {number})
    if not found:
        raise NoFlowError(f"flow {names[number]!r} has no sender over TCP or QUIC, or never started")
    return found[0]
