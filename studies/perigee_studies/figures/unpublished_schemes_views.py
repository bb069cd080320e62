# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Claims, plots and texts of `geo/schemes`, computed from its tables."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from perigee_lab.common.statistics import mean
from perigee_studies import frames, style
from perigee_studies.kinds import Kind
from perigee_studies.verdicts import Verdict, bound, count

if TYPE_CHECKING:
    import pandas as pd

    from perigee_studies.model import Tables

SOURCE = "Claypool et al.: two schemes, one download at a time"
LINK_MBPS, MOST_RTT_MS, LEAST_JAIN, HALF = 115, 1500, 0.9, (0.4, 0.6)
SLACK_PCT, MOST_RESENT_PCT = 10, 1
BASE_MS = 600
WIDTH = 116


def check(t: Tables) -> list[Verdict]:
    """Claims on all four parts, against the bounds of the module's head."""
    return [*_alone(t["alone"]), *_starts(t["starts"]), *_shared(t["shared"]), *_beside(t["beside"])]


def _alone(runs: pd.DataFrame) -> list[Verdict]:
    out = []
    for cc in frames.schemes(runs):
        name, here = style.label(cc), frames.pick(runs, cc=cc, how="end to end")
        rate, rtt = (frames.average(here, column) for column in ("steady_mbps", "rtt_ms"))
        words = f"{name} alone: steady goodput"
        out.append(bound(f"alone-{cc}", words, SOURCE, "the link", rate, LINK_MBPS, unit="Mbit/s"))
        words = f"{name} alone: mean RTT"
        out.append(bound(f"rtt-{cc}", words, SOURCE, "1.5 base RTTs", rtt, high=1.5 * BASE_MS, unit="ms"))
    split = frames.pick(runs, how="proxies")
    least = split.groupby("seed")["get_30_s"].min()
    gap = mean((100 * (split.groupby("seed")["get_30_s"].max() / least - 1)).to_numpy())
    words = "Alone through proxies: time to 30 MB of the slowest scheme above that of the fastest by"
    return [*out, bound("proxies-30", words, SOURCE, "< 10 %", gap, high=SLACK_PCT, unit="%", places=1)]


def _starts(runs: pd.DataFrame) -> list[Verdict]:
    out = []
    for cc, start in _pairs(runs):
        name, here = f"{style.label(cc)}, {start}", frames.pick(runs, cc=cc, start=start)
        if start != "own":
            saved = bound(
                f"start-{cc}-{start}", f"{name}: time to 30 MB against its own start, by run", SOURCE,
                "no slower", _against_own(runs, cc, start), high=SLACK_PCT, unit="%", places=1,
            )  # fmt: skip
            out.append(saved)
        again, words = frames.average(here, "resent_pct"), f"{name}: packets of 100 MB sent again"
        out.append(bound(f"again-{cc}-{start}", words, SOURCE, "few", again, high=MOST_RESENT_PCT, unit="%", places=2))
    return out


def _pairs(runs: pd.DataFrame) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(runs["cc"], runs["start"], strict=True))) if len(runs) else []


def _against_own(runs: pd.DataFrame, cc: str, start: str) -> Any:
    times = frames.pick(runs, cc=cc).pivot_table(index="seed", columns="start", values="get_30_s")
    return mean((100 * (times[start] / times["own"] - 1)).to_numpy())


def _shared(runs: pd.DataFrame) -> list[Verdict]:
    out, whole = [], frames.pick(runs, how="end to end")
    counts = sorted(set(whole["flows"]))
    for cc in frames.schemes(whole):
        for n in dict.fromkeys((counts[0], counts[-1])):
            here, name, key = frames.pick(whole, cc=cc, flows=n), f"{n} flows of {style.label(cc)}", f"{cc}-{n}"
            jain, both, rtt = (frames.average(here, column) for column in ("jain", "goodput_mbps", "rtt_ms"))
            out.append(bound(f"jain-{key}", f"{name}: Jain's index", SOURCE, "fair", jain, LEAST_JAIN, places=3))
            words = f"{name}: goodput of all"
            out.append(bound(f"sum-{key}", words, SOURCE, "the link", both, LINK_MBPS, unit="Mbit/s"))
            words = f"{name}: mean RTT"
            out.append(bound(f"rtt-{key}", words, SOURCE, "as of one", rtt, high=MOST_RTT_MS, unit="ms"))
    return [*out, *_proxied(frames.pick(runs, how="proxies"))]


