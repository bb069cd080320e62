# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Side tables of a comparison, in the terminal and the report."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perigee_lab.results.delays import distributions
from perigee_lab.results.metrics import Row, flow_rows
from perigee_lab.results.summary import by_scheme, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perigee_lab.results.run import Run

NUMBER = re.compile(r"\d+(\.\d+)?")
FEW_ALIKE = 3
"""Up to this number of lines that differ only in numbers are all shown."""

# Columns for completion times, by kind of object.
COMPLETION_COLUMNS = [
    ("s", "completed", "{:.0f}"),
    ("_mean_s", "mean s", "{:.3f}"),
    ("_median_s", "median s", "{:.3f}"),
    ("_p95_s", "p95 s", "{:.3f}"),
    ("_p99_s", "p99 s", "{:.3f}"),
    ("_first_mean_s", "first byte s", "{:.3f}"),
]
COMPLETIONS = {"object": "objects", "page": "pages", "transfer": "transfers"}
# Columns for groups of flows.
GROUP_COLUMNS = [
    ("goodput_mbps", "goodput Mbit/s", "{:.2f}"),
    ("rtt_mean_ms", "mean RTT ms", "{:.1f}"),
    ("rtt_p95_ms", "p95 ms", "{:.1f}"),
    ("retransmits", "retransmits", "{:.0f}"),
    ("jain", "Jain", "{:.3f}"),
    ("cbr_goodput_mbps", "constant rate Mbit/s", "{:.2f}"),
    ("loss_pct", "lost %", "{:.3f}"),
    ("mos", "MOS", "{:.2f}"),
    ("stalled_pct", "stalled %", "{:.2f}"),
]
# Columns for videos and for calls.
VIDEO_COLUMNS = [
    ("start_up_s", "start-up s", "{:.2f}"),
    ("stalls", "stalls", "{:.1f}"),
    ("stalled_pct", "stalled %", "{:.2f}"),
    ("video_mbps", "mean Mbit/s", "{:.2f}"),
    ("switches", "switches", "{:.1f}"),
]
CALL_COLUMNS = [
    ("mos", "MOS", "{:.2f}"),
    ("mos_min", "worst", "{:.2f}"),
    ("mouth_ear_ms", "mouth to ear ms", "{:.1f}"),
    ("late_pct", "late %", "{:.3f}"),
]
# Columns for flows with a constant rate.
CBR_COLUMNS = [
    ("cbr_goodput_mbps", "goodput Mbit/s", "{:.3f}"),
    ("loss_pct", "lost %", "{:.3f}"),
    ("delay_mean_ms", "mean delay ms", "{:.2f}"),
    ("delay_max_ms", "longest", "{:.2f}"),
    ("jitter_ms", "jitter ms", "{:.3f}"),
]
PROBE_COLUMNS = [
    ("rtt_mean_ms", "mean ms"),
    ("rtt_median_ms", "median"),
    ("rtt_p99_ms", "p99"),
    ("base_rtt_ms", "base"),
]


@dataclass(frozen=True)
class GroupTable:
    """A group of flows: headings, and the cells of each scheme."""

    group: str
    heads: list[str]
    cells: dict[str, list[str]]


def beside(runs: Sequence[Run]) -> list[str]:
    """The lines of side tables (completion times, constant rates, probes, delays), over all seeds."""
    return [
        *_completions(runs),
        *_alike(runs, "videos", "video", VIDEO_COLUMNS),
        *_alike(runs, "calls", "call", CALL_COLUMNS),
        *_constant_rates(runs),
        *_probes(runs),
        *_delays(runs),
    ]


def _delays(runs: Sequence[Run]) -> list[str]:
    """One-way delays of the packets of programs, a line per flow and direction."""
    return [
        f"{run.cc}, {delays.line}"
        for run in runs
        if "programs" in run.table("flow_totals").column("cc").to_pylist()
        for delays in distributions(run)
        if delays.of != "rtt"
    ]


def groups(results: Sequence[Run]) -> list[GroupTable]:
    """A table for each group of flows, with a row per scheme."""
    found: dict[str, dict[str, list[Row]]] = {}
    for run in results:
        for row in run.by_group:
            found.setdefault(row["group"], {}).setdefault(run.cc, []).append(row)
    tables = []
    for group, of in found.items():
        every = [row for rows in of.values() for row in rows]
        columns = _group_columns(every)
        cells = {cc: [shown(rows, name, form) for name, _, form in columns] for cc, rows in of.items()}
        side = " (background)" if every[0]["background"] else ""
        tables.append(GroupTable(f"{group}{side}", [heading for _, heading, _ in columns], cells))
    return tables


