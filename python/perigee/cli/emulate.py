# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee emulate`: programs of this machine behind a scenario's network, by the machine's clock."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee.cli.arguments import AT
from perigee.cli.options import EnvOption, ForceOption, JsonOption, ScenarioArg, SetOption, TrustOption, stop
from perigee.cli.programs import Asked, exec_command, groups_of, nodes_of, words_of
from perigee.hosts.real_time import punctual, why_not
from perigee.runs.programs import STAGGER_NS
from perigee.runs.stories import Program

if TYPE_CHECKING:
    from perigee.runs.scenario import Scenario

Load = Callable[..., "Scenario"]


def programs_of(
    words: Sequence[str], nodes: Sequence[str], environment: Sequence[str], stdin: Path | bytes | None = None
) -> list[Program]:
    """Programs of `--at NODE [[--] COMMAND...]`; a node without a command gets the shell, which is then the last.

    The last one is awaited. Without any `--at` the shell is on the first node.
    """
    groups = groups_of(words) or [(nodes[0], [])]
    shells = [node for node, command in groups if not command]
    if len(shells) > 1 or "" in shells:
        stop(f"after {AT} come a node and a command; one node may be without a command, for a shell")
    commands = [(node, words_of(command)) for node, command in groups if command]
    made = [Program(n, w, environment=tuple(environment), start_ns=i * STAGGER_NS) for i, (n, w) in enumerate(commands)]
    start_ns = len(made) * STAGGER_NS
    if shells:
        return [*made, Program(shells[0], *shell_at(shells[0], environment), start_ns=start_ns, terminal=True)]
    last = made[-1]
    return [*made[:-1], Program(last.node, last.words, True, last.environment, last.start_ns, stdin=stdin)]


def shell_at(node: str, environment: Sequence[str]) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """The user's terminal on a node: command, awaited, environment."""
    shell = ["/bin/bash", "--norc"] if Path("/bin/bash").exists() else ["/bin/sh"]
    interactive = ["-i"] if sys.stdin.isatty() else []
    return (*shell, *interactive), True, (f"PS1={node}:\\w# ", "HISTFILE=", *environment)


def emulate_command(scenario: Scenario, programs: list[Program], asked: Asked) -> int:
    """Runs programs or a shell in real time; the exit code of the last."""
    if (missing := why_not()) is not None:
        stop(missing)
    with punctual():
        return exec_command(scenario, programs, None, asked)


def register(app: typer.Typer, load: Load) -> None:
    """Adds the command."""

    @app.command()
    def emulate(
        scenario: ScenarioArg,
        programs: Annotated[str | None, typer.Option(hidden=True)] = None,
        env: EnvOption = None,
        sets: SetOption = None,
        stdin: Annotated[
            str | None,
            typer.Option(metavar="FILE", help="What the program that is named last reads; -: standard input."),
        ] = None,
        pcap: Annotated[bool, typer.Option("--pcap", help="Also write captures at both ends.")] = False,
        out: Annotated[
            Path | None, typer.Option(help="Folder of the record; default: a fresh runs/NAME-emulate.")
        ] = None,
        force: ForceOption = False,
        trust: TrustOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Put programs of this machine behind a scenario's network, in real time: --at NODE [[--] COMMAND...].

        Hosts are network namespaces of this machine, made without root; the network is the scenario's, driven by the
        machine's clock. Programs see the machine's files and may change them, as their user. --at can be repeated; one
        without a command opens a shell on its node, and without any --at there is a shell on the first node. The run
        ends when the program that is named last, or the shell, does. How late packets were is in the record; a run
        that was too late is marked.
        """
        wrong = [e for e in env or [] if "=" not in e]
        if wrong:
            stop(f"--env {wrong[0]!r} is not NAME=VALUE")
        if stdin not in (None, "-") and not Path(stdin).is_file():
            stop(f"--stdin {stdin} is no file")
        words = json.loads(programs) if programs is not None else []
        loaded = load(scenario, sets, trust=trust, as_json=as_json)
        given = None if stdin is None else sys.stdin.buffer.read() if stdin == "-" else Path(os.path.abspath(stdin))
        asked = Asked(out, [], force, as_json, pcap, "emulate")
        commands = programs_of(words, nodes_of(loaded), env or [], given)
        raise SystemExit(emulate_command(loaded, commands, asked))
