# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes docs/learned-paths.md and its figure: policies that were trained on dumbbells, over satellites.

python docs/learned_paths.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

import perigee

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
SCHEMES = ("astraea", "astraea_leo", "cubic", "bbr3", "leocc", "orbcc")
SECONDS = "120 s"
LINK = """
[run]
duration = "120 s"
[source.dumbbell]
rtt = "{rtt}"
loss = {loss}
[port.bottleneck]
rate = "{rate}"
queue = "1 bdp"
bdp_rtt = "{bdp_rtt}"
[port.all]
metered = true
[[flow]]
cc = "*"
"""
CHANGES = (
    '[schedule]\nevery = "15 s"\nfirst = "15 s"\nrtt = "uniform(10 ms, 100 ms)"\noutage = "uniform(45 ms, 120 ms)"\n'
)
BENT_PIPE = {
    "run.duration": SECONDS,
    "source.constellation.isls": "none",
    "port.hop.queue": "326 packets",
    "flow": [{"from": "seattle", "to": "new-york", "cc": "*"}],
}


def link(rtt: str, rate: str, *, loss: float = 0.0, bdp_rtt: str | None = None, more: str = "") -> perigee.Scenario:
    """One bottleneck."""
    return perigee.loads(LINK.format(rtt=rtt, rate=rate, loss=loss, bdp_rtt=bdp_rtt or rtt) + more)


def paths() -> dict[str, perigee.Scenario]:
    """By their names in the table."""
    leo = ROOT / "scenarios/leo"
    return {
        "London to New York, handovers": perigee.load(leo / "london-new-york.toml", {"run.duration": SECONDS}),
        "Seattle to New York, bent pipe": perigee.load(
            ROOT / "python/perigee/study/scenarios/leo-cc/leoem-compat.toml", BENT_PIPE
        ),
        "San Diego to New York, recorded": perigee.load(leo / "path-log.toml"),
        "geostationary, 560 ms": link("560 ms", "20 Mbit"),
        "geostationary, random loss of 0.5 %": link("560 ms", "20 Mbit", loss=0.005),
        "base RTT redrawn every 15 s": link("50 ms", "100 Mbit", bdp_rtt="100 ms", more=CHANGES),
        "dumbbell, 50 ms": link("50 ms", "100 Mbit"),
    }


def main() -> None:
    """Runs, draws, writes."""
    lines = ["| path | " + " | ".join(SCHEMES) + " |", "|---" * (len(SCHEMES) + 1) + "|"]
    drawn = None
    for name, scenario in paths().items():
        found = scenario.run_all(SCHEMES, seeds=[1])
        drawn = drawn or found
        cells = [f"{r.summary['goodput_mbps']:.1f}, {r.summary['inflation']:.2f}" for r in found]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    figure, axes = plt.subplots(2, 1, figsize=(9, 5), sharex=True, layout="constrained")
    for run in drawn or ():
        flows = run.to_pandas("flows")
        second = (flows["t_ns"] // 1_000_000_000).rename("s")
        means = flows.groupby(second)[["goodput_bps", "rtt_ns"]].mean()
        axes[0].plot(means.index, means["goodput_bps"] / 1e6, linewidth=1, label=run.cc)
        axes[1].plot(means.index, means["rtt_ns"] / 1e6, linewidth=1)
    axes[0].set_ylabel("goodput, Mbit/s")
    axes[1].set_ylabel("RTT, ms")
    axes[1].set_xlabel("time, s")
    axes[0].legend(ncols=3, fontsize=8)
    figure.savefig(ROOT / "docs/learned-paths.png", dpi=90, metadata={"Software": None})
    page = ROOT / "docs/learned-paths.md"
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- table -->\n")
    _, _, after = rest.partition("\n\n")
    page.write_text(f"{before}<!-- table -->\n" + "\n".join(lines) + f"\n\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
