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
"""Schemes that `--cc all` omits: `policy`, which needs a file, and OrbCC under its former name."""


class Size(str, Enum):
    """Extent of an experiment: a smoke test, hours, or the extent of the publication."""

    QUICK = "quick"
    DEFAULT = "default"
    FULL = "full"

    @property
    def option(self) -> str:
        """The command-line option of this size, after a space; empty for the default."""
        return "" if self is Size.DEFAULT else f" --{self.value}"


@dataclass(frozen=True)
class Keep:
    """Data of a run to keep in addition to its totals."""

    columns: tuple[str, ...] = ("goodput_bps", "rtt_ns")
    """Columns of the table `flows`."""
    routes: bool = False
    """Whether to keep all changes of routes."""
    events: tuple[str, ...] = ()
    """Kinds of events."""
    busy: float | None = None
    """Utilisation from which samples of ports are kept; None keeps none."""
    flows: int | None = None
    """Number of flows to keep, from the first; None keeps all."""


@dataclass(frozen=True)
class Case:
    """A run: a scenario with overrides, a congestion control and a seed."""

    scenario: str
    cc: str
    labels: Mapping[str, Label] = field(default_factory=dict)
    """Columns that identify the run in tables."""
    seed: int = 1
    sets: Mapping[str, object] = field(default_factory=dict)
    """Overrides of the scenario, by key."""
    keep: Keep = field(default_factory=Keep)
    run_as: str = ""
    """Name of the scheme in the kernel of a run on real hosts; empty for simulated runs."""

    @property
    def scheme(self) -> str:
        """Name of the scheme in the run."""
        return self.run_as or self.cc


@dataclass(frozen=True)
class Ask:
    """Options of a user: size, congestion controls, and a folder with recorded paths."""

    size: Size = Size.DEFAULT
    cc: tuple[str, ...] = ()
    data: Path | None = None
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Values of labels: other cases are not run."""

    def pick(self, quick: Sequence[Any], default: Sequence[Any], full: Sequence[Any]) -> list[Any]:
        """The sequence for the size, as a list."""
        return list({Size.QUICK: quick, Size.DEFAULT: default, Size.FULL: full}[self.size])

    def chosen(self, case: Case) -> bool:
        """Whether a case has these labels; one that lacks a label has it with any value."""
        return all(str(case.labels.get(name, values[0])) in values for name, values in self.where.items())

    def count(self, quick: int, default: int, full: int) -> int:
        """The number for the size."""
        return {Size.QUICK: quick, Size.DEFAULT: default, Size.FULL: full}[self.size]

    def schemes(self, published: Sequence[str]) -> list[str]:
        """Congestion controls to run: those of the publication, or the requested ones, or all."""
        if self.cc == ("all",):
            from perigee_lab.runs.scenario import schemes

            every = [s["id"] for s in schemes() if s["id"] not in ABSENT]
            return list(dict.fromkeys([*published, *every]))
        return list(self.cc or published)


@dataclass(frozen=True)
class Outcome:
    """A completed run and its digest."""

    case: Case
    digest: Digest


@dataclass(frozen=True)
class Theirs:
    """Models of schemes in the study's own simulator, which are run in addition to ours.

    See `perigee_studies.beside`.
    """

    schemes: tuple[str, ...]
    sets: Mapping[str, object]
    """Overrides that select these models."""
    what: str
    """Description for the page."""


@dataclass(frozen=True)
class Evidence:
    """Variants of an experiment's runs that explain why claims are not reproduced.

    See `perigee_studies.beside`.
    """

    cases: Callable[[Ask], list[Case]]
    words: Callable[[Tables, Tables], Mapping[str, str]]
    """Computes explanations by claim, from the tables of the experiment and of the variants."""
    names: tuple[str, ...] = ()
    """Names of the variants, if several `Evidence` objects are combined."""
    decide: Callable[[Tables, Tables], Sequence[Decided]] | None = None
    """Computes verdicts on hypotheses from the same tables, including causes on which no claim
    depends."""


@dataclass(frozen=True)
class Second:
    """A section on the page of another experiment, with these results as a further column."""

    page: str
    """Name of the other experiment."""
    heading: str
    write: Callable[[Tables, Tables], str]
    """Writes the section (Markdown), from the tables of the other experiment and from these."""


OF_EVERY_RUN = {
    "run": "number of the run, from 1",
    "cc": "scheme",
    "seed": "seed of the run",
}
"""Columns of all tables."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A reproduction of a published figure or table, or an experiment that no paper published."""

    name: str
    """`study/experiment`."""
    title: str
    figure: str
    """Number of the published figure or table; for other experiments, their status."""
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
    """Explanations by claim that contain no results of runs; shown if the claim is not reproduced."""
    explain: Callable[[Tables, Tables], Mapping[str, str]] | None = None
    """Computes explanations by claim, from the tables of the experiment and those of `theirs`."""
    note: Callable[[Tables], str] | None = None
    """Computes a note on the inputs of the tables, for the page and the gallery."""
    finding: Callable[[Tables], str] | None = None
    """Computes the result in a sentence or two, with which the page starts; for questions that no
    paper answers."""
    summary: Callable[[Tables], list[str]] | None = None
    """Computes a table of results for the page (lines of Markdown), also from tables of variants."""
    changes: tuple[str, ...] = ()
    """What would change the finding: one item each (Markdown)."""
    missing: tuple[str, ...] = ()
    """Published curves that are not reproduced, with reasons."""
    metrics: str = ""
    """Definitions, windows and units of the metrics (Markdown)."""
    theirs: Theirs | None = None
    """Models of the study's simulator; if set, claims and figures are about their results."""
    evidence: Evidence | None = None
    """Runs for computed explanations."""
    captions: Mapping[str, str] = field(default_factory=dict)
    """Captions by figure: meaning of points, bars and shading."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Meaning and unit of the columns of the tables (Markdown), apart from `OF_EVERY_RUN`."""
    second: Second | None = None
    """Section with these results on the page of another experiment."""

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.name.split("/", 1)[0]
