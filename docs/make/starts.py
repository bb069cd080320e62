# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the measured tables of docs/explanation/starts.md.

python docs/make/starts.py (some minutes)
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np

import perigee_lab as perigee

PAGE = Path(__file__).resolve().parents[1] / "explanation/starts.md"
SCENARIO = """
title = "a transfer"
[run]
duration = "{duration} s"
sample = "20 ms"
slow_start = "{start}"
[source.dumbbell]
rtt = "{rtt} ms"
rtt_at = "bottleneck"
loss = {loss}
[port.bottleneck]
rate = "{rate} Mbit"
queue = "{queue} bdp"
[port.reverse]
rate = "{back} Mbit"
queue = "1000 packets"
[port.access]
rate = "10 Gbit"
queue = "1000000 packets"
[tcp]
rmem = 0
pacing = true
delayed_ack = {ack_every}
[[flow]]
cc = "*"
bytes = "{megabytes} MB"
"""
GEO = {"rtt": 600, "rate": 250, "queue": 1, "back": 3, "ack_every": 8, "megabytes": 100, "loss": 0, "duration": 120}
LOW = {"rtt": 40, "rate": 200, "queue": 1, "back": 200, "ack_every": 2, "megabytes": 20, "loss": 0, "duration": 60}
PATHS = {
    "geostationary, 250 Mbit/s, 100 MB": GEO,
    "geostationary, 1 % random loss": {**GEO, "loss": 0.01},
    "geostationary, a queue of 6 BDP": {**GEO, "queue": 6},
    "geostationary, ten times smaller than saved (25 Mbit/s, 10 MB)": {**GEO, "rate": 25, "megabytes": 10},
    "low orbit, 40 ms, 200 Mbit/s, 20 MB": LOW,
    "low orbit, a queue of 6 BDP": {**LOW, "queue": 6},
    "fibre, 10 ms, 200 Mbit/s, 20 MB": {**LOW, "rtt": 10},
}
STARTS = ("own", "classic", "hystart++", "search", "rapid", "careful")


def saved(path: dict[str, float], rate: float | None = None) -> dict[str, object]:
    """What an earlier connection has saved of a path at the given rate, by the rule of RFC 9959."""
    window = (rate or path["rate"]) * 1e6 / 8 * path["rtt"] / 1e3
    return {
        "slow_start.careful.saved_window": f"{round(window)} B",
        "slow_start.careful.saved_rtt": f"{path['rtt']} ms",
    }


def transfer(path: dict[str, float], cc: str, start: str, sets: dict[str, object] | None = None) -> tuple[float, float]:
    """Completion time in seconds, and the share of packets sent again."""
    given = dict(sets or {})
    if start == "careful":
        given = {**saved(path), **given}
    run = perigee.loads(SCENARIO.format(start=start, **path), given).run(cc)
    [t] = run.table("flow_totals").to_pylist()
    seconds = (t["completed_ns"] - t["started_ns"]) / 1e9 if t["completed_ns"] else float("inf")
    return seconds, t["retransmits"] / max(t["data_sent"], 1)


def cell(path: dict[str, float], cc: str, start: str, sets: dict[str, object] | None = None) -> str:
    """Completion time, and what was sent again if it is a hundredth or more."""
    seconds, again = transfer(path, cc, start, sets)
    shown = f"{seconds:.2f}" if np.isfinite(seconds) else f"over {path['duration']:.0f}"
    return shown + (f" ({again:.0%})" if again >= 0.01 else "")


