# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Code in a folder from someone else that the user has not requested.

These are Python files and settings next to a scenario, and names in the scenario.
"""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import SMALL, Cli, fresh
from perigee_lab.common import interpreter
from perigee_lab.extensions import closure, trust
from perigee_lab.extensions.plugins import PluginError, load_file
from perigee_lab.runs.runner import Plan

# Modules that a process imports early, late, or through libraries.
SHADOWED = ("contextlib", "json", "tempfile", "socket", "numpy", "pyarrow", "multiprocessing", "typer", "perigee_x")
# Long enough that its runs are given to workers.
LONG = SMALL.replace('"3 s"', '"120 s"').replace("10 Mbit", "60 Mbit").replace("loss = 0.001\n", "")


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes the current folder one with many modules that leave a mark when they run."""
    for name in SHADOWED:
        mark = f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\nraise SystemExit(3)\n"
        (tmp_path / f"{name}.py").write_text(mark, encoding="utf-8")
    (tmp_path / "s.toml").write_text(LONG, encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def installed(*words: object, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `perigee …` like the installed program.

    The first entry of its path is the program's folder, not the current one.
    """
    boot = "import sys; sys.path[0] = sys.prefix; from perigee_lab.entry import main; main()"
    return subprocess.run(
        [sys.executable, "-c", boot, *map(str, words)],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


COMMANDS = [
    ("run", "s.toml", "--runs", "3", "--jobs", "2", "--no-report"),
    ("sweep", "s.toml", "--set", "port.bottleneck.rate=5 Mbit,10 Mbit", "--out", "swept"),
    ("bench", "dumbbell-1"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda w: str(w[0]))
def test_python_files_of_the_current_folder_do_not_run_in_workers(foreign: Path, words: tuple[str, ...]) -> None:
    if words[0] == "bench":
        from perigee_lab.benchmarks.case import names

        words = ("bench", names()[0], "--repeat", "1")
    done = installed(*words, folder=foreign)
    assert done.returncode == 0, done.stderr
    assert not (foreign / "ran").exists(), (foreign / "ran").read_text()


@pytest.mark.slow
def test_nor_do_they_in_workers_of_jobs(foreign: Path) -> None:
    assert installed("run", "s.toml", "--runs", "3", "--dry", "--save-job", "j.json", folder=foreign).returncode == 0
    done = installed("run-job", "j.json", "--jobs", "2", "--no-report", folder=foreign)
    assert (done.returncode, (foreign / "ran").exists()) == (0, False), done.stderr


def test_multiprocessing_leaves_the_current_folder_out(foreign: Path) -> None:
    """Workers are started as by Dask's local cluster.

    A spawned process imports the same package.
    """
    program = (
        "import sys; sys.path[0] = sys.prefix\n"
        "from perigee_lab.common import interpreter; import multiprocessing as m\n"
        "with interpreter.spawning():\n"
        "    p = m.get_context('spawn').Process(target=print, args=('hello',)); p.start(); p.join()\n"
        "sys.exit(p.exitcode)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=foreign, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert not (foreign / "ran").exists()


def test_what_pythonpath_names_is_found(foreign: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A user's module is found in folders of PYTHONPATH, also in the current one if it is named."""
    own = tmp_path_factory.mktemp("own")
    text = "from perigee_lab import CongestionControl\nclass Mine(CongestionControl):\n    pass\n"
    (own / "my_own_module.py").write_text(text, encoding="utf-8")
    words = ("run", "s.toml", "--cc", "my_own_module:Mine,cubic", "--runs", "3", "--jobs", "2", "--no-report")
    done = installed(*words, folder=foreign, PYTHONPATH=str(own))
    assert (done.returncode, (foreign / "ran").exists()) == (0, False), done.stderr
    (own / "s.toml").write_text(SMALL, encoding="utf-8")
    assert installed(*words, folder=own).returncode == 2
    for named in (str(own), "."):
        done = installed(*words, "--out", f"out{len(named)}", folder=own, PYTHONPATH=named)
        assert done.returncode == 0, done.stderr


def test_the_path_of_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    given = ["", ".", str(tmp_path), str(tmp_path / "link"), "relative", str(other), "/nowhere"]
    assert interpreter.clean(given) == [str(other), "/nowhere", interpreter.HOME]
    assert interpreter.clean([str(tmp_path), interpreter.HOME]) == [interpreter.HOME]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(other)]))
    assert interpreter.clean([str(tmp_path)]) == [interpreter.HOME], "an empty entry names nothing"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert interpreter.clean([str(tmp_path)]) == [str(tmp_path), interpreter.HOME]
    # Entries from the .pth file of an editable installation are kept, and the boot line itself
    # imports only sys.
    words = interpreter.command("perigee_lab.runs.worker", "7")
    assert words[2].startswith("import sys; ")
    assert words[2].index("sys.path[:] =") < words[2].index("perigee")
    assert words[-2:] == ["perigee_lab.runs.worker", "7"]


