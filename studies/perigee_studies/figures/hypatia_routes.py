# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Routes of the Hypatia study: Fig. 3 (map), 4 (pings), 7 (planes), and 10 and 11 (Vegas).

Metrics: RTT of pings, which are sent once per millisecond, as means over 0.1 s; planes of the first
and last satellite on the path of the data; number of links from end to end; window of Vegas in
segments of 1380 bytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames, style
from perigee_studies.figures import hypatia_evidence as evidence
from perigee_studies.figures.hypatia_cases import PAIR, PER_ACK, STRATEGIES, TOWNS, ping_cases
from perigee_studies.figures.hypatia_published import NUMBER
from perigee_studies.figures.hypatia_tables import DEVIATIONS, METHOD
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, near, value, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

COLOURS = {"Sao Paulo": "#D55E00", "San Jose": "#0072B2", "Montreal": "#000000", "Victoria": "#E69F00",
           "San Jose (California)": "#56B4E9"}  # fmt: skip
HOPS = {
    (km, strategy): {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
    for km, colour in ((11000, "#333333"), (5500, "#D55E00"))
    for strategy, hatch in (("shortest", None), ("nearest", "///"))
}
"""Bars by distance and strategy."""
PLACES = {
    "Sao Paulo": [(-23.5505, -46.6333), (17.260, -18.017), (51.743, 27.141)],
    "San Jose": [(9.9281, -84.0907), (6.434, -34.202), (-1.533, 14.703)],
    "San Jose (California)": [(37.3382, -121.8863), (23.216, -66.100), (-5.400, -24.769)],
    "Montreal": [(45.5017, -73.5673), (-3.961, -73.567), (-53.424, -73.567)],
    "Victoria": [(48.4284, -123.3656), (4.790, -96.045), (-39.761, -72.705)],
}
"""Source, and destinations at 5,500 and 11,000 km, in degrees north and east."""
GEOMETRY = {
    (11000, "shortest", "Sao Paulo"): (83.99, 8.0), (11000, "nearest", "Sao Paulo"): (247.85, 31.4),
    (5500, "shortest", "Sao Paulo"): (45.04, 5.0), (11000, "shortest", "Victoria"): (120.47, 12.3),
    (5500, "shortest", "Victoria"): (53.41, 5.7), (5500, "nearest", "Victoria"): (171.76, 22.4),
    (11000, "shortest", "Montreal"): (222.82, 26.4), (5500, "shortest", "Montreal"): (96.93, 11.6),
    (11000, "shortest", "San Jose"): (142.58, 19.3), (11000, "shortest", "San Jose (California)"): (118.60, 14.2),
}  # fmt: skip
"""Mean RTT (ms) and number of links from an independent calculation."""
CHANGES_S = (12.6, 58.3, 66.6, 107.1, 130.0, 135.4, 190.7, 192.9)
AFTER_MS = (208.89, 99.31, 273.38, 145.89, 225.93, 99.61, 292.71, 181.29)
PLATEAUS = ((60, 75), (6, 7), (11, 15), (6, 7), (6, 8), (6, 8), (11, 15), (6, 7))
"""Vegas from Victoria over 5,500 km under "nearest": times of the published path changes,
calculated base RTT after each, and windows in segments on the plateaus, starting with the first."""
SEGMENT = 1380


def tables(found: Sequence[Outcome]) -> Tables:
    """Pairs and strategies, one per row; RTTs in each second; planes and hops at each change."""
    return {
        "pairs": frames.table(found, _pair),
        "rtts": frames.series(found, _seconds),
        "routes": frames.series(found, _routes),
    }


def _pair(o: Outcome) -> dict[str, Any]:
    d = o.digest
    rows = _routes(o)
    ends = [r["until_s"] - r["t_s"] for r in rows]
    links = float(np.average([r["links"] for r in rows], weights=ends)) if rows else float("nan")
    return {
        "rtt_mean_ms": frames.number(d.flows[0]["rtt_mean_ms"]),
        "rtt_min_ms": d.rtt_ms[0][0],
        "rtt_max_ms": d.rtt_ms[0][-1],
        "links": links,
        "path_changes": d.flows[0]["path_changes"],
    }


def _seconds(o: Outcome) -> list[dict[str, Any]]:
    rtt = o.digest.columns["rtt_ns"][0] / 1e6
    return [{"t_s": float(t), "rtt_ms": rtt[i]} for i, t in enumerate(o.digest.t_s) if i % 5 == 0]


def _routes(o: Outcome) -> list[dict[str, Any]]:
    """The forward routes with the planes of their first and last satellites."""
    d = o.digest
    mine = [(t, nodes) for t, pair, nodes in d.routes if pair == 0]
    end = d.info["duration_ns"] / 1e9
    out = []
    for k, (t, nodes) in enumerate(mine):
        if len(nodes) < 3:
            continue
        until = mine[k + 1][0] if k + 1 < len(mine) else end
        planes = [int(nodes[i].split("-")[1]) for i in (1, -2)]
        ends = {"first": nodes[1], "last": nodes[-2]}
        out.append(
            {"t_s": t, "until_s": until, "links": len(nodes) - 1, "plane1": planes[0], "plane2": planes[1], **ends}
        )
    return out


def draw_pings(t: Tables) -> dict[str, Any]:
    """Plots RTTs of all pairs under both strategies, planes of both ends and links.

    Also plots the pairs on a map.
    """
    shown = [town for town in TOWNS if town in set(t["rtts"]["town"])]
    pictures = {"pings": _pings(t, shown, 11000), "pings-5500": _pings(t, shown, 5500)}
    return {**pictures, "hops": _hops(t, shown), "map": _map(shown)}


def _pings(t: Tables, shown: list[str], km: int) -> Any:
    """Plots RTTs of pairs at one distance, with marks at handovers, and planes of both ends."""
    rtts, routes = frames.pick(t["rtts"], km=km), frames.pick(t["routes"], km=km)
    figure, axes = style.panels(len(shown), 2, width=2.4, height=2.1, sharex=True)
    for j, town in enumerate(shown):
        for strategy, dashes in (("shortest", "-"), ("nearest", "--")):
            one = frames.pick(rtts, town=town, strategy=strategy)
            axes[0][j].plot(one["t_s"], one["rtt_ms"], dashes, color=COLOURS[town], linewidth=1)
            way = frames.pick(routes, town=town, strategy=strategy)
            level = float(one["rtt_ms"].max())
            axes[0][j].vlines(_ends_change(way), level * 1.02, level * 1.08, color=COLOURS[town], linewidth=0.8)
        way = frames.pick(routes, town=town, strategy="nearest")
        for plane, dashes in (("plane1", "-"), ("plane2", "--")):
            times, planes = [*way["t_s"], *way["until_s"][-1:]], [*way[plane], *way[plane][-1:]]
            axes[1][j].step(times, planes, dashes, where="post", color=COLOURS[town], linewidth=1)
        if (town, km) == ("Sao Paulo", 11000):
            _three_times(axes[0][j], frames.pick(rtts, town=town, strategy="shortest"))
        axes[0][j].set_title(town, loc="left")
        axes[0][j].set_ylim(bottom=0)
        axes[1][j].set_xlabel("time, s")
    axes[0][0].set_ylabel(f"ping RTT, ms ({km:,} km)")
    axes[1][0].set_ylabel("plane (nearest)")
    for dashes, name in (("-", "shortest; below: source"), ("--", "nearest; below: destination")):
        axes[0][0].plot([], [], dashes, color=style.INK, linewidth=1, label=name)
    style.shared_legend(figure, axes[0])
    return figure


TIMES, UNTIL_S = 3, 122
"""RTT of "nearest" over that of "shortest" until `UNTIL_S`, according to the text on Fig. 7."""


def _three_times(axis: Any, shortest: pd.DataFrame) -> None:
    """Plots the published multiple of our RTTs."""
    early = shortest[shortest["t_s"] <= UNTIL_S]
    (drawn,) = axis.plot(
        early["t_s"], TIMES * early["rtt_ms"], color="black", linewidth=1, linestyle=(0, (1, 1.5)), label="published"
    )
    style.mark(axis, drawn)


def _hops(t: Tables, shown: list[str]) -> Any:
    figure, axes = style.panels(1, 1, width=5.2, height=2.4)
    for i, town in enumerate(shown):
        for j, (km, strategy) in enumerate(NUMBER):
            one = frames.pick(t["pairs"], town=town, km=km, strategy=strategy)
            label = f"{km:,} km, {strategy}" if i == 0 else None
            axes[0][0].bar(i + j * 0.2 - 0.3, one["links"].iloc[0], 0.18, label=label, **HOPS[km, strategy])
    axes[0][0].set_xticks(range(len(shown)), shown, fontsize=7)
    axes[0][0].set_ylabel("links, mean over time")
    style.shared_legend(figure, axes[0])
    return figure


def _map(shown: list[str]) -> Any:
    from perigee_lab.sky.skymap import coast

    figure, axes = style.panels(1, 1, width=6.4, height=3.4)
    a = axes[0][0]
    coast(a)
    for town in shown:
        (lat, lon), *ends = PLACES[town]
        a.plot(lon, lat, "o", color=COLOURS[town], markersize=6, label=town)
        for end, marker in zip(ends, "^s", strict=True):
            a.plot(end[1], end[0], marker, color=COLOURS[town], markersize=5)
            a.plot([lon, end[1]], [lat, end[0]], color=COLOURS[town], linewidth=0.6, linestyle=":")
    a.plot([], [], "^", color=style.SOFT, label="5,500 km")
    a.plot([], [], "s", color=style.SOFT, label="11,000 km")
    a.set_xlim(-180, 180)
    a.set_ylim(-75, 80)
    a.set_xlabel("degrees east")
    a.set_ylabel("degrees north")
    style.shared_legend(figure, axes[0])
    return figure


def check_pings(t: Tables) -> list[Verdict]:
    """Claims on the geometry, and the study's statements on Fig. 4 and 7."""
    pairs, out = t["pairs"], []
    for (km, strategy, town), (rtt_ms, links) in GEOMETRY.items():
        one = frames.pick(pairs, town=town, km=km, strategy=strategy)
        if len(one):
            name, source = f"{town}, {km:,} km, {strategy}", "independent calculation"
            key = f"{km}-{strategy}-{town}"
            out.append(
                near(
                    f"rtt-{key}",
                    f"{name}: mean RTT",
                    source,
                    rtt_ms,
                    value(one["rtt_mean_ms"].iloc[0]),
                    0.5,
                    "ms",
                    kind=Kind.MODEL,
                )
            )
            out.append(
                near(f"links-{key}", f"{name}: links", source, links, value(one["links"].iloc[0]), 0.2, kind=Kind.MODEL)
            )
    holds = {}
    for town in dict.fromkeys(pairs["town"]):
        of = {s: frames.pick(pairs, town=town, km=11000, strategy=s)["rtt_max_ms"].iloc[0] for s in STRATEGIES}
        holds[f"{town} ({of['nearest'] / of['shortest']:.1f})"] = bool(of["nearest"] >= 1.3 * of["shortest"])
    words = "nearest satellite: RTT up to almost double or more"
    out.append(count("double", words, "Fig. 4", "maxima in proportion, at least 1.3", holds))
    far = frames.pick(t["rtts"], town="Sao Paulo", km=11000)
    early = far[far["t_s"] <= 121].groupby("strategy")["rtt_ms"].mean()
    if len(early) == 2:
        ratio = value(early["nearest"] / early["shortest"])
        out.append(
            within(
                "three",
                "Sao Paulo: RTT of nearest over shortest in the first 122 s",
                "Fig. 7 and text",
                f"{TIMES} times",
                ratio,
                2.5,
                4,
                kind=Kind.NUMBER,
            )
        )
    return out


def vegas_cases(ask: Ask) -> list[Case]:
    """Vegas from Victoria over 5,500 km under "nearest"."""
    sets: dict[str, object] = {
        "tcp.delayed_ack": PER_ACK,
        "source.constellation.attach": "nearest",
        "flow.0.from": "victoria",
        "flow.0.to": "victoria-5500",
    }
    keep = Keep(("cwnd_bytes", "rtt_ns", "base_rtt_ns", "goodput_bps"), routes=True)
    return [Case(PAIR, cc, {}, 1, sets, keep) for cc in ask.schemes(("vegas",))]


def vegas_tables(found: Sequence[Outcome]) -> Tables:
    """Window and RTT over time, and the path changes."""
    return {"series": frames.series(found, _window), "routes": frames.series(found, _routes)}


def _window(o: Outcome) -> list[dict[str, Any]]:
    c = {k: v[0] for k, v in o.digest.columns.items()}
    return [
        {
            "t_s": float(t),
            "cwnd_segments": c["cwnd_bytes"][i] / SEGMENT,
            "rtt_ms": c["rtt_ns"][i] / 1e6,
            "base_rtt_ms": c["base_rtt_ns"][i] / 1e6,
            "goodput_mbps": c["goodput_bps"][i] / 1e6,
        }
        for i, t in enumerate(o.digest.t_s)
    ]


def _ends_change(routes: pd.DataFrame) -> list[float]:
    """Times at which an end changes its satellite."""
    ends = routes[["first", "last"]]
    return [float(t) for t in routes["t_s"][ends.ne(ends.shift()).any(axis=1)]][1:]


def serialisation_ms(links: float) -> float:
    """Serialisation delay in ms of 1434 bytes on the forward path and 54 bytes on the return path.

    The path has two ground links of 10 Mbit/s and lasers of 1 Gbit/s.
    """
    bits = (1434 + 54) * 8
    return 2 * bits / 10e3 + (links - 2) * bits / 1e6


def draw_vegas(t: Tables) -> dict[str, Any]:
    """Plots window and RTT, and marks the path changes."""
    s = t["series"]
    figure, axes = style.panels(1, 2, width=6.4, height=1.9, sharex=True)
    for cc in frames.schemes(s):
        one = s[s["cc"] == cc]
        # Schemes that only pace have a constant window that is far above all others.
        window = one["cwnd_segments"] if one["cwnd_segments"].nunique() > 1 else [math.nan] * len(one)
        axes[0][0].plot(one["t_s"], window, label=style.label(cc), **style.line(cc))
        # With a window of a few segments, some tenths of a second have no samples.
        seen = one.dropna(subset=["rtt_ms"])
        axes[1][0].plot(seen["t_s"], seen["rtt_ms"], **style.line(cc))
    path = frames.pick(s, cc=frames.schemes(s)[0])
    axes[1][0].plot(path["t_s"], path["base_rtt_ms"], color="black", linewidth=0.8, linestyle=":", label="base RTT")
    for begin, end, (low, high) in zip([0.0, *CHANGES_S[:-1]], [*CHANGES_S[:-1], 200.0], PLATEAUS, strict=True):
        drawn = axes[0][0].fill_between([begin, end], low - 0.5, high + 0.5, color=style.SOFT, alpha=0.45, linewidth=0)
        style.mark(axes[0][0], drawn)
    axes[0][0].fill_between([], [], color=style.SOFT, alpha=0.45, label="published window")
    for a in axes[:, 0]:
        for at in _ends_change(frames.pick(t["routes"], cc=frames.schemes(s)[0])):
            a.axvline(at, color="#a63446", linewidth=0.8, alpha=0.7)
        a.set_ylim(bottom=0)
    axes[0][0].set_ylabel("window, segments")
    axes[1][0].set_ylabel("RTT, ms")
    axes[1][0].set_xlabel("time, s (red: an end changes its satellite)")
    style.shared_legend(figure, axes[:, 0])
    return {"vegas": figure}


def check_vegas(t: Tables) -> list[Verdict]:
    """Compares Vegas on paths with a rising base RTT with the paper's case."""
    s, source = frames.pick(t["series"], cc="vegas"), "Fig. 10 and 11"
    out: list[Verdict] = []
    if not len(s):
        return out
    routes = frames.pick(t["routes"], cc="vegas")
    times = _ends_change(routes)
    holds = {f"{at} s": bool(len(times) and min(abs(x - at) for x in times) <= 0.5) for at in CHANGES_S}
    out.append(count("changes", "path changes within 0.5 s of the published times", source, "eight changes", holds))
    out.append(near("number", "number of path changes", source, 8, value(len(times)), 0))
    for at, ms in zip(CHANGES_S, AFTER_MS, strict=True):
        later = s[(s["t_s"] > at + 0.6) & (s["t_s"] <= at + 1.0)]["base_rtt_ms"]
        links = float(routes[routes["t_s"] <= at + 0.7]["links"].iloc[-1])
        light = value(float(later.mean()) - serialisation_ms(links) if len(later) else float("nan"))
        out.append(near(f"rtt-{at}", f"base RTT after {at} s", "calculation", ms, light, 0.6, "ms", kind=Kind.MODEL))
    edges = [0.0, *CHANGES_S[:-1], 200.0]
    for begin, end, (low, high) in zip(edges[:-1], edges[1:], PLATEAUS, strict=True):
        window = value(float(s[(s["t_s"] > end - 2) & (s["t_s"] <= end - 0.2)]["cwnd_segments"].median()))
        words = f"window on the plateau that ends at {end} s"
        out.append(
            within(
                f"window-{begin}",
                words,
                source,
                f"{low} to {high}",
                window,
                low - 0.5,
                high + 0.5,
                "segments",
                kind=Kind.NUMBER,
            )
        )
    received = value(float(s["goodput_mbps"].sum() * 0.1))
    out.append(near("received", "data received in 200 s", "Table 4", 238.96, received, 72, "Mbit"))
    return out


WHY_PLATEAU = (
    "ns-3's own rule in whole segments: on the longest path six segments expect one (six times the base RTT over the "
    "RTT, cut), so that five seem queued, one more than beta, and the window falls to five, where four seem queued. "
    "The study's text has six there. On the next plateau the same rule goes up as published. Later a packet that turns "
    "off under way comes late and is taken for lost: the window falls, and has not come back when the path changes "
    "again."
)

EXPERIMENTS = [
    Experiment(
        name="hypatia/pings",
        title="Pairs, ping RTTs, planes and hops",
        figure="Fig. 3, 4 and 7",
        schemes=("newreno",),
        cases=ping_cases,
        tables=tables,
        verdicts=check_pings,
        draw=draw_pings,
        method=METHOD + " A ping of 64 bytes per millisecond on an otherwise empty path.",
        deviations=DEVIATIONS[:1],
        metrics="""Ping RTT: mean over 200 s of one ping per millisecond, ms; in the figure every half second. Links:
of the forward route from end to end, mean over time. Plane: number of the orbital plane (0 to 71) of the satellite
that serves an end.""",
        captions={
            "map": "Circles: sources; triangles and squares: their destinations (derived) at 5,500 and 11,000 km.",
            "pings": "Pairs at 11,000 km. Above: RTTs; dotted: three times the shortest path's (text); strokes mark "
            'times at which an end changes its satellite, those of "nearest" above. Below: planes of both ends\' '
            'satellites under "nearest".',
            "pings-5500": "The same of the pairs at 5,500 km.",
            "hops": "Mean over 200 s; hatched: nearest satellite.",
        },
    ),
    Experiment(
        name="hypatia/vegas",
        title="Vegas over a path that changes",
        figure="Fig. 10 and 11",
        schemes=("vegas",),
        cases=vegas_cases,
        tables=vegas_tables,
        verdicts=check_vegas,
        draw=draw_vegas,
        method=METHOD + " Victoria, 5,500 km, nearest satellite.",
        deviations=DEVIATIONS,
        evidence=evidence.vegas_case(vegas_cases, check_vegas),
        metrics="""Window: congestion window in segments of 1380 bytes; on a plateau the median of its last 2 s (less
0.2). Base RTT after a change: mean of 0.6 to 1.0 s after it, less the time that sending a frame takes, ms. Data
received: payload in 200 s, Mbit.""",
        captions={
            "vegas": "Window and RTT, mean of each 0.1 s. Red: an end changes its satellite. Grey: published windows "
            "of the plateaus, read off (half a segment added on either side)."
        },
    ),
]
