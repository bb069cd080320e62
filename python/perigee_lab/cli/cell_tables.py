# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of the cells of sweeps."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting

if TYPE_CHECKING:
    from perigee_lab.results.cells import Sweep


SHOWN = ("goodput_mbps", "share", "rtt_mean_ms", "inflation", "retransmits", "jain")


# Columns of which `rtt_over` says what they are over.
RTTS = {"rtt_mean_ms", "rtt_median_ms", "rtt_p95_ms", "rtt_p99_ms", "inflation", "inflation_min"}


# A terminal shows so many cells; sweep.csv has all.
MOST_LINES = 60


def usual_columns(found: Sweep) -> list[str]:
    """The usual columns, as far as some run has them."""
    return [n for n in SHOWN if any(isinstance(v := r.get(n), (int, float)) and not math.isnan(v) for r in found.rows)]


def print_cells(found: Sweep, names: list[str]) -> None:
    """Means per cell; with several seeds their 95 % intervals."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from perigee_lab.results.columns import COLUMNS
    from perigee_lab.results.rtt_over import FLOWS
    from perigee_lab.results.summary import statistics_of

    forms = {c.name: c.form for c in COLUMNS}
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else box.ASCII2, pad_edge=False)
    for key in [*found.keys, "cc", "runs"]:
        table.add_column(quoting.cell(key), no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    rows = found.means(names)
    for row in rows[:MOST_LINES]:
        cells = [f"{row[k]:g}" if isinstance(row[k], float) else str(row[k]) for k in [*found.keys, "cc", "runs"]]
        table.add_row(*map(quoting.cell, cells), *(_shown(row, n, forms[n]) for n in names))
    console.print(table)
    if rows[MOST_LINES:]:
        print(f"and {len(rows) - MOST_LINES} more: all are in {found.folder / 'sweep.csv'}; --where KEY=VALUE filters")
    seeds = sorted({r["seed"] for r in found.rows})
    if len(seeds) > 1:
        print(f"means over {len(seeds)} seeds; ± half of the 95 % t-interval, none where all are equal")
    over = statistics_of(found.rows)
    if FLOWS in over and RTTS & set(names):
        of = "" if len(over) == 1 else " of some cells (column rtt_over)"
        print(f"RTTs and inflation{of}: means over the flows, whose base RTTs may differ")


def _shown(row: dict[str, Any], name: str, form: str) -> str:
    mean, half = row[name], row[f"{name}_half_95"]
    if math.isnan(mean):
        return "-"
    return form.format(mean) + ("" if math.isnan(half) else " ± " + form.format(half))


def finite(told: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(told, dict):
        return {k: finite(v) for k, v in told.items()}
    if isinstance(told, list):
        return [finite(v) for v in told]
    return None if isinstance(told, float) and math.isnan(told) else told
