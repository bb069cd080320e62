# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Interactive page of a sweep: a slider per key over results that were computed before."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError
from perigee_lab.results import looks
from perigee_lab.results.columns import COLUMNS, named
from perigee_lab.results.webpage import drawing, filled, policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.cells import Sweep
    from perigee_lab.results.columns import Column

USUAL = ("goodput_mbps", "rtt_mean_ms", "rtt_p99_ms", "share", "inflation", "queue_mean_ms", "retransmit_pct", "jain")
"""Columns of the page by default, where runs have them."""


def page(sweep: Sweep, metrics: Sequence[str] = ()) -> str:
    """The page as text, without references to the network or other files.

    Raises RecordError for a sweep without values.
    """
    data = payload(sweep, metrics)
    script = drawing() + _asset("page.js")
    style = (files("perigee_lab.results.report") / "page.css").read_text(encoding="utf-8") + _asset("page.css")
    parts = {
        "POLICY": quoting.html(policy([script], [style])),
        "TITLE": quoting.html(data["title"]),
        "STYLE": style,
        "DATA": quoting.script(data),
        "SCRIPT": script,
    }
    return filled(_asset("page.html"), parts)


def payload(sweep: Sweep, metrics: Sequence[str] = ()) -> dict[str, Any]:
    """Data of the page: keys with their values, and means over seeds of each cell and scheme."""
    column_of = {c.name: c for c in COLUMNS}
    if unknown := next((m for m in metrics if m not in column_of), None):
        raise RecordError(f"there is no column {unknown!r}: `perigee columns` lists them")
    there = [m for m in metrics or USUAL if any(_known(row.get(m)) for row in sweep.rows)]
    if not there:
        raise RecordError(f"{sweep.folder}: no run of this sweep has a value of {', '.join(metrics or USUAL)}")
    schemes = list(dict.fromkeys(str(row["cc"]) for row in sweep.rows))
    labels = {s["id"]: s["label"] for s in json.loads(_core.schemes())}
    found = looks.of(schemes)
    axes = [(key, list(dict.fromkeys(row[key] for row in sweep.rows))) for key in sweep.keys]
    if sweep.index.zip:
        # Values belong together: one slider over the combinations.
        combined = list(dict.fromkeys(tuple(row[k] for k in sweep.keys) for row in sweep.rows))
        axes = [(", ".join(sweep.keys), combined)]
    cells = []
    for row in sweep.means(there):
        place = tuple(row[key] for key in sweep.keys)
        at = [axes[0][1].index(place)] if sweep.index.zip else [
            values.index(row[key]) for key, values in axes
        ]  # fmt: skip
        values = [_value(row[m], row[f"{m}_half_95"], column_of[m]) for m in there]
        cells.append({"at": at, "cc": schemes.index(str(row["cc"])), "runs": row["runs"], "values": values})
    return {
        "title": sweep.title,
        "axes": [{"key": key, "values": [_text(v) for v in values]} for key, values in axes],
        "schemes": [{"label": labels.get(cc, cc), "look": found[cc].page()} for cc in schemes],
        "metrics": [
            {
                "name": m,
                "label": named(m),
                "unit": column_of[m].unit,
                "meaning": column_of[m].meaning,
                "percent": _percent(column_of[m]),
            }
            for m in there
        ],
        "cells": cells,
    }


def _percent(column: Column) -> bool:
    return column.form.endswith("%}")


def _value(mean: float, half: float, column: Column) -> list[float | str | None]:
    """Mean and half of the interval, as numbers and as texts with the decimals of tables."""
    form = column.form
    if not column.heading:
        decimals = 3 - math.floor(math.log10(abs(mean))) if mean and math.isfinite(mean) else 3
        form = f"{{:.{max(0, decimals)}f}}"
    texts = ["" if math.isnan(v) else form.format(v).replace("%", " %") for v in (mean, half)]
    return [_plain(mean), _plain(half), *texts]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(v) for v in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _known(value: Any) -> bool:
    return isinstance(value, (int, float)) and not math.isnan(value)


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.6g}")


def _asset(name: str) -> str:
    return (files("perigee_lab.results.explorer") / name).read_text(encoding="utf-8")
