# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Entry point of the program `perigee`: one Ctrl-C ends it, at any moment."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from perigee_lab.common import interpreter, interrupt
from perigee_lab.common.exit_codes import INTERRUPTED


def main() -> None:
    """Runs the command line."""
    interpreter.leave_current_folder_out()
    _give_streams()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        # As under nohup: SIGINT is ignored, or handled by the caller.
        from perigee_lab.cli.app import main as command_line

        command_line()
        return
    # An exception during imports might be swallowed or replaced; nothing has started yet.
    signal.signal(signal.SIGINT, interrupt.leave)
    from perigee_lab.cli.app import main as command_line

    interrupt.raise_what_is_swallowed()
    try:
        try:
            signal.signal(signal.SIGINT, interrupt.raised)
            command_line()
        finally:
            signal.signal(signal.SIGINT, interrupt.leave)
    finally:
        # Regardless of the exception's fate: it may have been caught or replaced.
        if interrupt.was_interrupted():
            _leave()


def _give_streams() -> None:
    """Redirects streams that the shell closed (`>&-`) to /dev/null."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end


def _leave() -> None:
    """Exits as interrupted without the interpreter's shutdown, which waits for all threads."""
    # Output that cannot be written is lost either way.
    for write in (interrupt.announce, sys.stdout.flush, sys.stderr.flush):
        with suppress(OSError, ValueError):
            write()
    os._exit(INTERRUPTED)
