# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Downloads over a geostationary service: Claypool et al., Fig. 2 to 5, Tables I to III.

Steady state, as in the study: the second half of the bytes of a download; per download the 10th
percentile, median, 90th percentile and mean of throughput samples of 1 s. Throughput is that of a
packet capture, which counts data at arrival, whether in order or not: packets sent minus those lost
or in flight, from the server's counters.

Dip: half a second below a fifth of the mean throughput. The study describes dips as "minimal for
about 1 s"; these do not fill a sample of 1 s at an arbitrary phase.

Start-up: the values of Table III cannot be averages over "the first 30 s". They correspond to 50 MB
over their download time in Fig. 5, which is compared here. The tables also contain the first 30 s,
and 50 MB without the control exchange. The RTT is averaged over ACKs.

Download time: from the first packet of the measuring tool's control connection, 4.5 RTTs before the
SYN of the data connection; the time from that SYN is also in the tables.

Tests: Student's, two-sided, with Cohen's d; also Welch's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import Estimate, t_test
from perigee_studies import beside, frames, modes, style
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Evidence, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, near, order, value, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from perigee_studies.digest import Floats

FILE = "geo/download.toml"
SCHEMES = ("cubic", "bbr")
KEEP = Keep(
    ("goodput_bps", "delivered_bytes", "rtt_ns", "retransmits", "sent_packets", "lost_packets", "in_flight_bytes")
)
MSS = 1448
SAMPLES_PER_SECOND = 10
RTT_S = 0.6
CONTROL_S = 4.5 * RTT_S
"""Duration in s of the measuring tool's control exchange before data: connection, parameters, stream
(4 to 5 RTTs)."""
OBJECTS_MB = (1, 5, 30)
PUBLISHED_S = {"bbr": (7.0, 10.0, 15.0), "cubic": (9.0, 13.0, 22.5)}
"""Times in s to download 1, 5 and 30 MB (Fig. 5)."""
LONG_S, LONG_PCT = 2, 5
"""In Fig. 3, about `LONG_PCT` percent of both schemes' RTTs are `LONG_S` seconds or longer."""
SIZES_MB = tuple(range(1, 51))


def cases(ask: Ask) -> list[Case]:
    """80 downloads per scheme. The study never ran two at a time, so that each is a separate run."""
    runs = range(1, ask.count(4, 40, 80) + 1)
    return [Case(FILE, cc, {"run": run}, run, {}, KEEP) for run in runs for cc in ask.schemes(SCHEMES)]


def tables(found: Sequence[Outcome]) -> Tables:
    """Metrics of each download; download times by size; quantiles of the RTT; a trace per scheme."""
    first = [o for o in found if o.case.seed == 1]
    return {
        "runs": frames.table(found, row),
        "times": frames.series(found, _times),
        "rtts": frames.series(found, _rtts),
        "traces": frames.series(first, _seconds),
    }


def arrived_bytes(o: Outcome) -> Floats:
    """Bytes that have arrived at the client, shape (samples,), from the server's counters.

    All packets sent, minus those lost or in flight.
    """
    c = o.digest.columns
    sent, lost, flying = (np.nan_to_num(c[n][0]) for n in ("sent_packets", "lost_packets", "in_flight_bytes"))
    got: Floats = np.maximum.accumulate((sent - lost) * MSS - flying)
    return got


def _half(got: Floats) -> tuple[int, int]:
    """First and last sample of the second half of the bytes."""
    total = got[-1]
    return int(np.searchsorted(got, total / 2)), int(np.searchsorted(got, total))


def _per_second(got: Floats, begin: int, end: int) -> Floats:
    """Throughput in Mbit/s of each full second between two samples."""
    mbps: Floats = np.diff(got[begin : end + 1 : SAMPLES_PER_SECOND]) * 8e-6
    return mbps


