# SPDX-License-Identifier: Apache-2.0 OR MIT
"""LeoCC's probes among the data, in a separate queue, or replaced by notices of the true outages.

In the LEO study's testbed, probes wait with the data; the OrbCC study's simulator serves them
first. No study compares the two. Here, one, two and five flows share one bottleneck, with and
without outages.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain
from perigee_studies import frames, style
from perigee_studies.beside import varied
from perigee_studies.figures.orbcc_two_flows import queue_packets
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Evidence, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound, order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SOURCE = "LeoCC's probes: where they wait is assumed, not measured"
FILE = "orbcc/many-flow-handover.toml"
CC = "leocc_omnet"
AMONG, OWN, TOLD = "among the data", "a queue of their own", "notices instead"
PROBES: Mapping[str, Mapping[str, object]] = {
    AMONG: {"port.all.probe_priority": False},
    OWN: {"port.all.probe_priority": True},
    TOLD: {"cc.leocc_omnet.signal": "notices"},
}
PATHS = {"outages": True, "none": False}
EVERY_S, BEGIN_S = 15, 20.0
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))


def cases(ask: Ask) -> list[Case]:
    """With and without outages x flows x probes x runs."""
    out = []
    for run in range(1, ask.count(1, 4, 10) + 1):
        for path, cut in PATHS.items():
            for n in ask.pick((2,), (1, 2, 5), (1, 2, 5, 10)):
                for name, sets in PROBES.items():
                    labels = {"path": path, "flows": n, "probes": name, "run": run}
                    out.append(Case(FILE, CC, labels, run, {**_sets(ask, run, n, cut=cut), **sets}, KEEP))
    return out


def _sets(ask: Ask, run: int, n: int, *, cut: bool) -> dict[str, object]:
    end_s = ask.count(50, 80, 140)
    draw = random.Random(run)
    flows = [
        {"from": f"s{k}", "to": f"d{k}", "cc": "*", "start": f"{3 * draw.random():.6f} s"} for k in range(1, n + 1)
    ]
    sets: dict[str, object] = {
        "run.duration": f"{end_s} s",
        "source.dumbbell.pairs": n,
        "port.all.queue": f"{queue_packets(50)} packets",
        "flow": flows,
    }
    if cut:
        times = range(EVERY_S, end_s, EVERY_S)
        sets["change"] = [{"at": f"{t} s", "outage": f"{draw.randint(45, 120)} ms"} for t in times]
    return sets


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    goodput = d.mean_mbps(BEGIN_S, end_s)
    return {
        "goodput_mbps": goodput.sum(),
        "inflation": d.inflation(d.window(BEGIN_S, end_s)),
        "jain": jain(goodput) if len(goodput) > 1 else float("nan"),
        "retransmit_pct": 100 * sum(f["retransmits"] for f in d.flows) * 1448 * 8 / 1e6 / _sent_mbit(o),
    }


def _sent_mbit(o: Outcome) -> float:
    """Data received in the entire run, in Mbit, to which retransmissions are relative."""
    d = o.digest
    return float(np.nan_to_num(d.mbps()).sum() * (d.t_s[1] - d.t_s[0]))


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run."""
    return {"runs": frames.table(found, _row).drop(columns="cc")}


