# SPDX-License-Identifier: Apache-2.0 OR MIT
"""User-supplied Python code: permission to run it, and lookup of its classes and functions."""
