# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cache of the summary of a run, next to its tables: makes sweeps of 100,000 runs readable.

The cache is written with the record. If it is damaged, or of another version of the metrics, the
summary is computed from the tables.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common import names
from perigee_lab.common.files import write_text
from perigee_lab.common.reading import read_text
from perigee_lab.results import flow_file
from perigee_lab.results.columns import COLUMNS
from perigee_lab.results.record import record_folders, scheme_order
from perigee_lab.results.run import Run, open_record
from perigee_lab.results.summary import rows_csv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.metrics import Row

FILE = "summary.json"
ABOUT = ("key", "version", "finished", "wall_s", "cpu_s")
TEXTS = {"cc", "flow", "flow_cc", "class", "group", "rtt_over"}
KNOWN = {c.name for c in COLUMNS}


@dataclass(frozen=True)
class Summary:
    """Cached summary of a run."""

    run: Row
    """Metrics of the run."""
    flows: list[Row]
    """A row per flow; empty if there are more than `flow_file.MOST_IN_CSV`."""
    flow_count: int
    groups: list[Row]
    """A row per group of flows."""
    about: dict[str, Any]
    """Origin, from the manifest: the keys of `ABOUT`."""
    warnings: tuple[str, ...] = ()
    """Those of the manifest."""


@lru_cache(maxsize=1)
def version() -> str:
    """Hash of the code of this package, which computes the rows."""
    code = b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("*.py")))
    return hashlib.sha256(code).hexdigest()[:16]


def of(run: Run) -> Summary:
    """Computes the summary from the tables of a run."""
    from perigee_lab.results.metrics import flow_rows

    count = run.rows("flow_totals")
    flows = flow_rows(run) if count <= flow_file.MOST_IN_CSV else []
    made = run.manifest
    about = {n: made.get(n) for n in ABOUT}
    groups = [{k: v for k, v in row.items() if k != "background"} for row in run.by_group]
    return Summary(run.summary, flows, count, groups, about, tuple(made.warnings))


def store(run: Run, folder: Path) -> None:
    """Writes the summary of a run to the folder of its tables. Raises OSError."""
    write_text(folder / FILE, json.dumps(_as_data(of(Run(run.manifest, folder)))) + "\n")


def _as_data(kept: Summary) -> dict[str, Any]:
    rows: dict[str, Any] = {"run": _encoded(kept.run), "flows": [_encoded(f) for f in kept.flows]}
    rows["groups"] = [_encoded(g) for g in kept.groups]
    rows["warnings"] = kept.warnings
    return {"code": version(), **rows, "flow_count": kept.flow_count, "about": kept.about}


def follows(run: Run, folder: Path) -> bool:
    """Whether `read` returns for the folder of a run what its tables say. Raises RecordError."""
    # Compared as text: of NaN, no two are equal.
    return json.dumps(_as_data(read(folder))) == json.dumps(_as_data(of(Run(run.manifest, folder))))


def read(folder: Path) -> Summary:
    """Reads the summary of the record in a folder, or computes it without a valid cache.

    Raises:
        RecordError: the record itself is missing or damaged.
    """
    try:
        found = json.loads(read_text(folder / FILE))
        if found["code"] == version():
            return _validated(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # No cache, or a damaged one.
        pass
    return of(open_record(folder))


def _encoded(row: Row) -> dict[str, Any]:
    """Converts NaN to null for JSON."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def _validated(found: dict[str, Any]) -> Summary:
    """Decodes and checks a cache. Raises ValueError, KeyError, TypeError, AttributeError if damaged."""
    flows = [_decoded(f) for f in found["flows"]]
    count, about = found["flow_count"], found["about"]
    if type(count) is not int or not len(flows) <= count < 1 << 32:
        raise ValueError("invalid number of flows")
    if not all(v is None or type(v) in (str, int, float) for v in about.values()) or names.problem_in(about):
        raise ValueError("invalid origin")
    wrong = [k for k in ("wall_s", "cpu_s") if isinstance(about.get(k), str)]
    if wrong or not all(isinstance(about.get(k), str | None) for k in ("key", "version", "finished")):
        raise ValueError("invalid origin")
    groups = [_decoded(g) for g in found["groups"]]
    warnings = found["warnings"]
    if not isinstance(warnings, list) or not all(isinstance(w, str) for w in warnings) or names.problem_in(warnings):
        raise ValueError("invalid warnings")
    about = {n: about.get(n) for n in ABOUT}
    return Summary(_decoded(found["run"]), flows, count, groups, about, tuple(warnings))


def _decoded(row: dict[str, Any]) -> Row:
    """Decodes and checks a row: null becomes NaN, except in texts. Raises ValueError, KeyError."""
    seed = row["seed"]
    if type(seed) is not int or not 0 <= seed < 1 << 63 or not isinstance(row["cc"], str) or names.problem_in(row):
        raise ValueError("invalid row")
    for name, value in row.items():
        text = name in TEXTS
        fine = isinstance(value, str) if text and value is not None else value is None or type(value) in (int, float)
        if name not in KNOWN or not fine or (type(value) is int and abs(value) >= 1 << 63):
            raise ValueError(f"invalid {name}")
    return {k: math.nan if v is None and k not in TEXTS else v for k, v in row.items()}


def read_all(folder: Path, *, cached: bool = True) -> list[tuple[Path, Summary]]:
    """Folder and summary of each complete record under `folder`, sorted by scheme and seed."""
    found = [(f, read(f) if cached else of(open_record(f))) for f in record_folders(folder)]
    order = {cc: i for i, cc in enumerate(scheme_order())}
    return sorted(found, key=lambda k: (order.get(k[1].run["cc"], len(order)), k[1].run["cc"], k[1].run["seed"]))


def write_flows(folder: Path, found: Sequence[tuple[Path, Summary]]) -> None:
    """Writes the rows of flows of these runs to a file of their own, unless summary.csv has them.

    Raises:
        OSError: with the name of the file.
    """
    count = sum(k.flow_count for _, k in found)
    flow_file.write(folder, len(found), count, [partial(_flows_of, f, k) for f, k in found])


def _flows_of(folder: Path, kept: Summary) -> list[Row]:
    from perigee_lab.results.metrics import flow_rows

    return kept.flows if len(kept.flows) == kept.flow_count else flow_rows(open_record(folder))


def summary_csv(kept: Sequence[Summary]) -> str:
    """Text of summary.csv, as of `perigee_lab.results.summary.summary_csv`, from cached summaries."""
    flows = lambda: [row for k in kept for row in k.flows]  # noqa: E731
    return rows_csv([k.run for k in kept], sum(k.flow_count for k in kept), flows)
