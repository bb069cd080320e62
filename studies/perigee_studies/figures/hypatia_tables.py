# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Throughput, RTTs and routes of four schemes over Starlink's lasers: Hypatia, tables 1 to 4, Fig.

3 to 9.

Metrics: payload received in 200 s, in Mbit; distribution of the transport's RTT samples (for pings,
one per millisecond on an otherwise empty path); planes of the satellites that serve the two ends,
and hops. The study counts frames on wires, but payload over satellites: its wired values are at
most those of the line rate, 2000 Mbit, and those over satellites at most the payload ceiling,
1924.7 Mbit. Ours are payload; "as printed" multiplies the wired values by 2000 / 1924.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perigee_studies import frames, style
from perigee_studies.figures import hypatia_evidence as evidence
from perigee_studies.figures.hypatia_cases import (
    ASSUMED,
    LATER,
    PER_ACK,
    TOWNS,
    table_cases,
    throughput_cases,
)
from perigee_studies.figures.hypatia_published import (
    CEILING_MBIT,
    LINE_MBIT,
    NUMBER,
    SCHEMES,
    TABLES,
    WIRED_TABLE,
)
from perigee_studies.kinds import Kind
from perigee_studies.model import Experiment, Outcome, Tables
from perigee_studies.verdicts import REPRODUCED, Verdict, apart, count, near, order, value, within

if TYPE_CHECKING:
    import pandas as pd

RTTS_MS = {"ping": (84, 1), "newreno": (156, 15), "cubic": (173, 12), "vegas": (91, 6), "bbr": (97, 8)}
"""Mean RTT of Sao Paulo over 11,000 km, shortest path, with tolerances (Fig. 5)."""


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    flow, quantiles = d.flows[0], d.rtt_ms[0]
    return {
        "received_mbit": flow["goodput_bytes"] * 8 / 1e6,
        "rtt_mean_ms": frames.number(flow["rtt_mean_ms"]),
        "rtt_min_ms": quantiles[0],
        "rtt_p5_ms": quantiles[10],
        "rtt_median_ms": quantiles[100],
        "rtt_p95_ms": quantiles[190],
        "rtt_max_ms": quantiles[-1],
        "retransmits": flow["retransmits"],
        "timeouts": flow["timeouts"],
    }


def _cell(runs: pd.DataFrame, town: str, km: int, strategy: str, what: str, column: str = "received_mbit") -> float:
    one = frames.pick(runs, town=town, km=km, strategy=strategy, what=what)
    return float(one[column].iloc[0]) if len(one) else float("nan")


def _order_of(runs: pd.DataFrame) -> list[str]:
    return [w for w in dict.fromkeys(runs["what"]) if w != "ping"]


def _compared(runs: pd.DataFrame, per_ack: int = PER_ACK, version: str = ASSUMED) -> pd.DataFrame:
    """The runs with one policy of ACKs and of one version of ns-3.

    Only BBR differs by version; the other schemes are taken as they are.
    """
    other = (runs["what"] != "bbr") if per_ack == PER_ACK else False
    return runs[(runs["per_ack"] == per_ack) & ((runs["ns3"] == version) | other)]


def draw_tables(t: Tables) -> dict[str, Any]:
    """Plots bars for each table, with the published values as ticks, and wires next to table 1."""
    runs = _compared(t["runs"])
    whats = _order_of(runs)
    shown = [t for t in TOWNS if t in set(runs.loc[runs["strategy"] != "wired", "town"])]
    figure, axes = style.panels(2, 2, height=2.3, sharey=True)
    for a, ((km, strategy), number) in zip(axes.flat, NUMBER.items(), strict=True):
        for i, town in enumerate(shown):
            for j, what in enumerate(whats):
                x = i + (j - len(whats) / 2 + 0.5) * 0.18
                ours = _cell(runs, town, km, strategy, what)
                a.bar(x, ours, 0.17, color=style.look(what)["color"], label=style.label(what) if i == 0 else None)
                published = TABLES[km, strategy].get(town.split(" (")[0])
                if published and what in SCHEMES:
                    level = published[SCHEMES.index(what)]
                    limit = LIMITS[strategy][what] * level
                    style.tolerance(a, x, 0.085, level - limit, level + limit)
                    style.tick(a, x, 0.08, level)
        a.axhline(CEILING_MBIT, color=style.SOFT, linewidth=0.7, linestyle=":")
        a.set_xticks(range(len(shown)), [s.replace(" (", "\n(") for s in shown], fontsize=7)
        a.set_title(f"Table {number}: {km:,} km, {strategy}", loc="left")
    axes[0][0].set_ylabel("received in 200 s, Mbit")
    axes[1][0].set_ylabel("received in 200 s, Mbit")
    axes[0][0].plot([], [], color="black", linewidth=1.2, label="published")
    style.shared_legend(figure, axes.flat)
    return {"tables": figure}


