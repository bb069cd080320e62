# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Additional runs of a figure.

These are the schemes of the study's own simulator, and variants that explain a miss.

Their tables are stored under separate names. Claims and figures have the schemes of the study's own
simulator in place of Linux's, which are compared and drawn beside them (`headline`). A result that
is reproduced only with the simulator's schemes is a property of the simulator; one that is
reproduced with both is a property of the schemes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from perigee_studies.model import Evidence, Size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    import pandas as pd

    from perigee_studies.decided import Decided
    from perigee_studies.model import Ask, Case, Experiment, Outcome, Tables
    from perigee_studies.verdicts import Verdict

LABEL = "beside"
THEIRS, VARIANTS, LINUX = "theirs", "variants", "linux"
STUDY, SIMULATED = "study", "simulated"
"""Simulated cases next to those on Linux hosts, with the models of the study's Linux and of the hosts'."""


@dataclass(frozen=True)
class Compared:
    """A claim evaluated with Linux's schemes and with the simulator's."""

    claim: str
    published: str
    linux: str
    linux_verdict: str
    theirs: str
    theirs_verdict: str


def cases(experiment: Experiment, ask: Ask) -> list[Case]:
    """All cases of an experiment.

    At the quick size or with other schemes, only those of the figure.
    """
    ours = experiment.cases(ask)
    more: list[Case] = []
    if ask.size is not Size.QUICK and not ask.cc:
        if experiment.theirs is not None:
            again = [replace(c, sets={**c.sets, **experiment.theirs.sets}) for c in ours if _is_theirs(experiment, c)]
            more += [marked(c, THEIRS) for c in again]
        more += variants(experiment, ask)
    return [*ours, *more]


def variants(experiment: Experiment, ask: Ask, names: Collection[str] = ()) -> list[Case]:
    """The variants on which explanations rest; with `names`, only these."""
    found = [] if experiment.evidence is None else experiment.evidence.cases(ask)
    return [marked(c, VARIANTS) for c in found if not names or c.labels["variant"] in names]


def _is_theirs(experiment: Experiment, case: Case) -> bool:
    return experiment.theirs is not None and case.cc in experiment.theirs.schemes


def marked(case: Case, what: str) -> Case:
    """The case as one of additional runs."""
    return replace(case, labels={**case.labels, LABEL: what})


def together(*pieces: Evidence) -> Evidence:
    """Combines several pieces of evidence on one experiment.

    Pieces with variants that have not been run are skipped.
    """

    def words(t: Tables, variants: Tables) -> dict[str, str]:
        there = set(variants["runs"]["variant"])
        return {key: why for e in pieces if set(e.names) <= there for key, why in e.words(t, variants).items()}

    def decide(t: Tables, variants: Tables) -> list[Decided]:
        there = set(variants["runs"]["variant"])
        return [d for e in pieces if set(e.names) <= there and e.decide is not None for d in e.decide(t, variants)]

    names = tuple(dict.fromkeys(name for e in pieces for name in e.names))
    return Evidence(lambda ask: [c for e in pieces for c in e.cases(ask)], words, names, decide)


def repeated(figure: Callable[[Ask], list[Case]], ask: Ask, runs: int) -> list[Case]:
    """The points of a figure with this many runs each, even if the requested size has fewer."""

    def point(case: Case) -> tuple[object, ...]:
        return case.scenario, case.cc, *sorted((k, str(v)) for k, v in case.labels.items() if k != "run")

    here = {point(c) for c in figure(ask)}
    whole = figure(replace(ask, size=Size.FULL))
    return [c for c in whole if point(c) in here and int(c.labels["run"]) <= runs]


def varied(cases: Iterable[Case], name: str, sets: Mapping[str, object]) -> list[Case]:
    """Cases with other settings, as the variant `name`."""
    return [replace(c, labels={**c.labels, "variant": name}, sets={**c.sets, **sets}) for c in cases]


def tables(experiment: Experiment, found: Sequence[Outcome]) -> Tables:
    """The tables of the figure and those of the additional runs."""
    kept = experiment.tables([o for o in found if LABEL not in o.case.labels])
    more = [_beside(experiment, found, what) for what in (THEIRS, STUDY, SIMULATED)]
    return kept | more[0] | more[1] | more[2] | tables_of_variants(experiment, found)