WORDS = {"outages": "outages", "none": "no outage"}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on the effect of a separate queue for probes, compared with notices."""
    runs, out = t["runs"], []
    for path in [p for p in PATHS if p in set(runs["path"])]:
        for n in sorted(set(runs["flows"])):
            of = {name: frames.pick(runs, path=path, flows=n, probes=name) for name in PROBES}
            words, key = f"{WORDS[path]}, {n} flow{'s' * (n > 1)}", f"{path}-{n}"

            def both(column: str, *names: str, of: Mapping[str, Any] = of) -> list[tuple[str, float]]:
                return [(name, frames.average(of[name], column).value) for name in names]

            claim = f"{words}: more delay where probes wait among the data"
            out.append(order(f"delay-{key}", claim, SOURCE, both("inflation", AMONG, OWN), kind=Kind.UNPUBLISHED))
            claim = f"{words}: more packets sent again where probes wait among the data, % of what arrives"
            out.append(order(f"again-{key}", claim, SOURCE, both("retransmit_pct", AMONG, OWN), kind=Kind.UNPUBLISHED))
            claim = f"{words}: as much goodput with a queue of their own as with notices"
            rows = both("goodput_mbps", OWN, TOLD)
            out.append(order(f"goodput-{key}", claim, SOURCE, rows, slack=1, unit="Mbit/s", kind=Kind.UNPUBLISHED))
            if n > 1:
                fair = frames.average(of[OWN], "jain")
                claim = f"{words}: Jain's index with a queue of their own"
                out.append(bound(f"jain-{key}", claim, SOURCE, "fair", fair, 0.8))
    return out


DEEP = "5 BDP"


def deep_cases(ask: Ask) -> list[Case]:
    """Without outages, over a queue for all data in flight, which no probe finds full."""
    some = [c for c in cases(ask) if c.labels["path"] == "none" and c.labels["probes"] != TOLD]
    mine = [c for c in some if 1 < int(c.labels["flows"]) <= 5 and int(c.labels["run"]) <= DEEP_RUNS]
    return varied(mine, DEEP, {"port.all.queue": f"{queue_packets(50, 5)} packets"})


DEEP_RUNS = 4
LITTLE_PCT = 1


def explain(t: Tables, variants: Tables) -> dict[str, str]:
    """Explains results of variants by path and number of flows, and with a deep queue."""
    deep = variants["runs"]
    calm, wild = (deep[deep["retransmit_pct"] < LITTLE_PCT], deep[deep["retransmit_pct"] >= LITTLE_PCT])
    room = (
        " Served first, probes still need room, and a full port drops them, so that gaps follow in either case: over "
        f"{DEEP}, without outages, with 2 and 5 flows, {len(calm)} of {len(deep)} runs send less than {LITTLE_PCT} % "
        f"again, at up to {calm['inflation'].max():.1f} base RTTs"
    )
    if len(wild):
        room += (
            f"; {len(wild)}, in which the queue fills all the same ({wild['inflation'].min():.1f} base RTTs and more), "
            f"{wild['retransmit_pct'].min():.0f} % and more"
        )
    room += "."
    runs = t["runs"]
    out: dict[str, str] = {}
    for v in verdicts(t):
        path, n = v.key.split("-")[1:]
        each = []
        for name in PROBES:
            here = frames.pick(runs, path=path, flows=int(n), probes=name)
            goodput, delay, again, fair = (
                frames.average(here, c) for c in ("goodput_mbps", "inflation", "retransmit_pct", "jain")
            )
            index = f", Jain's index {frames.in_words(fair)}" if int(n) > 1 else ""
            each.append(
                f"{name}: {frames.in_words(goodput, 1)} Mbit/s at {frames.in_words(delay)} base RTTs, "
                f"{frames.in_words(again)} % sent again{index}"
            )
        out[v.key] = f"By where probes wait (95 % intervals): {'; '.join(each)}.{room}"
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots goodput, delay, retransmissions and fairness, one point per run."""
    runs = t["runs"]
    counts, names = sorted(set(runs["flows"])), list(PROBES)
    panels = (
        ("goodput_mbps", "goodput, Mbit/s"),
        ("inflation", "RTT / base RTT"),
        ("retransmit_pct", "sent again, %"),
        ("jain", "Jain's index"),
    )
    paths = [p for p in PATHS if p in set(runs["path"])]
    figure, axes = style.panels(len(panels), len(paths), width=2.5, height=2.2, sharex="col")
    colours = ("#D55E00", "#0072B2", "#009E73")
    for row, path in zip(axes, paths, strict=True):
        for a, (column, title) in zip(row, panels, strict=True):
            for j, name in enumerate(names):
                for i, n in enumerate(counts):
                    one = frames.pick(runs, path=path, flows=n, probes=name)[column]
                    y = i + (j - 1) * 0.27
                    a.barh(y, one.mean(), 0.25, color=colours[j], label=name if i == 0 else None)
                    label = "a run" if i == j == 0 else None
                    a.plot(one, [y] * len(one), ".", color="black", markersize=2.5, label=label)
            a.set_yticks(range(len(counts)), [f"{n} flow{'s' * (n > 1)}" for n in counts] if a is row[0] else [])
            a.set_ylim(len(counts) - 0.5, -0.5)
            if path == paths[-1]:
                a.set_xlabel(title)
        row[0].set_title(WORDS[path], loc="left")
    style.shared_legend(figure, axes[0][:1])
    return {"probes": figure}


EXPERIMENTS = [
    Experiment(
        name="leo-cc/probes",
        title="LeoCC's probes with and without a queue of their own",
        figure="never measured",
        schemes=(CC,),
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""One, two and five flows of LeoCC (as the OrbCC study's simulator has it) over a dumbbell of 50 ms and
100 Mbit/s with one BDP of queue; flows start within 3 s. Outages of 45 to 120 ms every 15 s, which lose what the link
holds, or none. Probes wait among the data, or every port serves them first, in the room that it has for all; or there
are none, and notices tell of each outage when it happens. From 20 s on.""",
        metrics="""Goodput: all flows together, Mbit/s. RTT over base RTT: of the means over time and flows. Sent again:
payload of all retransmissions of the run over what arrived, %. Jain's index of the flows' mean goodputs. Differences
are taken run by run.""",
        evidence=Evidence(deep_cases, explain, (DEEP,)),
        captions={"probes": "Bars: means over runs; points: runs. Above with outages, below without."},
    ),
]
