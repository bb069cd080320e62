# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Additional runs of a figure: schemes of a study's simulator, and variants for explanations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from perigee_studies import beside, frames, made, pages
from perigee_studies.figures import leo_cc_cases, leo_cc_evidence
from perigee_studies.model import Ask, Case, Evidence, Experiment, Outcome, Size, Tables, Theirs
from perigee_studies.registry import experiments
from perigee_studies.verdicts import DIFFERS, REPRODUCED, Verdict, near

if TYPE_CHECKING:
    from perigee_studies.digest import Digest

GOODPUT = {("cubic", ""): 60.0, ("bbr", ""): 90.0, ("cubic", "theirs"): 50.0, ("bbr", "variants"): 70.0}


def claims(t: Tables) -> list[Verdict]:
    ours = {cc: frames.average(t["runs"], "goodput", cc=cc) for cc in ("cubic", "bbr")}
    return [near(cc, f"{cc}'s goodput", "Fig. 1", 50 if cc == "cubic" else 90, ours[cc], 1) for cc in ours]


def words(t: Tables, variants: Tables) -> dict[str, str]:
    now, other = (frames.average(x["runs"], "goodput", cc="bbr").value for x in (t, variants))
    return {"cubic": f"{now:g} becomes {other:g}"}


MADE_UP = Experiment(
    name="study/made-up",
    title="Made up",
    figure="Fig. 1",
    schemes=("cubic", "bbr"),
    cases=lambda ask: [Case("-", cc) for cc in ask.schemes(("cubic", "bbr"))],
    tables=lambda found: {"runs": frames.table(found, lambda o: {"goodput": goodput(o)})},
    verdicts=claims,
    draw=lambda _: {},
    method="",
    explained={"cubic": "typed", "bbr": "typed"},
    theirs=Theirs(("cubic",), {"tcp.profile": "inet"}, "As theirs."),
    evidence=Evidence(lambda _: [Case("-", "bbr", {"variant": "slow"})], words),
)


def goodput(o: Outcome) -> float:
    """Goodput of a run of the experiment; `digest` is the set to which the run belongs."""
    return GOODPUT[o.case.cc, str(o.digest)]


def outcomes(cases: list[Case]) -> list[Outcome]:
    def of(case: Case) -> Digest:
        return str(case.labels.get(beside.LABEL, ""))  # type: ignore[return-value]

    return [Outcome(case, of(case)) for case in cases]


def saved() -> Tables:
    return beside.tables(MADE_UP, outcomes(beside.cases(MADE_UP, Ask())))


def test_claims_and_figures_have_the_simulators_schemes_and_linuxs_are_kept_beside_them():
    found = beside.headline(saved())
    assert set(found) == {"runs", "linux-runs"}
    assert list(zip(found["runs"]["cc"], found["runs"]["goodput"], strict=True)) == [("cubic", 50), ("bbr", 90)]
    assert list(found["linux-runs"]["goodput"]) == [60]
    assert beside.headline({"runs": saved()["runs"]})["runs"]["goodput"].tolist() == [60, 90]


def test_the_tables_of_the_figure_have_nothing_of_what_is_beside():
    cases = beside.cases(MADE_UP, Ask())
    assert [(c.cc, c.labels.get(beside.LABEL)) for c in cases] == [
        ("cubic", None),
        ("bbr", None),
        ("cubic", "theirs"),
        ("bbr", "variants"),
    ]
    assert cases[2].sets == {"tcp.profile": "inet"}
    tables = saved()
    assert set(tables) == {"runs", "theirs-runs", "variants-runs"}
    assert list(beside.of_figure(tables)) == ["runs"]
    assert list(tables["runs"]["goodput"]) == [60, 90]


@pytest.mark.parametrize("ask", [Ask(Size.QUICK), Ask(cc=("cubic",))])
def test_a_smoke_check_or_other_schemes_have_nothing_beside(ask: Ask):
    assert all(beside.LABEL not in c.labels for c in beside.cases(MADE_UP, ask))


def test_claims_are_compared_where_the_simulators_schemes_change_them():
    tables = saved()
    [row] = beside.compared(MADE_UP, tables, claims(beside.headline(tables)))
    assert (row["linux"], row["linux_verdict"]) == ("60", DIFFERS)
    assert (row["theirs"], row["theirs_verdict"]) == ("50", REPRODUCED)
    assert beside.compared(MADE_UP, {"runs": tables["runs"]}, claims(tables)) == []


def test_explanations_are_computed_from_variants_where_they_were_run():
    tables = saved()
    assert beside.explained(MADE_UP, tables) == {"cubic": "90 becomes 70", "bbr": "typed"}
    assert beside.explained(MADE_UP, {"runs": tables["runs"]}) == {"cubic": "typed", "bbr": "typed"}


