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
        # As under nohup: Ctrl-C is not for this program.
        from perigee_lab.cli.app import main as command_line

        command_line()
        return
    # An exception in the midst of imports might be swallowed, or come out as another; nothing has been begun.
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
        # Whatever came of the exception on its way: it may have been caught, or become another.
        if interrupt.was_interrupted():
            _leave()


def _give_streams() -> None:
    """Where the shell closed one of them (`>&-`), what is printed goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end


def _leave() -> None:
    """Ends as interrupted, without the interpreter's end: that waits for threads, also for those that never end."""
    # What cannot be written is lost either way.
    for write in (interrupt.announce, sys.stdout.flush, sys.stderr.flush):
        with suppress(OSError, ValueError):
            write()
    os._exit(INTERRUPTED)
