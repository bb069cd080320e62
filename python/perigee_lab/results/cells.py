# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweep results on disk: cells, one table of all runs with the swept keys as columns, and plots.

FOLDER/sweep.json lists keys and cells, FOLDER/cells/NAME has the records of a cell,
FOLDER/sweep.csv has a row per run and is written last, which marks the folder as complete.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common import names, quoting
from perigee_lab.common.files import RecordError, write_text
from perigee_lab.common.quantities import NUMBER, quantity
from perigee_lab.common.reading import MOST_TEXT, opened, parsed_json, read_text
from perigee_lab.common.structures import Reader
from perigee_lab.results import summary_cache
from perigee_lab.results.beside import counted
from perigee_lab.results.columns import COLUMNS
from perigee_lab.results.metrics import Row
from perigee_lab.results.record import record_folders
from perigee_lab.results.run import Run, find_records
from perigee_lab.results.summary import SUMMARY, as_csv, refuse_mixed, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from perigee_lab.results.embedded import Page

FORMAT = 1
INDEX, TABLE, GROUPS, CELLS = "sweep.json", "sweep.csv", "sweep-groups.csv", "cells"


@dataclass(frozen=True)
class Axis:
    """A swept key with its values as written in TOML."""

    key: str
    values: tuple[str, ...]

    def shown(self) -> list[str]:
        """The values for display: text without quotes."""
        return [bare(v) for v in self.values]


@dataclass(frozen=True)
class Cell:
    """One combination of values in the order of the axes, and its folder within the sweep."""

    folder: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """Index of a sweep: scenario, keys and cells."""

    sweep_format: int
    scenario: str
    axes: tuple[Axis, ...]
    cells: tuple[Cell, ...]
    zip: bool = False
    """Whether the n-th values of all keys belong together, instead of all combinations."""


