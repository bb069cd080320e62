# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs on real hosts: commands, output and exit status, in simulated time."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.credentials import hidden
from perigee_lab.common.exit_codes import STOPPED
from perigee_lab.common.interrupt import was_interrupted
from perigee_lab.common.messages import complain

if TYPE_CHECKING:
    from perigee_lab import _core

FOLDER = "programs"
"""Folder of a record for the output of its programs."""
INDEX = f"{FOLDER}/programs.json"
"""File of a record with the exit statuses of its programs, as in the manifest."""
KINDS = ("output", "errors")
"""Standard output and standard error."""
# Prefix of the core's reports of output beyond the limit.
DISCARDED = "discarded "
# PATH in the environment of the programs.
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Program:
    """A command on a node."""

    node: str
    words: tuple[str, ...]
    awaited: bool = False
    """Whether the run waits for the end of this program."""
    environment: tuple[str, ...] = ()
    start_ns: int = 0
    folder: Path = field(default_factory=Path.cwd)
    stdin: Path | bytes | None = None
    """Standard input: a file on this machine, or bytes."""
    terminal: bool = False
    """Whether the standard streams are a terminal."""

    @property
    def line(self) -> str:
        """The command as typed in a shell."""
        return quoting.shell_words(self.words)

    def as_core(self) -> _core._OneProgram:
        """Argument of the core (`programs.rs`)."""
        given = self.stdin
        return {
            "node": self.node,
            "start_ns": self.start_ns,
            "folder": self.folder,
            "environment": list(self.environment),
            "words": list(self.words),
            "file": given if isinstance(given, Path) else None,
            "data": given if isinstance(given, bytes) else None,
            "terminal": self.terminal,
            "awaited": self.awaited,
        }

    def sha256(self) -> str | None:
        """Hash of the binary; None if it is not found.

        Commands that a shell runs are not covered.
        """
        found = shutil.which(self.words[0], path=SEARCHED) if "/" not in self.words[0] else self.folder / self.words[0]
        try:
            return None if found is None else hashlib.sha256(Path(found).read_bytes()).hexdigest()
        except OSError:
            return None


def of_scenario(core: _core.Scenario) -> list[Program]:
    """The programs of a scenario file."""
    return [
        Program(
            p["node"],
            tuple(p["words"]),
            p["awaited"],
            tuple(p["environment"]),
            p["start_ns"],
            Path(p["folder"]),
            bytes(p["data"]) if p["data"] else p["file"],
        )
        for p in core.programs
    ]


OnOutput = Callable[[int, str, bytes], None]
"""Callback with the number of a program, "output" or "errors", and the bytes that it has
written."""


@dataclass
class Story:
    """Output and exit status of a program; times in ns of the run."""

    program: Program
    begun_ns: int | None = None
    ended_ns: int | None = None
    code: int | None = None
    """Exit code; if negative, minus the number of the signal that killed the program; None = still
    running at the end."""
    terminated_ns: int | None = None
    """End of the run, if the program was running then and received SIGTERM."""
    exited_ns: int | None = None
    """End of the program after `terminated_ns`; None = it was killed at the end of its time for that."""
    exited_code: int | None = None
    """As `code`, for `exited_ns`."""
    growth: list[tuple[int, int]] = field(default_factory=list)
    """Times at which standard output grew, ns, and its length then."""
    discarded: dict[str, int] = field(default_factory=dict)
    """Bytes written beyond `hosts.output_limit`, by kind of output; kinds without any are absent."""
    written: dict[str, bytearray] = field(default_factory=lambda: {kind: bytearray() for kind in KINDS})

    @property
    def ending(self) -> str:
        """How the program ended, as human-readable text."""
        if self.begun_ns is None:
            return "was not started before the end"
        if self.ended_ns is not None and self.code is not None:
            return f"{_how(self.code)} after {(self.ended_ns - self.begun_ns) / 1e9:.6g} s"
        running = "was still running at the end"
        if self.terminated_ns is None:
            return running
        if self.exited_ns is None or self.exited_code is None:
            return f"{running}, did not exit on SIGTERM, and was killed"
        if self.exited_code == -signal.SIGTERM:
            return f"{running}, and ended on SIGTERM"
        return f"{running}; {_how(self.exited_code)}, {_length(self.exited_ns - self.terminated_ns)} after SIGTERM"

    @property
    def excess(self) -> list[str]:
        """Warnings about discarded output, as human-readable text."""
        names = {"output": "output", "errors": "error"}
        return [
            f"standard {names[kind]}: the first {len(self.written[kind])} bytes are kept, {n} more were discarded"
            " (hosts.output_limit)"
            for kind, n in self.discarded.items()
        ]

    @property
    def exit_code(self) -> int:
        """The exit code in a shell: 128 + signal, or 124 if the end of the run stopped it."""
        if self.code is None:
            return STOPPED
        return self.code if self.code >= 0 else 128 - self.code

    def as_json(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "node": self.program.node,
            "command": [hidden(w) for w in self.program.words],
            "begun_ns": self.begun_ns,
            "ended_ns": self.ended_ns,
            "exit_code": self.code,
            "terminated_ns": self.terminated_ns,
            "exited_ns": self.exited_ns,
            "exited_code": self.exited_code,
            "program": self.program.sha256(),
            **({"discarded_bytes": self.discarded} if self.discarded else {}),
            **{kind: hashlib.sha256(data).hexdigest() for kind, data in self.written.items()},
        }


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by signal {named(-code)}"


