# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Permutation test of claims: each is recomputed with the results of the schemes exchanged.

A claim that holds under at least half of the exchanges is not specific to its scheme, and does not
count as reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perigee_studies import style
from perigee_studies.verdicts import ANY, REPRODUCED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perigee_studies.model import Experiment, Tables
    from perigee_studies.verdicts import Verdict

NAMES = ("cc", "what", "scheme")
"""Columns with names of schemes; values of `what` that are not schemes stay unchanged."""
_OF_RUNS = ("cc", "scheme")
"""Columns with nothing but names of schemes."""


@dataclass(frozen=True)
class Power:
    """Result of the permutation test of a claim."""

    passed: int
    """Number of exchanges under which the claim still holds."""
    tried: int
    """Number of exchanges."""

    @property
    def telling(self) -> bool:
        """Whether the claim is specific: it fails under more than half of the exchanges."""
        return 2 * self.passed < self.tried


def power(experiment: Experiment, tables: Tables) -> dict[str, Power]:
    """Recomputes the claims of an experiment under all cyclic shifts of its schemes, by key.

    In the first shift, each scheme's results carry the name of the next scheme, and so on.

    Covers only claims that are reproduced and concern schemes: those that name a scheme, or with
    numbers that change under an exchange. Empty for a single scheme.
    """
    schemes = sorted(
        {cc for frame in tables.values() for column in _OF_RUNS if column in frame for cc in frame[column]}
    )
    labels = [style.label(cc) for cc in schemes]
    before = _by_key(experiment.verdicts(tables))
    after = [_by_key(experiment.verdicts(_shifted(tables, schemes, by))) for by in range(1, len(schemes))]

    def on_schemes(key: str, v: Verdict) -> bool:
        changes = any(key in other and other[key].ours != v.ours for other in after)
        return changes or any(label in v.claim for label in labels)

    held = [key for key, v in before.items() if after and v.verdict == REPRODUCED and on_schemes(key, v)]
    # A claim that has no data under an exchange counts as failed.
    return {
        key: Power(sum(key in other and other[key].verdict == REPRODUCED for other in after), len(after))
        for key in held
    }


def weighed(verdicts: Sequence[Verdict], found: Mapping[str, Power]) -> list[Verdict]:
    """The verdicts, with ANY for claims that are not specific to their scheme."""
    return [replace(v, verdict=ANY) if v.key in found and not found[v.key].telling else v for v in verdicts]


def _by_key(verdicts: list[Verdict]) -> dict[str, Verdict]:
    return {v.key: v for v in verdicts}


def _shifted(tables: Tables, schemes: list[str], by: int) -> Tables:
    other = {cc: schemes[(i + by) % len(schemes)] for i, cc in enumerate(schemes)}
    return {
        name: frame.assign(**{column: frame[column].replace(other) for column in NAMES if column in frame})
        for name, frame in tables.items()
    }
