# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the tables of docs/explanation/port-laws.md and docs/explanation/telemetry-faults.md.

python docs/make/port_laws.py             both pages (some minutes of two cores)
python docs/make/port_laws.py --print     the tables alone
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

import perigee_lab as perigee

PAGES = Path(__file__).resolve().parents[1] / "explanation"
SEEDS = (1, 2, 3)
SCHEMES = ("orbcc", "orbcc-next", "xcp", "rcp", "hpcc_tcp", "cubic")
HEAD = """
title = "a port and its law"
[run]
duration = "{duration} s"
warmup = "{warmup} s"
sample = "10 ms"
start_jitter = "100 ms"
[port.all]
framing = 7
[port.access]
metered = {access}
[port.bottleneck]
rate = "100 Mbit"
queue = "{queue} kB"
{port}
[telemetry]
overhead = "none"
"""
PAIRS = """
[source.dumbbell]
pairs = {pairs}
rtt = {rtts}
rtt_at = "ack-path"
"""
FLOW = """
[[flow]]
from = "s{i}"
to = "d{i}"
cc = "*"
start = "{start} s"
"""


class Case(NamedTuple):
    """A network with its flows."""

    rtts: tuple[int, ...]
    duration: int = 30
    warmup: int = 10
    queue_kb: int = 1250
    more: str = ""
    port: str = ""
    access: bool = True

    def text(self) -> str:
        """The scenario."""
        values = {"duration": self.duration, "warmup": self.warmup, "queue": self.queue_kb, "port": self.port}
        values["access"] = str(self.access).lower()
        n = len(self.rtts)
        rtts = [f"{rtt} ms" for rtt in self.rtts]
        shown = "[" + ", ".join(f'"{r}"' for r in rtts) + "]" if n > 1 else f'"{rtts[0]}"'
        flows = "".join(FLOW.format(i=i + 1, start=round(i / n, 3)) for i in range(n))
        alone = "" if self.access else '[cc.orbcc]\nfallback = "none"\n'
        return HEAD.format(**values) + alone + PAIRS.format(pairs=n, rtts=shown) + self.more + flows


def alternating() -> str:
    """50 and 100 Mbit/s by turns of 1 s."""
    rows = [f'[[change]]\nat = "{t} s"\nrate = "{50 if t % 2 else 100} Mbit"\n' for t in range(1, 30)]
    return "\n" + "".join(rows)


def handovers(outage_ms: int) -> str:
    """Every 5 s another rate and RTT, hard with an outage."""
    values = [(60, 40), (100, 70), (80, 30), (100, 50), (50, 60)]
    rows = []
    for k, (rate, rtt) in enumerate(values):
        at = 5 * (k + 1)
        out = f'[[change]]\nat = "{at - outage_ms / 1e3} s"\noutage = "{outage_ms} ms"\n' if outage_ms else ""
        rows.append(f'{out}[[change]]\nat = "{at} s"\nrate = "{rate} Mbit"\nrtt = "{rtt} ms"\n')
    return "\n" + "".join(rows)


CASES = {
    "20 and 200 ms": Case((20, 200)),
    "turns of 1 s": Case((50,), more=alternating()),
    "20 flows": Case((50,) * 20),
    "100 flows": Case((50,) * 100),
    "soft handovers": Case((50, 50), more=handovers(0), warmup=4),
    "hard handovers": Case((50, 50), more=handovers(200), warmup=4),
}
TURNS = Case((50, 50), more=alternating())
FAULTS_OF = {
    "changing rate, one port": TURNS._replace(access=False),
    "20 flows, one port": Case((50,) * 20, access=False),
    "changing rate, three ports": TURNS,
}
FAULTS: dict[str, dict[str, object]] = {
    "none": {},
    "delay = 10 ms": {"telemetry_delay": '"10 ms"'},
    "delay = 50 ms": {"telemetry_delay": '"50 ms"'},
    "delay = 200 ms": {"telemetry_delay": '"200 ms"'},
    "error = 0.05": {"telemetry_error": 0.05},
    "error = 0.2": {"telemetry_error": 0.2},
    "error = 0.5": {"telemetry_error": 0.5},
    "clock_ppm = 1000": {"telemetry_clock_ppm": 1000},
    "clock_ppm = -1000": {"telemetry_clock_ppm": -1000},
    "clock_ppm = 50000": {"telemetry_clock_ppm": 50000},
    "clock_ppm = -50000": {"telemetry_clock_ppm": -50000},
    "stale = 50 ms": {"telemetry_stale": '"50 ms"'},
    "stale = 500 ms": {"telemetry_stale": '"500 ms"'},
    "flow_count_error = -0.5": {"telemetry_flow_count_error": -0.5},
    "flow_count_error = 1": {"telemetry_flow_count_error": 1.0},
    "flow_count_error = 9": {"telemetry_flow_count_error": 9.0},
    "flow_table = all flows": {"telemetry_flow_table": 1.0},
    "flow_table = 1/2 of flows": {"telemetry_flow_table": 0.5},
    "flow_table = 1/10 of flows": {"telemetry_flow_table": 0.1},
}