def _proxied(runs: pd.DataFrame) -> list[Verdict]:
    means = runs.groupby(["cc", "flows"])[["jain", "goodput_mbps", "rtt_ms"]].mean() if len(runs) else None
    words, out = "Through proxies, every scheme with 2 to 16 flows", []
    for column, what, expected, low, high in (
        ("jain", "Jain's index of at least 0.9", "fair", LEAST_JAIN, None),
        ("goodput_mbps", "goodput of at least 115 Mbit/s", "the link", LINK_MBPS, None),
        ("rtt_ms", "RTT over the satellite of at most 900 ms", "1.5 base RTTs", None, 1.5 * BASE_MS),
    ):
        holds = {}
        for (cc, n), x in () if means is None else means[column].items():
            holds[f"{n} of {style.label(cc)}"] = (low is None or x >= low) and (high is None or x <= high)
        claim = f"{words}: {what}"
        out.append(count(f"proxies-{column}", claim, SOURCE, expected, holds, kind=Kind.UNPUBLISHED))
    return out


def _beside(runs: pd.DataFrame) -> list[Verdict]:
    out = []
    for cc in frames.schemes(runs):
        for n in sorted(set(runs["flows"])):
            share = frames.average(runs, "share", cc=cc, flows=n)
            words = f"{n // 2} flows of {style.label(cc)} beside {n // 2} of Cubic: their share"
            out.append(bound(f"beside-{cc}-{n}", words, SOURCE, "half", share, *HALF, places=3))
    return out


def draw(t: Tables) -> dict[str, Any]:
    """Plots single downloads, starts, and shared links."""
    return {"alone": _draw_alone(t["alone"]), "starts": _draw_starts(t["starts"]), "shared": _draw_shared(t)}


def _draw_alone(runs: pd.DataFrame) -> Any:
    ccs = frames.schemes(runs)
    figure, axes = style.panels(3, 1, width=2.7, height=2.9, sharey=True)
    sets = (("end to end", 1.0), ("constant RTT", 0.5), ("proxies", 0.2))
    panels = (("steady_mbps", "steady goodput, Mbit/s"), ("get_30_s", "time to 30 MB, s"), ("rtt_ms", "mean RTT, ms"))
    for a, (column, title) in zip(axes[0], panels, strict=True):
        for j, cc in enumerate(ccs):
            for i, (how, alpha) in enumerate(sets):
                here = frames.pick(runs, cc=cc, how=how)[column]
                y = j + (i - 1) * 0.27
                a.barh(y, here.mean(), 0.25, color=style.look(cc)["color"], alpha=alpha, linewidth=0)
                a.plot(here, [y] * len(here), ".", color="black", markersize=2)
        a.set_xlabel(title)
    axes[0][1].set_xlim(0, 25)
    axes[0][0].set_yticks(range(len(ccs)), [style.label(cc) for cc in ccs])
    axes[0][0].set_ylim(len(ccs) - 0.4, -0.6)
    for how, alpha in sets:
        axes[0][0].barh(0, float("nan"), color=style.SOFT, alpha=alpha, label=_how(how))
    style.shared_legend(figure, axes[0][:1])
    axes[0][0].axvline(LINK_MBPS, color=style.SOFT, linestyle="--", linewidth=0.9)
    axes[0][2].axvline(BASE_MS, color=style.SOFT, linestyle="--", linewidth=0.9)
    return figure


def _how(how: str) -> str:
    return "through proxies" if how == "proxies" else how


