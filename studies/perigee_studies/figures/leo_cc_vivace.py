# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Comparison of Vivace's programs with the testbed's figures.

Both programs are run with and without the latency term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies import frames
from perigee_studies.beside import repeated, varied
from perigee_studies.model import Evidence
from perigee_studies.verdicts import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from perigee_studies.model import Ask, Case, Tables
    from perigee_studies.verdicts import Verdict

DEAF, NEWER, NEWER_DEAF = "without latency", "newer program", "newer, without latency"
PROGRAMS: Mapping[str, Mapping[str, object]] = {
    DEAF: {"cc.vivace.latency": False},
    NEWER: {"cc.vivace.variant": "newer"},
    NEWER_DEAF: {"cc.vivace.variant": "newer", "cc.vivace.latency": False},
}
AS_RUN = "as run"
RUNS = 4


def evidence(
    figure: Callable[[Ask], list[Case]],
    verdicts: Callable[[Tables], list[Verdict]],
    where: Callable[[Case], bool] = lambda _: True,
) -> Evidence:
    """Runs of Vivace's points with the other programs, and its claims by program."""

    def cases(ask: Ask) -> list[Case]:
        mine = [c for c in repeated(figure, ask, RUNS) if c.cc == "vivace" and where(c)]
        return [c for name, sets in PROGRAMS.items() for c in varied(mine, name, sets)]

    def explain(t: Tables, variants: Tables) -> dict[str, str]:
        each = claims(t, variants, verdicts)
        return {key: f"With {in_words(each[key])}." for key in each}

    return Evidence(cases, explain, tuple(PROGRAMS))


def claims(t: Tables, variants: Tables, verdicts: Callable[[Tables], list[Verdict]]) -> dict[str, dict[str, Verdict]]:
    """Vivace's claims by key, each with its verdict by program.

    Raises KeyError if a program was not run.
    """
    import pandas as pd

    found: dict[str, dict[str, Verdict]] = {}
    for name in (AS_RUN, *PROGRAMS):
        runs = t["runs"]
        if name != AS_RUN:
            other = frames.pick(variants["runs"], variant=name)
            if other.empty:
                raise KeyError(name)
            runs = pd.concat([runs[runs["cc"] != "vivace"], other], ignore_index=True)
        for v in verdicts({**t, "runs": runs}):
            if "Vivace" in v.claim or "all others" in v.claim:
                found.setdefault(v.key, {})[name] = v
    whole = {key: each for key, each in found.items() if len(each) == 1 + len(PROGRAMS)}
    return {key: each for key, each in whole.items() if all(v.verdict != MISSING for v in each.values())}


def in_words(each: Mapping[str, Verdict]) -> str:
    """The results of each program for one claim, as text."""
    found = ((name, v, f"{v.interval}; " if v.interval else "") for name, v in each.items() if name != AS_RUN)
    return "; with ".join(f"Vivace {name}: {v.ours} ({interval}{v.verdict})" for name, v, interval in found)
