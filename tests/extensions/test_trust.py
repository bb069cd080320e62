# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Python code named in scenarios, records or files of studies runs only with permission."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import SMALL, Cli
from perigee_lab.extensions import trust
from perigee_lab.extensions.congestion import described

EVIL = """
import pathlib
pathlib.Path({marker!r}).touch()
from perigee_lab import CongestionControl

def choose(view):
    return view.satellites[0]

class Scheme(CongestionControl):
    '''Looks harmless.'''
    params = {{"target_ms": 10, "greedy": False}}
"""

SKY = """
[run]
duration = "2 s"
[source.constellation]
preset = "starlink-shell1"
attach = "evil.py:choose"
[port.ground]
rate = "5 Mbit"
[node.london]
place = "London"
[node.new-york]
place = "New York"
[[flow]]
from = "london"
to = "new-york"
cc = "cubic"
"""


OWN = SMALL.replace('cc = ["cubic", "newreno"]\n', "").replace('cc = "*"', 'cc = "evil.py:Scheme"')


class Folder:
    """Another user's folder: a scenario with a sky, one with a scheme, and the code of both."""

    def __init__(self, path: Path) -> None:
        """Writes the files."""
        self.path = path
        self.marker = path / "code-has-run"
        self.code = path / "evil.py"
        self.code.write_text(EVIL.format(marker=str(self.marker)), encoding="utf-8")
        (path / "sky.toml").write_text(SKY, encoding="utf-8")
        (path / "scheme.toml").write_text(OWN, encoding="utf-8")

    def has_run(self) -> bool:
        """Whether any code of the folder has run since the last call."""
        found = self.marker.exists()
        self.marker.unlink(missing_ok=True)
        return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "theirs").mkdir()
    return Folder(tmp_path / "theirs")


