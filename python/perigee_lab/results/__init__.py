# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a run left: the record and its manifest, metrics, tables, plots, report."""
