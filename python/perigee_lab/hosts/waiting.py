# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Event loop of the process of hosts in real time: sockets, and timers of microseconds.

A part of the script `namespaces.py`: it uses Python's standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import struct
import time
from collections.abc import Callable
from typing import Protocol

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
NEVER_NS = 1 << 64
# timerfd_create(2): CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC, TFD_TIMER_ABSTIME.
_MONOTONIC, _FLAGS, _ABSOLUTE = 1, os.O_NONBLOCK | os.O_CLOEXEC, 1
# Maximum instant to which a timer is set: more than a thousand years.
_FARTHEST_NS = 1 << 62

libc = ctypes.CDLL(None, use_errno=True)


class HasFile(Protocol):
    """A socket or another object with a descriptor."""

    def fileno(self) -> int:
        """The descriptor."""


class Waiting:
    """Calls the handler of a socket when it is readable or writable."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        """Watches nothing yet."""
        self.selector = selector

    def watch(self, made: HasFile, events: int, call: Callable[[], None]) -> None:
        """Replaces the watched events of a socket; 0 = none."""
        known = self.selector.get_map().get(made.fileno())
        if not events:
            if known is not None:
                self.selector.unregister(made.fileno())
        elif known is None:
            self.selector.register(made.fileno(), events, call)
        elif known.events != events:
            self.selector.modify(made.fileno(), events, call)


class Timer:
    """A timer readable at its instant, as timeouts of selectors have only milliseconds."""

    def __init__(self) -> None:
        """Starts unset."""
        self._file: int = libc.timerfd_create(_MONOTONIC, _FLAGS)
        self._set_ns = NEVER_NS
        if self._file < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def fileno(self) -> int:
        """Its descriptor."""
        return self._file

    def set(self, at_ns: int) -> None:
        """Sets the expiry on the monotonic clock, immediate if in the past; `NEVER_NS` = never."""
        if at_ns == self._set_ns:
            return
        self._set_ns = at_ns
        # An instant of zero would disarm it.
        seconds, rest = divmod(max(at_ns, 1), 1_000_000_000) if at_ns < _FARTHEST_NS else (0, 0)
        when = struct.pack("=qqqq", 0, 0, seconds, rest)
        if libc.timerfd_settime(self._file, _ABSOLUTE, when, None) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def clear(self) -> None:
        """Acknowledges the expiry."""
        self._set_ns = NEVER_NS
        with contextlib.suppress(BlockingIOError):
            os.read(self._file, 8)


def monotonic_ns() -> int:
    """The clock of a run."""
    return time.monotonic_ns()