def draw_rtts(t: Tables) -> dict[str, Any]:
    """Plots RTT distributions (mean, 5 to 95 %, range), in one panel per distance and strategy."""
    runs = t["runs"]
    whats = ["ping", *_order_of(runs)]
    shown = [t for t in TOWNS if t in set(runs["town"])]
    figure, axes = style.panels(2, 2, height=2.2, sharey="row")
    for a, (km, strategy) in zip(axes.flat, NUMBER, strict=True):
        for i, town in enumerate(shown):
            for j, what in enumerate(whats):
                x = i + (j - len(whats) / 2 + 0.5) * 0.16
                colour = "black" if what == "ping" else style.look(what)["color"]
                mean, low, high, least, most = (
                    _cell(runs, town, km, strategy, what, f"rtt_{c}_ms") for c in ("mean", "p5", "p95", "min", "max")
                )
                a.plot([x, x], [least, most], color=colour, linewidth=0.7)
                a.plot([x, x], [low, high], color=colour, linewidth=3.5, solid_capstyle="butt")
                name = ("Ping" if what == "ping" else style.label(what)) if i == 0 else None
                a.plot(
                    x,
                    mean,
                    marker="D",
                    color="white",
                    markeredgecolor=colour,
                    markersize=3.5,
                    linestyle="none",
                    label=name,
                )
                if (town, km, strategy) == ("Sao Paulo", 11000, "shortest") and what in RTTS_MS:
                    style.tick(a, x, 0.1, RTTS_MS[what][0])
        a.set_xticks(range(len(shown)), [s.replace(" (", "\n(") for s in shown], fontsize=7)
        a.set_title(f"{km:,} km, {strategy}", loc="left")
        a.set_ylim(bottom=0)
    for row in axes:
        row[0].set_ylabel("RTT, ms")
    axes[0][0].plot([], [], color="black", linewidth=1.2, label="published mean")
    style.shared_legend(figure, axes.flat)
    return {"rtts": figure}


def check_tables(t: Tables) -> list[Verdict]:
    """Compares goodput by pair and policy with the paper's tables."""
    return _cells(_compared(t["runs"])) + _acks(t["runs"])


def _cells(runs: pd.DataFrame) -> list[Verdict]:
    """The claims of the tables, with the runs of one policy and version."""
    out: list[Verdict] = []
    mine = set(runs["town"])
    for (km, strategy), table in TABLES.items():
        source = f"Table {NUMBER[km, strategy]}"
        for town, published in table.items():
            if town in mine:
                out += _row_verdicts(runs, (km, strategy, town), published, source)
    return out + _wires(runs)


def totals(runs: pd.DataFrame, per_ack: int = PER_ACK, version: str = ASSUMED) -> dict[str, list[bool]]:
    """Whether each published total is within its tolerance, by scheme, for one policy and version."""
    held: dict[str, list[bool]] = {cc: [] for cc in SCHEMES}
    for v in _cells(_compared(runs, per_ack, version)):
        cc = v.key.rsplit("-", 1)[-1]
        if cc in held:
            held[cc].append(v.verdict == REPRODUCED)
    return held


def candidates(t: Tables) -> str:
    """How many totals each candidate for the unnamed version of ns-3 has, as text."""
    runs = t["runs"]
    if LATER not in set(runs["ns3"]):
        return ""
    said = []
    for per_ack, version in ((PER_ACK, ASSUMED), (PER_ACK, LATER), (1, ASSUMED)):
        held = totals(runs, per_ack, version)
        each = ", ".join(f"{style.label(cc)} {sum(one)}" for cc, one in held.items())
        acks = "" if per_ack == PER_ACK else " and an ACK for each segment"
        number = sum(map(sum, held.values()))
        said.append(f"assumed ns-3 {version}{acks}: {number} of {sum(map(len, held.values()))} ({each})")
    return (
        "The study does not name its version of ns-3. Hypatia bundles 3.31, which has neither Cubic (3.33) nor BBR "
        f"(3.34), so that it cannot be that one. Totals within their tolerances: {'; '.join(said)}. The first is "
        "compared, since the study is of 2023."
    )


