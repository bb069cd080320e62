# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kinds of claims; only the first two count as reproductions of something published."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from perigee_studies.model import Experiment, Tables
    from perigee_studies.verdicts import Verdict


class Kind(str, Enum):
    """The kinds of claims, in counting order."""

    NUMBER = "published number"
    STATEMENT = "published order or statement"
    SAME = "in both papers"
    TUNED = "tuned set-up"
    MODEL = "independent model"
    UNPUBLISHED = "never published"

    @property
    def meaning(self) -> str:
        """The meaning as one sentence, for tables."""
        return MEANINGS[self]


class Read(str, Enum):
    """Where a published value is from."""

    PRINTED = "printed"
    FIGURE = "read off a figure"
    """The figure was looked at."""
    WORDS = "words"


MEANINGS = {
    Kind.NUMBER: "a number that the study prints, or a point read off a figure that was looked at",
    Kind.STATEMENT: "an order, or words such as high or near full, whose bounds are ours",
    Kind.SAME: "LeoTCP's, with the published value that OrbCC's paper has too: counted there",
    Kind.TUNED: "a published number, with a key of the set-up chosen so that it comes out",
    Kind.MODEL: "a simplified calculation of the set-up: two calculations are compared",
    Kind.UNPUBLISHED: "what a study expects or assumes without having measured it, or what its set-up implies",
}
PUBLISHED = (Kind.NUMBER, Kind.STATEMENT)


def of(experiment: str, verdicts: Iterable[Verdict], others: Mapping[str, Experiment], tables: Tables) -> list[Kind]:
    """The kind of each claim, or SAME if the earlier paper has it with the same published value.

    LeoTCP is the earlier name of OrbCC; its experiments with the names of OrbCC's also have OrbCC's
    claims.
    """
    study, name = experiment.split("/", 1)
    other = others.get(f"orbcc/{name}") if study == "leotcp" else None
    twin = {v.key: v.published for v in other.verdicts(tables)} if other is not None else {}
    return [Kind.SAME if v.kind in PUBLISHED and twin.get(v.key) == v.published else v.kind for v in verdicts]


def split(rows: Iterable[Mapping[str, Any]]) -> dict[Kind, dict[str, int]]:
    """Number of claims by kind and verdict.

    Rows of earlier versions have no kind and are not counted.
    """
    found: dict[Kind, dict[str, int]] = {kind: {} for kind in Kind}
    for row in rows:
        if (kind := kind_of(row)) is not None:
            found[kind][row["verdict"]] = found[kind].get(row["verdict"], 0) + 1
    return {kind: counts for kind, counts in found.items() if counts}


def kind_of(row: Mapping[str, Any]) -> Kind | None:
    """The kind of a saved claim; None if unknown."""
    return next((kind for kind in Kind if kind.value == row.get("kind")), None)
