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

Definitions: a hotspot is a port with a utilisation of at least 0.9 in consecutive seconds; its
depth is its queue at the end of a second. Not carried: bytes of flows started before 30 s that have
not arrived by then, over 30 s.

Bounds, fixed before the runs, against Cubic on the same routes, run by run: 0.9 of its completion
times, half of its queue in hotspots and half of its port-seconds; and a Jain's index of at least
0.8 among long transfers of each region.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import FEWEST_RUNS, Estimate, mean
from perigee_studies import frames, style
from perigee_studies.model import SCENARIOS, Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from perigee_studies.digest import Floats

SOURCE = "OrbCC, LeoTCP, Mazilu et al.: at most two flows over a constellation"
FILE = "orbcc/hotspots.toml"
SCHEMES = ("cubic", "bbr", "bbr3", "leocc", "orbcc", "orbcc-next")
REFERENCE = "cubic"
HOT = 0.9
ARRIVALS_S = 30.0
PACKET_MS = 0.61
"""Time of a packet of 1,500 bytes at 20 Mbit/s, rounded up."""
NUMBERS = {1: "one", 2: "two", 3: "three"}
SIZES = {"short": 500_000, "long": 10_000_000}
ROUTES: dict[str, Mapping[str, object]] = {
    "shortest": {},
    "load-aware": {
        "source.constellation.route": "load-aware",
        "source.constellation.load_demand": "2 Mbit",
        "source.constellation.load_period": "5 s",
    },
}
REGIONS = (("Americas", -180.0, -30.0), ("Europe and Africa", -30.0, 60.0), ("Asia", 60.0, 180.0))
"""Names and longitudes, degrees east."""
KEEP = Keep(("goodput_bps",), busy=HOT)


