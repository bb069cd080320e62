# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Page with the verdicts of catalogues, self-contained."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.files import write_text
from perigee_lab.judge.verdicts import Verdict
from perigee_lab.results.webpage import filled, policy

if TYPE_CHECKING:
    from perigee_lab.judge.catalogue import Judgement, Outcome
    from perigee_lab.judge.verdicts import Finding


def write_page(judgements: Sequence[Judgement], path: Path, sets: Sequence[str] = ()) -> None:
    """Writes the page; `sets` are the overrides of the cases."""
    write_text(path, page(judgements, sets))


def page(judgements: Sequence[Judgement], sets: Sequence[str] = ()) -> str:
    """The page as text."""
    style = _asset("perigee_lab.results.report", "page.css") + _asset("perigee_lab.judge", "page.css")
    schemes = ", ".join(dict.fromkeys(j.cc for j in judgements))
    subtitle = f"Perigee {_core.__version__}" + (f"; with {', '.join(sets)}" if sets else "")
    parts = {
        "POLICY": quoting.html(policy([], [style])),
        "TITLE": quoting.html(f"{schemes}: {', '.join(dict.fromkeys(j.catalogue for j in judgements))}"),
        "SUBTITLE": quoting.html(subtitle),
        "STYLE": style,
        "BODY": "\n".join([*_matrices(judgements), *(_section(j) for j in judgements)]),
    }
    return filled(_asset("perigee_lab.judge", "page.html"), parts)


def _matrices(judgements: Sequence[Judgement]) -> list[str]:
    """A matrix of cases and schemes per catalogue, where there are several schemes."""
    found = []
    for name in dict.fromkeys(j.catalogue for j in judgements):
        of = [j for j in judgements if j.catalogue == name]
        if len(of) < 2:
            continue
        head = _row(["case", *(quoting.html(j.cc) for j in of)], "th")
        rows = ""
        for outcomes in zip(*(j.outcomes for j in of), strict=True):
            cells = [
                f'<a href="#{quoting.html(_anchor(j, o))}">{_verdict(o)}</a>' for j, o in zip(of, outcomes, strict=True)
            ]
            rows += _row([quoting.html(outcomes[0].case.title), *cells])
        total = [f"{j.count(Verdict.PASSED)} of {len(j.outcomes)}" for j in of]
        rows += _row(["passed", *total])
        title = f"<section><h2>{quoting.html(name)}: all schemes</h2>"
        found.append(f'{title}<div class="scroll"><table><thead>{head}</thead>{rows}</table></div></section>')
    return found


def _section(j: Judgement) -> str:
    counts = ", ".join(f"{n} {v.value}" for v in Verdict if (n := j.count(v)))
    rows = "".join(
        _row([f'<a href="#{quoting.html(_anchor(j, o))}">{quoting.html(o.case.title)}</a>', _verdict(o)])
        for o in j.outcomes
    )
    rows += "".join(
        _row([quoting.html(name), _word("not available here") + f"<br>{quoting.html(why)}"])
        for name, why in j.unavailable.items()
    )
    cases = "".join(_case(j, o) for o in j.outcomes)
    head = f"<section><h2>{quoting.html(f'{j.catalogue}: {j.cc}')}: {len(j.outcomes)} cases, {counts}</h2>"
    return f'{head}<div class="scroll"><table>{rows}</table></div></section><section>{cases}</section>'


def _case(j: Judgement, o: Outcome) -> str:
    source = f" Source: {o.case.source}." if o.case.source else ""
    about = f'<p class="note">{quoting.html(o.case.purpose + source)}</p>'
    title = f"{quoting.html(o.case.title)}<span>{_verdict(o)}</span>"
    head = f'<h3 id="{quoting.html(_anchor(j, o))}">{title}</h3>'
    if o.problem:
        return f"{head}{about}<pre>{quoting.html(o.problem)}</pre>"
    headings = _row(["expected", "bound", "value", "verdict"], "th")
    rows = "".join(_finding(f) for f in o.findings)
    run = "" if o.folder is None else f'<p class="note">Records: {quoting.html(str(o.folder))}</p>'
    scenario = (
        f"<details><summary>scenario</summary><pre>{quoting.html(o.case.scenario.core.toml.strip())}</pre></details>"
    )
    return f'{head}{about}<div class="scroll"><table><thead>{headings}</thead>{rows}</table></div>{run}{scenario}'


def _finding(f: Finding) -> str:
    detail = f"<small>{quoting.html(f.detail)}</small>" if f.detail else ""
    e = f.expectation
    source = f"<small>{quoting.html(e.source)}</small>" if e.source else ""
    cells = [
        quoting.html(e.title),
        quoting.html(e.bound()) + source,
        quoting.html(f.shown()),
        _word(f.verdict.value) + detail,
    ]
    return _row(cells)


def _verdict(o: Outcome) -> str:
    return _word(o.verdict.value, o.shown())


def _word(word: str, shown: str = "") -> str:
    return f'<span class="{word.replace(" ", "-")}">{shown or word}</span>'


def _row(cells: Sequence[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{c}</{tag}>" for c in cells) + "</tr>"


def _anchor(j: Judgement, o: Outcome) -> str:
    return f"{j.catalogue}-{j.cc}-{o.case.name}"


def _asset(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")
