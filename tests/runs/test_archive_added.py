# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Further files in archives: listed with checksums, compared, never run, and of plain names."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path

import pytest

from archives import parts, rebuilt, zipped
from conftest import Cli
from perigee_lab.common.files import RecordError
from perigee_lab.runs import packing
from perigee_lab.runs.archive import ArchiveError, open_archive

NOTES = "# Figure 3\n"


@pytest.fixture
def record(small: Path, cli: Cli) -> str:
    """The folder of a run, with files that may be added next to it."""
    done = cli("run", small, "--cc", "cubic", "--set", "run.duration=1s", "--out", "out", "--no-report")
    assert done.returncode == 0, done.stderr
    (small.parent / "notes").mkdir()
    (small.parent / "notes/a.md").write_text(NOTES, encoding="utf-8")
    (small.parent / "mark.py").write_text("from pathlib import Path\nPath('ran').touch()\n", encoding="utf-8")
    return "out"


@pytest.mark.slow
def test_added_files_are_listed_verified_and_never_run(record: str, tmp_path: Path, cli: Cli) -> None:
    done = cli("pack", record, "-o", "x.perigee", "--add", "notes/a.md", "--add", "mark.py")
    assert done.returncode == 0, done.stderr
    digest = hashlib.sha256(NOTES.encode()).hexdigest()
    assert f"added/a.md: {len(NOTES)} bytes, SHA-256 {digest}" in done.stdout.splitlines()
    assert "code:" not in done.stdout, "an added file is no code of the archive"
    data = json.loads(cli("pack", record, "-o", "x.perigee", "--force", "--add", "notes/a.md", "--json").stdout)
    assert data["added"] == [{"name": "added/a.md", "size": len(NOTES), "sha256": digest}]
    assert cli("pack", record, "-o", "x.perigee", "--force", "--add", "notes/a.md", "--add", "mark.py").returncode == 0
    done = cli("verify", "x.perigee")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        "cubic seed 1",
        "added/a.md",
        "added/mark.py",
    ]
    assert cli("run", "x.perigee", "--out", "again", "--no-report").returncode == 0, "without consent"
    assert not list(tmp_path.rglob("ran"))
    with zipfile.ZipFile(tmp_path / "x.perigee") as file:
        assert file.read("added/a.md").decode() == NOTES


@pytest.mark.slow
def test_a_changed_added_file_is_refused(record: str, tmp_path: Path, cli: Cli) -> None:
    assert cli("pack", record, "-o", "x.perigee", "--add", "notes/a.md").returncode == 0
    content, index = parts(tmp_path / "x.perigee")
    zipped(tmp_path / "bad.perigee", {**content, "added/a.md": NOTES.upper().encode()}, index)
    done = cli("verify", "bad.perigee", "--no-rerun")
    assert done.returncode == 2
    assert "'added/a.md' is not the file that its index lists" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["added/../up", "added/", "added/a\x1b[2J", "added/A.md", "added/a.md/x", "/added/x", "Added/x"]
)
def test_hostile_names_of_added_files_are_refused(record: str, tmp_path: Path, cli: Cli, name: str) -> None:
    assert cli("pack", record, "-o", "x.perigee", "--add", "notes/a.md").returncode == 0
    content, index = parts(tmp_path / "x.perigee")
    entry = {"name": name, "size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    before = sorted(tmp_path.rglob("*"))
    zipped(tmp_path / "x.perigee", {**content, name: b"x"}, {**index, "entries": [*index["entries"], entry]})
    with pytest.raises(ArchiveError, match=r"x\.perigee"):
        open_archive(tmp_path / "x.perigee").unpack(tmp_path / "unpacked")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_code_of_a_job_is_not_taken_from_added_files(record: str, tmp_path: Path, cli: Cli) -> None:
    assert cli("pack", record, "-o", "x.perigee", "--add", "mark.py").returncode == 0
    content, _ = parts(tmp_path / "x.perigee")
    jobs = json.loads(content["jobs.json"])
    sha256 = hashlib.sha256(content["added/mark.py"]).hexdigest()
    jobs["jobs"][0]["files"] = [{"path": "added/mark.py", "sha256": sha256}]
    rebuilt(tmp_path / "x.perigee", tmp_path / "bad.perigee", {"jobs.json": json.dumps(jobs).encode()})
    done = cli("run", "bad.perigee", "--trust", "--out", "again")
    assert done.returncode == 2
    assert "'added/mark.py', which is not a file of the archive" in done.stderr
    assert not list(tmp_path.rglob("ran"))


@pytest.mark.slow
def test_what_cannot_be_added_is_named(record: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "A.MD").write_text("another", encoding="utf-8")
    (tmp_path / "line\nbreak").write_text("x", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    for files, text in (
        (["notes/a.md", "A.MD"], "an archive has one file named A.MD, rename one"),
        (["notes"], "--add notes: this is a folder"),
        (["absent.md"], "--add absent.md: this is no file"),
        (["pipe"], "--add pipe: this is no file"),
        (["line\nbreak"], "the entry"),
    ):
        done = cli("pack", record, "-o", "x.perigee", *(word for f in files for word in ("--add", f)))
        assert (done.returncode, text in done.stderr) == (2, True), done.stderr
        assert not (tmp_path / "x.perigee").exists()
    with pytest.raises(RecordError, match="this is a folder"):
        packing.pack(tmp_path / "out", tmp_path / "x.perigee", tables=False, added=[tmp_path])
