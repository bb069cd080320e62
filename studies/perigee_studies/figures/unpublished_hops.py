# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Hops between major cities over OrbCC's constellation.

OrbCC's telemetry is designed for "about 10".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import mean
from perigee_studies import frames, style
from perigee_studies.figures.orbcc_constellation_cases import FILE
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound, largest

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "OrbCC, section II: cited, not measured"
CITIES = ("New York", "London", "Tokyo", "Singapore", "Sydney", "Sao Paulo", "Johannesburg", "Mumbai", "Los Angeles")
RECORD_BYTES = 17
FIXED_BYTES = 12
MTU_BYTES = 1500


def cases(ask: Ask) -> list[Case]:
    """Each run has one ping per pair of cities, and is at another time of the constellation."""
    cities = ask.pick(CITIES[:4], CITIES, CITIES)
    sets: dict[str, object] = {"run.duration": f"{ask.count(60, 200, 1000)} s", "run.vary": "phase"}
    for city in cities:
        sets |= {f"node.{_id(city)}.kind": "station", f"node.{_id(city)}.place": city}
    pairs = [(a, b) for i, a in enumerate(cities) for b in cities[i + 1 :]]
    flows = [{"from": _id(a), "to": _id(b), "app": "ping", "interval": "10 s"} for a, b in pairs]
    sets["flow"] = flows
    return [
        Case(FILE, "cubic", {"run": run}, run, sets, Keep((), routes=True)) for run in range(1, ask.count(1, 4, 8) + 1)
    ]


def _id(city: str) -> str:
    return city.lower().replace(" ", "-") + "-city"


def _rows(o: Outcome) -> list[dict[str, Any]]:
    """Mean (over time) and maximum number of links on each pair's path."""
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    by_ends: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for t, _, nodes in d.routes:
        if len(nodes) > 1:
            by_ends.setdefault((nodes[0], nodes[-1]), []).append((t, len(nodes) - 1))
    rows = []
    for f in d.flows:
        mine = by_ends.get((f["from"], f["to"]), [])
        if not mine:
            continue
        until = [t for t, _ in mine[1:]] + [end_s]
        spans = np.array([u - t for u, (t, _) in zip(until, mine, strict=True)])
        hops = np.array([n for _, n in mine])
        rows.append(
            {
                "from": f["from"].removesuffix("-city"),
                "to": f["to"].removesuffix("-city"),
                "hops": float((hops * spans).sum() / spans.sum()),
                "most": int(hops.max()),
                "least": int(hops.min()),
            }
        )
    return rows


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run and pair."""
    return {"pairs": frames.series(found, _rows).drop(columns="cc")}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on the number of ports on a packet's path, and on the cost of their records."""
    pairs = t["pairs"]
    by_run = pairs.groupby("run")["hops"].mean().to_numpy()
    average = mean(by_run)
    most = pairs["most"].to_numpy()
    share = mean(100 * (FIXED_BYTES + RECORD_BYTES * by_run) / MTU_BYTES)
    ten = mean(pairs.groupby("run")["most"].apply(lambda m: 100 * (m <= 10).mean()).to_numpy())
    return [
        bound("mean", "links that data crosses, mean over time and pairs", SOURCE, "about 10", average, 8, 12),
        bound("most", "most links of any pair at any time", SOURCE, "about 10", largest(most), high=14),
        bound("ten", "pairs that never have more than 10", SOURCE, "about 10", ten, 90, unit="%"),
        bound(
            "bytes", "records of the mean path in a packet of 1500 bytes", SOURCE, "modest", share, high=15, unit="%"
        ),
    ]


def draw(t: Tables) -> dict[str, Any]:
    """Plots links by pair: mean, minimum and maximum."""
    by = t["pairs"].groupby(["from", "to"]).agg({"hops": "mean", "least": "min", "most": "max"}).sort_values("hops")
    figure, axes = style.panels(1, 1, width=6.2, height=0.17 * len(by) + 0.9)
    a = axes[0][0]
    for j, (_, row) in enumerate(by.iterrows()):
        a.plot(
            [row["least"], row["most"]], [j, j], color="#9ecae1", linewidth=4, label="least to most" if j == 0 else None
        )
        a.plot(row["hops"], j, "o", color="#08519c", label="mean" if j == 0 else None)
    names = [" - ".join(city.replace("-", " ").title() for city in ends) for ends in by.index]
    a.set_yticks(range(len(by)), names)
    a.axvline(10, color=style.SOFT, linewidth=0.9, linestyle="--", label='"about 10"')
    a.set_xlim(left=0)
    a.set_xlabel("links from city to city")
    style.shared_legend(figure, [a])
    return {"hops": figure}


WHY_MANY = (
    "Long pairs exceed ten all the time: between hemispheres, and where no plane leads along the way, the shortest "
    "path by delay has many lasers. One IPv6 option holds the records of fourteen hops; further ports write nothing "
    "there, so that a longer path needs two options, or records of fixed size."
)


EXPERIMENTS = [
    Experiment(
        name="orbcc/hops",
        title="Hops between major cities",
        figure="cited, never measured",
        schemes=("cubic",),
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""The study's constellation (72 x 22 satellites, lasers, shortest paths by delay, anew every 100 ms)
between nine cities, all 36 pairs, 200 s at other times of the orbits by run; pings every 10 s only show that the paths
carry data.""",
        metrics="""Links: those that a packet crosses from station to station, up- and downlink included; as many ports
write a record. Means are over time, then over pairs. Bytes: 17 for each record and 12 of framing
(docs/explanation/integer-meter.md has the layout's source).""",
        explained=dict.fromkeys(("mean", "most", "ten", "bytes"), WHY_MANY),
        captions={"hops": "By pair, over all runs: the mean over time, and the range."},
    ),
]
