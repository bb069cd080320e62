# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Exit codes.

This module imports nothing, since the first Ctrl-C may arrive before any import is complete.
"""

FAILED = 1
"""A command failed for another reason than its input."""
BAD_INPUT = 2
"""An option, a file or the environment is unsuitable; the message states the remedy."""
OUTSIDE_TOLERANCE = 3
"""A validation or the verification of a record found differences."""
INCOMPLETE = 3
"""Hosts of a run exited or hung: the record is partial, as its manifest states."""
UNMET = 4
"""An expectation of a scenario failed."""
UNDECIDED = 5
"""No expectation failed, but one is undecided or not observable; or nothing was compared."""
STOPPED = 124
"""`perigee exec`: the program was stopped at the end of the run (as in timeout(1)).

Otherwise the exit code is that of the program.
"""
OURS = 125
"""`perigee exec`: Perigee failed, not the program (as in env(1)).

126 and 127, also as in env(1): the program cannot be executed, or does not exist.
"""
INTERRUPTED = 130
"""128 + SIGINT, the convention of shells."""
