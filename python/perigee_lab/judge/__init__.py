# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Expectations of results: metrics, verdicts, reports for CI, and catalogues of test cases."""
