# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Inputs and metrics of studies on questions that no paper answers: rain, hotspots."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

from conftest import ROOT
from perigee_lab.sky import weather
from perigee_studies.digest import Digest
from perigee_studies.figures import hypatia_published
from perigee_studies.figures import unpublished_carriers as carriers
from perigee_studies.figures import unpublished_hotspots as hotspots
from perigee_studies.figures import unpublished_hotspots_views as hotspots_views
from perigee_studies.figures import unpublished_imperfect as imperfect
from perigee_studies.figures import unpublished_imperfect_again as again
from perigee_studies.figures import unpublished_rain as rain
from perigee_studies.figures import unpublished_schemes as schemes
from perigee_studies.figures import unpublished_schemes_views as schemes_views
from perigee_studies.model import OF_EVERY_RUN, Ask, Outcome, Size
from perigee_studies.registry import experiments


def test_rain_changes_rates_within_the_run_and_differs_by_seed() -> None:
    assert rain.changes("dry", 1, 60) == []
    first, other = (rain.changes("London", seed, 240) for seed in (1, 2))
    assert first == rain.changes("London", 1, 240)
    assert first != other
    assert first[0]["at"] == "0 s"
    rates = [float(str(c["rate"]).split()[0]) for c in (*first, *other)]
    assert all(0 <= rate < 100 for rate in rates)
    assert all(float(str(c["at"]).split()[0]) < 240 for c in (*first, *other))
    # From 1 % of the time on, Singapore loses more than London from 0.3 % on.
    wet = [float(str(c["rate"]).split()[0]) for c in rain.changes("Singapore", 1, 240)]
    assert min(wet) < min(rates)


def test_climates_are_those_of_the_model() -> None:
    pytest.importorskip("itur", reason="itur is not installed (pip install 'perigee-lab[weather]')")
    for lat, lon, name in ((51.5074, -0.1278, "London"), (1.3521, 103.8198, "Singapore")):
        found = weather.climate(lat, lon, frequency_ghz=28.0, elevation_deg=40.0)
        climate, _ = rain.CLIMATES[name]
        assert (climate.m, climate.sigma, climate.rain_share) == pytest.approx(
            (found.m, found.sigma, found.rain_share), rel=1e-6
        )


def test_a_hotspot_is_a_port_in_consecutive_seconds() -> None:
    # Port 7 in seconds 1 to 3 and 5, port 9 in second 2; 20 Mbit/s.
    rows = [
        [t, port, 20, 0.99, queue] for t, port, queue in ((1, 7, 10), (2, 9, 5), (2, 7, 20), (3, 7, 30), (5, 7, 40))
    ]
    found = {(n, tuple(queues)) for n, queues in hotspots.hotspots(np.array(rows, dtype=float))}
    assert found == {(3, (10, 20, 30)), (1, (40,)), (1, (5,))}
    assert list(hotspots.hotspots(np.empty((0, 5)))) == []


def test_a_hotspot_is_a_full_port_at_which_two_packets_wait() -> None:
    # A packet of 1,500 bytes takes 0.6 ms at 20 Mbit/s and 0.12 ms at 100.
    rows = [[1, 7, 20, 0.99, 0.6], [2, 7, 20, 0.99, 1.2], [3, 7, 20, 0.99, 1.1], [1, 9, 100, 0.95, 0.25]]
    busy = np.array(rows, dtype=float)
    assert hotspots.packets(busy) == pytest.approx([1, 2, 11 / 6, 25 / 12])
    assert {(row[0], row[1]) for row in hotspots.hot(busy)} == {(2, 7), (1, 9)}


def _busy(seconds: list[int]) -> np.ndarray:
    return np.array([[t, 1, 20, 1, 9] for t in seconds], dtype=float).reshape(-1, 5)


