# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee exec`: programs on real hosts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.backend import ClockOption, HostsBackendOption, KernelOption, check_hosts, chosen, name_of
from perigee_lab.cli.options import (
    EnvOption,
    GraceOption,
    JsonOption,
    ScenarioArg,
    SetOption,
    StdinOption,
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
    stdin: StdinOption = None,
    pcap: Annotated[bool, typer.Option("--pcap", help="Also write captures at both ends.")] = False,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    clock: ClockOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: a fresh runs/NAME-exec.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Run programs on Linux under a scenario's network; record and report.

    --at NODE [--] COMMAND...: programs of this machine, on real hosts.

    Each program has an --at; they come last. They see the machine's files; what they write stays in memory.
    They start 0.1 s apart, in simulated time; the run ends when the last one in the list ends, whose exit
    code is that of this command, or with the scenario's duration (exit code 124; 125 where Perigee fails).
    Programs that still run receive SIGTERM then, and are killed after --grace. One argument with spaces is a
    line for the shell. Flows of the compared scheme carry the programs' packets; flows with their own scheme
    run alongside.

    With --backend emulation hosts are network namespaces of this machine, in real time and without root. Programs may
    change the machine's files then, as their user; how late packets were is in the record, and a run that was too
    late is marked.
    """
    from perigee_lab.cli.programs import Options, exec_command, parsed
    from perigee_lab.cli.real_time import emulate_command

    if programs is None:
        stop("no program: give a node and a command, such as --at london -- iperf3 -c new-york")
    given.check_surroundings(env, writable)
    if stdin not in (None, "-") and not Path(stdin).is_file():
        stop(f"--stdin {stdin} is no file")
    # Reads the input completely up front: virtual time does not wait for it.
    read = None if stdin is None else sys.stdin.buffer.read() if stdin == "-" else Path(stdin).resolve()
    commands = parsed(json.loads(programs), env or [], read)
    options = Options(out, writable or [], force, as_json, pcap, report=report)
    name = name_of(backend, None, clock, default="linux")
    check_hosts(name, kernel, writable, use)
    if name == "emulation":
        loaded = given.scenario(scenario, [*(sets or []), *given.grace(grace)], trust=trust, as_json=as_json)
        return emulate_command(loaded, commands, options, use or [])
    loaded = given.scenario(scenario, [*(sets or []), *given.grace(grace)], trust=trust, as_json=as_json)
    on = chosen(name, kernel)
    return exec_command(loaded, commands, on, options)
