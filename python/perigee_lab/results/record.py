# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The run record on disk: OUT/<cc>/seed<k>/{manifest.json, *.parquet}.

A folder is written as `.partial` and renamed when complete, so that any folder with its final name
is complete.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from perigee_lab.common import names
from perigee_lab.common.files import PARTIAL, RecordError, naming
from perigee_lab.results import checked
from perigee_lab.results.manifest import MANIFEST, Manifest
from perigee_lab.results.writer import OLD, RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from perigee_lab.results.checked import TableFile


R = TypeVar("R", bound="Record")


@dataclass(repr=False)
class Record:
    """A manifest and tables of a run, in memory or on disk."""

    manifest: Manifest
    folder: Path | None = None
    _tables: dict[str, pa.Table] = field(default_factory=dict, repr=False)
    attached: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Further files to write into the record, by name."""

    def __repr__(self) -> str:
        where = "in memory" if self.folder is None else str(self.folder)
        return f"<Run of {self.manifest.scenario!r}: {self.cc}, seed {self.seed}, {where}>"

    @property
    def cc(self) -> str:
        """The congestion control that replaced "*"."""
        return self.manifest.cc

    @property
    def seed(self) -> int:
        """The seed of all draws."""
        return self.manifest.seed

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(self.manifest.tables)

    def table(self, name: str) -> pa.Table:
        """A table as Arrow."""
        if name not in self.manifest.tables:
            raise KeyError(f"no table {name!r}; there are {', '.join(self.tables)}")
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    def _read(self, name: str, columns: list[str] | None = None) -> pa.Table:
        with self._opened(name) as file:
            return file.read(columns)

    @contextmanager
    def _opened(self, name: str) -> Iterator[TableFile]:
        """The checked file of a table. Raises RecordError if the block cannot read it."""
        with checked.opened(self._file(name), name, self.manifest.tables[name].rows) as file:
            yield file

    def _file(self, name: str) -> Path:
        if self.folder is None:
            raise RecordError(f"table {name!r} is neither in memory nor on disk")
        return self.folder / f"{name}.parquet"

    def rows(self, name: str) -> int:
        """Actual number of rows of a table (rather than the manifest's)."""
        import pyarrow.parquet as pq

        if name in self._tables or self.folder is None:
            return int(self.table(name).num_rows)
        with checked.reading(self._file(name)) as path:
            return int(pq.read_metadata(path).num_rows)

    def columns(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of a table; on disk, the others are not read."""
        if name in self._tables or self.folder is None:
            return self.table(name).select(list(columns))
        return self._read(name, list(columns))

    def groups(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """A table (or some of its columns) in pieces that fit the memory.

        A piece may have no rows.
        """
        if name in self._tables or self.folder is None:
            yield self.table(name) if columns is None else self.columns(name, columns)
            return
        with self._opened(name) as file:
            yield from file.groups(columns)

    def to_pandas(self, name: str = "flows") -> pd.DataFrame:
        """A table as a pandas frame."""
        return self.table(name).to_pandas()

    def to_polars(self, name: str = "flows") -> pl.DataFrame:
        """A table as a polars frame (install `perigee-lab[polars]`)."""
        import polars as pl

        return cast("pl.DataFrame", pl.from_arrow(self.table(name)))

    def save(self: R, folder: Path, *, force: bool = False, extra: Callable[[Path], None] | None = None) -> R:
        """Writes the record; `extra` may add files to the folder before it is renamed."""

        def others(partial: Path) -> None:
            self.write_attached(partial, folder)
            if extra is not None:
                extra(partial)

        with RecordWriter(folder, force=force) as writer:
            for name in self.tables:
                writer.add(name, self.table(name))
            writer.finish(self.manifest, others)
        self.folder = folder
        return self

    def write_attached(self, partial: Path, folder: Path) -> None:
        """Writes the further files into a folder that will be renamed to `folder`, as errors name it."""
        for name, data in self.attached.items():
            with naming(folder / name):
                (partial / name).parent.mkdir(exist_ok=True)
                (partial / name).write_bytes(data)

    def hashes(self) -> dict[str, str]:
        """The actual hash of each table (rather than the manifest's)."""
        return {name: self.hash_of(name) for name in self.tables}

    def hash_of(self, name: str) -> str:
        """The actual hash of a table. Raises RecordError if it cannot be read."""
        from perigee_lab import _core
        from perigee_lab.common.columns import from_arrow

        if self.manifest.record_format == 1:
            return _core.hash_table(from_arrow(self.table(name)), 1)
        hasher = _core.TableHasher()
        for rows in self.groups(name):
            hasher.update(from_arrow(rows))
        return hasher.hexdigest()


def in_order(runs: Sequence[R]) -> list[R]:
    """The order of tables, reports and summary.csv: schemes (listed ones, then by name), seeds."""
    order = {cc: i for i, cc in enumerate(scheme_order())}
    return sorted(runs, key=lambda r: (order.get(r.cc, len(order)), r.cc, r.seed))


def record_folders(folder: str | Path) -> list[Path]:
    """The folders of complete records: `folder` itself, or those by scheme and seed in it."""
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        return [folder]
    return [m.parent for m in folder.glob(f"*/*/{MANIFEST}") if not m.parent.name.endswith((PARTIAL, OLD))]


@lru_cache(maxsize=1)
def scheme_order() -> list[str]:
    """The names of the schemes in the order of tables."""
    from perigee_lab import _core

    return [s["id"] for s in json.loads(_core.schemes())]


def comparable(toml: str, files: Iterable[tuple[str, str | None]] = ()) -> list[str]:
    """The lines of a resolved scenario without what may differ within a comparison.

    These are some keys of `[run]`, and expectations, on which no result depends. `files` are the
    inputs by path and hash: the lines have the hash in place of the path, so that they are equal
    wherever the files are.
    """
    kept, section = [], ""
    for path, sha256 in files:
        toml = re.sub(rf"(?<=[\"']){re.escape(path)}(?=[\"':])", f"sha256 {sha256}", toml)
    for line in toml.splitlines():
        section = line if line.startswith("[") else section
        if section in ("[[expect]]", "[case]") or (
            section == "[run]" and line.split(" = ")[0] in ("cc", "seed", "runs")
        ):
            continue
        kept.append(line)
    return kept


def run_folder(out: Path, cc: str, seed: int) -> Path:
    """The folder of a run's record."""
    return out / names.as_folder(cc) / f"seed{seed}"
