# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Messages of commands on the error stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TextIO

from perigee_lab.common.quoting import terminal

# Interval of the lines printed without a progress bar; the first is printed at the start.
EVERY_S = 10.0


def complain(message: str) -> None:
    """Prints an error or warning, each line with the program's name as a prefix.

    Editors recognise the form `program:file:line: …`. Text from files and servers is escaped: no
    escape sequence reaches the terminal.
    """
    for line in terminal(message).splitlines():
        print(line if line.startswith((" ", "perigee: ")) else f"perigee: {line}", file=sys.stderr)


def say(text: object, *, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Prints lines of text, by default on standard output. Names of files and others are escaped as by `complain`."""
    print(terminal(str(text)), end=end, file=file, flush=flush)


def plain_progress(
    what: str, total: int, *, every_s: float = EVERY_S, clock: Callable[[], float] = time.monotonic
) -> Callable[[], None]:
    """Reports the start of `what`; each call counts one of `total`, reported at intervals."""
    say(f"{what} …", file=sys.stderr, flush=True)
    done, begun = 0, clock()
    told = begun

    def tick() -> None:
        nonlocal done, told
        done += 1
        now = clock()
        if now - told >= every_s and done < total:
            told = now
            left_s = (now - begun) / done * (total - done)
            say(f"{what}: {done} of {total}, about {left_s:.0f} s left", file=sys.stderr, flush=True)

    return tick


def nearest(given: str, known: Mapping[str, str]) -> str:
    """A question for what resembles a known word, " (did you mean X or Y?)"; empty for others.

    `known` has the names to suggest by the words that stand for them.
    """
    import difflib

    lower = {word.lower(): name for word, name in known.items()}
    close = difflib.get_close_matches(given.lower(), list(lower), n=3, cutoff=0.6)
    close += [word for word in lower if len(given) > 2 and given.lower() in word and word not in close]
    names = list(dict.fromkeys(lower[word] for word in close))[:3]
    return f" (did you mean {' or '.join(names)}?)" if names else ""


def significant(value: float, digits: int = 2) -> str:
    """A number with this number of digits and without an exponent: 160, not 1.6e+02."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"
