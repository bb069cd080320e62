# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Run results: the record and its manifest, metrics, tables, plots, report."""
