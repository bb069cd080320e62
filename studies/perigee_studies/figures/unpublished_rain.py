# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Schemes over a link with a rate that follows rain.

Question: how much of the rate that rain leaves do Cubic, BBRv3, LeoCC and OrbCC use, and with what
delay? No paper has the rate of a port change other than at a handover.

Set-up, fixed before the runs: 100 Mbit/s, 30 ms, a queue of one bandwidth-delay product of the dry
link, one or four flows of one scheme. Rain as `perigee weather` synthesises it for a terminal at 28
GHz and an elevation of 40 degrees (ITU-R P.618 and P.1853, DVB-S2 with adaptive coding, 14 dB
without rain, steps of a second): London from an attenuation on that is exceeded 0.3 % of the time,
Singapore from one that is exceeded 1 % of the time; each run has another series. Where not even the
lowest step is received, the link is blocked. *Dry*: the same link without rain.

Bounds, fixed before the runs: 0.9 of the rate that the link has as payload, from 5 s on; a mean RTT
of at most 45 ms (half of the queue of the dry link) and one of at most 90 ms at the 99th percentile
(twice that queue), in each place.

*Stale reports*: OrbCC in both forms over the same rain, with a port that reports as its rate (`bw`)
the one of 0.1, 1 or 5 s ago. Otherwise a record has the rate at which its packet is sent: after a
step of the modem the first packet reports the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.sky.weather import Climate, modem, series
from perigee_studies import frames, style
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Second, Tables
from perigee_studies.verdicts import Verdict, bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from perigee_studies.digest import Floats

SOURCE = "OrbCC, section V: rates change at handovers only"
FILE = "orbcc/rain.toml"
SCHEMES = ("cubic", "bbr3", "leocc", "orbcc", "orbcc-next")
CLIMATES = {
    "London": (Climate(m=-3.5019275, sigma=1.7498832, rain_share=0.069859257), 0.003),
    "Singapore": (Climate(m=-1.5054513, sigma=1.6239939, rain_share=0.06382978), 0.01),
}
"""P.618 as fitted by `perigee weather` (itur 0.4.0), and the share of time of the first value."""
DRY, PLACES = "dry", ("dry", "London", "Singapore")
CLEAR_SKY_DB, RATE_MBPS = 14.0, 100.0
FLOWS = (1, 4)
STALE_S, READERS = (0.1, 1, 5), ("orbcc", "orbcc-next")
"""Ages of the reported rate, and the schemes that read it."""
BEGIN_S, LEAST_SHARE = 5.0, 0.9
BASE_MS, MOST_MS, MOST_P99_MS = 30, 45, 90
KEEP = Keep(("goodput_bps", "rtt_ns", "path_rate_bps"))


def changes(place: str, seed: int, duration_s: int) -> list[dict[str, object]]:
    """Changes of the bottleneck's rate and loss by a series of rain; none if it is dry."""
    if place == DRY:
        return []
    climate, share = CLIMATES[place]
    rain = series(climate, duration_s, step_s=1.0, seed=seed, start_share=share)
    link = modem(rain, clear_sky_db=CLEAR_SKY_DB)
    return port_changes(link.rate_share, link.loss, RATE_MBPS)


def port_changes(rate_share: Floats, loss: Floats, dry_mbps: float) -> list[dict[str, object]]:
    """Changes of a port by a modem's share of the dry rate and its loss, in each second."""
    found: list[dict[str, object]] = []
    before = (1.0, 0.0)
    for k, now in enumerate(zip(rate_share.round(6), loss.round(4), strict=True)):
        if now != before:
            # A blocked link keeps what waits; its loss has no meaning.
            lost = float(now[1]) if now[0] else 0.0
            found.append({"at": f"{k} s", "rate": f"{dry_mbps * now[0]:g} Mbit", "loss": lost})
        before = now
    return found


