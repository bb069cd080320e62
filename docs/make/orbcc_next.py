# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the measured parts of the pages on OrbCC's loop, its parameters and OrbCC next.

python docs/make/orbcc_next.py [goals] [ablation] [published] [loop] [sensitivity]   (some minutes each; default: all)
python docs/make/orbcc_next.py goals --print                                         (tables only, no page changes)
python docs/make/orbcc_next.py large --print                                         (10,000 flows: half an hour)
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from orbcc_loop import averaging_rtts, phase_margin

import perigee_lab as perigee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PAGES = Path(__file__).resolve().parents[1] / "explanation"
# Only the bottleneck writes telemetry, as in the studies.
PORTS = """
[telemetry]
max_hops = 1
[source.dumbbell]
rtt = "{rtt} ms"
rtt_at = "ack-path"
[port.all]
framing = 7
metered = true
[port.bottleneck]
rate = "{rate} Mbit"
queue = "{queue} bdp"
[port.reverse]
metered = false
rate = "100 Gbit"
queue = "1000000 packets"
[port.access]
metered = false
rate = "100 Gbit"
queue = "1000000 packets"
"""
MANY = (
    """title = "many flows"
[run]
duration = "{duration} s"
warmup = "{warmup} s"
sample = "{sample} ms"
start_jitter = "1 s"
"""
    + PORTS
    + """
[[flow]]
cc = "*"
count = {flows}
"""
)
SHORT = (
    """title = "short flows"
[run]
duration = "40 s"
warmup = "1 s"
sample = "5 ms"
"""
    + PORTS
    + """
[[flow]]
cc = "*"
app = "bulk"
stop = "37 s"
arrivals = "exponential({gap} ms)"
object = "pareto(100 kB, 1.3)"
"""
)
ALTERNATING = (
    """title = "alternating rates"
[run]
duration = "20 s"
warmup = "5 s"
sample = "5 ms"
"""
    + PORTS
    + """
[[flow]]
cc = "*"
"""
)
OVERRIDES = {
    "gain per ACK": {"law": "per_ack"},
    "5 packets and a wait": {"start": "wait"},
    "no telemetry in the handshake": {"handshake": "off"},
    "additive growth": {"growth": "additive"},
    "windows not scaled with rates": {"rate_change": "none"},
    "scaled, but not by the mean": {"rate_change": "scale"},
    "windows rounded down": {"rounding": "down"},
    "no allowance for the queue": {"allowance": 0.0},
    "flows counted, not windows": {"count": "flows"},
    "a record in each packet": {"packets_per_record": 1.0},
    "gain 1": {"gain": 1.0},
    "pacing at 1.2": {"pacing_gain": 1.2},
}
Case = tuple[str, str, dict[str, object]]


def many(flows: int, rtt: int, *, rate: int = 100, duration: int = 20, warmup: int = 7, sample: int = 5) -> str:
    """Bulk flows that start within a second."""
    return MANY.format(flows=flows, rtt=rtt, rate=rate, queue=2, duration=duration, warmup=warmup, sample=sample)


def short(load: float) -> str:
    """Transfers that arrive as a Poisson process: `load` of 100 Mbit/s in payload."""
    return SHORT.format(gap=round(100e3 * 8 / (load * 100e6) * 1e3, 4), rtt=50, rate=100, queue=1)


def alternating(queue: int) -> str:
    """50 and 100 Mbit/s by turns of 100 ms."""
    changes = (f'[[change]]\nat = "{100 * k} ms"\nrate = "{50 if k % 2 else 100} Mbit"\n' for k in range(1, 200))
    return ALTERNATING.format(rtt=50, rate=100, queue=queue) + "\n".join(changes)


def options(scheme: str, given: dict[str, object]) -> dict[str, object]:
    """Settings of the scheme."""
    return {f"cc.{scheme}.{name}": value for name, value in given.items()}


