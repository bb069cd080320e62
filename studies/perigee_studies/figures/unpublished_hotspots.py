# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Hotspots of a constellation under one scheme for all.

Question: how long and how deep are the hotspots that a thousand flows make of a constellation's
links, by the congestion control that all of them use, and do load-aware routes help? The studies
measure two flows over a constellation.

Set-up, fixed before the runs: Starlink's first shell, the hundred largest cities, 800 transfers of
500 kB and 200 of 10 MB between pairs drawn by a gravity matrix, started at random within 30 s of
60. Rates are scaled down (20 Mbit/s between satellites, 100 Mbit/s to the ground, queues of 100
ms). Routes are the shortest; or load-aware, reassigned every 5 s for an expected 2 Mbit/s per flow.
Each run has other pairs and starts, the same for all schemes.

Definitions, fixed before these runs. A port is full in a second with a utilisation of at least 0.9.
A hotspot is a port in consecutive seconds in which it is full and has at least two packets of 1,500
bytes waiting at the end of each; its depth is its queue then. Two: behind one full port of the same
rate packets arrive no faster than they leave, so that at most one waits; a second one has come by
another way. (The first publication counted every full port, which is now `full_port_s`; its bounds
are kept.) Not carried: bytes of flows started before 30 s that have not arrived by then, over 30 s.

Bounds, fixed before the runs, against Cubic on the same routes, run by run: 0.9 of its completion
times, half of its queue in hotspots and half of its port-seconds; and a Jain's index of at least
0.8 among long transfers of each region. Of oscillation over load-aware routes: an alternation of at
most 0 (`alternation`), and a ripple of the goodput by second after the reassignment of at most 5
points above that over shortest routes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames
from perigee_studies.figures import unpublished_hotspots_views as views
from perigee_studies.model import SCENARIOS, Ask, Case, Experiment, Keep, Outcome, Tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from perigee_studies.digest import Floats

FILE = "orbcc/hotspots.toml"
SCHEMES = ("cubic", "bbr", "bbr3", "leocc", "orbcc", "orbcc-next")
HOT = 0.9
WAITING = 2
"""Least packets that wait at a hotspot."""
THRESHOLDS = (0, 1, 2, 4, 8, 16, 32, 64)
"""Packets: port-seconds are also counted with these in place of `WAITING`."""
PACKET_BITS = 12_000
ARRIVALS_S = 30.0
PERIOD_S = 5
"""Interval between assignments of load-aware routes."""
SIZES = {"short": 500_000, "long": 10_000_000}
ROUTES: dict[str, Mapping[str, object]] = {
    "shortest": {},
    "load-aware": {
        "source.constellation.route": "load-aware",
        "source.constellation.load_demand": "2 Mbit",
        "source.constellation.load_period": f"{PERIOD_S} s",
    },
}
KEEP = Keep(("goodput_bps",), routes=True, busy=HOT)


