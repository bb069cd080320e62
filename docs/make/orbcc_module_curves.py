# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of docs/explanation/orbcc-module.png: simulated and real flows on the study's networks.

perigee validate --against linux --cc orbcc --out DIR
python docs/make/orbcc_module_curves.py DIR
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from perigee_lab.results.record import run_folder
from perigee_lab.results.run import Run, open_record

mpl.use("Agg")
OUT = Path(__file__).resolve().parents[1] / "explanation/orbcc-module.png"
NS = 1e9


@dataclass(frozen=True)
class Panel:
    """A network, and its flows or groups of flows: labels and numbers of flows."""

    cell: str
    title: str
    groups: tuple[tuple[str, tuple[int, ...]], ...]


PANELS = (
    Panel("orbcc-fig-3-constellation", "Fig. 3: constellation", (("first", (0,)), ("second", (1,)))),
    Panel("orbcc-fig-7-soft-handover", "Fig. 7: soft handovers", (("50 ms", (0, 1)), ("20 ms", (2, 3)))),
    Panel("orbcc-fig-9-two-rtts", "Fig. 9: 20 and 200 ms", (("20 ms", (0,)), ("200 ms", (1,)))),
    Panel(
        "orbcc-fig-10-joining",
        "Fig. 10: eight join fifty",
        (("first", tuple(range(50))), ("joining", tuple(range(50, 58)))),
    ),
)
ROWS = (("goodput_bps", 1e6, "goodput of a flow, Mbit/s"), ("srtt_ns", 1e6, "smoothed RTT, ms"))
SECOND = 2


def main() -> None:
    """Draws two rows of curves, with one column per network."""
    folder = Path(sys.argv[1])
    figure, axes = plt.subplots(len(ROWS), len(PANELS), figsize=(13, 4.8), sharex="col")
    for panel, column in zip(PANELS, axes.T, strict=True):
        sides = [open_record(run_folder(folder / panel.cell / side, "orbcc", 1)) for side in ("linux", "simulated")]
        column[0].set_title(panel.title, fontsize="medium")
        column[-1].set_xlabel("s")
        for ax, row in zip(column, ROWS, strict=True):
            draw(ax, panel, sides, row)
    for ax, (_, _, label) in zip(axes[:, 0], ROWS, strict=True):
        ax.set_ylabel(label)
    figure.tight_layout()
    figure.savefig(OUT, dpi=110, metadata={"Software": None})


def draw(ax: Axes, panel: Panel, sides: list[Run], row: tuple[str, float, str]) -> None:
    """Draws a quantity of both sides: Linux wide and pale, the simulator thin."""
    column, unit, _ = row
    for run, width, alpha, name in zip(sides, (3.0, 1.0), (0.35, 1.0), ("Linux", "simulated"), strict=True):
        rows = run.to_pandas("flows")
        for i, (label, flows) in enumerate(panel.groups):
            times, values = means(rows[rows["flow"].isin(flows)], column)
            ax.plot(times, values / unit, color=f"C{i}", lw=width, alpha=alpha, label=f"{label}, {name}")
    ax.grid(alpha=0.25)
    if column == "goodput_bps":
        ax.set_ylim(bottom=0)
        ax.legend(fontsize="x-small")


def means(rows: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Means over flows and half seconds."""
    bins = (rows["t_ns"] - 1) // int(NS / SECOND)
    found = rows.groupby(bins)[column].mean()
    return (found.index.to_numpy() + 0.5) / SECOND, found.to_numpy()


if __name__ == "__main__":
    main()
