# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What an experiment is: runs to make, tables to compute from them, published claims to compare, a figure to draw."""

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
"""What `--cc all` leaves out: a scheme that is what a file says, and OrbCC's earlier name for `orbcc-repro`."""


class Size(str, Enum):
    """How much is run: a smoke check, what an afternoon allows, or all that was published."""

    QUICK = "quick"
    DEFAULT = "default"
    FULL = "full"

    @property
    def option(self) -> str:
        """What a command says for it, a space before it; empty for the default."""
        return "" if self is Size.DEFAULT else f" --{self.value}"


@dataclass(frozen=True)
class Keep:
    """What of a run's record is kept beside its totals: columns of the time series, and routes and events."""

    columns: tuple[str, ...] = ("goodput_bps", "rtt_ns")
    routes: bool = False
    events: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One simulation: a scenario of the family with its overrides, a scheme and a seed; `labels` name it in tables."""

    scenario: str
    cc: str
    labels: Mapping[str, Label] = field(default_factory=dict)
    seed: int = 1
    sets: Mapping[str, object] = field(default_factory=dict)
    keep: Keep = field(default_factory=Keep)


@dataclass(frozen=True)
class Ask:
    """What the user wants: how much, other schemes than the published ones, recorded paths."""

    size: Size = Size.DEFAULT
    cc: tuple[str, ...] = ()
    data: Path | None = None

    def pick(self, quick: Sequence[Any], default: Sequence[Any], full: Sequence[Any]) -> list[Any]:
        """One of three, by size."""
        return list({Size.QUICK: quick, Size.DEFAULT: default, Size.FULL: full}[self.size])

    def count(self, quick: int, default: int, full: int) -> int:
        """One of three numbers, by size."""
        return {Size.QUICK: quick, Size.DEFAULT: default, Size.FULL: full}[self.size]

    def schemes(self, published: Sequence[str]) -> list[str]:
        """The schemes of a figure: those published, those asked for instead, or all."""
        if self.cc == ("all",):
            from perigee_lab.runs.scenario import schemes

            every = [s["id"] for s in schemes() if s["id"] not in ABSENT]
            return list(dict.fromkeys([*published, *every]))
        return list(self.cc or published)


@dataclass(frozen=True)
class Outcome:
    """A case that was run, and what was kept of it."""

    case: Case
    digest: Digest


@dataclass(frozen=True)
class Theirs:
    """Schemes of the study's own simulator, and the settings that make them (`perigee_studies.beside`)."""

    schemes: tuple[str, ...]
    sets: Mapping[str, object]
    what: str
    """What they are, for the page."""


@dataclass(frozen=True)
class Evidence:
    """Runs that explain a miss: variants of the figure's, and what they show in words (`perigee_studies.beside`)."""

    cases: Callable[[Ask], list[Case]]
    words: Callable[[Tables, Tables], Mapping[str, str]]
    """From the figure's tables and theirs: explanations by claim."""
    names: tuple[str, ...] = ()
    """What the variants are called, where several pieces of evidence stand together."""
    decide: Callable[[Tables, Tables], Sequence[Decided]] | None = None
    """From the same tables: hypotheses on causes, also of what no claim misses, with their verdicts."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published figure or table, made again."""

    name: str
    """`study/experiment`."""
    title: str
    figure: str
    """Where it was published."""
    schemes: tuple[str, ...]
    cases: Callable[[Ask], list[Case]]
    tables: Callable[[Sequence[Outcome]], Tables]
    verdicts: Callable[[Tables], list[Verdict]]
    draw: Callable[[Tables], Mapping[str, Any]]
    """Pictures by name, as matplotlib figures."""
    method: str
    """Set-up, metric, windows and units, for its page (Markdown)."""
    deviations: tuple[str, ...] = ()
    """Where the method differs from the published one, and why."""
    explained: Mapping[str, str] = field(default_factory=dict)
    """By claim: the explanation that is shown if the claim is not reproduced. Results of runs do not stand here."""
    explain: Callable[[Tables, Tables], Mapping[str, str]] | None = None
    """Explanations by claim that are computed from the figure's tables, and from those with the schemes of `theirs`."""
    note: Callable[[Tables], str] | None = None
    """What the tables say of where their inputs came from, for the page and the gallery."""
    missing: tuple[str, ...] = ()
    """Published curves that we do not have, with the reason."""
    metrics: str = ""
    """What its numbers mean: definitions, windows, units (Markdown)."""
    theirs: Theirs | None = None
    """Schemes that are run once more as the study's simulator has them."""
    evidence: Evidence | None = None
    """Runs that explanations are computed from."""
    captions: Mapping[str, str] = field(default_factory=dict)
    """By picture: what its points, bars and shades are."""

    @property
    def study(self) -> str:
        """The study's name."""
        return self.name.split("/", 1)[0]
