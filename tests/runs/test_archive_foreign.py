# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Archives of records that come from others: they have files of the record, and none of their packer's."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli

SECRET = 'PASSWORD = "hunter2"\n'
CODE = "from perigee_lab import CongestionControl\nimport helper\nclass X(CongestionControl):\n    pass\n"


@pytest.fixture
def record(small: Path, tmp_path: Path, cli: Cli) -> Path:
    """The folder of a record, and a secret outside of it."""
    assert cli("run", small, "--cc", "cubic", "--out", "out", "--no-report", "--pcap").returncode == 0
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    return tmp_path / "out"


def changed(record: Path, change: dict[str, Any]) -> None:
    file = record / "cubic/seed1/manifest.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(data | change), encoding="utf-8")


def named(record: Path, **files: str) -> None:
    """Files in the current folder, of which the manifest lists those of the scheme."""
    for name, text in files.items():
        (record.parent / f"{name}.py").write_text(text, encoding="utf-8")
    scheme = record.parent / "scheme.py"
    digest = hashlib.sha256(scheme.read_bytes()).hexdigest() if scheme.exists() else ""
    listed = [{"path": str(scheme), "sha256": digest}] if digest else []
    toml = json.loads((record / "cubic/seed1/manifest.json").read_text(encoding="utf-8"))["scenario_toml"]
    cc = "scheme.py:X" if digest else "settings.py:X"
    changed(record, {"files": listed, "scenario_toml": f'{toml}\n[[flow]]\ncc = "{cc}"\n'})


@pytest.mark.slow
def test_a_record_is_packed_with_the_files_that_it_declares(record: Path, tmp_path: Path, cli: Cli) -> None:
    own = record / "cubic/seed1"
    (own / "notes.txt").symlink_to(tmp_path / "secret.txt")
    (own / "d").mkdir()
    (own / "d/more.txt").write_text(SECRET, encoding="utf-8")
    done = cli("pack", "out", "--records", "-o", "x.perigee")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "x.perigee") as file:
        there = {Path(n).name for n in file.namelist() if n.startswith("records/")}
        content = b"".join(file.read(n) for n in file.namelist())
    tables = json.loads((own / "manifest.json").read_text(encoding="utf-8"))["tables"]
    assert there == {"manifest.json", "senders.pcapng", *(f"{name}.parquet" for name in tables)}
    assert SECRET.encode() not in content
    assert cli("verify", "x.perigee", "--no-rerun").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cubic/seed1/flows.parquet", "cubic/seed1/senders.pcapng", "cubic/seed1", "cubic"])
def test_a_link_in_a_record_is_not_packed(record: Path, tmp_path: Path, cli: Cli, name: str) -> None:
    (record / name).rename(tmp_path / "elsewhere")
    (record / name).symlink_to(tmp_path / "elsewhere")
    done = cli("pack", "out", "--records", "-o", "x.perigee")
    assert (done.returncode, f"{name} is a link, which is not packed" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "x.perigee").exists()


@pytest.mark.slow
def test_a_missing_table_is_named(record: Path, tmp_path: Path, cli: Cli) -> None:
    (record / "cubic/seed1/flows.parquet").unlink()
    done = cli("pack", "out", "--records", "-o", "x.perigee")
    assert (done.returncode, "flows.parquet is missing" in done.stderr) == (2, True), done.stderr
    assert cli("pack", "out", "-o", "x.perigee").returncode == 0


@pytest.mark.slow
def test_a_class_is_packed_only_from_a_file_that_the_manifest_lists(record: Path, tmp_path: Path, cli: Cli) -> None:
    named(record, settings=SECRET)
    done = cli("pack", "out", "-o", "x.perigee")
    assert (done.returncode, "none of the records' files has this class" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "x.perigee").exists()


@pytest.mark.slow
def test_imports_are_packed_only_if_the_manifest_lists_them(record: Path, tmp_path: Path, cli: Cli) -> None:
    named(record, scheme=CODE, helper=SECRET)
    done = cli("pack", "out", "-o", "x.perigee")
    assert (done.returncode, "helper.py, which is no file of the records" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "x.perigee").exists()
