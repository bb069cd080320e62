# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Arguments that belong to programs instead of Perigee."""

from __future__ import annotations

import json
from collections.abc import Sequence

AT = "--at"
# Commands whose arguments are followed by a program.
COMMANDS = ("exec", "shell", "emulate")


def without_programs(arguments: Sequence[str]) -> list[str]:
    """Packs the arguments of `COMMANDS` from the first --at on into one hidden option."""
    if not arguments or arguments[0] not in COMMANDS or AT not in arguments:
        return list(arguments)
    first = list(arguments).index(AT)
    return [*arguments[:first], "--programs", json.dumps(arguments[first:])]
