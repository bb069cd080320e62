# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Statements in the text on single moments of Mazilu et al., Fig.

3(c): around 135, 150, 180 and 190 s.

Its run is plotted, but not named. Of the study's 50 schedules, only that of run 33 has the lowest
base RTT before 135 s, a sharp rise at 150 s and a larger rise at 195 s. Statements on a moment are
checked in that run, and in all similar moments over the schedules.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import Estimate
from perigee_studies import frames, style
from perigee_studies.model import Evidence
from perigee_studies.verdicts import Verdict, bound, near, order, value, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from perigee_studies.digest import Digest
    from perigee_studies.model import Ask, Case, Outcome, Tables

RUN = 33
PERIOD_S = 15
PERIODS = 20
SOURCE = "Fig. 3c and text"
ASSUMED = "Fig. 3c has one such moment; over schedules not published"
BACK = 0.9
"""Share of the rate above which a flow has recovered. Payload is 0.96 of the rate."""
SHARP_MS, SHARP_TIMES = 30, 2.5
"""A sharp rise of the base RTT is about as large as that of run 33 at 150 s (33 ms, 2.8 times)."""
CLIMB_MBPS = 20
"""Minimum increase of the rate; it is 25 Mbit/s in run 33 at 180 s."""
HIGH_PCT, LOW_PCT = 0.5, 0.3
"""Thresholds of high and low loss; it is 0.56 % in run 33 at 180 s, and 0.01 % before."""
DRAWN_S = (105, 225)
LATER = "later start"
LATER_S = (1, 2, 3, 4, 6, 7, 8, 9)
"""Delays of the start in variants of run 33, over the 10 s for which BBRv3 keeps a minimum RTT."""


@dataclass(frozen=True)
class Period:
    """State of the path in a period of 15 s."""

    begin_s: int
    rate_mbps: int
    rtt_ms: int
    loss_pct: float


def schedule(run: int) -> list[Period]:
    """A schedule as drawn by the study, from CPython's generator with the run as seed."""
    draw, out = random.Random(run), []  # repeats published draws
    for k in range(PERIODS):
        rate, rtt, loss = draw.randint(50, 100), draw.randint(10, 100), round(draw.uniform(0, 1), 2)
        draw.randint(45, 120)  # the cut, ms
        out.append(Period(k * PERIOD_S, rate, rtt, loss))
    return out


def sharp(before: Period, now: Period) -> bool:
    """Whether the base RTT rises sharply."""
    return now.rtt_ms - before.rtt_ms >= SHARP_MS and now.rtt_ms >= SHARP_TIMES * before.rtt_ms


def climbs(before: Period, now: Period) -> bool:
    """Whether the rate increases considerably."""
    return now.rate_mbps - before.rate_mbps >= CLIMB_MBPS


def _seconds(d: Digest, p: Period) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Goodput in each second of a period, over the rate of the period.

    Empty if the run is shorter.
    """
    mask = (d.t_s > p.begin_s) & (d.t_s <= p.begin_s + PERIOD_S)
    here: np.ndarray[Any, np.dtype[np.float64]] = np.nan_to_num(d.mbps(0))[mask] / p.rate_mbps
    return here if len(here) == PERIOD_S else here[:0]


def _back_s(seconds: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Number of seconds before the first with a recovered rate; all of them if there is none."""
    back = seconds >= BACK
    return float(back.argmax()) if back.any() else float(len(seconds))


def of_run(o: Outcome) -> dict[str, float]:
    """Metrics of the moments in a schedule: time to recovery, and goodput after rate increases."""
    pairs = [(b, n, s) for b, n in pairwise(schedule(o.case.seed)) if len(s := _seconds(o.digest, n))]
    climbing = [(n, s) for b, n, s in pairs if climbs(b, n)]
    return {
        "sharp_back_s": _mean([_back_s(s) for b, n, s in pairs if sharp(b, n)]),
        "other_back_s": _mean([_back_s(s) for b, n, s in pairs if not sharp(b, n)]),
        "climb_high_loss": _mean([float(s.mean()) for n, s in climbing if n.loss_pct >= HIGH_PCT]),
        "climb_low_loss": _mean([float(s.mean()) for n, s in climbing if n.loss_pct <= LOW_PCT]),
    }