def measured(case: Case, seed: int = 1) -> dict[str, float]:
    """Goodput share, Jain's index, queue in ms (mean, SD, p99), RTT p99 in ms, completion times in s."""
    text, scheme, given = case
    run = perigee.loads(text, options(scheme, given)).run(scheme, seed=seed)
    totals, links = run.to_pandas("flow_totals"), run.to_pandas("links")
    rate = float(re.search(r'rate = "(\d+) Mbit"', text)[1]) * 1e6  # type: ignore[index]
    warmup = float(re.search(r'warmup = "(\d+) s"', text)[1]) * 1e9  # type: ignore[index]
    busiest = links.groupby("port")["queue_bytes"].mean().idxmax()
    queue = links[(links["port"] == busiest) & (links["t_ns"] >= warmup)]["queue_bytes"] * 8 / rate * 1e3
    found = {"queue": queue.mean(), "sd": queue.std(), "queue99": queue.quantile(0.99)}
    if "arrivals" in text:
        late = totals[(totals["started_ns"] >= warmup) & totals["completed_ns"].notna()]
        times = (late["completed_ns"] - late["started_ns"]) / 1e9
        return {**found, "mean": times.mean(), "p99": times.quantile(0.99), "flows": float(len(times))}
    samples = run.to_pandas("flows")
    span = samples[samples["t_ns"] >= warmup].groupby("flow")[["t_ns", "delivered_bytes"]].agg(["first", "last"])
    bits = (span["delivered_bytes"]["last"] - span["delivered_bytes"]["first"]) * 8.0
    seconds = float((span["t_ns"]["last"] - span["t_ns"]["first"]).max()) / 1e9
    jain = bits.sum() ** 2 / (len(bits) * (bits**2).sum())
    rtts = run.to_pandas("rtt")
    return {**found, "goodput": bits.sum() / seconds / rate, "jain": jain, "rtt99": rtt_quantile(rtts)}


def rtt_quantile(rows: object) -> float:
    """The 99th percentile of the RTT in ms, from counts per bin."""
    import pandas as pd

    assert isinstance(rows, pd.DataFrame)
    rows = rows.sort_values("rtt_us")
    counts = rows["count"].cumsum()
    return float(rows["rtt_us"].iloc[int(np.searchsorted(counts, 0.99 * counts.iloc[-1]))]) / 1e3