def cases(ask: Ask) -> list[Case]:
    """Runs x routes x schemes."""
    out = []
    short, long = ask.pick((80, 20), (800, 200), (1600, 400))
    for run in range(1, ask.count(1, 5, 10) + 1):
        for route, sets in ROUTES.items():
            whole = {"flow.0.count": short, "flow.1.count": long, **sets}
            out += [Case(FILE, cc, {"route": route, "run": run}, run, whole, KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run; completion times and hotspots as quantiles; port-seconds by the least queue."""
    return {
        "runs": frames.table(found, _row),
        "spread": frames.series(found, _spread),
        "waiting": frames.series(found, _waiting),
        "ripple": frames.series(found, _ripple),
    }


@lru_cache(maxsize=1)
def longitudes() -> dict[str, float]:
    """Longitude of each city, in degrees east."""
    from perigee_lab.runs.scenario import load
    from perigee_lab.sky.skymap import picture

    return {node["name"]: float(node["place"][1]) for node in picture(load(SCENARIOS / FILE), 0.0)["ground"]}


def packets(busy: Floats) -> Floats:
    """Queue of each sample of a port, in packets of 1,500 bytes."""
    waiting: Floats = busy[:, 4] * busy[:, 2] * 1e3 / PACKET_BITS
    return waiting


def hot(busy: Floats) -> Floats:
    """Samples of full ports at which at least `WAITING` packets wait."""
    return busy[packets(busy) >= WAITING]


def hotspots(busy: Floats) -> Iterator[tuple[int, Floats]]:
    """Length in seconds of each stretch of consecutive samples of a port, and its queues in ms."""
    for port in np.unique(busy[:, 1]):
        mine = busy[busy[:, 1] == port]
        mine = mine[np.argsort(mine[:, 0])]
        for part in np.split(mine, np.flatnonzero(np.diff(mine[:, 0]) > 1.5) + 1):
            yield len(part), part[:, 4]


def alternation(busy: Floats, duration_s: float, period_s: float = PERIOD_S) -> float:
    """Correlation of ports' hot seconds two periods later, less that one period later.

    Of the hot seconds of each port in each period, less the port's mean over the periods. A port
    that fills and empties by turns has a positive one; a load that comes and goes has a negative
    one. NaN without a port that changes.
    """
    periods = int(duration_s / period_s)
    ports, row = np.unique(busy[:, 1], return_inverse=True)
    counts = np.zeros((len(ports), periods))
    column = np.clip(np.ceil(busy[:, 0] / period_s).astype(int) - 1, 0, periods - 1)
    np.add.at(counts, (row, column), 1)
    x = counts - counts.mean(axis=1, keepdims=True)
    square = (x**2).sum()
    if not square:
        return float("nan")
    one, two = ((x[:, lag:] * x[:, :-lag]).sum() / square for lag in (1, 2))
    return float(two - one)


def moved(routes: Sequence[tuple[float, int, list[str]]], duration_s: float) -> dict[str, float]:
    """Changes of path per pair and minute, and those that restore a path left at most two periods before, in %."""
    paths: dict[int, list[tuple[float, list[str]]]] = {}
    for t_s, pair, nodes in routes:
        paths.setdefault(pair, []).append((t_s, nodes))
    changes, restored = 0, 0
    for mine in paths.values():
        changes += len(mine) - 1
        for (_, before), (left_s, _), (t_s, now) in zip(mine, mine[1:], mine[2:], strict=False):
            restored += now == before and t_s - left_s <= 2 * PERIOD_S
    per_minute = changes / max(1, len(paths)) * 60 / duration_s
    return {"path_changes": per_minute, "restored_pct": 100 * restored / max(1, changes)}


def _times(o: Outcome, group: str) -> Floats:
    """Completion times, s; transfers that are not complete count until the end of the run."""
    end_ns = o.digest.info["duration_ns"]
    found = [((f["completed_ns"] or end_ns) - f["started_ns"]) / 1e9 for f in _of(o, group)]
    return np.array(found)


def _of(o: Outcome, group: str) -> list[dict[str, Any]]:
    short = int(o.case.sets["flow.0.count"])  # type: ignore[call-overload]
    return o.digest.flows[:short] if group == "short" else o.digest.flows[short:]


def _row(o: Outcome) -> dict[str, Any]:
    d, there = o.digest, hot(o.digest.busy)
    spots = list(hotspots(there))
    lengths = np.array([n for n, _ in spots] or [0])
    queues = there[:, 4] if len(there) else np.zeros(1)
    short, long = (_times(o, group) for group in SIZES)
    sent = sum(f["sent_packets"] for f in d.flows)
    duration_s = d.info["duration_ns"] / 1e9
    return {
        "full_port_s": len(d.busy),
        "idle_queue_port_s": len(d.busy) - len(there),
        "hot_port_s": len(there),
        "hotspots": len(spots),
        "length_s": lengths.mean(),
        "longest_s": lengths.max(),
        "queue_ms": queues.mean(),
        "queue_p99_ms": np.quantile(queues, 0.99),
        "delay_p99_ms": _delay(o),
        "short_s": short.mean(),
        "short_p99_s": np.quantile(short, 0.99),
        "long_s": long.mean(),
        "long_p99_s": np.quantile(long, 0.99),
        "not_carried_mbps": _not_carried(o),
        "resent_pct": 100 * sum(f["retransmits"] for f in d.flows) / max(1, sent),
        "alternation": alternation(there, duration_s),
        **moved(d.routes, duration_s),
        **_fairness(o),
    }


def _delay(o: Outcome) -> float:
    """Mean over flows of the 99th percentile of the RTT above the smallest base RTT, ms."""
    base = np.array([frames.number(f["base_rtt_min_ns"]) / 1e6 for f in o.digest.flows])
    return float(np.nanmean(o.digest.rtt_ms[:, 198] - base))


def _not_carried(o: Outcome) -> float:
    d = o.digest
    begun = [f["started_ns"] < ARRIVALS_S * 1e9 for f in d.flows]
    sizes = [SIZES["short"]] * len(_of(o, "short")) + [SIZES["long"]] * len(_of(o, "long"))
    offered = sum(size for size, started in zip(sizes, begun, strict=True) if started)
    got = np.nan_to_num(d.columns["goodput_bps"][:, d.t_s <= ARRIVALS_S]).sum() / 8
    return float(8e-6 * (offered - got) / ARRIVALS_S)


def _fairness(o: Outcome) -> dict[str, float]:
    """Jain's index of the rates of long transfers, by the region of the sender."""
    rates = 8e-6 * SIZES["long"] / _times(o, "long")
    at = np.array([longitudes()[f["from"]] for f in _of(o, "long")])
    out = {}
    for name, west, east in views.REGIONS:
        x = rates[(at >= west) & (at < east)]
        out[f"jain {name}"] = float(x.sum() ** 2 / (len(x) * (x**2).sum())) if len(x) > 1 else float("nan")
    return out


def _spread(o: Outcome) -> list[dict[str, Any]]:
    """Quantiles of completion times and of the queue in hotspots."""
    there = hot(o.digest.busy)
    queues = there[:, 4] if len(there) else np.zeros(1)
    values = {"short_s": _times(o, "short"), "long_s": _times(o, "long"), "queue_ms": queues}
    points = (*np.linspace(0, 0.95, 20), 0.97, 0.98, 0.99, 0.995, 1.0)
    return [{"quantile": q, **{name: float(np.quantile(x, q)) for name, x in values.items()}} for q in points]


def _waiting(o: Outcome) -> list[dict[str, Any]]:
    """Seconds of full ports with at least each number of `THRESHOLDS` packets waiting at the end."""
    there = packets(o.digest.busy)
    return [{"least_packets": n, "port_s": int((there >= n).sum())} for n in THRESHOLDS]


def _ripple(o: Outcome) -> list[dict[str, Any]]:
    """Deviation of the goodput of all from its mean over the period around it, by second after the reassignment."""
    d = o.digest
    total = np.nan_to_num(d.columns["goodput_bps"]).sum(axis=0)
    around = np.convolve(total, np.full(PERIOD_S, 1 / PERIOD_S), "same")
    half = PERIOD_S // 2
    second = np.round(d.t_s).astype(int)
    inner = (np.arange(len(total)) >= PERIOD_S) & (np.arange(len(total)) < len(total) - half) & (around > 0)
    out = []
    for k in range(1, PERIOD_S + 1):
        mine = inner & ((second - 1) % PERIOD_S == k - 1)
        change = float(100 * (total[mine].sum() / around[mine].sum() - 1)) if mine.any() else float("nan")
        out.append({"second": k, "deviation_pct": change})
    return out


EXPERIMENTS = [
    Experiment(
        name="orbcc/hotspots",
        title="Hotspots of a constellation",
        figure="left open: many flows over a constellation",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=views.verdicts,
        draw=views.draw,
        finding=views.finding,
        summary=views.summary,
        explain=views.explain,
        method=views.METHOD,
        metrics=views.METRICS,
        captions=views.CAPTIONS,
        changes=views.CHANGES,
        columns=views.COLUMNS,
    )
]
