# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The campaign of the geostationary study: sections of one timeline, and its column on another page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from perigee_studies import pages
from perigee_studies.digest import Digest
from perigee_studies.figures import geo_campaign, geo_campaign_views, geo_downloads
from perigee_studies.model import Ask, Case, Outcome, Size
from perigee_studies.registry import experiments

ROOT = Path(__file__).parents[2]


def test_the_course_of_the_load_is_that_of_demand_and_a_quarter_in_the_mean() -> None:
    rust = (ROOT / "crates/perigee-scenario/src/file/demand.rs").read_text(encoding="utf-8")
    table = re.search(r"ACTIVITY: \[f64; 24\] = \[(.*?)\]", rust, re.DOTALL)
    assert table is not None
    assert tuple(float(x) for x in table[1].replace("\n", "").split(",") if x.strip()) == geo_campaign.ACTIVITY
    hours = np.arange(0, 24, 0.1)
    assert np.mean([geo_campaign.load_at(h) for h in hours]) == pytest.approx(0.25, rel=1e-3)
    assert geo_campaign.load_at(23.999) == pytest.approx(geo_campaign.load_at(0), rel=1e-2), "around midnight"


@pytest.mark.slow
def test_sections_cover_the_week_and_the_day_without_a_gap() -> None:
    every = [c for c in geo_campaign.cases(Ask(Size.DEFAULT)) if c.labels["setting"] == geo_campaign.DAY]
    assert len({(c.scenario, c.seed) for c in every}) == len(every) == 168 + 80 * geo_campaign.DAYS
    cases = [c for c in every if c.labels["draw"] == 1]
    lengths_s = {"pings": 0, "cycle": 0}
    for c in cases:
        lengths_s[str(c.labels["part"])] += int(str(c.sets["run.duration"]).split()[0])
    assert lengths_s == {"pings": 7 * 86_400, "cycle": 86_400}
    assert len({(c.scenario, c.seed) for c in cases}) == len(cases) == 168 + 80
    share = geo_campaign._weather()[0]
    assert len(share) == 8 * 86_400
    # A section begins with the weather of its first second, and has all of its changes.
    wet = int(np.flatnonzero(share[86_400:] < 1)[0]) + 86_400
    section = geo_campaign.section(geo_campaign.SETTINGS[2], wet - 5, 60)
    changes = section["change"]
    assert isinstance(changes, list)
    assert (changes[0]["at"], changes[0]["rate"]) == ("5 s", f"{144 * round(float(share[wet]), 6):g} Mbit")
    assert "change" not in geo_campaign.section(geo_campaign.SETTINGS[0], wet - 5, 60)


def test_a_download_begins_with_its_own_first_packet() -> None:
    samples = 60
    t_s = np.arange(1, samples + 1) / 10
    sent = np.full((3, samples), np.nan)
    sent[1, 10:40] = np.arange(1, 31) * 10
    columns = {"sent_packets": sent, "rtt_ns": np.full((3, samples), 6e8)}
    flows = [
        {"name": "ping", "started_ns": 0, "completed_s": None},
        {"name": "cubic", "started_ns": 1_000_000_000, "completed_s": 3.5},
        {"name": "bbr", "started_ns": 5_000_000_000, "completed_s": None},
    ]
    digest = Digest(flows, t_s, columns, np.zeros((3, 201)))
    case = Case(geo_campaign.FILE, geo_campaign.MIXED, {"setting": "quiet", "part": "cycle", "run": 1})
    [one] = geo_campaign.each_download([Outcome(case, digest)])
    assert (one.case.cc, one.digest.flows[0]["completed_s"]) == ("cubic", 2.5), "bbr has not sent anything"
    assert one.digest.t_s == pytest.approx(np.arange(1, 31) / 10)
    assert list(one.digest.columns["sent_packets"][0]) == [10.0 * k for k in range(1, 31)]


def test_the_page_of_the_downloads_has_the_campaign_as_columns(tmp_path: Path) -> None:
    rows = []
    for setting, apart in (("", 1.0), *((s.name, 2.0 + i) for i, s in enumerate(geo_campaign.SETTINGS))):
        for run in (1, 2, 3):
            for cc, least in (("cubic", 120.0), ("bbr", 110.0)):
                metrics = {column: least + apart * run for _, _, column, _, _ in geo_downloads.TABLES.values()}
                rows.append({"setting": setting, "draw": 1, "cc": cc, "run": run, **metrics, "rtt_over_2s_pct": apart})
    runs = pd.DataFrame(rows)
    for name, mine in (("geo-downloads", runs["setting"] == ""), ("geo-campaign", runs["setting"] != "")):
        folder = tmp_path / "docs" / "data" / name
        folder.mkdir(parents=True)
        runs[mine].to_csv(folder / "runs.csv", index=False)
    results = tmp_path / "results" / "geo" / "downloads" / "data"
    results.mkdir(parents=True)
    runs[runs["setting"] == ""].to_csv(results / "runs.csv", index=False)
    found = pages._seconds(experiments()["geo/downloads"], tmp_path / "results", tmp_path / "docs")
    text = "\n".join(found)
    assert found[1] == "## The campaign"
    assert "| Cubic: steady throughput, Mbit/s | 123.3 ± 17 | 122.0 ± 1.0 | 124.0 ± 2.0 |" in text
    assert pages._seconds(experiments()["geo/ping"], tmp_path / "results", tmp_path / "docs") == []


def _days(apart: float) -> dict[str, pd.DataFrame]:
    """Five drawn days of the setting day: Cubic's published throughput, shifted by `apart` per day."""
    rows = []
    for draw in range(1, 6):
        for run in range(1, 5):
            for i, cc in enumerate(("cubic", "bbr")):
                metrics = {}
                for words, _, column, _, (means, deviations) in geo_downloads.TABLES.values():
                    spread = deviations[i] * (run - 2.5) * 0.7746
                    metrics[column] = means[i] + spread + (apart * draw if words == "steady throughput" else 0)
                rows.append({"setting": "day", "draw": draw, "run": run, "cc": cc, "rtt_over_2s_pct": 5.0, **metrics})
    return {"runs": pd.DataFrame(rows)}


def test_deviations_of_a_day_do_not_contain_differences_between_days() -> None:
    t = _days(10)
    ours = geo_campaign_views.over_days(t, "day", "cubic", "mean_mbps", "std")
    assert ours.value == pytest.approx(17, rel=1e-3)
    assert ours.n == 5
    mean = geo_campaign_views.over_days(t, "day", "cubic", "mean_mbps")
    assert mean.value == pytest.approx(123.3 + 30)
    assert mean.high - mean.low == pytest.approx(2 * 2.776 * np.std([10, 20, 30, 40, 50], ddof=1) / 5**0.5, rel=1e-3)


def test_the_finding_counts_the_days_in_which_a_claim_holds() -> None:
    held = geo_campaign_views._held(_days(5), "day")
    # Tolerances of the means: 12.3 and 11.3 Mbit/s, thus two days each.
    assert held["Cubic: mean steady throughput"] == {1: True, 2: True, 3: False, 4: False, 5: False}
    assert all(held["BBRv1: standard deviation of the steady throughput"].values())
    text = geo_campaign_views._in_days(_days(5))
    assert text == "in 5 of 5 drawn days for both, mean throughputs in 2 and mean RTTs in 5 of them"
    assert "| 2 of 5 | 5 of 5 |" in "\n".join(geo_campaign_views.summary(_days(5)))
