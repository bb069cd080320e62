# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the program ends with. Without imports: the first Ctrl-C may come before any of them is through."""

FAILED = 1
BAD_INPUT = 2
OUTSIDE_TOLERANCE = 3
"""Of a validation, or of a record that is verified."""
INTERRUPTED = 130
"""128 + SIGINT, as shells count."""
