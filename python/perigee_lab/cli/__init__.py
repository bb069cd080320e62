# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line: a module per command (`groups.py` has the list), and shared parts."""
