# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Claims, plots and texts of `geo/campaign`, computed from its tables."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import Estimate, mean, t_test
from perigee_studies import frames, style
from perigee_studies.figures import geo_downloads as downloads
from perigee_studies.kinds import Kind
from perigee_studies.verdicts import Verdict, near, value, within

if TYPE_CHECKING:
    import pandas as pd

    from perigee_studies.model import Tables

WIDTH = 116
QUIET, STEADY, DAY = "quiet", "constant load", "day"
EFFECT, LATE = 0.7, (2.5, 7.5)
"""Published size of the effect; bounds of the share of long RTTs in %, around 5."""


def _of(t: Tables, setting: str, cc: str) -> pd.DataFrame:
    return frames.pick(t["runs"], setting=setting, cc=cc)


def _settings(t: Tables) -> list[str]:
    return list(dict.fromkeys(t["runs"]["setting"]))


def over_days(t: Tables, setting: str, cc: str, column: str, how: str = "mean") -> Estimate:
    """Mean or standard deviation (`how` = "std") over the downloads of a day.

    Of several drawn days: the mean over days, with an interval over days. Of one day a mean has an
    interval over its downloads, and a standard deviation none.
    """
    here = _of(t, setting, cc)
    if here["draw"].nunique() > 1:
        return mean(getattr(here.groupby("draw")[column], how)().to_numpy())
    return frames.average(here, column) if how == "mean" else value(float(here[column].std()))


def verdicts(t: Tables) -> list[Verdict]:
    """Means and standard deviations of Tables I to III, the size of the effect, and the pings, by setting."""
    out = []
    for name in _settings(t):
        for key, (words, source, column, unit, published) in downloads.TABLES.items():
            for i, cc in enumerate(downloads.SCHEMES):
                place = f"{key}-{cc}-{name}"
                centre, sd = (row[i] for row in published)
                within_mean, within_sd = _tolerances(centre, sd)
                claim = f"{name}: {style.label(cc)}: mean {words}"
                ours = over_days(t, name, cc, column)
                out.append(near(place, claim, source, centre, ours, within_mean, unit, kind=Kind.TUNED))
                claim = f"{name}: {style.label(cc)}: standard deviation of the {words}"
                spread = over_days(t, name, cc, column, "std")
                out.append(near(f"sd-{place}", claim, source, sd, spread, within_sd, unit, kind=Kind.TUNED))
        claim = f"{name}: size of the effect in steady state (Cohen's d)"
        out.append(near(f"effect-{name}", claim, "section IV", EFFECT, _effect(t, name), EFFECT / 2, kind=Kind.TUNED))
        claim = f"{name}: RTTs of {downloads.LONG_S} s and more, of both"
        out.append(within(f"late-{name}", claim, "Fig. 3", "about 5 %", _late(t, name), *LATE, "%", kind=Kind.TUNED))
    return [*out, *_baseline(t)]


def _tolerances(centre: float, sd: float) -> tuple[float, float]:
    return round(downloads.MEAN_SHARE * centre, 1), round(downloads.SPREAD_SHARE * sd, 2)


def _late(t: Tables, setting: str) -> Estimate:
    """Share of long RTTs, of both schemes: over downloads of one day, or over days."""
    here = frames.pick(t["runs"], setting=setting)
    if here["draw"].nunique() > 1:
        return mean(here.groupby("draw")["rtt_over_2s_pct"].mean().to_numpy())
    return frames.average(here, "rtt_over_2s_pct")


def _effect(t: Tables, setting: str) -> Estimate:
    """Cohen's d of the day, or the mean over days."""
    days = [effect({"runs": one}, setting) for _, one in frames.pick(t["runs"], setting=setting).groupby("draw")]
    return mean(days) if len(days) > 1 else value(days[0])