def row(o: Outcome) -> dict[str, Any] | None:
    """Metrics of one download; None with less than 5 s of steady state."""
    d = o.digest
    got = arrived_bytes(o)
    begin, end = _half(got)
    steady = _per_second(got, begin, end)
    if len(steady) < 5:
        return None
    c = d.columns
    again = np.nan_to_num(c["retransmits"][0])
    sent = np.nan_to_num(c["sent_packets"][0])
    rtt = c["rtt_ns"][0, begin + 1 : end + 1] / 1e6
    fifty, thirty = _upto_mb(o, 50), d.t_s <= 30
    got_50_s = d.t_s[fifty] if fifty >= 0 else math.nan
    dips = _dips(got[begin : end + 1])
    return {
        "p10_mbps": np.quantile(steady, 0.1),
        "median_mbps": np.quantile(steady, 0.5),
        "p90_mbps": np.quantile(steady, 0.9),
        "mean_mbps": steady.mean(),
        "rtt_ms": np.nanmean(rtt),
        "rtt_over_2s_pct": 100 * float(np.nanmean(rtt >= 2000)),
        "retransmit_share": (again[end] - again[begin]) / max(1.0, sent[end] - sent[begin]),
        "startup_mbps": 50 * 8 / (got_50_s + CONTROL_S),
        "startup_data_mbps": 50 * 8 / got_50_s,
        "startup_rtt_ms": float(d.mean_rtt_ms(0.0, got_50_s)[0]) if fifty >= 0 else math.nan,
        "startup30_mbps": np.nan_to_num(d.mbps(0))[thirty].mean(),
        "completed_s": frames.number(d.flows[0]["completed_s"]),
        "dips": len(dips),
        "dip_spacing_s": float(np.median(np.diff([begin_s for begin_s, _ in dips]))) if len(dips) > 1 else math.nan,
        "dip_s": float(np.median([length_s for _, length_s in dips])) if dips else math.nan,
    }


def _upto_mb(o: Outcome, megabytes: float) -> int:
    """First sample at which this amount has been delivered in order; -1 = never."""
    got = np.nan_to_num(o.digest.columns["delivered_bytes"][0])
    at = int(np.searchsorted(got, megabytes * 1e6))
    return at if at < len(got) else -1


def _dips(got: Floats) -> list[tuple[float, float]]:
    """Start and length in s of each dip: half a second below a fifth of the mean throughput."""
    half = SAMPLES_PER_SECOND // 2
    if len(got) <= half:
        return []
    rate = got[half:] - got[:-half]
    low = np.concatenate([[False], rate < 0.2 * rate.mean(), [False]])
    begins, ends = np.flatnonzero(~low[:-1] & low[1:]), np.flatnonzero(low[:-1] & ~low[1:])
    return [
        (b / SAMPLES_PER_SECOND, (e - b + half - 1) / SAMPLES_PER_SECOND) for b, e in zip(begins, ends, strict=True)
    ]


def time_to_get(o: Outcome, megabytes: float) -> float:
    """Time in s from the SYN of the data connection until this amount has arrived in order."""
    return float(np.interp(megabytes * 1e6, np.nan_to_num(o.digest.columns["delivered_bytes"][0]), o.digest.t_s))


def _times(o: Outcome) -> list[dict[str, Any]]:
    rows = []
    for mb in SIZES_MB:
        seconds = time_to_get(o, mb)
        rows.append({"mb": mb, "data_s": seconds, "control_s": seconds + CONTROL_S})
    return rows


def _rtts(o: Outcome) -> list[dict[str, Any]]:
    begin, end = _half(arrived_bytes(o))
    rtt = o.digest.columns["rtt_ns"][0, begin + 1 : end + 1] / 1e6
    rtt = rtt[~np.isnan(rtt)]
    return [{"quantile": q, "rtt_ms": float(np.quantile(rtt, q))} for q in np.linspace(0, 1, 41)] if len(rtt) else []


def _seconds(o: Outcome) -> list[dict[str, Any]]:
    rate = _per_second(arrived_bytes(o), 0, len(o.digest.t_s) - 1)
    return [{"t_s": i + 1, "goodput_mbps": float(v)} for i, v in enumerate(rate)]


def draw(t: Tables) -> dict[str, Any]:
    """Draws box plots of steady throughput, distributions, and one trace per scheme."""
    return {"steady": _boxes(t["runs"]), "distributions": _distributions(t), "trace": _trace(t)}


def _boxes(runs: pd.DataFrame) -> Any:
    ccs = frames.schemes(runs)
    figure, axes = style.panels(4, 1, width=1.7, height=2.4, sharey=True)
    names = ("10th percentile", "median", "90th percentile", "mean")
    for a, column, title in zip(axes[0], ("p10_mbps", "median_mbps", "p90_mbps", "mean_mbps"), names, strict=True):
        data = [runs[runs["cc"] == cc][column].dropna().to_numpy() for cc in ccs]
        drawn = a.boxplot(data, whis=1.4, widths=0.55, patch_artist=True, medianprops={"color": "black"})
        for patch, cc in zip(drawn["boxes"], ccs, strict=True):
            patch.set_facecolor(style.look(cc)["color"])
        a.set_xticks(range(1, len(ccs) + 1), [style.label(cc) for cc in ccs])
        a.set_title(title, loc="left")
    for x, cc in enumerate(ccs, 1):
        if cc in SCHEMES:
            style.tick(axes[0][3], x, 0.4, TABLES["steady"][4][0][SCHEMES.index(cc)])
    axes[0][0].set_ylabel("steady throughput, Mbit/s")
    return figure


