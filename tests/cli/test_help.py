# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Help texts, tab completion, near misses and the form of numbers and tables."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import perigee_lab as perigee
from conftest import ROOT, Cli
from perigee_lab import _core
from perigee_lab.cli.app import app
from perigee_lab.cli.completion import FILES, SHELLS, completions
from perigee_lab.cli.help_texts import PlainContext
from perigee_lab.common.messages import nearest, significant
from perigee_lab.runs import backends


def every() -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands with their words, groups among them."""

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield path, command
        for name in getattr(command, "commands", {}):
            yield from walk(command.commands[name], (*path, name))

    yield from walk(typer.main.get_command(app), ())


def context_of(path: tuple[str, ...]) -> Any:
    command = typer.main.get_command(app)
    context = PlainContext(command, info_name="perigee", help_option_names=["-h", "--help"])
    for name in path:
        command = command.get_command(context, name)
        context = PlainContext(command, info_name=name, parent=context)
    return context


@pytest.mark.parametrize("columns", ["60", "80", "150"])
def test_help_is_as_wide_as_the_terminal_and_nothing_is_cut(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    widest = 0
    for path, command in every():
        text = command.get_help(context_of(path))
        assert "..." not in text.replace("]...", "").replace("...  ", "").replace("...\n", "").replace(
            "s3://...", ""
        ) or ("COMMAND [ARGS]..." in text or re.search(r"[A-Z\]]\.\.\.", text)), (path, text)
        lines = text.splitlines()
        widest = max(widest, *map(len, lines))
        for line in lines:
            # A word that is longer than the line stays whole.
            assert len(line) <= int(columns) or len(line.split()) <= 2, (path, line)
        words = {w for p in command.params if getattr(p, "help", None) for w in p.help.split()}
        assert words <= set(text.split()), (path, words - set(text.split()))
    assert widest > int(columns) - 12


def test_values_are_in_one_style() -> None:
    for path, command in every():
        text = command.get_help(context_of(path))
        assert not re.search(r"<[a-z]", text), (path, text)
        assert not re.search(r"^Usage:.*\{", text), path


@pytest.mark.slow
def test_each_command_has_a_short_form_of_help_and_one_as_a_word(cli: Cli) -> None:
    for words in (("run",), ("measure",), ("measure", "run"), ()):
        long = cli(*words, "--help")
        assert long.returncode == 0
        assert cli(*words, "-h").stdout == long.stdout == cli("help", *words).stdout
    done = cli("help", "rum")
    assert (done.returncode, "did you mean run" in done.stderr) == (2, True), done.stderr
    done = cli("help", "measure", "rnu")
    assert (done.returncode, "no command 'measure rnu'" in done.stderr) == (2, True), done.stderr


def completed(*words: str) -> list[str]:
    command = typer.main.get_command(app)
    context = PlainContext(command, info_name="perigee")
    return [name for name, _ in completions(command, context, list(words))]


def test_each_kind_of_word_is_completed() -> None:
    assert completed("ru") == ["run", "run-job"]
    assert "run" in completed("")
    assert completed("measure", "ru") == ["run"]
    assert completed("help", "kernel", "bu") == ["build"]
    assert completed("run", "--ju") == ["--junit"]
    assert "--hosts" not in completed("run", "--h"), "former options are not offered"
    assert completed("run", "x.toml", "--backend", "l") == ["linux"]
    assert completed("run", "--cc", "cubic,new") == ["cubic,newreno"]
    assert completed("run", "--seed", "") == []
    assert completed("run", "--out", "x") == [FILES]
    assert completed("run", "") == [FILES]
    assert completed("columns", "goodp") == ["goodput_mbps"]
    assert completed("schemes", "veg")[0] == "vegas"
    assert completed("completion", "z") == ["zsh"]
    assert completed("no-such-command", "x") == []


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_scripts_of_completion_are_valid(cli: Cli, tmp_path: Path, shell: str) -> None:
    done = cli("completion", shell)
    assert done.returncode == 0
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(done.stdout, encoding="utf-8")
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)
    if shell != "bash":
        return
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/perigee").write_text(f'#!/bin/sh\nexec {sys.executable} -m perigee_lab "$@"\n', encoding="utf-8")
    (tmp_path / "bin/perigee").chmod(0o755)
    (tmp_path / "a b.toml").touch()
    script = (
        f'PATH="{tmp_path}/bin:$PATH"; source ./script; try() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _perigee; '
        'printf "%s," "${COMPREPLY[@]}"; echo; }; try perigee che; try perigee run --backend ""; try perigee run a'
    )
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["check,", f"{','.join(backends.names())},", "a b.toml,"]


def test_an_unknown_shell_is_named(cli: Cli) -> None:
    done = cli("completion", "tcsh")
    assert (done.returncode, "bash, zsh, fish" in done.stderr) == (2, True)


def test_schemes_and_columns_answer_to_names_and_near_misses(cli: Cli) -> None:
    done = cli("schemes", "vegas")
    assert (done.returncode, "alpha = 2 [segments]" in done.stdout) == (0, True)
    assert [s["id"] for s in json.loads(cli("schemes", "cubic", "--json").stdout)] == ["cubic"]
    done = cli("schemes", "vegass")
    assert (done.returncode, "did you mean vegas" in done.stderr) == (2, True), done.stderr
    done = cli("columns", "goodput")
    assert (done.returncode, done.stdout.startswith("goodput_mbps [Mbit/s]")) == (0, True)
    done = cli("columns", "godput_mbps")
    assert (done.returncode, "did you mean goodput_mbps" in done.stderr) == (2, True), done.stderr
    assert nearest("xyzzy", {"cubic": "cubic"}) == ""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (160, "160"),
        (163.2, "160"),
        (99.6, "100"),
        (12.3, "12"),
        (1.26, "1.3"),
        (0.051, "0.051"),
        (0, "0"),
        (1e9, "1000000000"),
    ],
)
def test_numbers_of_two_digits_have_no_exponent(value: float, shown: str) -> None:
    assert significant(value) == shown


def test_a_long_run_is_estimated_in_plain_numbers(cli: Cli) -> None:
    scenario = ROOT / "scenarios/micro/dumbbell.toml"
    done = cli("check", scenario, "--set", "run.duration=1h", "--set", "run.runs=30")
    assert (done.returncode, "e+" in done.stdout) == (0, False), done.stdout


def test_a_problem_of_many_flows_is_printed_once(cli: Cli, small: Path) -> None:
    flows = ",".join(f'{{cc="cubic",start="{9 + n} s",name="{"x" * 300}{n}"}}' for n in range(14))
    done = cli("check", small, "--set", "run.cc=cubic", "--set", f"flow=[{flows}]")
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if "after the end of the run" in line]
    assert len(lines) == 1, done.stderr
    assert len(lines[0]) < 500
    assert "the same for flow.1.start, flow.2.start, flow.3.start and 10 more" in lines[0]
    done = cli("check", small, "--set", "run.cc=cubic", "--set", f"flow=[{flows}]", "--json")
    assert len(json.loads(done.stdout)["problems"]) == 14


def test_headings_are_whole_where_there_is_room_and_no_cell_is_cut() -> None:
    from rich.console import Console

    from perigee_lab.cli.tables import scheme_table

    seen = set()
    for width in range(60, 200, 10):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(scheme_table({"a-rather-long-scheme": []}, width=width, plain=True))
        text = console.export_text()
        assert "…" not in text, text
        assert max(map(len, text.splitlines())) <= width
        seen.add(("achiev-" in text, "inflation" in text.splitlines()[1]))
    assert ("achiev-" in text) is False
    assert len(seen) >= 2


def test_tables_of_all_commands_have_one_style() -> None:
    root = Path(perigee.__file__).parent
    makers = [p for p in root.rglob("*.py") if re.search(r"^    +from rich import box", p.read_text(), re.MULTILINE)]
    assert [p.name for p in makers] == ["terminal.py"]


# ---- the interface of schemes --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [perigee.Ack, perigee.Cx, perigee.Window, perigee.Hop])
def test_help_of_the_interface_lists_every_field_with_its_unit(kind: type) -> None:
    assert "help" not in (kind.__doc__ or "").lower() or kind.__doc__
    fields = {n for n in vars(kind) if not n.startswith("_")}
    assert fields
    import pydoc

    text = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    for name in fields:
        assert vars(kind)[name].__doc__, name
        assert re.search(rf"^ \|  {name}$", text, re.MULTILINE), name
        if name.endswith("_ns"):
            assert re.search(r"\bns\b", vars(kind)[name].__doc__), name
        if name.endswith("_bps"):
            assert "bit" in vars(kind)[name].__doc__, name


def test_the_base_class_names_every_field() -> None:
    text = perigee.CongestionControl.__doc__ or ""
    for kind in (_core.Ack, _core.Cx, _core.Window):
        for name in vars(kind):
            assert name.startswith("_") or re.search(rf"\b{name}\b", text), name
