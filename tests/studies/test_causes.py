# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Findings: each miss names its cause, and each cause is counted once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from perigee_lab.common.statistics import mean
from perigee_studies import causes, modes, pages, published
from perigee_studies.conclude import read_csv
from perigee_studies.figures import orbcc_epochs as epochs
from perigee_studies.figures.orbcc_constellation_cases import STARTS
from perigee_studies.kinds import Kind, Read
from perigee_studies.origins import Cause
from perigee_studies.registry import experiments
from perigee_studies.verdicts import DIFFERS, MODES, REPRODUCED, TIE, Verdict, near

DOCS = Path(__file__).parents[2] / "docs/studies"
CLAIMS = {e.name: published.claims(e, DOCS) for e in experiments().values()}


def row(key: str, kind: Kind = Kind.NUMBER, verdict: str = DIFFERS, cause: str = "common-time") -> dict[str, str]:
    return {"key": key, "claim": key, "kind": kind.value, "verdict": verdict, "cause": cause}


def test_every_published_claim_that_is_not_reproduced_names_a_cause() -> None:
    assert causes.without(CLAIMS) == []


@pytest.mark.parametrize("cause", causes.causes().values(), ids=lambda c: c.name)
def test_a_cause_names_claims_and_experiments_that_exist(cause: Cause) -> None:
    for name, keys in cause.claims.items():
        known = {claim["key"] for claim in CLAIMS[name]}
        assert set(keys) & known, f"{cause.name}: none of {name}'s claims"
    assert cause.pages
    assert set(cause.pages) <= experiments().keys()


def test_no_claim_hangs_on_two_causes() -> None:
    pairs = [(name, key) for c in causes.causes().values() for name, keys in c.claims.items() for key in keys]
    assert len(pairs) == len(set(pairs))


def test_claims_of_one_cause_are_one_finding_and_twins_count_once() -> None:
    rows = {
        "orbcc/intermittent": [row("a"), row("b"), row("c", verdict=TIE), row("d", cause="")],
        "leotcp/intermittent": [row("a", Kind.SAME), row("b")],
    }
    [found] = causes.found(rows)
    assert found.consequences == (
        ("orbcc/intermittent", "a"),
        ("orbcc/intermittent", "b"),
        ("leotcp/intermittent", "b"),
    )
    assert causes.of_study([found], "orbcc") == [found]
    assert causes.of_study([found], "leotcp") == []
    assert causes.without(rows) == [("orbcc/intermittent", "d")]


def test_a_page_begins_with_its_findings() -> None:
    lines = pages.findings("orbcc/intermittent", [row("the share"), row("a claim that holds", verdict=REPRODUCED)])
    assert lines[0].startswith("* **Two flows share a link")
    assert "(undecidable; 1 claim)" in lines[0]
    assert "a claim that holds" not in " ".join(lines)
    text = (DOCS / "orbcc-intermittent.md").read_text(encoding="utf-8")
    assert text.index("* **") < text.index("published claims are reproduced") < text.index("![")


def test_pages_that_a_cause_names_are_links() -> None:
    named = [name for name, cause in causes.causes().items() if ".md)" in cause.support]
    assert len(named) == 4
    rows = [row(name, cause=name) for name in named]
    text = " ".join(" ".join(pages.findings("orbcc/parking-lot", rows)).split())
    assert "([limits](../explanation/limits.md))" in text
    assert "([misses](misses.md))" in text
    front = (DOCS / "README.md").read_text(encoding="utf-8")
    for where in (text, front):
        assert not re.search(r"(?<!\])\([\w/-]+\.md\)", where), "a page that is named, not linked"
        for target in re.findall(r"\]\(([^)#]+\.md)\)", where):
            assert (DOCS / target).is_file(), target


def test_a_published_number_was_printed_or_read_off() -> None:
    with pytest.raises(ValueError, match="'k' is a published number, but read from words"):
        Verdict("k", "claim", "Fig. 4", "0.333", "", "", "", REPRODUCED, Kind.NUMBER, Read.WORDS)
    for name in ("orbcc/parking-lot", "leo-cc/parking-lot"):
        assert Kind.NUMBER.value not in {claim["kind"] for claim in CLAIMS[name]}, "the text prints no ratio"


def test_runs_with_two_modes_carry_no_verdict() -> None:
    rng = np.random.default_rng(1)
    low, high = 15.2 + 0.5 * rng.standard_normal(66), 27 + 0.5 * rng.standard_normal(14)
    parts = modes.split([*low, *high])
    assert parts is not None
    assert [len(part) for part in parts] == [66, 14]
    found = near("k", "claim", "", 16.6, mean([*low, *high]), 2, "Mbit/s", kind=Kind.STATEMENT)
    assert (found.verdict, found.interval) == (MODES, "")
    assert found.ours.startswith("66 of 80 runs")
    # All runs on one side decide.
    assert near("k", "claim", "", 50, mean([*low, *high]), 2).verdict == DIFFERS
    assert near("k", "claim", "", 20, mean([*low, *high]), 20).verdict == REPRODUCED


def test_one_mode_stays_one() -> None:
    rng = np.random.default_rng(2)
    split = sum(modes.split(rng.standard_normal(20)) is not None for _ in range(200))
    assert split <= 8, "one in a hundred"
    assert modes.split([1, 1, 1, 9]) is None, "too few runs"
    assert modes.split([3.0] * 9) is None
    assert modes.split([*range(40), 400]) is None, "an outlier among many is no mode"


def test_the_starts_follow_the_rule() -> None:
    day = read_csv(DOCS / "data/orbcc-intermittent/variants-runs.csv")
    assert {pair: epochs.nearest(day, pair) for pair in STARTS} == STARTS
