# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Unmeasured claims of the OrbCC papers: overhead of telemetry, and ports without telemetry.

Overhead: net goodput (payload only) of OrbCC with telemetry as metadata or as bytes, with full or
bottleneck echo, over 1 to 12 instrumented hops, against the other schemes on the same path. Partial
deployment: goodput, delay and fairness of two flows when 0 to 100 % of the ports on the path write
telemetry and the sender falls back to another scheme.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain, mean
from perigee_studies import frames, style
from perigee_studies.figures.orbcc_constellation_cases import FILE as SKY
from perigee_studies.figures.orbcc_constellation_cases import SHARED, starts
from perigee_studies.figures.orbcc_two_flows import FILE as TWO
from perigee_studies.figures.orbcc_two_flows import queue_packets
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import REPRODUCED, Verdict, bound, count, order

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

RIVALS = ("cubic", "bbr", "bbr3")
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))
VARIANTS: dict[str, Mapping[str, object]] = {
    "no bytes": {"telemetry.overhead": "none", "telemetry.echo": "full"},
    "bytes, full echo": {"telemetry.overhead": "wire", "telemetry.echo": "full"},
    "bytes, bottleneck echo": {"telemetry.overhead": "wire", "telemetry.echo": "bottleneck"},
}
HATCHES = {"bytes, full echo": "///", "bytes, bottleneck echo": ".."}
LINKS = 8
BOTTLENECK = 4


def overhead_cases(ask: Ask) -> list[Case]:
    """1 to 12 links under the schedules of E1; two flows of E4; the constellation of E9."""
    hops, runs = ask.pick((1, 6, 12), (1, 3, 6, 9, 12), (1, 2, 3, 4, 6, 8, 10, 12)), ask.count(1, 4, 5)
    length = f"{ask.count(60, 150, 300)} s"
    out = []
    for run in range(1, runs + 1):
        for n in hops:
            sets: dict[str, object] = {"source.chain.links": n, "run.duration": length}
            out += _variants("orbcc/row.toml", {"path": "row", "hops": n, "run": run}, run, sets, ask)
        sets = {
            "source.dumbbell.rtt": ["20 ms", "100 ms"],
            "port.all.queue": f"{queue_packets(100)} packets",
            "port.all.metered": True,
            "run.duration": length,
            "flow.1.start": "10 s",
        }
        out += _variants(TWO, {"path": "two flows, 20 and 100 ms", "hops": 3, "run": run}, run, sets, ask)
        a, b, _, packets = SHARED["New York - London"]
        begin = starts(run)
        sets = {"port.all.queue": f"{packets} packets", "run.duration": length}
        for i in (0, 1):
            sets |= {f"flow.{i}.from": a, f"flow.{i}.to": b, f"flow.{i}.start": begin[i]}
        out += _variants(SKY, {"path": "New York - London", "hops": 6, "run": run}, run, sets, ask)
    return out


def _variants(file: str, labels: dict[str, Any], run: int, sets: dict[str, object], ask: Ask) -> list[Case]:
    mine = [
        Case(file, "orbcc", {**labels, "what": name}, run, {**sets, **more}, KEEP) for name, more in VARIANTS.items()
    ]
    return mine + [
        Case(file, cc, {**labels, "what": cc}, run, sets, KEEP) for cc in ask.schemes(RIVALS) if cc != "orbcc"
    ]


def partial_cases(ask: Ask) -> list[Case]:
    """Cases in which 0 to 8 of 8 ports, drawn without replacement, write telemetry.

    Also the other schemes.
    """
    out = []
    for run in range(1, ask.count(2, 5, 10) + 1):
        ports = [f"{'s' if k == 0 else f'r{k}'}->{'d' if k == LINKS - 1 else f'r{k + 1}'}" for k in range(LINKS)]
        random.Random(run).shuffle(ports)
        for n in ask.pick((0, 4, 8), (0, 2, 4, 6, 7, 8), range(LINKS + 1)):
            metered: dict[str, object] = {f"port.{p}.metered": True for p in ports[:n]}
            there = f"r{BOTTLENECK}->r{BOTTLENECK + 1}" in ports[:n]
            labels = {"share": n / LINKS, "bottleneck": int(there), "run": run, "what": "orbcc"}
            out.append(Case("orbcc/partial.toml", "orbcc", labels, run, metered, KEEP))
        for cc in RIVALS:
            labels = {"share": 0.0, "bottleneck": 0, "run": run, "what": cc}
            out.append(Case("orbcc/partial.toml", cc, labels, run, {}, KEEP))
    return out


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    later = d.t_s > d.t_s[-1] / 2
    goodput = np.nan_to_num(d.mbps()[:, later]).mean(axis=1)
    return {
        "net_mbps": np.nan_to_num(d.mbps()).sum(axis=0).mean(),
        "late_mbps": goodput.sum(),
        "jain": jain(goodput) if len(goodput) > 1 else float("nan"),
        "inflation": d.inflation(later),
        "payload_share": d.flows[0]["payload_share"],
    }