def test_settings_of_matplotlib_in_the_current_folder_are_not_read(foreign: Path) -> None:
    settings = "import os; os.mkfifo('matplotlibrc')" if hasattr(os, "mkfifo") else "open('matplotlibrc', 'w')"
    exec(settings)
    (foreign / "own.rc").write_text("lines.linewidth: 7.5\n", encoding="utf-8")
    done = installed("timeline", "s.toml", "--plot", "p.png", folder=foreign)
    assert done.returncode == 0, done.stderr
    assert (foreign / "p.png").exists()
    program = (
        "import sys; sys.path[0] = sys.prefix; from perigee_lab.common import interpreter\n"
        "interpreter.leave_current_folder_out(); import matplotlib, os\n"
        "print(matplotlib.rcParams['lines.linewidth'], os.getcwd(), os.environ['MATPLOTLIBRC'])"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words, cwd=foreign, env={**os.environ, "MATPLOTLIBRC": "own.rc"}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["7.5", str(foreign), str(foreign / "own.rc")], done.stderr


# ---- names of code in files ----------------------------------------------------------------------

EVIL = """
open({marker!r}, "w").close()
from perigee_lab import CongestionControl
class X(CongestionControl):
    pass
def choose(view):
    return None
"""


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with code that leaves a mark when it runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "evil.py").write_text(EVIL.format(marker=str(tmp_path / "ran")), encoding="utf-8")
    return tmp_path


BASE = SMALL.replace('cc = ["cubic", "newreno"]\n', "")


@pytest.mark.parametrize("key", ['"run.cc"', '"flow.0.cc"'])
def test_values_of_the_files_own_sweep_are_not_the_users(theirs: Path, cli: Cli, key: str) -> None:
    path = theirs / "s.toml"
    path.write_text(f'{BASE}[sweep]\n{key} = ["cubic", "evil.py:X"]\n', encoding="utf-8")
    for words in (("--dry",), (), ("--set", "port.bottleneck.rate=5 Mbit,6 Mbit")):
        done = cli("sweep", path, *words, "--out", "out")
        assert (done.returncode, (theirs / "ran").exists()) == (2, False), done.stderr
        assert "--trust" in done.stderr
    with pytest.raises((perigee.PluginError, perigee.ScenarioError), match=r"evil\.py"):
        perigee.sweep(path, out=theirs / "api")
    assert not (theirs / "ran").exists()
    done = cli("sweep", path, "--set", f"{key.strip(chr(34))}=cubic,evil.py:X", "--out", "mine")
    assert (done.returncode, (theirs / "ran").exists()) == (0, True), done.stderr


def test_schemes_that_a_scenario_names_are_not_the_users(theirs: Path) -> None:
    """`validate --against linux` passes names found in the scenario to the plan like this."""
    path = theirs / "s.toml"
    path.write_text(SMALL.replace('"newreno"', '"evil.py:X"'), encoding="utf-8")
    scenario = perigee.load(path)
    names = scenario.core.schemes([])
    assert "evil.py:X" in names
    with pytest.raises(trust.UntrustedError, match=r"evil\.py"):
        Plan.of(scenario, names)
    with pytest.raises(trust.UntrustedError, match=r"evil\.py"):
        scenario.run_all()
    assert not (theirs / "ran").exists()
    path.write_text(SMALL, encoding="utf-8")
    Plan.of(perigee.load(path), trust.said([f"{theirs / 'evil.py'}:X"]))
    assert (theirs / "ran").exists()


def test_a_name_that_the_user_gave_is_trusted_as_it_stands_only() -> None:
    given = trust.said(["a.py:X"])[0]
    assert isinstance(given, trust.Said)
    for made in (str(given), given + "", given.strip(), f"{given}"):
        assert not isinstance(made, trust.Said)


# ---- remembered answers --------------------------------------------------------------------------


