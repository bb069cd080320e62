# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee exec` and `perigee shell`: programs and people on real hosts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli.options import (
    EnvOption,
    JsonOption,
    ProgramsKernelOption,
    ScenarioArg,
    SetOption,
    TrustOption,
    WritableOption,
    stop,
)

if TYPE_CHECKING:
    from perigee_lab.hosts.kernels import Kernel
    from perigee_lab.runs.scenario import Scenario

Load = Callable[..., "Scenario"]
KernelOf = Callable[[str | None, str | None], "Kernel | None"]


def register(app: typer.Typer, load: Load, kernel_of: KernelOf) -> None:
    """Adds the commands."""

    @app.command("exec")
    def exec_programs(
        scenario: ScenarioArg,
        programs: Annotated[str | None, typer.Option(hidden=True)] = None,
        env: EnvOption = None,
        writable: WritableOption = None,
        kernel: ProgramsKernelOption = None,
        sets: SetOption = None,
        stdin: Annotated[
            str | None,
            typer.Option(metavar="FILE", help="What the program that is named last reads; - = standard input."),
        ] = None,
        pcap: Annotated[bool, typer.Option("--pcap", help="Also write captures at both ends.")] = False,
        clock: Annotated[
            str, typer.Option(metavar="virtual|real", help="real: by the machine's clock, as `perigee emulate`.")
        ] = "virtual",
        out: Annotated[Path | None, typer.Option(help="Folder of the record; default: a fresh runs/NAME-exec.")] = None,
        force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
        trust: TrustOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Run programs of this machine on real hosts under a scenario's network: --at NODE [--] COMMAND...

        Each program has an --at; they come last. They see the machine's files; what they write stays in memory.
        They start 0.1 s apart, in simulated time; the run ends when the one that is named last ends, whose exit
        code is that of this command, or with the scenario's duration, which kills what still runs (exit code 124;
        125 where Perigee fails). One argument with spaces is a line for the shell. Flows of the compared scheme
        carry the programs' packets; flows with a scheme of their own run beside them.
        """
        from perigee_lab.cli.programs import Asked, exec_command, parsed
        from perigee_lab.cli.real_time import emulate_command

        if programs is None:
            stop("say what to run: --at london -- iperf3 -c new-york")
        _check_surroundings(env, writable)
        if stdin not in (None, "-") and not Path(stdin).is_file():
            stop(f"--stdin {stdin} is no file")
        # All of it, at once: virtual time waits for nobody.
        given = None if stdin is None else sys.stdin.buffer.read() if stdin == "-" else Path(stdin).resolve()
        commands = parsed(json.loads(programs), env or [], given)
        asked = Asked(out, writable or [], force, as_json, pcap)
        if clock == "real":
            if kernel is not None or writable:
                stop("--kernel and --writable belong to virtual time: in real time hosts have this machine's")
            loaded = load(scenario, sets, trust=trust, as_json=as_json)
            raise SystemExit(emulate_command(loaded, commands, asked))
        if clock != "virtual":
            stop(f"--clock {clock!r} is neither virtual nor real")
        on = kernel_of("linux", kernel)
        assert on is not None
        loaded = load(scenario, sets, trust=trust, as_json=as_json)
        raise SystemExit(exec_command(loaded, commands, on, asked))

    @app.command("shell")
    def shell(
        scenario: ScenarioArg,
        programs: Annotated[str | None, typer.Option(hidden=True)] = None,
        env: EnvOption = None,
        writable: WritableOption = None,
        kernel: ProgramsKernelOption = None,
        sets: SetOption = None,
        trust: TrustOption = False,
    ) -> None:
        """A shell on a host under a scenario's network: --at NODE, with --at NODE [--] COMMAND... programs beside it.

        Simulated time goes as the machine's clock does, or slower. The session ends with the shell (exit, Ctrl-D),
        or with the scenario's duration; it leaves no record. Other options come before the first --at.
        """
        from perigee_lab.cli.shell import asked, shell_command

        if programs is None:
            stop("say where: --at london")
        _check_surroundings(env, writable)
        wanted = asked(json.loads(programs), env or [])
        on = kernel_of("linux", kernel)
        assert on is not None
        loaded = load(scenario, sets, trust=trust)
        raise SystemExit(shell_command(loaded, wanted, on, writable or []))


def _check_surroundings(env: list[str] | None, writable: list[Path] | None) -> None:
    """Ends where the environment of programs is wrong."""
    wrong = [e for e in env or [] if "=" not in e]
    if wrong:
        stop(f"--env {wrong[0]!r} is not NAME=VALUE")
    missing = [w for w in writable or [] if not w.is_dir()]
    if missing:
        stop(f"--writable {missing[0]} is no folder")


def refuse_idle(scenario: Scenario, clock: str) -> None:
    """Ends where a key of the scenario means nothing by this clock."""
    if clock == "real":
        from perigee_lab.hosts.real_time import without_effect

        if (why := without_effect(scenario.core.toml)) is not None:
            stop(why)
