# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The words of a command line: arguments of programs, and names of results."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from perigee_lab.common import names
from perigee_lab.common.errors import stop

AT = "--at"
# Commands that take a program after their arguments.
COMMANDS = ("exec", "shell", "emulate")
# All arguments are those of a program; its help lists them.
PASSED_ON = "gateway"
OUT = ("--out", "-o")


def without_programs(arguments: Sequence[str]) -> list[str]:
    """Packs the arguments of `COMMANDS` from the first --at on into one hidden option.

    Of `PASSED_ON`, it packs all arguments.
    """
    if arguments and arguments[0] == PASSED_ON:
        from perigee_lab.cli.gateway import program

        # Without the program, the command has a help of its own.
        own_help = bool({"--help", "-h"} & set(arguments)) and program() is None
        return [PASSED_ON, "--help"] if own_help else [PASSED_ON, "--words", json.dumps(arguments[1:])]
    if not arguments or arguments[0] not in COMMANDS or AT not in arguments:
        return list(arguments)
    first = list(arguments).index(AT)
    return [*arguments[:first], "--programs", json.dumps(arguments[first:])]


def refuse_odd_results(arguments: Sequence[str]) -> None:
    """Ends the command if --out has a control character, which its messages would pass to the terminal."""
    ours = list(arguments)[: list(arguments).index("--")] if "--" in arguments else list(arguments)
    values = [after for word, after in itertools.pairwise(ours) if word in OUT]
    values += [word.partition("=")[2] for word in ours if word.startswith("--out=")]
    for value in values:
        if why := names.problem(value):
            stop(f"--out {names.visible(value)} {why}")