def test_ports_that_fill_and_empty_by_turns_alternate() -> None:
    turns = [t for t in range(1, 61) if (t - 1) // 5 % 2 == 0]
    assert hotspots.alternation(_busy(turns), 60) > 1.5
    assert hotspots.alternation(_busy(list(range(1, 31))), 60) < 0, "a load that comes and goes"
    assert np.isnan(hotspots.alternation(_busy([]), 60))


def test_paths_that_return_are_counted_with_the_time_since_they_were_left() -> None:
    a, b = ["x", "s1", "y"], ["x", "s2", "y"]
    there = [(0.0, 1, a), (5.0, 1, b), (10.0, 1, a), (30.0, 1, b), (0.0, 2, a)]
    found = hotspots.moved(there, 60)
    assert found["path_changes"] == pytest.approx(1.5), "three changes of two pairs in a minute"
    assert found["restored_pct"] == pytest.approx(100 / 3), "b was left 20 s before"


def _hotspot_rows(runs: int) -> pd.DataFrame:
    columns = {name: 1.0 for name, *_ in hotspots_views.BOUNDS} | {
        f"jain {name}": 1.0 for name, *_ in hotspots_views.REGIONS
    }
    return pd.DataFrame(
        [
            {"route": route, "run": run, "cc": cc, "seed": run, "alternation": -0.1, **columns}
            for route, count in (("shortest", 3), ("load-aware", runs))
            for run in range(1, count + 1)
            for cc in ("cubic", "orbcc")
        ]
    )


@pytest.mark.parametrize(("runs", "claims"), [(2, set()), (3, {"Cubic", "OrbCC (text)"})])
def test_routes_with_two_runs_have_no_claims(runs: int, claims: set[str]) -> None:
    found = hotspots_views.verdicts({"runs": _hotspot_rows(runs), "ripple": pd.DataFrame()})
    assert {v.claim.split(",")[0] for v in found if "shortest routes: Jain" in v.claim} == {"Cubic", "OrbCC (text)"}
    assert {v.claim.split(",")[0] for v in found if "load-aware routes: Jain" in v.claim} == claims
    assert any("load-aware over shortest" in v.claim for v in found) == bool(claims)
    assert any("alternation" in v.claim for v in found) == bool(claims)


def test_the_ripple_is_that_over_load_aware_routes_less_that_over_shortest_ones() -> None:
    rows = [
        {"route": route, "run": run, "cc": "orbcc", "second": k, "deviation_pct": size * (k == 1) + run}
        for route, size in (("shortest", -2.0), ("load-aware", -9.0))
        for run in (1, 2, 3)
        for k in range(1, 6)
    ]
    assert hotspots_views.ripple({"ripple": pd.DataFrame(rows)}, "orbcc").value == pytest.approx(7)


def test_a_digest_keeps_busy_ports() -> None:
    busy = np.array([[1.0, 7.0, 20.0, 0.99, 12.5]])
    d = Digest([{}], np.array([1.0, 2.0]), {}, np.zeros((1, 1)), busy=busy)
    assert Digest.from_bytes(d.to_bytes()).busy == pytest.approx(busy)
    without = Digest([{}], np.array([1.0, 2.0]), {}, np.zeros((1, 1)))
    assert Digest.from_bytes(without.to_bytes()).busy.shape == (0, 5)


def test_starts_are_run_with_schemes_that_accept_them_and_proxies_without_telemetry() -> None:
    cases = schemes.cases(Ask(Size.DEFAULT))
    starts = {(c.cc, c.labels["start"]) for c in cases if c.labels["part"] == "starts"}
    assert {start for cc, start in starts if cc == "cubic"} == {"own", "hystart++", "search", "rapid", "careful"}
    assert {start for cc, start in starts if cc == "bbr3"} == {"own", "careful"}
    assert not {c.cc for c in cases if c.labels["how"] == "proxies"} & {"orbcc", "orbcc-next"}
    flows = [c.sets["flow"] for c in cases if c.labels["part"] == "beside" and c.labels["flows"] == 4]
    assert all([f["cc"] for f in each] == ["*", "cubic"] * 2 for each in flows)  # type: ignore[attr-defined]


def test_flows_are_grouped_and_ranked_by_the_order_of_arrival() -> None:
    assert schemes_views.parts(16) == [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16)]
    assert schemes_views.parts(2) == [(1, 1), (2, 2)]
    rows = [
        {"cc": cc, "how": how, "run": run, "order": k, "mbps": sign * k + run}
        for cc, sign in (("bbr3", -1.0), ("copa", 1.0))
        for how in ("end to end", "together")
        for run in (1, 2, 3)
        for k in range(1, 5)
    ]
    arrivals = pd.DataFrame(rows)
    assert schemes_views.ranks(arrivals, "bbr3", "end to end").value == pytest.approx(-1)
    assert schemes_views.by_order(arrivals, "copa", "together", 3, 4) == pytest.approx(5.5)
    text = " ".join(schemes_views.summary({"variants-arrivals": arrivals}))
    assert "| BBRv3 | 2 s apart | 1.00 | 0.00 | -1.50 | -1.00 |" in text
    assert (
        "more under BBRv3 (1.0 Mbit/s for the first, -2.0 for the last); who starts later has more under Copa" in text
    )
    assert schemes_views.summary({}) == []


def test_runs_stored_flow_by_flow_are_those_of_the_figure() -> None:
    figure = {(c.cc, str(c.sets), c.seed) for c in schemes.cases(Ask(Size.DEFAULT))}
    ordered = schemes._order_cases(Ask(Size.DEFAULT))
    assert {(c.cc, str(c.sets), c.seed) for c in ordered} < figure
    assert {c.labels["how"] for c in ordered} == {"end to end", "together"}
    assert {c.labels["flows"] for c in ordered} == {16}


def test_a_finding_about_imperfect_links_needs_several_runs_and_lists_schemes_in_words() -> None:
    runs = pd.read_csv(ROOT / "docs/studies/data/hypatia-imperfect/runs.csv")
    assert imperfect.finding({"runs": runs[runs["run"] == 1]}).startswith("**Too few runs for a finding:**")
    assert "for NewReno, Cubic and Vegas;" in imperfect.finding({"runs": runs})
    assert [imperfect._listed(names) for names in ([], ["A"], ["A", "B"])] == ["no scheme", "A", "A and B"]