def draw_overhead(t: Tables) -> dict[str, Any]:
    """Plots net goodput against hops, and on the two other paths."""
    runs = t["runs"]
    figure, axes = style.panels(2, 1, height=2.7)
    row = runs[runs["path"] == "row"]
    whats = list(dict.fromkeys(row["what"]))
    looks = {w: style.look(w) for w in whats if w not in VARIANTS}
    looks |= dict(
        zip(
            VARIANTS,
            ({"color": "#E69F00", "marker": m, "linestyle": s} for m, s in ("*-", ("P", "--"), "X:")),
            strict=True,
        )
    )
    for what in whats:
        name = f"OrbCC, {what}" if what in VARIANTS else style.label(what)
        style.over(axes[0][0], row[row["what"] == what], "hops", "net_mbps", what, name, **looks[what])
    axes[0][0].set_xlabel("instrumented hops")
    axes[0][0].set_ylabel("net goodput, Mbit/s")
    axes[0][0].set_ylim(bottom=0)
    axes[0][0].set_title("one flow, changes every 5 s", loc="left")
    others = [p for p in dict.fromkeys(runs["path"]) if p != "row"]
    for j, path in enumerate(others):
        for i, what in enumerate(whats):
            mean = runs[(runs["path"] == path) & (runs["what"] == what)]["net_mbps"].mean()
            x = j + (i - len(whats) / 2 + 0.5) * 0.13
            axes[0][1].bar(x, mean, 0.12, color=looks[what]["color"], hatch=HATCHES.get(what))
    axes[0][1].set_xticks(range(len(others)), others)
    axes[0][1].set_ylabel("net goodput, Mbit/s")
    axes[0][1].set_title("two flows together", loc="left")
    style.shared_legend(figure, axes[0][:1], 3)
    return {"overhead": figure}


def check_overhead(t: Tables) -> list[Verdict]:
    """Claims that the overhead is modest and outweighed."""
    runs, source, out = t["runs"], "OrbCC, section II: claimed, not measured", []
    row = runs[runs["path"] == "row"]
    far = row[row["hops"] == 12].pivot_table(index="run", columns="what", values="net_mbps")
    if len(far):
        cost = mean((100 * (1 - far["bytes, full echo"] / far["no bytes"])).to_numpy())
        words = "goodput that bytes on the wire cost over 12 hops"
        out.append(bound("cost", words, source, "modest", cost, high=15, unit="%"))
    for echo in ("bytes, full echo", "bytes, bottleneck echo"):
        holds = {}
        for hops, here in row.groupby("hops"):
            rows = _mine_and_best(here, echo)
            found = order("", "", "", rows).verdict if len(rows) > 1 else ""
            if found:
                holds[f"{hops} hop{'s' * (int(hops) > 1)}"] = found == REPRODUCED
        words = f"E1 with {echo}: OrbCC's net goodput above that of every other scheme"
        out.append(count(f"outweighed-{echo}", words, source, "outweighed by its gains", holds, kind=Kind.UNPUBLISHED))
    for path in [p for p in dict.fromkeys(runs["path"]) if p != "row"]:
        rows = _mine_and_best(runs[runs["path"] == path], "bytes, full echo")
        out.append(order(f"outweighed-{path}", f"{path}: the same", source, rows, unit="Mbit/s", kind=Kind.UNPUBLISHED))
    return out


