# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs of exec and shell with --backend emulation, and of `perigee emulate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.cli.arguments import AT
from perigee_lab.cli.programs import Options, exec_command, groups_of, words_of
from perigee_lab.common.errors import stop
from perigee_lab.hosts.real_time import why_not, without_effect, wrong_place
from perigee_lab.runs.backends import Emulation
from perigee_lab.runs.programs import STAGGER_NS
from perigee_lab.runs.stories import Program

if TYPE_CHECKING:
    from perigee_lab.runs.scenario import Scenario


def programs_of(
    words: Sequence[str], nodes: Sequence[str], environment: Sequence[str], stdin: Path | bytes | None = None
) -> list[Program]:
    """Programs of `--at NODE [[--] COMMAND...]`; a node without a command gets the shell, last.

    The last one is awaited. Without any `--at` the shell is on the first node.
    """
    groups = groups_of(words) or [(nodes[0], [])]
    shells = [node for node, command in groups if not command]
    if len(shells) > 1 or "" in shells:
        stop(f"{AT} needs a node and a command; one node may have no command, for a shell")
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


def emulate_command(scenario: Scenario, programs: list[Program], options: Options, places: Sequence[str] = ()) -> int:
    """Runs programs or a shell in real time; returns the exit code of the last one.

    `places`: see `Emulation`.
    """
    for place in places:
        if (wrong := wrong_place(place)) is not None:
            stop(wrong)
    for refused in (why_not(), without_effect(scenario.core.toml)):
        if refused is not None:
            stop(refused)
    return exec_command(scenario, programs, Emulation(all_flows=False, places=tuple(places)), options)