def tables_of_variants(experiment: Experiment, found: Sequence[Outcome]) -> Tables:
    """The tables of the variants, by the names under which they are stored."""
    return _beside(experiment, found, VARIANTS)


def _beside(experiment: Experiment, found: Sequence[Outcome], what: str) -> Tables:
    these = [_plain(o) for o in found if o.case.labels.get(LABEL) == what]
    of_these = experiment.tables(these).items() if these else ()
    # A table without a column of schemes or variants cannot be assigned.
    told = "variant" if what == VARIANTS else "cc"
    return {f"{what}-{name}": frame for name, frame in of_these if told in frame}


def _plain(o: Outcome) -> Outcome:
    labels = {name: value for name, value in o.case.labels.items() if name != LABEL}
    return replace(o, case=replace(o.case, labels=labels))


def of_figure(saved: Tables) -> Tables:
    """The tables of the figure's own runs, with Linux's schemes."""
    return {
        name: frame for name, frame in saved.items() if name.split("-")[0] not in {THEIRS, VARIANTS, STUDY, SIMULATED}
    }


def of(saved: Tables, what: str) -> Tables:
    """The tables of additional runs, by the names of the figure's tables."""
    return {name.split("-", 1)[1]: frame for name, frame in saved.items() if name.startswith(f"{what}-")}


def headline(saved: Tables) -> Tables:
    """The tables from which claims and figures are computed.

    The schemes of the study's simulator replace Linux's, whose rows are kept under `linux-NAME` for
    hollow marks in figures.
    """
    figure, theirs = of_figure(saved), of(saved, THEIRS)
    mixed = {name: _with(frame, theirs.get(name)) for name, frame in figure.items()}
    linux = {f"{LINUX}-{name}": _replaced(frame, theirs[name]) for name, frame in figure.items() if name in theirs}
    return mixed | linux


def has_theirs(saved: Tables) -> bool:
    """Whether the schemes of the study's simulator were run."""
    return bool(of(saved, THEIRS))


def compared(experiment: Experiment, saved: Tables, verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """The claims that depend on which schemes are used, with both results.

    `verdicts` are those with the schemes of the study's simulator.
    """
    if not of(saved, THEIRS):
        return []
    others = {v.key: v for v in experiment.verdicts(of_figure(saved))}
    pairs = [(others[v.key], v) for v in verdicts if v.key in others]
    return [
        asdict(Compared(v.claim, v.published, v.ours, v.verdict, other.ours, other.verdict))
        for v, other in pairs
        if v.ours != other.ours
    ]


def _replaced(frame: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """The rows of the schemes that the simulator's replace."""
    return frame[frame["cc"].isin(set(theirs["cc"]))]


def _with(frame: pd.DataFrame, theirs: pd.DataFrame | None) -> pd.DataFrame:
    """Replaces the rows of some schemes; the schemes keep their order."""
    import pandas as pd

    if theirs is None or theirs.empty:
        return frame
    mixed = pd.concat([frame[~frame["cc"].isin(set(theirs["cc"]))], theirs], ignore_index=True)
    place = {cc: i for i, cc in enumerate(dict.fromkeys(frame["cc"]))}
    return mixed.sort_values("cc", key=lambda ccs: ccs.map(place), kind="stable", ignore_index=True)


def explained(experiment: Experiment, saved: Tables) -> Mapping[str, str]:
    """Explanations by claim.

    These are constant ones, those computed from the figure's tables, and those computed from
    variants.
    """
    figure, beside = of_figure(saved), of_variants(saved)
    found = dict(experiment.explained)
    if experiment.explain is not None:
        found |= experiment.explain(headline(saved), of(saved, THEIRS))
    if experiment.evidence is not None and beside:
        found |= experiment.evidence.words(figure, beside)
    return found


def decided(experiment: Experiment, saved: Tables) -> Sequence[Decided]:
    """Hypotheses whose variants were run, with their verdicts."""
    evidence, variants = experiment.evidence, of_variants(saved)
    if evidence is None or evidence.decide is None or not variants:
        return []
    return evidence.decide(of_figure(saved), variants)


def of_variants(saved: Tables) -> Tables:
    """The tables of the variants, by the names of the figure's tables."""
    return of(saved, VARIANTS)
