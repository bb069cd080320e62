# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Does the length of an outage matter to two flows of Fig. 1d, San Diego to New York over bent pipes?

    python bench/outage_lengths.py [--cc cubic] [--lengths 45,60,75,90,105,120]

Runs differ only in the drawn lengths of the outages at handovers. Prints for each of the five runs, simulated as Linux
6.12, the lengths that were drawn, the packets lost in outages, the ratio of Fig. 1d, and the first event of a flow that
differs from run 1; then the same with one fixed length at all handovers in place of a drawn one. An outage starts with
the loss of what is on the link. A sender without ACKs sends its next packet when the timer of a tail loss probe or of a
retransmission expires; a length matters only if a packet arrives at the link before the outage ends.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import perigee_lab as perigee
from perigee_lab.common.statistics import ratios
from perigee_studies import linux
from perigee_studies.model import SCENARIOS, Ask, Case, Size
from perigee_studies.registry import experiments

if TYPE_CHECKING:
    import pandas as pd

PATH = "SD-NY BP"
NOTES = ["outage-begin", "outage-end"]


def cases(cc: str) -> list[Case]:
    """The five runs, with the model of Linux 6.12."""
    found = linux.figure_cases(experiments()["leo-cc/fairness"], Ask(Size.FULL, (cc,)))
    return [c for c in found if c.labels["path"] == PATH and c.labels["network"] == "leoem-compat"]


def simulated(case: Case, **more: object) -> tuple[Any, pd.DataFrame]:
    """The run of a case, and its events."""
    run = perigee.load(SCENARIOS / case.scenario, {**case.sets, **linux.KERNEL, **more}).run(cc=case.cc, seed=case.seed)
    return run, run.to_pandas("events")


def ratio(run: Any) -> float:
    """Mean over the last third of the smaller goodput over the larger, by second."""
    flows = run.to_pandas("flows")
    wide = flows.pivot_table(index="t_ns", columns="flow", values="goodput_bps").fillna(0.0)
    last = wide[wide.index > wide.index.max() * 2 // 3]
    return float(ratios(last[0].to_numpy(), last[1].to_numpy()).mean())


def of_flows(events: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The events of flows and losses, without the notes on outages, which have the drawn lengths."""
    rows = events[~events["kind"].isin(NOTES)]
    return [*zip(rows["t_ns"], rows["kind"], rows["value"], rows["text"], strict=True)]


def first_difference(one: pd.DataFrame, other: pd.DataFrame) -> str:
    """The time and kind of the first event of `other` that `one` does not have."""
    mine, theirs = of_flows(one), of_flows(other)
    for ours, its in zip(mine, theirs, strict=False):
        if ours != its:
            return f"from {its[0] / 1e9:.3f} s on ({its[1]})"
    return "in nothing" if len(mine) == len(theirs) else "in the number of events"


def line(name: str, run: Any, events: pd.DataFrame, first: pd.DataFrame) -> str:
    """One run."""
    begun = events[(events["kind"] == NOTES[0]) & (events["value"] > 0)]
    lengths = " ".join(f"{1000 * x:.0f}" for x in begun["value"])
    lost = int(run.to_pandas("flow_totals")["drops_outage"].sum())
    differs = first_difference(first, events)
    return f"{name}: ratio {ratio(run):.9f}, {lost} lost in outages, differs {differs}: {lengths} ms"


def main() -> int:
    """Prints the runs with drawn and with fixed lengths."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cc", default="cubic", choices=linux.SCHEMES)
    parser.add_argument(
        "--lengths", default="45,60,75,90,105,120", help="fixed lengths in ms, in place of the drawn part"
    )
    args = parser.parse_args()
    runs = cases(args.cc)
    _, first = simulated(runs[0])
    for case in runs:
        print(line(f"run {case.labels['run']}", *simulated(case), first))
    for ms in args.lengths.split(","):
        print(line(f"{ms} ms", *simulated(runs[0], **{"handover.outage": f"{ms} ms"}), first))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
