# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Handling of Ctrl-C: it takes effect once, at any moment, and is never lost.

Python raises `KeyboardInterrupt` wherever the main thread happens to be. In a callback of the
interpreter it is swallowed; in an import another error may replace it. A swallowed interrupt is
raised again, and an interrupted program exits as interrupted regardless of the exception's fate
(`perigee_lab.entry`). Long work runs in processes that end with this one
(`perigee_lab.runs.executor`), or on a thread that no caller joins.

Imports only fast modules, since this module is imported before anything else.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager

# Not from `typing`: see `perigee_lab/__init__.py`.
from perigee_lab.common.exit_codes import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MESSAGE = "perigee: interrupted"
# One key press may arrive twice (from the terminal and from a parent); only a later one counts.
ECHO_S = 1.0
# Delay until a swallowed interrupt is raised again.
AGAIN_S = 0.01


class _State:
    """State of this process, as a signal handler has no other place to store it."""

    first_s: float | None = None
    swallowed = False
    announced = False


def was_interrupted() -> bool:
    """Whether this program was interrupted; always False where Perigee is used as a library."""
    return _State.first_s is not None


def announce(more: str = "") -> None:
    """Reports once that the program was interrupted."""
    if not _State.announced:
        _State.announced = True
        print(f"{MESSAGE}; {more}" if more else MESSAGE, file=sys.stderr, flush=True)


def leave(*_: Any) -> None:
    """Handler: ends the process immediately."""
    os.write(2, b"" if _State.announced else f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)


def raised(*_: Any) -> None:
    """Handler: raises one exception for the first Ctrl-C; an echo does not disturb the cleanup."""
    again, _State.swallowed = _State.swallowed, False
    if _State.first_s is None or again:
        _counts()
        raise KeyboardInterrupt
    if _counts():
        leave()


@contextmanager
def on_termination() -> Iterator[None]:
    """Handles SIGTERM and SIGHUP as Ctrl-C within the block, unless the caller handles or ignores them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = (name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
    ours = [s for s in map(signal.Signals.__getitem__, names) if signal.getsignal(s) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, raised)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _counts() -> bool:
    """Records a Ctrl-C; returns whether it is a new key press rather than an echo."""
    now = time.monotonic()
    if _State.first_s is None:
        _State.first_s = now
        return True
    return now - _State.first_s > ECHO_S


def _again(*_: Any) -> None:
    signal.raise_signal(signal.SIGINT)


def raise_what_is_swallowed() -> None:
    """Enables raising an interrupt again if a finalizer or a callback swallows it."""
    if sys.platform == "win32":
        return
    before = sys.unraisablehook

    def hook(what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            if threading.current_thread() is threading.main_thread():
                # Not raised here: an exception raised by a hook is also swallowed.
                _State.swallowed = True
                signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            return
        before(what)

    signal.signal(signal.SIGALRM, _again)
    sys.unraisablehook = hook