def cases(ask: Ask) -> list[Case]:
    """Places x numbers of flows x schemes x runs."""
    duration_s, out = ask.count(60, 240, 600), []
    for run in range(1, ask.count(1, 4, 20) + 1):
        for place in PLACES:
            rain = changes(place, run, duration_s)
            for n in ask.pick(FLOWS[:1], FLOWS, FLOWS):
                flows = [
                    {"from": f"s{k + 1}", "to": f"d{k + 1}", "cc": "*", "start": f"{0.3 * k:g} s"} for k in range(n)
                ]
                sets = {"run.duration": f"{duration_s} s", "source.dumbbell.pairs": n, "flow": flows}
                sets |= {"change": rain} if rain else {}
                labels = {"place": place, "flows": n, "run": run}
                out += [Case(FILE, cc, labels, run, sets, KEEP) for cc in ask.schemes(SCHEMES)]
                if place != DRY:
                    out += _stale_cases(ask, labels, run, sets)
    return out


def _stale_cases(ask: Ask, labels: Mapping[str, object], run: int, sets: Mapping[str, object]) -> list[Case]:
    """The same link with a port that reports the rate of some time ago."""
    stale = {age_s: {"port.bottleneck.telemetry_stale": f"{age_s:g} s"} for age_s in STALE_S}
    ccs = [cc for cc in ask.schemes(SCHEMES) if cc in READERS]
    return [
        Case(FILE, cc, {**labels, "stale_s": age_s}, run, {**sets, **fault}, KEEP)
        for age_s, fault in stale.items()
        for cc in ccs
    ]


def tables(found: Sequence[Outcome]) -> Tables:
    """One row per run, also with stale reports; by second, the first run with one flow."""
    stale = [o for o in found if "stale_s" in o.case.labels]
    found = [o for o in found if "stale_s" not in o.case.labels]
    first = [o for o in found if o.case.seed == 1 and o.case.labels["flows"] == 1 and o.case.labels["place"] != DRY]
    return {
        "runs": frames.table(found, _row),
        "traces": frames.series(first, _trace),
        "stale": frames.table(stale, _row),
    }


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    later = d.window(BEGIN_S, d.info["duration_ns"] / 1e9)
    got = np.nan_to_num(d.mbps()[:, later]).sum(axis=0)
    rate = d.columns["path_rate_bps"][0, later] / 1e6
    rate = np.nan_to_num(rate)
    sent = sum(f["sent_packets"] for f in d.flows)
    return {
        "rate_mbps": rate.mean(),
        "lowest_mbps": rate.min(),
        "goodput_mbps": got.mean(),
        "share": got.sum() / rate.sum(),
        "rtt_ms": float(np.mean([frames.number(f["rtt_mean_ms"]) for f in d.flows])),
        "rtt_p99_ms": float(np.nanmean(d.rtt_ms[:, 198])),
        "resent_pct": 100 * sum(f["retransmits"] for f in d.flows) / max(1, sent),
        "timeouts": sum(f["timeouts"] for f in d.flows),
    }