def all_of(cases: Iterable[Case]) -> list[dict[str, float]]:
    """The cases, measured on two cores."""
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(measured, cases))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    names = list(head)
    lines = [names, ["---"] + ["---:"] * (len(names) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


COLUMNS: dict[str, Callable[[], str]] = {
    "100 flows, 20 ms": lambda: many(100, 20),
    "short flows, 51 %": lambda: short(0.51),
    "short flows, 85 %": lambda: short(0.85),
    "alternating rates": lambda: alternating(2),
}


def shown(name: str, m: dict[str, float]) -> str:
    """The numbers of a case."""
    if "mean" in m:
        return f"{m['mean']:.3f} / {m['p99']:.2f} / {m['queue']:.1f}"
    if name.startswith("alt"):
        return f"{100 * m['goodput']:.1f} / {m['rtt99']:.0f}"
    return f"{m['goodput']:.3f} / {m['jain']:.3f} / {m['queue']:.1f}"


HEAD = [
    "",
    "100 flows: goodput, Jain, queue",
    "51 %: mean, p99, queue",
    "85 %: mean, p99, queue",
    "alternating: Mbit/s, RTT p99",
]


def compared(variants: dict[str, tuple[str, dict[str, object]]]) -> str:
    """A row per variant, a column per case."""
    cases = [(make(), scheme, given) for scheme, given in variants.values() for make in COLUMNS.values()]
    found = iter(all_of(cases))
    rows = [[name, *(shown(column, next(found)) for column in COLUMNS)] for name in variants]
    return table(HEAD, rows)


def goals() -> str:
    """The schemes."""
    names = ("cubic", "bbr3", "hpcc_tcp", "orbcc", "orbcc-pint", "orbcc-next")
    free = {"overhead": "none"}
    more: dict[str, tuple[str, dict[str, object]]] = {
        "orbcc, no bytes": ("orbcc", free),
        "orbcc-next, no bytes": ("orbcc-next", free),
    }
    return compared({name: (name, {}) for name in names} | more)


def ablation() -> str:
    """Each change undone by itself."""
    return compared({"orbcc-next": ("orbcc-next", {})} | {k: ("orbcc-next", dict(v)) for k, v in OVERRIDES.items()})


def large() -> str:
    """10,000 flows at 10 Gbit/s."""
    text = many(10_000, 20, rate=10_000, duration=6, warmup=3, sample=100)
    names = ("orbcc", "orbcc-next")
    rows = [
        [name, shown("many", m)] for name, m in zip(names, map(measured, [(text, n, {}) for n in names]), strict=True)
    ]
    return table(["", "goodput, Jain, queue"], rows)


def published() -> str:
    """Steady states of the studies' dumbbells."""
    cases = {
        f"{n} flows, {rtt} ms": many(n, rtt, duration=30, warmup=15)
        for n, rtt in ((1, 50), (2, 20), (2, 100), (20, 50))
    }
    names = ("orbcc", "orbcc-next")
    found = iter(all_of((text, name, {}) for text in cases.values() for name in names))
    rows = []
    for case in cases:
        pair = [next(found) for _ in names]
        rows.append([case, *(f"{m['goodput']:.3f} / {m['jain']:.3f} / {m['rtt99']:.1f}" for m in pair)])
    return table(["", *(f"{name}: goodput, Jain, RTT p99" for name in names)], rows)


GRID = [(flows, rtt, alpha) for rtt in (20, 50, 100) for flows in (1, 5, 20, 50, 100) for alpha in (0.01, 0.05)]


def loop() -> str:
    """Margins of the fluid model against measured queues."""
    texts = [many(flows, rtt, duration=30, warmup=15) for flows, rtt, _ in GRID]
    old = all_of((t, "orbcc", {"alpha": a, "overhead": "none"}) for t, (_, _, a) in zip(texts, GRID, strict=True))
    chosen = [(t, g) for t, g in zip(texts, GRID, strict=True) if g[2] == 0.01]
    new = all_of((t, "orbcc-next", {"overhead": "none"}) for t, _ in chosen)
    rows = []
    x, y = [], []
    for (flows, rtt, alpha), m in zip(GRID, old, strict=True):
        lag = averaging_rtts(flows, 100e6, rtt / 1e3, alpha)
        margin, sd = phase_margin(lag), m["sd"] / rtt
        x.append(lag)
        y.append(sd)
        rows.append(
            [f"{flows}, {rtt} ms, {alpha}", f"{lag:.2f}", f"{margin:.0f}°", f"{100 * sd:.1f}", f"{m['goodput']:.3f}"]
        )
    draw_loop(np.array(x), np.array(y), [m["sd"] / g[1] for m, (_, g) in zip(new, chosen, strict=True)], chosen)
    order = np.argsort(np.argsort(x)), np.argsort(np.argsort(y))
    rank = float(np.corrcoef(*order)[0, 1])
    head = ["flows, RTT, alpha", "averaging, RTTs", "phase margin", "queue SD, % of BDP", "goodput"]
    return table(head, rows) + f"\n\nRank correlation of averaging and standard deviation: {rank:.2f}."


def draw_loop(x: np.ndarray, y: np.ndarray, new: list[float], chosen: list[tuple[str, tuple[int, int, float]]]) -> None:
    """The figure: margin of the model, and measured deviations, over the averaging."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    lags = np.logspace(-2, 1.5, 100)
    for gain, style in ((1.0, "-"), (0.5, "--"), (0.3, ":")):
        left.semilogx(
            lags, [phase_margin(lag, gain=gain) for lag in lags], style, label=f"gain {gain}", color="#2f6f9f"
        )
    left.set(xlabel="averaging of U, RTTs", ylabel="phase margin, degrees", ylim=(0, 90))
    left.legend(frameon=False)
    right.loglog(x, 100 * y, "o", color="#E69F00", label="orbcc")
    old_lags = [averaging_rtts(n, 100e6, rtt / 1e3, alpha) for _, (n, rtt, alpha) in chosen]
    right.loglog(old_lags, 100 * np.array(new), "x", color="#2f6f9f", label="orbcc-next, at OrbCC's averaging")
    right.set(xlabel="averaging of U, RTTs", ylabel="queue: standard deviation, % of BDP")
    right.legend(frameon=False)
    for axis in (left, right):
        axis.grid(alpha=0.25, linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PAGES / "orbcc-loop.png", dpi=150)
    plt.close(figure)


SWEEP: dict[str, tuple[float, ...]] = {
    "eta": (0.85, 0.9, 0.95, 0.98),
    "additive_increase": (0.01, 0.025, 0.05, 0.1),
    "alpha": (0.003, 0.01, 0.03, 0.1),
}


def sensitivity() -> str:
    """One parameter at a time, with 5 and with 100 flows."""
    texts = {5: many(5, 50), 100: many(100, 20)}
    points = [(name, value) for name, values in SWEEP.items() for value in values]
    found = iter(all_of((text, "orbcc", {n: v, "overhead": "none"}) for n, v in points for text in texts.values()))
    rows, curves = [], []
    for name, value in points:
        pair = [next(found) for _ in texts]
        curves.append(pair)
        cells = (f"{m['goodput']:.3f} / {m['jain']:.3f} / {m['queue']:.2f}" for m in pair)
        rows.append([f"{name} = {value}", *cells])
    draw_sensitivity(points, curves)
    return table(["", "5 flows, 50 ms: goodput, Jain, queue ms", "100 flows, 20 ms: goodput, Jain, queue ms"], rows)


def draw_sensitivity(points: list[tuple[str, float]], curves: list[list[dict[str, float]]]) -> None:
    """The figure: goodput and queue over each parameter."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 5), layout="constrained", sharex="col", sharey="row")
    for column, name in enumerate(SWEEP):
        of = [(v, c) for (n, v), c in zip(points, curves, strict=True) if n == name]
        for k, label in enumerate(("5 flows, 50 ms", "100 flows, 20 ms")):
            x = [v for v, _ in of]
            for row, key in enumerate(("goodput", "queue")):
                axes[row][column].semilogx(
                    x, [c[k][key] for _, c in of], "o-", color=("#2f6f9f", "#E69F00")[k], label=label
                )
        axes[1][column].set_xlabel(name)
    axes[0][0].set_ylabel("goodput, share of the rate")
    axes[1][0].set_ylabel("queue, ms")
    axes[0][0].legend(frameon=False, fontsize=8)
    for axis in axes.flat:
        axis.grid(alpha=0.25, linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PAGES / "orbcc-sensitivity.png", dpi=150)
    plt.close(figure)


PARTS: dict[str, tuple[Callable[[], str], str]] = {
    "goals": (goals, "orbcc-next.md"),
    "ablation": (ablation, "orbcc-next.md"),
    "published": (published, "orbcc-next.md"),
    "large": (large, "orbcc-next.md"),
    "loop": (loop, "orbcc-loop.md"),
    "sensitivity": (sensitivity, "orbcc-sensitivity.md"),
}


def main(words: list[str]) -> None:
    """Prints the parts named, and replaces them in their pages."""
    for part in [w for w in words if w in PARTS] or [p for p in PARTS if p != "large"]:
        make, page = PARTS[part]
        text = make()
        print(f"{part}\n{text}\n", flush=True)
        if "--print" in words:
            continue
        path = PAGES / page
        marks = re.compile(rf"(<!-- measured: {part} -->\n).*?(<!-- end -->)", re.DOTALL)
        whole = path.read_text(encoding="utf-8")
        assert marks.search(whole), part
        path.write_text(marks.sub(lambda m, text=text: m[1] + text + "\n" + m[2], whole), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
