# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A week of pings over a geostationary service: Claypool et al., section III (RTT and loss).

UDP packets of 20 bytes every 200 ms. Shares are of all answered pings. Losses are pings without an
answer; an event is a run of consecutive lost pings. The shares in the study leave 0.9 % of the RTTs
unassigned, and it states a loss of "about 0.05 %" for 604 packets, which are 0.020 % of a week's;
both are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames, style
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, count, value, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.common.statistics import Estimate
    from perigee_studies.digest import Floats

FILE = "geo/ping.toml"
KEEP = Keep(("rtt_ns",), events=("loss-burst",))
PER_DAY = 432_000
ROWS_PER_HOUR = 36_000
SLOT_S = 0.2
"""Time between two pings."""
ROUNDING_MS = 1.0
"""The published bounds are integer milliseconds; ours include the serialisation of a ping, 0.03
ms."""
QUANTILES = np.array([0, 0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1])


def cases(ask: Ask) -> list[Case]:
    """One day per run: a part of a day, two days, or the entire week."""
    days = ask.count(1, 2, 7)
    sets: dict[str, object] = {"run.duration": "4 h"} if days == 1 else {}
    return [Case(FILE, "ping", {"day": day}, day, sets, KEEP) for day in range(1, days + 1)]


def tables(found: Sequence[Outcome]) -> Tables:
    """Days, one per row; quantiles; the distribution in integer ms; lengths of loss events."""
    return {
        "runs": frames.table(found, _row),
        "quantiles": frames.series(found, _quantiles),
        "histogram": frames.series(found, _histogram),
        "losses": frames.series(found, _losses),
        "hours": frames.series(found, _hours),
    }


def _rtts(o: Outcome) -> Floats:
    """RTTs in ms by the arrival of the answer.

    NaN = no answer in this interval of 100 ms, in which at most one arrives.
    """
    rtt_ms: Floats = o.digest.columns["rtt_ns"][0] / 1e6
    return rtt_ms


def _row(o: Outcome) -> dict[str, Any]:
    rtt = _rtts(o)
    known = rtt[~np.isnan(rtt)]
    flow = o.digest.flows[0]
    sent = flow["data_sent"]
    lost = sum(_lengths(o))
    return {
        "sent": sent,
        "lost": lost,
        "mean_ms": known.mean(),
        "body_share": float(np.mean((known >= 560 - ROUNDING_MS) & (known <= 625 + ROUNDING_MS))),
        "tail_share": float(np.mean(known > 625 + ROUNDING_MS)),
        "far_share": float(np.mean(known > 1500)),
        "most_ms": known.max(),
        "least_ms": known.min(),
    }


def _lengths(o: Outcome) -> list[int]:
    """Lengths of loss events, from losses of links between samples, joined if consecutive."""
    slots: dict[int, int] = {}
    for t_s, _, _, packets in o.digest.events:
        slot = int((t_s - 1e-6) / SLOT_S)
        slots[slot] = slots.get(slot, 0) + int(packets)
    lengths: list[int] = []
    last = -2
    for slot in sorted(slots):
        if slot == last + 1:
            lengths[-1] += slots[slot]
        else:
            lengths.append(slots[slot])
        last = slot
    return lengths


def _quantiles(o: Outcome) -> list[dict[str, Any]]:
    rtt = _rtts(o)
    known = rtt[~np.isnan(rtt)]
    return [{"quantile": q, "rtt_ms": float(np.quantile(known, q))} for q in QUANTILES]


def _histogram(o: Outcome) -> list[dict[str, Any]]:
    rtt = _rtts(o)
    values, counts = np.unique(np.floor(rtt[~np.isnan(rtt)]), return_counts=True)
    return [{"rtt_ms": int(v), "pings": int(n)} for v, n in zip(values, counts, strict=True)]


def _losses(o: Outcome) -> list[dict[str, Any]]:
    lengths, counts = np.unique(_lengths(o), return_counts=True)
    return [{"length": int(n), "events": int(k)} for n, k in zip(lengths, counts, strict=True)]


