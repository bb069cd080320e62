# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs of this machine on real hosts: what is run, what they wrote and how they ended, in simulated time."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee.common.files import write_text
from perigee.runs import job, work

if TYPE_CHECKING:
    from perigee.extensions.trust import Permission
    from perigee.hosts.kernels import Kernel
    from perigee.results.record import Run
    from perigee.runs.scenario import Scenario

SCHEME = "programs"
"""Stands for a congestion control in a record whose flows carry what programs send."""
FOLDER = "programs"
# What a program finds in its environment; nothing of ours, so that runs can be repeated elsewhere.
ENVIRONMENT = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8")
# A program begins this long after the one that is named before it: clients find their servers listening.
STAGGER_NS = 100_000_000


@dataclass(frozen=True)
class Program:
    """A command on a node."""

    node: str
    words: tuple[str, ...]
    awaited: bool = False
    """The run ends when all that are awaited have ended."""
    environment: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """As one would type it."""
        return shlex.join(self.words)


Heard = Callable[[int, str, bytes], None]
"""Gets the number of a program, "output" or "errors", and bytes that it wrote, as the run goes on."""


@dataclass
class Story:
    """What became of a program; times in ns of the run."""

    program: Program
    begun_ns: int | None = None
    ended_ns: int | None = None
    code: int | None = None
    """Its exit code; minus the number of the signal that killed it; None = it was still running at the end."""
    written: dict[str, bytearray] = field(default_factory=lambda: {"output": bytearray(), "errors": bytearray()})

    @property
    def ending(self) -> str:
        """How it ended, for people."""
        if self.begun_ns is None:
            return "was not started before the end"
        if self.ended_ns is None or self.code is None:
            return "was still running at the end"
        how = f"exit code {self.code}" if self.code >= 0 else f"killed by signal {-self.code}"
        return f"{how} after {(self.ended_ns - self.begun_ns) / 1e9:.6g} s"

    def as_json(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "node": self.program.node,
            "command": list(self.program.words),
            "begun_ns": self.begun_ns,
            "ended_ns": self.ended_ns,
            "exit_code": self.code,
        }


class Stories:
    """Listens to programs."""

    def __init__(self, programs: Sequence[Program], heard: Heard) -> None:
        """Hands what is written on to `heard`."""
        self.all = [Story(p) for p in programs]
        self.heard = heard

    def __call__(self, kind: str, at_ns: int, program: int, data: bytes, code: int) -> None:
        """The core tells something."""
        story = self.all[program]
        if kind == "begun":
            story.begun_ns = at_ns
        elif kind in story.written:
            story.written[kind] += data
            self.heard(program, kind, data)
        else:
            story.ended_ns = at_ns
            story.code = code if kind == "exited" else -code

    def save(self, folder: Path) -> None:
        """Writes what each has written, and how they ended."""
        folder.mkdir(parents=True, exist_ok=True)
        for i, story in enumerate(self.all):
            node = re.sub(r"[^A-Za-z0-9._-]", "-", story.program.node)
            for kind, data in story.written.items():
                (folder / f"{i}-{node}.{kind}").write_bytes(bytes(data))
        write_text(folder / "programs.json", json.dumps([s.as_json() for s in self.all], indent=1) + "\n")


def run(
    scenario: Scenario,
    programs: Sequence[Program],
    kernel: Kernel,
    folder: Path,
    *,
    heard: Heard,
    writable: Sequence[Path] = (),
    force: bool = False,
    command: Sequence[str] = (),
    pcap: bool = False,
) -> tuple[Run, list[Story]]:
    """Runs programs over the network of a scenario and stores the record in `folder`.

    Flows of the compared scheme carry the programs' packets; flows with a scheme of their own run beside them.

    Raises:
        RunError: the core cannot run it, or a guest failed.
        RecordError: the record cannot be written.
    """
    permission: Permission = scenario.permission
    [made] = job.of(scenario, [scenario.core.seed], [SCHEME], {}, kernel=kernel.manifest.key)
    at = work.opened(made, permission, scenario.functions, scenario.classes())
    stories = Stories(programs, heard)
    here = str(Path.cwd())
    listed = [
        (p.node, i * STAGGER_NS, here, [*ENVIRONMENT, *p.environment], list(p.words), p.awaited)
        for i, p in enumerate(programs)
    ]
    given = (listed, [str(w.resolve()) for w in writable], stories)

    capture = work.capture_of(folder) if pcap else None
    if capture is not None:
        capture.mkdir(parents=True, exist_ok=True)

    def make(batches: work.Batches | None) -> Run | None:
        about = {"command": list(command), "programs": [s.program.line for s in stories.all]}
        return work.perform(
            at, SCHEME, lambda _share: True, batches=batches, capture=capture, about=about, programs=given
        )

    try:
        done = work.store_record(make, str(folder), force=force, capture=None if capture is None else str(capture))
    finally:
        if capture is not None:
            shutil.rmtree(capture, ignore_errors=True)
    assert done is not None, "nobody stopped it"
    stories.save(folder / FOLDER)
    return done, stories.all