def _mean(found: list[float]) -> float:
    return float(np.mean(found)) if found else float("nan")


def table(found: Sequence[Outcome]) -> pd.DataFrame:
    """The drawn part of run 33, with one row per period."""

    def rows(o: Outcome) -> list[dict[str, float]]:
        these = [p for p in schedule(RUN) if DRAWN_S[0] <= p.begin_s < DRAWN_S[1]]
        both = [(p, s) for p in these if len(s := _seconds(o.digest, p))]
        return [
            {
                "begin_s": p.begin_s,
                "rate_mbps": p.rate_mbps,
                "base_rtt_ms": p.rtt_ms,
                "loss_pct": p.loss_pct if o.case.labels["loss"] else 0.0,
                "share": float(s.mean()),
                "first_10_s": float(s[:10].mean()),
                "back_s": _back_s(s),
            }
            for p, s in both
        ]

    return frames.series([o for o in found if o.case.seed == RUN], rows)


def verdicts(t: Tables) -> list[Verdict]:
    """Claims on the text's moments in its run, and on similar moments over the schedules."""
    return [*_sharp_rise(t), *_climb(t), *_vivace(t), *_astraea(t)]


def _at(t: Tables, cc: str, begin_s: int, column: str, loss: int = 0) -> Estimate:
    """Mean in run 33; NaN if it was not run."""
    found = t.get("moments")
    if found is None or not len(found):
        return value(float("nan"))
    one = frames.pick(found, cc=cc, begin_s=begin_s, loss=loss)[column]
    return value(one.iloc[0] if len(one) else float("nan"))


def _over(t: Tables, cc: str, *columns: str, loss: int = 0) -> list[Estimate]:
    """Means over schedules with moments of each kind, for comparison schedule by schedule."""
    runs = frames.pick(t["runs"], cc=cc, loss=loss)
    if not len(runs) or not set(columns) <= set(runs.columns):
        return [value(float("nan"))] * len(columns)
    return [frames.average(runs.dropna(subset=list(columns)), column) for column in columns]


def _sharp_rise(t: Tables) -> list[Verdict]:
    words = f"150 s: seconds until BBRv3 has {BACK:g} of the rate (run {RUN})"
    lower = f"150 s: BBRv3's first 10 s after the sharp rise, share of the rate (run {RUN})"
    slower = "Seconds until it is back after sharp rises of the base RTT: BBRv3 more than LeoCC"
    alike = "Seconds until BBRv3 is back after sharp rises"
    both = [(style.label(cc), _over(t, cc, "sharp_back_s")[0].value) for cc in ("bbr3", "leocc")]
    return [
        near("150-back", words, SOURCE, 12, _at(t, "bbr3", 150, "back_s"), 3, "s"),
        within("150-rate", lower, SOURCE, "much lower than optimal", _at(t, "bbr3", 150, "first_10_s"), high=0.75),
        order("150-leocc", slower, SOURCE, both, unit="s"),
        bound("150-over", alike, ASSUMED, "around 12 s", _over(t, "bbr3", "sharp_back_s")[0], 9, 15, "s"),
    ]


def _climb(t: Tables) -> list[Verdict]:
    rise = f"the rate rises by {CLIMB_MBPS} Mbit/s and more"
    words = f"180 s: BBRv3's share of the risen rate under loss (run {RUN})"
    lossy, clean = (_over(t, "bbr3", "climb_high_loss", loss=loss)[0].value for loss in (1, 0))
    low, high = (found.value for found in _over(t, "bbr3", "climb_low_loss", "climb_high_loss", loss=1))
    than = f"Where {rise}: BBRv3's share without loss above that with {HIGH_PCT:g} % and more"
    due = f"Where {rise}: BBRv3's share with at most {LOW_PCT:g} % above that with {HIGH_PCT:g} % and more"
    return [
        within("180-share", words, SOURCE, "unable to explore", _at(t, "bbr3", 180, "share", 1), high=0.75),
        order("180-loss", than, SOURCE, [("without loss", clean), ("with loss", lossy)]),
        order("180-due", due, SOURCE, [("little loss", low), ("more loss", high)]),
    ]