class Kept:
    """A file with a remembered permission, and modules next to it."""

    def __init__(self, folder: Path, text: str) -> None:
        """Writes the file and its imports."""
        self.folder, self.file = folder, folder / "scheme.py"
        self.file.write_text(text, encoding="utf-8")

    def add(self, name: str, text: str = "value = 1\n") -> Path:
        """Adds a module."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def load(self) -> object:
        """Loads the module of the file as a scenario that names it would. Raises PluginError."""
        for name in [n for n in sys.modules if n.startswith("ours_")]:
            del sys.modules[name]
        return load_file(self.file, trust.NOTHING.admit(self.file))


def kept(folder: Path, text: str) -> Kept:
    return Kept(folder, text)


def test_what_a_remembered_file_imports_is_hashed_file_by_file(theirs: Path) -> None:
    one = kept(theirs, "import ours_a\nfrom ours_space.deep import thing\nfrom ours_pkg import part\n")
    files = [
        one.add("ours_a.py", "def later():\n    import ours_b\n"),
        one.add("ours_b.py"),
        one.add("ours_space/deep/thing.py"),
        one.add("ours_pkg/__init__.py", "from . import other\nfrom .more import value\n"),
        one.add("ours_pkg/part.py"),
        one.add("ours_pkg/other.py"),
        one.add("ours_pkg/more.py"),
    ]
    unrelated = [one.add("ours_else.py"), one.add("ours_pkg/unused.py"), one.add("ours_space/unused.py")]
    found = closure.closure(one.file)
    assert {p.path for p in found.parts.values() if p.content} == set(files)
    trust.remember(one.file)
    one.load()
    for path in files:
        before = path.read_bytes()
        path.write_bytes(before + b"# changed\n")
        assert not trust.is_remembered(one.file), path
        path.write_bytes(before)
        assert trust.is_remembered(one.file)
        path.unlink()
        assert not trust.is_remembered(one.file), path
        path.write_bytes(before)
    for path in unrelated:
        path.write_text("raise SystemExit\n", encoding="utf-8")
        assert trust.is_remembered(one.file)
    one.load()


def marked(folder: Path) -> str:
    return f"open({str(folder / 'ran')!r}, 'w').close()\n"


def test_a_namespace_folder_or_bytecode_that_comes_later_is_not_imported(theirs: Path) -> None:
    one = kept(theirs, "try:\n    import ours_late\nexcept ImportError as e:\n    why = str(e)\n")
    trust.remember(one.file)
    source = one.add("elsewhere.py", marked(theirs))
    py_compile.compile(str(source), str(theirs / "ours_late.pyc"))
    module = one.load()
    assert "ours_late.pyc is not among the files with a remembered hash" in module.why  # type: ignore[attr-defined]
    assert not (theirs / "ran").exists()
    (theirs / "ours_late.pyc").unlink()
    # A folder without __init__.py is also a package: with an additional module, the permission no
    # longer applies.
    one.add("ours_late/part.py", marked(theirs))
    assert not trust.is_remembered(one.file)
    with pytest.raises(trust.UntrustedError):
        one.load()
    assert not (theirs / "ran").exists()


def test_bytecode_without_source_and_compiled_files_are_not_imported(theirs: Path) -> None:
    one = kept(theirs, "import ours_a\n")
    helper = one.add("ours_a.py", "value = 'source'\n")
    trust.remember(one.file)
    cached = theirs / "__pycache__" / f"ours_a.{sys.implementation.cache_tag}.pyc"
    other = one.add("elsewhere.py", marked(theirs))
    py_compile.compile(str(other), str(cached), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert one.load().ours_a.value == "source"  # type: ignore[attr-defined]
    py_compile.compile(str(other), str(theirs / "ours_a.pyc"))
    helper.unlink()
    with pytest.raises((PluginError, trust.UntrustedError)):
        one.load()
    trust.remember(one.file)
    with pytest.raises(PluginError, match=r"ours_a\.pyc is not among"):
        one.load()
    assert not (theirs / "ran").exists()


def test_what_a_name_computes_is_not_imported(theirs: Path) -> None:
    one = kept(theirs, "import importlib\nimportlib.import_module('ours_' + 'x')\n")
    one.add("ours_x.py", marked(theirs))
    trust.remember(one.file)
    with pytest.raises(PluginError, match=r"ours_x\.py is not among the files with a remembered hash"):
        one.load()
    assert not (theirs / "ran").exists()
    # Nor modules that are later imported from the path of a package.
    two = kept(theirs, "import ours_pkg\ndef later():\n    import ours_pkg.hidden\n")
    two.file.write_text("import ours_pkg\ndef later(name):\n    __import__(name)\n", encoding="utf-8")
    two.add("ours_pkg/__init__.py")
    two.add("ours_pkg/hidden.py", marked(theirs))
    trust.remember(two.file)
    module = two.load()
    with pytest.raises(ImportError):
        module.later("ours_pkg.hidden")  # type: ignore[attr-defined]
    assert not (theirs / "ran").exists()


def test_the_path_is_as_before_when_a_file_has_been_loaded(theirs: Path) -> None:
    one = kept(theirs, "import ours_a\n")
    one.add("ours_a.py")
    before = list(sys.path), list(sys.meta_path)
    trust.remember(one.file)
    one.load()
    load_file(one.file, None)
    assert (list(sys.path), list(sys.meta_path)) == before
    with pytest.raises(ImportError):
        __import__("ours_b")


def test_python_m_takes_the_current_folder_off_its_path(foreign: Path) -> None:
    """Imports by `python -m` before Perigee's first line cannot be prevented; later imports can."""
    (foreign / "contextlib.py").unlink()
    for name in ("json", "socket", "tempfile"):
        (foreign / f"{name}.py").unlink()
    done = fresh("run", "s.toml", "--dry", folder=foreign, environment=dict(os.environ))
    assert (done.returncode, (foreign / "ran").exists()) == (0, False), done.stderr