def _group_columns(rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """The columns of which a row has a value."""
    columns = [c for c in GROUP_COLUMNS if any(not math.isnan(r.get(c[0], math.nan)) for r in rows)]
    for kind, words in {**COMPLETIONS, "page": "pages", "segment": "segments"}.items():
        if any(r.get(f"{kind}s", 0) for r in rows):
            columns += [(f"{kind}s", words, "{:.0f}"), (f"{kind}_mean_s", "mean time s", "{:.3f}")]
            columns += [(f"{kind}_p95_s", "p95 time s", "{:.3f}")]
    return columns


def _completions(results: Sequence[Run]) -> list[str]:
    """Completion times of objects and limited transfers, one line per scheme and kind."""
    return [
        f"completion times of {words}, {cc}: {_cells(rows, [(kind + n, h, f) for n, h, f in COMPLETION_COLUMNS])}"
        for cc, rows in by_scheme(results).items()
        for kind, words in COMPLETIONS.items()
        if any(r.get(f"{kind}s", 0) for r in rows)
    ]


def _alike(results: Sequence[Run], number: str, what: str, columns: Sequence[tuple[str, str, str]]) -> list[str]:
    """Videos or calls, one line per scheme that carried or accompanied them."""
    return [
        f"{_count(rows[0][number], what)}{'' if cc == 'voice' else f', {cc}'}: {_cells(rows, columns)}"
        for cc, rows in by_scheme(results).items()
        if rows[0].get(number)
    ]


def _constant_rates(results: Sequence[Run]) -> list[str]:
    """Flows with a constant rate, one line per accompanying scheme."""
    return [
        f"constant rate{'' if cc == 'cbr' else f' beside {cc}'}, {_count(rows[0]['cbr_flows'], 'flow')}: "
        + _cells(rows, CBR_COLUMNS)
        for cc, rows in by_scheme(results).items()
        if rows[0].get("cbr_flows")
    ]


def _cells(rows: list[Row], columns: Sequence[tuple[str, str, str]]) -> str:
    return ", ".join(f"{heading} {shown(rows, name, form)}" for name, heading, form in columns)


def _probes(results: Sequence[Run]) -> list[str]:
    """Pings over all seeds, one line each per accompanying scheme."""
    found: dict[tuple[str, str], list[Row]] = {}
    for run in results:
        for row in flow_rows(run, "ping"):
            found.setdefault((run.cc, row["flow"]), []).append(row)
    lines = []
    for (cc, flow), rows in found.items():
        beside = "" if cc == "ping" else f" beside {cc}"
        cells = _cells(rows, [(name, heading, "{:.2f}") for name, heading in PROBE_COLUMNS])
        more = "" if len(rows) == 1 else f" (in {len(rows)} runs)"
        lost = sum(r["lost_probes"] for r in rows)
        pathless = sum(r["unreachable"] for r in rows)
        lines.append(
            f"ping {flow}{beside}: {cells}"
            # Measurements have no paths.
            + ("" if math.isnan(pathless) else f"; without a path {_count(pathless, 'time')}{more}")
            + (f"; {_count(lost, 'lost probe')}{more}" if lost else "")
        )
    return lines


def said_once(lines: Iterable[str]) -> list[str]:
    """Deduplicates lines.

    Of many lines that differ only in numbers, it keeps the first, with the number of others.
    """
    alike: dict[str, list[str]] = {}
    for line in dict.fromkeys(lines):
        alike.setdefault(NUMBER.sub("0", line), []).append(line)
    found = []
    for group in alike.values():
        if len(group) <= FEW_ALIKE:
            found += group
        else:
            found.append(f"{group[0]} (and {len(group) - 1} more that differ in their numbers)")
    return found


def _count(n: float, what: str) -> str:
    return f"{n:g} {what}" + ("" if n == 1 else "s")


def counted(warned: Mapping[str, int], of: int, what: str) -> list[str]:
    """Warnings with the number of runs or cells that have them, unless it is that of all."""
    return said_once(text if n == of else f"{n} of {of} {what}: {text}" for text, n in warned.items())
