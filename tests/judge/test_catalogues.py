# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Catalogues: complete, passed by schemes that are known to be right, failed by broken ones, equal twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import Cli
from perigee_lab.judge import catalogue
from perigee_lab.judge.catalogue import CatalogueError
from perigee_lab.judge.verdicts import Verdict
from perigee_lab.results.run import find_records
from perigee_lab.runs.machines import Machines


def judged(name: str, cc: list[Any], out: Path, sets: list[str] | None = None, **keys: Any) -> list[Any]:
    """The judgements on schemes."""
    return catalogue.run(name, catalogue.load(name, sets or [], **keys), cc, out, machines=Machines(2))


def test_every_case_has_a_source_a_purpose_and_expectations() -> None:
    assert catalogue.names() == ["bbr", "rfc9743", "satellite", "starts"]
    for name in catalogue.names():
        cases = catalogue.load(name)
        assert len({c.title for c in cases}) == len(cases)
        for case in cases:
            assert case.source, case.name
            assert case.purpose.endswith("."), case.name
        assert 0 < len(catalogue.load(name, quick=True)) < len(cases)
    assert len(catalogue.load("bbr")) == 22


def unmet(judgement: Any) -> set[tuple[str, str]]:
    """Cases and titles of the expectations that are not passed."""
    every = [(o.case.name, f) for o in judgement.outcomes for f in o.findings]
    return {(name, f.expectation.title) for name, f in every if f.verdict is not Verdict.PASSED}


@pytest.mark.slow
def test_the_bounds_of_the_drafts_cases_name_their_sources_and_verdicts_are_known(tmp_path: Path) -> None:
    """Both variants leave a bound that follows from the draft; neither bound was moved to where they are."""
    for case in catalogue.load("bbr"):
        assert all(e.source.startswith(("draft", "derived from the draft: ", "arithmetic")) for e in case.expectations)
    slow = ("16-ten-times-less", "the bandwidth in use falls within 8 rounds")
    [draft] = judged("bbr", ["bbr3"], tmp_path / "draft", ["cc.bbr3.variant=draft"])
    assert unmet(draft) == {slow, ("01-startup-plateau", "STARTUP lasts its doublings and three rounds")}
    assert not any(o.is_partial for o in draft.outcomes)
    [linux] = judged("bbr", ["bbr3"], tmp_path / "linux")
    drain = ("03-drain-inflight", "pacing gain of 0.5")
    assert unmet(linux) == {slow, drain, ("14-sub-packet", "pacing at the path's rate")}
    [again] = judged("bbr", ["bbr3"], tmp_path / "again")
    assert linux.as_data()["cases"] != []
    hashes = [
        [r.manifest.tables for c in catalogue.load("bbr") for r in find_records(tmp_path / where / "cells" / c.name)]
        for where in ("linux", "again")
    ]
    assert hashes[0] == hashes[1]
    assert [o.verdict for o in again.outcomes] == [o.verdict for o in linux.outcomes]


@pytest.mark.slow
def test_states_of_another_kind_of_scheme_are_not_observable(tmp_path: Path) -> None:
    for judgement in judged("bbr", ["cubic", "orbcc"], tmp_path, quick=True):
        white = [
            f for o in judgement.outcomes for f in o.findings if f.expectation.metric in ("visits", "stay", "reached")
        ]
        assert {f.verdict for f in white} == {Verdict.NOT_OBSERVABLE}, judgement.cc
        assert any(o.is_partial and o.shown() == "passed in part" for o in judgement.outcomes)


CASE = """
title = "fast"
[case]
source = "ours"
purpose = "It has more than a share."
quick = true
[run]
duration = "3 s"
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
[[expect]]
metric = "share"
at_least = 0.8
[[expect]]
title = "<b>bold</b>"
metric = "share"
at_least = {}
"""
MINE = """
import perigee_lab as perigee

class Mine(perigee.CongestionControl):
    \"\"\"Doubles, halves.\"\"\"

    def on_ack(self, cx, window, ack):
        if ack.may_grow and cx.cwnd_limited:
            slow = window.ssthresh is None or window.cwnd < window.ssthresh
            window.cwnd += ack.newly_acked if slow else ack.newly_acked * cx.mss / window.cwnd
"""


