# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of flows that are too many for summary.csv: written, announced, verified."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.results import flow_file
from perigee_lab.results.flow_file import FILE, MOST_IN_CSV
from perigee_lab.results.metrics import flow_rows
from perigee_lab.results.run import find_records
from perigee_lab.runs import verify

MANY = """
[run]
duration = "400 ms"
sample = "100 ms"
cc = ["cubic"]
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "50 Mbit"
queue = "500 packets"
[[flow]]
cc = "*"
count = {}
"""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A scenario with too many flows for summary.csv in two runs, but not in one."""
    path = tmp_path / "many.toml"
    path.write_text(MANY.format(MOST_IN_CSV // 2 + 100), encoding="utf-8")
    return path


def rows(folder: Path) -> list[dict[str, str]]:
    """The rows of summary.csv."""
    return list(csv.DictReader((folder / "summary.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_rows_of_many_flows_are_in_a_file_that_the_terminal_names(cli: Cli, many: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = cli("run", many, "--runs", 2, "--out", "out", "--no-report")
    assert done.returncode == 0, done.stderr
    assert f"rows of flows: out/{FILE} (more than {MOST_IN_CSV}: not in summary.csv)" in done.stdout
    assert [r["flow"] for r in rows(out)] == ["all", "all"]
    frame = pd.read_parquet(out / FILE)
    wanted = [row for run in find_records(out) for row in flow_rows(run)]
    assert len(frame) == len(wanted) == 2 * (MOST_IN_CSV // 2 + 100)
    for name in ("seed", "flow", "goodput_mbps", "rtt_p95_ms", "timeouts"):
        expected = pd.Series([row[name] for row in wanted], name=name)
        pd.testing.assert_series_equal(frame[name], expected, check_dtype=False, rtol=1e-8)
    assert frame["lost_probes"].isna().all(), "no flow is a probe"
    # The flows of one run fit into summary.csv.
    done = cli("run", many, "--runs", 1, "--out", "one", "--no-report")
    assert FILE not in done.stdout
    assert not (tmp_path / "one" / FILE).exists()
    assert len(rows(tmp_path / "one")) == 1 + MOST_IN_CSV // 2 + 100
    told = json.loads(cli("run", many, "--runs", 2, "--out", "out", "--no-report", "--json").stdout)
    assert told["flows"] == f"out/{FILE}"


@pytest.mark.slow
def test_verify_compares_the_rows_of_many_flows(cli: Cli, many: Path, tmp_path: Path) -> None:
    assert cli("run", many, "--runs", 2, "--out", "out", "--no-report").returncode == 0
    done = cli("verify", "out", "--no-rerun")
    assert done.returncode == 0
    assert done.stdout.endswith(f"summary.csv: equal\n{FILE}: equal\n")
    path = tmp_path / "out" / FILE
    whole, table = path.read_bytes(), pq.read_table(path)
    k = table.schema.get_field_index("goodput_mbps")
    halved = table.set_column(k, table.schema.field(k), pa.array(table.column(k).to_numpy() / 2))
    for damaged in (halved, table.slice(1), table.slice(0, 5), table.drop_columns(["rtt_mean_ms"])):
        pq.write_table(damaged, path)
        done = cli("verify", "out", "--no-rerun")
        assert done.returncode == 3
        assert done.stdout.endswith(f"{FILE}: it does not follow from the tables of the runs\n")
    path.write_bytes(whole[:1000])
    assert cli("verify", "out", "--no-rerun").returncode == 3
    path.unlink()
    done = cli("verify", "out", "--no-rerun")
    assert (done.returncode, f"{FILE}: not compared (it is not there" in done.stdout) == (0, True)


@pytest.mark.slow
def test_cells_of_a_sweep_have_the_rows_of_their_flows(cli: Cli, many: Path, tmp_path: Path) -> None:
    """If a run has more flows than are kept, the rows are computed from its tables."""
    counts = (MOST_IN_CSV + 100, 5)
    axis = f"flow.0.count={counts[0]},{counts[1]}"
    done = cli("sweep", many, "--set", axis, "--runs", 1, "--out", "s", "--no-plots")
    assert done.returncode == 0, done.stderr
    assert f"rows of flows: s/cells/NAME/{FILE} of 1 cell (more than {MOST_IN_CSV} each)" in done.stdout
    [path] = (tmp_path / "s").rglob(FILE)
    assert pq.read_metadata(path).num_rows == counts[0]
    done = cli("verify", path.parent, "--no-rerun")
    assert done.stdout.endswith(f"{FILE}: equal\n")


def test_python_has_rows_of_flows_of_any_number(many: Path) -> None:
    results = perigee.load(many).run_all(seeds=[1, 2])
    frame = results.flows()
    assert len(frame) == 2 * (MOST_IN_CSV // 2 + 100)
    assert set(frame["seed"]) == {1, 2}


def test_tables_of_earlier_versions_lack_later_columns(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = many.parent / "out"
    perigee.load(many).run_all(seeds=[1, 2], out=out)
    table = pq.read_table(out / FILE)
    pq.write_table(table.drop_columns(["rtt_p99_ms"]), out / FILE)
    rows = pd.read_csv(out / "summary.csv", dtype=str, keep_default_na=False)
    rows.drop(columns="rtt_p99_ms").to_csv(out / "summary.csv", index=False, lineterminator="\n")
    wrong = ["summary.csv", FILE]
    for later, files in ((verify.LATER, wrong), (frozenset({"rtt_p99_ms"}), []), (frozenset({"jain"}), wrong)):
        monkeypatch.setattr(verify, "LATER", later)
        monkeypatch.setattr(flow_file, "LATER", later)
        found = [verify._verify_summary(out / "summary.csv", find_records(out))]
        found.append(verify._verify_flows(out / FILE, find_records(out)))
        assert [f["file"] for f in found if f["problems"]] == files