def _trace(o: Outcome) -> list[dict[str, Any]]:
    d = o.digest
    each = 5
    n = len(d.t_s) // each
    got = np.nan_to_num(d.mbps(0))[: n * each].reshape(n, each).mean(axis=1)
    rate = np.nan_to_num(d.columns["path_rate_bps"][0])[: n * each].reshape(n, each).mean(axis=1) / 1e6
    rtt = d.columns["rtt_ns"][0][: n * each].reshape(n, each) / 1e6
    seen = ~np.isnan(rtt)
    mean = np.where(seen.any(axis=1), np.nan_to_num(rtt).sum(axis=1) / np.maximum(1, seen.sum(axis=1)), np.nan)
    return [
        {"t_s": k + 1, "rate_mbps": float(a), "goodput_mbps": float(b), "rtt_ms": float(c)}
        for k, (a, b, c) in enumerate(zip(rate, got, mean, strict=True))
    ]


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on the use of the rate and on the RTT, by place, number of flows and scheme."""
    runs, out = t["runs"], []
    for place in dict.fromkeys(runs["place"]):
        for n in sorted(set(runs["flows"])):
            for cc in frames.schemes(runs):
                here = frames.pick(runs, place=place, flows=n, cc=cc)
                name, key = f"{_where(place)}, {_flows(n, cc)}", f"{place}-{n}-{cc}"
                share, mean, tail = (frames.average(here, c) for c in ("share", "rtt_ms", "rtt_p99_ms"))
                words = f"{name}: goodput over the link's rate"
                out.append(bound(f"share-{key}", words, SOURCE, "the link", share, LEAST_SHARE, places=3))
                words = f"{name}: mean RTT"
                out.append(bound(f"rtt-{key}", words, SOURCE, "half a queue", mean, high=MOST_MS, unit="ms", places=1))
                words = f"{name}: RTT, 99th percentile"
                out.append(
                    bound(f"p99-{key}", words, SOURCE, "two queues", tail, high=MOST_P99_MS, unit="ms", places=1)
                )
    return out


def _where(place: str) -> str:
    return "Dry" if place == DRY else f"Rain in {place}"


def _flows(n: int, cc: str) -> str:
    return f"a flow of {style.label(cc)}" if n == 1 else f"{n} flows of {style.label(cc)}"


def draw(t: Tables) -> dict[str, Any]:
    """Plots the use of the rate and the RTT by place, and two runs over time."""
    return {"rain": _draw_runs(t["runs"]), "traces": _draw_traces(t["traces"])}


def _draw_runs(runs: pd.DataFrame) -> Any:
    counts, ccs = sorted(set(runs["flows"])), frames.schemes(runs)
    places = list(dict.fromkeys(runs["place"]))
    panels = (
        ("share", "goodput over the link's rate", LEAST_SHARE),
        ("rtt_p99_ms", "RTT, 99th percentile, ms", MOST_P99_MS),
        ("resent_pct", "sent again, %", None),
    )
    figure, axes = style.panels(len(panels), len(counts), width=2.7, height=2.1, sharex=True)
    for row, n in zip(axes, counts, strict=True):
        for a, (column, title, level) in zip(row, panels, strict=True):
            for j, place in enumerate(places):
                for i, cc in enumerate(ccs):
                    here = frames.pick(runs, place=place, cc=cc, flows=n)[column]
                    x = j + (i - (len(ccs) - 1) / 2) * 0.17
                    a.bar(x, here.mean(), 0.16, label=style.label(cc) if j == 0 else None, **style.bar(cc))
                    style.dots(a, x, here.to_numpy(), 0.08)
            if level is not None:
                a.axhline(level, color=style.SOFT, linestyle="--", linewidth=0.9)
            a.set_title(f"{title}, {n} flow{'s' * (n > 1)}", loc="left")
            a.set_xticks(range(len(places)), places)
    style.shared_legend(figure, axes[0][:1], 6)
    return figure


def _draw_traces(traces: pd.DataFrame) -> Any:
    places = list(dict.fromkeys(traces["place"]))
    figure, axes = style.panels(len(places), 2, height=1.8, sharex=True)
    for (upper, lower), place in zip(axes.T, places, strict=True):
        here = frames.pick(traces, place=place)
        ccs = frames.schemes(here)
        rate = frames.pick(here, cc=ccs[0])
        upper.fill_between(rate["t_s"], rate["rate_mbps"], color="#d9d9d9", linewidth=0, step="pre", label="the link")
        for cc in ccs:
            one = frames.pick(here, cc=cc)
            upper.plot(one["t_s"], one["goodput_mbps"], **{**style.line(cc), "linewidth": 0.8})
            lower.plot(one["t_s"], one["rtt_ms"], label=style.label(cc), **{**style.line(cc), "linewidth": 0.8})
        upper.set_title(f"{place}: goodput, Mbit/s", loc="left")
        lower.set_title("RTT, ms", loc="left")
        lower.set_ylim(bottom=0)
        lower.set_xlabel("time, s")
    style.shared_legend(figure, axes[:, 0], 6)
    return figure


def finding(t: Tables) -> str:
    """The result in three sentences."""
    runs = t["runs"]
    wet = runs[runs["place"] != DRY]
    most = max(runs["flows"])

    def p99(place: str, cc: str) -> str:
        return f"{frames.average(runs, 'rtt_p99_ms', place=place, cc=cc, flows=1).value:.0f}"

    def again(place: str) -> str:
        return f"{frames.average(runs, 'resent_pct', place=place, cc='leocc', flows=most).value:.1f}"

    each = ", ".join(f"{style.label(cc)} {p99('Singapore', cc)} ({p99(DRY, cc)})" for cc in frames.schemes(runs))
    share = wet.groupby(["place", "flows", "cc"])["share"].mean()
    return (
        f"**In rain all {len(frames.schemes(runs))} schemes use the rate that is left; over a queue in bytes only "
        f"OrbCC, in both forms, keeps its delay.** Goodput is {share.min():.2f} to {share.max():.2f} of that rate, as "
        f"on the dry link. The base RTT is {BASE_MS} ms; the 99th percentile of the RTT of one flow in Singapore's "
        f"rain (on the dry link), in ms: {each}. {most} flows of LeoCC retransmit {again(DRY)} % of their packets on "
        f"the dry link, and {again('Singapore')} % in Singapore's rain."
    )


def stale_reports(t: Tables, _: Tables) -> str:
    """The section on stale reports of the rate: a sentence and a table."""
    import pandas as pd

    runs = t["runs"]
    now = runs[(runs["place"] != DRY) & runs["cc"].isin(READERS)].assign(stale_s=0.0)
    rows = pd.concat([now, t["stale"]], ignore_index=True)
    ages, places, counts = (list(dict.fromkeys(rows[name])) for name in ("stale_s", "place", "flows"))

    def mean(column: str, **where: Any) -> float:
        return frames.average(rows, column, **where).value

    def cells(age_s: float, cc: str) -> list[str]:
        each = [{"stale_s": age_s, "cc": cc, "place": place, "flows": n} for place in places for n in counts]
        return [
            f"{mean('share', **w):.3f} / {mean('rtt_p99_ms', **w):.0f} / {mean('resent_pct', **w):.2f}" for w in each
        ]

    heads = ["scheme", "`bw` of", *(f"{place}, {n} flow{'s' * (n > 1)}" for place in places for n in counts)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for cc in frames.schemes(rows):
        for age_s in ages:
            age = f"{age_s:g} s ago" if age_s else "now"
            lines.append(f"| {' | '.join([style.label(cc), age, *cells(age_s, cc)])} |")
    lost = "; ".join(
        f"{age_s:g} s {_worst(rows, age_s, 'share', -100):.1f} % and {_worst(rows, age_s, 'rtt_p99_ms', 1):.1f} ms"
        for age_s in ages
        if age_s
    )
    return (
        "A port reports the rate at which it sends the packet that carries the record: the first packet after a step "
        "of the modem has the new one. A report of an older rate costs, at most over places, numbers of flows and both "
        "forms of OrbCC, this much of the link's rate as goodput, and at the 99th percentile of the RTT: "
        f"{lost}. Steps of the modem are small; where rates halve, half a second costs a fifth ([wrong "
        "telemetry](../explanation/telemetry-faults.md)).\n\nGoodput over the link's rate / 99th percentile of the "
        "RTT, ms / sent again, %; means over runs:\n\n" + "\n".join(lines)
    )


def _worst(rows: pd.DataFrame, age_s: float, column: str, sign: float) -> float:
    """Largest change against the current rate, by place, number of flows and scheme (means over runs)."""
    by = ["place", "flows", "cc"]
    now, then = (frames.pick(rows, stale_s=s).groupby(by)[column].mean() for s in (0, age_s))
    return float((sign * (then - now)).max())


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim: the same bytes in the queue take longer at a lower rate."""
    runs, out = t["runs"], {}
    for place in dict.fromkeys(runs["place"]):
        for n in sorted(set(runs["flows"])):
            for cc in frames.schemes(runs):
                here, key = frames.pick(runs, place=place, flows=n, cc=cc), f"{place}-{n}-{cc}"
                for column, what, rate in (("rtt_ms", "rtt", "rate_mbps"), ("rtt_p99_ms", "p99", "lowest_mbps")):
                    dry = frames.average(runs, column, place=DRY, flows=n, cc=cc).value
                    ours = frames.average(here, rate).value
                    full = 8 * QUEUE_KB / ours
                    words = f"A full queue takes {full:.0f} ms at {ours:.0f} Mbit/s"
                    more = "" if place == DRY else f" (mean over runs of the {NAMES[rate]} rate)"
                    rest = ", and it is kept." if place == DRY else f". On the dry link it is {dry:.1f} ms."
                    out[f"{what}-{key}"] = words + more + rest
    return out


