# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Published figures and tables, one file each, with its runs, metric, published values and plot.

They are computed only from saved tables; `perigee_studies` executes the runs. A module of
`MODULES` (`perigee_studies.registry`) has the `EXPERIMENTS` of a figure; the others are its parts:

* `…_cases`: its runs, where the evidence needs them as well; `…_published`: its published values.
* `…_why`, `…_reasons`, `…_misses`: explanations of claims that are not reproduced, from the
  figure's own tables.
* `…_evidence`: the same from other runs, variants of the figure's.
* `…_common`: parts of several figures of a study.
* `unpublished_…`: figures of ours, of what no paper published.
"""
