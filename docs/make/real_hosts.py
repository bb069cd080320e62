# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the figure of simulated and real hosts over the same constellation.

python docs/make/real_hosts.py RECORD RECORD-WITH-REAL-HOSTS

Both records are of the same scenario, seed and schemes; curves are means over a second.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from perigee_lab.results import looks
from perigee_lab.results.run import Run, find_records

mpl.use("Agg")
NS = 1e9
ROWS = (("goodput_bps", 1e6, "goodput, Mbit/s"), ("rtt_ns", 1e6, "mean RTT, ms"))


def curve(run: Run, column: str, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """Means per second of a column of the first flow."""
    rows = run.to_pandas("flows")
    rows = rows[rows["flow"] == 0]
    seconds = (rows["t_ns"] - 1) // int(NS)
    means = rows.groupby(seconds)[column].mean() / unit
    return means.index.to_numpy() + 0.5, means.to_numpy()


def main() -> None:
    """Draws two rows of curves, with one column per scheme."""
    simulated, real = ({r.cc: r for r in find_records(folder)} for folder in sys.argv[1:3])
    schemes = [cc for cc in simulated if cc in real]
    figure, axes = plt.subplots(2, len(schemes), figsize=(9, 4.2), sharex=True, sharey="row", squeeze=False)
    found = looks.of(schemes)
    version = real[schemes[0]].manifest["kernel"]["version"].split("-")[0]
    for k, cc in enumerate(schemes):
        for (column, unit, label), ax in zip(ROWS, axes[:, k], strict=True):
            ax.plot(
                *curve(real[cc], column, unit), color="0.25", lw=2.6, alpha=0.45, label=f"real hosts, Linux {version}"
            )
            ax.plot(*curve(simulated[cc], column, unit), color=found[cc].colour, lw=0.9, label="simulated hosts")
            ax.set_ylabel(label if k == 0 else "")
            ax.grid(alpha=0.25)
        axes[0, k].set_title(cc)
        axes[0, k].set_ylim(bottom=0)
        axes[1, k].set_xlabel("s")
        axes[0, k].legend(loc="lower center", fontsize="small")
    figure.tight_layout()
    # The file has no date, so that equal records yield equal files.
    figure.savefig(Path(__file__).parents[1] / "explanation/real-hosts.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
