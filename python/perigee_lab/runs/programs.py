# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs of this machine on real hosts, in addition to those of a scenario."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from perigee_lab.common.files import fresh
from perigee_lab.runs import job, work
from perigee_lab.runs.stories import OnOutput, Program, Stories, Story, of_scenario

if TYPE_CHECKING:
    from perigee_lab.extensions.trust import Permission
    from perigee_lab.results.run import Run
    from perigee_lab.runs.backends import Backend
    from perigee_lab.runs.scenario import Scenario

SCHEME = "programs"
"""Scheme name in records of program traffic."""
# Delay of each program after the previous one, so that servers listen before their clients start.
STAGGER_NS = 100_000_000


class Keyboard(Protocol):
    """Keyboard of a terminal."""

    error: BaseException | None
    """The exception that ended the input, if any."""

    def __call__(self, time_s: float) -> bytes | None:
        """Waits up to `time_s` for a message to the agent; None = the run should end."""


def look_on(
    scenario: Scenario,
    programs: Sequence[Program],
    backend: Backend,
    on_output: OnOutput,
    keyboard: Keyboard,
    writable: Sequence[Path] = (),
) -> list[Story]:
    """Runs programs, with a terminal for the last, no faster than real time and without a record.

    Raises:
        RunError: the core cannot run it, or a guest failed.
    """
    own = of_scenario(scenario.core)
    scenario.permission.check_programs([p.line for p in own])
    stories = Stories([*own, *programs], on_output)
    guests = work.Guests(stories, programs, outermost(writable), keyboard)
    world = scenario.core.world(scenario.core.seed)
    work.simulate(world, SCHEME, scenario.classes(), batches=_discard, backend=backend, guests=guests)
    if keyboard.error is not None:
        raise keyboard.error
    return stories.all


def outermost(folders: Sequence[Path]) -> list[Path]:
    """Real paths of folders, without nested ones, which a guest could replace by links."""
    found = list(dict.fromkeys(f.resolve() for f in folders))
    return [f for f in found if not any(other in f.parents for other in found)]


def _discard(_name: str, _columns: object) -> None:
    """Discards rows."""


def run(
    scenario: Scenario,
    programs: Sequence[Program],
    backend: Backend,
    folder: Path,
    *,
    on_output: OnOutput,
    writable: Sequence[Path] = (),
    force: bool = False,
    command: Sequence[str] = (),
    pcap: bool = False,
) -> tuple[Run, list[Story]]:
    """Runs programs, after those in the scenario's file, over its network; records to `folder`.

    Flows of the compared scheme carry the programs' packets; flows with their own scheme also run.

    Raises:
        RunError: the core cannot run it, or a guest failed.
        RecordError: the record cannot be written.
        UntrustedProgramError: the file names programs that may not run.
    """
    permission: Permission = scenario.permission
    # In real time, programs run on this machine itself.
    permission.check_programs([p.line for p in of_scenario(scenario.core)])
    [made] = job.of(scenario, [scenario.core.seed], [SCHEME], {}, kernel=backend.key)
    at = replace(work.opened(made, permission, scenario.functions, scenario.classes()), backend=backend)
    stories = Stories([*of_scenario(at.core), *programs], on_output)
    guests = work.Guests(stories, programs, outermost(writable))
    capture = work.capture_of(folder) if pcap else None
    if capture is not None:
        fresh(capture)

    def make(batches: work.Batches | None) -> Run | None:
        about = {"command": list(command)}
        return work.perform(
            at, SCHEME, lambda _share: True, batches=batches, capture=capture, about=about, guests=guests
        )

    try:
        done = work.store_record(make, str(folder), force=force, capture=None if capture is None else str(capture))
    finally:
        if capture is not None:
            shutil.rmtree(capture, ignore_errors=True)
    assert done is not None, "nobody stopped it"
    return done, stories.all
