# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Remedies that cure, damaged accounts, long samples, shared paths, hosts, and the command's errors on limits."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.common.files import RecordError
from perigee_lab.results.run import Run
from perigee_lab.results.sender_limits import NAMES
from perigee_lab.results.why.text import headline
from why_cases import case

Table = pa.Table


def run_of(flow: str = "", cc: str = "cubic", **how: object) -> Run:
    """A run over one bottleneck."""
    made = case("reader", cc, (), flow=flow, **how)  # type: ignore[arg-type]
    return perigee.loads(made.toml).run(made.cc)


def as_backend(run: Run, backend: str, **changed: Table) -> Run:
    """The record as of another backend, with some tables changed."""
    tables = {name: changed.get(name, run.table(name)) for name in run.manifest.tables}
    return Run(replace(run.manifest, backend=backend), None, tables)


# ---- remedies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flow", ["tcp.rmem = 2097152\ntcp.rmem_max = 2097152", "tcp.receive_buffer = 2000000", "tcp.truesize = 4352\n"
             "tcp.rmem = 2097152\ntcp.rmem_max = 2097152"],
)  # fmt: skip
def test_the_remedy_for_a_receive_window_cures(flow: str) -> None:
    path = {"rtt": "600 ms", "rate": "50 Mbit", "duration": 25}
    (note,) = [n for n in run_of(flow, **path).why()[0].notes if n.startswith("flow control")]
    found = re.search(r"(tcp\.\w+) = (\d+)", note)
    assert found is not None, note
    key, value = found.groups()
    cured = run_of(
        "\n".join(x for x in flow.splitlines() if not x.startswith(f"{key} ")) + f"\n{key} = {value}", **path
    )
    assert not [n for n in cured.why()[0].notes if "raise" in n]
    frame = cured.to_pandas("flows")
    assert frame[frame["t_ns"] > 20e9]["goodput_bps"].mean() >= 0.95 * 50e6 * 1448 / 1500


def test_there_is_no_remedy_where_other_flows_fill_the_path() -> None:
    run = run_of("tcp.receive_buffer = 30000\n[[flow]]\ncc = 'cubic'", queue="3 bdp")
    (note,) = [n for n in run.why(1)[0].notes if n.startswith("flow control")]
    assert "raise" not in note
    assert "with other flows, which carry" in note


def test_on_linux_a_value_is_given_for_each_key() -> None:
    run = as_backend(run_of("tcp.receive_buffer = 40000"), "linux")
    (note,) = [n for n in run.why()[0].notes if n.startswith("flow control")]
    assert "to 152 kB or more" in note, "20 Mbit/s over 60 ms and a packet"
    assert "half may be window: 303 kB" in note
    assert "SO_RCVBUF, which Linux doubles: 152 kB" in note


def test_the_remedy_for_a_window_that_grows_too_slowly_is_a_larger_first_buffer() -> None:
    path = {"rtt": "600 ms", "rate": "50 Mbit", "duration": 6}
    grown = "tcp.rmem_max = 67108864\ntcp.rmem = "
    (note,) = [n for n in run_of(f"{grown}20000", **path).why()[0].notes if n.startswith("flow control")]
    found = re.search(r"tcp\.rmem = (\d+)", note)
    assert found is not None, note
    cured = run_of(f"{grown}{found[1]}", **path).why()[0]
    assert cured.totals()["receive_window"] == 0.0


# ---- shared paths, long samples ------------------------------------------------------------------


def test_a_path_that_flows_fill_together_is_full() -> None:
    for of in run_of("\n[[flow]]\ncc = 'cubic'").why():
        (note,) = [n for n in of.notes if "carried" in n]
        assert re.search(r"carried \d+ % of the path's rate, other flows \d+ %: the path is full", note), note
    (alone,) = run_of().why()
    assert not [n for n in alone.notes if "other flows" in n]


def test_samples_that_are_long_against_the_rtt_are_a_warning() -> None:
    toml = case("samples", "cubic", (), rtt="300 ms", rate="50 Mbit", duration=40).toml
    lossy = toml.replace("framing = 0", "framing = 0\nloss = 0.0002", 1)
    long, short = (perigee.loads(lossy, {"run.sample": sample}).run("cubic").why()[0] for sample in ("5 s", "100 ms"))
    (note,) = [n for n in long.notes if n.startswith("warning: its samples of 5 s")]
    assert "run.sample" in note
    assert not [n for n in short.notes if n.startswith("warning")]


# ---- hosts ---------------------------------------------------------------------------------------


def test_the_handshake_of_a_host_ends_within_a_sample() -> None:
    run = run_of(rtt="250 ms")
    table = run.table("limits").to_pandas()
    first = table["t_ns"].idxmin()
    counted = table.filter(like="_ns").drop(columns="t_ns").loc[first].sum()
    # Kernels count the time in which they were not busy, from the previous sample on.
    table.loc[first, "application_ns"] += int(run.manifest.sample_ns - counted)
    table["pacing_ns"] = np.nan
    schema = run.table("limits").schema
    hosts = as_backend(run, "linux", limits=pa.Table.from_pandas(table, schema=schema, preserve_index=False))
    expected, found = run.why()[0].totals(), hosts.why()[0].totals()
    assert found["handshake"] == pytest.approx(expected["handshake"], abs=1e-3)
    assert found["application"] == pytest.approx(expected["application"], abs=1e-3)


