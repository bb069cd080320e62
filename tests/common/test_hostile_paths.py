# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Names of files and folders with escape sequences, which reach no terminal."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli

HOSTILE = "r\x1b]0;PWN\x07\x1b[31mX"
SHOWN = "r\\x1b]0;PWN\\x07\\x1b[31mX"
# What is printed as it is: formats with a quoting of their own, text of this package, and control
# sequences of commands that redraw a line.
AS_IT_IS = (
    *("json.dumps(", "_as_json(", "text.dumped(", "text.as_csv(", "csv_of_runs(", "found.to_csv() if", "data"),
    *("_core.", "found.get_help(", "SHELLS[", "page()", "UNIT.format(", "ports.prometheus(", "error.__cause__"),
    *("files('perigee_lab')", "f'{name}\\t{text}' if text"),
    *("clear + shown", "f'\\rsatellites", "f'\\r{progress.line", "f'\\r{text"),
)
PRINTERS = ("messages.py", "interrupt.py")


def printed() -> Iterator[tuple[Path, ast.expr]]:
    """The first argument of each `print` in the sources of commands."""
    root = Path(perigee.__file__).parents[2]
    for place in (root / "python/perigee_lab", root / "studies/perigee_studies"):
        for path in place.rglob("*.py"):
            if path.name in PRINTERS:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                    yield from ((path, argument) for argument in node.args[:1])


def test_texts_are_printed_by_one_function() -> None:
    """`say` escapes control characters; `print` would not."""
    found = list(printed())
    assert found
    for path, argument in found:
        text = ast.unparse(argument)
        assert isinstance(argument, ast.Constant) or text.startswith(AS_IT_IS), f"{path}: {text}"


@pytest.mark.slow
def test_no_command_prints_an_escape_sequence_of_a_path(small: Path, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / HOSTILE
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from perigee_lab import CongestionControl\nclass Mine(CongestionControl):\n    pass\n", encoding="utf-8"
    )
    scenario = folder / "s.toml"
    scenario.write_text(small.read_text(encoding="utf-8"), encoding="utf-8")
    assert cli("run", small, "--out", "a", "--runs", "2").returncode == 0
    shutil.copytree(tmp_path / "a", folder, dirs_exist_ok=True)
    for words, codes in (
        (("init", f"{HOSTILE}/new.toml"), {0}),
        (("check", f"{HOSTILE}/s.toml"), {0}),
        (("run", f"{HOSTILE}/s.toml", "--cc", "cubic"), {0, 2}),
        (("run", f"{HOSTILE}/s.toml", "--out", f"{HOSTILE}/new"), {2}),
        (("report", HOSTILE), {0}),
        (("compare", HOSTILE), {0}),
        (("compare", "a", HOSTILE), {0}),
        (("results", HOSTILE), {0}),
        (("results", HOSTILE, "--plot", f"{HOSTILE}/p.svg"), {0}),
        (("verify", HOSTILE, "--no-rerun"), {0}),
        (("why", HOSTILE), {0}),
        (("view", HOSTILE, "--html", f"{HOSTILE}/v.html"), {0}),
        (("pack", HOSTILE), {0}),
        (("schemes", f"{HOSTILE}/mine.py"), {0}),
        (("trust", f"{HOSTILE}/mine.py"), {0}),
        (("trust", "--forget", f"{HOSTILE}/mine.py"), {0}),
        (("timeline", f"{HOSTILE}/s.toml", "--plot", f"{HOSTILE}/t.png"), {0}),
        (("measure", "key", f"{HOSTILE}/k.key"), {0}),
        (("report", f"{HOSTILE}/missing"), {2}),
    ):
        done = cli(*words)
        assert done.returncode in codes, (words, done.stderr)
        output = done.stdout + done.stderr
        assert not {"\x1b", "\x07"} & set(output), words
        if words[0] in ("init", "report", "pack", "view", "timeline"):
            assert SHOWN in output, words
