# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Explanations quote results of runs from tables; typed numbers in their text are found here."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perigee_studies import beside, causes, misses
from perigee_studies.conclude import read_csv
from perigee_studies.figures.misses import MISSES
from perigee_studies.model import Ask, Evidence, Experiment
from perigee_studies.registry import experiments

if TYPE_CHECKING:
    from types import FunctionType

    from perigee_studies.decided import Miss
    from perigee_studies.verdicts import Verdict

DATA = Path(__file__).parents[2] / "docs/studies/data"
NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:[.,]\d+)*")
# Names of things, not results: figures and tables, runs and schedules by number, whatever is set in
# code.
NAMES = re.compile(
    r"`[^`]*`|\b(?:Fig\.|Tables?|[Ss]ections?|RFC|Linux|[Rr]uns?|schedules?|rows?|Change|Pair) [\dIVX.]+"
    r"(?:(?: to| and) [\dIVX.]+)*|\b95 % intervals?"
)


def typed(text: str) -> list[str]:
    """The numbers of a text that are no part of a name."""
    return [plain(n) for n in NUMBER.findall(NAMES.sub(" ", text))]


def literals(function: Callable[..., Any]) -> Iterator[str]:
    """Texts in a function: literals with a space, those of its f-strings between the values."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    head = next(n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda)))
    about = ast.get_docstring(head) if isinstance(head, ast.FunctionDef) else None
    formats = {id(c) for n in ast.walk(tree) if isinstance(n, ast.FormattedValue) and n.format_spec
               for c in ast.walk(n.format_spec)}  # fmt: skip
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in formats else None
        if isinstance(text, str) and " " in text and inspect.cleandoc(text) != about:
            yield text


def computing(e: Experiment) -> Iterator[FunctionType]:
    """The functions that compute an experiment's explanations, those within a lambda included."""
    todo: list[Any] = [e.explain, None if e.evidence is None else e.evidence.words]
    while todo:
        f = todo.pop()
        if isinstance(f, Evidence):
            todo.append(f.words)
        elif inspect.isfunction(f):
            todo += [cell.cell_contents for cell in f.__closure__ or ()]
            if f.__name__ != "<lambda>":
                yield f


def texts(e: Experiment) -> set[str]:
    """All text from which an experiment's explanations come."""
    found = set(e.explained.values())
    for f in computing(e):
        found |= set(literals(f))
        module = vars(sys.modules[f.__module__])
        found |= {v for name, v in module.items() if name.startswith("WHY_") and isinstance(v, str)}
    return found


def published(e: Experiment) -> list[Verdict]:
    """An experiment's claims, with what was published."""
    folder = DATA / e.name.replace("/", "-")
    saved = {p.stem: read_csv(p) for p in sorted(folder.glob("*.csv"))}
    return e.verdicts(beside.headline(saved)) if saved else []


def given(e: Experiment) -> set[str]:
    """Numbers of set-up and publication, and of the other paper's: these may be quoted."""
    same = e.name.split("/")[1]
    rows = [v for name in {e.name, f"orbcc/{same}", f"leotcp/{same}"} & experiments().keys()
            for v in published(experiments()[name])]  # fmt: skip
    words = [e.method, e.metrics, e.figure, e.title, *e.deviations, *e.missing, *e.captions.values()]
    words += [f"{v.claim} {v.source} {v.published} {v.tolerance}" for v in rows]
    words += [str(value) for c in e.cases(Ask()) for value in c.labels.values()]
    return {plain(n) for text in words for n in re.findall(r"\d+(?:[.,]\d+)*", text)}


def plain(number: str) -> str:
    """113.50 is 113.5."""
    number = number.rstrip(".,")
    return number.rstrip("0").rstrip(".") if "." in number else number


@pytest.mark.slow
@pytest.mark.parametrize("name", list(experiments()))
def test_explanations_have_no_typed_results(name: str) -> None:
    e = experiments()[name]
    allowed = given(e)
    found = {n: text for text in texts(e) for n in typed(text) if n not in allowed}
    assert not found, "compute these from a table, or say it without a number"


@pytest.mark.slow
@pytest.mark.parametrize("miss", MISSES, ids=lambda miss: str(miss.number))
def test_the_ten_misses_have_no_typed_results(miss: Miss) -> None:
    allowed = {n for name in (*miss.experiments, *ALSO.get(miss.number, ())) for n in given(experiments()[name])}
    found = {n: text for text in (miss.hypothesis, *literals(miss.decide)) for n in typed(text) if n not in allowed}
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("name", list(causes.causes()))
def test_findings_have_no_typed_results(name: str) -> None:
    cause = causes.causes()[name]
    allowed = {n for page in {*cause.pages, *cause.claims} for n in given(experiments()[page])}
    assert not {n for text in (cause.title, cause.support) for n in typed(text) if n not in allowed}


ALSO = {7: ("geo/downloads",), 8: ("geo/downloads",)}
"""Where the published numbers of a miss are claims."""


@pytest.mark.slow
def test_the_page_of_the_misses_says_what_the_tables_say() -> None:
    found = misses.findings(lambda name: DATA / name.replace("/", "-"))
    assert [m.number for m, _ in found] == list(range(1, 11))
    assert (DATA.parent / misses.PAGE).read_text(encoding="utf-8") == misses.page(found)
    assert misses.OPEN not in {f.verdict for _, f in found}


def test_typed_results_are_found() -> None:
    assert typed("It has 48.7 ms in run 2 (`x = 3`), Fig. 5, 1,732 Mbit, BBRv3.") == ["48.7", "1,732"]

    def explain(value: float) -> str:
        """Not this 1 text."""
        return f"the queue holds {value:.2f} ms, 3.1 as published"

    assert [n for text in literals(explain) for n in typed(text)] == ["3.1"]