def _hours(o: Outcome) -> list[dict[str, Any]]:
    rtt = _rtts(o)
    whole = rtt[: len(rtt) // ROWS_PER_HOUR * ROWS_PER_HOUR].reshape(-1, ROWS_PER_HOUR)
    return [{"hour": h, "median_ms": float(np.nanmedian(row))} for h, row in enumerate(whole)]


DASHES = ("-", "--", ":", "-.")


def draw(t: Tables) -> dict[str, Any]:
    """Plots the distribution with its tail, and the median by the hour."""
    histogram = t["histogram"].groupby("rtt_ms")["pings"].sum()
    total = histogram.sum()
    beyond = 1 - histogram.cumsum() / total
    figure, axes = style.panels(3, 1, width=2.6, height=2.4)
    body = histogram[(histogram.index >= 540) & (histogram.index <= 640)]
    axes[0][0].bar(body.index, 100 * body / total, width=1.0, color=style.look("cubic")["color"])
    axes[0][0].set_xlabel("RTT, ms")
    axes[0][0].set_ylabel("share of pings per ms, %")
    axes[0][0].set_title("540 to 640 ms", loc="left")
    tail = beyond[beyond > 0]
    axes[0][1].step(tail.index, tail, where="post", color=style.INK)
    axes[0][1].set_yscale("log")
    for x, y in ((625, 1e-3), (1500, 1e-5)):
        (drawn,) = axes[0][1].plot(x, y, "o", color=style.look("bbr3")["color"], markersize=5, fillstyle="none")
        style.mark(axes[0][1], drawn)
    axes[0][1].set_xlabel("RTT, ms")
    axes[0][1].set_title("share above (o: published)", loc="left")
    for k, (_, one) in enumerate(t["hours"].groupby("day")):
        axes[0][2].plot(one["hour"], one["median_ms"], linewidth=0.9, color=style.OTHERS[0], linestyle=DASHES[k % 4])
    axes[0][2].set_title("a line per day", loc="left")
    axes[0][2].set_xlabel("hour of the day")
    axes[0][2].set_ylabel("median RTT, ms")
    axes[0][2].set_ylim(585, 610)
    return {"ping": figure}


def check(t: Tables) -> list[Verdict]:
    """Compares the distribution of the RTTs of pings with the paper's."""
    runs = t["runs"]
    weight = runs["sent"] / runs["sent"].sum()

    def share(column: str) -> Estimate:
        return value(100 * float((runs[column] * weight).sum()))

    sent, lost = int(runs["sent"].sum()), int(runs["lost"].sum())
    losses = t["losses"]
    events: dict[int, int] = losses.groupby("length")["events"].sum().to_dict() if len(losses) else {}
    out = [
        within(
            "body",
            "RTTs between 560 and 625 ms",
            "section III",
            "99 %",
            share("body_share"),
            98.5,
            99.5,
            "%",
            kind=Kind.NUMBER,
        ),
        within(
            "tail", "RTTs above 625 ms", "section III", "0.1 %", share("tail_share"), 0.05, 0.2, "%", kind=Kind.NUMBER
        ),
        within(
            "loss",
            "pings lost",
            "section III",
            "604, 0.02 % of a week",
            value(100 * lost / sent),
            0.015,
            0.06,
            "%",
            kind=Kind.NUMBER,
        ),
        count(
            "hours", "no pattern by the time of day (medians of the hours within 2 ms)", "section III", "none", _flat(t)
        ),
    ]
    if sent >= 2 * PER_DAY:
        longest = {"at most 11": max(events) <= 11} if events else {}
        out.append(count("longest", "longest event", "section III", "11 pings", longest, kind=Kind.NUMBER))
    if sent >= 7 * PER_DAY:
        far = {"at least one": bool((runs["far_share"] * runs["sent"]).sum() >= 1)}
        out.append(count("far", "RTTs of more than 1.5 s in a week", "section III", "0.001 %", far, kind=Kind.NUMBER))
        single = value(100 * events.get(1, 0) / max(1, lost))
        out.append(
            within("single", "of the lost pings, alone", "section III", "77 %", single, 67, 87, "%", kind=Kind.NUMBER)
        )
    return out


def _flat(t: Tables) -> dict[str, bool]:
    hours = t["hours"].groupby("hour")["median_ms"].mean()
    return {f"hour {h}": bool(abs(m - hours.median()) <= 2) for h, m in hours.items()}


METHOD = """A ping of 20 bytes of payload every 200 ms over the path of `geo/downloads` without other traffic; a run is
a day, a week is `--full`. The RTT is drawn every 200 ms from the published distribution, correlated over 2 s, and
released in order; a loss event comes every 19.8 minutes on average (509 in a week), 91 % of them of one ping, the
others geometric with a mean of 3.2 and 11 at most."""
DEVIATIONS = (
    "The distribution between its published points is interpolated: this experiment shows that "
    "the path model of the downloads has the published baseline, not that the service would have it.",
    "The tolerance of 2 ms for the medians of the hours is ours.",
)

EXPERIMENTS = [
    Experiment(
        name="geo/ping",
        title="A week of pings",
        figure="section III, baseline",
        schemes=("ping",),
        cases=cases,
        tables=tables,
        verdicts=check,
        draw=draw,
        method=METHOD,
        deviations=DEVIATIONS,
        metrics="""Shares: of all answered pings, %. Lost: pings without an answer; an event is a run of them. Median
RTT: of the pings of an hour, ms.""",
        captions={"ping": "Circles: the published share above 625 ms and above 1.5 s."},
    )
]