class Sweep:
    """The results of a sweep: `frame()` for pandas, `plot()` for figures."""

    def __init__(
        self,
        folder: Path,
        index: Index,
        rows: list[Row],
        origins: list[Row] | None = None,
        groups: list[Row] | None = None,
        warned: Mapping[str, int] | None = None,
    ) -> None:
        """Rows have the swept keys and the columns of summary.csv, one per run.

        `origins` are their sources; `groups` are rows of groups of flows, with the column `group`;
        `warned` has the warnings of the runs, each with the number of runs that have it.
        """
        self.folder, self.index, self.rows = folder, index, rows
        self.origins, self.groups, self.warned = origins or [], groups or [], dict(warned or {})

    @property
    def keys(self) -> list[str]:
        """The swept keys."""
        return [a.key for a in self.index.axes]

    @property
    def warnings(self) -> list[str]:
        """The warnings of the runs, each once; those of some runs with their number.

        Empty for a sweep opened from its table.
        """
        return counted(self.warned, len(self.rows), "runs")

    @property
    def title(self) -> str:
        """The title of the scenario; its name if the first cell has no record."""
        try:
            return find_records(self.folder / CELLS / self.index.cells[0].folder)[0].manifest.title
        except (RecordError, IndexError):
            return self.index.scenario

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<Sweep of {self.index.scenario}: {len(self.index.cells)} cells, {len(self.rows)} runs>"

    def _repr_html_(self) -> str:
        return f"<p>{quoting.html(repr(self))}</p>{self.frame()._repr_html_()}"

    def frame(self) -> pd.DataFrame:
        """A tidy frame.

        A row per run, with swept keys, `cc`, `seed`, and the columns of a summary.
        """
        import pandas as pd

        return pd.DataFrame(self.rows, columns=self.columns())

    def columns(self) -> list[str]:
        """The swept keys, then the columns present in any run."""
        used = {name for row in self.rows for name in row}
        return [*self.keys, *(c.name for c in COLUMNS if c.name in used)]

    def runs(self, **values: object) -> list[Run]:
        """The records of all cells, or of those with these values.

        Dots of a key are written as two underscores.
        """
        wanted = {k.replace("__", "."): str(v) for k, v in values.items()}
        cells = [c for c in self.index.cells if self._fits(c, wanted)]
        return [run for c in cells for run in find_records(self.folder / CELLS / c.folder)]

    def _fits(self, cell: Cell, wanted: Mapping[str, str]) -> bool:
        mine = dict(zip(self.keys, (bare(v) for v in cell.values), strict=True))
        return all(_same(mine[self.key_of(k)], v) for k, v in wanted.items())

    def key_of(self, name: str) -> str:
        """The swept key with this name or last part. Raises RecordError."""
        found = [k for k in self.keys if k == name] or [k for k in self.keys if k.rpartition(".")[2] == name]
        if len(found) != 1:
            there = f"there are {', '.join(self.keys)}" if self.keys else "these are runs of one scenario"
            raise RecordError(f"no swept key is called {name!r}; {there}")
        return found[0]

    def where(self, conditions: Mapping[str, str]) -> Sweep:
        """The subset of runs in which keys (or `cc`, `seed`) have these values. Raises RecordError.

        Quantities are compared by value: `2000 us` is `2ms`.
        """
        rows = self.rows
        for name, value in conditions.items():
            key = name if name in ("cc", "seed") else self.key_of(name)
            there = list(dict.fromkeys(str(r[key]) for r in self.rows))
            wanted = {v for v in there if _same(v, value)}
            if not wanted:
                raise RecordError(f"{name} = {value!r} is no cell of this sweep; there are {', '.join(there)}")
            rows = [r for r in rows if str(r[key]) in wanted]
        return Sweep(self.folder, self.index, rows)

    def means(self, columns: Sequence[str]) -> list[Row]:
        """A row per cell and scheme: means and halves of 95 % intervals (NaN if all equal)."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault((*(row[k] for k in self.keys), row["cc"]), []).append(row)
        found = []
        for place, rows in groups.items():
            mean: Row = {**dict(zip([*self.keys, "cc"], place, strict=True)), "runs": len(rows)}
            for name in columns:
                mean[name], mean[f"{name}_half_95"] = spread(rows, name)
            found.append(mean)
        return found

    def plot(self, metric: str = "goodput_mbps", x: str | None = None, y: str | None = None) -> Any:
        """Plots a heat map of a column over two keys, or lines over one with a line per scheme.

        Default: two keys if there are as many. Returns a matplotlib figure: means over seeds, with
        their 95 % intervals as bars. Keys that are no axis have panels or lines; the title lists
        combinations that are left out.
        """
        from perigee_lab.results.cell_plots import SEED, heat_map, lines
        from perigee_lab.results.notebook import once

        many = [a.key for a in self.index.axes if len(a.values) > 1 and a.key != SEED] or self.keys
        x = self.key_of(x) if x is not None else many[0]
        if y is None and not self.index.zip and len(many) > 1 and len({r[many[1]] for r in self.rows}) > 1:
            y = next((k for k in many if k != x), None)
        if y is None:
            return once(lines(self, metric, x))
        if self.index.zip:
            raise RecordError("a zipped sweep has one combination per value: a line over x is drawn without y")
        if self.key_of(y) == x:
            raise RecordError(f"x and y are both {x}: a map has two keys, a line over {x} is drawn without y")
        return once(heat_map(self, metric, x, self.key_of(y)))

    def page(self, metrics: str | Sequence[str] = ()) -> Page:
        """An interactive page with a slider per key: displayed in notebooks, `save(FILE)` writes it.

        `metrics` are a column or several, by default the usual ones. Raises RecordError for unknown ones.
        """
        from perigee_lab.results.embedded import Page
        from perigee_lab.results.explorer import page

        return Page(page(self, [metrics] if isinstance(metrics, str) else metrics))


def _same(value: str, wanted: str) -> bool:
    """Whether two values are the same quantity, in any notation."""
    return value == wanted or quantity(value) == quantity(wanted)


def bare(value: str) -> str:
    """A TOML value for display."""
    return str(json.loads(value)) if re.fullmatch(r'"([^"\\]|\\.)*"', value) else value


def number(value: str) -> float | int | str:
    """A value as a number if possible (2 % is 0.02), else as text."""
    for kind in (int, float):
        try:
            found = kind(value)
        except ValueError:
            continue
        return found if math.isfinite(found) else value
    percent = quantity(value) if value.endswith("%") else None
    return percent.value if percent is not None and percent.kind == NUMBER else value


def write_index(folder: Path, index: Index) -> None:
    """Writes the index of a sweep; an OSError names the file."""
    write_text(folder / INDEX, json.dumps(asdict(index), indent=1, ensure_ascii=False) + "\n")


def read_index(folder: Path) -> Index:
    """Reads the index of a sweep. Raises RecordError."""
    path = folder / INDEX
    try:
        found = parsed_json(read_text(path))
    except OSError as error:
        if not folder.exists():
            raise RecordError(f"{folder}: no such folder") from None
        remedy = "`perigee results` lists the runs of any folder, perigee.open_runs opens them"
        raise RecordError(f"{folder} is no folder of a sweep ({path.name}: {error.strerror}): {remedy}") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path} is damaged: {error}: run the sweep again") from None
    reader = Reader(path, lambda text: RecordError(f"{text}: it is damaged, run the sweep again"))
    index: Index = reader.structure(Index, found)
    if index.sweep_format != FORMAT:
        raise RecordError(f"{path}: sweep_format {index.sweep_format}; this version of Perigee reads {FORMAT}")
    for n, cell in enumerate(index.cells):
        if len(cell.values) != len(index.axes):
            raise reader.wrong(f"cells.{n}.values", list(cell.values), f"{len(index.axes)} values, one per key")
        if cell.folder != Path(cell.folder).name or cell.folder.startswith("."):
            raise reader.wrong(f"cells.{n}.folder", cell.folder, "a name without folders")
    return index


def gather(folder: Path, index: Index, progress: Callable[[int], None] | None = None) -> Sweep:
    """Reads all summaries and writes one per cell; cells without a complete run have no rows."""
    rows: list[Row] = []
    origins: list[Row] = []
    groups: list[Row] = []
    warned: Counter[str] = Counter()
    for n, cell in enumerate(index.cells):
        where = folder / CELLS / cell.folder
        values = {a.key: number(bare(v)) for a, v in zip(index.axes, cell.values, strict=True)}
        found = summary_cache.read_all(where)
        if found:
            summary_cache.write_flows(where, found)
            write_text(where / SUMMARY, summary_cache.summary_csv([k for _, k in found]))
        rows += [{**values, **k.run} for _, k in found]
        groups += [{**values, **g} for _, k in found for g in k.groups]
        warned.update(w for _, k in found for w in dict.fromkeys(k.warnings))
        origins += [{"record": str(f.relative_to(folder)), **k.about} for f, k in found]
        if progress is not None:
            progress(n + 1)
    return Sweep(folder, index, rows, origins, groups, warned)


def folders(folder: Path) -> list[Path]:
    """Folders of the cells of a sweep that have complete runs. Raises RecordError."""
    there = [folder / CELLS / cell.folder for cell in read_index(folder).cells]
    return [cell for cell in there if record_folders(cell)]


def table_of(folder: Path) -> str:
    """Text of the table of a sweep, computed from the tables of its runs. Raises RecordError."""
    index = read_index(folder)
    rows: list[Row] = []
    for cell in index.cells:
        values = {a.key: number(bare(v)) for a, v in zip(index.axes, cell.values, strict=True)}
        rows += [{**values, **k.run} for _, k in summary_cache.read_all(folder / CELLS / cell.folder, cached=False)]
    return as_csv(rows, Sweep(folder, index, rows).columns())


def write_table(sweep: Sweep) -> None:
    """Writes sweep.csv, and sweep-groups.csv if there are groups; an OSError names the file."""
    (sweep.folder / GROUPS).unlink(missing_ok=True)
    if sweep.groups:
        columns = Sweep(sweep.folder, sweep.index, sweep.groups).columns()
        write_text(sweep.folder / GROUPS, as_csv(sweep.groups, columns))
    write_text(sweep.folder / TABLE, as_csv(sweep.rows, sweep.columns()))


def open_sweep(folder: str | Path) -> Sweep:
    """Opens the results of a complete sweep. Raises RecordError."""
    folder = Path(folder)
    if next(folder.glob(f"{CELLS}/*/start.json"), None) is not None:
        table = f"its table is {folder / TABLE}"
        raise RecordError(
            f"{folder} is a sweep of demands: {table}; compare two of its cells by perigee demand compare"
        )
    index = read_index(folder)
    path = folder / TABLE
    keys = {a.key for a in index.axes}
    texts = {c.name for c in COLUMNS if c.name in ("cc", "flow", "flow_cc", "class", "rtt_over")}
    try:
        with io.TextIOWrapper(opened(path, MOST_TEXT), encoding="utf-8", newline="") as file:
            rows = [_row_of(row) for row in csv.DictReader(file)]
    except (ValueError, csv.Error) as error:
        raise RecordError(f"{path} is damaged: {error}: run the sweep again") from None
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}: the sweep is not complete, run it again to go on") from None

    def read(name: str, cell: str) -> Any:
        if name in texts:
            return quoting.from_csv(cell)
        if name == "seed":
            return whole(cell)
        return number(quoting.from_csv(cell)) if name in keys else (math.nan if cell == "" else float(cell))

    try:
        found: list[Row] = [{name: read(name, cell) for name, cell in row.items()} for row in rows]
    except (ValueError, TypeError) as error:
        raise RecordError(f"{path} is damaged: {error}: run the sweep again") from None
    lacking = [name for name in (*keys, "cc", "seed") if found and name not in found[0]]
    if lacking:
        raise RecordError(f"{path} is damaged: it has no column {', '.join(lacking)}: run the sweep again")
    return Sweep(folder, index, found)


def of_runs(folder: Path) -> Sweep:
    """The runs of a folder of `perigee run`, as a sweep without keys. Raises RecordError."""
    found = summary_cache.read_all(folder)
    if not found:
        raise RecordError(f"{folder} holds no complete record of a run (a folder that `perigee run` has written)")
    runs = find_records(folder)
    refuse_mixed(runs)
    rows = [dict(k.run) for _, k in found]
    return Sweep(folder, Index(FORMAT, runs[0].manifest.scenario, (), ()), rows)


def whole(cell: str) -> int:
    """A seed. Raises ValueError."""
    seed = int(cell)
    if not 0 <= seed < 1 << 63:
        raise ValueError(f"{cell[:30]} is no seed")
    return seed


def _row_of(row: dict[Any, Any]) -> dict[str, str]:
    """A row with a cell for each name. Raises ValueError."""
    if any(k is None or v is None for k, v in row.items()):
        raise ValueError("a line has more cells than names, or fewer")
    found = {quoting.from_csv(k): v for k, v in row.items()}
    if why := names.problem_in(list(found.items())):
        raise ValueError(f"a cell {why}")
    return found