QUEUE_KB = 375
NAMES = {"rate_mbps": "mean", "lowest_mbps": "lowest"}
METHOD = """A link of 100 Mbit/s and 30 ms with a queue of 375 kB (one bandwidth-delay product of the dry link), one
flow or four, 240 s (600 s in the full size). Rain as `perigee weather` makes it: a terminal at 28 GHz, an
elevation of 40 degrees, 14 dB without rain, attenuation by ITU-R P.618 and P.1853, rates in steps of DVB-S2 every
second, from an attenuation on that is exceeded 0.3 % of the time (London) or 1 % (Singapore). Each run has another
series, the same for all schemes. Rates change in the direction of the data. Ports report their new rate to OrbCC at
once, except in the section on stale reports (`telemetry_stale` of the port)."""
METRICS = """Goodput over the link's rate: payload of all flows over the integral of the rate, from 5 s on; headers
leave 0.965, and telemetry 0.93. RTT: mean over samples, and their 99th percentile, ms; the mean of flows. Sent again:
packets, % of those sent."""
CAPTIONS = {
    "rain": "Means over runs, and a point for each; dashed: the bounds.",
    "traces": "The first run of one flow, by second; grey: the rate of the link.",
}
CHANGES = (
    "The queue: it is one of bytes, so that its time grows as the rate falls; a limit in time would not.",
    "The report: ports that also report their queue late (not run); a late rate has a section above.",
    "The rain: at lower frequencies or higher elevations rates change less; where the link is blocked, timeouts count.",
)

COLUMNS = {
    "place": "recording of rain, or dry",
    "flows": "number of flows that share the link",
    "rate_mbps": "rate of the link, mean from 5 s on (in traces: of the second), Mbit/s",
    "lowest_mbps": "lowest rate of the link from 5 s on, Mbit/s",
    "goodput_mbps": "goodput of all flows, mean from 5 s on (in traces: of the second), Mbit/s",
    "share": "goodput over the rate of the link, both integrated from 5 s on, a fraction",
    "rtt_ms": "mean over RTT samples, mean of the flows (in traces: of the second), ms",
    "rtt_p99_ms": "99th percentile of the RTT, mean of the flows, ms",
    "resent_pct": "retransmitted packets, % of those sent",
    "timeouts": "retransmission timeouts of all flows",
    "t_s": "end of the second, s (traces)",
    "stale_s": "age of the rate that the port reports, s",
}

EXPERIMENTS = [
    Experiment(
        name="orbcc/rain",
        title="A link with a rate that follows rain",
        figure="left open: rates that change other than at handovers",
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
        second=Second("orbcc/rain", "Stale reports of the rate", stale_reports),
    )
]
