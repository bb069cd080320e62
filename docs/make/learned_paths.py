# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of design/learned-paths.md and its figure: policies of dumbbells over satellites.

python docs/make/learned_paths.py
python docs/make/learned_paths.py POLICY…    the table of Cubic that these policies (of `perigee train`) correct
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

import perigee_lab as perigee

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
SCHEMES = ("astraea", "astraea_leo", "cubic", "bbr3", "leocc", "orbcc")
SECONDS = "120 s"
LOSSY = "dumbbell, 50 ms, random loss of 1 %"
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


def paths(sets: dict[str, object]) -> dict[str, perigee.Scenario]:
    """The paths by their names in the table, with overrides."""
    leo = ROOT / "scenarios/leo"

    def link(rtt: str, rate: str, *, loss: float = 0.0, bdp_rtt: str | None = None, more: str = "") -> perigee.Scenario:
        text = LINK.format(rtt=rtt, rate=rate, loss=loss, bdp_rtt=bdp_rtt or rtt) + more
        return perigee.loads(text, sets)

    return {
        "London to New York, handovers": perigee.load(leo / "london-new-york.toml", {"run.duration": SECONDS, **sets}),
        "Seattle to New York, bent pipe": perigee.load(
            ROOT / "studies/perigee_studies/scenarios/leo-cc/leoem-compat.toml", {**BENT_PIPE, **sets}
        ),
        "San Diego to New York, recorded": perigee.load(leo / "path-log.toml", sets),
        "geostationary, 560 ms": link("560 ms", "20 Mbit"),
        "geostationary, random loss of 0.5 %": link("560 ms", "20 Mbit", loss=0.005),
        "base RTT redrawn every 15 s": link("50 ms", "100 Mbit", bdp_rtt="100 ms", more=CHANGES),
        "dumbbell, 50 ms": link("50 ms", "100 Mbit"),
        LOSSY: link("50 ms", "100 Mbit", loss=0.01),
    }


def cell(run: perigee.Run) -> str:
    """Goodput and inflation as text."""
    return f"{run.summary['goodput_mbps']:.1f}, {run.summary['inflation']:.2f}"


def write(mark: str, lines: list[str]) -> None:
    """Replaces the table that follows a mark."""
    page = ROOT / "design/learned-paths.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, _, after = rest.partition("\n\n")
    page.write_text(f"{before}<!-- {mark} -->\n" + "\n".join(lines) + f"\n\n{after}", encoding="utf-8")


def corrected(policies: list[str]) -> None:
    """Writes the table of Cubic alone, and of Cubic corrected by policies of several seeds."""
    names = ["cubic", *(f"seed {k}" for k in range(1, len(policies) + 1)), "astraea", "astraea_leo"]
    lines = ["| path | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    sets = [{"cc.policy.weights": str(Path(p).resolve()), "cc.policy.below": "cubic"} for p in policies]
    of = [paths(s) for s in sets]
    for name, scenario in paths({}).items():
        with_policy = [mine[name].run(cc="policy", seed=1) for mine in of]
        alone, *learned = scenario.run_all(("cubic", "astraea", "astraea_leo"), seeds=[1])
        cells = [cell(r) for r in (alone, *with_policy, *learned)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    write("corrected", lines)


def main() -> None:
    """Runs the paths, draws the figure and writes the page."""
    lines = ["| path | " + " | ".join(SCHEMES) + " |", "|---" * (len(SCHEMES) + 1) + "|"]
    drawn = None
    for name, scenario in paths({}).items():
        if name == LOSSY:
            continue
        found = scenario.run_all(SCHEMES, seeds=[1])
        drawn = drawn or found
        lines.append(f"| {name} | " + " | ".join(cell(r) for r in found) + " |")
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
    figure.savefig(ROOT / "design/learned-paths.png", dpi=90, metadata={"Software": None})
    write("table", lines)


if __name__ == "__main__":
    corrected(sys.argv[1:]) if sys.argv[1:] else main()
