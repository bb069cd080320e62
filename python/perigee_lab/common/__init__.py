# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Shared utilities: files, JSON structures, columns, exit codes, interrupts."""
