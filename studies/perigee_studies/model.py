# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Model of an experiment: cases to run, tables computed from them, published claims, figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from perigee_studies.decided import Decided
    from perigee_studies.digest import Digest
    from perigee_studies.verdicts import Verdict

SCENARIOS = Path(__file__).parent / "scenarios"

Tables = dict[str, "pd.DataFrame"]
Label = Any
ABSENT = ("policy", "leotcp")
"""Schemes that `--cc all` omits: a user-supplied policy, and OrbCC under its earlier name."""


class Size(str, Enum):
    """Extent of the runs: a smoke check, an afternoon, or the published extent."""

    QUICK = "quick"
    DEFAULT = "default"
    FULL = "full"

    @property
    def option(self) -> str:
        """The command-line option of this size, after a space; empty for the default."""
        return "" if self is Size.DEFAULT else f" --{self.value}"


@dataclass(frozen=True)
class Keep:
    """Data of a run that are kept in addition to its totals.

    These are columns of the time series, routes and events.
    """

    columns: tuple[str, ...] = ("goodput_bps", "rtt_ns")
    routes: bool = False
    events: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A simulation: a scenario with overrides, a scheme and a seed.

    `labels` identify it in tables.
    """

    scenario: str
    cc: str
    labels: Mapping[str, Label] = field(default_factory=dict)
    seed: int = 1
    sets: Mapping[str, object] = field(default_factory=dict)
    keep: Keep = field(default_factory=Keep)


@dataclass(frozen=True)
class Ask:
    """Options of the user: size, schemes other than the published ones, recorded paths."""

    size: Size = Size.DEFAULT
    cc: tuple[str, ...] = ()
    data: Path | None = None

    def pick(self, quick: Sequence[Any], default: Sequence[Any], full: Sequence[Any]) -> list[Any]:
        """One of three sequences, by size."""
        return list({Size.QUICK: quick, Size.DEFAULT: default, Size.FULL: full}[self.size])

    def count(self, quick: int, default: int, full: int) -> int:
        """One of three numbers, by size."""
        return {Size.QUICK: quick, Size.DEFAULT: default, Size.FULL: full}[self.size]

    def schemes(self, published: Sequence[str]) -> list[str]:
        """The schemes of a figure: the published ones, the requested ones, or all."""
        if self.cc == ("all",):
            from perigee_lab.runs.scenario import schemes

            every = [s["id"] for s in schemes() if s["id"] not in ABSENT]
            return list(dict.fromkeys([*published, *every]))
        return list(self.cc or published)


@dataclass(frozen=True)
class Outcome:
    """A case that was run, and its digest."""

    case: Case
    digest: Digest


@dataclass(frozen=True)
class Theirs:
    """Schemes of the study's own simulator, and their settings (`perigee_studies.beside`)."""

    schemes: tuple[str, ...]
    sets: Mapping[str, object]
    what: str
    """Description for the page."""


@dataclass(frozen=True)
class Evidence:
    """Runs that explain a miss.

    They are variants of the figure's runs, with conclusions (`perigee_studies.beside`).
    """

    cases: Callable[[Ask], list[Case]]
    words: Callable[[Tables, Tables], Mapping[str, str]]
    """Explanations by claim, from the figure's tables and the variants'."""
    names: tuple[str, ...] = ()
    """Names of the variants, if several pieces of evidence are combined."""
    decide: Callable[[Tables, Tables], Sequence[Decided]] | None = None
    """Computes verdicts on hypotheses from the same tables, including causes on which no claim
    depends."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published figure or table that is reproduced."""

    name: str
    """`study/experiment`."""
    title: str
    figure: str
    """Where the figure was published."""
    schemes: tuple[str, ...]
    cases: Callable[[Ask], list[Case]]
    tables: Callable[[Sequence[Outcome]], Tables]
    verdicts: Callable[[Tables], list[Verdict]]
    draw: Callable[[Tables], Mapping[str, Any]]
    """Draws figures with matplotlib; returns them by name."""
    method: str
    """Set-up, metric, windows and units, for the page of the experiment (Markdown)."""
    deviations: tuple[str, ...] = ()
    """Differences between the method and the published one, with reasons."""
    explained: Mapping[str, str] = field(default_factory=dict)
    """Constant explanations by claim, shown for claims that are not reproduced. They contain no
    results of runs."""
    explain: Callable[[Tables, Tables], Mapping[str, str]] | None = None
    """Computes explanations by claim, from the figure's tables and from those with the schemes of
    `theirs`."""
    note: Callable[[Tables], str] | None = None
    """Computes a note on the inputs of the tables, for the page and the gallery."""
    finding: Callable[[Tables], str] | None = None
    """Computes the result in a sentence or two, with which the page starts; for questions that no
    paper answers."""
    changes: tuple[str, ...] = ()
    """What would change the finding: one item each (Markdown)."""
    missing: tuple[str, ...] = ()
    """Published curves that we do not have, with the reason."""
    metrics: str = ""
    """Definitions, windows and units of the experiment's numbers (Markdown)."""
    theirs: Theirs | None = None
    """Schemes that are also run in the version of the study's simulator, which claims and figures have."""
    evidence: Evidence | None = None
    """Runs for computed explanations."""
    captions: Mapping[str, str] = field(default_factory=dict)
    """Captions by figure: meaning of points, bars and shades."""

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.name.split("/", 1)[0]
