# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Scripts of `make check`: links of Markdown and subjects of commits, in temporary repositories."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

PAGE = """# The page

[there](sub/other.md#two-words-1), [`code`](sub/other.md#the-run-command), [up](../a/index.md#the-page)
[folder](sub), [web](https://example.org/none), ![figure](sub/none.png)
[![badge](sub/gone.svg)](#no-heading)

```
[in code](none.md)
```
`[in code](none.md)` [defined] [named](sub/other.md#by-hand)

[defined]: sub/other.md#absent
"""
OTHER = """# Two words
## Two words
### The `run` command
<a id="by-hand"></a>
```
# Absent
```
"""


def git(folder: Path, *arguments: str) -> None:
    """Runs git with a separate author."""
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)


def run(script: str, folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Runs a script; returns its exit code and lines of output."""
    command = [sys.executable, ROOT / ".ci" / script, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty repository."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def commit(folder: Path, subject: str) -> None:
    git(folder, "commit", "-q", "--allow-empty", "-m", subject)


def test_broken_links_and_anchors_are_listed_with_their_lines(repository: Path) -> None:
    (repository / "a/sub").mkdir(parents=True)
    (repository / "a/index.md").write_text(PAGE)
    (repository / "a/sub/other.md").write_text(OTHER)
    # A file that a clone would not contain.
    (repository / "a/sub/gone.svg").write_text("")
    git(repository, "add", "a/index.md", "a/sub/other.md")
    code, lines = run("links", repository)
    assert code == 1
    assert sorted(lines) == [
        "a/index.md:12: sub/other.md#absent: no such heading in a/sub/other.md",
        "a/index.md:4: sub/none.png: no such file in the repository",
        "a/index.md:5: #no-heading: no such heading in a/index.md",
        "a/index.md:5: sub/gone.svg: no such file in the repository",
        "links: 2 pages, 4 broken",
    ]


def test_links_are_skipped_outside_of_a_repository(tmp_path: Path) -> None:
    assert run("links", tmp_path) == (0, ["links: skipped, not a git checkout"])


def test_a_subject_of_72_characters_passes_and_one_of_73_fails(repository: Path) -> None:
    commit(repository, "x" * 100)
    first = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=repository, text=True).strip()
    commit(repository, "y" * 72)
    assert run("subjects", repository, first) == (0, ["subjects: 1 commits, 0 too long"])
    commit(repository, "ü" * 73)
    code, lines = run("subjects", repository, first)
    assert code == 1
    assert "subject has 73 characters, at most 72 are allowed" in lines[0]
    assert lines[1] == "subjects: 2 commits, 1 too long"


def test_subjects_are_skipped_where_the_first_commit_is_missing(repository: Path, tmp_path: Path) -> None:
    commit(repository, "x" * 100)
    first = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=repository, text=True).strip()
    commit(repository, "y" * 100)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), str(shallow))
    assert run("subjects", shallow, first) == (0, [f"subjects: skipped, {first[:9]} is not in this clone"])
    assert run("subjects", repository)[1] == ["subjects: skipped, 4dd25f4a2 is not in this clone"]
    assert run("subjects", tmp_path)[1] == ["subjects: skipped, 4dd25f4a2 is not in this clone"]


def test_a_rebase_without_the_first_commit_is_skipped(repository: Path) -> None:
    commit(repository, "x")
    first = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=repository, text=True).strip()
    git(repository, "checkout", "-q", "--orphan", "other")
    commit(repository, "y" * 100)
    assert run("subjects", repository, first) == (0, [f"subjects: skipped, {first[:9]} is no ancestor of this commit"])
