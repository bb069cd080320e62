# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kinds of claims; only the first two count as reproductions of something published."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from perigee_lab.study.verdicts import REPRODUCED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from perigee_lab.study.model import Experiment, Tables
    from perigee_lab.study.verdicts import Verdict


class Kind(str, Enum):
    """The kinds of claims, in the order in which they are counted."""

    NUMBER = "published number"
    STATEMENT = "published order or statement"
    SAME = "in both papers"
    TUNED = "tuned set-up"
    MODEL = "independent model"
    UNPUBLISHED = "never published"

    @property
    def meaning(self) -> str:
        """One sentence for tables."""
        return MEANINGS[self]


MEANINGS = {
    Kind.NUMBER: "a number that the study prints, or a point read off its figure",
    Kind.STATEMENT: "an order, or words such as high or near full, whose bounds are ours",
    Kind.SAME: "LeoTCP's, with the published value that OrbCC's paper has too: counted there",
    Kind.TUNED: "a published number, with a key of the set-up chosen so that it comes out",
    Kind.MODEL: "a simplified calculation of the set-up: two calculations are compared",
    Kind.UNPUBLISHED: "what a study expects or assumes without having measured it, or what its set-up implies",
}
PUBLISHED = (Kind.NUMBER, Kind.STATEMENT)
# What the column of sources says where nothing was published.
_MODELS = ("independent model", "independent calculation", "calculation", "derived from")
_UNPUBLISHED = ("not published", "not measured", "by construction", "suggested in")
_TUNED = ("geo/set-ups",)
_NUMBER = re.compile(
    r"(p < |about |almost |near (or below )?|around |close to |≈ |at (most|least) |within |below |ratio ≤ |< )?\d"
)


def kinds(experiment: Experiment, verdicts: Iterable[Verdict], twin: Mapping[str, str]) -> list[Kind]:
    """The kind of each claim; `twin` has the published values of the same experiment of another paper by their keys."""
    return [_kind(experiment.name, v, twin) for v in verdicts]


def _kind(experiment: str, v: Verdict, twin: Mapping[str, str]) -> Kind:
    if v.source.startswith(_MODELS):
        return Kind.MODEL
    if any(words in v.source for words in _UNPUBLISHED):
        return Kind.UNPUBLISHED
    if experiment in _TUNED:
        return Kind.TUNED
    if twin.get(v.key) == v.published:
        return Kind.SAME
    number = _NUMBER.match(v.published) and "≥" not in v.published
    return Kind.NUMBER if number else Kind.STATEMENT


def twin_of(experiment: Experiment, others: Mapping[str, Experiment], tables: Tables) -> dict[str, str]:
    """What the earlier paper published for the same experiment: LeoTCP is OrbCC's earlier name."""
    study, name = experiment.name.split("/", 1)
    other = others.get(f"orbcc/{name}") if study == "leotcp" else None
    return {v.key: v.published for v in other.verdicts(tables)} if other is not None else {}


def reproduced(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many claims of an experiment came out again, published or not; terminal and gallery say the same."""
    return f"{sum(row['verdict'] == REPRODUCED for row in rows)} of {len(rows)}"


def split(rows: Iterable[Mapping[str, Any]]) -> dict[Kind, dict[str, int]]:
    """Number of claims by kind and verdict; rows that earlier versions saved have no kind and count nowhere."""
    found: dict[Kind, dict[str, int]] = {kind: {} for kind in Kind}
    for row in rows:
        if (kind := kind_of(row)) is not None:
            found[kind][row["verdict"]] = found[kind].get(row["verdict"], 0) + 1
    return {kind: counts for kind, counts in found.items() if counts}


def kind_of(row: Mapping[str, Any]) -> Kind | None:
    """The kind of a saved claim; None where it has none that is known."""
    return next((kind for kind in Kind if kind.value == row.get("kind")), None)
