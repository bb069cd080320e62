# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of tables and figures of the pages on OrbCC next, OrbCC's loop and OrbCC's parameters.

python docs/make/orbcc_next.py --cases > cases.sh      the runs: some minutes of two cores
sh cases.sh > docs/explanation/orbcc-next.csv
python docs/make/orbcc_next.py                         tables and figures from them
python docs/make/orbcc_next.py --print                 the tables alone
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from orbcc_loop import averaging_rtts, phase_margin

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGES = Path(__file__).resolve().parents[1] / "explanation"
RESULTS = PAGES / "orbcc-next.csv"
FIELDS = "case,scheme,goodput,jain,queue,queue_sd,queue_p99,rtt_p99,mean_s,p99_s,drops"
EXAMPLE = "cargo run -q --release -p perigee-sim --example orbcc_next --"
MANY, LIGHT, HEAVY, TURNS = "many:100:20:20", "short:0.51:40", "short:0.85:40", "alternating:2"
SCHEMES = ("cubic", "bbr3", "hpcc_tcp", "orbcc", "orbcc-pint", "orbcc-next")
CHANGES = {
    "law = per_ack": "law=per_ack",
    "start = wait": "start=wait",
    "handshake = off": "handshake=off",
    "growth = additive": "growth=additive",
    "rate_change = none": "rate_change=none",
    "rate_change = scale": "rate_change=scale",
    "rounding = down": "rounding=down",
    "allowance = 0": "allowance=0",
    "count = flows": "count=flows",
    "packets_per_record = 1": "packets_per_record=1",
    "gain = 1": "gain=1",
    "pacing_gain = 1.2": "pacing_gain=1.2",
    "eager, see below": "eta=1,gain=0.6,additive_increase=0.1",
}
EAGER = f"orbcc-next:{CHANGES['eager, see below']}"
BUSY = [f"{HEAVY}:{seed}" for seed in range(11, 19)]
BUSY_SCHEMES = {"cubic": "cubic", "orbcc-next": "orbcc-next", "eager": EAGER}
FREE = "overhead=none"
GRID = [(flows, rtt) for rtt in (20, 50, 100) for flows in (1, 5, 20, 50, 100)]
STEADY = ("many:1:50:30", "many:2:20:30", "many:2:100:30", "many:20:50:30")
TURNS_DEEP = "alternating:3"
LARGE = "many:1000:20:6:1000"
HUGE = {"1000 flows": [f"many:1000:20:15:1000:{seed}" for seed in (1, 2, 3)], "10000 flows": ["many:10000:20:15:10000"]}
HUGE_SCHEMES = ("cubic", "bbr3", "orbcc", "orbcc-next")
SWEEP = {
    "eta": ("0.85", "0.9", "0.95", "0.98"),
    "additive_increase": ("0.01", "0.025", "0.05", "0.1"),
    "alpha": ("0.003", "0.01", "0.03", "0.1"),
}
SWEPT = {"many:5:50:20": "5 flows, 50 ms", "many:100:20:20": "100 flows, 20 ms"}
Row = dict[str, float]
Results = dict[tuple[str, str], Row]


def runs() -> dict[str, list[str]]:
    """Schemes of each case."""
    names = [*SCHEMES, f"orbcc:{FREE}", f"orbcc-next:{FREE}", *(f"orbcc-next:{c}" for c in CHANGES.values())]
    grid = [f"orbcc:{FREE}", f"orbcc:{FREE},alpha=0.05", f"orbcc-next:{FREE}"]
    swept = [f"orbcc:{FREE},{name}={value}" for name, values in SWEEP.items() for value in values]
    wanted = [(case, names) for case in (MANY, LIGHT, HEAVY, TURNS)]
    wanted += [(TURNS_DEEP, ["cubic", "orbcc", "orbcc-next"])]
    wanted += [(case, ["orbcc", "orbcc-next"]) for case in (*STEADY, LARGE)]
    wanted += [(case, [*HUGE_SCHEMES, f"orbcc-next:{FREE}"]) for cases in HUGE.values() for case in cases]
    wanted += [(case, list(BUSY_SCHEMES.values())) for case in BUSY]
    wanted += [(f"many:{flows}:{rtt}:30", grid) for flows, rtt in GRID]
    wanted += [("many:20:50:30", [EAGER])]
    wanted += [(case, swept) for case in SWEPT]
    found: dict[str, list[str]] = {}
    for case, schemes in wanted:
        found[case] = list(dict.fromkeys([*found.get(case, []), *schemes]))
    return found


def cases() -> str:
    """A shell script that prints the results."""
    lines = [f"{EXAMPLE} {case} {' '.join(schemes)}" for case, schemes in runs().items()]
    return "\n".join(["set -e", f"echo {FIELDS}", *lines])


