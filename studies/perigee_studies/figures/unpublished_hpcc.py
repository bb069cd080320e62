# SPDX-License-Identifier: Apache-2.0 OR MIT
"""HPCC, OrbCC's predecessor, over paths with changing and unequal RTTs.

The OrbCC study calls HPCC insufficient, but shows no results. OrbCC of the study's simulator is
compared with HPCC as published (`hpcc`: reference RTT T from the handshake) and with its control law
in TCP (`hpcc_tcp`: T is the mean RTT that ports report). Paths: one flow with a new rate and RTT
every 5 s, two flows with unequal RTTs, and two flows between cities over a constellation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perigee_studies import frames, style
from perigee_studies.figures import unpublished_hpcc_why as why
from perigee_studies.figures.orbcc_common import MINE
from perigee_studies.figures.orbcc_constellation_cases import FILE as SKY
from perigee_studies.figures.orbcc_constellation_cases import RELAYS, SHARED, starts
from perigee_studies.figures.orbcc_two_flows import FILE as TWO
from perigee_studies.figures.orbcc_two_flows import queue_packets, second_start_s
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

SOURCE = "OrbCC, section I: stated, not measured"
ANCESTORS = ("hpcc", "hpcc_tcp")
SCHEMES = (MINE, *ANCESTORS)
CHANGING = "rate and RTT change"
LENGTH_RTTS = 600
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))
LOOKS = {"hpcc": {"color": "#D55E00", "marker": "s"}, "hpcc_tcp": {"color": "#0072B2", "marker": "^"}}
PATHS = ("New York - London", "Seattle - New York", "San Diego - Shanghai")


def cases(ask: Ask) -> list[Case]:
    """Runs of each path under each scheme."""
    return [
        Case(file, cc, {"path": path, "run": run}, run, sets, KEEP)
        for file, path, run, sets in _paths(ask)
        for cc in ask.schemes(SCHEMES)
    ]


def _paths(ask: Ask) -> Iterator[tuple[str, str, int, dict[str, object]]]:
    for run in range(1, ask.count(1, 8, 20) + 1):
        length = f"{ask.count(50, 150, 300)} s"
        yield "orbcc/responsiveness.toml", CHANGING, run, {"run.duration": length}
    for run in range(1, ask.count(1, 5, 10) + 1):
        for rtt_ms in ask.pick((60,), (60, 100, 200), (40, 60, 100, 140, 200)):
            yield (
                TWO,
                unlike(rtt_ms),
                run,
                {
                    "run.duration": f"{LENGTH_RTTS * rtt_ms / 1e3:g} s",
                    "source.dumbbell.rtt": ["20 ms", f"{rtt_ms} ms"],
                    "port.all.queue": f"{queue_packets(rtt_ms)} packets",
                    "flow.1.start": f"{second_start_s(run, rtt_ms, LENGTH_RTTS):.9f} s",
                },
            )
    for run in range(1, ask.count(1, 5, 10) + 1):
        for path in ask.pick(PATHS[:1], PATHS, PATHS):
            a, b, _, packets = SHARED[path]
            # Runs also differ in the start time of the constellation, not only of the flows.
            sets: dict[str, object] = {
                "run.duration": f"{ask.count(40, 60, 120)} s",
                "run.vary": "phase",
                "port.all.queue": f"{packets} packets",
                **RELAYS,
            }
            for i, start in enumerate(starts(run)):
                sets |= {f"flow.{i}.from": a, f"flow.{i}.to": b, f"flow.{i}.start": start}
            yield SKY, path, run, sets


def unlike(rtt_ms: int) -> str:
    """The name of a path for two flows with unequal RTTs."""
    return f"20 and {rtt_ms} ms"


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    end_s = d.info["duration_ns"] / 1e9
    begin_s = 0.0 if len(d.flows) == 1 else end_s / 2
    goodput = d.mean_mbps(begin_s, end_s)
    return {
        "goodput_mbps": goodput.sum(),
        "carried_mbps": goodput.sum() / d.flows[0]["payload_share"],
        "inflation": d.inflation(d.window(begin_s, end_s)),
        "ratio": goodput.min() / goodput.max() if len(goodput) == 2 else float("nan"),
        "retransmits": sum(f["retransmits"] for f in d.flows),
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run."""
    return {"runs": frames.table(found, _row).rename(columns={"cc": "scheme"})}


