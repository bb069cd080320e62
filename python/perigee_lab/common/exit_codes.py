# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the program ends with. Without imports: the first Ctrl-C may come before any of them is through."""

FAILED = 1
BAD_INPUT = 2
OUTSIDE_TOLERANCE = 3
"""Of a validation, or of a record that is verified."""
INCOMPLETE = 3
"""Of a run whose hosts ended or stood still: what there is of it is kept, with that in its manifest."""
STOPPED = 124
"""Of `perigee exec`, whose other codes are the program's, as of timeout(1): the end of the run stopped the program."""
OURS = 125
"""The same: Perigee failed, not the program (as of env(1)); 126 = it cannot be executed, 127 = it does not exist."""
INTERRUPTED = 130
"""128 + SIGINT, as shells count."""
