# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the figure of the growth of costs, and of the table in design/performance.md.

perigee bench $(python docs/make/growth.py --cases) --json > growth.json
python docs/make/growth.py growth.json docs/explanation/growth.png
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

GROWTH = {
    "sats": ("satellites", (396, 792, 1584, 3168, 6336), "best_ms", "ms per snapshot, 100 stations"),
    "places": ("stations", (10, 30, 100, 300, 1000), "best_ms", "ms per snapshot, 1,584 satellites"),
    "flows": ("flows of 100 pairs", (100, 300, 1000, 3000), "cpu_s", "CPU-s for 20 s at 10 Mbit/s"),
    "rate": ("rate, Mbit/s", (1, 3, 10, 30, 100), "cpu_s", "CPU-s for 20 s of 100 flows"),
}


def slope(x: list[float], y: list[float]) -> float:
    """The exponent of the power law through the last three points."""
    return float(np.polyfit(np.log(x[-3:]), np.log(y[-3:]), 1)[0])


def main(measured: str, picture: str) -> None:
    """Prints the table and writes the figure."""
    import matplotlib.pyplot as plt

    with open(measured, encoding="utf-8") as file:
        rows: dict[str, dict[str, Any]] = {r["name"]: r for r in json.load(file)["cases"]}
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.6), layout="constrained")
    print("| what grows | " + " | ".join(["cost"] * 5) + " | slope |\n|---|" + "---|" * 6)
    for axis, (key, (label, sizes, column, unit)) in zip(axes, GROWTH.items(), strict=True):
        x = [float(n) for n in sizes]
        y = [float(rows[f"grow-{key}-{n}"][column]) for n in sizes]
        power = slope(x, y)
        axis.loglog(x, y, marker="o", color="#2f6f9f", linewidth=1.5)
        axis.set_xlabel(label)
        axis.set_xticks(x, [f"{n:,}" for n in sizes], minor=False)
        axis.set_xticks([], minor=True)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("{x:g}" if max(y) < 10 * min(y) else "")
        axis.set_title(f"{unit}: slope {power:.2f}", loc="left", fontsize=9)
        axis.grid(alpha=0.25, which="both", linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
        cells = [f"{n:,}: {v:.3g}" for n, v in zip(sizes, y, strict=True)]
        print(f"| {label} ({unit}) | " + " | ".join(cells + ["-"] * (5 - len(cells))) + f" | {power:.2f} |")
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    if sys.argv[1:] == ["--cases"]:
        print(*(f"grow-{key}-{n}" for key, of in GROWTH.items() for n in of[1]))
    else:
        main(sys.argv[1], sys.argv[2])
