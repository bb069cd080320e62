# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of senders: sixty runs with the limit set by construction, records without accounts, captures, logs."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from why_cases import CASES, QUICK, Case, case, change

import perigee_lab as perigee
from conftest import ROOT, Cli
from perigee_lab.common.files import RecordError
from perigee_lab.results.report.data import shown_flows
from perigee_lab.results.report.limits import strips
from perigee_lab.results.run import Run
from perigee_lab.results.why import FlowLimits, limits
from perigee_lab.results.why.causes import NAMES

RIGHT = 0.95


def run_of(made: Case) -> Run:
    """The run of a case."""
    return perigee.loads(made.toml).run(made.cc)


def found(of: FlowLimits) -> dict[int, str]:
    """The largest limit in each second."""
    return {int(b["t_s"]): max(NAMES, key=lambda n: b[n]) for b in of.over_time()}


def verdicts(made: Case, of: FlowLimits) -> Counter[str]:
    """Seconds by verdict: right, unknown, or the wrong limit with the time."""
    seconds = found(of)
    kinds: Counter[str] = Counter()
    for begin, end, name in made.truth:
        for t in range(begin, end):
            got = seconds.get(t, "none")
            kinds["right" if got == name else got if got == "unknown" else f"{made.name}, {t} s: {got}"] += 1
    return kinds


def without_accounts(run: Run) -> Run:
    """The record as of a version that had no accounts of senders."""
    tables = {name: table for name, table in run.manifest.tables.items() if name != "limits"}
    return Run(replace(run.manifest, tables=tables), None, {name: run.table(name) for name in tables})


def check(cases: Iterable[Case]) -> None:
    """Asserts that 95 % of the seconds are right, and those decided from the rows alone, too."""
    exact: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    for made in cases:
        run = run_of(made)
        exact += verdicts(made, run.why()[0])
        rows += verdicts(made, without_accounts(run).why()[0])
    assert exact["right"] >= RIGHT * exact.total(), exact
    decided = rows.total() - rows["unknown"]
    assert rows["right"] >= RIGHT * decided, rows
    assert decided >= 0.6 * rows.total(), "what the rows show is decided"


def test_there_are_sixty_runs_and_every_limit_is_among_them() -> None:
    assert len(CASES) >= 60
    assert len({made.name for made in CASES}) == len(CASES)
    assert {name for made in CASES for *_, name in made.truth} == {*NAMES} - {"unknown"}


def test_the_limit_of_one_run_of_each_kind_is_found_second_by_second() -> None:
    check(QUICK)


@pytest.mark.slow
def test_the_limits_of_sixty_runs_are_found_second_by_second() -> None:
    check(CASES)


@pytest.mark.parametrize("made", QUICK, ids=lambda c: c.family)
def test_shares_add_up_to_one(made: Case) -> None:
    of = run_of(made).why()[0]
    for bins in (of.over_time(), of.over_time(0.25)):
        assert all(sum(b[n] for n in NAMES) == pytest.approx(1.0) for b in bins)
        assert sum(b["length_s"] for b in bins) == pytest.approx(of.end_s - of.begin_s)
    assert sum(of.totals().values()) == pytest.approx(of.end_s - of.begin_s)


def test_accounts_of_the_sender_add_up_to_the_time_since_the_handshake() -> None:
    run = perigee.load(ROOT / "scenarios/micro/chain.toml", {"run.duration": "4 s", "flow.0.stagger": "100 ms"}).run(
        "orbcc"
    )
    table = run.to_pandas("limits")
    times = table.filter(like="_ns").drop(columns="t_ns").sum(axis=1).groupby(table["flow"]).sum()
    begun = run.to_pandas("flow_totals").set_index("flow")["started_ns"]
    last = table.groupby("flow")["t_ns"].max()
    waits = (last - begun - times) / 1e6
    assert ((waits > 19) & (waits < 41)).all(), "a handshake takes a round trip of 20 ms, and what waits in queues"


def test_a_recovery_has_its_reason_its_windows_and_its_round_trips() -> None:
    burst = change("4 s", "loss = 0.02") + change("4.1 s", "loss = 0")
    made = case(
        "recovery", "newreno", (), rtt="100 ms", rate="100 Mbit", queue="0.3 bdp", changes=burst, duration=10,
        flow="tcp.init_ssthresh = 400",
    )  # fmt: skip
    of = run_of(made).why()[0]
    longest = max(of.episodes, key=lambda r: r.end_ns - r.begin_ns)
    assert longest.reason == "loss"
    assert 4.0 < longest.begin_ns / 1e9 < 4.3
    assert longest.after_bytes == pytest.approx(longest.before_bytes / 2, rel=0.1), "NewReno halves"
    assert not longest.recovered, "220 round trips of 100 ms are 22 s"
    assert longest.rounds == pytest.approx((longest.end_ns - longest.begin_ns) / 1e8, rel=0.1)


def test_flow_control_is_reported_with_the_remedy() -> None:
    made = next(c for c in CASES if c.family == "receive")
    (note,) = [n for n in run_of(made).why()[0].notes if n.startswith("flow control")]
    assert "raise the receive window" in note
    assert "to 15" in note, "20 Mbit/s over 60 ms are 150 kB"


def test_a_stale_minimum_rtt_is_reported() -> None:
    longer = change("4 s", 'rtt = "140 ms"')
    of = run_of(case("stale", "bbr", (), changes=longer, duration=10)).why()[0]
    (note,) = [n for n in of.notes if n.startswith("stale minimum RTT")]
    assert "60." in note
    assert "140." in note
    none = run_of(case("steady", "bbr", (), duration=10)).why()[0]
    assert not [n for n in none.notes if n.startswith("stale")]


def test_flows_are_chosen_by_name_and_number() -> None:
    run = perigee.load(ROOT / "scenarios/micro/chain.toml", {"run.duration": "2 s", "flow.0.stagger": "100 ms"}).run(
        "cubic"
    )
    names = run.table("flow_totals").column("name").to_pylist()
    assert run.why(names[2])[0].name == run.why(3)[0].name == names[2]
    assert [of.name for of in limits(run)] == names
    with pytest.raises(RecordError, match="no flow 'x'"):
        run.why("x")


def test_strips_of_the_report_add_up_to_a_hundred() -> None:
    run = run_of(QUICK[0])
    strip = strips(run, shown_flows(run))["0"]
    assert strip["said"].startswith("5")
    assert all(sum(b[3::2]) == 100 for b in strip["bins"])
    assert sum(b[1] for b in strip["bins"]) == pytest.approx(12.0, abs=0.01)


def test_the_command_prints_lines_rows_and_objects(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(QUICK[1].toml, encoding="utf-8")
    assert cli("run", "s.toml", "--cc", "cubic,bbr", "--out", "out").returncode == 0
    shown = cli("why", "out").stdout
    assert "receive window" in shown
    assert "raise the receive window" in shown
    assert "bbr, seed 1" in shown
    rows = list(csv.DictReader(io.StringIO(cli("why", "out", "--cc", "cubic", "--csv").stdout)))
    assert [float(r["t_s"]) for r in rows] == list(range(12))
    assert all(sum(float(r[n]) for n in NAMES) == pytest.approx(1, abs=1e-4) for r in rows)
    (item,) = json.loads(cli("why", "out", "--cc", "cubic", "--flow", "1", "--json").stdout)
    assert item["seconds"]["receive_window"] > 9
    assert item["headline"].endswith("of 12.0 s: receive window")
    assert cli("why", "out", "--flow", "7").returncode == 2
    assert cli("why", "out", "--cc", "vegas").returncode == 2
    assert cli("why", "nowhere").returncode == 2