def _draw_starts(runs: pd.DataFrame) -> Any:
    figure, axes = style.panels(3, 1, width=2.7, height=2.9, sharey=True)
    pairs = _pairs(runs)
    panels = (
        ("get_1_s", "time to 1 MB, s"),
        ("get_30_s", "time to 30 MB, s"),
        ("resent_pct", "sent again, % of the packets"),
    )
    for a, (column, title) in zip(axes[0], panels, strict=True):
        for j, (cc, start) in enumerate(pairs):
            here = frames.pick(runs, cc=cc, start=start)[column]
            a.barh(j, here.mean(), 0.7, color=style.look(cc)["color"], linewidth=0)
            a.plot(here, [j] * len(here), ".", color="black", markersize=2)
        a.set_xlabel(title)
    axes[0][0].set_yticks(range(len(pairs)), [f"{style.label(cc)}, {start}" for cc, start in pairs])
    axes[0][0].set_ylim(len(pairs) - 0.4, -0.6)
    axes[0][2].axvline(MOST_RESENT_PCT, color=style.SOFT, linestyle="--", linewidth=0.9)
    return figure


def _draw_shared(t: Tables) -> Any:
    runs, beside = t["shared"], t["beside"]
    figure, axes = style.panels(4, 1, width=2.3, height=2.6)
    counts = sorted(set(runs["flows"]))
    panels = (
        (runs, "jain", "end to end", "Jain's index"),
        (runs, "rtt_ms", "end to end", "mean RTT, ms"),
        (runs, "goodput_mbps", "end to end", "goodput of all, Mbit/s"),
    )
    for a, (frame, column, how, title) in zip(axes[0], panels, strict=False):
        for cc in frames.schemes(frame):
            style.over(a, frames.pick(frame, cc=cc, how=how), "flows", column, cc)
        a.set_title(title, loc="left")
        a.set_xscale("log", base=2)
        a.set_xticks(counts, [str(n) for n in counts])
        a.minorticks_off()
        a.set_xlabel("flows")
    last = axes[0][3]
    for j, cc in enumerate(frames.schemes(beside)):
        for i, n in enumerate(sorted(set(beside["flows"]))):
            here = frames.pick(beside, cc=cc, flows=n)["share"]
            y = j + (i - 0.5) * 0.38
            last.barh(y, here.mean(), 0.36, color=style.look(cc)["color"], hatch="////" if i else None, linewidth=0)
            last.plot(here, [y] * len(here), ".", color="black", markersize=2)
    names = [style.label(cc) for cc in frames.schemes(beside)]
    last.set_yticks(range(len(names)), names)
    last.set_ylim(len(names) - 0.4, -0.6)
    last.axvspan(*HALF, color=style.SOFT, alpha=0.15, linewidth=0, zorder=0)
    last.set_xlim(0, 1)
    last.set_title("share beside Cubic", loc="left")
    style.shared_legend(figure, axes[0][:1], 10)
    return figure


def parts(n: int) -> list[tuple[int, int]]:
    """Places in the order of arrival, in groups: the first, the second, and then twice as many as before."""
    out, begin = [(1, 1)], 2
    while begin <= n:
        end = min(n, max(2, 2 * (begin - 1)))
        out.append((begin, end))
        begin = end + 1
    return out


def by_order(arrivals: pd.DataFrame, cc: str, how: str, first: int, last: int) -> float:
    """Mean goodput in Mbit/s of the flows at these places in the order of arrival."""
    here = frames.pick(arrivals, cc=cc, how=how)
    return float(here[(here["order"] >= first) & (here["order"] <= last)]["mbps"].mean())


def ranks(arrivals: pd.DataFrame, cc: str, how: str) -> Any:
    """Rank correlation of goodput and place in the order of arrival, mean over runs; -1: the earlier has more."""
    runs = frames.pick(arrivals, cc=cc, how=how).groupby("run")
    return mean([one["order"].corr(one["mbps"].rank()) for _, one in runs])


def summary(t: Tables) -> list[str]:
    """Goodput by the order of arrival, with starts 2 s apart and together."""
    arrivals = t.get("variants-arrivals")
    if arrivals is None:
        return []
    most = int(arrivals["order"].max())
    groups = parts(most)
    heads = [_places(*group) for group in groups]
    lines = [f"| scheme | starts | {' | '.join(heads)} | rank correlation |", "|---|---|" + "---:|" * (len(heads) + 1)]
    for cc in frames.schemes(arrivals):
        for how, words in (("end to end", "2 s apart"), ("together", "together")):
            if frames.pick(arrivals, cc=cc, how=how).empty:
                continue
            cells = " | ".join(f"{by_order(arrivals, cc, how, *group):.2f}" for group in groups)
            lines.append(f"| {style.label(cc)} | {words} | {cells} | {ranks(arrivals, cc, how).value:+.2f} |")
    runs = arrivals["run"].nunique()
    words = (
        f"Goodput of {most} flows by the order of their starts, Mbit/s a flow, and its rank correlation with the place "
        f"in that order (-1: who starts earlier has more); means over {runs} runs. {_order(arrivals)}"
    )
    return [*lines, "", *textwrap.wrap(words, WIDTH)]


