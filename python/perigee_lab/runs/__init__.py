# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Scenarios and their runs: jobs, the executor and its workers, and repeated runs."""