def _mine_and_best(here: pd.DataFrame, variant: str) -> list[tuple[str, float]]:
    """Net goodput of OrbCC, and of the best other scheme, as means with their runs."""
    rivals = [w for w in dict.fromkeys(here["what"]) if w not in VARIANTS]
    others = [(style.label(w), frames.average(here, "net_mbps", what=w).value) for w in rivals]
    mine = ("OrbCC", frames.average(here, "net_mbps", what=variant).value)
    return [mine, *([max(others, key=lambda row: row[1])] if others else [])]


def draw_partial(t: Tables) -> dict[str, Any]:
    """Plots goodput, delay and fairness by instrumented share and state of the bottleneck."""
    runs = t["runs"]
    figure, axes = style.panels(3, 1, width=2.9, height=2.6)
    mine = runs[runs["what"] == "orbcc"]
    for a, column, title in zip(
        axes[0],
        ("late_mbps", "inflation", "jain"),
        ("goodput of both, Mbit/s", "RTT / base RTT", "Jain's index"),
        strict=True,
    ):
        for there, marker, name in ((1, "o", "bottleneck instrumented"), (0, "x", "bottleneck not instrumented")):
            one = mine[mine["bottleneck"] == there]
            a.plot(one["share"], one[column], marker, color=style.look("orbcc")["color"], label=name, linestyle="none")
        for cc in RIVALS:
            mean = runs[runs["what"] == cc][column].mean()
            a.axhline(mean, label=style.label(cc), **{**style.line(cc), "linewidth": 0.9})
        a.set_xlabel("share of ports instrumented")
        a.set_title(title, loc="left")
    style.shared_legend(figure, axes[0])
    return {"partial-deployment": figure}


def check_partial(t: Tables) -> list[Verdict]:
    """Claims on goodput with the fallback, and on the benefit of full deployment."""
    runs = t["runs"]
    source = "OrbCC, section IV: expected, not measured"
    mine = runs[runs["what"] == "orbcc"]
    cubic = runs[runs["what"] == "cubic"].set_index("run")
    goodput = mine.pivot_table(index="run", columns="share", values="late_mbps").div(cubic["late_mbps"], axis=0)
    used = mine.assign(used=mine["late_mbps"] / mine["payload_share"])
    full = cubic["late_mbps"] / cubic["payload_share"]
    room = used.pivot_table(index="run", columns="share", values="used").div(full, axis=0)
    holds, fills = _at_least(goodput, 0.97), _at_least(room, 0.97)
    fair = _at_least(mine.pivot_table(index="run", columns="share", values="jain"), 0.8)
    whole, none = (frames.average(mine, "inflation", share=s) for s in (1.0, 0.0))
    rows = [("none", none.value), ("all", whole.value)]
    return [
        count(
            "goodput",
            "goodput with the fallback at least 97 % of Cubic's at every share",
            source,
            "usable",
            holds,
            kind=Kind.UNPUBLISHED,
        ),
        count(
            "wire",
            "the same on the wire, the reserved bytes of telemetry counted in",
            source,
            "usable",
            fills,
            kind=Kind.UNPUBLISHED,
        ),
        count(
            "fair",
            "Jain's index of the two flows at least 0.8 at every share",
            source,
            "usable",
            fair,
            kind=Kind.UNPUBLISHED,
        ),
        order("delay", "delay with no port instrumented at least that with all", source, rows, kind=Kind.UNPUBLISHED),
        bound("all", "delay with all ports instrumented", source, "minimal", whole, high=1.1),
    ]


def _at_least(by_share: pd.DataFrame, low: float) -> dict[str, bool]:
    """By share of ports, whether the interval of the mean over runs is above a bound."""
    found = {share: mean(column.to_numpy()) for share, column in by_share.items()}
    return {
        f"{s:.0%}: {frames.in_words(m)}": bound("", "", "", "", m, low).verdict == REPRODUCED for s, m in found.items()
    }


