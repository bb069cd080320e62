# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figure of the README from a saved record: python docs/make/figures.py runs/demo."""

import sys
from pathlib import Path

import matplotlib as mpl

from perigee_lab.results.plots import overview
from perigee_lab.results.run import find_records

mpl.use("Agg")
# Without a date in the file, so that the same record gives the same bits.
overview(find_records(sys.argv[1])).savefig(
    Path(__file__).parents[1] / "explanation/london-new-york.png", dpi=110, metadata={"Software": None}
)