def _held(t: Tables, setting: str) -> dict[str, dict[int, bool]]:
    """Whether each published value is within its tolerance in each drawn day: claim -> day -> held.

    Values are compared directly, as a day is one draw.
    """
    out: dict[str, dict[int, bool]] = {}
    for draw, one in frames.pick(t["runs"], setting=setting).groupby("draw"):
        day, found = {"runs": one}, {}
        for words, _, column, _, published in downloads.TABLES.values():
            for i, cc in enumerate(downloads.SCHEMES):
                centre, sd = (row[i] for row in published)
                here, (near_mean, near_sd) = _of(day, setting, cc)[column], _tolerances(centre, sd)
                found[f"{style.label(cc)}: mean {words}"] = abs(here.mean() - centre) <= near_mean
                found[f"{style.label(cc)}: standard deviation of the {words}"] = abs(here.std() - sd) <= near_sd
        found["size of the effect (Cohen's d)"] = abs(effect(day, setting) - EFFECT) <= EFFECT / 2
        found[f"RTTs of {downloads.LONG_S} s and more"] = LATE[0] <= one["rtt_over_2s_pct"].mean() <= LATE[1]
        for claim, held in found.items():
            out.setdefault(claim, {})[int(draw)] = bool(held)
    return out


def _baseline(t: Tables) -> list[Verdict]:
    """Claims on the week of pings."""
    week = _week(t)
    body, most = value(_body(week)), value(_pattern(week))
    of, claim = "section III", "medians of pings differ by the hour of the day by"
    return [
        within("body", "pings between 560 and 625 ms", of, "99 %", body, 98.5, 99.5, "%", kind=Kind.TUNED),
        within("hours", claim, of, "no pattern", most, 0, 2, "ms", kind=Kind.TUNED),
    ]


def effect(t: Tables, setting: str) -> float:
    """Cohen's d of the steady throughputs of both schemes; NaN for constant ones."""
    a, b = (_of(t, setting, cc)["mean_mbps"].dropna().to_numpy() for cc in downloads.SCHEMES)
    return t_test(a, b).d if min(len(a), len(b)) > 1 and a.std() + b.std() > 0 else float("nan")


def _week(t: Tables) -> pd.DataFrame:
    return frames.pick(t["pings"], part="pings")


def _body(week: pd.DataFrame) -> float:
    """Share of the answered pings of the week within 560 to 625 ms, in %."""
    return float((week["body_pct"] * week["answers"]).sum() / week["answers"].sum())


def _pattern(week: pd.DataFrame) -> float:
    """Largest difference in ms of an hour's median from that of all hours (means over the days)."""
    hours = week.groupby("hour")["median_ms"].mean()
    return float((hours - hours.median()).abs().max())


def draw(t: Tables) -> dict[str, Any]:
    """Plots both throughputs of each cycle over the day, by setting, and means and deviations by drawn day."""
    return {"day": _draw_day(t), "days": _draw_days(t)}


def _draw_day(t: Tables) -> Any:
    there = _settings(t)
    first = frames.pick(t["runs"], draw=1)
    figure, axes = style.panels(len(there), 2, width=2.1, height=2.1, sharex=True, sharey="row")
    for row, (key, limit) in enumerate((("steady", 150), ("start", 45))):
        words, _, column, unit, (means, deviations) = downloads.TABLES[key]
        for x, name in enumerate(there):
            axis = axes[row][x]
            for i, cc in enumerate(downloads.SCHEMES):
                look, here = style.look(cc), _of({"runs": first}, name, cc)
                axis.axhspan(means[i] - deviations[i], means[i] + deviations[i], color=look["color"], alpha=0.13)
                mean = axis.axhline(means[i], color=look["color"], linewidth=1, linestyle=(0, (1, 1.5)), zorder=0.5)
                style.mark(axis, mean)
                axis.plot(here["hour"], here[column], look["marker"], color=look["color"], markersize=2.5,
                          label=style.label(cc))  # fmt: skip
            axis.set_ylim(0, limit)
            if row == 0:
                axis.set_title(name, loc="left")
            else:
                axis.set_xlabel("hour of the day")
                axis.set_xticks(range(0, 25, 6))
        axes[row][0].set_ylabel(f"{words.replace(' (first 50 MB)', '')},\n{unit}")
    style.shared_legend(figure, axes[0])
    return figure


