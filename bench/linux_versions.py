# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fig. 5 at 20 ms, simulated with the settings in which Linux 6.12 differs from 6.4, one by one and together.

    python bench/linux_versions.py [--runs 5] [--keep runs/linux-versions]

Prints for Cubic and SaTCP the ratio of two flows run by run, the mean, and the difference from 6.4 run by run with its
95 % interval: the numbers of docs/studies/leo-cc-linux.md on the version of Linux. Results are kept in the folder and
not computed again by the same code.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from perigee_lab.common.statistics import mean
from perigee_lab.runs.machines import Machines
from perigee_studies import linux
from perigee_studies.cache import Cache
from perigee_studies.execute import Plan, Runner, outcomes
from perigee_studies.model import Ask, Size
from perigee_studies.registry import experiments

NAME = "leo-cc/intra-rtt"
MODELS: dict[str, dict[str, object]] = {
    "as 6.4": {},
    "with 1,000 ticks a second": {"tcp.hz": linux.KERNEL["tcp.hz"]},
    "with immediate ACKs of PSH, since 6.6": {"tcp.push_acks": linux.KERNEL["tcp.push_acks"]},
    "with the deferral of 6.12": {"tcp.tso_defer": linux.KERNEL["tcp.tso_defer"]},
    "with all three, as 6.12": linux.KERNEL,
}


def planned(runs: int) -> Plan:
    """The runs of all models, with the model as a label."""
    where = {"rtt_ms": ["20"], "run": [str(k + 1) for k in range(runs)]}
    ask = Ask(Size.FULL, ("cubic", "satcp"), where=where)
    found = [c for c in linux.figure_cases(experiments()[NAME], ask) if ask.chosen(c)]
    cases = [
        replace(c, sets={**c.sets, **sets}, labels={**c.labels, "model": name})
        for name, sets in MODELS.items()
        for c in found
    ]
    return Plan.of([experiments()[NAME]], ask, lambda _e, _a: cases)


def main() -> int:
    """Runs what is missing and prints the values."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, choices=range(2, 6), default=5)
    parser.add_argument("--keep", type=Path, default=Path("runs/linux-versions"))
    args = parser.parse_args()
    plan, cache = planned(args.runs), Cache(args.keep)
    failures = Runner(plan, cache, Machines(jobs=1)).run()
    table = experiments()[NAME].tables(outcomes(plan, cache, NAME))["runs"]
    for cc in ("cubic", "satcp"):
        wide = table[table["cc"] == cc].pivot_table(index="run", columns="model", values="ratio")
        for name in (name for name in MODELS if name in wide):
            less = mean((wide["as 6.4"] - wide[name]).to_numpy())
            each = " ".join(f"{v:.3f}" for v in wide[name])
            half = (less.high - less.low) / 2
            print(f"{cc}, {name}: {each}; mean {wide[name].mean():.3f}, lower by {less.value:.3f} ± {half:.3f}")
    print("\n".join(f"{f.case.cc}: {f.error}" for f in failures))
    return int(bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())