def _acks(runs: pd.DataFrame) -> list[Verdict]:
    """The number of segments per ACK that fits the tables better, by scheme."""
    out: list[Verdict] = []
    if set(runs["per_ack"]) < {1, 2}:
        return out
    for i, cc in enumerate(SCHEMES):
        off = {}
        for n in (2, 1):
            here = _compared(runs, n)
            each = [
                abs(_cell(here, town, km, strategy, cc) / row[i] - 1)
                for (km, strategy), table in TABLES.items()
                for town, row in table.items()
            ]
            off[n] = 100 * sum(each) / len(each)
        rows = [("for every second", off[2]), ("for each", off[1])]
        words = f"{style.label(cc)}: an ACK for each segment fits Tables 1 to 4 better (mean deviation)"
        out.append(order(f"acks-{cc}", words, "assumed, not published", rows, unit="%", kind=Kind.UNPUBLISHED))
    return out


LIMITS = {
    "shortest": {"newreno": 0.03, "cubic": 0.03, "bbr": 0.06, "vegas": 0.30},
    "nearest": {"newreno": 0.15, "cubic": 0.05, "bbr": 0.15, "vegas": 0.30},
}
"""Tolerances relative to the published value. They do not depend on the values of other schemes."""
EXACT = 0.01
"""Precision of single runs of 200 s, relative to the published value."""


def _row_verdicts(
    runs: pd.DataFrame, at: tuple[int, str, str], published: tuple[float, ...], source: str
) -> list[Verdict]:
    km, strategy, town = at
    ours = {cc: _cell(runs, town, km, strategy, cc) for cc in SCHEMES}
    name, key = f"{town}, {km:,} km, {strategy}", f"{km}-{strategy}-{town}"
    outlier = (km, strategy, town) == (11000, "nearest", "Sao Paulo")
    out = []
    for cc, limit in LIMITS[strategy].items():
        want = published[SCHEMES.index(cc)]
        words = f"{name}: {style.label(cc)}"
        out.append(near(f"{key}-{cc}", words, source, want, value(ours[cc]), round(limit * want, 1), "Mbit"))
    if strategy == "nearest":
        words = f"{name}: NewReno below Cubic by 6 % at least"
        out.append(within(f"{key}-gap", words, source, "lower", value(ours["newreno"] / ours["cubic"]), high=0.94))
        low = "bbr" if outlier else "vegas"
        least = min((cc for cc in SCHEMES if cc != low), key=lambda cc: ours[cc])
        rows = [(style.label(least), ours[least]), (style.label(low), ours[low])]
        out.append(order(f"{key}-lowest", f"{name}: {style.label(low)} lowest", source, rows, unit="Mbit"))
    elif apart(published[SCHEMES.index("bbr")], published[SCHEMES.index("vegas")], EXACT):
        rows = [(style.label(cc), ours[cc]) for cc in ("bbr", "vegas")]
        out.append(order(f"{key}-vegas-order", f"{name}: order of Vegas and BBR", source, rows, unit="Mbit"))
    return out


def _wires(runs: pd.DataFrame) -> list[Verdict]:
    """Claims on the effect of wires on a common basis, and on the printed penalty of 3.5 to 4 %."""
    holds = {}
    out = []
    for town, published in WIRED_TABLE.items():
        if town not in set(runs["town"]):
            continue
        for cc in SCHEMES:
            leo, wired = (_cell(runs, town, 11000, s, cc) for s in ("shortest", "wired"))
            if cc in {"newreno", "cubic"}:
                holds[f"{town} {style.label(cc)} ({100 * (leo / wired - 1):+.2f} %)"] = leo / wired >= 0.975
            printed = published[SCHEMES.index(cc)]
            ours = value(wired * LINE_MBIT / CEILING_MBIT)
            words = f"{town}, wired: {style.label(cc)}, counted in frames"
            tolerance = round(LIMITS["shortest"][cc] * printed, 1)
            out.append(near(f"wired-{town}-{cc}", words, "Table 1 (wired)", printed, ours, tolerance, "Mbit"))
    words = "on one basis LEO costs NewReno and Cubic at most 2.5 % (the printed 3.5 to 4 % are accounting)"
    out.append(count("accounting", words, "derived from Table 1", "within 2.5 %", holds, kind=Kind.MODEL))
    return out


