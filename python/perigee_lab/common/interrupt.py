# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ctrl-C: heard once, at any moment, and never lost.

Python raises `KeyboardInterrupt` wherever the main thread happens to be. In a callback of the interpreter it is
swallowed; in an import it may be replaced by another error. A swallowed interrupt is raised again, and an interrupted
program exits as interrupted whatever became of the exception (`perigee_lab.entry`). Long work runs in processes that
end with this one (`perigee_lab.runs.executor`), or on a thread that no caller joins.

Quick modules only: this is imported before anything else.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

# Not from `typing`: see `perigee_lab/__init__.py`.
from perigee_lab.common.exit_codes import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MESSAGE = "perigee: interrupted"
# One key press can arrive more than once (from the terminal and from a parent); only a later one is impatience.
ECHO_S = 1.0
# How soon an interrupt that was swallowed is raised again.
AGAIN_S = 0.01


class _State:
    """What this process has received. A signal's handler has nowhere else to leave it."""

    first_s: float | None = None
    swallowed = False
    announced = False


def was_interrupted() -> bool:
    """Whether this program was interrupted; always False in a program of somebody else's."""
    return _State.first_s is not None


def announce(more: str = "") -> None:
    """Says once that the program was interrupted."""
    if not _State.announced:
        _State.announced = True
        print(f"{MESSAGE}; {more}" if more else MESSAGE, file=sys.stderr, flush=True)


def leave(*_: Any) -> None:
    """Handler: ends the process where it stands."""
    os.write(2, b"" if _State.announced else f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)


def raised(*_: Any) -> None:
    """Handler: one exception for the first Ctrl-C; what cleans up after it is not disturbed by the echo."""
    again, _State.swallowed = _State.swallowed, False
    if _State.first_s is None or again:
        _counts()
        raise KeyboardInterrupt
    if _counts():
        leave()


def _counts() -> bool:
    """Notes a Ctrl-C; whether it is no echo."""
    now = time.monotonic()
    if _State.first_s is None:
        _State.first_s = now
        return True
    return now - _State.first_s > ECHO_S


def _again(*_: Any) -> None:
    signal.raise_signal(signal.SIGINT)


def raise_what_is_swallowed() -> None:
    """From now on an interrupt that ends in a finalizer or a callback is raised again a moment later."""
    if sys.platform == "win32":
        return
    before = sys.unraisablehook

    def hook(what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            if threading.current_thread() is threading.main_thread():
                # Not here: what a hook raises is swallowed, too.
                _State.swallowed = True
                signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            return
        before(what)

    signal.signal(signal.SIGALRM, _again)
    sys.unraisablehook = hook
