# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Task: evaluate a custom scheme by its parameter, its fairness at two RTTs, queues and losses.

    python examples/task_own_scheme.py --out runs/own-scheme [--quick]

The scheme is `TargetDelay` in target_delay.py in this folder, whose parameter is the queueing delay
that it keeps. examples/own_scheme.ipynb is the same as a notebook.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import perigee_lab as perigee

FLOWS = """
[run]
duration = "{seconds} s"
start_jitter = "100 ms"
[source.dumbbell]
pairs = {pairs}
rtt = [{rtts}]
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""


def scenario(folder: Path, seconds: int, rtts: list[int]) -> Path:
    """Writes the scenario of flows with these RTTs in ms."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rtt-{'-'.join(map(str, rtts))}.toml"
    listed = ", ".join(f'"{r} ms"' for r in rtts)
    path.write_text(FLOWS.format(seconds=seconds, pairs=len(rtts), rtts=listed), encoding="utf-8")
    return path


def main() -> None:
    """Runs three sweeps, each in a resumable folder, with a table and figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/own-scheme"))
    parser.add_argument("--quick", action="store_true", help="short runs: a smoke check")
    asked = parser.parse_args()
    seconds, seeds = (4, range(1, 3)) if asked.quick else (60, range(1, 6))
    targets = [2.0, 20.0] if asked.quick else [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    mine = f"{Path(__file__).resolve().with_name('target_delay.py')}:TargetDelay"
    one, two = scenario(asked.out, seconds, [40]), scenario(asked.out, seconds, [20, 80])

    # The parameter: its cost in delay, and its gain in goodput.
    by_target = perigee.sweep(one, {"cc.TargetDelay.target_ms": targets}, mine, seeds=seeds, out=asked.out / "target")
    by_target.plot("goodput_mbps").savefig(asked.out / "target-goodput.png")
    by_target.plot("rtt_mean_ms").savefig(asked.out / "target-rtt.png")

    # Shares of two flows with RTTs of 20 and 80 ms.
    fair = perigee.sweep(two, {"cc.TargetDelay.target_ms": targets}, mine, seeds=seeds, out=asked.out / "fairness")
    fair.plot("jain").savefig(asked.out / "fairness.png")

    # Queue and loss, compared with Cubic, as heat maps.
    queues, losses = (["0.5 bdp", "2 bdp"], [0, 0.01]) if asked.quick else (
        ["0.2 bdp", "0.5 bdp", "1 bdp", "2 bdp", "4 bdp"], [0, 0.0001, 0.001, 0.01]
    )  # fmt: skip
    keys = {"port.bottleneck.queue": queues, "source.dumbbell.loss": losses}
    grid = perigee.sweep(one, keys, [mine, "cubic"], seeds=seeds, out=asked.out / "queue-loss")
    grid.plot("goodput_mbps").savefig(asked.out / "queue-loss.png")

    frame = grid.frame()
    print(frame.groupby(["cc", *grid.keys])[["goodput_mbps", "rtt_mean_ms"]].mean().round(2).to_string())
    jain = fair.frame().groupby("cc.TargetDelay.target_ms")["jain"].mean()
    print("\nJain's index of flows with 20 and 80 ms:", jain.round(3).to_dict())


if __name__ == "__main__":
    main()