def verdicts(t: Tables) -> list[Verdict]:
    """Claims by path: OrbCC carries more, with less delay and fairer shares, than HPCC."""
    runs, out = t["runs"], []
    for path in dict.fromkeys(runs["path"]):
        here = frames.pick(runs, path=path)
        for cc in ANCESTORS:
            name = style.label(cc)
            more = _both(here, "carried_mbps", MINE, cc)
            out.append(
                order(
                    f"goodput-{path}-{cc}",
                    f"{path}: OrbCC carries more than {name}",
                    SOURCE,
                    more,
                    unit="Mbit/s",
                    kind=Kind.UNPUBLISHED,
                )
            )
            less = _both(here, "inflation", cc, MINE)
            out.append(
                order(
                    f"delay-{path}-{cc}",
                    f"{path}: {name} has more delay than OrbCC (RTT over base RTT)",
                    SOURCE,
                    less,
                    kind=Kind.UNPUBLISHED,
                )
            )
            if here["ratio"].notna().any():
                fair = _both(here, "ratio", MINE, cc)
                out.append(
                    order(
                        f"ratio-{path}-{cc}",
                        f"{path}: OrbCC is fairer than {name} (goodput ratio)",
                        SOURCE,
                        fair,
                        kind=Kind.UNPUBLISHED,
                    )
                )
    return out


def _both(here: pd.DataFrame, column: str, *schemes: str) -> list[tuple[str, float]]:
    return [(style.label(cc), frames.average(here, column, scheme=cc).value) for cc in schemes]


def draw(t: Tables) -> dict[str, Any]:
    """Plots carried rate, delay and goodput ratio by path: means over runs, and each run as a dot."""
    runs = t["runs"]
    paths, ccs = list(dict.fromkeys(runs["path"])), list(dict.fromkeys(runs["scheme"]))
    figure, axes = style.panels(3, 1, width=3.4, height=0.42 * len(paths) + 1.0)
    panels = (
        ("carried_mbps", "carried by all flows, Mbit/s"),
        ("inflation", "RTT over base RTT"),
        ("ratio", "goodput ratio"),
    )
    for a, (column, title) in zip(axes[0], panels, strict=True):
        for i, cc in enumerate(ccs):
            here = runs[runs["scheme"] == cc]
            y = [j + (i - len(ccs) / 2 + 0.5) * 0.22 for j in range(len(paths))]
            each = [y[paths.index(path)] for path in here["path"]]
            look = LOOKS.get(cc) or style.look(cc)
            a.plot(here[column], each, color=look["color"], zorder=1.8, **style.DOT)
            a.plot(
                here.groupby("path")[column].mean().reindex(paths), y, label=style.label(cc), color=look["color"],
                marker=look["marker"], linestyle="none",
            )  # fmt: skip
        a.set_yticks(range(len(paths)), paths if a is axes[0][0] else [])
        a.set_ylim(len(paths) - 0.4, -0.6)
        a.set_xlabel(title)
    axes[0][0].set_xlim(left=0)
    axes[0][2].set_xlim(0.7, 1.02)
    style.shared_legend(figure, axes[0][:1])
    return {"hpcc": figure}


EXPERIMENTS = [
    Experiment(
        name="orbcc/hpcc",
        title="HPCC with changing and unequal RTTs",
        figure="stated, never measured",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        method="""One flow over a path with a new rate and RTT every 5 s (the schedules of the responsiveness
experiment); two flows with RTTs of 20 ms and of 60 to 200 ms over 100 Mbit/s, with a queue of one BDP and a duration of
600 RTTs, both of the larger RTT; two flows between the same two cities over the study's constellation, each run at
another time of the day. HPCC as published, with the RTT of the handshake as T (`hpcc`), and its control law in TCP with
the mean RTT and flow count that ports report (`hpcc_tcp`); both use the telemetry of OrbCC. HPCC's telemetry occupies
bytes of its packets, that of OrbCC in its study's simulator does not: claims therefore compare the carried rate,
telemetry included.""",
        metrics="""Carried rate: goodput of all flows together, divided by the payload share of a full packet, Mbit/s
(`carried_mbps`; `goodput_mbps`: payload only). RTT over base RTT: ratio of the means over time and flows. Goodput
ratio: smaller over larger of the two mean goodputs. Windows: the entire run with one flow, its second half with two.
Orders are tested run by run.""",
        evidence=why.evidence(cases, verdicts, (CHANGING, unlike(100))),
        captions={"hpcc": "Means over runs; dots: runs."},
    ),
]
