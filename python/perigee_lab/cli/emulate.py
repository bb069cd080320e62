# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee emulate`: older form of exec and shell with --backend emulation."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.options import (
    EnvOption,
    ForceOption,
    JsonOption,
    ScenarioArg,
    SetOption,
    StdinOption,
    TrustOption,
    UseOption,
)
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import complain


def command(
    scenario: ScenarioArg,
    programs: Annotated[str | None, typer.Option(hidden=True)] = None,
    env: EnvOption = None,
    sets: SetOption = None,
    stdin: StdinOption = None,
    pcap: Annotated[bool, typer.Option("--pcap", help="Also write captures at both ends.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: a fresh runs/NAME-emulate.")] = None,
    force: ForceOption = False,
    use: UseOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Former name of exec and shell with --backend emulation.

    --at NODE [[--] COMMAND...]: programs of this machine.

    Hosts are network namespaces of this machine, made without root; the network is the scenario's, driven in
    real time. Programs see the machine's files and may change them, as their user. --at can be repeated; one
    without a command opens a shell on its node, and without any --at there is a shell on the first node. The run
    ends when the program that is named last, or the shell, does. How late packets were is in the record; a run
    that was too late is marked.
    """
    from perigee_lab.cli.programs import Options, nodes_of
    from perigee_lab.cli.real_time import emulate_command, programs_of

    given.check_surroundings(env, None)
    if stdin not in (None, "-") and not Path(stdin).is_file():
        stop(f"--stdin {stdin} is no file")
    complain("emulate is deprecated and will be removed in the next version; use exec (or shell) --backend emulation")
    words = json.loads(programs) if programs is not None else []
    loaded = given.scenario(scenario, sets, trust=trust, as_json=as_json)
    read = None if stdin is None else sys.stdin.buffer.read() if stdin == "-" else Path(os.path.abspath(stdin))
    options = Options(out, [], force, as_json, pcap, "emulate")
    commands = programs_of(words, nodes_of(loaded), env or [], read)
    return emulate_command(loaded, commands, options, use or [])
