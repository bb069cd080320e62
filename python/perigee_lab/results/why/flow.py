# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of one flow over its life: shares over time, totals, and reductions of its window."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from perigee_lab.results.sender_limits import INDEX, NAMES
from perigee_lab.results.why import spans
from perigee_lab.results.why.amounts import APPLICATION, BASES, UNKNOWN, WINDOW, amounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from perigee_lab.results.why.evidence import Evidence, Floats
    from perigee_lab.results.why.spans import Episode, Span

    Times = npt.NDArray[np.int64]

SECOND_NS = 1_000_000_000
WIDTHS_S = (0.001, 1e6)
"""Shortest and longest bin."""
GAP = 5
"""Times between rows above this multiple of the sampling interval, and above two round trips, are unknown."""


@dataclass(frozen=True)
class FlowLimits:
    """Limits of the sender of a flow, from its first packet to its stop or completion."""

    flow: int
    """Number of the flow, from 0."""
    name: str
    cc: str
    begin_s: float
    end_s: float
    edges_ns: Times = field(repr=False)
    """Ends of the pieces below: one more than pieces."""
    shares: Floats = field(repr=False)
    """A row per piece, in the order of `sender_limits.NAMES`, each with the sum one."""
    episodes: tuple[Episode, ...] = ()
    notes: tuple[str, ...] = ()
    """Beliefs of the scheme and remedies, as sentences."""

    def totals(self) -> dict[str, float]:
        """Seconds by limit; the sum is the length of the flow's life."""
        lengths = np.diff(self.edges_ns) / 1e9
        return dict(zip(NAMES, (lengths @ self.shares).tolist() if len(lengths) else [0.0] * len(NAMES), strict=True))

    def over_time(self, width_s: float = 1.0) -> list[dict[str, float]]:
        """Shares in each bin of `width_s` in which the flow lived: `t_s`, `length_s`, limits by name.

        Bins start at multiples of the width; the first and the last may be cut by the flow's life.
        Raises ValueError for a width outside of `WIDTHS_S`.
        """
        least, most = WIDTHS_S
        if not least <= width_s <= most:
            raise ValueError(f"width_s must be from {least:g} to {most:g} seconds; found {width_s:g}")
        if len(self.edges_ns) < 2:
            return []
        width = round(width_s * 1e9)
        edges = _with_grid(self.edges_ns, width)
        mids, lengths = (edges[1:] + edges[:-1]) // 2, np.diff(edges)
        shares = self.shares[np.searchsorted(self.edges_ns, mids, side="right") - 1]
        bins, at = np.unique(edges[:-1] // width, return_inverse=True)
        sums, spent = np.zeros((len(bins), len(NAMES))), np.zeros(len(bins))
        np.add.at(sums, at, shares * lengths[:, None])
        np.add.at(spent, at, lengths)
        return [
            {"t_s": float(b * width / 1e9), "length_s": float(n / 1e9)}
            | dict(zip(NAMES, (row / n).tolist(), strict=True))
            for b, row, n in zip(bins, sums, spent, strict=True)
        ]  # fmt: skip


def _with_grid(edges: Times, width: int) -> Times:
    """The edges, and the multiples of a width between the first and the last."""
    grid = np.arange(edges[0] // width + 1, (edges[-1] - 1) // width + 1, dtype=np.int64) * width
    return np.unique(np.concatenate((edges, grid)))


def limits_of(e: Evidence, outages: Sequence[Span]) -> FlowLimits:
    """The limits of a flow, without notes."""
    shaken, waits = spans.handshake(e), spans.timeouts(e)
    established = shaken[1]
    reductions = spans.episodes(e, established)
    recoveries = spans.merged([(r.begin_ns, r.end_ns) for r in reductions])
    starting = spans.starts(e, established)
    edges = _edges(e, [shaken, *outages, *waits, *recoveries, *starting])
    shares = _shares(e, edges, recoveries, starting)
    mids = (edges[1:] + edges[:-1]) // 2
    out = inside(mids, outages)
    # An application without data in flight does not notice an outage.
    out &= shares[:, INDEX["application"]] < 1 - 1e-9
    out |= inside(mids, outages) & (_outstanding(e, mids) > 0)
    for name, where in (
        ("outage", out),
        ("timeout", inside(mids, waits) & ~out),
        ("handshake", inside(mids, [shaken])),
    ):
        shares[where] = 0.0
        shares[where, INDEX[name]] = 1.0
    return FlowLimits(
        e.flow, e.name, e.cc, e.begin_ns / 1e9, e.end_ns / 1e9, edges, shares,
        tuple(reductions) if not np.isnan(e["cwnd_bytes"]).all() or e.backend == "capture" else (),
    )  # fmt: skip


def _edges(e: Evidence, others: Sequence[Span]) -> Times:
    ends = np.array([t for span in others for t in span], dtype=np.int64)
    found = np.unique(np.concatenate(([e.begin_ns, e.end_ns], e.t_ns, ends)))
    return found[(found >= e.begin_ns) & (found <= e.end_ns)]


def _shares(e: Evidence, edges: Times, recoveries: Sequence[Span], starting: Sequence[Span]) -> Floats:
    """Shares of the pieces between edges, with the window divided into its phases."""
    mids = (edges[1:] + edges[:-1]) // 2
    found = np.zeros((len(mids), len(NAMES)))
    bases = _of_rows(e, mids)
    for k, name in enumerate(BASES):
        if k != WINDOW:
            found[:, INDEX[name]] = bases[:, k]
    recovering = inside(mids, recoveries)
    phase = np.where(
        recovering,
        INDEX["window_recovery"],
        np.where(inside(mids, starting), INDEX["window_start"], INDEX["window_steady"]),
    )
    found[np.arange(len(mids)), phase] += bases[:, WINDOW]
    return found


def _of_rows(e: Evidence, mids: Times) -> Floats:
    """Shares of the row whose interval contains each time; unknown in gaps between rows."""
    unknown: Floats = np.eye(len(BASES))[np.full(len(mids), UNKNOWN)]
    if not len(e.t_ns):
        return unknown
    shares = amounts(e)
    at = np.searchsorted(e.t_ns, mids)
    after = at == len(e.t_ns)
    row = np.minimum(at, len(e.t_ns) - 1)
    length = np.where(after, mids - e.t_ns[-1], (e.t_ns - e.starts_ns)[row])
    # Captures have no rows while a flow is silent.
    idle = shares[row, APPLICATION] == 1
    silence = np.fmax(GAP * e.sample_ns, 2 * e["srtt_ns"][row])
    gap = (length > silence) & ~idle & (row > 0)
    found = shares[row]
    found[gap] = unknown[gap]
    return found


def _outstanding(e: Evidence, mids: Times) -> Floats:
    if not len(e.t_ns):
        return np.zeros(len(mids))
    row = np.minimum(np.searchsorted(e.t_ns, mids), len(e.t_ns) - 1)
    return np.nan_to_num(e["in_flight_bytes"])[row]


def inside(times: Times, found: Sequence[Span]) -> npt.NDArray[np.bool_]:
    """Whether each time is within one of some spans, which are in order and disjoint."""
    if not found:
        return np.zeros(len(times), dtype=bool)
    begins, ends = (np.array(side, dtype=np.int64) for side in zip(*found, strict=True))
    k = np.searchsorted(begins, times, side="right") - 1
    within: npt.NDArray[np.bool_] = (k >= 0) & (times < ends[np.maximum(k, 0)])
    return within


def after_leg(mine: tuple[Evidence, FlowLimits], earlier: tuple[Evidence, FlowLimits]) -> FlowLimits:
    """The limits of a leg of a split flow, whose data come from an earlier leg.

    While the earlier leg waits for room in the proxy's buffer, this one has nothing more to send
    and most of the data between both ends is in its flight, it fills that buffer.
    """
    of, before = mine[1], earlier[1]
    if len(of.edges_ns) < 2 or len(before.edges_ns) < 2:
        return of
    edges = np.unique(np.concatenate((of.edges_ns, before.edges_ns, mine[0].t_ns)))
    edges = edges[(edges >= of.edges_ns[0]) & (edges <= of.edges_ns[-1])]
    mids = (edges[1:] + edges[:-1]) // 2
    shares = of.shares[np.searchsorted(of.edges_ns, mids, side="right") - 1].copy()
    at = np.searchsorted(before.edges_ns, mids, side="right") - 1
    there = (at >= 0) & (at < len(before.shares)) & (_outstanding(mine[0], mids) >= _outstanding(earlier[0], mids))
    waits = before.shares[np.clip(at, 0, len(before.shares) - 1), INDEX["receive_window"]]
    moved = np.minimum(shares[:, INDEX["application"]], np.where(there, waits, 0.0))
    shares[:, INDEX["application"]] -= moved
    shares[:, INDEX["send_buffer"]] += moved
    return replace(of, edges_ns=edges, shares=shares)