def _places(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first} to {last}"


def _order(arrivals: pd.DataFrame) -> str:
    """What the order of arrival decides, in a sentence."""
    found = {cc: ranks(arrivals, cc, "end to end") for cc in frames.schemes(frames.pick(arrivals, how="end to end"))}
    early = [cc for cc, rank in found.items() if rank.high < 0]
    late = [cc for cc, rank in found.items() if rank.low > 0]
    alike = [cc for cc in found if cc not in (*early, *late)]
    most = int(arrivals["order"].max())

    def named(ccs: list[str]) -> str:
        cells = [
            f"{style.label(cc)} ({by_order(arrivals, cc, 'end to end', 1, 1):.1f} Mbit/s for the first, "
            f"{by_order(arrivals, cc, 'end to end', most, most):.1f} for the last)"
            for cc in ccs
        ]
        return ", ".join(cells) or "no scheme"

    others = ", ".join(style.label(cc) for cc in alike) or "none"
    return (
        f"Who starts earlier has more under {named(early)}; who starts later has more under {named(late)}; "
        f"undecided (the 95 % interval of the correlation over runs contains 0): {others}."
    )


def finding(t: Tables) -> str:
    """The result in three sentences."""
    runs, alone = t["shared"], t["alone"]
    most = max(runs["flows"])

    def jain(cc: str, how: str = "end to end") -> str:
        return f"{frames.average(runs, 'jain', cc=cc, flows=most, how=how).value:.2f}"

    def steady(how: str) -> str:
        return f"{frames.average(alone, 'steady_mbps', cc='copa', how=how).value:.1f}"

    def start(name: str) -> str:
        return f"{frames.average(t['starts'], 'get_30_s', cc='cubic', start=name).value:.1f}"

    proxied = frames.pick(runs, how="proxies")
    least, whole = (
        frames.average(runs, column, cc="bbr3", flows=most, how="end to end").value
        for column in ("least_mbps", "goodput_mbps")
    )
    return (
        f"**Of {most} flows of BBRv3 that start 2 s apart over the geostationary service, the slowest has "
        f"{least:.2f} of {whole:.0f} Mbit/s, and Jain's index is {jain('bbr3')}; where they start together it is "
        f"{jain('bbr3', 'together')}.** Jain's index of other schemes with such starts: BBRv1 {jain('bbr')}, NewReno "
        f"{jain('newreno')}, Cubic {jain('cubic')}, OrbCC {jain('orbcc')}. "
        f"Copa alone gets {steady('end to end')} of 144 Mbit/s, because the measured jitter of the "
        f"path looks like a queue to it ({steady('constant RTT')} with a constant RTT); the same jitter ends Cubic's "
        f"start early, so that 30 MB take {start('own')} s ({start('search')} with SEARCH, {start('careful')} with a "
        f"remembered path). Through proxies every scheme that was run there has at least "
        f"{math.floor(10 * proxied['goodput_mbps'].min()) / 10:.1f} Mbit/s and a Jain's index of at least "
        f"{math.floor(1e3 * proxied['jain'].min()) / 1e3:.3f}; the latter by construction, as each connection is given "
        "its share of the bandwidth-delay product and thus the number of flows."
    )


def explain(t: Tables, _: Tables) -> dict[str, str]:
    """Explanations by claim."""
    return {**_why_alone(t["alone"]), **_why_starts(t["starts"]), **_why_shared(t["shared"]), **_why_beside(t)}


