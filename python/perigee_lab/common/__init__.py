# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What every other room uses: files, JSON structures, columns, exit codes, interrupts."""
