# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reproduction of five studies: every figure and table with one command.

* `model`: experiments; `registry`: their list (one file each under `perigee_studies.figures`).
* `execute`: runs missing cases and stores a digest of each run (`digest`, `cache`).
* `conclude`: digests → tables (CSV) → verdicts and figures; `gallery`: the page with all of them.
* `verdicts`, `style`: comparisons with published values, styles. Intervals and tests are those of
  `perigee_lab.common.statistics`.
"""

from pathlib import Path

RESULTS = Path("runs/study")
"""Default folder of results."""