def by_path() -> str:
    """Completion times of Cubic with each start."""
    lines = [f"| path | {' | '.join(STARTS)} |", "|---" * (len(STARTS) + 1) + "|"]
    for name, path in PATHS.items():
        smaller = {"rate": 250} if "smaller" in name else {}
        cells = [cell(path, "cubic", s, saved(path, **smaller) if s == "careful" else None) for s in STARTS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def bars() -> str:
    """Picoquic's longest completion times, and what meets them."""
    long = {"slow_start.classic.reference_rtt": "100 ms"}
    whole = {"slow_start.careful.share": 1.0, "slow_start.careful.then": "saved"}
    then = {"slow_start.careful.then": "saved"}
    rows = [
        ("nothing remembered, 5.5 s", GEO, "cubic", "own", {}),
        ("", GEO, "bbr", "own", {}),
        ("", GEO, "hybla", "own", {}),
        ("", GEO, "hybla", "own", {"cc.hybla.rtt0": "50 ms"}),
        ("", GEO, "cubic", "rapid", {}),
        ("", GEO, "cubic", "classic", long),
        ("", GEO, "cubic", "classic", {**long, "tcp.init_cwnd": 61}),
        ("remembered, 4.9 s", GEO, "cubic", "careful", then),
        ("", GEO, "bbr", "careful", {}),
        ("", GEO, "cubic", "careful", whole),
        ("", GEO, "bbr", "careful", {"slow_start.careful.share": 1.0}),
        ("1 % loss, 8.0 s", {**GEO, "loss": 0.01}, "cubic", "own", {}),
        ("", {**GEO, "loss": 0.01}, "bbr", "own", {}),
        ("", {**GEO, "loss": 0.01}, "hybla", "own", {}),
        ("", {**GEO, "loss": 0.01}, "bbr", "careful", {"slow_start.careful.share": 1.0}),
    ]
    lines = ["| bar | scheme | start | with | seconds (sent again) |", "|---|---|---|---|---|"]
    for bar, path, cc, start, sets in rows:
        shown = ", ".join(f"{k.removeprefix('slow_start.')} = {v}" for k, v in sets.items())
        lines.append(f"| {bar} | {cc} | {start} | {shown} | {cell(path, cc, start, sets)} |")
    return "\n".join(lines)


def starts_of_paths(count: int) -> list[dict[str, float]]:
    """Geostationary and low paths in turn, 5 to 150 Mbit/s, with queues of 1 to 8 BDP."""
    draw = random.Random(7)
    found = []
    for i in range(count):
        rtt = draw.uniform(550, 700) if i % 2 else draw.uniform(20, 90)
        rate, queue = 10 ** draw.uniform(0.7, 2.2), 2 ** draw.uniform(0, 3)
        found.append({**LOW, "rtt": round(rtt, 3), "rate": round(rate, 3), "queue": round(queue, 2)})
    return found


def leaving(count: int = 500) -> str:
    """Where starts leave, by the depth of the queue."""
    kinds = {
        "hystart": {},
        "hystart++": {},
        "search": {},
        "search, rule = linux": {"slow_start.search.rule": "linux"},
        "search, after = reset": {"slow_start.search.after": "reset"},
    }
    lines = [
        "| start | queue, BDP | starts | left before a loss | nothing lost | at 1.0 to 1.6 | in flight, BDP "
        "| window after, BDP |",
        "|---|---|---:|---:|---:|---:|---|---|",
    ]
    paths = starts_of_paths(count)
    for kind, sets in kinds.items():
        rows = np.array([left(p, kind.split(",")[0], sets) for p in paths])
        for low, high in ((1, 2), (2, 4), (4, 5), (5, 8)):
            of = rows[(rows[:, 0] >= low) & (rows[:, 0] < high)]
            early = of[of[:, 1] == 1]
            shown = [quantiles(early[:, k]) for k in (3, 4)]
            ideal = (of[:, 1] == 1) & (of[:, 3] >= 1.0) & (of[:, 3] <= 1.6)
            shares = f"{of[:, 1].mean():.0%} | {of[:, 2].mean():.0%} | {ideal.mean():.0%}"
            lines.append(f"| {kind} | {low} to {high} | {len(of)} | {shares} | {' | '.join(shown)} |")
    return "\n".join(lines)


def left(path: dict[str, float], start: str, sets: dict[str, object]) -> tuple[float, ...]:
    """Queue, left before a loss, nothing lost, data in flight and window then in BDPs."""
    bdp = path["rate"] * 1e6 / 8 * path["rtt"] / 1e3
    # Five conservative rounds with a full queue last long.
    rtts = 80 if start == "hystart++" else 18
    short = {**path, "duration": round(rtts * path["rtt"] / 1e3, 3), "megabytes": 10_000, "back": path["rate"]}
    run = perigee.loads(SCENARIO.format(start=start, **short), {"tcp.pacing": False, **sets}).run("newreno")
    rows = run.to_pandas("flows")
    end = rows.iloc[-1]
    until = rows[rows["t_ns"] <= (end["cc_start_left_s"] + 4 * path["rtt"] / 1e3) * 1e9].iloc[-1]
    early = end["cc_start_left_s"] > 0 and end["cc_start_left_by_loss"] == 0
    sizes = (end["cc_start_left_in_flight_bytes"] / bdp, end["cc_start_left_cwnd_bytes"] / bdp)
    return (path["queue"], float(early), float(early and until["lost_packets"] == 0), *sizes)


def quantiles(values: np.ndarray) -> str:
    """Median, and the tenths at both ends."""
    if len(values) < 5:
        return ""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    """Replaces the tables of the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("paths", by_path()), ("bars", bars()), ("leaving", leaving())):
        marks = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        assert marks.search(text), name
        text = marks.sub(lambda m, table=table: m[1] + table + "\n" + m[2], text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
