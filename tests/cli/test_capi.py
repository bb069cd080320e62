# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee capi`: the C library of an installation (in wheels: tests/repository/test_install.py)."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from perigee_lab.cli import capi
from perigee_lab.common.errors import CommandError
from perigee_lab.common.exit_codes import FAILED


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the installed package."""
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    return tmp_path / "capi"


def test_an_installation_without_the_library_says_where_it_comes_from(package: Path) -> None:
    with pytest.raises(CommandError) as ended:
        capi.command()
    assert ended.value.code == FAILED
    assert "make install PREFIX=DIR" in str(ended.value)
    assert not package.exists()


def test_words_for_the_compiler_name_the_library_by_its_path(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (package / "lib").mkdir(parents=True)
    library = package / "lib/libperigee_cc.so.0"
    library.write_bytes(b"")
    capi.command(cflags=True, libs=True)
    words = shlex.split(capsys.readouterr().out)
    assert words == [f"-I{package / 'include'}", str(library), f"-Wl,-rpath,{library.parent}"]
    capi.command(pkgconfig=True)
    assert capsys.readouterr().out.strip() == str(package / "lib/pkgconfig")
    capi.command()
    assert str(library) in capsys.readouterr().out
    with pytest.raises(CommandError):
        capi.command(libs=True, pkgconfig=True)