def test_tables_1_to_4_again_have_every_cell_and_their_sentence_is_computed_from_them() -> None:
    cells = [c for c in imperfect.cases(Ask()) if "strategy" in c.labels]
    assert len(cells) == 16 * len(again.SETTINGS) * len(again.SCHEMES)
    assert {(c.labels["km"], c.labels["strategy"]) for c in cells} == set(hypatia_published.TABLES)
    assert all(c.sets["run.duration"] == "200 s" and c.sets["tcp.delayed_ack"] == 2 for c in cells)
    assert {c.cc for c in cells if "port.all.metered" in c.sets} == {"orbcc"}
    rows = [
        {**c.labels, "what": c.cc, "mbit": 1000.0 * (0.4 if c.labels["setting"] == again.LASERS else 1)} for c in cells
    ]
    rows[2 * len(again.SCHEMES)]["mbit"] = 100.0  # NewReno, lasers 0.01 %, Sao Paulo, Table 1
    t = {again.TABLE: pd.DataFrame(rows)}
    words = again.finding(t)
    assert "(16 cells, one run each)" in words
    assert "NewReno 38 %, Cubic 40 %" in words
    assert "least 10 % (NewReno, Sao Paulo, 11,000 km, shortest); outages leave 100 to 100 %" in words
    assert "| 1 | Sao Paulo | 11,000 | shortest | NewReno | 1920 | 1000 | 1000 | 100 |" in "\n".join(again.summary(t))
    assert imperfect.verdicts(t) == []
    assert again.finding({}) == ""
    assert again.summary({}) == []


@pytest.mark.parametrize("name", ["geo/schemes", "orbcc/rain", "orbcc/hotspots", "orbcc/carriers", "hypatia/imperfect"])
def test_pages_describe_every_column_of_their_tables(name: str) -> None:
    of = experiments()[name]
    folder = name.replace("/", "-")
    tables = sorted((ROOT / "docs/studies/data" / folder).glob("*.csv"))
    assert tables
    found = set()
    for path in tables:
        with path.open(encoding="utf-8", newline="") as file:
            found |= set(next(csv.reader(file)))
    assert found == {*of.columns, *OF_EVERY_RUN}
    page = (ROOT / f"docs/studies/{folder}.md").read_text(encoding="utf-8")
    assert all(f"| `{column}` | " in page for column in found)


def test_a_carrier_keeps_the_least_of_fairness_goodput_and_delay() -> None:
    cases = carriers.cases(Ask(Size.QUICK))
    assert {c.labels["figure"] for c in cases} == set(carriers.FIGURES)
    assert len(cases) % len(carriers.CARRIERS) == 0
    t = np.arange(1.0, 25.0)

    def digest(second: float, rtt: float) -> Digest:
        goodput = np.array([[50e6] * len(t), [second] * len(t)])
        columns = {"goodput_bps": goodput, "rtt_ns": goodput * 0 + rtt, "base_rtt_ns": goodput * 0 + 60e6}
        flow = {"retransmits": 1, "timeouts": 0}
        return Digest([flow, flow], t, columns, np.zeros((2, 1)), info={"duration_ns": 24e9})

    both = [c for c in cases if c.labels["figure"] == "Fig. 6" and c.labels["carrier"] in ("records", "ECN")]
    found = [Outcome(c, digest(*values)) for c, values in zip(both, ((50e6, 66e6), (40e6, 132e6)), strict=True)]
    runs = carriers.tables(found)["runs"].set_index("carrier")
    assert list(runs.loc["records", ["kept_fair", "kept_use", "kept_delay", "kept"]]) == pytest.approx([1, 1, 1, 1])
    assert list(runs.loc["ECN", ["kept_fair", "kept_use", "kept_delay", "kept"]]) == pytest.approx([0.8, 0.9, 0.5, 0.5])


def test_a_carrier_whose_interval_includes_the_bound_is_undecided() -> None:
    shares = {"ECN": (0.80, 0.95, 0.99), "PINT": (0.96, 0.97, 0.98), "IOAM": (0.3, 0.31, 0.32)}
    rows = [
        {"figure": "Fig. 8", "setting": "20 flows", "carrier": name, "run": k, "cc": "orbcc", "seed": k}
        | dict.fromkeys(("kept", "kept_fair", "kept_use", "kept_delay"), kept)
        | {"fair": kept, "use": kept, "delay": {"IOAM": 6.0}.get(name, 5.0) + k / 100}
        for name, each in {**shares, carriers.RECORDS: (1, 1, 1), "nothing": (0.1, 0.1, 0.1)}.items()
        for k, kept in enumerate(each, 1)
    ]
    tables = {"runs": pd.DataFrame(rows)}
    words = carriers.finding(tables)
    assert "PINT 8; ECN 8 (undecided); nothing none" in words
    assert "here stock IOAM is worse than no telemetry" in words
    assert "0.91 (undecided)" in carriers.summary(tables)[-1]