def cases(ask: Ask) -> list[Case]:
    """Routes x schemes x runs; load-aware routes, which cost more to compute, in two thirds of them."""
    out = []
    short, long = ask.pick((80, 20), (800, 200), (1600, 400))
    for run in range(1, ask.count(1, 3, 10) + 1):
        for route, sets in ROUTES.items():
            if route != "shortest" and run > ask.count(0, 2, 6):
                continue
            whole = {"flow.0.count": short, "flow.1.count": long, **sets}
            out += [Case(FILE, cc, {"route": route, "run": run}, run, whole, KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run; completion times and hotspots as quantiles."""
    return {"runs": frames.table(found, _row), "spread": frames.series(found, _spread)}


@lru_cache(maxsize=1)
def longitudes() -> dict[str, float]:
    """Longitude of each city, in degrees east."""
    from perigee_lab.runs.scenario import load
    from perigee_lab.sky.skymap import picture

    return {node["name"]: float(node["place"][1]) for node in picture(load(SCENARIOS / FILE), 0.0)["ground"]}


def hotspots(busy: Floats) -> Iterator[tuple[int, Floats]]:
    """Length in seconds of each hotspot, and its queues in ms."""
    for port in np.unique(busy[:, 1]):
        mine = busy[busy[:, 1] == port]
        mine = mine[np.argsort(mine[:, 0])]
        for part in np.split(mine, np.flatnonzero(np.diff(mine[:, 0]) > 1.5) + 1):
            yield len(part), part[:, 4]


def _times(o: Outcome, group: str) -> Floats:
    """Completion times, s; transfers that are not complete count until the end of the run."""
    end_ns = o.digest.info["duration_ns"]
    found = [((f["completed_ns"] or end_ns) - f["started_ns"]) / 1e9 for f in _of(o, group)]
    return np.array(found)


def _of(o: Outcome, group: str) -> list[dict[str, Any]]:
    short = int(o.case.sets["flow.0.count"])  # type: ignore[call-overload]
    return o.digest.flows[:short] if group == "short" else o.digest.flows[short:]


def _row(o: Outcome) -> dict[str, Any]:
    d, spots = o.digest, list(hotspots(o.digest.busy))
    lengths = np.array([n for n, _ in spots] or [0])
    queues = np.concatenate([q for _, q in spots] or [np.zeros(1)])
    short, long = (_times(o, group) for group in SIZES)
    sent = sum(f["sent_packets"] for f in d.flows)
    return {
        "hot_port_s": len(d.busy),
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
    for name, west, east in REGIONS:
        x = rates[(at >= west) & (at < east)]
        out[f"jain {name}"] = float(x.sum() ** 2 / (len(x) * (x**2).sum())) if len(x) > 1 else float("nan")
    return out


def _spread(o: Outcome) -> list[dict[str, Any]]:
    """Quantiles of completion times and of the queue in hotspots."""
    queues = o.digest.busy[:, 4] if len(o.digest.busy) else np.zeros(1)
    values = {"short_s": _times(o, "short"), "long_s": _times(o, "long"), "queue_ms": queues}
    points = (*np.linspace(0, 0.95, 20), 0.97, 0.98, 0.99, 0.995, 1.0)
    return [{"quantile": q, **{name: float(np.quantile(x, q)) for name, x in values.items()}} for q in points]


def against(runs: pd.DataFrame, cc: str, column: str) -> Estimate:
    """A scheme's value over Cubic's, run by run."""
    wide = runs.pivot_table(index="run", columns="cc", values=column)
    return mean((wide[cc] / wide[REFERENCE]).to_numpy()) if {cc, REFERENCE} <= set(wide) else mean([])


BOUNDS = (
    ("short_s", "mean time of short transfers", 0.9),
    ("long_s", "mean time of long transfers", 0.9),
    ("queue_ms", "mean queue in hotspots", 0.5),
    ("hot_port_s", "port-seconds of hotspots", 0.5),
)


def verdicts(t: Tables) -> list[Verdict]:
    """Claims against Cubic by route and scheme, on fairness, and on load-aware routes.

    There is no claim over load-aware routes from fewer than `FEWEST_RUNS` runs, which have no meaningful interval.
    """
    runs, out = _decidable(t["runs"]), []
    for route in dict.fromkeys(runs["route"]):
        here = frames.pick(runs, route=route)
        for cc in frames.schemes(here):
            name, key = f"{style.label(cc)}, {route} routes", f"{route}-{cc}"
            for column, words, most in BOUNDS if cc != REFERENCE else ():
                ours, claim = against(here, cc, column), f"{name}: {words}, over that of Cubic"
                out.append(bound(f"{column}-{key}", claim, SOURCE, "less", ours, high=most, places=3))
            for region, *_ in REGIONS:
                ours = frames.average(here, f"jain {region}", cc=cc)
                claim = f"{name}: Jain's index of long transfers from {region}"
                out.append(bound(f"jain-{region}-{key}", claim, SOURCE, "fair", ours, 0.8, places=3))
    return [*out, *_routes(runs)]


def _decidable(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs over shortest routes, and those over load-aware routes if there are enough."""
    aware = runs["route"] == "load-aware"
    return runs if runs[aware]["run"].nunique() >= FEWEST_RUNS else runs[~aware]


def _routes(runs: pd.DataFrame) -> list[Verdict]:
    out = []
    for cc in frames.schemes(runs) if "load-aware" in set(runs["route"]) else ():
        wide = frames.pick(runs, cc=cc).pivot_table(index="run", columns="route", values="long_s").dropna()
        ours = mean((wide["load-aware"] / wide["shortest"]).to_numpy())
        claim = f"{style.label(cc)}: mean time of long transfers, load-aware over shortest routes"
        out.append(bound(f"routes-{cc}", claim, SOURCE, "less", ours, high=0.9, places=3))
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots hotspots and completion times by scheme and route."""
    return {"hotspots": _draw_bars(t["runs"]), "spread": _draw_spread(t["spread"])}


def _draw_bars(runs: pd.DataFrame) -> Any:
    panels = (
        ("hot_port_s", "port-seconds of hotspots"),
        ("longest_s", "longest hotspot, s"),
        ("queue_ms", "queue in hotspots, ms"),
        ("not_carried_mbps", "not carried, Mbit/s"),
        ("long_s", "long transfers, s"),
        ("short_s", "short transfers, s"),
    )
    ccs, routes = frames.schemes(runs), list(dict.fromkeys(runs["route"]))
    figure, axes = style.panels(3, 2, width=2.6, height=1.9, sharey=True)
    for a, (column, title) in zip(axes.flat, panels, strict=True):
        for j, cc in enumerate(ccs):
            for i, route in enumerate(routes):
                here = frames.pick(runs, cc=cc, route=route)[column]
                y = j + (i - (len(routes) - 1) / 2) * 0.4
                a.barh(y, here.mean(), 0.36, color=style.look(cc)["color"], alpha=0.45 if i else 1.0, linewidth=0)
                a.plot(here, [y] * len(here), ".", color="black", markersize=2.5)
        a.set_xlabel(title)
        a.set_yticks(range(len(ccs)), [style.label(cc) for cc in ccs])
    axes[0][0].set_ylim(len(ccs) - 0.4, -0.6)
    for i, route in enumerate(routes):
        axes[0][0].barh(0, float("nan"), color=style.SOFT, alpha=0.45 if i else 1.0, label=f"{route} routes")
    style.shared_legend(figure, axes[0][:1])
    return figure


def _draw_spread(spread: pd.DataFrame) -> Any:
    figure, axes = style.panels(3, 1, width=2.6, height=2.3, sharey=True)
    here = frames.pick(spread, route="shortest")
    panels = (("short_s", "short transfers, s"), ("long_s", "long transfers, s"), ("queue_ms", "queue in hotspots, ms"))
    for a, (column, title) in zip(axes[0], panels, strict=True):
        for cc in frames.schemes(here):
            one = frames.pick(here, cc=cc).groupby("quantile")[column].mean()
            a.plot(one, one.index, label=style.label(cc), **style.line(cc))
        a.set_xlabel(title)
    axes[0][0].set_xscale("log")
    axes[0][1].set_xscale("log")
    axes[0][2].set_xscale("symlog", linthresh=1)
    axes[0][2].set_xlim(left=0)
    axes[0][0].set_ylabel("share")
    style.shared_legend(figure, axes[0][:1], 6)
    return figure


def by_routes(runs: pd.DataFrame, column: str) -> list[float]:
    """Load-aware over shortest routes, for each scheme and each run that has both."""
    out = []
    for cc in frames.schemes(runs) if "load-aware" in set(runs["route"]) else ():
        wide = frames.pick(runs, cc=cc).pivot_table(index="run", columns="route", values=column).dropna()
        out += list(wide["load-aware"] / wide["shortest"])
    return out


def finding(t: Tables) -> str:
    """Both kinds of routes, times that differ from Cubic's, and what a port counted as a hotspot is."""
    runs = t["runs"]
    plain = frames.pick(runs, route="shortest")

    def changed(column: str) -> str:
        found = [100 * (x - 1) for x in by_routes(runs, column)]
        return f"{min(found):+.0f} to {max(found):+.0f} %" if found else "(not run)"

    def queue(cc: str) -> str:
        return f"{frames.average(plain, 'queue_ms', cc=cc).value:.1f}"

    both = runs[runs["route"] == "load-aware"]["run"].nunique()
    share, rest_ms = waiting(t["spread"])
    asia = plain.groupby("cc")["jain Asia"].mean()
    return (
        f"**In {NUMBERS.get(both, str(both))} runs over a loaded constellation, load-aware routes shortened transfers "
        f"under every scheme: too few runs for a verdict.** Against shortest routes in the same run, mean times of "
        f"long transfers changed by {changed('long_s')} and of short ones by {changed('short_s')}; the port-seconds of "
        f"hotspots changed by {changed('hot_port_s')}. Over shortest routes ({plain['run'].nunique()} runs), mean "
        f"times differ from Cubic's (95 % interval): {_times_against_cubic(plain)}. Every port with a "
        f"utilisation of at least {HOT:g} counts as a hotspot, thus also ports downstream of a full one with an "
        f"empty queue: under Cubic {share:.0f} % of the port-seconds have at most one packet in the queue, and the "
        f"others {rest_ms:.0f} ms in the mean. The mean queue is therefore one over mostly empty ports: "
        f"{queue('orbcc-next')} ms with OrbCC next, {queue('orbcc')} with OrbCC, {queue('cubic')} with Cubic, "
        f"{queue('bbr3')} with BBRv3, {queue('leocc')} with LeoCC. No scheme is fair in Asia: "
        f"Jain's index of its long transfers is {asia.min():.2f} to {asia.max():.2f}."
    )


def waiting(spread: pd.DataFrame) -> tuple[float, float]:
    """Cubic's port-seconds with at most one packet in the queue, in %, and the mean queue of the others, in ms.

    From quantiles, over shortest routes; means over runs.
    """
    found = []
    for _, one in frames.pick(spread, route="shortest", cc=REFERENCE).groupby("run"):
        at = np.linspace(0, 1, 2001)
        queue_ms = np.interp(at, one["quantile"], one["queue_ms"])
        deep = queue_ms > PACKET_MS
        found.append((100 * (1 - deep.mean()), queue_ms[deep].mean() if deep.any() else 0.0))
    share, rest_ms = np.array(found).mean(axis=0) if found else (float("nan"), float("nan"))
    return float(share), float(rest_ms)


def _times_against_cubic(plain: pd.DataFrame) -> str:
    """Mean times against Cubic's: those that differ, with their intervals, and the others."""
    differ, alike = [], []
    for column, words in (("short_s", "short transfers"), ("long_s", "long ones")):
        mine, same = [], []
        for cc in (cc for cc in frames.schemes(plain) if cc != REFERENCE):
            ratio = against(plain, cc, column)
            change, low, high = (100 * (x - 1) for x in (ratio.value, ratio.low, ratio.high))
            name = f"{style.label(cc)} {change:+.0f} %"
            if ratio.low > 1 or ratio.high < 1:
                mine.append(f"{name} ({low:+.0f} to {high:+.0f})")
            else:
                same.append(name)
        differ += [f"{words}, {', '.join(mine)}"] if mine else []
        alike += [f"{words}, {', '.join(same)}"] if same else []
    return f"{'; '.join(differ) or 'none'}. Not distinguishable: {'; '.join(alike) or 'none'}"


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim: the amounts behind a ratio, and the range of all schemes."""
    runs, out = t["runs"], {}
    for route in dict.fromkeys(runs["route"]):
        here = frames.pick(runs, route=route)
        for cc in frames.schemes(here):
            key = f"{route}-{cc}"
            for column, words, _most in BOUNDS:
                mine, cubic = (frames.average(here, column, cc=name).value for name in (cc, REFERENCE))
                again = frames.average(here, "resent_pct", cc=cc).value
                amounts = f"{words.capitalize()}: {mine:.4g} against {cubic:.4g}"
                out[f"{column}-{key}"] = f"{amounts}, with {again:.1f} % of the packets retransmitted."
            for region, *_ends in REGIONS:
                each = here.groupby("cc")[f"jain {region}"].mean()
                out[f"jain-{region}-{key}"] = (
                    f"It is {each.min():.2f} to {each.max():.2f} under all schemes, which thus make no difference."
                )
    return out


METHOD = """Starlink's first shell, the hundred largest cities as stations, 800 transfers of 500 kB and 200 of 10 MB
between pairs that are drawn with probabilities in proportion to the product of populations, started at random within 30
s of 60, all under one scheme (2,000 in the full size). Rates are scaled down: 20 Mbit/s between satellites, 100 Mbit/s
to the ground, queues of 100 ms. Routes are recomputed every second: the shortest, or load-aware (each flow expected to
send 2 Mbit/s, reassigned every 5 s), in two of three runs, on which there are thus no claims. Each run has other pairs
and starts, the same for all schemes."""
METRICS = """Hotspot: a port with a utilisation of at least 0.9 in consecutive seconds, whether it has a queue or only
receives the output of a full port; port-seconds: their sum; queue: mean over these at the end of each second, ms.
Times: from the SYN to the last byte, s; a transfer that is not complete counts until the end of the run. Not carried:
bytes of transfers started before 30 s that have not arrived by then, over 30 s. Jain's index: of the rates of long
transfers by the longitude of the sender (Americas up to 30 W, Europe and Africa up to 60 E, Asia beyond)."""
CAPTIONS = {
    "hotspots": "Means over runs, and a point for each: three with shortest routes, two with load-aware ones. "
    "Durations and queues include ports with empty queues (Metrics).",
    "spread": "Shares of transfers, and of port-seconds in hotspots, up to a value; means over runs, shortest routes.",
}
CHANGES = (
    "The load: transfers start at random in half of the run; without overload neither routes nor schemes matter.",
    "The assignment: load-aware routes are given the pairs and an expected rate, and no message is delayed or lost.",
    "The scale: with 20 Mbit/s between satellites a hotspot has few flows; more flows at higher rates were not run.",
)

COLUMNS = {
    "route": "shortest or load-aware routes",
    "hot_port_s": "seconds of ports with a utilisation of at least 0.9, sum over ports",
    "hotspots": "number of hotspots",
    "length_s": "mean length of a hotspot, s",
    "longest_s": "length of the longest hotspot, s",
    "queue_ms": "queue in hotspots, mean over their seconds, mostly of empty queues, ms (in spread: its quantile)",
    "queue_p99_ms": "queue in hotspots, 99th percentile, ms",
    "delay_p99_ms": "99th percentile of the RTT above the smallest base RTT, mean over flows, ms",
    "short_s": "completion time of short transfers, mean, s (in spread: its quantile)",
    "short_p99_s": "99th percentile of the same, s",
    "long_s": "completion time of long transfers, mean, s (in spread: its quantile)",
    "long_p99_s": "99th percentile of the same, s",
    "not_carried_mbps": "bytes of started transfers that have not arrived by 30 s, over 30 s, Mbit/s",
    "resent_pct": "retransmitted packets, % of those sent",
    **{f"jain {name}": f"Jain's index of the rates of long transfers from {name}" for name, *_ in REGIONS},
    "quantile": "fraction of transfers, or of port-seconds, up to the values of the row (spread)",
}

EXPERIMENTS = [
    Experiment(
        name="orbcc/hotspots",
        title="Hotspots of a constellation",
        figure="left open: many flows over a constellation",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        finding=finding,
        explain=explain,
        method=METHOD,
        metrics=METRICS,
        captions=CAPTIONS,
        changes=CHANGES,
        columns=COLUMNS,
    )
]