def _length(ns: int) -> str:
    return f"{ns / 1e9:.3g} s" if ns >= 1e9 else f"{ns / 1e6:.0f} ms" if ns >= 1e6 else "less than 1 ms"


def named(number: int) -> str:
    """The number of a signal with its name, such as 11 (SIGSEGV)."""
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def _ignored(_program: int, _kind: str, _data: bytes) -> None:
    """Discards output."""


class Stories:
    """Collector of the output and exit status of programs."""

    def __init__(self, programs: Sequence[Program], on_output: OnOutput = _ignored) -> None:
        """Creates a collector that forwards output to `on_output`."""
        self.all = [Story(p) for p in programs]
        self.on_output = on_output
        self.error: BaseException | None = None
        """First exception of the callback, which the core discards."""

    def __call__(self, kind: str, at_ns: int, program: int, data: bytes, code: int) -> None:
        """Callback of the core."""
        try:
            self._update(kind, at_ns, program, data, code)
        except BaseException as error:
            self.error = self.error or error

    def check(self) -> None:
        """Raises what the callback could not. Raises KeyboardInterrupt also if it came just before the callback."""
        if self.error is not None:
            raise self.error
        if was_interrupted():
            raise KeyboardInterrupt

    def _update(self, kind: str, at_ns: int, program: int, data: bytes, code: int) -> None:
        if kind == "ending":
            for story in self.all:
                if story.begun_ns is not None and story.code is None:
                    story.terminated_ns = at_ns
            return
        if kind == "busy":
            complain(data.decode())
            return
        story = self.all[program]
        if kind == "begun":
            story.begun_ns = at_ns
        elif kind in story.written:
            story.written[kind] += data
            if kind == "output":
                story.growth.append((at_ns, len(story.written[kind])))
            if self.error is None:
                self.on_output(program, kind, data)
        elif kind.startswith(DISCARDED):
            story.discarded[kind.removeprefix(DISCARDED)] = code
        elif story.terminated_ns is not None:
            story.exited_ns, story.exited_code = at_ns, code if kind == "exited" else -code
        else:
            story.ended_ns, story.code = at_ns, code if kind == "exited" else -code

    def as_json(self) -> list[dict[str, Any]]:
        """For the manifest."""
        return [s.as_json() for s in self.all]

    def files(self) -> dict[str, bytes]:
        """Files of a record by path: the exit statuses, and the output of each program."""
        found = {INDEX: (json.dumps(self.as_json(), indent=1) + "\n").encode()}
        for i, story in enumerate(self.all):
            for kind, data in story.written.items():
                found[output_file(i, story.program.node, kind)] = bytes(data)
        return found


def output_file(number: int, node: str, kind: str) -> str:
    """Path in a record of what a program has written; `kind` is that of `OnOutput`."""
    return f"{FOLDER}/{number}-{re.sub(r'[^A-Za-z0-9._-]', '-', node)}.{kind}"
