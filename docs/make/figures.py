# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the README's figure from a saved record: python docs/make/figures.py runs/demo."""

import sys
from pathlib import Path

import matplotlib as mpl

from perigee_lab.results.plots import overview
from perigee_lab.results.run import find_records

mpl.use("Agg")
# The file has no date, so that equal records yield equal files.
overview(find_records(sys.argv[1])).savefig(
    Path(__file__).parents[1] / "explanation/london-new-york.png", dpi=110, metadata={"Software": None}
)