@pytest.mark.slow
def test_a_folder_of_ones_own_judges_a_class(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    words = ["judge", "mine.py:Mine", "--catalogue", "cases", "--out", "o", "--junit", "j.xml"]
    assert "has no case" in cli(*words).stderr
    (tmp_path / "cases/one.toml").write_text(CASE.format(0.5), encoding="utf-8")
    green = cli(*words)
    assert green.returncode == 0, green.stdout + green.stderr
    assert "judge cases: python:Mine: 1 case: 1 passed" in green.stdout
    (tmp_path / "cases/two.toml").write_text(CASE.format(2.0).replace('"fast"', '"faster"'), encoding="utf-8")
    red = cli(*words)
    assert red.returncode == 4
    assert "1 passed, 1 failed" in red.stdout
    suites = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert [s.get("failures") for s in suites] == ["0", "1"]
    page = (tmp_path / "o/judge.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<b>" not in page
    told = json.loads((tmp_path / "o/judge.json").read_text(encoding="utf-8"))
    assert told["catalogues"][0]["verdicts"] == {"passed": 1, "failed": 1, "undecided": 0, "not observable": 0}


def test_a_class_that_raises_fails_its_cases_only(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "cases").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"cases/{name}.toml").write_text(CASE.format(0.5), encoding="utf-8")
    (tmp_path / "mine.py").write_text(MINE.replace("slow = ", "slow = 1 / 0 or "), encoding="utf-8")
    done = cli("judge", "mine.py:Mine", "--catalogue", "cases", "--out", "o", "--junit", "j.xml", "--tap", "t.tap")
    assert done.returncode == 4
    assert "2 failed" in done.stdout
    assert "ZeroDivisionError" in done.stdout + (tmp_path / "o/judge.html").read_text(encoding="utf-8")
    suites = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert [(s.get("tests"), s.get("errors")) for s in suites] == [("1", "1")] * 2
    assert all("ZeroDivisionError" in str(e.get("message")) for e in suites.iter("error"))
    lines = (tmp_path / "t.tap").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "1..2"
    assert sum(line.startswith("not ok") for line in lines) == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["judge", "cubic", "--catalogue", "nowhere"], "neither a folder nor one of bbr, rfc9743, satellite, starts"),
        (["judge", "my_cubic", "--catalogue", "bbr", "--quick"], "my_cubic"),
        (["judge", "cubic", "--backend", "emulation"], "runs in real time"),
    ],
)
def test_errors_name_the_remedy(cli: Cli, words: list[str], expected: str) -> None:
    done = cli(*words)
    assert done.returncode == 2
    assert expected in done.stderr


def test_a_case_without_expectations_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(CASE.split("[[expect]]", maxsplit=1)[0], encoding="utf-8")
    with pytest.raises(CatalogueError, match="expects nothing"):
        catalogue.load(str(tmp_path))


@pytest.mark.slow
def test_window_schemes_resume_carefully_by_the_rules_of_rfc_9959(tmp_path: Path) -> None:
    for judgement in judged("starts", ["newreno", "cubic"], tmp_path):
        assert {o.case.name: o.verdict for o in judgement.outcomes if o.verdict is not Verdict.PASSED} == {}
        assert not any(o.is_partial for o in judgement.outcomes), judgement.cc


@pytest.mark.slow
def test_schemes_without_starts_are_not_judged_by_them(tmp_path: Path) -> None:
    [judgement] = judged("starts", ["orbcc"], tmp_path, quick=True)
    assert {o.verdict for o in judgement.outcomes} <= {Verdict.PASSED, Verdict.NOT_OBSERVABLE}
