# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Real hosts: building and storing of Linux kernels, and hosts in real time."""
