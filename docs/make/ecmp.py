# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the tables of docs/explanation/ecmp.md.

python docs/make/ecmp.py             the page (some minutes of two cores)
python docs/make/ecmp.py --print     the tables alone
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import perigee_lab as perigee

PAGE = Path(__file__).resolve().parents[1] / "explanation/ecmp.md"
SEEDS = (1, 2, 3)
SCHEMES = ("cubic", "bbr3", "leocc", "orbcc", "orbcc-next")
CHOICES = {
    "flow": 'ecmp = "flow"',
    "flowlet, 5 ms": 'ecmp = "flowlet"\nflowlet_gap = "5 ms"',
    "packet": 'ecmp = "packet"',
    "turns of 1 s": 'ecmp = "turns"\nturn = "1 s"',
    "turns of 100 ms": 'ecmp = "turns"\nturn = "100 ms"',
}
DELAYS = {"equal": '"0 ms"', "unequal": '["0 ms", "20 ms"]'}
SCENARIO = """
[run]
duration = "20 s"
warmup = "5 s"
start_jitter = "500 ms"
[source.parallel]
pairs = {flows}
rtt = "40 ms"
path_delay = {delay}
{choice}
[port.bottleneck]
rate = "50 Mbit"
queue = "1 bdp"
"""
RULES = ("accept_new", "freeze", "keep_last_u")
FLOW = '[[flow]]\nfrom = "s{i}"\nto = "d{i}"\ncc = "*"\n'
FLOWS = 4


class Result(NamedTuple):
    """Sum of goodputs in Mbit/s, Jain's index, retransmissions in percent, mean RTT in ms."""

    goodput: float
    jain: float
    resent: float
    rtt: float


def text(choice: str, delay: str, more: str = "") -> str:
    """A scenario."""
    flows = "".join(FLOW.format(i=i + 1) for i in range(FLOWS))
    return SCENARIO.format(flows=FLOWS, delay=DELAYS[delay], choice=CHOICES[choice]) + more + flows


def measure(job: tuple[str, str, int]) -> Result:
    """A run: text, scheme, seed."""
    scenario, cc, seed = job
    totals = perigee.loads(scenario).run(cc=cc, seed=seed).to_pandas("flow_totals")
    rates = totals["window_bytes"] * 8e3 / totals["window_ns"]
    jain = rates.sum() ** 2 / (len(rates) * (rates**2).sum())
    resent = 100 * totals["retransmits"].sum() / totals["data_sent"].sum()
    return Result(rates.sum(), jain, resent, totals["rtt_sum_ns"].sum() / totals["rtt_samples"].sum() / 1e6)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def shown(results: list[Result]) -> str:
    """Means over seeds."""
    m = Result(*(float(np.mean(v)) for v in zip(*results, strict=True)))
    return f"{m.goodput:.1f} / {m.jain:.2f} / {m.resent:.1f} / {m.rtt:.0f}"


def tables() -> str:
    """A table per delay: a row per scheme, a column per choice."""
    keys = list(product(DELAYS, SCHEMES, CHOICES))
    jobs = [(text(choice, delay), cc, seed) for delay, cc, choice in keys for seed in SEEDS]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(measure, jobs))
    of = {key: found[i * len(SEEDS) : (i + 1) * len(SEEDS)] for i, key in enumerate(keys)}
    parts = []
    for delay in DELAYS:
        rows = [[f"`{cc}`", *(shown(of[delay, cc, choice]) for choice in CHOICES)] for cc in SCHEMES]
        parts.append(table([f"{delay} delays", *CHOICES], rows))
    return "\n\n".join(parts)


def rules() -> str:
    """OrbCC's rules for a new path id: a row per rule, a column per delay and choice."""
    columns = [(delay, choice) for delay in DELAYS for choice in ("packet", "turns of 100 ms")]
    keys = list(product(RULES, columns))
    texts = [text(choice, delay, f'[cc.orbcc]\npath_change = "{rule}"\n') for rule, (delay, choice) in keys]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(measure, [(t, "orbcc", seed) for t in texts for seed in SEEDS]))
    cells = [shown(found[i : i + len(SEEDS)]) for i in range(0, len(found), len(SEEDS))]
    n = len(columns)
    rows = [[f"`{rule}`", *cells[i * n : (i + 1) * n]] for i, rule in enumerate(RULES)]
    return table(["`path_change`", *(f"{delay}, {choice}" for delay, choice in columns)], rows)


def main() -> None:
    """Writes the tables into the page, or prints them."""
    made = f"{tables()}\n\n{rules()}"
    if "--print" in sys.argv:
        print(made)
        return
    before, rest = PAGE.read_text(encoding="utf-8").split("<!-- table -->")
    after = rest.split("<!-- end -->")[1]
    PAGE.write_text(f"{before}<!-- table -->\n\n{made}\n\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
