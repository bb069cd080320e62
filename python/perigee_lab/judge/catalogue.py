# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Catalogues of test cases: folders of scenarios with `[case]` and `[[expect]]`, run as a sweep over cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import RecordError
from perigee_lab.common.names import as_folder
from perigee_lab.judge import expectations
from perigee_lab.judge.expectations import Expectation
from perigee_lab.judge.verdicts import Finding, Verdict, evaluate, worst
from perigee_lab.results.cells import CELLS, FORMAT, Axis, Cell, Index
from perigee_lab.results.record import record_folders
from perigee_lab.results.run import find_records
from perigee_lab.runs.backends import SIMULATOR, Backend
from perigee_lab.runs.cost import cost_of
from perigee_lab.runs.runner import Plan
from perigee_lab.runs.scenario import open_file, refuse_name
from perigee_lab.runs.sweep import SweepPlan, execute_sweep

if TYPE_CHECKING:
    from perigee_lab.runs.machines import Machines
    from perigee_lab.runs.scenario import Scenario

FOLDER = Path(__file__).parent / "catalogues"


class CatalogueError(PerigeeError):
    """A catalogue is unknown, empty, or one of its cases is damaged."""


@dataclass(frozen=True)
class Case:
    """A test case: a scenario with its expectations."""

    name: str
    scenario: Scenario
    expectations: list[Expectation]
    source: str
    purpose: str
    quick: bool

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self.scenario.title


@dataclass(frozen=True)
class Outcome:
    """A case with its findings; `problem` if it did not run."""

    case: Case
    findings: list[Finding]
    problem: str = ""
    folder: Path | None = None
    unable: bool = False
    """Whether the problem is one of Perigee or of the machine, not of what is judged."""

    @property
    def verdict(self) -> Verdict:
        """Failed if it did not run; not observable if nothing of it is; else the worst of the others."""
        if self.problem:
            return Verdict.FAILED
        seen = [f for f in self.findings if f.verdict is not Verdict.NOT_OBSERVABLE]
        return worst(seen) if seen else Verdict.NOT_OBSERVABLE

    @property
    def is_partial(self) -> bool:
        """Whether it was decided without some of its expectations, which are not observable."""
        unseen = sum(f.verdict is Verdict.NOT_OBSERVABLE for f in self.findings)
        return 0 < unseen < len(self.findings)

    def shown(self) -> str:
        """The verdict as text; that on the observable part of a case says so."""
        return self.verdict.value + (" in part" if self.is_partial and self.verdict is Verdict.PASSED else "")


@dataclass
class Judgement:
    """A catalogue that was run for one scheme."""

    catalogue: str
    cc: str
    outcomes: list[Outcome] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)
    """Cases that this backend cannot run, with the reason."""

    def findings(self) -> dict[str, list[Finding]]:
        """The findings by case."""
        return {o.case.name: o.findings for o in self.outcomes}

    def count(self, verdict: Verdict) -> int:
        """Number of cases with a verdict."""
        return sum(o.verdict is verdict for o in self.outcomes)

    def line(self) -> str:
        """One line for CI."""
        partial = sum(o.is_partial for o in self.outcomes if o.verdict is Verdict.PASSED)
        parts = [f"{n} {v.value}" for v in Verdict if (n := self.count(v))]
        if partial:
            parts[0] += f" ({partial} of them in part: the rest of their expectations is not observable)"
        parts += [f"{len(self.unavailable)} not available here"] if self.unavailable else []
        cases = "1 case" if len(self.outcomes) == 1 else f"{len(self.outcomes)} cases"
        return f"judge {self.catalogue}: {self.cc}: {cases}: {', '.join(parts)}"

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        cases = [
            {
                "case": o.case.name,
                "title": o.case.title,
                "source": o.case.source,
                "purpose": o.case.purpose,
                "verdict": o.verdict.value,
                "partial": o.is_partial,
                "problem": o.problem or None,
                "record": None if o.folder is None else str(o.folder),
                "expectations": [f.as_data() for f in o.findings],
            }
            for o in self.outcomes
        ]
        counts = {v.value: self.count(v) for v in Verdict}
        return {
            "catalogue": self.catalogue,
            "cc": self.cc,
            "perigee": _core.__version__,
            "verdicts": counts,
            "cases": cases,
            "unavailable": self.unavailable,
        }


def names() -> list[str]:
    """The catalogues of this package."""
    return sorted(p.name for p in FOLDER.iterdir() if p.is_dir() and any(p.glob("*.toml")))


