# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Record of a demand: computed in chunks, resumed after an interruption, opened.

A chunk is complete when its facts exist, which are written last. Chunks are independent of each
other, so that a resumed record has the bits of an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.files import claimed, fresh, inner, sha256_of, write_text, written
from perigee_lab.demand import checked
from perigee_lab.demand.checked import DemandError
from perigee_lab.demand.columns import DIRECTIONS, PARTS, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from perigee_lab.demand.summary import Summary
    from perigee_lab.runs.scenario import Scenario

MANIFEST = "manifest.json"
"""Written when the record is complete."""
START = "start.json"
"""What the record is of: written after the empty folders of the parts and the vertices."""
VERTICES = "vertices.parquet"
FACTS = "chunks"
FORMAT = 1
AGAIN = "compute it again, with --force"


@dataclass(frozen=True)
class Progress:
    """Numbers of chunks: of all, and of those that an earlier call has left; length of a chunk."""

    chunks: int
    done: int
    chunk_s: float


def compute(
    scenario: Scenario,
    out: Path,
    *,
    force: bool = False,
    threads: int | None = None,
    begin: Callable[[Progress], Callable[[], None]] = lambda _: lambda: None,
) -> Record:
    """Computes a demand into a folder; complete chunks of an interrupted call are kept.

    Args:
        scenario: with a [demand].
        out: the folder, created unless it exists.
        force: replace what is there.
        threads: number of threads, by default one per core; results do not depend on it.
        begin: called once before the first chunk; what it returns is called after each.

    Raises:
        DemandError: the folder has something else, or a complete record.
        ScenarioError: the scenario has no demand, or one that cannot be computed.
    """
    from perigee_lab import _core

    demand = _core.Demand(scenario.core)
    about = json.loads(demand.describe())
    key = key_of(scenario)
    with claimed(out):
        _make_room(out, key, force=force)
        _write_start(out, scenario, about, key)
        chunks = [n for n in range(about["chunks"]) if not _complete(out, n, key)]
        tick = begin(Progress(about["chunks"], about["chunks"] - len(chunks), _chunk_s(about)))
        for number in chunks:
            _write_chunk(out, demand, (about, key), number, threads)
            tick()
        record = Record(out)
        _finish(record)
    return record


def key_of(scenario: Scenario) -> str:
    """Hash of everything that the tables depend on."""
    from perigee_lab import _core

    files = [[str(path.name), sha256_of(path)] for path in scenario.core.files]
    what = json.dumps([FORMAT, _core.__version__, scenario.core.toml, files])
    return hashlib.sha256(what.encode()).hexdigest()


def _make_room(out: Path, key: str, *, force: bool) -> None:
    start = out / START
    if force:
        for name in (MANIFEST, START):
            (out / name).unlink(missing_ok=True)
        return
    if not start.exists():
        found = [p for p in out.iterdir() if not p.name.startswith(".")]
        if found and not _is_interrupted_start(found):
            raise DemandError(f"{out} is not empty ({found[0].name}): choose another folder, or say --force")
        return
    if Record(out).start["key"] != key:
        raise DemandError(f"{out} has the demand of another scenario: choose another folder, or say --force")


def _is_interrupted_start(found: list[Path]) -> bool:
    """Whether a folder has nothing but what `_write_start` makes before the file of the start."""
    names = {p.name for p in found}
    folders = [p for p in found if p.name in (FACTS, *PARTS) and p.is_dir() and not p.is_symlink()]
    empty = all(next(p.iterdir(), None) is None for p in folders)
    return bool(folders) and empty and names - {p.name for p in folders} <= {VERTICES}


def _write_start(out: Path, scenario: Scenario, about: dict[str, Any], key: str) -> None:
    import numpy as np
    import pyarrow as pa

    if (out / START).exists():
        return
    for name in (FACTS, *PARTS):
        fresh(out / name)
    nothing = [np.nan] * len(about["satellites"])
    ground = [*about["gateways"], *about["cells"]]
    numbers = {
        "lat_deg": [*nothing, *(g["lat"] for g in ground)],
        "lon_deg": [*nothing, *(g["lon"] for g in ground)],
        **{k: [*nothing, *(g.get(k, np.nan) for g in ground)] for k in ("population", "terminals")},
    }
    kinds = ["satellite"] * len(about["satellites"]) + ["gateway"] * len(about["gateways"])
    columns = {
        "id": np.arange(len(nothing) + len(ground), dtype=np.int32),
        "kind": [*kinds, *["cell"] * len(about["cells"])],
        "name": [*about["satellites"], *(g["name"] for g in ground)],
        **{k: pa.array(np.array(v, dtype=np.float64), from_pandas=True) for k, v in numbers.items()},
    }
    _write(out / VERTICES, pa.table(columns, schema=schema("vertices")))
    kept = {k: v for k, v in about.items() if k not in ("satellites", "cells")}
    counts = {"satellites": len(about["satellites"]), "cells": len(about["cells"])}
    head = {"what": "demand", "format": FORMAT, "key": key, "name": scenario.core.name, **kept, **counts}
    write_text(out / START, json.dumps({**head, "scenario": scenario.core.toml}, indent=1) + "\n")


