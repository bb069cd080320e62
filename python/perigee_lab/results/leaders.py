# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The best scheme of a comparison by metric, if tests over shared seeds permit naming one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perigee_lab.results.columns import BY_NAME, MORE
from perigee_lab.results.paired import FEWEST, Paired, by_seed, corrected, differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perigee_lab.results.run import Run


@dataclass(frozen=True)
class Leaders:
    """The best schemes of a comparison, by metric."""

    best: dict[str, str]
    """The scheme that is ahead of every other scheme; metrics without such a scheme are absent."""
    sentences: list[str]


def leaders(
    runs: Sequence[Run], metrics: Sequence[str], named: Mapping[str, str], labels: Mapping[str, str]
) -> Leaders:
    """Tests the scheme with the best mean of each metric against each other one, seed by seed.

    Holm's correction covers all of these tests. `named` has the metrics that are mentioned in a
    sentence, with their names there; `labels` has the labels of schemes.
    """
    schemes = list(dict.fromkeys(r.cc for r in runs))
    tests: dict[str, list[Paired]] = {}
    for metric in metrics:
        values = {cc: v for cc in schemes if len(v := by_seed(runs, cc, metric)) >= FEWEST}
        if not BY_NAME[metric].better or len(values) < 2:
            continue
        sign = -1 if BY_NAME[metric].better == MORE else 1
        top = min(values, key=lambda cc: sign * math.fsum(values[cc].values()) / len(values[cc]))
        others = [cc for cc in values if cc != top and len(values[cc].keys() & values[top].keys()) >= FEWEST]
        tests[metric] = [differences(values[top], values[cc], metric, top, cc) for cc in others]
    flat = corrected([t for of in tests.values() for t in of])
    best: dict[str, str] = {}
    sentences = []
    for metric in tests:
        mine = [t for t in flat if t.metric == metric]
        if any(math.isnan(t.p) for t in mine):
            # Equal differences in all seeds: there is nothing random to test against.
            continue
        level = [t.b for t in mine if t.ahead != t.a]
        if mine and not level:
            best[metric] = mine[0].a
        if mine and metric in named:
            first, *others = (labels.get(cc, cc) for cc in (mine[0].a, *level))
            seeds = f"over {len(mine[0].differences)} seeds"
            outcome = f"does not differ from {', '.join(others)}" if others else "is ahead of each other scheme"
            sentences.append(f"{named[metric]}: {first} {outcome} {seeds}")
    return Leaders(best, sentences)