def check_rtts(t: Tables) -> list[Verdict]:
    """Compares RTTs by pair and policy with those that the paper states."""
    runs, out = _compared(t["runs"]), []
    for what, (published, tolerance) in RTTS_MS.items():
        ours = value(_cell(runs, "Sao Paulo", 11000, "shortest", what, "rtt_mean_ms"))
        name = "ping" if what == "ping" else style.label(what)
        out.append(
            near(
                f"rtt-{what}",
                f"Sao Paulo, 11,000 km: mean RTT of {name}",
                "Fig. 5 and text",
                published,
                ours,
                tolerance,
                "ms",
            )
        )
    holds, lowest = {}, {}
    for town in dict.fromkeys(runs["town"]):
        of = {cc: _cell(runs, town, 5500, "shortest", cc, "rtt_mean_ms") for cc in SCHEMES}
        holds[town] = min(of["newreno"], of["cubic"]) >= 2 * max(of["vegas"], of["bbr"])
        for km in (11000, 5500):
            near_by = {cc: _cell(runs, town, km, "nearest", cc, "rtt_mean_ms") for cc in SCHEMES}
            ranked = sorted(near_by, key=lambda cc: near_by[cc])
            lowest[f"{town} {km:,} km ({', '.join(style.label(c) for c in ranked[:2])})"] = ranked[:2] == [
                "vegas",
                "bbr",
            ]
    words = "5,500 km, shortest: RTT of NewReno and Cubic about three times that of Vegas and BBR"
    out.append(count("rtt-three", words, "Fig. 6", "about 3 times; at least twice here", holds, kind=Kind.NUMBER))
    out.append(count("rtt-lowest", "nearest: Vegas lowest, BBR second", "Fig. 8 and 9", "order", lowest))
    return out


METHOD = """Starlink's first shell as Hypatia builds it (72 x 22, elements of 2000-01-01, SGP4), routes every 100 ms,
ground links 10 Mbit/s, ISLs 1 Gbit/s, drop-tail queues of 100 packets, frames of 1434 bytes; one flow for 200 s
with the transport profile `study-hypatia` (like ns-3's). Nodes forward by their latest tables: packets in flight
leave the old path where they are when it changes. Strategies: shortest path, or the nearest satellite of each
end. Wired paths: the same number of hops and mean RTT."""
DEVIATIONS = (
    "Destinations and the meaning of San Jose are derived, not published; both San Joses are "
    "run, the tables are compared with Costa Rica.",
    "The study does not state its delayed-ACK policy. All figures use ns-3's default, an ACK for every second segment, "
    "which Hypatia keeps; the claims on ACKs compare it with an ACK for each segment.",
    f"The study does not name its version of ns-3. Assumed: ns-3 {ASSUMED}, in which BBR uses the smoothed RTT as its "
    "latest sample.",
)
EXPERIMENTS = [
    Experiment(
        name="hypatia/tables",
        title="Data received in 200 s",
        figure="Tables 1 to 4",
        schemes=SCHEMES,
        cases=table_cases,
        tables=frames.per_run(_row),
        verdicts=check_tables,
        draw=draw_tables,
        method=METHOD,
        deviations=DEVIATIONS,
        evidence=evidence.TABLES,
        note=candidates,
        metrics="""Data received: payload that arrives in order in 200 s, Mbit; 1924.7 is the most that 10 Mbit/s can
carry. The study counts frames on wires and payload over satellites: "as printed" multiplies ours on wires by 2000 /
1924.7.""",
        captions={
            "tables": "Bars: ours; black lines: published; grey: tolerances; dotted: the most that the link can carry."
        },
    ),
    Experiment(
        name="hypatia/rtts",
        title="RTT distributions",
        figure="Fig. 5, 6, 8 and 9",
        schemes=SCHEMES,
        cases=throughput_cases,
        tables=frames.per_run(_row),
        verdicts=check_rtts,
        draw=draw_rtts,
        method=METHOD,
        deviations=DEVIATIONS,
        evidence=evidence.RTTS,
        metrics="RTT: all samples of the transport (of pings: one per millisecond on an otherwise empty path), ms.",
        captions={"rtts": "Diamonds: mean; thick: 5 to 95 %; thin: smallest to largest; black lines: published means."},
    ),
]
