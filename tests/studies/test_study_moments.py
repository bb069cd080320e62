# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The moments that Mazilu et al. discuss in Fig. 3(c), and verdicts on hypotheses."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from perigee_lab.common import statistics as stats
from perigee_lab.common.statistics import Estimate
from perigee_studies import pages
from perigee_studies.decided import CONFIRMED, OPEN, PART, REJECTED, Decided, by_share, gap
from perigee_studies.digest import Digest
from perigee_studies.figures import leo_cc_moments as moments
from perigee_studies.model import SCENARIOS, Case, Outcome
from perigee_studies.registry import experiments
from perigee_studies.verdicts import DIFFERS, MISSING, REPRODUCED, TIE

if TYPE_CHECKING:
    from perigee_studies.model import Tables


def test_one_schedule_of_fifty_has_the_moments_of_the_text() -> None:
    def fits(run: int) -> bool:
        periods = {p.begin_s: p for p in moments.schedule(run)}
        rtt = {s: p.rtt_ms for s, p in periods.items()}
        return (
            min(range(0, 135, 15), key=lambda s: rtt[s]) == 120
            and moments.sharp(periods[135], periods[150])
            and rtt[195] - rtt[180] > rtt[150] - rtt[135]
        )

    assert [run for run in range(1, 51) if fits(run)] == [moments.RUN]
    at = {p.begin_s: p for p in moments.schedule(moments.RUN)}
    assert moments.climbs(at[165], at[180])
    assert at[165].loss_pct < moments.LOW_PCT < moments.HIGH_PCT < at[180].loss_pct


def test_the_schedule_is_the_one_that_is_simulated() -> None:
    from perigee_lab import load

    file = SCENARIOS / "leo-cc/responsiveness.toml"
    flows = load(file, {"run.duration": "46 s"}).run(cc="newreno", seed=moments.RUN).to_pandas("flows")
    for p in moments.schedule(moments.RUN)[:3]:
        row = flows[flows["t_ns"] == (p.begin_s + 1) * 1_000_000_000].iloc[0]
        assert row["path_rate_bps"] == p.rate_mbps * 1_000_000
        assert row["base_rtt_ns"] == pytest.approx(p.rtt_ms * 1e6, abs=0.5e6)


def outcome(seed: int, back_s: dict[bool, int]) -> Outcome:
    """A run with the full rate from `back_s` after a change (sharp or not), and half before."""
    t = np.arange(1.0, 301.0)
    periods = moments.schedule(seed)
    goodput = np.zeros(len(t))
    for before, now in pairwise(periods):
        seconds = goodput[now.begin_s : now.begin_s + moments.PERIOD_S]
        seconds[:] = 0.5 * now.rate_mbps * 1e6
        seconds[back_s[moments.sharp(before, now)] :] = now.rate_mbps * 1e6
    digest = Digest([{}], t, {"goodput_bps": goodput[None]}, np.zeros((1, 1)), [], [], {})
    return Outcome(Case("-", "bbr3", {"run": seed, "loss": 0}, seed), digest)


def test_a_flow_is_back_when_it_has_the_rate_again() -> None:
    found = [moments.of_run(outcome(seed, {True: 7, False: 2})) for seed in range(1, 11)]
    assert {row["other_back_s"] for row in found} == {2.0}
    sharp = {row["sharp_back_s"] for row in found if not math.isnan(row["sharp_back_s"])}
    assert sharp == {7.0}
    never = moments.of_run(outcome(1, {True: 15, False: 15}))
    assert never["other_back_s"] == moments.PERIOD_S
    table = moments.table([outcome(moments.RUN, {True: 7, False: 2})])
    assert list(table["begin_s"]) == list(range(105, 225, 15))
    assert list(table["back_s"]) == [7.0 if s == 150 else 2.0 for s in table["begin_s"]]


def tables(bbr3_s: float, leocc_s: float) -> Tables:
    """Ten schedules, and a run 33 in which BBRv3 takes as long as over the others."""
    noise = (0.1, -0.1) * 5
    rows = [
        {"run": k, "loss": 0, "cc": cc, "sharp_back_s": s + noise[k], "other_back_s": s, "climb_high_loss": 0.9,
         "climb_low_loss": 0.9}
        for k in range(10) for cc, s in (("bbr3", bbr3_s), ("leocc", leocc_s))
    ]  # fmt: skip
    own = {"cc": "bbr3", "loss": 0, "begin_s": 150, "back_s": bbr3_s, "first_10_s": 1 - bbr3_s / 20, "share": 0.9}
    return {"runs": pd.DataFrame(rows), "moments": pd.DataFrame([own])}


def test_the_claims_on_moments_can_fail() -> None:
    keys = ("150-back", "150-rate", "150-leocc", "150-over")
    for t, expected in (
        (tables(12, 1), [REPRODUCED] * 4),
        (tables(2, 2), [DIFFERS, DIFFERS, TIE, DIFFERS]),
        (tables(2, 9), [DIFFERS] * 4),
    ):
        found = {v.key: v.verdict for v in moments.verdicts(t)}
        assert [found[key] for key in keys] == expected
        assert found["180-share"] == found["190-back"] == found["135-before"] == MISSING


def test_a_cause_is_what_takes_half_of_the_effect_away() -> None:
    def of(low: float, high: float) -> str:
        return by_share(10, Estimate((low + high) / 2, low, high, 4))

    assert [of(6, 9), of(1, 4), of(-1, 4), of(-6, -1), of(4, 9), of(-1, 9)] == [
        CONFIRMED, PART, REJECTED, REJECTED, OPEN, OPEN,
    ]  # fmt: skip
    assert by_share(-10, Estimate(-8, -9, -7, 4)) == CONFIRMED
    assert by_share(10, Estimate(9, math.nan, math.nan, 1)) == OPEN
    one, other = stats.mean([5, 6, 7, 8]), stats.mean([1, 2, 3, 4.2])
    assert gap(one, other).low == pytest.approx(3.95 - 3.182 * 0.1 / 2, abs=1e-3)
    assert math.isnan(gap(stats.mean([5]), other).low)


def test_a_page_says_which_hypotheses_are_rejected() -> None:
    about = {"size": "default", "runs": 3, "decided": [vars(Decided("the Moon does it", REJECTED, "4 without it."))]}
    page = pages._page(experiments()["leo-cc/attach"], [], about, {})
    assert "| the Moon does it | rejected |" in page
    assert "* *the Moon does it*: **rejected**. 4 without it." in page
