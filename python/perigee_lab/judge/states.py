# SPDX-License-Identifier: Apache-2.0 OR MIT
"""States of congestion controls over time, from events of the kind `mode` and the column `mode`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perigee_lab.judge.measures import View


OF_WINDOWS = {"slow start", "congestion avoidance"}
"""States of any scheme, derived from window and threshold. A scheme without other states exposes
none of its own."""

VARIABLES = frozenset(
    [
        "action",
        "alpha",
        "avg_rtt_s",
        "base_rtt_s",
        "bottleneck_hop",
        "boundaries",
        "bw_bps",
        "committed_bytes",
        "cwnd_gain",
        "delay_min_s",
        "delta",
        "extra_acked_segments",
        "fallbacks",
        "feedback_bytes_per_s",
        "filtered",
        "flows",
        "increase_bytes",
        "inflight_hi",
        "inflight_hi_segments",
        "inflight_lo",
        "inflight_lo_segments",
        "interval_rtt_s",
        "jump_bytes",
        "k_s",
        "long_term",
        "loss_rate",
        "max_bw_bps",
        "max_rtt_s",
        "max_tput_bps",
        "measured_rate_bps",
        "min_rtt_s",
        "one_way",
        "pacing_gain",
        "pipe_bytes",
        "pipe_filled",
        "queue_delay_s",
        "queue_s",
        "rate_bps",
        "rate_bytes_per_s",
        "ref_cwnd_bytes",
        "report_until_s",
        "retreat_share",
        "rho",
        "rtt_filter_s",
        "saved_window_bytes",
        "search_acked_bytes",
        "search_bin",
        "search_sent_bytes",
        "search_shortfall",
        "stage",
        "standing_rtt_s",
        "start_left_by_loss",
        "start_left_cwnd_bytes",
        "start_left_in_flight_bytes",
        "start_left_s",
        "trigger",
        "u",
        "useful",
        "velocity",
        "virtual_rtt_s",
        "w_max_segments",
        "window_bytes",
        "windows",
    ]
)
"""Variables of the built-in schemes and starts: columns `cc_…` of the table flows."""


@dataclass(frozen=True)
class Visit:
    """A stay in a state."""

    state: str
    previous: str
    """The state before; empty for the first."""
    since_ns: int
    until_ns: int
    goes_on: bool
    """It lasts until the end of the record."""


def history(view: View, t: dict[str, Any]) -> list[Visit]:
    """The states of a flow in order; empty if its scheme exposes none.

    Changes have the time of their event. The first state is that of a sample before the first
    change; it is omitted if there is no such sample.
    """
    rows = view.all_samples(t["flow"])
    events = view.run.table("events")
    columns = [events.column(c).to_pylist() for c in ("t_ns", "kind", "flow", "text")]
    steps = [(at, text) for at, kind, flow, text in zip(*columns, strict=True) if kind == "mode" and flow == t["flow"]]
    sampled = next(((at, mode) for at, mode in zip(rows["t_ns"], rows["mode"], strict=True) if mode), None)
    if sampled is not None and (not steps or sampled[0] < steps[0][0]):
        steps.insert(0, (int(t["started_ns"] or 0), str(sampled[1])))
    if not steps:
        return []
    end = int(view.run.manifest.simulated_ns if t["completed_ns"] is None else t["completed_ns"])
    found = []
    for k, (at, state) in enumerate(steps):
        goes_on = k + 1 == len(steps)
        until = end if goes_on else steps[k + 1][0]
        found.append(Visit(state, steps[k - 1][1] if k else "", at, max(at, until), goes_on))
    return found


def visits(view: View, t: dict[str, Any]) -> list[Visit] | None:
    """The visits of the expectation's state that begin in its window; None if it is not exposed."""
    every = history(view, t)
    state, previous = view.keys["state"], view.keys.get("previous")
    if not are_exposed({v.state for v in every}, state, view.keys.get("states")):
        return None
    return [
        v
        for v in every
        if v.state == state and previous in (None, v.previous) and view.begin_ns <= v.since_ns <= view.end_ns
    ]


def are_exposed(found: set[str], state: str, vocabulary: Sequence[str] | None) -> bool:
    """Whether a scheme with these states has the state; `vocabulary`: all that it should have."""
    if not found or (vocabulary and not found <= set(vocabulary)):
        return False
    return state in OF_WINDOWS or not found <= OF_WINDOWS
