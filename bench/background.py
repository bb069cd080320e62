# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Accuracy and cost of fluid background traffic, compared with the same load as packets.

python bench/background.py [--seeds 3] [--keep FOLDER] [CASE …]

Each case is run twice with one foreground flow, under each scheme: with all users as flows, and with `[[background]]`.
Prints goodput, mean RTT and jitter (p95 - p5 of the RTT) of the foreground flow, and the factors by which the fluid
reduces packet-hops and CPU time. With --keep, runs that are in the folder are not repeated.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

SCHEMES = ("cubic", "bbr", "bbr3", "orbcc")
RUN = """title = "background"
[run]
duration = "{duration} s"
warmup = "{warmup} s"
start_jitter = "1 s"
host_jitter = "100 us"
cc = ["cubic", "bbr", "bbr3", "orbcc"]
"""
ACCESS = """[port.access]
rate = "100 Gbit"
queue = "1000000 packets"
[port.reverse]
rate = "100 Gbit"
queue = "1000000 packets"
"""
SKY = """[source.constellation]
preset = "starlink-shell1"
step = "100 ms"
[node.london]
kind = "terminal"
place = "London"
[node.new-york]
kind = "terminal"
place = "New York"
[port.ground]
rate = "10 Gbit"
queue = "100000 packets"
[port.london]
rate = "500 Mbit"
queue = "3.5 MB"
[handover]
outage = "uniform(45 ms, 120 ms)"
"""


def _users(count: int, ends: tuple[str, str], more: str, name: str = "users") -> str:
    head = f'[[flow]]\nname = "{name}"\nfrom = "{ends[0]}"\nto = "{ends[1]}"\ncount = {count}\nbackground = true\n'
    return head + more


def _front(ends: tuple[str, str]) -> str:
    return f'[[flow]]\nname = "front"\nfrom = "{ends[0]}"\nto = "{ends[1]}"\ncc = "*"\n'


@dataclass(frozen=True)
class Case:
    """A load, as flows and as a fluid."""

    title: str
    network: str
    ends: tuple[str, str]
    flows: str
    fluid: str
    duration: int = 80
    warmup: int = 20

    def text(self, *, fluid: bool) -> str:
        """The scenario file."""
        run = RUN.format(duration=self.duration, warmup=self.warmup)
        return run + self.network + _front(self.ends) + (self.fluid if fluid else self.flows)


def _dumbbell(mbit: int) -> str:
    port = f'[port.bottleneck]\nrate = "{mbit} Mbit"\nqueue = "1 bdp"\n'
    return '[source.dumbbell]\npairs = 2\nrtt = "60 ms"\n' + port + ACCESS


def _elastic(count: int, on: str = "bottleneck", rtt: str = "60 ms") -> str:
    return f'[[background]]\non = "{on}"\nflows = {count}\nrtt = "{rtt}"\n'


_CUBIC = 'cc = "cubic"\n'
_S, _OTHERS = ("s1", "d1"), ("s2", "d2")
_LOT = '[source.parking_lot]\nbottlenecks = 3\nrtt = "60 ms"\n[port.bottleneck]\nrate = "500 Mbit"\nqueue = "1 bdp"\n'
CASES = {
    "inelastic": Case(
        "dumbbell, 100 calls of 3.5 Mbit/s (70 %)",
        _dumbbell(500),
        _S,
        _users(100, _OTHERS, 'app = "cbr"\nrate = "3.5 Mbit"\n'),
        '[[background]]\nload = 0.7\nburst = "1 B"\n',
    ),
    "elastic-100": Case("dumbbell, 100 Cubic", _dumbbell(500), _S, _users(100, _OTHERS, _CUBIC), _elastic(100)),
    "elastic-300": Case("dumbbell, 300 Cubic", _dumbbell(1500), _S, _users(300, _OTHERS, _CUBIC), _elastic(300), 50),
    "elastic-1000": Case(
        "dumbbell, 1,000 Cubic", _dumbbell(5000), _S, _users(1000, _OTHERS, _CUBIC), _elastic(1000), 40, 15
    ),
    "mixed": Case(
        "dumbbell, 100 calls of 2.5 Mbit/s (50 %), 100 Cubic",
        _dumbbell(500),
        _S,
        _users(100, _OTHERS, _CUBIC) + _users(100, _OTHERS, 'app = "cbr"\nrate = "2.5 Mbit"\n', "calls"),
        _elastic(100) + 'load = 0.5\nburst = "1 B"\n',
    ),
    "parking-lot": Case(
        "parking lot, 100 Cubic on each of three links",
        _LOT + ACCESS,
        ("s0", "d0"),
        "".join(_users(100, (f"s{k}", f"d{k}"), _CUBIC, f"users{k}") for k in (1, 2, 3)),
        _elastic(100),
        60,
    ),
    "constellation": Case(
        "London to New York, 100 Cubic at the terminal's uplink",
        SKY,
        ("london", "new-york"),
        _users(100, ("london", "new-york"), _CUBIC),
        _elastic(100, "london radio", "54 ms"),
        60,
    ),
}