def in_order(_: Tables, variants: Tables) -> dict[str, str]:
    """Explanations of Jain's indices by the order of arrival."""
    arrivals, out = variants["arrivals"], {}
    most = int(arrivals["order"].max())
    for cc in frames.schemes(arrivals):
        found = {group: by_order(arrivals, cc, "end to end", *group) for group in parts(most)}
        listed = ", ".join(f"{_places(*group)}: {mbps:.2f}" for group, mbps in found.items())
        least = min(found, key=lambda group: found[group])
        same = frames.pick(variants["shared"], cc=cc, how="together")["jain"].mean()
        why = (
            _cause(cc, same)
            if least[1] == most
            else f"flows {_places(*least)} have the least, not the last (open why)."
        )
        out[f"jain-{cc}-{most}"] = (
            f"Mbit/s of a flow by its place in the order of arrival: {listed}. {most} flows that start together have a "
            f"Jain's index of {same:.2f}: {why}"
        )
    return out


def _cause(cc: str, together: float) -> str:
    other = "the spacing of the starts decides." if together > LEAST_JAIN else "they do not converge."
    return WHY_ARRIVAL.get(cc, other)


def _why_alone(runs: pd.DataFrame) -> dict[str, str]:
    out = {}
    for cc in frames.schemes(runs):
        rate, rtt = (frames.average(runs, c, cc=cc, how="constant RTT").value for c in ("steady_mbps", "rtt_ms"))
        words = f"With a constant RTT it has {rate:.1f} Mbit/s at a mean RTT of {rtt:.0f} ms"
        out[f"alone-{cc}"] = f"{words}: the scheme takes the measured jitter for a queue."
        out[f"rtt-{cc}"] = f"{words}: it grows until a loss, and the port drops from a second's worth of queue on."
    split = frames.pick(runs, how="proxies").groupby("cc")["get_30_s"].mean().sort_values()
    if len(split) > 1:
        *rest, slowest = split.index
        gap = 100 * (split[rest[-1]] / split.iloc[0] - 1)
        out["proxies-30"] = (
            f"{style.label(slowest)} takes {split.iloc[-1]:.1f} s to fill the connection to the proxy (20 ms); the "
            f"others are within {gap:.1f} % of {split.iloc[0]:.1f} s."
        )
    return out


def _why_starts(runs: pd.DataFrame) -> dict[str, str]:
    out = {}
    for cc, start in _pairs(runs):
        times = frames.pick(runs, cc=cc)
        own, this = (frames.average(times, "get_30_s", start=s).value for s in ("own", start))
        out[f"start-{cc}-{start}"] = (
            f"{this:.1f} s instead of {own:.1f}: the start replaces the scheme's own, which grows faster here."
        )
        left = frames.average(times, "resent_pct", start=start)
        out[f"again-{cc}-{start}"] = f"The start overflows the queue once, which costs {left.value:.2f} % of 100 MB."
    return out


def _why_shared(runs: pd.DataFrame) -> dict[str, str]:
    out = {}
    for cc in frames.schemes(runs):
        there = frames.pick(runs, cc=cc)
        for n in sorted(set(there["flows"])):
            here, key = frames.pick(there, flows=n), f"{cc}-{n}"
            least = frames.average(here, "least_mbps", how="end to end").value
            same = frames.pick(there, how="together")["jain"].mean()
            again = frames.average(here, "resent_pct", how="end to end").value
            out[f"jain-{key}"] = (
                f"The flow with the least has {least:.2f} Mbit/s. {max(runs['flows'])} flows that start together have "
                f"a Jain's index of {same:.2f}: {_cause(cc, same)}"
            )
            out[f"sum-{key}"] = "As of one flow: see there."
            out[f"rtt-{key}"] = f"{again:.1f} % of the packets are sent again: the queue is full, not half full."
    return out


WHY_START = (
    "a start that meets the queue of its predecessors ends at once with a small estimate, and later probes raise all "
    "estimates by the same factor."
)
WHY_ARRIVAL = {
    "bbr": WHY_START,
    "bbr3": WHY_START,
    "newreno": "a start that meets a full queue ends at once, and one packet more per RTT of a second does not catch "
    "up within the run.",
}
TAKES = {
    "hybla": "between losses it grows faster than Cubic.",
    "bbr3": "it answers to its losses less than Cubic does.",
    "leocc": "like BBR it does not take a loss for a full queue.",
}