def _draw_days(t: Tables) -> Any:
    """Means and standard deviations of each drawn day, with the published ones and their tolerances."""
    figure, axes = style.panels(4, 1, width=2.1, height=2.3)
    panels = [(key, how) for key in ("steady", "rtt") for how in ("mean", "std")]
    for axis, (key, how) in zip(axes[0], panels, strict=True):
        words, _, column, unit, published = downloads.TABLES[key]
        for i, cc in enumerate(downloads.SCHEMES):
            look, by_day = style.look(cc), getattr(_of(t, DAY, cc).groupby("draw")[column], how)()
            level, tolerance = published[how == "std"][i], _tolerances(published[0][i], published[1][i])[how == "std"]
            axis.axhspan(level - tolerance, level + tolerance, color=look["color"], alpha=0.13, linewidth=0)
            line = axis.axhline(level, color=look["color"], linewidth=1, linestyle=(0, (1, 1.5)), zorder=0.5)
            style.mark(axis, line)
            axis.plot(by_day.index, by_day, look["marker"], color=look["color"], markersize=4, label=style.label(cc))
        axis.set_title(f"{'mean' if how == 'mean' else 'deviation'}, {words}", loc="left")
        axis.set_ylabel(unit)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("drawn day")
        axis.set_xticks(sorted(set(by_day.index)))
    style.shared_legend(figure, axes[0])
    return figure