def _distributions(t: Tables) -> Any:
    """Draws CDFs of RTTs and retransmissions, and download times with 95 % intervals."""
    runs = t["runs"]
    figure, ((rtts, again, times),) = style.panels(3, 1, width=2.9, height=2.5)
    for cc in frames.schemes(runs):
        style.cdf(rtts, t["rtts"][t["rtts"]["cc"] == cc]["rtt_ms"].to_numpy() / 1e3, cc)
        style.cdf(again, 100 * runs[runs["cc"] == cc]["retransmit_share"].to_numpy(), cc)
        by_size = t["times"][t["times"]["cc"] == cc].groupby("mb")["control_s"]
        mean, half = by_size.mean(), 1.96 * by_size.std().fillna(0) / np.sqrt(by_size.count())
        times.plot(mean.index, mean, label=style.label(cc), **style.line(cc))
        times.fill_between(mean.index, mean - half, mean + half, color=style.look(cc)["color"], alpha=0.25)
        for mb, seconds in zip(OBJECTS_MB, PUBLISHED_S.get(cc, ()), strict=False):
            (drawn,) = times.plot(mb, seconds, style.look(cc)["marker"], color="black", markersize=4, fillstyle="none")
            style.mark(times, drawn)
        if cc in SCHEMES:
            style.published(rtts, TABLES["rtt"][4][0][SCHEMES.index(cc)] / 1e3, style.look(cc)["color"], None)
    (drawn,) = rtts.plot(LONG_S, 1 - LONG_PCT / 100, "o", color="black", markersize=4, fillstyle="none")
    style.mark(rtts, drawn)
    rtts.set_xlabel("RTT in steady state, s")
    rtts.set_ylabel("share of samples")
    again.set_xlabel("retransmitted, % of the packets of a download")
    again.set_xscale("symlog", linthresh=0.01)
    again.set_xlim(left=0)
    again.set_ylabel("share of downloads")
    times.set_xlabel("object, MB (black: published)")
    times.set_ylabel("time to download, s")
    style.shared_legend(figure, (rtts, again, times))
    return figure


def _trace(t: Tables) -> Any:
    figure, axes = style.panels(1, 1, width=7.2, height=2.0)
    for cc in frames.schemes(t["runs"]):
        one = t["traces"][t["traces"]["cc"] == cc]
        axes[0][0].plot(one["t_s"], one["goodput_mbps"], label=style.label(cc), linewidth=0.9, **style.line(cc))
    axes[0][0].set_xlabel("time, s")
    axes[0][0].set_ylabel("throughput, Mbit/s")
    style.shared_legend(figure, axes[0])
    return figure


def _of(runs: pd.DataFrame, cc: str, column: str) -> Estimate:
    return frames.average(runs, column, cc=cc)


def check(t: Tables) -> list[Verdict]:
    """Compares start-up, steady state and their tests with the paper's tables."""
    runs = t["runs"]
    return [
        *_means(runs),
        *_orders(runs),
        *_times_to_download(t["times"], runs),
        *_probes(runs[runs["cc"] == "bbr"]),
        *_tests(runs),
    ]


def _means(runs: pd.DataFrame) -> list[Verdict]:
    """Claims on Tables I to III: throughput in Mbit/s and RTT in ms, with their tolerances."""
    out = []
    for key, (words, source, column, unit, published) in TABLES.items():
        for i, cc in enumerate(SCHEMES):
            ours, name = _of(runs, cc, column), style.label(cc)
            mean, sd = (row[i] for row in published)
            tolerance = round(MEAN_SHARE * mean, 1)
            out.append(near(f"{key}-{cc}", f"{name}: mean {words}", source, mean, ours, tolerance, unit))
            spread = value(float(runs[runs["cc"] == cc][column].std()))
            limit = round(SPREAD_SHARE * sd, 2)
            claim = f"{name}: standard deviation of the {words}"
            out.append(near(f"{key}-sd-{cc}", claim, source, sd, spread, limit, unit))
    return out


