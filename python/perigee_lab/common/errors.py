# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Errors that users can fix, and the end of a command."""

from __future__ import annotations

from typing import NoReturn

from perigee_lab.common.exit_codes import BAD_INPUT


class PerigeeError(Exception):
    """Base of the errors of this package: the text states the problem and the remedy.

    The command line prints it and exits with `code`.
    """

    code: int = BAD_INPUT
    has_cause: bool = False
    """The traceback of `__cause__` is that of user-supplied code, and is printed."""


class CommandError(PerigeeError):
    """The end of a command. Without a message, everything has already been printed."""

    def __init__(self, message: str = "", code: int = BAD_INPUT) -> None:
        """The message may have several lines; `code` is the exit code."""
        super().__init__(message)
        self.code = code


def stop(message: str = "", code: int = BAD_INPUT) -> NoReturn:
    """Ends the command with a message and an exit code. Raises CommandError."""
    raise CommandError(message, code)
