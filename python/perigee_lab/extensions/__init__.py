# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Python code of the user's: whose runs, and how names become classes and functions."""
