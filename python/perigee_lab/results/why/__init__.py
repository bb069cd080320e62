# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of senders over time, from a record alone.

Where a record has the accounts of the sender (table `limits`), they are exact; elsewhere the state
of the sender at its rows decides, or its packets do, and what they do not show is `unknown`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perigee_lab.common.files import RecordError
from perigee_lab.results.checked import consistent
from perigee_lab.results.why.evidence import evidence
from perigee_lab.results.why.flow import FlowLimits, limits_of
from perigee_lab.results.why.spans import outages

if TYPE_CHECKING:
    from collections.abc import Collection

    from perigee_lab.results.run import Run

__all__ = ["FlowLimits", "limits", "limits_of_flow"]


def limits(run: Run, flows: Collection[int] | None = None) -> list[FlowLimits]:
    """The limits of each flow over TCP or QUIC, or of those with these numbers; in order of flows.

    Flows that never started are left out. Raises RecordError for contradictory tables.
    """
    from perigee_lab.results.why.notes import notes

    with consistent(run.folder):
        known = list(evidence(run, None if flows is None else set(flows)))
        down = outages(run, known)
        found = [(e, limits_of(e, down[e.flow])) for e in known]
        return [replace(of, notes=tuple(notes(e, of))) for e, of in found]


def limits_of_flow(run: Run, flow: str | int) -> FlowLimits:
    """The limits of a flow, by name or by number from 1. Raises RecordError."""
    names = run.table("flow_totals").column("name").to_pylist()
    number = names.index(flow) if flow in names else int(flow) - 1 if str(flow).isdecimal() else -1
    if not 0 <= number < len(names):
        raise RecordError(f"there is no flow {str(flow)!r}; there are {len(names)}: {', '.join(names[:8])}")
    found = limits(run, {number})
    if not found:
        raise RecordError(f"flow {names[number]!r} has no sender over TCP or QUIC, or never started")
    return found[0]
