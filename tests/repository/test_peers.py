# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Benchmarks against other programs: existing builds are used, only case files are compiled."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT
from words import tomllib


def load(name: str) -> ModuleType:
    """Loads a script of the folder bench as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"bench/{name}/run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def htsim(tmp_path: Path) -> tuple[Path, Path]:
    """An empty library and an empty folder of headers."""
    peers = load("peers")
    for header in peers.HTSIM_HEADERS:
        (tmp_path / header).touch()
    library = tmp_path / "libhtsim.a"
    library.touch()
    return library, tmp_path


def test_only_our_case_file_is_compiled_against_htsim(
    htsim: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = load("peers")
    seen: list[list[str]] = []
    monkeypatch.setattr(peers, "_build", lambda words, _: seen.append(words))
    peers.build_htsim(*htsim, tmp_path, "-march=native")
    (words,) = seen
    assert [word for word in words if word.endswith((".cc", ".cpp"))] == [str(ROOT / "bench/peers/htsim_cases.cc")]
    assert str(htsim[0]) in words
    assert f"-I{htsim[1]}" in words


@pytest.mark.parametrize("name", ["htsim_cases.cc", "ns3_cases.cc"])
def test_headers_that_are_looked_for_are_those_that_our_cases_include(name: str) -> None:
    peers = load("peers")
    lines = (ROOT / "bench/peers" / name).read_text(encoding="utf-8").splitlines()
    included = {line.split('"')[1] for line in lines if line.startswith('#include "')}
    if name == "htsim_cases.cc":
        assert included == set(peers.HTSIM_HEADERS)
    else:
        modules = {header.removeprefix("ns3/").removesuffix("-module.h") for header in included}
        assert modules <= set(peers.NS3_PARTS)


@pytest.mark.parametrize(
    ("script", "arguments", "words"),
    [
        ("peers", ["--htsim-lib", "x.a"], "--htsim-lib and --htsim-include belong together"),
        ("peers", ["--htsim-lib", "x.a", "--htsim-include", "."], "--htsim-include .: config.h not found"),
        ("peers", ["--ns3", "."], "--ns3 .: no build of ns-3"),
        ("pcc", ["--program", "."], "--program .: no executable pccclient"),
        ("pcc", [], "the following arguments are required: --program"),
    ],
)
def test_missing_parts_are_named(script: str, arguments: list[str], words: str, tmp_path: Path) -> None:
    command = [sys.executable, ROOT / f"bench/{script}/run.py", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_library_that_is_missing_is_named(htsim: tuple[Path, Path], tmp_path: Path) -> None:
    peers = load("peers")
    with pytest.raises(SystemExit, match=r"--htsim-lib .*none\.a: no such library; give libhtsim\.a"):
        peers.build_htsim(tmp_path / "none.a", htsim[1], tmp_path, "-march=native")


def test_the_published_programs_are_called_where_they_are(tmp_path: Path) -> None:
    pcc = load("pcc")
    for name in pcc.PROGRAMS:
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    programs = pcc.located(tmp_path)
    text = pcc.scenario(pcc.SET_UPS["20 and 100 ms"], 1, programs)
    commands = [program["command"][0] for program in tomllib.loads(text)["program"]]
    assert commands == [f"{tmp_path}/pccserver", f"{tmp_path}/pccclient"] * 2
    assert "program" not in tomllib.loads(pcc.scenario(pcc.SET_UPS["20 and 100 ms"], 1, None))