class Result(NamedTuple):
    """Share of the capacity, Jain's index, mean queueing delay and its 99th percentile in ms."""

    goodput: float
    jain: float
    queue: float
    queue_p99: float


def measure(job: tuple[str, str, int]) -> Result:
    """A run of a scenario's text: scheme, seed."""
    text, cc, seed = job
    [warmup] = re.findall(r'warmup = "(\d+) s"', text)
    run = perigee.loads(text).run(cc=cc, seed=seed)
    links = run.to_pandas("links")
    links = links[(links["link"] == 0) & (links["t_ns"] > 1e9 * float(warmup)) & links["up"]]
    queues = links["queue_bytes"] * 8e3 / links["rate_bps"]
    return Result(run.summary["share"], run.summary["jain"], float(queues.mean()), float(queues.quantile(0.99)))


def results(jobs: list[tuple[str, str]]) -> dict[tuple[str, str], Result]:
    """Means over seeds of scenarios' texts and schemes."""
    every = [(text, cc, seed) for text, cc in jobs for seed in SEEDS]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(measure, every))
    groups = [found[i : i + len(SEEDS)] for i in range(0, len(found), len(SEEDS))]
    means = (Result(*(float(np.mean(v)) for v in zip(*group, strict=True))) for group in groups)
    return dict(zip(jobs, means, strict=True))


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def laws() -> str:
    """A row per scheme, a column per case."""
    found = results([(case.text(), cc) for case in CASES.values() for cc in SCHEMES])
    rows = [[f"`{cc}`", *(shown(found[case.text(), cc], case) for case in CASES.values())] for cc in SCHEMES]
    return table(["", *CASES], rows)


def shown(r: Result, case: Case) -> str:
    """Goodput, Jain's index of several flows, and queueing delays."""
    fair = f" / {r.jain:.3f}" if len(case.rtts) > 1 else ""
    return f"{100 * r.goodput:.1f}{fair} / {r.queue:.1f} ({r.queue_p99:.0f})"


def entries(share: object, case: Case) -> int:
    """Size of a table for a share of the flows, at least 1."""
    assert isinstance(share, float)
    return max(1, round(share * len(case.rtts)))


def faults() -> str:
    """A row per fault, a column per case, of OrbCC."""
    jobs = {}
    for name, case in FAULTS_OF.items():
        for fault, keys in FAULTS.items():
            port = "\n".join(
                f"{key} = {entries(value, case) if 'table' in key else value}" for key, value in keys.items()
            )
            jobs[name, fault] = (case._replace(port=port).text(), "orbcc")
    found = results(list(jobs.values()))
    rows = [[fault, *(shown(found[jobs[name, fault]], case) for name, case in FAULTS_OF.items())] for fault in FAULTS]
    return table(["fault", *FAULTS_OF], rows)


def main() -> None:
    """Writes the tables into the pages, or prints them."""
    for page, made in (("port-laws.md", laws), ("telemetry-faults.md", faults)):
        text = made()
        if "--print" in sys.argv:
            print(text, end="\n\n")
            continue
        path = PAGES / page
        before, rest = path.read_text(encoding="utf-8").split("<!-- table -->")
        after = rest.split("<!-- end -->")[1]
        path.write_text(f"{before}<!-- table -->\n\n{text}\n\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
