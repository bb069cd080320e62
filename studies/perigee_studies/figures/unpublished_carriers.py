# SPDX-License-Identifier: Apache-2.0 OR MIT
"""OrbCC's figures with less telemetry than its records, before the same controller.

`cc.orbcc.carrier`: node data of IOAM, one number in eight bits, a mark, nothing. Each run is
compared with the same run over records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import jain, ratios
from perigee_studies import frames, style
from perigee_studies.figures.orbcc_common import generator
from perigee_studies.figures.orbcc_constellation_cases import FILE as SKY
from perigee_studies.figures.orbcc_constellation_cases import SHARED, sky_sets
from perigee_studies.figures.orbcc_hard_handover import HANDOVERS_S, outages_ms
from perigee_studies.figures.orbcc_parking_lot import FILE as ROW
from perigee_studies.figures.orbcc_soft_handover import FILE as SOFT
from perigee_studies.figures.orbcc_soft_handover import MOVING, STAYING
from perigee_studies.figures.orbcc_two_flows import FILE as TWO
from perigee_studies.figures.orbcc_two_flows import queue_packets, second_start_s
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import REPRODUCED, TIE, Verdict, bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

SOURCE = "OrbCC: records of 17 bytes per port; less was not measured"
CC = "orbcc"
RECORDS = "records"
CARRIERS: dict[str, dict[str, object]] = {
    RECORDS: {},
    "IOAM": {"cc.orbcc.carrier": "ioam"},
    "IOAM with rate": {"cc.orbcc.carrier": "ioam_rate"},
    "IOAM with records": {"cc.orbcc.carrier": "ioam_snapshot"},
    "8 bits": {"cc.orbcc.carrier": "utilisation"},
    "PINT": {"cc.orbcc.echo": "pint"},
    "ECN": {"cc.orbcc.carrier": "ecn"},
    "nothing": {"cc.orbcc.carrier": "none"},
}
"""What packets carry, and the options of OrbCC that select it."""
KEPT = 0.9
"""Share of the result over records from which a figure survives."""
FIGURES = {
    "Fig. 3": "constellation",
    "Fig. 4": "parking lot",
    "Fig. 5": "unequal RTTs",
    "Fig. 6": "equal RTTs",
    "Fig. 7": "soft handover",
    "Fig. 8": "hard handovers",
}
EVERYWHERE: dict[str, object] = {
    "port.all.metered": True,
    "port.all.rate": "1 Gbit",
    "cc.orbcc.fallback": "cubic",
}
"""Every port writes, so that telemetry is complete; the scheme's own fallback; slower access links than the study's."""
LENGTH_RTTS = 600
PARTS = ("fair", "use", "delay")
KEEP = Keep(("goodput_bps", "rtt_ns", "base_rtt_ns"))


def cases(ask: Ask) -> list[Case]:
    """Every set-up and run with each carrier."""
    return [
        Case(file, CC, {**labels, "carrier": name, "run": run}, run, {**sets, **options}, KEEP)
        for run in range(1, ask.count(1, 5, 10) + 1)
        for file, labels, sets in _set_ups(ask, run)
        for name, options in CARRIERS.items()
    ]


def _set_ups(ask: Ask, run: int) -> Iterator[tuple[str, dict[str, Any], dict[str, object]]]:
    for pair in ask.pick(("New York - London",), ("New York - London",), ("San Diego - New York", "New York - London")):
        a, b, _, packets = SHARED[pair]
        sets = {**sky_sets(ask, run, [(a, b), (a, b)], packets), "run.duration": f"{ask.count(30, 60, 300)} s"}
        yield SKY, {"figure": "Fig. 3", "setting": pair}, sets
    for rtt_ms in ask.pick((20,), (20, 100), (20, 100, 180)):
        start_s = generator(run).uniform(0, 500) * rtt_ms / 1e3 * LENGTH_RTTS / 2000
        yield (
            ROW,
            {"figure": "Fig. 4", "setting": f"{rtt_ms} ms"},
            {
                **EVERYWHERE,
                "run.duration": f"{LENGTH_RTTS * rtt_ms / 1e3:g} s",
                "source.parking_lot.rtt": f"{rtt_ms} ms",
                "port.all.queue": f"{queue_packets(rtt_ms)} packets",
                "flow.0.start": f"{start_s:.9f} s",
            },
        )
    for figure, same in (("Fig. 5", False), ("Fig. 6", True)):
        for rtt_ms in ask.pick((60,), (60, 100), (60, 100, 200)):
            sets = {
                **EVERYWHERE,
                "run.duration": f"{LENGTH_RTTS * rtt_ms / 1e3:g} s",
                "source.dumbbell.rtt": [f"{rtt_ms if same else 20} ms", f"{rtt_ms} ms"],
                "port.all.queue": f"{queue_packets(rtt_ms)} packets",
                "flow.1.start": f"{second_start_s(run, rtt_ms, LENGTH_RTTS):.9f} s",
            }
            yield TWO, {"figure": figure, "setting": f"{rtt_ms} ms"}, sets
    draw = generator(run)
    starts = {f"flow.{i}.start": f"{draw.uniform(0, 10):.6f} s" for i in range(4)}
    moves = {"source.crossing.moves": ["30 s", "50 s"], "run.duration": "57 s"}
    yield SOFT, {"figure": "Fig. 7", "setting": "2 + 2 flows"}, {**EVERYWHERE, **starts, **moves}
    for n in ask.pick((5,), (5, 20), (5, 10, 20)):
        yield "orbcc/many-flow-handover.toml", {"figure": "Fig. 8", "setting": f"{n} flows"}, _many(n, run)


def _many(n: int, run: int) -> dict[str, object]:
    """Many flows with outages; they join within 20 s instead of 100."""
    draw = generator(run + n)
    starts = [draw.uniform((k + 0.5) * 20 / n, (k + 1.5) * 20 / n) for k in range(n)]
    outages = [(t, ms) for t, ms in zip(HANDOVERS_S, outages_ms()[n], strict=True) if t < END_S]
    return {
        **EVERYWHERE,
        "source.dumbbell.pairs": n,
        "run.duration": f"{END_S} s",
        "change": [{"at": f"{t} s", "outage": f"{ms} ms"} for t, ms in outages],
        "flow": [{"from": f"s{k}", "to": f"d{k}", "cc": "*", "start": f"{s:.9f} s"} for k, s in enumerate(starts, 1)],
    }


END_S = 65
"""End of the runs of Fig. 8: four outages."""


def _window(o: Outcome) -> tuple[float, float]:
    end_s = o.digest.info["duration_ns"] / 1e9
    begin = {"Fig. 3": 0.25, "Fig. 8": 25 / END_S}.get(str(o.case.labels["figure"]), 0.75)
    return begin * end_s, end_s


def _row(o: Outcome) -> dict[str, Any]:
    d, figure = o.digest, str(o.case.labels["figure"])
    if figure == "Fig. 7":
        return _soft(o)
    begin, end = _window(o)
    mask = d.window(begin, end)
    goodput = np.nan_to_num(d.mbps()[:, mask])
    if figure == "Fig. 8":
        fair = jain(goodput.mean(axis=1))
    else:
        # Fig. 4: the long flow comes first.
        fair = float(ratios(goodput[0], goodput[1:].max(axis=0)).mean())
    return {"fair": fair, "use": goodput.sum(axis=0).mean(), "delay": d.inflation(mask), **_rest(o)}


def _soft(o: Outcome) -> dict[str, Any]:
    """Both changes of the soft handover: 1 to 6 s after each, 1 to 3 s for the flows that move back."""
    d = o.digest
    first, back = d.mean_mbps(31, 36), (d.mean_mbps(51, 56)[STAYING], d.mean_mbps(51, 53)[MOVING])
    return {
        "fair": (jain(first) + (jain(back[0]) + jain(back[1])) / 2) / 2,
        "use": (first.sum() + (back[0].sum() + back[1].sum()) / 2) / 2,
        "delay": d.inflation(d.window(31, 36)),
        **_rest(o),
    }


def _rest(o: Outcome) -> dict[str, Any]:
    flows = o.digest.flows
    return {
        "resent": sum(f["retransmits"] for f in flows),
        "timeouts": sum(f["timeouts"] for f in flows),
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run, with its shares of the same run over records."""
    runs = frames.table(found, _row)
    at = ["figure", "setting", "run"]
    base = frames.pick(runs, carrier=RECORDS)[[*at, *PARTS]]
    runs = runs.merge(base, on=at, suffixes=("", "_records"))
    runs["kept_fair"] = (runs["fair"] / runs["fair_records"]).clip(upper=1)
    runs["kept_use"] = (runs["use"] / runs["use_records"]).clip(upper=1)
    runs["kept_delay"] = (runs["delay_records"] / runs["delay"]).clip(upper=1)
    runs["kept"] = runs[[f"kept_{part}" for part in PARTS]].min(axis=1)
    return {"runs": runs.drop(columns=[f"{part}_records" for part in PARTS])}


