# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Conversion of errors into messages and exit codes, for all commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.exit_codes import BAD_INPUT, FAILED, INCOMPLETE
from perigee_lab.common.files import cannot_write, has_no_room
from perigee_lab.common.messages import complain
from perigee_lab.common.reading import UnreadableError


def reported(error: Exception) -> int | None:
    """Prints an error that users can fix and returns the exit code; None for an internal error."""
    if isinstance(error, PerigeeError):
        if error.has_cause:
            _print_cause(error)
        complain(str(error))
        return error.code
    if isinstance(error, UnicodeEncodeError):
        return _odd_word()
    if isinstance(error, OSError) and (line := _of_system(error)):
        complain(line)
        return BAD_INPUT
    # Errors of the core can only occur if the command has imported the core.
    core = sys.modules.get("perigee_lab._core")
    if core is not None and isinstance(error, core.ScenarioError):
        complain(error.args[0])
        return BAD_INPUT
    if core is not None and isinstance(error, core.RunError):
        _print_cause(error)
        complain(str(error))
        return INCOMPLETE if isinstance(error, core.HostsError) else FAILED
    return None


def _of_system(error: OSError) -> str | None:
    """The message for an error of the system that is no fault of the program."""
    if isinstance(error, FileNotFoundError) and _folder_is_gone():
        return "the current folder was removed or renamed: change to an existing one (cd)"
    if has_no_room(error) or isinstance(error, UnreadableError):
        return cannot_write(Path("the result"), error)
    return None


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _odd_word() -> int | None:
    from perigee_lab.common.quantities import encodable

    odd = next((word for word in sys.argv[1:] if not encodable(word)), None)
    if odd is None:
        return None
    complain(f"{odd!r} is not UTF-8, which results require: rename it, or leave it out")
    return BAD_INPUT


def _print_cause(error: Exception) -> None:
    """Prints the traceback of a plug-in's exception, if any."""
    if error.__cause__ is None:
        return
    from perigee_lab.runs.executor import RemoteError

    if isinstance(error.__cause__, RemoteError):
        print(error.__cause__, end="", file=sys.stderr)
        return
    import traceback

    traceback.print_exception(error.__cause__, file=sys.stderr)
