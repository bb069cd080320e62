# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee doctor`: available, missing and broken parts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import Cli
from perigee_lab.cli import doctor, judge
from perigee_lab.hosts import kernels


def test_an_installation_that_works_is_called_so(cli: Cli) -> None:
    done = cli("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "perigee works" in done.stdout
    told = json.loads(cli("doctor", "--json").stdout)
    assert told["ok"]
    parts = {f["part"]: f for f in told["findings"]}
    assert "name" not in parts
    assert "Mbit/s" in parts["a run"]["message"]
    assert {"core", "packages", "real hosts", "learn", "cluster"} <= parts.keys()


def test_what_is_missing_comes_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "_version", lambda p: None if p in ("pettingzoo", "scipy") else "1")
    found = {f.part: f for f in doctor.examined()}
    assert not found["learn"].ok
    assert "perigee-lab[learn]" in found["learn"].message
    assert found["learn"].optional
    assert "pip install scipy" in found["packages"].message
    assert not found["packages"].optional
    assert "perigee kernel build" in found["real hosts"].message
    # The distribution `perigee` of PyPI.
    assert not found["name"].ok
    assert "perigee 1 is another project" in found["name"].message
    assert "pip uninstall perigee" in found["name"].message


def test_kernels_of_another_version_are_out_of_date(monkeypatch: pytest.MonkeyPatch) -> None:
    def there(*kernels_there: tuple[str, str | None]) -> doctor.Finding:
        found = [
            SimpleNamespace(manifest=SimpleNamespace(name=name), foreign=foreign) for name, foreign in kernels_there
        ]
        monkeypatch.setattr(kernels, "sound", lambda: found)
        return {f.part: f for f in doctor.examined()}["real hosts"]

    monkeypatch.setattr(doctor, "_run", lambda: doctor.Finding("a run", True, ""))
    old = there(("linux", "patches"), ("linux", "agent"), ("mine", "patches"))
    assert not old.ok
    assert old.message == "out of date: linux, mine: perigee kernel build"
    both = there(("linux", None), ("linux", None), ("linux", "agent"), ("mine", "agent"))
    assert both.ok
    assert both.message.startswith("kernels linux; ")
    assert "out of date: mine" in both.message


def test_judge_names_kernels_that_are_out_of_date(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def chosen(name: str, _kernel: str | None) -> SimpleNamespace:
        if name == "linux":
            raise kernels.KernelError("no")
        return SimpleNamespace()

    monkeypatch.setattr(judge, "chosen", chosen)
    monkeypatch.setattr(kernels, "sound", lambda: [SimpleNamespace()])
    judge._with_hosts(None, None)
    assert "every kernel is out of date (perigee kernel build)" in capsys.readouterr().err
    monkeypatch.setattr(kernels, "sound", list)
    judge._with_hosts(None, None)
    assert "no kernel is built" in capsys.readouterr().err


def test_a_run_that_fails_is_what_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "TINY", "[run]\nduration = 1\n")
    assert doctor.command() == 1
    assert "!!  a run" in capsys.readouterr().out