def _here(runs: pd.DataFrame) -> list[str]:
    return [f for f in FIGURES if f in set(runs["figure"])]


def verdicts(t: Tables) -> list[Verdict]:
    """Claims that a figure keeps nine tenths of its result, by carrier."""
    runs, out = t["runs"], []
    for carrier in [c for c in CARRIERS if c != RECORDS]:
        for figure in _here(runs):
            kept = frames.average(runs, "kept", "setting", figure=figure, carrier=carrier)
            claim = f"{carrier}: {figure}, share kept of what records give"
            out.append(bound(f"{carrier}-{figure}", claim, SOURCE, "survives", kept, KEPT, places=3))
    return out


def _with(t: Tables, verdict: str) -> dict[str, list[str]]:
    """By carrier, the figures with this verdict."""
    found = {v.key for v in verdicts(t) if v.verdict == verdict}
    return {c: [f for f in _here(t["runs"]) if f"{c}-{f}" in found] for c in CARRIERS if c != RECORDS}


def _worse(runs: pd.DataFrame, setting: str) -> str:
    """Whether flows over stock IOAM have longer RTTs than those without telemetry."""
    ioam, nothing = (frames.average(runs, "delay", carrier=c, setting=setting) for c in ("IOAM", "nothing"))
    return " (flows of Cubic): here stock IOAM is worse than no telemetry" if ioam.low > nothing.high else ""


