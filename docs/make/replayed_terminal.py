# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of replayed-terminal.png: three schemes over a recorded terminal, downlink and uplink.

Run as `python docs/make/replayed_terminal.py RATES DELAYS`: traces in the formats of mahimahi and
LeoReplayer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import perigee_lab as perigee
from perigee_lab.results import looks

SCHEMES = ("cubic", "bbr", "leocc")
SCENARIO = """
[run]
duration = "60 s"
[source.trace]
rate_file = "{rates}"
reverse_rate_file = "{rates}"
delay_file = "{delays}"
[port.all]
queue = "300 packets"
[[flow]]
"""
PER_POINT = 10
PAYLOAD = 1448 / 1500


def seconds(values: Any) -> Any:
    """Means over ten samples."""
    whole = np.asarray(values, dtype=float)
    return np.nanmean(whole[: len(whole) // PER_POINT * PER_POINT].reshape(-1, PER_POINT), axis=1)


def main(rates: str, delays: str) -> None:
    """Runs the six cases, prints their numbers and draws them."""
    base = SCENARIO.format(rates=Path(rates).absolute(), delays=Path(delays).absolute())
    figure, axes = plt.subplots(2, 2, figsize=(11, 5), layout="constrained", sharex=True)
    style = looks.of(list(SCHEMES))
    for (top, bottom), (origin, target, way) in zip(axes.T, (("s", "d", "down"), ("d", "s", "up")), strict=True):
        for cc in SCHEMES:
            run = perigee.loads(f'{base}from = "{origin}"\nto = "{target}"\n').run(cc)
            names = ("goodput_mbps", "share", "rtt_mean_ms", "rtt_p95_ms", "retransmits")
            print(way, cc, *(f"{run.summary[n]:.4g}" for n in names))
            rows = run.to_pandas("flows")
            top.plot(
                seconds(rows.t_ns) / 1e9, seconds(rows.goodput_bps) / 1e6, label=cc, **style[cc].line(), linewidth=1.2
            )
            bottom.plot(seconds(rows.t_ns) / 1e9, seconds(rows.rtt_ns) / 1e6, **style[cc].line(), linewidth=1.2)
        path = seconds(rows.path_rate_bps) / 1e6 * PAYLOAD
        top.plot(seconds(rows.t_ns) / 1e9, path, color="#5b6876", linewidth=0.8, linestyle=":", label="path")
        top.set_title(way, loc="left")
        bottom.set_xlabel("time, s")
        for axis in (top, bottom):
            axis.set_ylim(0)
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("goodput, Mbit/s")
    axes[1, 0].set_ylabel("RTT, ms")
    axes[0, 0].legend(frameon=False, fontsize=8, ncols=4)
    figure.savefig(Path(__file__).parents[1] / "how-to/replayed-terminal.png", dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:3])
