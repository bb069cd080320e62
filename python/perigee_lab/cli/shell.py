# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee shell`: a shell on a real host."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.options import (
    EnvOption,
    ProgramsKernelOption,
    ScenarioArg,
    SetOption,
    TrustOption,
    WritableOption,
)
from perigee_lab.common.errors import stop


def command(
    scenario: ScenarioArg,
    programs: Annotated[str | None, typer.Option(hidden=True)] = None,
    env: EnvOption = None,
    writable: WritableOption = None,
    kernel: ProgramsKernelOption = None,
    sets: SetOption = None,
    trust: TrustOption = False,
) -> int:
    """Open a shell on Linux under a scenario's network.

    --at NODE: its host; with --at NODE [--] COMMAND... programs beside it.

    Simulated time goes as the machine's clock does, or slower. The session ends with the shell (exit, Ctrl-D),
    or with the scenario's duration; it leaves no record. Other options come before the first --at.
    """
    from perigee_lab.cli.interactive import asked, shell_command

    if programs is None:
        stop("say where: --at london")
    given.check_surroundings(env, writable)
    wanted = asked(json.loads(programs), env or [])
    on = given.linux(kernel)
    loaded = given.scenario(scenario, sets, trust=trust)
    return shell_command(loaded, wanted, on, writable or [])