def column(alone: Tables, t: Tables) -> str:
    """The section on the page of the downloads: published, isolated, and the campaign's settings."""
    there = _settings(t)
    heads = ["", "published", "each alone", *(f"campaign, {name}" for name in there)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for words, _, name, unit, (means, deviations) in downloads.TABLES.values():
        for i, cc in enumerate(downloads.SCHEMES):
            single = frames.pick(alone["runs"], cc=cc)[name]
            found = [(single.mean(), single.std()), *(_pair(t, setting, cc, name) for setting in there)]
            ours = [f"{mean:.1f} ± {sd:.1f}" for mean, sd in found]
            cells = [f"{style.label(cc)}: {words}, {unit}", f"{means[i]:g} ± {deviations[i]:g}", *ours]
            lines.append(f"| {' | '.join(cells)} |")
    effects = [effect({"runs": alone["runs"].assign(setting="")}, ""), *(_effect(t, name).value for name in there)]
    late = [alone["runs"]["rtt_over_2s_pct"].mean(), *(_late(t, name).value for name in there)]
    shares = " | ".join(f"{x:.1f}" for x in late)
    lines.append(f"| RTTs of {downloads.LONG_S} s and more, of both, % | about {downloads.LONG_PCT} | {shares} |")
    lines.append(f"| steady: Cohen's d | {EFFECT} | {' | '.join(f'{d:.2f}' for d in effects)} |")
    n = len(_of(t, there[0], downloads.SCHEMES[0]))
    return (
        f"{changed(t)}\n\nMeans and standard deviations over {len(alone['runs']) // 2} downloads each alone, and over "
        f"the {n} cycles of a day of [the campaign](geo-campaign.md) (*{DAY}*: means over {_days(t)} drawn days):\n\n"
        + "\n".join(lines)
    )


def _pair(t: Tables, setting: str, cc: str, column: str) -> tuple[float, float]:
    """Mean and standard deviation over the downloads of a day; means over drawn days."""
    mean, sd = (over_days(t, setting, cc, column, how).value for how in ("mean", "std"))
    return mean, sd


def _days(t: Tables) -> int:
    return int(frames.pick(t["runs"], setting=DAY)["draw"].nunique())


def changed(t: Tables) -> str:
    """What the campaign changes and what it does not, and in how many of the drawn days."""
    there = _settings(t)

    def pair(setting: str, column: str, row: int, digits: int = 1) -> str:
        found = (_pair(t, setting, cc, column)[row] for cc in downloads.SCHEMES)
        return " and ".join(f"{x:.{digits}f}" for x in found)

    def published(key: str, row: int) -> str:
        return " and ".join(f"{x:g}" for x in downloads.TABLES[key][4][row])

    spreads = "; ".join(f"{name} {pair(name, 'mean_mbps', 1)}" for name in there)
    starts = "; ".join(f"{name} {pair(name, 'startup_mbps', 0)}" for name in (QUIET, DAY))
    d = _effect(t, DAY)
    return (
        f"**Taking turns changes none of the means by itself. Neighbours raise the standard deviations of the steady "
        f"throughput: with a constant load they are within the tolerance (± {100 * downloads.SPREAD_SHARE:.0f} %) of "
        f"the published ones {_reached(t, STEADY)}, with a load that follows the hour {_in_days(t)}; Cubic's start-up "
        f"stays as it was.** The load was chosen with Cubic's published mean in view (`geo/neighbours`). "
        f"Standard deviations of Cubic and BBRv1, Mbit/s (published {published('steady', 1)}): {spreads}. "
        f"Means over {_days(t)} drawn days: {pair(DAY, 'mean_mbps', 0)} Mbit/s at {pair(DAY, 'rtt_ms', 0, 0)} ms "
        f"(published {published('steady', 0)} Mbit/s at {published('rtt', 0)} ms); {_between_days(t)}. The size of the "
        f"effect is d = {d.value:.2f} (published {EFFECT}){_range(t)}. "
        f"Start-ups, Mbit/s (published {published('start', 0)}): {starts}."
    )


def _in_days(t: Tables) -> str:
    """In how many drawn days deviations, means and RTTs are within the tolerances."""
    held, n = _held(t, DAY), _days(t)

    def both(words: str) -> str:
        counts = [sum(held[f"{style.label(cc)}: {words}"].values()) for cc in downloads.SCHEMES]
        names = " and ".join(f"{k} ({style.label(cc)})" for k, cc in zip(counts, downloads.SCHEMES, strict=True))
        return f"{counts[0]}" if len(set(counts)) == 1 else names

    deviations = both("standard deviation of the steady throughput")
    means, rtts = both("mean steady throughput"), both("mean steady RTT")
    return (
        f"in {deviations} of {n} drawn days for both, mean throughputs in {means} and mean RTTs in {rtts} of them"
        if deviations.isdigit()
        else f"in {deviations} of {n} drawn days, mean throughputs in {means} and mean RTTs in {rtts} of them"
    )


def _between_days(t: Tables) -> str:
    """Spread over days of the means and deviations of the steady throughput."""
    parts = []
    for how, words in (("mean", "means"), ("std", "deviations")):
        each = [getattr(_of(t, DAY, cc).groupby("draw")["mean_mbps"], how)() for cc in downloads.SCHEMES]
        ends = " and ".join(f"{x.min():.1f} to {x.max():.1f}" for x in each)
        parts.append(f"{words} are {ends}")
    return f"from day to day {', '.join(parts)} Mbit/s"


def _range(t: Tables) -> str:
    """Smallest and largest size of the effect of a day."""
    days = [effect({"runs": one}, DAY) for _, one in frames.pick(t["runs"], setting=DAY).groupby("draw")]
    return f", {min(days):.2f} to {max(days):.2f} by day" if len(days) > 1 else ""


def _reached(t: Tables, setting: str) -> str:
    """The schemes with a standard deviation of the steady throughput within the tolerance."""
    sds = zip(downloads.SCHEMES, downloads.TABLES["steady"][4][1], strict=True)
    near_by = {cc: abs(_pair(t, setting, cc, "mean_mbps")[1] - sd) <= downloads.SPREAD_SHARE * sd for cc, sd in sds}
    names = [style.label(cc) for cc, held in near_by.items() if held]
    missing = "" if len(names) == len(near_by) else " only"
    return f"for {' and '.join(names)}{missing}" if names else "for neither scheme"


def summary(t: Tables) -> list[str]:
    """Means and deviations of each drawn day, and in how many days they are within the tolerances."""
    held, draws = _held(t, DAY), sorted(set(frames.pick(t["runs"], setting=DAY)["draw"]))
    heads = ["", "published", *(f"day {draw}" for draw in draws), "deviation over days", "within: mean", "deviation"]
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for words, _, column, unit, (means, deviations) in downloads.TABLES.values():
        for i, cc in enumerate(downloads.SCHEMES):
            days = _of(t, DAY, cc).groupby("draw")[column]
            each = [f"{m:.1f} ± {sd:.1f}" for m, sd in zip(days.mean(), days.std(), strict=True)]
            over = f"{days.mean().std():.1f} and {days.std().std():.1f}"
            names = (f"{style.label(cc)}: {what} {words}" for what in ("mean", "standard deviation of the"))
            counts = [f"{sum(held[name].values())} of {len(draws)}" for name in names]
            what = f"{style.label(cc)}: {words}, {unit}"
            lines.append(f"| {' | '.join([what, f'{means[i]:g} ± {deviations[i]:g}', *each, over, *counts])} |")
    days_d = [effect({"runs": frames.pick(t["runs"], setting=DAY, draw=draw)}, DAY) for draw in draws]
    late = [frames.pick(t["runs"], setting=DAY, draw=draw)["rtt_over_2s_pct"].mean() for draw in draws]
    for name, words, published, values, digits in (
        ("size of the effect (Cohen's d)", "steady: Cohen's d", f"{EFFECT}", days_d, 2),
        (f"RTTs of {downloads.LONG_S} s and more", f"RTTs of {downloads.LONG_S} s and more, of both, %",
         f"about {downloads.LONG_PCT}", late, 1),
    ):  # fmt: skip
        shown, over = [f"{x:.{digits}f}" for x in values], f"{np.std(values, ddof=1):.{digits}f}"
        lines.append(
            f"| {' | '.join([words, published, *shown, over, f'{sum(held[name].values())} of {len(draws)}'])} | |"
        )
    text = (
        "The setting *day*: mean ± standard deviation over the downloads of each drawn day, the standard deviation "
        "over days of these means and of these deviations, and the number of days in which each is within the "
        "tolerance."
    )
    return [*lines, "", *textwrap.wrap(text, WIDTH)]


def finding(t: Tables) -> str:
    """The result, with the pings."""
    week, pairs = _week(t), "; ".join(f"{name} {_together(t, name):.2f}" for name in _settings(t))
    return (
        f"{changed(t)} Of the week of pings {_body(week):.1f} % take 560 to 625 ms (published: 99 %), and the medians "
        f"of the hours differ by up to {_pattern(week):.1f} ms from that of all (published: no pattern by time of "
        "day). Correlation over cycles of the two schemes' steady throughput, which turns are meant to raise: "
        f"{pairs}."
    )


def _together(t: Tables, setting: str) -> float:
    """Correlation over cycles of the steady throughputs of the two schemes; the mean over drawn days."""
    found = []
    for _, day in frames.pick(t["runs"], setting=setting).groupby("draw"):
        by_run = [frames.pick(day, cc=cc).set_index("run")["mean_mbps"] for cc in downloads.SCHEMES]
        found.append(by_run[0].corr(by_run[1]))
    return float(np.mean(found))


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim: the range over cycles."""
    out: dict[str, str] = {}
    for name in _settings(t):
        for key, (words, _source, of, unit, _published) in downloads.TABLES.items():
            for cc in downloads.SCHEMES:
                here = _of(t, name, cc)[of]
                text = (
                    f"{name}: over cycles {style.label(cc)}'s {words} ranges from {here.min():.1f} to "
                    f"{here.max():.1f} {unit}."
                )
                out |= {f"{sd}{key}-{cc}-{name}": text for sd in ("", "sd-")}
        out[f"effect-{name}"] = _why_effect(t, name)
        rtt = frames.pick(t["runs"], setting=name)["rtt_ms"]
        out[f"late-{name}"] = f"{name}: mean steady RTTs of downloads are {rtt.min():.0f} to {rtt.max():.0f} ms."
    of_hours = _week(t).groupby("hour")["median_ms"].mean()
    text = f"Medians of the hours of the day are {of_hours.min():.1f} to {of_hours.max():.1f} ms."
    return out | {"body": text, "hours": text}


def _why_effect(t: Tables, setting: str) -> str:
    """The difference of the means and the deviations behind the size of the effect."""
    (a, sd_a), (b, sd_b) = (_pair(t, setting, cc, "mean_mbps") for cc in downloads.SCHEMES)
    means, deviations = downloads.TABLES["steady"][4]
    return (
        f"{setting}: the means differ by {a - b:.1f} Mbit/s (published {means[0] - means[1]:.1f}), with deviations of "
        f"{sd_a:.1f} and {sd_b:.1f} (published {deviations[0]:g} and {deviations[1]:g})."
    )


METHOD = """Eight days from midnight on, in virtual time: seven of pings (a UDP packet of 20 bytes every 200 ms), then
a day of 80 cycles of 18 minutes, with 1 GB with Cubic from 30 s and with BBR from 200 s on, over the network of
`geo/downloads`, and pings throughout. (The study writes of cycles of about 7 minutes, and of about a day for 80; both
cannot hold.) Quiet: RTTs and losses of the published pings; its week of pings is `geo/ping`. Constant load: also the
crowd of `geo/neighbours` with bursts of 2 MB, which takes a quarter of the forward carrier. Day: the same crowd with
a load that follows the hour as the activity of [`[demand]`](../reference/demand.md) does, a quarter in the mean; and
rain: attenuation by ITU-R P.618 and P.1853 at 42.3 N, 71.8 W, 20 GHz and an elevation of 41 degrees, rates in steps
of DVB-S2 below 144 Mbit/s, 12.7 dB without rain. This day is drawn five times, each with its own crowd and rain and
the same course of the load; claims on it are on means over days, with intervals over days. Long bursts: 20 MB, one
day. A run is an hour of pings or a cycle: a section of the timeline, with the load at its middle and its seconds of
rain; it is stored as it ends, and the same command continues after an interruption. All runs take some 20 minutes of
one core."""
METRICS = """Those of `geo/downloads`. Pings: of those answered in the week. The hours' medians: means over the days."""
CAPTIONS = {
    "day": "Points: downloads, at the time of their cycle (of several days the first one); dotted and shaded: "
    "published means ± standard deviations, in the colours of the schemes.",
    "days": "Means and standard deviations over the downloads of each drawn day; dotted and shaded: published "
    "values with the tolerances of the claims, in the colours of the schemes.",
}
DEVIATIONS = (
    "Sections of the timeline start with an empty queue and idle neighbours; jitter is correlated over 2 s, and bursts "
    "of 2 MB last less than a second.",
    "Hosts keep nothing from earlier connections: Linux's cache of metrics by destination (initial ssthresh) is not "
    "modelled.",
    "Load, its course over the day, and weather are assumptions: the study has no data on either. The mean load was "
    "chosen with Cubic's published mean in view. Days differ in crowd and weather and have the same mean load and the "
    "same course over the hours: days of a real service differ in these as well.",
    "The carrier has a queue per client, so that a ping never waits for neighbours: that pings do not reveal them, at "
    "any hour, is a property of this model, and says nothing about the service of the study.",
)
CHANGES = (
    "The load: another mean, or another course over the day; both are the same on all drawn days.",
    "A return link on request (`geo/set-ups`), which changes the start-up, is not part of the campaign (not run).",
)
COLUMNS = {
    "setting": "what the timeline contains (Method)",
    "part": "pings = an hour of the week; cycle = of the last day",
    "draw": "number of the drawn day, from 1; several in the setting day",
    "hour": "hour of the day at which it starts",
    "answers": "answered pings; of a cycle, those outside its downloads",
    "lost": "lost pings, in hours of the week",
    "median_ms": "median RTT of the pings, ms",
    "mean_ms": "mean RTT of the pings, ms",
    "body_pct": "answered pings from 560 to 625 ms, %",
    "mean_mbps": "mean steady throughput, Mbit/s; the others as in `geo/downloads`",
}