def test_a_page_has_the_claims_with_both_and_the_front_page_sums_them_up():
    tables = saved()
    rows = beside.compared(MADE_UP, tables, claims(beside.headline(tables)))
    text = "\n".join(pages._theirs("As theirs.", rows))
    assert "| cubic's goodput | 50 | 50 | reproduced | 60 | not reproduced |" in text
    [found] = pages.THEIRS_PATTERN.findall(text)
    assert found == ("1", "0", "0", "1", "0")
    summed = pages._theirs_in_all([(1, 0, 0, 1, 0), (4, 2, 1, 0, 1)])
    assert re.sub(r"\s+", " ", summed).endswith(
        "Of the 5 claims on which that has a bearing 2 come out with either, 1 with Linux's schemes only, 1 with the "
        "simulator's only, 1 with neither."
    )


def test_the_pages_of_the_orbcc_study_have_the_schemes_of_its_simulator():
    with_theirs = {name for name, e in experiments().items() if e.theirs is not None}
    of_orbcc = {name for name in with_theirs if name.startswith("orbcc/")}
    assert of_orbcc == {
        f"orbcc/{name}"
        for name in (
            "responsiveness",
            "responsiveness-loss",
            "soft-handover",
            "path-sharing",
            "intermittent",
            "parking-lot",
            "many-flow-handover",
            "inter-rtt",
            "intra-rtt",
        )
    }
    twins = {f"orbcc/{name.split('/')[1]}" for name in with_theirs - of_orbcc} - {"orbcc/hard-handover"}
    assert twins == of_orbcc - {"orbcc/responsiveness", "orbcc/responsiveness-loss", "orbcc/many-flow-handover"}


@pytest.mark.parametrize("name", ["leo-cc/efficiency", "leo-cc/parking-lot", "orbcc/hpcc", "orbcc/neighbours"])
def test_every_variant_is_another_scenario_than_the_figures(name: str):
    e = experiments()[name]
    assert e.evidence is not None
    plain = [(c.cc, c.seed, repr(c.sets)) for c in e.cases(Ask())]
    for case in e.evidence.cases(Ask()):
        assert (case.cc, case.seed, repr(case.sets)) not in plain, case.labels


def test_explanations_of_the_testbed_quote_what_the_variants_did():
    def runs(values: list[dict[str, object]], **more: object) -> Tables:
        return {"runs": pd.DataFrame([{**v, **more} for v in values])}

    flows = [{"cc": cc, "flows": n, "inflation": float(n)} for cc in ("leocc", "bbr3") for n in leo_cc_cases.FLOWS]
    variants = pd.concat([runs(flows, variant=v)["runs"] for v in leo_cc_evidence.EFFICIENCY])
    variants["inflation"] += 0.5
    found = leo_cc_evidence.explain_efficiency(runs(flows), {"runs": variants})
    assert "5.5 (5.5 to 5.5), 10.5 (10.5 to 10.5) and 20.5 (20.5 to 20.5) with 5, 10 and 20 flows" in found["leocc-20"]
    assert "it is 20.5 (20.5 to 20.5), joining over 100 s 20.0." in found["bbr3-20"]


def test_variants_have_their_runs_also_where_the_size_has_fewer():
    ask, efficiency_cases = Ask(), leo_cc_cases.efficiency_cases
    points = {(c.cc, c.labels["flows"]) for c in efficiency_cases(ask)}
    found = beside.repeated(efficiency_cases, ask, 4)
    assert {(c.cc, c.labels["flows"]) for c in found} == points
    assert {c.labels["run"] for c in efficiency_cases(ask)} == {1, 2, 3}
    assert {c.labels["run"] for c in found} == {1, 2, 3, 4}
    assert len(found) == 4 * len(points)


def test_variants_that_are_run_again_alone_are_told_apart(tmp_path: Path) -> None:
    made.note(tmp_path, "perigee study run a/b", 60)
    made.note_variants(tmp_path, 50)
    made.note_variants(tmp_path, 4, ["deep"])
    made.note_variants(tmp_path, 7, ["shallow"])
    words = made.in_words(made.read(tmp_path))
    assert words.count("of run time") == 4
    assert "in 50 s of run time. Of these “deep”: Perigee" in words
    assert "in 4 s of run time. Of these “shallow”: Perigee" in words
    made.note_variants(tmp_path, 9)
    assert made.in_words(made.read(tmp_path)).endswith("in 9 s of run time.")


@pytest.mark.parametrize("size", [Size.DEFAULT, Size.FULL])
def test_each_variant_has_a_name_that_its_experiment_declares(size: Size) -> None:
    """Without a name, the runs of a variant are in no table, and its hypotheses stay open."""
    for e in experiments().values():
        if e.evidence is not None:
            found = [c.labels.get("variant") for c in e.evidence.cases(Ask(size))]
            assert set(found) == set(e.evidence.names), e.name
