# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Claims, plots and texts of `orbcc/hotspots`, computed from its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perigee_lab.common.statistics import FEWEST_RUNS, Estimate, mean
from perigee_studies import frames, style
from perigee_studies.verdicts import Verdict, bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from perigee_studies.model import Tables

SOURCE = "OrbCC, LeoTCP, Mazilu et al.: at most two flows over a constellation"
REFERENCE = "cubic"
PLAIN, AWARE = "shortest", "load-aware"
REGIONS = (("Americas", -180.0, -30.0), ("Europe and Africa", -30.0, 60.0), ("Asia", 60.0, 180.0))
"""Names and longitudes, degrees east."""
BOUNDS = (
    ("short_s", "mean time of short transfers", 0.9),
    ("long_s", "mean time of long transfers", 0.9),
    ("queue_ms", "mean queue in hotspots", 0.5),
    ("hot_port_s", "port-seconds of hotspots", 0.5),
)
MOST_ALTERNATION, MOST_RIPPLE_PCT = 0.0, 5.0
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 10: "ten"}


def against(runs: pd.DataFrame, cc: str, column: str) -> Estimate:
    """A scheme's value over Cubic's, run by run."""
    wide = runs.pivot_table(index="run", columns="cc", values=column)
    return mean((wide[cc] / wide[REFERENCE]).to_numpy()) if {cc, REFERENCE} <= set(wide) else mean([])


def by_routes(runs: pd.DataFrame, cc: str, column: str) -> Estimate:
    """A scheme's value over load-aware routes over that over shortest ones, run by run."""
    wide = frames.pick(runs, cc=cc).pivot_table(index="run", columns="route", values=column)
    return mean((wide[AWARE] / wide[PLAIN]).dropna().to_numpy()) if {AWARE, PLAIN} <= set(wide) else mean([])


def ripple(t: Tables, cc: str) -> Estimate:
    """Largest less smallest deviation of the goodput by second, load-aware less shortest, run by run, points."""
    mine = frames.pick(t["ripple"], cc=cc)
    if mine.empty:
        return mean([])
    by_second = mine.groupby(["route", "run"])["deviation_pct"]
    wide = (by_second.max() - by_second.min()).unstack("route")
    return mean((wide[AWARE] - wide[PLAIN]).dropna().to_numpy()) if {AWARE, PLAIN} <= set(wide) else mean([])


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
    return [*out, *_routes(runs, t)]


