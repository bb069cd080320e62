# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The run record on disk: OUT/<cc>/seed<k>/{manifest.json, *.parquet}.

A folder is written as `.partial` and renamed when it is complete: what has its final name can be trusted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from perigee.common.files import PARTIAL, RecordError, naming, write_text
from perigee.results import manifest as manifests
from perigee.results.manifest import MANIFEST, Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from perigee.common.columns import Column

OLD = ".old"


# What the readers of a table rely on (a record may have more: a scheme's own numbers, later columns).
COLUMNS = {
    "flows": "t_ns flow goodput_bps delivered_bytes cwnd_bytes rtt_ns base_rtt_ns",
    "links": "t_ns link port queue_bytes rate_bps",
    "events": "t_ns kind flow node value text",
    "rtt": "flow rtt_us count",
    "completions": "flow object bytes asked_ns done_ns",
    "flow_totals": "flow name from to cc window_bytes window_ns rtt_samples rtt_sum_ns capacity_bps payload_share",
    "link_totals": "link port name mean_wait_ns",
    "routes": "t_ns pair hop node",
    "tracks": "t_ns node name lat_deg lon_deg",
}


@dataclass
class Run:
    """What one run left behind: a manifest and tables, in memory or on disk."""

    manifest: Manifest
    folder: Path | None = None
    _tables: dict[str, pa.Table] = field(default_factory=dict, repr=False)

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

    def _read(self, name: str) -> pa.Table:
        import pyarrow.parquet as pq

        if self.folder is None:
            raise RecordError(f"table {name!r} is neither in memory nor on disk")
        path = self.folder / f"{name}.parquet"
        again = "run it again with --force"
        if not path.exists():
            raise RecordError(f"{path} is missing: {again}")
        try:
            table = pq.read_table(path)
        except (OSError, ValueError) as error:
            raise RecordError(f"{path} cannot be read: {error}: {again}") from error
        lacking = [c for c in COLUMNS.get(name, "").split() if c not in table.column_names]
        if lacking:
            raise RecordError(f"{path} has no column {', '.join(lacking)}: it is no table of {name}; {again}")
        return table

    def to_pandas(self, name: str = "flows") -> pd.DataFrame:
        """A table as a pandas frame."""
        return self.table(name).to_pandas()

    def to_polars(self, name: str = "flows") -> pl.DataFrame:
        """A table as a polars frame (install `perigee-lab[polars]`)."""
        import polars as pl

        return cast("pl.DataFrame", pl.from_arrow(self.table(name)))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The metrics of the run as a whole, by name."""
        from perigee.results.metrics import run_summary

        return run_summary(self)

    def plot(self) -> Any:
        """Goodput, RTT and queue over time, as a matplotlib figure."""
        from perigee.results.plots import overview

        return overview([self])

    def save(self, folder: Path, *, force: bool = False, extra: Callable[[Path], None] | None = None) -> Run:
        """Writes the record; `extra` may add files to the folder before it gets its name."""
        partial = fresh_partial(folder, force=force)
        try:
            for name in self.tables:
                table = self.table(name)
                with naming(folder / f"{name}.parquet"):
                    _write_parquet(table, partial / f"{name}.parquet")
            if extra is not None:
                extra(partial)
            # The manifest comes last: a folder without one is not a record, whatever its name.
            with naming(folder / MANIFEST):
                write_text(partial / MANIFEST, self.manifest.text())
            publish(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        self.folder = folder
        return self

    def hashes(self) -> dict[str, str]:
        """The hash of each table as it is now (not as the manifest says)."""
        from perigee import _core
        from perigee.common.columns import from_arrow

        return {name: _core.hash_table(from_arrow(self.table(name))) for name in self.tables}


def from_core(manifest: str, tables: Mapping[str, list[Column]], extra: Mapping[str, Any]) -> Run:
    """A run as the core returns it; `extra` is added to the manifest (wall time, host, command)."""
    from perigee.common.columns import to_arrow

    about = manifests.parsed({**json.loads(manifest), **extra}, Path(MANIFEST))
    return Run(about, None, {n: to_arrow(c) for n, c in tables.items()})


def open_record(folder: str | Path) -> Run:
    """Opens the record of one run. Raises RecordError."""
    folder = Path(folder)
    if not (folder / MANIFEST).exists():
        raise RecordError(f"{folder} is not a complete record: it has no {MANIFEST}")
    return Run(manifests.read(folder / MANIFEST), folder)


def find_records(folder: str | Path) -> list[Run]:
    """All complete records under `folder`, in the order scheme (as first run), seed."""
    folder = Path(folder)
    found = [m.parent for m in folder.glob(f"*/*/{MANIFEST}") if not m.parent.name.endswith((PARTIAL, OLD))]
    if (folder / MANIFEST).exists():
        found = [folder]
    if not found:
        raise RecordError(f"{folder} holds no complete record of a run")
    runs = [open_record(f) for f in found]
    order = {cc: i for i, cc in enumerate(_scheme_order())}
    return sorted(runs, key=lambda r: (order.get(r.cc, len(order)), r.cc, r.seed))


def _scheme_order() -> list[str]:
    from perigee import _core

    return [s["id"] for s in json.loads(_core.schemes())]


def comparable(toml: str) -> list[str]:
    """The lines of a resolved scenario without what runs of one comparison may differ in."""
    kept, section = [], ""
    for line in toml.splitlines():
        section = line if line.startswith("[") else section
        if section != "[run]" or line.split(" = ")[0] not in ("cc", "seed", "runs"):
            kept.append(line)
    return kept


def run_folder(out: Path, cc: str, seed: int) -> Path:
    """Where the record of a run belongs."""
    return out / re.sub(r"[^\w.+-]+", "_", cc) / f"seed{seed}"


def fresh_partial(folder: Path, *, force: bool) -> Path:
    """An empty folder to write into; leftovers of a killed run are removed."""
    if folder.exists() and not force:
        raise RecordError(f"{folder} exists; earlier results are kept unless you say --force")
    partial = folder.with_name(folder.name + PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    return partial


def publish(partial: Path, folder: Path) -> None:
    """Gives a complete folder its name. What stood there goes only after the new one is complete."""
    old = folder.with_name(folder.name + OLD)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    _sync(partial)
    partial.rename(folder)
    _sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _write_parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Makes the names in a folder survive a power cut, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
