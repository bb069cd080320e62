# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Arguments that are not Perigee's own."""

from __future__ import annotations

import json
from collections.abc import Sequence

AT = "--at"
# After it come programs.
COMMANDS = ("exec", "shell", "emulate")


def without_programs(arguments: Sequence[str]) -> list[str]:
    """Arguments, those of `COMMANDS` from the first --at on as one hidden option: they are the programs'."""
    if not arguments or arguments[0] not in COMMANDS or AT not in arguments:
        return list(arguments)
    first = list(arguments).index(AT)
    return [*arguments[:first], "--programs", json.dumps(arguments[first:])]