TABLES = {
    "steady": ("steady throughput", "Table I", "mean_mbps", "Mbit/s", ((123.3, 112.9), (17.0, 12.2))),
    "rtt": ("steady RTT", "Table II", "rtt_ms", "ms", ((821, 780), (206.4, 125.1))),
    "start": ("start-up throughput (first 50 MB)", "Table III", "startup_mbps", "Mbit/s", ((16.6, 23.1), (0.3, 1.8))),
    "start-rtt": ("start-up RTT (first 50 MB)", "Table III", "startup_rtt_ms", "ms", ((757, 917), (22.3, 42.9))),
}
"""Published means and standard deviations over downloads, for Cubic and for BBR."""
MEAN_SHARE, SPREAD_SHARE = 0.1, 0.5
"""Tolerances of means and standard deviations, relative to the published value."""


def _times_to_download(times: pd.DataFrame, runs: pd.DataFrame) -> list[Verdict]:
    out = []
    for cc, seconds in PUBLISHED_S.items():
        for mb, published_s in zip(OBJECTS_MB, seconds, strict=True):
            ours = frames.average(times, "control_s", cc=cc, mb=mb)
            words = f"{style.label(cc)}: time to download {mb} MB"
            out.append(near(f"time-{cc}-{mb}", words, "Fig. 5", published_s, ours, 0.25 * published_s, "s"))
    mean_s = times.groupby(["cc", "mb"])["control_s"].mean()
    both = set(SCHEMES) <= set(runs["cc"])
    ahead = {f"{mb} MB": bool(mean_s["bbr", mb] < mean_s["cubic", mb]) for mb in SIZES_MB if both}
    out.append(count("ahead", "BBR ahead at every size", "Fig. 5", "at every size", ahead))
    return out


def _probes(bbr: pd.DataFrame) -> list[Verdict]:
    """Claim on BBR's search for the minimum RTT, visible in four of five traces."""
    most = round(0.8 * len(bbr))
    deep = {f"run {r.run}": r.dips > 0 for r in bbr.itertuples()}
    regular = {f"run {r.run}": 8.5 <= r.dip_spacing_s <= 11.5 for r in bbr.itertuples()}
    words = "BBR: throughput falls below a fifth"
    return [
        count("probe-depth", f"{words} in the steady half", "section IV", "every 10 s", deep, most),
        count("probe", f"{words} every 10 ± 1.5 s", "section IV", "every 10 s", regular, most),
    ]


def _orders(runs: pd.DataFrame) -> list[Verdict]:
    def rows(column: str, ccs: Sequence[str]) -> list[tuple[str, float]]:
        return [(style.label(cc), _of(runs, cc, column).value) for cc in ccs]

    spread = [(style.label(cc), float(runs[runs["cc"] == cc]["rtt_ms"].std())) for cc in ("cubic", "bbr")]
    bbr, cubic = (_of(runs, cc, "startup_mbps").value for cc in ("bbr", "cubic"))
    lead = value(100 * (bbr / cubic - 1))
    late = frames.average(runs[runs["cc"].isin(SCHEMES)], "rtt_over_2s_pct")
    return [
        within(
            "late",
            f"RTTs of {LONG_S} s and more, of both",
            "Fig. 3",
            f"about {LONG_PCT} % (figure)",
            late,
            2.5,
            7.5,
            "%",
        ),
        order("steady", "Cubic above BBR in steady state", "Table I", rows("mean_mbps", ["cubic", "bbr"])),
        order("p10", "BBR's 10th percentile below Cubic's", "Fig. 2", rows("p10_mbps", ["cubic", "bbr"])),
        order("p90", "BBR's 90th percentile at least Cubic's", "Fig. 2", rows("p90_mbps", ["bbr", "cubic"])),
        order("rtt-spread", "RTT of Cubic more spread", "Table II", spread),
        order("retransmissions", "Cubic retransmits more", "Fig. 4", rows("retransmit_share", ["cubic", "bbr"])),
        within("startup", "BBR's start-up faster by", "Table III", "39 %", lead, 25, 60, "%", kind=Kind.NUMBER),
    ]