def explain_overhead(t: Tables, _: Tables) -> dict[str, str]:
    """Compares the goodput of OrbCC, with and without telemetry as bytes, with that of others."""
    runs = t["runs"]

    def of(column: str, digits: int, **where: object) -> str:
        return frames.in_words(frames.average(runs, column, **where), digits)

    far = {"path": "row", "hops": int(runs[runs["path"] == "row"]["hops"].max())}
    net = {what: of("net_mbps", 1, what=what, **far) for what in (*VARIANTS, *RIVALS)}
    out = dict.fromkeys(
        (f"outweighed-{echo}" for echo in VARIANTS),
        f"Over {far['hops']} hops OrbCC has {net['no bytes']} Mbit/s without bytes, {net['bytes, full echo']} with "
        f"full and {net['bytes, bottleneck echo']} with bottleneck echo; Cubic has {net['cubic']}, BBRv1 {net['bbr']}, "
        f"BBRv3 {net['bbr3']} (95 % intervals). Its lead over Cubic without bytes is less than the bytes take: why "
        "Cubic loses so little to outages here says `orbcc/responsiveness`.",
    )
    for path in [p for p in dict.fromkeys(runs["path"]) if p != "row"]:
        mine, bare, cubic = (
            f"{of('net_mbps', 1, path=path, what=what)} Mbit/s at {of('inflation', 2, path=path, what=what)} base RTTs"
            for what in ("bytes, full echo", "no bytes", "cubic")
        )
        out[f"outweighed-{path}"] = (
            f"Nothing is lost to outages here: OrbCC has {bare} without bytes, Cubic {cubic}, and the bytes are a pure "
            f"cost in goodput: {mine} (95 % intervals). What OrbCC gains is delay."
        )
    return out


def explain_partial(t: Tables, _: Tables) -> dict[str, str]:
    """Explains the effects of reserved bytes and of the variation between runs."""
    share = t["runs"].groupby("what")["payload_share"].mean()
    reserved = (
        "Packets reserve the bytes of telemetry for all hops whether ports write them or not: the payload has "
        f"{share['orbcc']:.3f} of a packet, Cubic's {share.get('cubic', float('nan')):.3f}, so that a full link leaves "
        f"{share['orbcc'] / share.get('cubic', float('nan')):.2f} of Cubic's goodput."
    )
    unfair = (
        "The rule is that of `orbcc/fallback` (there: watch, Cubic), where the bottleneck has no telemetry between "
        "ports that have it; its page has the windows and timeouts of both flows, a variant in which none comes late, "
        "and rules that are fair."
    )
    return {"goodput": reserved, "wire": unfair, "fair": unfair}


EXPERIMENTS = [
    Experiment(
        name="orbcc/overhead",
        title="What the bytes of telemetry cost",
        figure="claimed, never measured",
        schemes=("orbcc", *RIVALS),
        cases=overhead_cases,
        tables=frames.per_run(_row),
        verdicts=check_overhead,
        draw=draw_overhead,
        method="""One flow over 1 to 12 instrumented links under the schedules of the responsiveness experiment; two
flows of 20 and 100 ms over three instrumented links; two flows New York - London over the constellation. OrbCC as the
paper describes it, its telemetry as metadata, or as bytes with full or bottleneck echo; the others on the same paths.
Net goodput: payload only.""",
        metrics="""Net goodput: mean over the whole run of the payload that arrives in order, all flows together,
Mbit/s (`net_mbps`); telemetry is no payload. Also `late_mbps`, the same of the second half; `inflation`, mean RTT over
mean base RTT in the second half; `payload_share`, payload over all bytes of a full packet.""",
        captions={
            "overhead": "Left: means over runs, dots: runs. Right: means over runs; of OrbCC's bars the "
            "plain one is without bytes, the hatched one with full, the dotted one with bottleneck echo."
        },
        explain=explain_overhead,
    ),
    Experiment(
        name="orbcc/partial-deployment",
        title="Some ports without telemetry",
        figure="claimed, never measured",
        schemes=("orbcc", *RIVALS),
        cases=partial_cases,
        tables=frames.per_run(_row),
        verdicts=check_partial,
        draw=draw_partial,
        method="""Two flows (the second from 20 s on) over eight links, 50 ms, the fifth with 100 Mbit/s, the others
with 400. 0 to 8 ports write telemetry, chosen at random per run; the sender hands over to Cubic when telemetry is
partial and the RTT rises. Second half of 60 s.""",
        metrics="""Goodput of both flows together, Mbit/s (`late_mbps`), Jain's index of the two, and delay, mean RTT
over mean base RTT, of the second half of the run. "On the wire": goodput over the payload's share of the bytes.""",
        captions={
            "partial-deployment": "A point per run with OrbCC; lines: means of the other schemes, which need no "
            "telemetry."
        },
        explain=explain_partial,
    ),
]