def _complete(out: Path, number: int, key: str) -> bool:
    """Whether a chunk is there as it was computed: its tables have the hashes in its facts."""
    try:
        facts = checked.structure(_facts(out, number), checked.Facts, AGAIN)
    except DemandError:
        return False
    parts = facts.get("parts") or {}
    return facts.get("key") == key and all(
        name in parts and checked.is_part(_part(out, name, number), parts[name]) for name in PARTS
    )


def _write_chunk(out: Path, demand: Any, what: tuple[dict[str, Any], str], number: int, threads: int | None) -> None:
    import pyarrow as pa

    about, key = what
    tables, facts = demand.chunk(number, threads)
    tables["tracks"] = _tracks(demand, about, number)
    for name in PARTS:
        columns = tables[name]
        of = schema(name)
        arrays = [pa.array(columns[field.name]).cast(field.type) for field in of]
        inner(out / name)
        _write(_part(out, name, number), pa.Table.from_arrays(arrays, schema=of))
    inner(out / FACTS)
    parts = {name: sha256_of(_part(out, name, number)) for name in PARTS}
    write_text(_facts(out, number), json.dumps({**json.loads(facts), "key": key, "parts": parts}) + "\n")


def _tracks(demand: Any, about: dict[str, Any], number: int) -> dict[str, npt.NDArray[Any]]:
    import numpy as np

    satellites = len(about["satellites"])
    per_chunk = round(_chunk_s(about) / about["record_links_s"])
    starts = [(number * per_chunk + i) * about["record_links_s"] for i in range(per_chunk)]
    starts = [t for t in starts if t < about["duration_s"]]
    places = [_shadows(demand, t, satellites) for t in starts]
    return {
        "t_s": np.repeat(np.array(starts, dtype=np.float64), satellites),
        "satellite": np.tile(np.arange(satellites, dtype=np.int32), len(starts)),
        "lat_deg": np.concatenate([p[0::2] for p in places]),
        "lon_deg": np.concatenate([p[1::2] for p in places]),
    }


def _shadows(demand: Any, t_s: float, satellites: int) -> npt.NDArray[np.float64]:
    import numpy as np

    from perigee_lab import _core

    try:
        found: npt.NDArray[np.float64] = demand.shadows(round(t_s * 1e9))
    except _core.RunError:
        # A satellite has decayed: the step is among those that failed.
        return np.full(2 * satellites, np.nan)
    return found


def _chunk_s(about: dict[str, Any]) -> float:
    return float(about["record_links_s"]) * float(about["chunk_intervals"])


def _part(out: Path, name: str, number: int) -> Path:
    return out / name / f"part-{number:05d}.parquet"


def _facts(out: Path, number: int) -> Path:
    return out / FACTS / f"{number:05d}.json"


def _write(path: Path, table: Any) -> None:
    import pyarrow.parquet as pq

    with written(path) as partial:
        pq.write_table(table, partial, compression="zstd", use_dictionary=False)


