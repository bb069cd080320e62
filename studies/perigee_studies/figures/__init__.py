# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Published figures and tables, made again: a file each, with its runs, metric, published values and drawing.

They read saved tables only; `perigee_studies` makes the runs.
"""
