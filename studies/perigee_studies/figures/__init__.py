# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Published figures and tables, one file each, with its runs, metric, published values and plot.

They are computed only from saved tables; `perigee_studies` executes the runs.
"""