def _ran(text: str, out: Path, seeds: int) -> Path:
    if (out / "complete").exists():
        return out
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    file = out.with_suffix(".toml")
    file.write_text(text, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("perigee")), "run", str(file), "--out", str(out), "--no-report"]
    subprocess.run([*command, "--runs", str(seeds)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (out / "complete").touch()
    return out


@dataclass(frozen=True)
class Numbers:
    """Metrics of the foreground flow, over all seeds."""

    goodput_mbps: float
    goodput_spread: float
    rtt_ms: float
    jitter_ms: float
    hops: float
    cpu_s: float


def _numbers(out: Path, scheme: str) -> Numbers:
    rates, hops, cpu = [], 0.0, 0.0
    counts: pd.Series[float] = pd.Series(dtype=float)
    for folder in sorted((out / scheme).glob("seed*")):
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        totals = pd.read_parquet(folder / "flow_totals.parquet")
        front = totals[totals["name"] == "front"].iloc[0]
        rates.append(8e3 * front["window_bytes"] / front["window_ns"])
        rtt = pd.read_parquet(folder / "rtt.parquet")
        rtt = rtt[rtt["flow"] == front["flow"]].set_index("rtt_us")["count"]
        counts = counts.add(rtt, fill_value=0.0)
        hops += manifest["packet_hops"]
        cpu += manifest["cpu_s"]
    counts = counts.sort_index()
    ms, share = counts.index.to_numpy() / 1e3, counts.cumsum().to_numpy() / counts.sum()
    low, high = (ms[np.searchsorted(share, p)] for p in (0.05, 0.95))
    mean = float((ms * counts.to_numpy()).sum() / counts.sum())
    spread = float(np.std(rates, ddof=1) / np.sqrt(len(rates))) if len(rates) > 1 else float("nan")
    return Numbers(float(np.mean(rates)), spread, mean, float(high - low), hops, cpu)


def _spread(value: float, spread: float) -> str:
    return f"{value:.1f}" if np.isnan(spread) else f"{value:.1f} ± {spread:.1f}"


def _percent(fluid: float, packets: float) -> str:
    return f"{100 * (fluid / packets - 1):+.1f} %"


def table(names: list[str], seeds: int, keep: Path) -> None:
    """Prints a table, Markdown."""
    print("| load | foreground flow | goodput Mbit/s | | mean RTT ms | | jitter ms | | packet-hops | CPU time |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in names:
        case = CASES[name]
        packets, fluid = (
            _ran(case.text(fluid=f), keep / f"{name}-{'fluid' if f else 'packets'}", seeds) for f in (False, True)
        )
        for scheme in SCHEMES:
            a, b = _numbers(packets, scheme), _numbers(fluid, scheme)
            cells = (
                f"{_spread(a.goodput_mbps, a.goodput_spread)}, {_spread(b.goodput_mbps, b.goodput_spread)}",
                _percent(b.goodput_mbps, a.goodput_mbps),
                f"{a.rtt_ms:.1f}, {b.rtt_ms:.1f}",
                _percent(b.rtt_ms, a.rtt_ms),
                f"{a.jitter_ms:.1f}, {b.jitter_ms:.1f}",
                _percent(b.jitter_ms, a.jitter_ms),
                f"1/{a.hops / b.hops:.0f}",
                f"1/{a.cpu_s / b.cpu_s:.0f}",
            )
            print(f"| {case.title} | {scheme} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Runs the cases and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", choices=[*CASES, []], help="cases; default: all")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each")
    parser.add_argument("--keep", type=Path, help="folder for the runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table(options.case or list(CASES), options.seeds, options.keep or Path(folder))


if __name__ == "__main__":
    main()