def _decidable(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs over shortest routes, and those over load-aware routes if there are enough."""
    aware = runs["route"] == AWARE
    return runs if runs[aware]["run"].nunique() >= FEWEST_RUNS else runs[~aware]


def _routes(runs: pd.DataFrame, t: Tables) -> list[Verdict]:
    out = []
    for cc in frames.schemes(runs) if AWARE in set(runs["route"]) else ():
        name, ours = style.label(cc), by_routes(runs, cc, "long_s")
        claim = f"{name}: mean time of long transfers, load-aware over shortest routes"
        out.append(bound(f"routes-{cc}", claim, SOURCE, "less", ours, high=0.9, places=3))
        ours = frames.average(runs, "alternation", cc=cc, route=AWARE)
        claim = f"{name}, load-aware routes: alternation of hotspots from period to period"
        out.append(bound(f"alternation-{cc}", claim, SOURCE, "none", ours, high=MOST_ALTERNATION, places=3))
        claim = f"{name}, load-aware over shortest routes: ripple of the goodput in a period"
        ours = ripple(t, cc)
        out.append(bound(f"ripple-{cc}", claim, SOURCE, "none", ours, high=MOST_RIPPLE_PCT, unit="%", places=1))
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots hotspots and completion times by scheme and route, their quantiles, and the choice of the threshold."""
    return {"hotspots": _draw_bars(t["runs"]), "spread": _draw_spread(t)}


def _draw_bars(runs: pd.DataFrame) -> Any:
    panels = (
        ("hot_port_s", "port-seconds of hotspots"),
        ("idle_queue_port_s", "full ports without a queue, port-s"),
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


def _draw_spread(t: Tables) -> Any:
    figure, axes = style.panels(4, 1, width=2.3, height=2.3)
    here = frames.pick(t["spread"], route=PLAIN)
    panels = (("short_s", "short transfers, s"), ("long_s", "long transfers, s"), ("queue_ms", "queue in hotspots, ms"))
    for a, (column, title) in zip(axes[0], panels, strict=False):
        for cc in frames.schemes(here):
            one = frames.pick(here, cc=cc).groupby("quantile")[column].mean()
            a.plot(one, one.index, label=style.label(cc), **style.line(cc))
        a.set_xlabel(title)
        a.set_xscale("log")
    axes[0][2].set_xlim(left=1)
    axes[0][0].set_ylabel("share")
    last, waiting = axes[0][3], frames.pick(t["waiting"], route=PLAIN)
    for cc in frames.schemes(waiting):
        one = frames.pick(waiting, cc=cc).groupby("least_packets")["port_s"].mean()
        last.plot(one.index, one, **style.line(cc))
    last.set_xscale("symlog", base=2, linthresh=1)
    last.set_xticks(ticks := sorted(set(waiting["least_packets"])), [str(n) for n in ticks])
    last.minorticks_off()
    last.set_xlabel("least packets that wait")
    last.set_ylabel("port-seconds")
    last.set_ylim(bottom=0)
    style.shared_legend(figure, axes[0][:1], 6)
    return figure


def finding(t: Tables) -> str:
    """Both kinds of routes, hotspots and times against Cubic's, and oscillation over load-aware routes."""
    runs = t["runs"]
    if AWARE not in set(runs["route"]) or runs["run"].nunique() < FEWEST_RUNS:
        return "**Too few runs for a finding.**"
    plain, ccs = frames.pick(runs, route=PLAIN), frames.schemes(runs)
    n = runs["run"].nunique()
    where = f"in {NUMBERS.get(n, str(n))} runs over a loaded constellation"
    return (
        f"**{_shortened(runs, ccs)}, {where}; {_fewer(runs, ccs)}.** "
        f"{_reaction(t, ccs)} Over shortest routes, against Cubic (95 % interval): "
        f"{_differing(plain, BOUNDS[3:])}; {_differing(plain, BOUNDS[2:3])}; {_differing(plain, BOUNDS[:2])}. "
        f"{_threshold(t)} {_fairness(plain)}"
    )


def _percent(x: Estimate) -> str:
    change, low, high = (100 * (v - 1) for v in (x.value, x.low, x.high))
    return f"{change:+.0f} % ({low:+.0f} to {high:+.0f})"


def _shortened(runs: pd.DataFrame, ccs: Sequence[str]) -> str:
    """Under how many schemes load-aware routes shorten transfers, and by how much in the mean."""
    long, short = ([by_routes(runs, cc, column) for cc in ccs] for column in ("long_s", "short_s"))
    held = sum(a.high < 1 and b.high < 1 for a, b in zip(long, short, strict=True))
    of = f"all {held}" if held == len(ccs) else f"{held} of {len(ccs)}"
    (_, best), (_, worst) = (f((x.value, k) for k, x in enumerate(long)) for f in (min, max))
    less = sorted(100 * (1 - x.value) for x in short)

    def by(k: int) -> str:
        value, low, high = (100 * (1 - x) for x in (long[k].value, long[k].high, long[k].low))
        return f"{value:.0f} % ({style.label(ccs[k])}, 95 % interval {low:.0f} to {high:.0f})"

    return (
        f"Load-aware routes shorten transfers under {of} schemes: long ones by {by(worst)} to {by(best)}, short ones "
        f"by {less[0]:.0f} to {less[-1]:.0f} %"
    )


def _fewer(runs: pd.DataFrame, ccs: Sequence[str]) -> str:
    """The schemes under which load-aware routes change the port-seconds of hotspots."""
    found = {style.label(cc): by_routes(runs, cc, "hot_port_s") for cc in ccs}
    less = [100 * (1 - x.value) for x in found.values() if x.high < 1]
    others = ", ".join(f"{name} {_percent(x)}" for name, x in found.items() if x.high >= 1)
    fall = f"port-seconds of hotspots fall under {len(less)} of them, by {min(less):.0f} to {max(less):.0f} %"
    return (fall if less else "port-seconds of hotspots fall under none") + (f" ({others})" if others else "")


def _reaction(t: Tables, ccs: Sequence[str]) -> str:
    """Whether routes and schemes chase each other."""
    runs = t["runs"]
    aware = frames.pick(runs, route=AWARE)
    moved = runs.groupby("route")[["path_changes", "restored_pct"]].mean()
    alike = aware.groupby("run")[["path_changes", "restored_pct"]].nunique().max().max() == 1
    same = "the same under every scheme" if alike else "not the same under every scheme"
    swings = {cc: frames.average(aware, "alternation", cc=cc) for cc in ccs}
    up = [cc for cc, x in swings.items() if x.low > MOST_ALTERNATION]
    down = [cc for cc, x in swings.items() if x.high < MOST_ALTERNATION]
    orb = "orbcc" if "orbcc" in ccs else ccs[0]
    swing, wave = swings[orb], ripple(t, orb)
    verdict = (
        f"they oscillate under {', '.join(map(style.label, up))}" if up else f"no oscillation under {len(down)} schemes"
    )
    return (
        f"Routes and schemes do not chase each other: the assignment takes expected rates, so that routes are {same}. "
        f"Pairs change their path {moved.loc[AWARE, 'path_changes']:.1f} times a minute "
        f"({moved.loc[PLAIN, 'path_changes']:.1f} over shortest routes), and {moved.loc[AWARE, 'restored_pct']:.0f} % "
        f"of the changes restore a path left at most 10 s before ({moved.loc[PLAIN, 'restored_pct']:.0f} %). "
        f"Hotspots do not move back and forth with it: {verdict} (alternation of {style.label(orb)} "
        f"{swing.value:.2f}, {swing.low:.2f} to {swing.high:.2f}; above 0 they would). In the seconds between two "
        f"assignments its goodput differs by {wave.value:+.1f} points ({wave.low:+.1f} to {wave.high:+.1f}) more than "
        f"over shortest routes."
    )


def _differing(plain: pd.DataFrame, columns: Sequence[tuple[str, str, float]]) -> str:
    """Values against Cubic's that differ, with their intervals; the other schemes by name."""
    parts = []
    for column, words, _ in columns:
        mine, same = [], []
        for cc in (cc for cc in frames.schemes(plain) if cc != REFERENCE):
            ratio = against(plain, cc, column)
            if ratio.low > 1 or ratio.high < 1:
                mine.append(f"{style.label(cc)} {_percent(ratio)}")
            else:
                same.append(style.label(cc))
        rest = f" (not distinguishable: {', '.join(same)})" if same else ""
        parts.append(f"{words}, {', '.join(mine) or 'no difference'}{rest}")
    return "; ".join(parts)


def _threshold(t: Tables) -> str:
    """The share of full ports without a queue, and what other thresholds give."""
    cubic = frames.pick(t["runs"], route=PLAIN, cc=REFERENCE)
    share = 100 * cubic["idle_queue_port_s"].sum() / cubic["full_port_s"].sum()
    waiting = frames.pick(t["waiting"], route=PLAIN).pivot_table(
        index=["run", "least_packets"], columns="cc", values="port_s"
    )
    if not {"orbcc", "orbcc-next"} <= set(waiting):
        return ""
    ratios = waiting.groupby("least_packets").sum()
    cells = [
        f"{ratios.loc[n, 'orbcc'] / ratios.loc[n, REFERENCE]:.2f} and "
        f"{ratios.loc[n, 'orbcc-next'] / ratios.loc[n, REFERENCE]:.2f} for {n}"
        for n in (1, 8, 32)
    ]
    return (
        f"A hotspot is a full port at which two packets or more wait: {share:.0f} % of the seconds of full ports under "
        f"Cubic are of ports without a queue. With other thresholds the port-seconds of "
        f"OrbCC and OrbCC next over Cubic's are {', '.join(cells)} packets."
    )


def _fairness(plain: pd.DataFrame) -> str:
    asia = plain.groupby("cc")["jain Asia"].mean()
    return (
        f"Over shortest routes no scheme is fair in Asia: Jain's index of its long transfers is {asia.min():.2f} to "
        f"{asia.max():.2f}."
    )


def summary(t: Tables) -> list[str]:
    """Full ports with and without a queue, and times, by route and scheme."""
    heads = (
        ("full_port_s", "full ports, port-s", 0),
        ("idle_queue_port_s", "of these without a queue", 0),
        ("hot_port_s", "hotspots, port-s", 0),
        ("longest_s", "longest, s", 1),
        ("queue_ms", "mean queue, ms", 1),
        ("queue_p99_ms", "99th percentile, ms", 1),
        ("short_s", "short transfers, s", 2),
        ("long_s", "long transfers, s", 2),
    )
    lines = [f"| routes | scheme | {' | '.join(words for _, words, _ in heads)} |", "|---|---|" + "---:|" * len(heads)]
    runs = t["runs"]
    for route in dict.fromkeys(runs["route"]):
        for cc in frames.schemes(runs):
            here = frames.pick(runs, route=route, cc=cc)
            cells = " | ".join(f"{here[column].mean():.{digits}f}" for column, _, digits in heads)
            lines.append(f"| {route} | {style.label(cc)} | {cells} |")
    return [*lines, "", f"Means over {runs['run'].nunique()} runs."]


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
                    f"Over {route} routes it is {each.min():.2f} to {each.max():.2f} under all schemes, which thus "
                    "make no difference."
                )
    return out | _why_routes(t)


def _why_routes(t: Tables) -> dict[str, str]:
    runs, out = t["runs"], {}
    for cc in frames.schemes(runs):
        aware, plain = (frames.pick(runs, cc=cc, route=route) for route in (AWARE, PLAIN))
        out[f"routes-{cc}"] = f"Means: {aware['long_s'].mean():.2f} against {plain['long_s'].mean():.2f} s."
        out[f"alternation-{cc}"] = (
            f"It is {plain['alternation'].mean():.2f} over shortest routes, which are not reassigned."
        )
        seconds = frames.pick(t["ripple"], cc=cc, route=AWARE).groupby("second")["deviation_pct"].mean()
        listed = ", ".join(f"{x:+.1f}" for x in seconds)
        out[f"ripple-{cc}"] = f"Deviations of the goodput in the seconds after a reassignment: {listed} %."
    return out


METHOD = """Starlink's first shell, the hundred largest cities as stations, 800 transfers of 500 kB and 200 of 10 MB
between pairs that are drawn with probabilities in proportion to the product of populations, started at random within 30
s of 60, all under one scheme (2,000 in the full size). Rates are scaled down: 20 Mbit/s between satellites, 100 Mbit/s
to the ground, queues of 100 ms. Routes are recomputed every second: the shortest, or load-aware (each flow expected to
send 2 Mbit/s, whether it has started or not; reassigned every 5 s). Five runs of each, with other pairs and starts in
each run, the same for all schemes and both kinds of routes; a run takes half a minute of a free core."""
METRICS = """Full port: one with a utilisation of at least 0.9 in a second. Hotspot: a port in consecutive seconds in
which it is full and at least two packets of 1,500 bytes wait at the end of each; port-seconds: their sum; queue: mean
over these, ms. Two, since behind one full port of the same rate packets arrive no faster than they leave, and at most
one waits. Full ports without a queue are those with less. Times: from the SYN to the last byte, s; a transfer that is
not complete counts until the end of the run. Not carried: bytes of transfers started before 30 s that have not arrived
by then, over 30 s. Jain's index: of the rates of long transfers by the longitude of the sender (Americas up to 30 W,
Europe and Africa up to 60 E, Asia beyond). Alternation: correlation of a port's seconds as a hotspot with those two
periods of 5 s later less one period later, over all ports; above 0 they fill and empty by turns. Ripple: largest less
smallest deviation of the goodput of all transfers from its mean over 5 s around it, by second after a reassignment."""
CAPTIONS = {
    "hotspots": "Means over five runs, and a point for each.",
    "spread": "Shares of transfers, and of port-seconds in hotspots, up to a value; right: seconds of full ports by "
    "the least number of packets that wait (0: all full ports). Means over runs, shortest routes.",
}
CHANGES = (
    "The load: transfers start at random in half of the run; without overload neither routes nor schemes matter.",
    "The assignment: load-aware routes are given the pairs and an expected rate, and no message is delayed or lost. "
    "Routes that follow measured loads could oscillate; there are none here.",
    "The queue of a port is known once a second: a hotspot that empties within a second, or fills, counts as it is at "
    "the end.",
    "The scale: with 20 Mbit/s between satellites a hotspot has few flows; more flows at higher rates were not run.",
)

COLUMNS = {
    "route": "shortest or load-aware routes",
    "full_port_s": "seconds of ports with a utilisation of at least 0.9, sum over ports",
    "idle_queue_port_s": "those of them with less than two packets waiting at the end",
    "hot_port_s": "the others: port-seconds of hotspots",
    "hotspots": "number of hotspots",
    "length_s": "mean length of a hotspot, s",
    "longest_s": "length of the longest hotspot, s",
    "queue_ms": "queue in hotspots, mean over their seconds, ms (in spread: its quantile)",
    "queue_p99_ms": "queue in hotspots, 99th percentile, ms",
    "delay_p99_ms": "99th percentile of the RTT above the smallest base RTT, mean over flows, ms",
    "short_s": "completion time of short transfers, mean, s (in spread: its quantile)",
    "short_p99_s": "99th percentile of the same, s",
    "long_s": "completion time of long transfers, mean, s (in spread: its quantile)",
    "long_p99_s": "99th percentile of the same, s",
    "not_carried_mbps": "bytes of started transfers that have not arrived by 30 s, over 30 s, Mbit/s",
    "resent_pct": "retransmitted packets, % of those sent",
    "alternation": "correlation of ports' seconds as hotspots with those two periods later, less one period later",
    "path_changes": "changes of path per pair and minute",
    "restored_pct": "changes that restore a path left at most 10 s before, %",
    **{f"jain {name}": f"Jain's index of the rates of long transfers from {name}" for name, *_ in REGIONS},
    "quantile": "fraction of transfers, or of port-seconds, up to the values of the row (spread)",
    "least_packets": "least number of packets that wait at the end of a second (waiting)",
    "port_s": "seconds of full ports with at least that many, sum over ports",
    "second": "second after the reassignment of load-aware routes, from 1 (ripple)",
    "deviation_pct": "goodput of all transfers in that second above its mean over 5 s around it, %",
}