@pytest.mark.parametrize(("cc", "claimed"), [("orbcc", False), ("cubic", True)])
def test_an_infinite_threshold_is_no_start_for_a_scheme_without_one(cc: str, claimed: bool) -> None:
    run = run_of(cc=cc)
    flows, events = run.table("flows"), run.table("events")
    for name, empty in (("mode", ""), ("ssthresh_bytes", None)):
        column = pa.array([empty] * flows.num_rows, flows.schema.field(name).type)
        flows = flows.set_column(flows.column_names.index(name), name, column)
    flows = flows.set_column(
        flows.column_names.index("ca_state"), "ca_state", pa.array(["open"] * flows.num_rows, pa.string())
    )
    kept = events.filter(pc.invert(pc.is_in(events["kind"].cast(pa.string()), pa.array(["mode", "ca-state"]))))
    (of,) = as_backend(run, "linux", flows=flows, events=kept).why()
    assert (of.totals()["window_start"] > 5) == claimed


# ---- accounts and arguments ----------------------------------------------------------------------


def damaged(run: Run, column: str, value: object) -> Run:
    """The record with another value in the third row of its accounts."""
    table = run.table("limits")
    values = table.column(column).to_pylist()
    values[2] = value
    changed = table.set_column(
        table.column_names.index(column), column, pa.array(values, table.schema.field(column).type)
    )
    return as_backend(run, run.manifest.backend, limits=changed)


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("application_ns", 10_000_000_000, r"row 3: flow 0 accounts for 10\S* s within 0.1 s"),
        ("receive_window_ns", None, "row 3: receive_window_ns has no value"),
        ("flow", 7, "row 3: flow 7 is none of the 1 flows"),
    ],
)
def test_damaged_accounts_are_an_error_with_file_row_and_value(
    tmp_path: Path, cli: Cli, column: str, value: object, what: str
) -> None:
    run = damaged(run_of(duration=3), column, value)
    with pytest.raises(RecordError, match=what):
        run.why()
    run.save(tmp_path / "out")
    done = cli("why", "out")
    assert done.returncode == 2
    assert re.search(rf"limits\.parquet is damaged: {what}", done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("width", [0, -1, 1e-9, 1e7, float("nan"), float("inf")])
def test_a_width_outside_of_the_bounds_is_an_error(width: float) -> None:
    (of,) = run_of(duration=2).why()
    with pytest.raises(ValueError, match=r"width_s must be from 0\.001 to 1e\+06 seconds; found"):
        of.over_time(width)


def test_a_flow_without_an_established_connection_is_in_its_handshake() -> None:
    (of,) = run_of("start = '1.99 s'", duration=2).why()
    assert headline(of) == "100 % of 10 ms: handshake"
    assert of.totals()["handshake"] == pytest.approx(0.01)


@pytest.mark.slow
def test_records_without_a_flow_are_skipped_if_another_has_it(cli: Cli, tmp_path: Path) -> None:
    for cc, seed, name in (("cubic", 1, "one"), ("cubic", 2, "two"), ("bbr", 1, "one")):
        run = run_of(f"name = 'download {name}'", cc, duration=2)
        run.save(tmp_path / "camp" / cc / f"seed{seed}")
    for name, expected in (("one", ["bbr", "cubic"]), ("two", ["cubic"])):
        found = json.loads(cli("why", "camp", "--flow", f"download {name}", "--json").stdout)
        assert sorted(item["cc"] for item in found) == expected
        assert {item["flow"] for item in found} == {f"download {name}"}
        assert sum(found[0]["seconds"][n] for n in NAMES) == pytest.approx(2)
    none = cli("why", "camp", "--flow", "download three")
    assert none.returncode == 2
    assert "there is no flow 'download three'" in none.stderr


@pytest.mark.slow
def test_the_command_rejects_sweeps_archives_and_two_formats(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(case("s", "cubic", (), duration=1).toml, encoding="utf-8")
    assert cli("sweep", "s.toml", "--cc", "cubic", "--set", "run.seed=1,2", "--out", "sweep").returncode == 0
    assert cli("run", "s.toml", "--cc", "cubic", "--no-report", "--out", "out").returncode == 0
    assert cli("pack", "out", "-o", "a.perigee").returncode == 0
    for arguments, what in (
        (("sweep",), "sweep is a sweep: use the folder of one of its cells, sweep/"),
        (("a.perigee",), "a.perigee is an archive: run it with `perigee run a.perigee`"),
        (("out", "--csv", "--json"), "--csv and --json cannot be used together"),
    ):
        done = cli("why", *arguments)
        assert done.returncode == 2
        assert what in done.stderr
