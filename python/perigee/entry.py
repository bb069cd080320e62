# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Where the program `perigee` begins: Ctrl-C is quiet from the first moment on."""

from __future__ import annotations

import os
import signal
from typing import Any

from perigee.exit_codes import INTERRUPTED


def _leave(*_: Any) -> None:
    # Nothing has been begun. An exception in the midst of imports might be swallowed, or come out as another.
    os.write(2, b"perigee: interrupted\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """Runs the command line."""
    before = signal.getsignal(signal.SIGINT)
    heard = before is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, _leave)
    from perigee.cli import main as command_line

    if heard:
        signal.signal(signal.SIGINT, before)
    command_line()