COMMANDS = [
    ("check", "sky.toml"),
    ("check", "scheme.toml"),
    ("run", "sky.toml"),
    ("run", "scheme.toml", "--no-report"),
    ("paths", "sky.toml"),
    ("sky", "sky.toml"),
    ("timeline", "sky.toml"),
    ("export timeline", "sky.toml", "t.json"),
    ("weather", "sky.toml", "--node", "london", "--out", "rain.csv"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda w: " ".join(w[:2]))
def test_code_that_a_scenario_names_runs_with_trust_only(folder: Folder, cli: Cli, words: tuple[str, ...]) -> None:
    command, scenario, *more = words
    asked = (*command.split(), folder.path / scenario, *more)
    done = cli(*asked)
    assert (done.returncode, folder.has_run()) == (2, False), done.stderr
    assert str(folder.code) in done.stderr
    assert "--trust" in done.stderr
    assert "Traceback" not in done.stderr
    done = cli(*asked, "--trust")
    assert folder.has_run(), done.stderr
    # Series of rain need an optional package; the code has run before that is checked.
    assert done.returncode == 0 or "needs the package itur" in done.stderr, done.stderr


def test_check_says_it_in_json_too(folder: Folder, cli: Cli) -> None:
    for name in ("sky.toml", "scheme.toml"):
        done = cli("check", folder.path / name, "--json")
        assert done.returncode == 2
        assert "evil.py" in json.loads(done.stdout)["problems"][0]["message"]
    assert not folder.has_run()


def test_what_the_user_names_is_trusted(folder: Folder, cli: Cli, small: Path) -> None:
    attach = f"source.constellation.attach={folder.code}:choose"
    done = cli("check", folder.path / "sky.toml", "--set", attach)
    assert (done.returncode, folder.has_run()) == (0, True), done.stderr
    done = cli("paths", folder.path / "sky.toml", "--attach", f"{folder.code}:choose")
    assert (done.returncode, folder.has_run()) == (0, True), done.stderr
    for command in (("check",), ("run", "--no-report")):
        done = cli(*command, small, "--cc", f"{folder.code}:Scheme,cubic")
        assert (done.returncode, folder.has_run()) == (0, True), done.stderr


def test_a_remembered_answer_holds_until_the_file_or_what_it_imports_changes(folder: Folder, cli: Cli) -> None:
    assert cli("trust", folder.path / "gone.py").returncode == 2
    assert cli("trust", folder.code, "--forget").returncode == 2
    assert json.loads(cli("trust", folder.code, "--json").stdout)["files"][0]["unchanged"]
    assert not folder.has_run(), "to trust is not to run"
    asked = ("check", folder.path / "sky.toml")
    assert (cli(*asked).returncode, folder.has_run()) == (0, True)
    (folder.path / "pathlib.py").touch()
    assert (cli(*asked).returncode, folder.has_run()) == (2, False), "what it imports could be another's"
    (folder.path / "pathlib.py").unlink()
    (folder.path / "numpy.py").write_text(f"open({str(folder.marker)!r}, 'w')\nraise SystemExit\n", encoding="utf-8")
    folder.code.write_text(folder.code.read_text().replace("touch", "exists"), encoding="utf-8")
    assert cli("trust", folder.code).returncode == 0
    assert (cli(*asked).returncode, folder.has_run()) == (0, False), "what it does not import is not imported"
    folder.code.write_text(folder.code.read_text().replace("exists", "touch"), encoding="utf-8")
    assert cli("trust", folder.code).returncode == 0
    assert (cli(*asked).returncode, folder.has_run()) == (0, True)
    folder.code.write_text(folder.code.read_text() + "\n# another\n")
    assert (cli(*asked).returncode, folder.has_run()) == (2, False)
    assert "has changed" in cli("trust").stdout
    assert cli("trust", folder.code).returncode == 0
    assert cli("trust", folder.code, "--forget").returncode == 0
    assert (cli(*asked).returncode, folder.has_run()) == (2, False)


@pytest.mark.parametrize("name", ["sky.toml", "scheme.toml"])
def test_records_are_not_believed_either(folder: Folder, cli: Cli, tmp_path: Path, name: str) -> None:
    done = cli("run", folder.path / name, "--trust", "--out", "out", "--no-report")
    assert (done.returncode, folder.has_run()) == (0, True), done.stderr
    for words in (("verify", "out"), ("trace", "out", "--to", "0.1s")):
        done = cli(*words)
        assert (done.returncode, folder.has_run()) == (2, False), done.stderr + done.stdout
        assert "evil.py" in done.stderr
        done = cli(*words, "--trust")
        assert (done.returncode, folder.has_run()) == (0, True), done.stderr + done.stdout
    for words in (("verify", "out", "--no-rerun"), ("report", "out"), ("compare", "out", "out")):
        assert (cli(*words).returncode, folder.has_run()) == (0, False)


def test_a_record_of_a_class_is_not_believed(folder: Folder, cli: Cli) -> None:
    done = cli(
        "run", folder.path / "scheme.toml", "--set", "flow.0.cc='*'", "--cc", f"{folder.code}:Scheme", "--out", "o"
    )
    assert (done.returncode, folder.has_run()) == (0, True), done.stderr
    assert (cli("verify", "o").returncode, folder.has_run()) == (2, False)
    assert (cli("verify", "o", "--trust").returncode, folder.has_run()) == (0, True)


def test_python_asks_for_trust_too(folder: Folder) -> None:
    for name in ("sky.toml", "scheme.toml"):
        path = folder.path / name
        with pytest.raises((perigee.ScenarioError, perigee.PluginError), match=r"evil\.py"):
            perigee.load(path).run()
        with pytest.raises((perigee.ScenarioError, perigee.PluginError), match=r"evil\.py"):
            perigee.loads(path.read_text(), folder=folder.path).run()
        with pytest.raises((perigee.ScenarioError, perigee.PluginError), match=r"evil\.py"):
            perigee.run(path)
        assert not folder.has_run()
        perigee.load(path, trust=True).run()
        assert folder.has_run() or name == "scheme.toml"
    assert perigee.load(folder.path / "sky.toml", attach=lambda view: view.satellites[0]).run().seed == 1
    assert not folder.has_run()


def test_a_study_runs_no_code_of_its_scenarios(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    from perigee_studies import execute
    from perigee_studies.model import Ask, Case

    class Experiment:
        name = "theirs"
        theirs = evidence = None

        @staticmethod
        def cases(ask: Ask) -> list[Case]:
            return [Case("sky.toml", "cubic")]

    monkeypatch.setattr(execute, "SCENARIOS", folder.path)
    plan = execute.Plan.of([Experiment], Ask())  # type: ignore[list-item]
    assert "evil.py" in plan.failures[0].error
    assert not folder.has_run()


def test_a_module_that_a_scenario_names_is_not_imported(folder: Folder, tmp_path: Path, cli: Cli) -> None:
    shutil.copy(folder.code, tmp_path / "evilmodule.py")
    (tmp_path / "module.toml").write_text(OWN.replace("evil.py", "evilmodule"), encoding="utf-8")
    done = cli("run", "module.toml", "--no-report")
    assert (done.returncode, folder.has_run()) == (2, False)
    assert "the module evilmodule" in done.stderr


def test_classes_and_parameters_are_read_without_running_the_file(folder: Folder, cli: Cli) -> None:
    assert described(folder.code) == [
        {
            "id": "Scheme",
            "summary": "Looks harmless.",
            "kind": "window",
            "telemetry": False,
            "params": {"target_ms": 10, "greedy": False},
        }
    ]
    done = cli("schemes", folder.code, "--params")
    assert "target_ms = 10" in done.stdout
    assert not folder.has_run()
    (folder.path / "no.py").write_text("class (", encoding="utf-8")
    assert cli("schemes", folder.path / "no.py").returncode == 2


def test_a_compiled_file_beside_the_source_is_not_what_runs(folder: Folder) -> None:
    import importlib.util
    import py_compile

    other = folder.path / "other.py"
    other.write_text("raise RuntimeError('the compiled file ran')\n", encoding="utf-8")
    cache = importlib.util.cache_from_source(str(folder.code))
    py_compile.compile(str(other), cache, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    perigee.load(folder.path / "sky.toml", trust=True)
    assert folder.has_run()


def test_a_store_that_is_damaged_holds_no_answers(folder: Folder) -> None:
    trust.remember(folder.code)
    assert trust.is_remembered(folder.code)
    for text in ("", "[]", '{"a": 1}', "\xff"):
        trust.store().write_text(text, encoding="latin-1")
        assert not trust.is_remembered(folder.code)


@pytest.mark.parametrize(
    ("value", "files", "modules"),
    [
        ("my.py:X", ["my.py"], []),
        ('["a.py:X", "b c.py:Y"]', ["a.py", "b c.py"], []),
        ("{law='pkg.mod:Z'}", [], ["pkg.mod"]),
        # Would take an hour if the time were quadratic.
        ("9" * 1_000_000 + " %", [], []),
        ("a:-" * 300_000, [], []),
    ],
)
def test_code_is_found_in_overrides_of_any_length(
    tmp_path: Path, value: str, files: list[str], modules: list[str]
) -> None:
    found = trust.of([f"key={value}"], tmp_path, trust=False)
    assert found.files == {(base / f).resolve() for f in files for base in (tmp_path, Path())}
    assert found.modules == set(modules)