def _finish(record: Record) -> None:
    """Writes the summaries and, last, the manifest."""
    from perigee_lab.demand import summary

    found = summary.of(record)
    for name, frame in (("cells", found.cells), ("links", found.links), ("hours", found.hours)):
        write_text(record.folder / f"{name}.csv", quoting.csv_frame(frame, "%.7g"))
    head = {k: v for k, v in record.start.items() if k != "scenario"}
    manifest = {**head, **found.totals, "scenario": record.start["scenario"]}
    write_text(record.folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")


def is_demand(folder: Path) -> bool:
    """Whether a folder has the record of a demand, complete or not."""
    return (folder / START).is_file()


class Record:
    """A record of a demand, complete or not."""

    def __init__(self, folder: Path) -> None:
        """Opens a folder. Raises DemandError if it has none."""
        self.folder = folder
        path = folder / START
        if not path.exists():
            cells = sorted(p.parent for p in folder.glob(f"cells/*/{START}"))
            if cells:
                raise DemandError(f"{folder} is a sweep of demands: name one of its records, such as {cells[0]}")
            raise DemandError(f"{folder} is not a record of perigee demand: it has no {START}")
        start = checked.structure(path, checked.Start, AGAIN)
        if start["what"] != "demand":
            raise DemandError(f"{folder} is not a record of perigee demand: {START} is of something else")
        if start["format"] != FORMAT:
            raise DemandError(f"{folder}: format {start['format']}, this version reads {FORMAT}")
        checked.check_start(start, path, AGAIN)
        self.start: dict[str, Any] = start
        self.window_s: tuple[float, float] | None = None

    def between(self, from_s: float, to_s: float) -> Record:
        """The record with `by_cell`, `links`, `hours` and `totals` of a part of the time only.

        Raises:
            DemandError: no interval of the record starts there.
        """
        found = Record(self.folder)
        step = float(self.start["record_s"])
        from_s, to_s = from_s // step * step, min(to_s, float(self.start["duration_s"]))
        if from_s >= to_s:
            raise DemandError(f"{self.folder}: nothing between {from_s:g} and {to_s:g} s: give a part of the run")
        found.window_s = (from_s, to_s)
        return found

    @cached_property
    def _window(self) -> Summary | None:
        from perigee_lab.demand import summary

        return None if self.window_s is None else summary.between(self, *self.window_s)

    @cached_property
    def by_cell(self) -> pd.DataFrame:
        """A row per cell, plan and direction, as in cells.csv."""
        return self._summary("cells", self._rows_of_cells()) if self._window is None else self._window.cells

    @cached_property
    def links(self) -> pd.DataFrame:
        """A row per link and direction, the fullest first, as in links.csv."""
        return self._summary("links") if self._window is None else self._window.links

    @cached_property
    def hours(self) -> pd.DataFrame:
        """A row per hour, plan and direction, as in hours.csv; hours outside the window have no values."""
        rows = 2 * 24 * 2 * len(self.start["plans"])
        return self._summary("hours", rows) if self._window is None else self._window.hours

    def _summary(self, name: str, rows: int | None = None) -> pd.DataFrame:
        return checked.summary(self.folder / f"{name}.csv", name, AGAIN, rows)

    def _rows_of_cells(self) -> int:
        """Rows of an interval in `cells`, and of cells.csv."""
        return int(self.start["cells"]) * len(self.start["plans"]) * 2

    @property
    def links_s(self) -> tuple[float, float]:
        """Start and end of the time of `links`: that of the window, in full intervals of links."""
        from perigee_lab.demand import summary

        return summary.links_window(self, *(self.window_s or (0.0, float(self.start["duration_s"]))))

    @cached_property
    def totals(self) -> dict[str, dict[str, float]]:
        """Means of all cells by direction: elastic_bps and others, as in the manifest."""
        found: dict[str, dict[str, float]] = (self.manifest if self._window is None else self._window.totals)["totals"]
        return found

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Totals and errors. Raises DemandError if the record is not complete."""
        path = self.folder / MANIFEST
        if not path.exists():
            raise DemandError(f"{self.folder} is not complete: run perigee demand run again to resume it")
        found = checked.structure(path, checked.Totals, AGAIN)
        from perigee_lab.demand import summary

        for name in DIRECTIONS:
            if lacking := [k for k in summary.SUMS if k not in found["totals"].get(name, {})]:
                raise DemandError(f"{path}: totals.{name}.{lacking[0]} is missing: {AGAIN}")
        return found

    @cached_property
    def vertices(self) -> pd.DataFrame:
        """Satellites, gateways and cells, by number."""
        path = self.folder / VERTICES
        start = self.start
        count = start["satellites"] + len(start["gateways"]) + start["cells"]
        found = checked.table(path, "vertices", count)
        kinds = ["satellite"] * start["satellites"] + ["gateway"] * len(start["gateways"]) + ["cell"] * start["cells"]
        if found["id"].tolist() != list(range(count)) or found["kind"].tolist() != kinds:
            raise DemandError(f"{path}: its rows are not those of {START}: {AGAIN}")
        return found.set_index("id", drop=False)

    @property
    def cells(self) -> pd.DataFrame:
        """The cells, numbered from 0."""
        all_ = self.vertices
        return all_[all_["kind"] == "cell"].reset_index(drop=True)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return int(self.start["chunks"])

    @property
    def chunk_s(self) -> float:
        """Length of a chunk, but for the last."""
        return _chunk_s(self.start)

    def facts(self, number: int) -> dict[str, Any]:
        """Errors and failed steps of a chunk."""
        return checked.structure(_facts(self.folder, number), checked.Facts, AGAIN)

    def part(self, name: str, number: int) -> pd.DataFrame:
        """Rows of a table in a chunk. Raises DemandError if they are damaged."""
        path = _part(self.folder, name, number)
        digest = (self.facts(number).get("parts") or {}).get(name)
        if digest is not None and not checked.is_part(path, digest):
            raise DemandError(f"{path} is not the table that was computed: {AGAIN}")
        return checked.table(path, name, self._rows(name, number))

    def parts(self, name: str) -> Iterator[pd.DataFrame]:
        """Rows of a table, chunk after chunk."""
        return (self.part(name, number) for number in range(self.chunks))

    def table(self, name: str) -> pd.DataFrame:
        """All rows of a table; `cells` and `links` of a day are millions."""
        import pandas as pd

        return pd.concat(self.parts(name), ignore_index=True)

    def _rows(self, name: str, number: int) -> int | None:
        """Number of rows of a table in a chunk; None if it depends on loads."""
        start = self.start
        length_s = min(self.chunk_s, start["duration_s"] - number * self.chunk_s)
        intervals = math.ceil(length_s / start["record_s"] - 1e-9)
        return {
            "cells": intervals * self._rows_of_cells(),
            "paths": intervals * start["cells"],
            "steps": intervals * 2,
        }.get(name)
