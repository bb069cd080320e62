# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Could the claims of an experiment fail? They are computed once more with the schemes' results exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perigee.study.verdicts import REPRODUCED

if TYPE_CHECKING:
    from collections.abc import Collection

    from perigee.study.model import Experiment, Tables
    from perigee.study.verdicts import Verdict

NAMES = ("cc", "what")
"""Columns with names of schemes; `what` has other words too, which stay."""


@dataclass(frozen=True)
class Power:
    """How many claims that hold would hold with other schemes' results too."""

    passed: int
    """Claims that still hold, summed over all exchanges."""
    tried: int

    @property
    def share(self) -> float:
        """Of all that were tried, those that still hold."""
        return self.passed / self.tried


def power(experiment: Experiment, tables: Tables, keys: Collection[str]) -> Power | None:
    """Each scheme's results under the next one's name, then the one after that, …: all cyclic shifts.

    Counted are the claims named by `keys` that are reproduced as it was run and of which some exchange changes the
    figures: others say nothing of a scheme. None where there are no such claims, or a single scheme.
    """
    schemes = sorted({cc for frame in tables.values() if "cc" in frame for cc in frame["cc"]})
    before = _by_key(experiment.verdicts(tables), keys)
    after = [_by_key(experiment.verdicts(_shifted(tables, schemes, by)), keys) for by in range(1, len(schemes))]
    held = [
        key
        for key, v in before.items()
        if v.verdict == REPRODUCED and any(key in other and other[key].ours != v.ours for other in after)
    ]
    # A claim that has no data under another name did not hold there.
    passed = sum(key in other and other[key].verdict == REPRODUCED for other in after for key in held)
    return Power(passed, len(held) * len(after)) if held else None


def _by_key(verdicts: list[Verdict], keys: Collection[str]) -> dict[str, Verdict]:
    return {v.key: v for v in verdicts if v.key in keys}


def _shifted(tables: Tables, schemes: list[str], by: int) -> Tables:
    other = {cc: schemes[(i + by) % len(schemes)] for i, cc in enumerate(schemes)}
    return {
        name: frame.assign(**{column: frame[column].replace(other) for column in NAMES if column in frame})
        for name, frame in tables.items()
    }