def _vivace(t: Tables) -> list[Verdict]:
    words = f"190 s: seconds until Vivace has {BACK:g} of the rate (run {RUN}, change at 195 s)"
    slower = "Seconds until it is back after sharp rises of the base RTT: Vivace more than LeoCC"
    because = "Seconds until Vivace is back: after sharp rises of the base RTT more than after other changes"
    both = [(style.label(cc), _over(t, cc, "sharp_back_s")[0].value) for cc in ("vivace", "leocc")]
    kinds = zip(("rises", "others"), _over(t, "vivace", "sharp_back_s", "other_back_s"), strict=True)
    return [
        within("190-back", words, SOURCE, "slowly", _at(t, "vivace", 195, "back_s"), 5, unit="s"),
        order("190-leocc", slower, SOURCE, both, unit="s"),
        order("190-because", because, SOURCE, [(name, e.value) for name, e in kinds], unit="s"),
    ]


def _astraea(t: Tables) -> list[Verdict]:
    first = f"135 s: Astraea's share of the rate before, while the base RTT is the lowest (run {RUN})"
    then = f"135 s: Astraea's share of the rate from then to 225 s (run {RUN})"
    after = [_at(t, "astraea", s, "share").value for s in range(135, DRAWN_S[1], PERIOD_S)]
    return [
        within("135-before", first, SOURCE, "all", _at(t, "astraea", 120, "share"), 0.85),
        within("135-after", then, SOURCE, "not much", value(float(np.mean(after))), high=0.5),
    ]


def evidence(figure: Callable[[Ask], list[Case]]) -> Evidence:
    """Run 33 with later starts of BBRv3, to separate the scheme's effect from chance."""

    def cases(ask: Ask) -> list[Case]:
        mine = [c for c in figure(ask) if c.cc == "bbr3" and c.labels["run"] == RUN]
        return [_later(c, start_s) for c in mine for start_s in LATER_S]

    return Evidence(cases, explain, (LATER,))


def _later(case: Case, start_s: int) -> Case:
    labels = {**case.labels, "start_s": start_s, "variant": LATER}
    return replace(case, labels=labels, sets={**case.sets, "flow.0.start": f"{start_s} s"})


def explain(t: Tables, variants: Tables) -> Mapping[str, str]:
    """Explanations of moments that are not reproduced."""
    found = variants.get("moments")
    if found is None or not len(found):
        return {}

    def of(begin_s: int, loss: int, column: str) -> pd.Series:
        return frames.pick(found, variant=LATER, cc="bbr3", begin_s=begin_s, loss=loss)[column]

    back, first, share = of(150, 0, "back_s"), of(150, 0, "first_10_s"), of(180, 1, "share")
    over = frames.in_words(_over(t, "bbr3", "sharp_back_s")[0], 1)
    seconds = ", ".join(f"{x:g}" for x in sorted(back))
    chance = (
        "It depends on when BBRv3's minimum of the RTT expires, which is chance: flows that start later in the same "
        f"run are back after {seconds} s (sorted), and have {first.min():.2f} to {first.max():.2f} of the rate in the "
        f"first seconds. Over the schedules it takes {over} s after sharp rises (95 % interval)."
    )
    lossy, clean = (frames.in_words(_over(t, "bbr3", "climb_high_loss", loss=n)[0]) for n in (1, 0))
    return {
        **dict.fromkeys(("150-back", "150-rate", "150-over"), chance),
        "180-share": f"Flows that start later in the same run have {share.min():.2f} to {share.max():.2f} there, "
        f"median {share.median():.2f}. Over the schedules the share where the rate rises so under such loss is "
        f"{lossy}, and {clean} without loss (95 % intervals).",
        "190-back": _nothing_to_climb(t),
    }


def _nothing_to_climb(t: Tables) -> str:
    before, now = (_at(t, "vivace", s, "rate_mbps").value for s in (180, 195))
    own = _at(t, "vivace", 195, "share").value
    rises, leocc = (frames.in_words(_over(t, cc, "sharp_back_s")[0], 1) for cc in ("vivace", "leocc"))
    return (
        f"The rate falls with that rise, from {before:g} to {now:g} Mbit/s: there is nothing to ramp up to, and Vivace "
        f"has {own:.2f} of it. After sharp rises over the schedules it is back after {rises} s, LeoCC after {leocc} "
        "(95 % intervals)."
    )
