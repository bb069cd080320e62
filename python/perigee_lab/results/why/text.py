# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of flows as text, rows of CSV and objects of JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.results.sender_limits import BY_NAME, NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.run import Run
    from perigee_lab.results.why.flow import FlowLimits
    from perigee_lab.results.why.spans import Episode

LETTERS = dict(zip(NAMES, "h.rbsRwpox?", strict=True))
"""A letter per limit, for a line over time."""
MOST_COLUMNS = 72
LEAST = 0.005
"""Shares below this are not listed."""
SHORT_S = 1.0
"""Lives shorter than this are shown in milliseconds."""
REASONS = {"loss": "the loss", "timeout": "the timeout", "mark": "the congestion marks"}


def text(run: Run, found: Sequence[FlowLimits], *, seeds: bool) -> str:
    """A block of lines per flow."""
    label = f"{run.cc}, seed {run.seed}: " if seeds else ""
    return "\n\n".join("\n".join(_of_flow(f, label)) for f in found)


def _of_flow(f: FlowLimits, label: str) -> list[str]:
    totals, life = f.totals(), f.end_s - f.begin_s
    title = f"{label}{f.name} ({f.cc})"
    if life <= 0:
        return [quoting.terminal(f"{title}: it never sent")]
    if all(name == "unknown" for name, seconds in totals.items() if seconds > 0):
        why = "the limits are unknown: the record has packets of this flow, but no state of its sender"
        return [quoting.terminal(f"{title}: {why}"), *(f"  {quoting.terminal(note)}" for note in f.notes)]
    lines = [quoting.terminal(f"{title}: {headline(f)}")]
    shares = sorted(((s / life, name) for name, s in totals.items()), reverse=True)
    lines += [
        f"  {100 * share:5.1f} %  {_time(totals[name], life)}  {LETTERS[name]}  {described(f, name)}"
        for share, name in shares
        if share >= LEAST
    ]
    return [*lines, *_line(f), *(f"  {quoting.terminal(note)}" for note in f.notes)]


def headline(f: FlowLimits) -> str:
    """The largest limit of a flow in a sentence: share, length of life, details."""
    totals, life = f.totals(), f.end_s - f.begin_s
    name = max(totals, key=lambda n: totals[n])
    length = f"{life:.1f} s" if life >= SHORT_S else f"{1e3 * life:.3g} ms"
    return f"{100 * totals[name] / max(life, 1e-9):.0f} % of {length}: {described(f, name)}"


def _time(seconds: float, life: float) -> str:
    return f"{seconds:8.2f} s" if life >= SHORT_S else f"{1e3 * seconds:8.2f} ms"


def described(f: FlowLimits, name: str) -> str:
    """A limit with details of its longest recovery."""
    if name != "window_recovery" or not f.episodes:
        return BY_NAME[name].words
    longest = max(f.episodes, key=lambda r: r.end_ns - r.begin_ns)
    others = len(f.episodes) - 1
    more = f"; {others} more reduction{'' if others == 1 else 's'}" if others else ""
    return f"congestion window after {_after(longest)}{more}"


def _after(r: Episode) -> str:
    at = f"{REASONS[r.reason]} at {r.begin_ns / 1e9:.1f} s"
    if r.again:
        at += f" and {r.again} more in its wake"
    if math.isnan(r.rounds):
        return at
    rounds = f"{r.rounds:.0f} round trips" if r.rounds >= 1.5 else "a round trip"
    return f"{at}, {rounds} to recover" if r.recovered else f"{at}, not recovered in {rounds}"


def _line(f: FlowLimits) -> list[str]:
    """The largest limit over time, a letter for each of some equal spans."""
    width = max(0.1, math.ceil((f.end_s - f.begin_s) / MOST_COLUMNS * 10) / 10)
    bins = f.over_time(width)
    if len(bins) < 2:
        return []
    letters = "".join(LETTERS[max(NAMES, key=lambda n: b[n])] for b in bins)
    return [f"  {letters}  ({width:g} s each)"]


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Rows with their names as the first line."""
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: round(v, 6) if isinstance(v, float) else quoting.csv(v) for k, v in row.items()} for row in rows
        )
    return out.getvalue()


def rows(run: Run, f: FlowLimits, width_s: float = 1.0) -> list[dict[str, Any]]:
    """A row for each span of a flow: scheme, seed, flow, time, length, shares."""
    named = {"cc": run.cc, "seed": run.seed, "flow": f.name}
    return [named | bin_ for bin_ in f.over_time(width_s)]


def as_json(run: Run, found: Sequence[FlowLimits], width_s: float) -> list[dict[str, Any]]:
    """Objects for `json.dumps`."""
    return [
        {
            "cc": run.cc,
            "seed": run.seed,
            "flow": f.name,
            "flow_cc": f.cc,
            "begin_s": f.begin_s,
            "end_s": f.end_s,
            "headline": headline(f),
            "seconds": f.totals(),
            "over_time": f.over_time(width_s),
            "reductions": [_reduction(r) for r in f.episodes],
            "notes": list(f.notes),
        }
        for f in found
    ]


def _reduction(r: Episode) -> dict[str, Any]:
    def known(value: float) -> float | None:
        return None if math.isnan(value) else value

    return {
        "begin_s": r.begin_ns / 1e9,
        "end_s": r.end_ns / 1e9,
        "reason": r.reason,
        "before_bytes": known(r.before_bytes),
        "after_bytes": known(r.after_bytes),
        "rounds": known(r.rounds),
        "recovered": r.recovered,
        "further": r.again,
    }


def dumped(objects: Sequence[dict[str, Any]]) -> str:
    """JSON for machines."""
    return json.dumps(objects, indent=1)
