# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Spread of simulated runs of the cases that were run once on Linux hosts, with the model of their Linux, 6.12.

    python bench/linux_spread.py [--runs 5] [--keep runs/linux-spread] [FIGURE …]

FIGURE is fig-1d, fig-4, fig-6 or fig-7; all by default. Prints for each scheme Linux's value of run 1
(docs/studies/linux) and the simulated ones, run by run, with mean and standard deviation:
the numbers of docs/studies/leo-cc-linux.md that are not in its tables. Results are kept in the folder
and not computed again by the same code.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.runs.machines import Machines
from perigee_studies import linux
from perigee_studies.cache import Cache
from perigee_studies.conclude import read_csv
from perigee_studies.execute import Plan, Runner, outcomes
from perigee_studies.model import Ask, Size
from perigee_studies.published import word_of
from perigee_studies.registry import experiments

if TYPE_CHECKING:
    import pandas as pd

    from perigee_studies.model import Case, Experiment

TABLES = Path(__file__).resolve().parents[1] / "docs/studies" / linux.FOLDER


@dataclass(frozen=True)
class Part:
    """The part of a figure that was run on hosts."""

    experiment: str
    column: str
    """The compared column of its table `runs`."""
    schemes: tuple[str, ...]
    labels: dict[str, list[str]]


PARTS = {
    "fig-1d": Part("leo-cc/fairness", "ratio", tuple(linux.SCHEMES), {"path": ["SD-NY BP"]}),
    "fig-4": Part(
        "leo-cc/inter-rtt", "ratio", tuple(linux.SCHEMES), {"queue_bdp": ["1.0"], "cuts": ["0"], "rtt_ms": ["100"]}
    ),
    "fig-6": Part(
        "leo-cc/parking-lot",
        "ratio",
        tuple(linux.SCHEMES),
        {"queue_bdp": ["1.0"], "rtt_ms": ["100"], "bottlenecks": ["3"]},
    ),
    "fig-7": Part("leo-cc/efficiency", "inflation", tuple(linux.SCHEMES), {"flows": ["5"]}),
}


def cases(experiment: Experiment, ask: Ask) -> list[Case]:
    """The cases on hosts, simulated with the model of Linux 6.12."""
    return [replace(c, sets={**c.sets, **linux.KERNEL}) for c in linux.figure_cases(experiment, ask)]


def planned(part: Part, runs: int) -> Plan:
    """The first runs of a part."""
    where = {**part.labels, "run": [str(k + 1) for k in range(runs)]}
    return Plan.of([experiments()[part.experiment]], Ask(Size.FULL, part.schemes, where=where), cases)


def lines(name: str, part: Part, runs: pd.DataFrame, real: pd.DataFrame) -> list[str]:
    """A line for each scheme, from the tables of simulated runs and of hosts."""
    found = []
    for cc in part.schemes:
        x = [float(v) for v in runs.loc[runs["cc"] == cc, part.column]]
        once = " ".join(f"{v:.4f}" for v in real.loc[real["cc"] == cc, part.column])
        spread = f"mean {statistics.mean(x):.3f}, sd {statistics.stdev(x):.3f}" if len(x) > 1 else "no spread"
        each = " ".join(f"{v:.4f}" for v in x)
        found.append(f"{name} {part.column} {cc}: Linux {once}; simulated {each}; {spread}")
    return found


def main() -> int:
    """Runs what is missing and prints the values."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, choices=range(2, 6), default=5)
    parser.add_argument("--keep", type=Path, default=Path("runs/linux-spread"))
    args = parser.parse_args()
    if unknown := [name for name in args.figures if name not in PARTS]:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(PARTS)}")
    cache, failed = Cache(args.keep), False
    for name in args.figures or PARTS:
        part = PARTS[name]
        experiment, plan = experiments()[part.experiment], planned(part, args.runs)
        for failure in Runner(plan, cache, Machines(jobs=1)).run():
            print(f"{name}: {failure.case.cc}: {failure.error}")
            failed = True
        if found := outcomes(plan, cache, part.experiment):
            runs = experiment.tables(found)["runs"]
            print("\n".join(lines(name, part, runs, read_csv(TABLES / word_of(experiment) / "runs.csv"))))
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
