# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of kernel-cwnd.png: congestion windows of simulated and real hosts over one network.

perigee validate --against linux --cell single-100M-50ms-1bdp --cell rtt-step --seeds 1 --out DIR
python docs/make/kernel_curves.py DIR
"""

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from perigee_lab.results import looks
from perigee_lab.results.run import Run, find_records

mpl.use("Agg")
OUT = Path(__file__).resolve().parents[1] / "explanation/kernel-cwnd.png"
CELLS = {
    "single-100M-50ms-1bdp": ["newreno", "cubic", "bbr", "vegas"],
    "rtt-step": ["cubic", "bbr", "vegas"],
}
COLUMNS = 4
MB, NS = 1e6, 1e9


def cwnd(run: Run) -> tuple[list[float], list[float]]:
    """Times in s and windows in MB of the first flow, one value per sample."""
    rows = run.to_pandas("flows")
    rows = rows[rows["flow"] == 0]
    return list(rows["t_ns"] / NS), list(rows["cwnd_bytes"] / MB)


def pair(folder: Path, cc: str) -> tuple[Run, Run]:
    """The first seed, simulated and on Linux."""
    ours, theirs = (
        min((r for r in find_records(folder / side) if r.cc == cc), key=lambda r: r.seed)
        for side in ("simulated", "linux")
    )
    return ours, theirs


def main() -> None:
    """Draws the figure."""
    base = Path(sys.argv[1])
    figure, axes = plt.subplots(len(CELLS), COLUMNS, figsize=(11, 4.8), sharey=False)
    for row, (cell, schemes) in zip(axes, CELLS.items(), strict=True):
        colours = looks.of(schemes)
        for ax, cc in zip(row, schemes, strict=False):
            ours, theirs = pair(base / cell, cc)
            ax.plot(*cwnd(theirs), color="0.35", lw=2.6, alpha=0.45, label="Linux")
            ax.plot(*cwnd(ours), color=colours[cc].colour, lw=0.9, label="simulated")
            ax.set_title(f"{cc}, {cell}", fontsize="small")
            ax.grid(alpha=0.25)
            ax.set_ylim(bottom=0)
            ax.set_xlabel("s")
        row[0].set_ylabel("cwnd, MB")
        for ax in row[len(schemes) :]:
            ax.axis("off")
    lines = [mpl.lines.Line2D([], [], color="0.35", lw=lw, alpha=alpha) for lw, alpha in ((2.6, 0.45), (0.9, 1))]
    axes[-1, -1].legend(lines, ["Linux", "simulated (in the scheme's colour)"], loc="center", frameon=False)
    figure.tight_layout()
    figure.savefig(OUT, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
