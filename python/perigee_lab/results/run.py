# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs and comparisons of runs: records with metrics and plots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from perigee_lab.common.files import RecordError
from perigee_lab.results import manifest as manifests
from perigee_lab.results.manifest import MANIFEST
from perigee_lab.results.record import Record, in_order, record_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from perigee_lab.common.columns import Column
    from perigee_lab.results.embedded import Page
    from perigee_lab.results.why import FlowLimits


class Run(Record):
    """Record of a run: a manifest and tables, in memory or on disk."""

    def _repr_html_(self) -> str:
        from perigee_lab.results.notebook import of_runs

        return of_runs([self], self.folder)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The metrics of the run, by name."""
        from perigee_lab.results.metrics import run_summary

        return run_summary(self)

    @cached_property
    def by_group(self) -> list[dict[str, Any]]:
        """The metrics of each group of flows, by name; those of groups have no capacity."""
        from perigee_lab.results.metrics import group_rows

        return group_rows(self)

    def group(self, name: str) -> dict[str, Any]:
        """The metrics of a group of flows. Raises RecordError."""
        found = next((row for row in self.by_group if row["group"] == name), None)
        if found is None:
            there = ", ".join(g.name for g in self.manifest.groups) or "none (`group` of a [[flow]] makes one)"
            raise RecordError(f"there is no group {name!r}; there are {there}")
        return found

    def why(self, flow: str | int | None = None) -> list[FlowLimits]:
        """Limits of the sender of each flow over TCP or QUIC over time, or of one.

        `flow` is a name, or a number from 1. Raises RecordError if there is no such flow.
        """
        from perigee_lab.results import why

        return why.limits(self) if flow is None else [why.limits_of_flow(self, flow)]

    def plot(self, flow: str | None = None) -> Any:
        """Plots goodput and RTT of a flow (default: the first), and the fullest queue."""
        from perigee_lab.results.notebook import once
        from perigee_lab.results.plots import overview

        return once(overview([self], flow))


class Results(Sequence[Run]):
    """The runs of a comparison."""

    def __init__(self, runs: Sequence[Run], out: Path | None = None) -> None:
        """Stores runs in order; `out` is their folder if they are on disk."""
        self.runs = list(runs)
        self.out = out

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        """The run at a position."""
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        return f"<Results of {len(self)} runs: {', '.join(dict.fromkeys(r.cc for r in self))}>"

    def _repr_html_(self) -> str:
        from perigee_lab.results.notebook import of_runs

        return of_runs(self.runs, self.out) if self.runs else "<p>no runs</p>"

    def summary(self) -> pd.DataFrame:
        """The metrics, one row per run."""
        import pandas as pd

        return pd.DataFrame([r.summary for r in self])

    def flows(self) -> pd.DataFrame:
        """The metrics of flows, one row per flow of each run."""
        import pandas as pd

        from perigee_lab.results.metrics import flow_rows

        return pd.DataFrame([row for r in self for row in flow_rows(r)])

    def plot(self) -> Any:
        """Plots goodput, RTT and queue over time for the first seed of each scheme."""
        from perigee_lab.results.notebook import once
        from perigee_lab.results.plots import overview

        return once(overview(self.firsts()))

    def plot_seeds(self, metrics: str | Sequence[str] = (), flow: str | None = None) -> Any:
        """Plots metrics per scheme as means with 95 % intervals, and goodput and RTT as medians with bands.

        Args:
            metrics: Columns (docs/reference/columns.md), four at most; default: goodput and mean RTT.
            flow: The flow that is drawn over time; default: the first.

        Raises:
            RecordError: no run has a value of a metric, or a run lacks the flow.
        """
        from perigee_lab.results.notebook import once
        from perigee_lab.results.run_plots import figure

        return once(figure(self._some(), [metrics] if isinstance(metrics, str) else metrics, flow))

    def page(self, metrics: str | Sequence[str] = (), flow: str | None = None) -> Page:
        """The figure of `plot_seeds` with its table as a page: notebooks display it, `save(FILE)` writes it."""
        from perigee_lab.results.run_plots import page

        return page(self._some(), [metrics] if isinstance(metrics, str) else metrics, flow)

    def _some(self) -> list[Run]:
        if not self.runs:
            raise RecordError("there is no run to draw")
        return self.runs

    def firsts(self) -> list[Run]:
        """The first run of each scheme."""
        return list({r.cc: r for r in reversed(self.runs)}.values())[::-1]


def from_core(manifest: str, tables: Mapping[str, list[Column]], extra: Mapping[str, Any]) -> Run:
    """Builds a run from the core's output; `extra` is added to the manifest."""
    from perigee_lab.common.columns import to_arrow

    about = manifests.parsed({**json.loads(manifest), **extra}, Path(MANIFEST))
    return Run(about, None, {n: to_arrow(c) for n, c in tables.items()})


def open_record(folder: str | Path) -> Run:
    """Opens the record of one run. Raises RecordError."""
    folder = Path(folder)
    if not (folder / MANIFEST).exists():
        raise RecordError(f"{folder} is not a complete record: it has no {MANIFEST}")
    return Run(manifests.read(folder / MANIFEST), folder)


def find_records(folder: str | Path) -> list[Run]:
    """All complete records under `folder`, sorted by scheme and seed."""
    found = record_folders(folder)
    if not found:
        if not Path(folder).exists():
            raise RecordError(f"{folder}: there is no such folder; `perigee run` prints where it puts the record")
        raise RecordError(f"{folder} holds no complete record of a run (a folder that `perigee run` has written)")
    return in_order([open_record(f) for f in found])