def folder_of(catalogue: str) -> Path:
    """The folder of a catalogue of this package, or of a path. Raises CatalogueError."""
    if catalogue in names():
        return FOLDER / catalogue
    path = Path(catalogue)
    if path.is_dir():
        return path
    raise CatalogueError(
        f"--catalogue {catalogue!r} is neither a folder nor one of {', '.join(names())}: "
        "name one of these, or a folder of scenarios with [[expect]]"
    )


def load(catalogue: str, sets: Sequence[str] = (), *, quick: bool = False, trust: bool = False) -> list[Case]:
    """The cases of a catalogue by file name; `quick`: only those marked so. Raises CatalogueError, ScenarioError."""
    folder = folder_of(catalogue)
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise CatalogueError(f"{folder} has no case: put scenarios (*.toml) with [[expect]] into it")
    cases = [_case(file, sets, trust=trust) for file in files]
    chosen = [c for c in cases if c.quick or not quick]
    if not chosen:
        raise CatalogueError(f"{folder} has no case with quick = true in [case]: leave --quick out")
    return chosen


def _case(file: Path, sets: Sequence[str], *, trust: bool) -> Case:
    refuse_name(file.stem, str(file))
    scenario = open_file(file, list(sets), trust=trust)
    source, purpose, quick, states = scenario.core.case()
    found = expectations.of(scenario.core)
    if not found:
        raise CatalogueError(f"{file} expects nothing: add [[expect]], or move it out of the catalogue")
    if states:
        found = [replace(e, keys={**e.keys, "states": states}) for e in found]
    return Case(file.stem, scenario, found, source or "", purpose or "", quick)


def run(
    catalogue: str,
    cases: Sequence[Case],
    cc: Sequence[str | type],
    out: Path,
    *,
    machines: Machines,
    backend: Backend = SIMULATOR,
    force: bool = False,
    command: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> list[Judgement]:
    """Runs what is missing of the cases into `out`. Returns a judgement per scheme.

    Raises ScenarioError and RecordError before anything runs; runs that fail are outcomes.
    """
    plans: dict[str, Plan] = {}
    unavailable: dict[str, str] = {}
    for case in cases:
        if (why := backend.why_not(case.scenario.core.toml)) is not None:
            unavailable[case.name] = why
            continue
        plan = Plan.of(case.scenario, list(cc), backend=backend, command=command)
        expectations.check_flows(case.expectations, plan.first.world())
        expectations.check_variables(case.expectations, plan.jobs[0].schemes)
        plans[case.name] = plan
    if not plans:
        raise CatalogueError(f"no case of {catalogue} can run here: {next(iter(unavailable.values()))}")
    labels = next(iter(plans.values())).jobs[0].schemes
    cells = tuple(Cell(name, (f'"{name}"',)) for name in plans)
    index = Index(FORMAT, catalogue, (Axis("case", tuple(f'"{name}"' for name in plans)),), cells)
    sweep = SweepPlan(index, list(plans.values()), [cost_of(p) for p in plans.values()]).into(out, force=force)
    for plan in sweep.plans:
        plan.first.forget_world()
    try:
        execute_sweep(sweep, out, machines=machines, progress=progress)
    except RecordError:
        # Without a single complete run there is no table; the outcomes have the reasons.
        if not sweep.failed:
            raise
    judgements = {label: Judgement(catalogue, label, [], unavailable) for label in labels}
    for case in cases:
        if case.name in plans:
            for label, outcome in _outcomes(case, out / CELLS / case.name, labels, sweep).items():
                judgements[label].outcomes.append(outcome)
    return list(judgements.values())


def _outcomes(case: Case, folder: Path, labels: Sequence[str], sweep: SweepPlan) -> dict[str, Outcome]:
    """The outcome of a case for each scheme."""
    every = find_records(folder) if record_folders(folder) else []
    found = {}
    for label in labels:
        own = folder / as_folder(label)
        problem = next((line for line in sweep.failed if line.startswith(f"{own}/")), "")
        runs = [r for r in every if r.cc == label]
        if problem or not runs:
            unable = not problem or problem in sweep.unable
            found[label] = Outcome(case, [], problem or "no run was completed", own, unable)
        else:
            found[label] = Outcome(case, evaluate(case.expectations, runs), "", own)
    return found


def groups(judgements: Sequence[Judgement]) -> Mapping[str, list[Finding]]:
    """The findings by catalogue and case, for files of CI."""
    return {f"{j.catalogue}.{j.cc}.{name}": found for j in judgements for name, found in j.findings().items()}


def problems(judgements: Sequence[Judgement]) -> Mapping[str, str]:
    """The problems of the cases that did not run to their end, with the keys of `groups`."""
    return {f"{j.catalogue}.{j.cc}.{o.case.name}": o.problem for j in judgements for o in j.outcomes if o.problem}
