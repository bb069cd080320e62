# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Computations on the pages of the geostationary study, with synthetic runs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from perigee_studies.digest import Digest
from perigee_studies.execute import Plan
from perigee_studies.figures import geo_downloads, geo_set_ups
from perigee_studies.model import Ask, Case, Outcome, Size
from perigee_studies.registry import experiments
from perigee_studies.verdicts import DIFFERS, REPRODUCED


def download(columns: dict[str, Any]) -> Outcome:
    arrays = {k: np.array([v], dtype=float) for k, v in columns.items()}
    samples = len(next(iter(columns.values())))
    d = Digest([{"completed_s": None}], np.arange(1, samples + 1) / 10, arrays, np.zeros((1, 201)))
    return Outcome(Case("-", "bbr", {"run": 1}), d)


def test_throughput_counts_what_arrives_behind_a_hole() -> None:
    # Ten packets per sample; from the third sample on, the first of twenty lost packets holds up
    # delivery in order.
    sent = np.arange(1, 9) * 10
    lost = np.array([0, 0, 0, 20, 20, 20, 20, 20])
    flying = np.full(8, 5 * geo_downloads.MSS)
    got = geo_downloads.arrived_bytes(download({"sent_packets": sent, "lost_packets": lost, "in_flight_bytes": flying}))
    assert list(got / geo_downloads.MSS) == [5, 15, 25, 25, 25, 35, 45, 55], "never falls, and goes on behind the hole"


@pytest.mark.parametrize("offset", range(10))
def test_a_dip_shows_wherever_seconds_begin(offset: int) -> None:
    rate = np.ones(400)
    for begin in (50 + offset, 170 + offset, 290 + offset):
        rate[begin : begin + 8] = 0.0
    dips = geo_downloads._dips(np.cumsum(rate))
    assert [round(b - a, 1) for (a, _), (b, _) in pairwise(dips)] == [12.0, 12.0]
    assert all(0.6 <= length <= 1.0 for _, length in dips)
    rate[:] = 1.0
    rate[50:250:20] = 0.0
    assert geo_downloads._dips(np.cumsum(rate)) == [], "a tenth of a second is no dip"


def test_the_published_set_up_is_run_once_for_both_pages() -> None:
    both = [experiments()[n] for n in ("geo/downloads", "geo/set-ups")]
    plan = Plan.of(both, Ask(Size.QUICK))
    assert not plan.failures
    shared = {p.key for p in plan.planned["geo/downloads"]} & {p.key for p in plan.planned["geo/set-ups"]}
    assert len(shared) == 4, "two runs of two schemes"
    toml = {p.case.labels["set_up"]: p.scenario.core.toml for p in plan.planned["geo/set-ups"]}
    assert len(set(toml.values())) == len(geo_set_ups.SET_UPS), "each set-up differs from all others"
    assert "tcp_adv_win_scale" not in toml["as published"]
    assert "receive_buffer = 30000000" in toml["as published"]


def test_short_fades_lose_as_many_pings_as_were_lost_singly() -> None:
    fades = geo_set_ups.FADES
    every_s, slot_ms = (float(str(fades[f"jitter.{k}"]).split()[0]) for k in ("loss_every", "loss_slot"))
    lost_singly, pings = 465, 7 * 86_400 * 5
    assert 2 * slot_ms / 1e3 / every_s == pytest.approx(lost_singly / pings, rel=0.02)


def test_verdicts_of_the_set_ups_are_computed() -> None:
    rows = []
    for name in ("as published", *geo_set_ups.CHANGED):
        for run, apart in ((1, -1.0), (2, 1.0)):
            for cc in ("cubic", "bbr"):
                mine = {n.column: n.published for n in geo_set_ups.NUMBERS if n.cc == cc}
                mine["rtt_ms"] += apart * (100 if cc == "cubic" else 10)
                rows.append({"set_up": name, "cc": cc, "run": run, **mine})
    runs = pd.DataFrame(rows)
    found = geo_set_ups.check({"runs": runs})
    assert {v.verdict for v in found} == {REPRODUCED}
    assert not any("as published" in v.claim for v in found)
    runs.loc[(runs["set_up"] == "128 Mbit/s") & (runs["cc"] == "bbr"), "startup_mbps"] = 33.0
    wrong = [v for v in geo_set_ups.check({"runs": runs}) if v.verdict == DIFFERS]
    assert [v.key for v in wrong] == ["all-128 Mbit/s"]
    assert wrong[0].ours.startswith("7 of 8; not: BBRv1's start-up throughput 33 Mbit/s")
    known = {v.key for v in found}
    assert set(geo_set_ups.explain({}, {"runs": runs})) <= known


def test_the_sizes_of_the_effects_are_claims() -> None:
    rows = [("cubic", 130.0, 16.0), ("cubic", 150.0, 18.0), ("bbr", 120.0, 33.0), ("bbr", 140.0, 34.0)]
    found = geo_downloads._tests(pd.DataFrame(rows, columns=["cc", "mean_mbps", "startup_mbps"]))
    effects = {v.key: v for v in found if v.key.startswith("effect-")}
    # Cohen's d: 10 over sqrt(200), and 16.5 over sqrt((2 + 0.5) / 2).
    assert [(v.published, float(v.ours), v.tolerance) for v in effects.values()] == [
        ("0.7", pytest.approx(0.7071, rel=1e-3), "± 0.35"),
        ("5", pytest.approx(14.76, rel=1e-3), "± 2.5"),
    ]
    assert [v.verdict for v in effects.values()] == [REPRODUCED, DIFFERS]
