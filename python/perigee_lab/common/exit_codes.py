# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Exit codes. No imports here: the first Ctrl-C may arrive before any import has finished."""

FAILED = 1
BAD_INPUT = 2
OUTSIDE_TOLERANCE = 3
"""A validation, or the verification of a record, has found differences."""
INCOMPLETE = 3
"""A run with hosts that exited or hung: its partial record is kept, and the manifest notes it."""
UNMET = 4
"""An expectation of a scenario has failed."""
UNDECIDED = 5
"""No expectation has failed, but one is undecided or not observable; or nothing was compared."""
STOPPED = 124
"""`perigee exec`: the end of the run stopped the program, as in timeout(1).

Its other codes are those of the program."""
OURS = 125
"""`perigee exec`: Perigee failed, not the program (as in env(1)).

126 = the program cannot be executed, 127 = it does not exist.
"""
INTERRUPTED = 130
"""128 + SIGINT, the convention of shells."""
