# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The best scheme of a comparison by metric, if tests over shared seeds permit naming one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perigee_lab.results.columns import BY_NAME, MORE
from perigee_lab.results.paired import ACCURACY, EQUAL, FEWEST, UNDECIDED, Paired, by_seed, corrected, differences

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
        if any(math.isnan(t.p) and t.mean for t in mine):
            # Equal differences in all seeds: there is nothing random to test against.
            continue
        if mine and all(t.ahead == t.a for t in mine):
            best[metric] = mine[0].a
        if metric in named and any(not math.isnan(t.p) for t in mine):
            sentences.append(f"{named[metric]}: {sentence(mine, labels)}")
    return Leaders(best, sentences)


def sentence(tests: Sequence[Paired], labels: Mapping[str, str]) -> str:
    """The outcome of the tests of the scheme with the best mean against each other scheme."""
    best, seeds = labels.get(tests[0].a, tests[0].a), f"{len(tests[0].differences)} seeds"
    if all(t.ahead == t.a for t in tests):
        return f"{best} is ahead of each other scheme over {seeds}"
    of: dict[str, list[str]] = {}
    for t in tests:
        outcome = "ahead" if t.ahead == t.a else "behind" if t.ahead else "equal" if t.verdict == EQUAL else "open"
        of.setdefault(outcome, []).append(labels.get(t.b, t.b))
    words = {
        "ahead": "is ahead of {}",
        "behind": "is behind {} over shared seeds",
        "equal": f"has no difference from {{}} (equal, or within ±{100 * ACCURACY:g} %)",
        "open": "has a better mean than {}, " + UNDECIDED,
    }
    parts = [text.format(", ".join(of[outcome])) for outcome, text in words.items() if outcome in of]
    return f"{best} {'; '.join(parts)} ({seeds})"
