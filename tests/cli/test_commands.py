# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Commands: each has a file and a name, is loaded when it is needed, and ends in the same way."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import perigee_lab
from conftest import ROOT, Cli
from perigee_lab import _core
from perigee_lab import cli as room
from perigee_lab.cli.ending import reported
from perigee_lab.cli.groups import FORMER, SECTIONS, SEPARATE, Commands, module_of, summary
from perigee_lab.common.errors import CommandError, PerigeeError, stop
from perigee_lab.common.files import writing

NAMES = [name for section in SECTIONS.values() for name in section if name not in SEPARATE]
# Modules of the package that start something when they are imported; they define no error.
PROGRAMS = {"perigee_lab.__main__", "perigee_lab.hosts.namespaces"}
TOY = """
import sys
import perigee_lab.cli as room
from perigee_lab.cli import groups
from perigee_lab.cli.app import main
room.__path__.append({folder!r})
groups.SECTIONS["Maintenance"] += ({name!r},)
sys.argv[1:] = {words!r}
main()
"""


def with_toy(folder: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line with an additional file in the folder and in the list of commands."""
    program = TOY.format(folder=str(folder), name=name, words=list(words))
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)


def imported(*words: str) -> set[str]:
    """The modules that a call has imported when it ends."""
    program = (
        "import sys, json\n"
        f"sys.argv[1:] = {list(words)!r}\n"
        "from perigee_lab.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: print('modules:', json.dumps(list(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.split("modules: ")[1]))


def test_every_command_has_a_file_and_every_file_with_a_command_is_listed() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        assert hasattr(importlib.import_module(module_of(name)), "command"), name
    modules = [f"perigee_lab.cli.{m.name}" for m in pkgutil.iter_modules(room.__path__)]
    with_command = {m for m in modules if hasattr(importlib.import_module(m), "command")}
    assert with_command == {module_of(name) for name in (*NAMES, *FORMER)}


def test_every_command_has_a_summary_of_a_line() -> None:
    commands = Commands()
    for name in NAMES:
        assert re.match(r"[A-Z][^\n]{10,66}$", summary(commands[name])), name


@pytest.mark.parametrize("name", ["import", "kernel", "measure", "policy", "study"])
def test_lists_of_subcommands_have_whole_lines(name: str, cli: Cli) -> None:
    assert "..." not in cli(name, "--help").stdout.split("Commands:")[1]


def test_a_call_imports_its_own_command_only() -> None:
    commands = {module_of(name) for name in NAMES}
    assert imported("--version") & commands == set()
    assert imported("run", "--help") & commands == {"perigee_lab.cli.run"}
    assert commands <= imported("--help")


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("no-such-command",)])
def test_lists_need_no_heavy_module(words: tuple[str, ...]) -> None:
    heavy = {"numpy", "pandas", "pyarrow", "rich", "matplotlib", "perigee_lab._core"}
    assert imported(*words) & heavy == set()


def test_a_name_with_a_slip_gets_a_proposal(cli: Cli) -> None:
    done = cli("exprot")
    assert done.returncode == 2
    assert "Did you mean 'export'" in done.stderr


def test_the_steps_of_the_contribution_guide_make_a_command(tmp_path: Path) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = guide.split("## Add a command\n")[1].split("\n## ")[0]
    (tmp_path / "flows.py").write_text(section.split("```python\n")[1].split("```")[0], encoding="utf-8")
    assert "\n  flows       List the flows of a scenario\n" in with_toy(tmp_path, "flows", "--help").stdout
    done = with_toy(tmp_path, "flows", "flows", "scenarios/micro/dumbbell.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"\w+ to \w+\n", done.stdout)
    broken = with_toy(tmp_path, "flows", "flows", "scenarios/micro/dumbbell.toml", "--set", "run.duration=x")
    assert broken.returncode == 2
    assert broken.stderr.startswith("perigee: --set run.duration=x")


@pytest.mark.parametrize(
    ("body", "code", "printed"),
    [
        ("return 7", 7, ""),
        ("return None", 0, ""),
        ("stop('the value is wrong: give another')", 2, "perigee: the value is wrong: give another\n"),
        ("stop('it failed', 1)", 1, "perigee: it failed\n"),
        ("stop()", 2, ""),
        ("raise PerigeeError('one\\ntwo')", 2, "perigee: one\nperigee: two\n"),
        ("raise _core.RunError('no way')", 1, "perigee: no way\n"),
        ("raise _core.HostsError('it stood still')", 3, "perigee: it stood still\n"),
        ("raise _core.ScenarioError('perigee: x.toml: bad', '[]')", 2, "perigee: x.toml: bad\n"),
    ],
)
def test_a_command_ends_with_what_it_returns_or_raises(body: str, code: int, printed: str, tmp_path: Path) -> None:
    text = (
        '"""Toy."""\nfrom perigee_lab import _core\nfrom perigee_lab.common.errors import PerigeeError, stop\n\n\n'
        f'def command() -> int | None:\n    """Do something short."""\n    {body}\n'
    )
    (tmp_path / "in_short.py").write_text(text, encoding="utf-8")
    done = with_toy(tmp_path, "in-short", "in-short")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", printed)


def test_a_fault_of_ours_is_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text('def command() -> None:\n    """Fail."""\n    1 / 0\n', encoding="utf-8")
    done = with_toy(tmp_path, "toy", "toy")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert reported(ZeroDivisionError()) is None


def test_an_error_of_the_system_names_file_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    text = f"cannot write {tmp_path}/file/x: Not a directory; choose another name"
    with pytest.raises(CommandError, match=text), writing(tmp_path / "file"):
        (tmp_path / "file/x").touch()
    with pytest.raises(BrokenPipeError), writing(tmp_path):
        raise BrokenPipeError


def test_errors_of_users_have_one_base() -> None:
    """Covers all exceptions with a text for users; the others are for code, and are listed here."""
    inner = {"RemoteError", "Interrupted", "StrangerError", "CaptureStopped", "UnreadableError", "WorkerError"}
    # The process that drops rights imports only modules next to it (`hosts/ports.py`).
    inner |= {"BrokenRunError"}
    found: dict[str, type] = {}
    for m in pkgutil.walk_packages(perigee_lab.__path__, "perigee_lab."):
        if m.name in PROGRAMS or m.name.endswith("_core"):
            continue
        try:
            module = importlib.import_module(m.name)
        except ImportError:
            # The module belongs to an extra that is not installed.
            continue
        found |= {n: c for n, c in vars(module).items() if isinstance(c, type) and c.__module__ == m.name}
    errors = {n: c for n, c in found.items() if issubclass(c, Exception) and not n.startswith("_")}
    assert {"RecordError", "KernelError", "MeasureError", "TraceError", "DataError", "NoFilmError"} <= errors.keys()
    assert {n for n, c in errors.items() if not issubclass(c, PerigeeError)} == inner
    assert issubclass(errors["NewSchemeError"], ValueError)
    with pytest.raises(PerigeeError):
        stop("x")
    assert not issubclass(_core.ScenarioError, PerigeeError)
