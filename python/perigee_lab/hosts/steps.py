# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Subprocesses of a build, with captured output and progress."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Progress = Callable[[str, int, int], None]
"""Progress callback: step, done, total."""

# `  CC      net/ipv4/tcp.o`, as make prints each target.
_MADE = re.compile(r"  [A-Z][A-Z0-9_]* +(\[M\] +)?\S")
_WRONG = re.compile(r"error[: ]|undefined reference|No such file|can't open|No rule to make", re.IGNORECASE)
# A consequence of an earlier error.
_FOLLOWS = re.compile(r"make.*\*\*\* .*Error \d+$")
# Variables to keep; others are settings for other builds, or make two builds of the same input
# differ.
_KEPT = ("PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True)
class Done:
    """A finished subprocess."""

    code: int
    lines: list[str]

    @property
    def errors(self) -> str:
        """Its error messages, indented, or else its last lines."""
        wrong = [line for line in self.lines if _WRONG.search(line) and not _FOLLOWS.match(line)]
        return "\n".join(f"  {line.rstrip()}" for line in (wrong[:12] or self.lines[-12:]))


def environment(**more: str) -> dict[str, str]:
    """An environment in which the same inputs yield the same files."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {
        **kept,
        "LC_ALL": "C",
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
        "KBUILD_BUILD_USER": "perigee",
        "KBUILD_BUILD_HOST": "perigee",
        "KBUILD_BUILD_VERSION": "1",
        # Set but empty: no suffix for a version control system around the tree.
        "LOCALVERSION": "",
        **more,
    }


def call(
    words: Sequence[object],
    folder: Path,
    *,
    on_line: Callable[[str], None] = lambda _: None,
    more: dict[str, str] | None = None,
) -> Done:
    """Runs a program; `on_line` receives each line. An interrupt kills all of its processes."""
    lines = []
    process = subprocess.Popen(
        [str(w) for w in words],
        cwd=folder,
        env=environment(**(more or {})),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # Its own process group, since make has children.
        start_new_session=True,
    )
    try:
        assert process.stdout is not None  # requested above
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            on_line(line)
        return Done(process.wait(), lines)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def counting(progress: Progress, what: str, total: int, *, made: bool = False) -> Callable[[str], None]:
    """Counts lines towards an approximate total; with `made`, only those of built files."""
    done = 0

    def on_line(line: str) -> None:
        nonlocal done
        if not made or _MADE.match(line):
            done = min(done + 1, total)
            progress(what, done, total)

    progress(what, 0, total)
    return on_line