def _shares(runs: pd.DataFrame, carrier: str, figure: str) -> dict[str, float]:
    here = frames.pick(runs, carrier=carrier, figure=figure)
    return {part: float(here[f"kept_{part}"].mean()) for part in PARTS}


WORDS = {"fair": "fairness", "use": "goodput", "delay": "delay"}


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim: which of the three shares is the smallest, with values."""
    runs, out = t["runs"], {}
    for carrier in [c for c in CARRIERS if c != RECORDS]:
        for figure in _here(runs):
            shares = _shares(runs, carrier, figure)
            least = min(PARTS, key=lambda part: shares[part])
            here, there = (frames.pick(runs, carrier=c, figure=figure)[least] for c in (carrier, RECORDS))
            unit = " Mbit/s" if least == "use" else ""
            name = {"fair": "The figure's fairness", "use": "Goodput", "delay": "RTT over base RTT"}[least]
            out[f"{carrier}-{figure}"] = (
                f"{name} is {here.mean():.3g}{unit} in the mean ({there.mean():.3g}{unit} over records). "
                f"{MISSING[carrier]}"
            )
    return out


MISSING = {
    "IOAM": "It has no mean RTT (the own stands for it), no flow count (one is assumed: 5 % of the port's BDP per "
    "RTT for each flow), and a lower bound of the bytes sent.",
    "IOAM with rate": "It has no mean RTT, no flow count and a lower bound of the bytes sent, as without the rate.",
    "IOAM with records": "The snapshot's bytes, and the receiver's differences in place of the sender's, differ.",
    "8 bits": "Without rate and flow count the increase is a share of the own rate: the first flow keeps what it has.",
    "PINT": "Its record has a rounded utilisation that the port has averaged, and no mean RTT.",
    "ECN": "Without rate and flow count the increase is a share of the own rate; the queue moves around 1 ms.",
    "nothing": "These are flows of Cubic.",
}
"""What the controller lacks."""


def summary(t: Tables) -> list[str]:
    """The table of shares kept, by figure and carrier."""
    runs = t["runs"]
    carriers = [c for c in CARRIERS if c != RECORDS]
    lines = [f"| share kept | {' | '.join(carriers)} |", "|---|" + "---|" * len(carriers)]
    tied = {(c, figure) for c, figures in _with(t, TIE).items() for figure in figures}
    for figure in _here(runs):
        cells = []
        for carrier in carriers:
            kept, shares = (
                frames.average(runs, "kept", "setting", figure=figure, carrier=carrier).value,
                _shares(runs, carrier, figure),
            )
            least = WORDS[min(PARTS, key=lambda part: shares[part])]
            if (carrier, figure) in tied:
                least = "undecided"
            cells.append(f"{kept:.2f} ({least})" if kept < KEPT or (carrier, figure) in tied else f"{kept:.2f}")
        lines.append(f"| {figure}, {FIGURES[figure]} | {' | '.join(cells)} |")
    return lines


def finding(t: Tables) -> str:
    """Which carriers keep which figures, and what the rest loses."""
    runs = t["runs"]
    figures = _here(runs)
    kept, tied = _with(t, REPRODUCED), _with(t, TIE)

    def number(carrier: str) -> str:
        more = f" ({len(tied[carrier])} more undecided)" if tied[carrier] else ""
        return f"{len(kept[carrier]) or 'none'}{more}"

    def listed(carrier: str) -> str:
        open_ = [f"{f.removeprefix('Fig. ')} (undecided)" for f in tied[carrier]]
        return ", ".join([*(f.removeprefix("Fig. ") for f in kept[carrier]), *open_]) or "none"

    each = "; ".join(f"{c} {listed(c)}" for c in kept)
    most = max(set(frames.pick(runs, figure="Fig. 8")["setting"]), key=lambda words: int(words.split()[0]))

    def of(column: str, carrier: str, **where: str) -> str:
        return f"{frames.average(runs, column, 'setting', carrier=carrier, **where).value:.2f}"

    unequal = ", ".join(f"{c} {of('fair', c, figure='Fig. 5')}" for c in CARRIERS)
    return (
        f"**Nine tenths of fairness, goodput and delay remain in {number('IOAM')} of {len(figures)} figures of OrbCC "
        f"over stock IOAM, in {number('IOAM with records')} over IOAM with OrbCC's records, in {number('PINT')} over "
        f"PINT; with our readers in {number('8 bits')} over 8 bits and in {number('ECN')} over ECN marks; in "
        f"{number('nothing')} without telemetry.** Figures kept: {each}. Smaller over larger goodput with unequal RTTs "
        f"(Fig. 5): {unequal}. RTT over base RTT with {most} (Fig. 8): records "
        f"{of('delay', RECORDS, setting=most)}, stock IOAM {of('delay', 'IOAM', setting=most)}, no telemetry "
        f"{of('delay', 'nothing', setting=most)}{_worse(runs, most)}."
    )


def draw(t: Tables) -> dict[str, Any]:
    """Draws the shares by figure and carrier: the three parts."""
    runs = t["runs"]
    carriers, figures = [c for c in CARRIERS if c != RECORDS], _here(runs)
    titles = {"fair": "fairness kept", "use": "goodput kept", "delay": "delay kept"}
    figure, axes = style.panels(3, 1, width=3.6, height=0.42 * len(figures) + 1.1)
    for a, part in zip(axes[0], PARTS, strict=True):
        cells = [[_shares(runs, c, f)[part] for c in carriers] for f in figures]
        image = style.heat(a, figures, [c.replace(" with ", "\n+ ") for c in carriers], cells, vmin=0.0, vmax=1.0)
        a.tick_params(axis="x", labelsize=6)
        a.set_title(titles[part], loc="left")
        if part != "fair":
            a.set_yticklabels([])
    figure.colorbar(image, ax=list(axes[0]), shrink=0.8)
    return {"carriers": figure}


METHOD = """The set-ups of the study's figures, shorter, each with every carrier and the same seed: two flows over the
constellation (Fig. 3, 60 s), one long flow over three bottlenecks (Fig. 4, 600 RTTs of 20 and 100 ms), two flows of 20
ms and r, and of r and r (Fig. 5 and 6, 600 r of 60 and 100 ms), two flows that move to the bottleneck of two others at
30 s and back at 50 s (Fig. 7), 5 and 20 flows with an outage every 15 s (Fig. 8, 65 s). Controller: `orbcc` with its
fallback to Cubic; every port writes, also those of the access links (1 Gbit/s instead of 10: at 10 Gbit/s the jitter of
hosts brings packets together, 1.2 us apart, which a clock of 1 us takes for a full port); telemetry has its bytes on
the wire. What a receiver derives of each carrier is in docs/explanation/carriers.md; the readers of 8 bits and of marks
are ours. The bound of nine tenths and the measures were written down before the runs. Two things were changed after the
first: the access links, and the reading of IOAM, which took a burst in a fast port's queue for a full port."""
METRICS = """Fairness as in the figure: ratio of goodputs in each second, smaller over larger, for Fig. 3, 5 and 6; long
flow over best short flow for Fig. 4; Jain's index for Fig. 7 and 8. Goodput: all flows, Mbit/s. Delay: RTT over base
RTT. Windows: from 15 s on (Fig. 3), the final quarter (Fig. 4 to 6), 1 to 6 s after each change (Fig. 7; delay after
the first), from 25 s on (Fig. 8). Kept: the smallest of three shares of the same run over records, of fairness, of
goodput, and of the inverse of delay, each at most 1; means over settings and runs."""
CAPTIONS = {"carriers": "Means over settings and runs of each share; 1: as over records."}
CHANGES = (
    "The flow count: IOAM's readers assume one flow; a configured number would trade delay for a slower increase.",
    "The increase without a rate: one packet per RTT, as Reno's, would approach equal shares, in hundreds of RTTs.",
    "The mark: a probability that grows with the queue carries more than a threshold.",
)
COLUMNS = {
    "figure": "figure of the study",
    "setting": "RTT of the second flow or of all, number of flows, or pair of stations",
    "carrier": "what packets carry",
    "fair": "fairness as in the figure, 0 to 1",
    "use": "goodput of all flows, Mbit/s",
    "delay": "mean RTT over mean base RTT",
    "resent": "retransmitted packets of all flows, whole run",
    "timeouts": "retransmission timeouts of all flows, whole run",
    "kept_fair": "fairness over that of records, at most 1",
    "kept_use": "goodput over that of records, at most 1",
    "kept_delay": "delay of records over delay, at most 1",
    "kept": "smallest of the three",
}

EXPERIMENTS = [
    Experiment(
        name="orbcc/carriers",
        title="OrbCC over IOAM, eight bits, marks, or nothing",
        figure="telemetry with less than records, never measured",
        schemes=(CC,),
        cases=cases,
        tables=tables,
        verdicts=verdicts,
        draw=draw,
        finding=finding,
        summary=summary,
        explain=explain,
        method=METHOD,
        metrics=METRICS,
        captions=CAPTIONS,
        changes=CHANGES,
        columns=COLUMNS,
    )
]
