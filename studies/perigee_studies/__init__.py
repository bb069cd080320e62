# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every figure and table of five studies by one command.

* `model`: what an experiment is; `registry`: all of them (one file each under `perigee_studies.figures`).
* `execute`: runs what is missing and keeps a digest of each run (`digest`, `cache`).
* `conclude`: digests → tables (CSV) → verdicts and figures; `gallery`: the page with all of them.
* `stats`, `verdicts`, `style`: intervals and tests, comparisons with published values, looks.
"""