def _tests(runs: pd.DataFrame) -> list[Verdict]:
    out = []
    for key, column, source, published in (
        ("steady", "mean_mbps", "section IV", 0.7),
        ("startup", "startup_mbps", "section IV", 5.0),
    ):
        a, b = (runs[runs["cc"] == cc][column].dropna().to_numpy() for cc in SCHEMES)
        if len(a) < 2 or len(b) < 2 or a.std() + b.std() == 0:
            continue
        student, welch = t_test(a, b), t_test(a, b, welch=True)
        numbers = f"t({student.freedom:.0f}) = {student.t:.1f}, d = {student.d:.2f}; Welch p = {welch.p:.2g}"
        words = f"{key}: difference of the means significant ({numbers})"
        out.append(
            within(
                f"test-{key}",
                words,
                source,
                f"p < 0.0001, d = {published}",
                value(student.p),
                high=0.05,
                kind=Kind.NUMBER,
            )
        )
        effect = f"{key}: size of the effect (Cohen's d)"
        out.append(near(f"effect-{key}", effect, source, published, value(student.d), published / 2))
    return out


METHOD = """1 GB per download over 144 Mbit/s with a queue of 36 MB that drops at random from 18 MB on (probability 0
to 0.1 at 36 MB), and with the RTTs and losses of the published week of pings (`geo/ping`); the return link has 15
Mbit/s (assumed). Linux 4.15's transport (profile `study-geo`), buffers of 60 MB, of which that kernel offers half as
window. Steady state: the second half of the bytes, counted at arrival, in order or not. Download times, and
with them the start-up throughput, include the measuring tool's control exchange of 4.5 RTTs. `geo/set-ups` varies the
settings on which the results depend."""
DEVIATIONS = (
    "The RTT is drawn every 200 ms, correlated over 2 s, and released in order.",
    "The rate of the return link, the split of the delay and the law of the random drops are not published; ours are "
    "assumptions.",
    "Table III is compared with the first 50 MB: its numbers cannot be those of the first 30 s.",
)
METRICS = """Steady state: the second half of the bytes of a download; 10th percentile, median, 90th percentile
and mean of its throughput in each second, Mbit/s. Throughput counts data at arrival, in order or not. RTT: mean
over the samples of steady state, ms. Start-up: 50 MB over their download time with the control exchange, Mbit/s
(`startup30_mbps`: the first 30 s; `startup_data_mbps`: without the exchange); RTT averaged over ACKs. Time to
download: from the first packet of the control exchange until this amount has arrived in order, s (`data_s`: from
the SYN of the data connection). Dip: half a second below a fifth of the mean throughput. Tests: Student's,
two-sided, with Cohen's d; also Welch's."""
CAPTIONS = {
    "steady": "One value per download. Boxes: quartiles and median; whiskers: up to 1.4 interquartile ranges; circles: "
    "outliers. Thick black lines in the last panel: published means.",
    "distributions": "Left: quantiles of each download's RTTs in steady state, all downloads together; dotted: "
    "published means, circle: published share below 2 s (both schemes). Middle: each "
    "download's retransmissions (linear below 0.01 %). Right: mean with its 95 % interval; black: published, "
    "circles for Cubic, squares for BBRv1.",
    "trace": "Throughput per second of run 1.",
}
WHY_RATE = (
    "144 Mbit/s is the peak rate of the service, which it did not always reach: with a lower rate and all else "
    "unchanged (`geo/set-ups`) both schemes have the published means. Their ratio is the published one already at "
    "144 Mbit/s."
)
WHY_RAMP = (
    "A scheme that starts with 10 segments and doubles once per base RTT reaches 144 Mbit/s after about ten rounds, as "
    "here. The published times require the RTT of Table III from the start: with it, or over a return link that "
    "requests its capacity, BBR's start-up is reproduced (`geo/set-ups`). Another rate, drop law, pacing rule or "
    "window does not reproduce it."
)
WHY_LATE = (
    "The RTT of the path alone rarely exceeds 1.7 s (`geo/ping`), and a queue of 18 MB adds 1 s at 144 Mbit/s. RTTs "
    "of 2 s require a longer queue, or a rate that falls temporarily while 18 MB are queued (varying rates in "
    "`geo/set-ups`)."
)


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations from the spread, queues and dips of these downloads."""
    runs = t["runs"]
    of = {cc: runs[runs["cc"] == cc] for cc in SCHEMES}
    mean, sd = ({cc: f(of[cc]["mean_mbps"]) for cc in SCHEMES} for f in (_mean, _deviation))
    theirs = TABLES["steady"][4]
    effect = (
        f"The means of the two differ by {mean['cubic'] - mean['bbr']:.1f} Mbit/s (published "
        f"{theirs[0][0] - theirs[0][1]:.1f}), but throughput varies less between downloads here: the standard "
        f"deviation is {sd['cubic']:.1f} (Cubic) and {sd['bbr']:.1f} Mbit/s (BBR), published {theirs[1][0]:g} and "
        f"{theirs[1][1]:g}. Neighbours on the carrier raise it (`geo/neighbours`), most with a load that follows the "
        "hour (`geo/campaign`)."
    )
    queue = (
        "Here Cubic loses packets only at the queue, and fills it to the level at which random drops limit it: 18 MB "
        f"and more, which adds up to 1 s. Its RTT is {_mean(of['cubic']['rtt_ms']):.0f} ms, with a standard deviation "
        f"of {_deviation(of['cubic']['rtt_ms']):.0f} ms over downloads. The published mean and deviation imply that "
        "the queue was often much shorter. Losses that five pings per second rarely encounter are enough for that "
        "(fades of 10 ms in `geo/set-ups`); another drop law or window is not."
    )
    spacing = of["bbr"]["dip_spacing_s"]
    probes = (
        "Linux's BBR probes for the minimum RTT 10 s after it last found one, and a probe takes the time to drain the "
        f"pipe and a round trip: dips start every {spacing.mean():.1f} s (mean over {spacing.count()} downloads)."
    )
    top = abs(_mean(of["bbr"]["p90_mbps"]) / _mean(of["cubic"]["p90_mbps"]) - 1)
    return {
        **{f"steady-sd-{cc}": effect for cc in SCHEMES},
        **{f"{key}-{cc}": queue for key in ("rtt", "rtt-sd") for cc in SCHEMES},
        "effect-steady": effect,
        "rtt-spread": queue,
        "probe": probes,
        "p90": f"Both 90th percentiles are close to the rate of the link; they differ by {100 * top:.1f} %.",
    }


def _mean(values: pd.Series) -> float:
    return float(values.mean())


def _deviation(values: pd.Series) -> float:
    return float(values.std())


EXPLAINED = {
    **{f"{key}-{cc}": WHY_RAMP for key in ("start-rtt", "start-rtt-sd", "start-sd") for cc in SCHEMES},
    "steady-cubic": WHY_RATE,
    "steady-bbr": WHY_RATE,
    "late": WHY_LATE,
    "start-bbr": WHY_RAMP,
    "startup": WHY_RAMP,
    "time-bbr-30": WHY_RAMP,
}

FINE = "fine steps"
"""Variant with the jitter drawn ten times as often."""


def fine_cases(ask: Ask) -> list[Case]:
    """First downloads of Cubic, with the jitter drawn every 20 ms."""
    mine = [c for c in cases(ask) if c.cc == "cubic" and c.seed <= ask.count(2, 20, 20)]
    return beside.varied(mine, FINE, {"jitter.step": "20 ms"})


def why_modes(t: Tables, variants: Tables) -> dict[str, str]:
    """Explanations from the start-up of Cubic with both intervals of the jitter."""
    runs, fine = (frames.pick(x["runs"], cc="cubic")["startup_mbps"] for x in (t, variants))
    text = (
        f"Over {len(runs)} downloads Cubic's start-up has {_modes(runs)}. With the jitter drawn ten times as often it "
        f"has {_modes(fine)} over {len(fine)}, with a standard deviation of {fine.std():.2f} instead of "
        f"{runs.std():.2f} Mbit/s."
    )
    return dict.fromkeys(("start-cubic", "start-sd-cubic", "start-rtt-cubic", "start-rtt-sd-cubic"), text)


def _modes(values: pd.Series[float]) -> str:
    parts = modes.split(values.tolist())
    if parts is not None:
        return f"two modes ({modes.in_words(parts, 'Mbit/s')})"
    return f"one mode ({values.min():.1f} to {values.max():.1f} Mbit/s)"


EXPERIMENTS = [
    Experiment(
        name="geo/downloads",
        title="Downloads of 1 GB",
        figure="Fig. 2 to 5, Tables I to III",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=check,
        draw=draw,
        method=METHOD,
        deviations=DEVIATIONS,
        explained=EXPLAINED,
        explain=explain,
        evidence=Evidence(fine_cases, why_modes, (FINE,)),
        metrics=METRICS,
        captions=CAPTIONS,
    )
]