def _why_beside(t: Tables) -> dict[str, str]:
    runs, out = t["beside"], {}
    for cc in frames.schemes(runs):
        for n in sorted(set(runs["flows"])):
            here = frames.pick(runs, cc=cc, flows=n)
            again, rtt = (frames.average(here, c).value for c in ("resent_pct", "rtt_ms"))
            words = f"At a mean RTT of {rtt:.0f} ms, with {again:.2f} % of the packets sent again: "
            out[f"beside-{cc}-{n}"] = words + TAKES.get(cc, "it yields to the queue that Cubic keeps.")
    return out


METHOD = """The downloads of `geo/downloads` (144 Mbit/s, 36 MB of queue that drops at random from 18 MB on, RTTs and
losses as the study's pings had them) by ten schemes. *Alone*: 1 GB, end to end, end to end with a constant RTT of 598
ms, and through the proxies of `geo/proxy` with buffers of 16 MB. *Starts*: 100 MB with each start; `careful` remembers
10.8 MB and 600 ms. *Shared*: 2 to 16 flows of one scheme without end, one more every 2 s (*together*: all at once), end
to end, and through proxies whose connections divide one bandwidth-delay product. *Beside Cubic*: of 4 or 16 flows every
other is Cubic. Runs last 150 s (300 s in the full size). Both schemes of OrbCC are not run through proxies, since
no port between server and proxy has telemetry."""
METRICS = """Steady goodput: from the half to 98 % of the bytes, Mbit/s. Times: from the first SYN until this amount had
reached the client, s. RTT: mean over samples of the connection over the satellite, ms; of shared runs from 60 s on,
weighted by goodput. Jain's index, goodput and share from 60 s to the end. Share: of the flows that are not Cubic's."""
CAPTIONS = {
    "alone": "Means over runs, and a point for each; dashed: 80 % of the link, and the RTT without queues. End to end, "
    "Copa takes a minute or more for 30 MB (beyond the edge).",
    "starts": "Means over runs, and a point for each; `own`: NewReno doubles per round until a loss, Cubic has "
    "HyStart, Hybla its own growth; dashed: the bound.",
    "shared": "Means over runs, and a point for each, end to end; right: 2 of 4 flows (plain) and 8 of 16 (hatched); "
    "shade: the bound.",
}
CHANGES = (
    "The jitter: with a constant RTT Copa and Vivace use the link, and Cubic's HyStart does not end the start early.",
    "The spacing of the starts: flows that start together share alike, under BBRv3 as well.",
    "The queue, little: in single runs (no table) shares were as unequal over a third of its 36 MB, over a twelfth "
    "less so.",
    "The time: 150 s are some 150 RTTs with a full queue; NewReno's shares drift towards each other over minutes.",
    "The window of the proxies: ours divide one bandwidth-delay product (other windows were not run).",
)
COLUMNS = {
    "part": "table: alone, starts, shared or beside",
    "how": "end to end, proxies, constant RTT (without jitter), or together (flows that start at once)",
    "start": "start (`slow_start`); own: that of the scheme",
    "flows": "number of flows",
    "steady_mbps": "goodput from the half to 98 % of the bytes, Mbit/s",
    "rtt_ms": "mean over RTT samples of the connection over the satellite, ms; of several flows from 60 s on, weighted "
    "by goodput",
    "get_1_s": "time from the first SYN until 1 MB had reached the client, s; empty: never",
    "get_30_s": "the same for 30 MB, s",
    "get_100_s": "the same for 100 MB, s",
    "goodput_mbps": "goodput of all flows from 60 s on, Mbit/s",
    "jain": "Jain's index of their goodput",
    "least_mbps": "goodput of the slowest flow, Mbit/s",
    "variant": "order of arrival: runs of shared that are stored flow by flow as well",
    "order": "place of a flow in the order of starts, from 1",
    "mbps": "goodput of the flow from 60 s on, Mbit/s",
    "share": "share of the goodput of every other flow, from the first on (beside: of those that are not Cubic's), "
    "a fraction",
    "resent_pct": "packets retransmitted over the satellite, % of those sent",
}
