# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee shell`: a shell on a real host."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.backend import HostsBackendOption, KernelOption, check_hosts, chosen, name_of
from perigee_lab.cli.options import (
    EnvOption,
    GraceOption,
    ScenarioArg,
    SetOption,
    TrustOption,
    UseOption,
    WritableOption,
)
from perigee_lab.common.errors import stop


def command(
    scenario: ScenarioArg,
    programs: Annotated[str | None, typer.Option(hidden=True)] = None,
    env: EnvOption = None,
    writable: WritableOption = None,
    backend: HostsBackendOption = None,
    kernel: KernelOption = None,
    use: UseOption = None,
    grace: GraceOption = None,
    sets: SetOption = None,
    trust: TrustOption = False,
) -> int:
    """Open a shell on Linux under a scenario's network.

    --at NODE: its host; with --at NODE [--] COMMAND... programs in addition.

    Simulated time advances in real time, or slower. The session ends with the shell (exit, Ctrl-D),
    or with the scenario's duration; it leaves no record, unless with --backend emulation. Other options come before
    the first --at.
    """
    from perigee_lab.cli.interactive import check_terminal, shell_command, shell_programs
    from perigee_lab.cli.programs import Options, nodes_of
    from perigee_lab.cli.real_time import emulate_command, programs_of

    given.check_surroundings(env, writable)
    name = name_of(backend, None, None, default="linux")
    check_hosts(name, kernel, writable, use)
    if name == "emulation":
        check_terminal()
        loaded = given.scenario(scenario, [*(sets or []), *given.grace(grace)], trust=trust)
        words = json.loads(programs) if programs is not None else []
        commands = programs_of(words, nodes_of(loaded), env or [])
        return emulate_command(loaded, commands, Options(None, [], False, False, False, "shell"), use or [])
    if programs is None:
        stop("no node: give one, such as --at london")
    wanted = shell_programs(json.loads(programs), env or [])
    loaded = given.scenario(scenario, [*(sets or []), *given.grace(grace)], trust=trust)
    on = chosen(name, kernel)
    return shell_command(loaded, wanted, on, writable or [])