def results() -> Results:
    """The results, by case and scheme."""
    with RESULTS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(r.pop("case"), r.pop("scheme")): {k: float(v) for k, v in r.items()} for r in rows}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    names = list(head)
    lines = [names, ["---"] + ["---"] * (len(names) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def steady(m: Row) -> str:
    """Goodput, Jain's index, mean queue."""
    return f"{m['goodput']:.3f} / {m['jain']:.3f} / {m['queue']:.1f}"


def completion(m: Row) -> str:
    """Mean and p99 of completion times, mean queue."""
    return f"{m['mean_s']:.3f} / {m['p99_s']:.2f} / {m['queue']:.1f}"


def rate(m: Row) -> str:
    """Goodput of 100 Mbit/s, p99 of the RTT."""
    return f"{100 * m['goodput']:.1f} / {m['rtt_p99']:.0f}"


HEAD = ("100 flows: goodput, Jain, queue", "51 % load: mean, p99, queue", "85 % load: mean, p99, queue",
        "alternating: Mbit/s, RTT p99")  # fmt: skip


def compared(of: Results, names: dict[str, str]) -> str:
    """A row per scheme, a column per case."""
    columns = ((MANY, steady), (LIGHT, completion), (HEAVY, completion), (TURNS, rate))
    rows = [[name, *(shown(of[case, scheme]) for case, shown in columns)] for name, scheme in names.items()]
    return table(["", *HEAD], rows)


def goals(of: Results) -> str:
    """The schemes."""
    free = {"orbcc, no bytes": f"orbcc:{FREE}", "orbcc-next, no bytes": f"orbcc-next:{FREE}"}
    return compared(of, {name: name for name in SCHEMES} | free)


def ablation(of: Results) -> str:
    """Each change undone by itself."""
    return compared(of, {"orbcc-next": "orbcc-next"} | {k: f"orbcc-next:{v}" for k, v in CHANGES.items()})


def published(of: Results) -> str:
    """Steady states, with RTTs."""
    rows = []
    for case in (*STEADY, LARGE):
        _, flows, rtt, _, *mbit = case.split(":")
        pair = (of[case, name] for name in ("orbcc", "orbcc-next"))
        cells = (f"{m['goodput']:.3f} / {m['jain']:.3f} / {m['rtt_p99']:.1f}" for m in pair)
        rows.append([f"{flows}, {rtt} ms, {mbit[0] if mbit else 100} Mbit/s", *cells])
    return table(["flows", "orbcc: goodput, Jain, RTT p99", "orbcc-next"], rows)


def huge(of: Results) -> str:
    """Thousands of flows, means over seeds."""
    rows = []
    for scheme in (*HUGE_SCHEMES, f"orbcc-next:{FREE}"):
        cells = []
        for cases in HUGE.values():
            found = [of[case, scheme] for case in cases]
            mean = {k: sum(m[k] for m in found) / len(found) for k in found[0]}
            cells.append(f"{steady(mean)} / {mean['rtt_p99']:.0f}")
        rows.append([scheme.replace(":", ", ").replace("=", " = "), *cells])
    head = ("1000 flows, 1 Gbit/s: goodput, Jain, queue, RTT p99", "10,000 flows, 10 Gbit/s")
    return table(["", *head], rows)


def busy(of: Results) -> str:
    """Short flows at 85 % load: p99 of each seed, and means over seeds."""
    rows = []
    for name, scheme in BUSY_SCHEMES.items():
        found = [of[case, scheme] for case in BUSY]
        mean, p99, queue = (sum(m[k] for m in found) / len(found) for k in ("mean_s", "p99_s", "queue"))
        rows.append([name, *(f"{m['p99_s']:.2f}" for m in found), f"{mean:.3f} / {p99:.2f} / {queue:.1f}"])
    return table(["p99, s", *(case.rpartition(":")[2] for case in BUSY), "mean, p99, queue"], rows)


def points(of: Results) -> list[tuple[int, int, float, float, Row]]:
    """Flows, RTT, alpha, averaging in RTTs, and result of each point of the grid."""
    found = []
    for flows, rtt in GRID:
        for alpha, more in ((0.01, ""), (0.05, ",alpha=0.05")):
            m = averaging_rtts(flows, 100e6, rtt / 1e3, alpha)
            found.append((flows, rtt, alpha, m, of[f"many:{flows}:{rtt}:30", f"orbcc:{FREE}{more}"]))
    return found


def loop(of: Results) -> str:
    """Margins of the model against measured queues, by margin."""
    rows = []
    for flows, rtt, alpha, m, found in sorted(points(of), key=lambda p: phase_margin(p[3])):
        sd, packets = 100 * found["queue_sd"] / rtt, 100e6 * rtt / 1e3 / 12056 / flows
        cells = (f"{m:.2f}", f"{phase_margin(m):.0f}°", f"{packets:.1f}", f"{sd:.1f}", f"{found['goodput']:.3f}")
        rows.append([f"{flows}, {rtt} ms, {alpha}", *cells])
    head = ("averaging, RTTs", "phase margin", "packets per flow and RTT", "queue SD, % of BDP", "goodput")
    return table(["flows, RTT, alpha", *head], rows)


def sensitivity(of: Results) -> str:
    """One parameter at a time."""
    rows = []
    for name, values in SWEEP.items():
        for value in values:
            found = (of[case, f"orbcc:{FREE},{name}={value}"] for case in SWEPT)
            cells = (f"{m['goodput']:.3f} / {m['jain']:.3f} / {m['queue']:.2f}" for m in found)
            rows.append([f"{name} = {value}", *cells])
    return table(["", *(f"{label}: goodput, Jain, queue ms" for label in SWEPT.values())], rows)


def draw_loop(of: Results) -> None:
    """Margin of the model, and measured deviations, over the averaging."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    lags = [10 ** (k / 20) for k in range(-40, 41)]
    left.semilogx(lags, [phase_margin(lag) for lag in lags], color="#E69F00", label="orbcc")
    for gain, style in ((1.0, "--"), (0.3, "-")):
        margins = [phase_margin(lag, gain=gain) for lag in lags]
        left.semilogx(lags, margins, style, color="#2f6f9f", label=f"orbcc-next, gain {gain}")
    left.axhline(0, color="#999999", linewidth=0.8)
    left.set(xlabel="averaging of U, RTTs", ylabel="phase margin, degrees", ylim=(-20, 90))
    for many, mark in ((False, "o"), (True, "x")):
        chosen = [p for p in points(of) if (100e6 * p[1] / 1e3 / 12056 / p[0] < 3) == many]
        label = "fewer than 3 packets per flow and RTT" if many else "orbcc"
        sds = [100 * p[4]["queue_sd"] / p[1] for p in chosen]
        right.loglog([p[3] for p in chosen], sds, mark, color="#E69F00", label=label)
    right.set(xlabel="averaging of U, RTTs", ylabel="queue: standard deviation, % of BDP")
    for axis in (left, right):
        axis.legend(frameon=False, fontsize=8)
        axis.grid(alpha=0.25, linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PAGES / "orbcc-loop.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def draw_sensitivity(of: Results) -> None:
    """Goodput and queue over each parameter."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 5), layout="constrained", sharex="col", sharey="row")
    for column, (name, values) in enumerate(SWEEP.items()):
        for (case, label), colour in zip(SWEPT.items(), ("#2f6f9f", "#E69F00"), strict=True):
            found = [of[case, f"orbcc:{FREE},{name}={value}"] for value in values]
            x = [float(v) for v in values]
            for row, key in enumerate(("goodput", "queue")):
                axes[row][column].semilogx(x, [m[key] for m in found], "o-", color=colour, label=label)
        axes[1][column].set_xlabel(name)
        axes[1][column].set_xticks([float(v) for v in values], values)
        axes[1][column].set_xticks([], minor=True)
    axes[0][0].set_ylabel("goodput, share of the rate")
    axes[1][0].set_ylabel("queue, ms")
    axes[0][0].legend(frameon=False, fontsize=8)
    for axis in axes.flat:
        axis.grid(alpha=0.25, linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PAGES / "orbcc-sensitivity.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


PARTS = {
    "goals": (goals, "orbcc-next.md"),
    "ablation": (ablation, "orbcc-next.md"),
    "published": (published, "orbcc-next.md"),
    "huge": (huge, "orbcc-next.md"),
    "busy": (busy, "orbcc-next.md"),
    "loop": (loop, "orbcc-loop.md"),
    "sensitivity": (sensitivity, "orbcc-sensitivity.md"),
}


def main(words: list[str]) -> None:
    """Prints the cases or the tables, or replaces tables and figures of the pages."""
    if words == ["--cases"]:
        print(cases())
        return
    of = results()
    for part, (make, page) in PARTS.items():
        text = make(of)
        if words == ["--print"]:
            print(f"{text}\n")
            continue
        path = PAGES / page
        marks = re.compile(rf"(<!-- measured: {part} -->\n).*?(<!-- end -->)", re.DOTALL)
        old = path.read_text(encoding="utf-8")
        assert marks.search(old), part
        path.write_text(marks.sub(lambda m, text=text: m[1] + text + "\n" + m[2], old), encoding="utf-8")
    if words != ["--print"]:
        draw_loop(of)
        draw_sensitivity(of)


if __name__ == "__main__":
    main(sys.argv[1:])
