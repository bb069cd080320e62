# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Findings: causes of misses, each with the claims that hang on it.

A claim that is not reproduced names its cause (`Verdict.cause`). Claims with one cause are the
consequences of one finding, in all papers that have them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from perigee_studies.figures.causes import CAUSES
from perigee_studies.kinds import PUBLISHED, kind_of
from perigee_studies.registry import STUDIES
from perigee_studies.verdicts import DIFFERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perigee_studies.origins import Cause
    from perigee_studies.verdicts import Verdict


@dataclass(frozen=True)
class Found:
    """A cause with the published claims that are not reproduced because of it."""

    cause: Cause
    consequences: tuple[tuple[str, str], ...]
    """Experiment and key of each."""


@lru_cache(maxsize=1)
def causes() -> dict[str, Cause]:
    """All causes by name."""
    return {cause.name: cause for cause in CAUSES}


def named(experiment: str, verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts, each with the name of its cause if it has one."""
    cause_of = {key: c.name for c in causes().values() for key in c.claims.get(experiment, ())}
    return [replace(v, cause=cause_of.get(v.key, "")) for v in verdicts]


def found(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Found]:
    """Causes with consequences among the saved claims of experiments, most consequences first.

    A claim that LeoTCP's paper has with OrbCC's value is counted there, and not a second time.
    """
    missed: dict[str, list[tuple[str, str]]] = {}
    for experiment, claims in rows.items():
        for row in claims:
            if row["verdict"] == DIFFERS and kind_of(row) in PUBLISHED:
                missed.setdefault(str(row.get("cause", "")), []).append((experiment, str(row["key"])))
    known = [Found(causes()[name], tuple(each)) for name, each in missed.items() if name in causes()]
    return sorted(known, key=lambda f: (-len(f.consequences), f.cause.name))


def without(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[tuple[str, str]]:
    """Published claims that are not reproduced and name no cause: experiment and key."""
    return [
        (experiment, str(row["key"]))
        for experiment, claims in rows.items()
        for row in claims
        if row["verdict"] == DIFFERS and kind_of(row) in PUBLISHED and row.get("cause", "") not in causes()
    ]


def of_study(every: Sequence[Found], study: str) -> list[Found]:
    """The findings of a study.

    A finding of several studies belongs to the first of them, so that it is counted once.
    """
    return [f for f in every if _home(f) == study]


def _home(f: Found) -> str:
    studies = {experiment.split("/", 1)[0] for experiment, _ in f.consequences}
    return next(study for study in STUDIES if study in studies)
