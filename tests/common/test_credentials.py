# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Passwords, keys and environments stay out of records and messages."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.common.credentials import hidden, recorded
from perigee_lab.measure.net.protocol import read_key
from real_hosts import SCENARIO, real


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("s3://bucket/folder", "s3://bucket/folder"),
        ("sftp://me@host/x", "sftp://me@host/x"),
        ("sftp://me:s3cret@host/x", "sftp://me:***@host/x"),
        ("https://me:p@ss:word@host:80/x?y=1", "https://me:***@host:80/x?y=1"),
        ("x=ftp://:s3cret@host", "x=ftp://:***@host"),
        ("https://h/x?a=1&X-Amz-Signature=abc&b=2", "https://h/x?a=1&X-Amz-Signature=***&b=2"),
        ("https://h/x?sig=abc;se=2", "https://h/x?sig=***;se=2"),
        ("https://h/x?monkey=1&design=2", "https://h/x?monkey=1&design=2"),
        ("tls://head:8786", "tls://head:8786"),
        ("run.cc=cubic", "run.cc=cubic"),
    ],
)
def test_credentials_of_urls_are_hidden_and_nothing_else(given: str, kept: str) -> None:
    assert hidden(given) == kept


def test_a_command_line_is_kept_without_values_of_programs_variables() -> None:
    words = ["perigee", "exec", "s.toml", "--env", "TOKEN=a b=c", "--env=KEY=x", "--env", "--at", "a", "--env", "B=c"]
    kept = recorded(words)
    assert kept[3:7] == ["--env", "TOKEN=***", "--env=KEY=***", "--env"]
    # The words after that belong to the program.
    assert kept[7:] == words[7:]
    assert recorded(["perigee", "run", "s.toml", "--set", "a=b"]) == ["perigee", "run", "s.toml", "--set", "a=b"]


def places_of(folder: Path, secret: str) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]


@pytest.mark.slow
def test_records_of_each_command_keep_its_line_without_credentials(cli: Cli, small: Path, tmp_path: Path) -> None:
    title = "title=https://me:hunter2@host/x"
    done = cli("run", small, "--out", "a", "--set", title, "--cc", "cubic")
    swept = cli("sweep", small, "--out", "b", "--set", "source.dumbbell.rtt=10ms,20ms", "--set", title, "--cc", "cubic")
    assert (done.returncode, swept.returncode) == (0, 0), done.stderr + swept.stderr
    for path in tmp_path.rglob("manifest.json"):
        command = json.loads(path.read_text(encoding="utf-8"))["command"]
        assert title.replace("hunter2", "***") in command
    assert len(list(tmp_path.rglob("manifest.json"))) == 3


@real
def test_values_of_programs_variables_and_their_input_are_in_no_record(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "in").write_text("hunter3", encoding="utf-8")
    words = (
        "exec",
        "s.toml",
        "--out",
        tmp_path / "o",
        "--env",
        "TOKEN=hunter2",
        "--env=OTHER=hunter2",
        "--stdin",
        "in",
    )
    line = 'test -n "$TOKEN" && test "$TOKEN" = "$OTHER" && test $(wc -c) = 7 && echo done; true http://me:hunter4@d1'
    done = cli(*words, "--at", "s1", "--", "sh", "-c", line)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    for secret in ("hunter2", "hunter3", "hunter4"):
        assert places_of(tmp_path / "o", secret) == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files are of POSIX")
def test_a_key_that_others_may_read_gets_a_warning(
    tmp_path: Path, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli("measure", "key", "key").returncode == 0
    file = tmp_path / "key"
    key = read_key(file)
    assert capsys.readouterr().err == ""
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        assert read_key(file) == key
        assert capsys.readouterr().err == (
            f"perigee: {file}: other users of this machine can read or change this key; run chmod 600 {file}\n"
        )
    done = cli("measure", "run", "127.0.0.1:9", "--key-file", file)
    assert "chmod 600" in done.stderr
