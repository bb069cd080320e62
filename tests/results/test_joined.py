# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs of several folders on one page, with a common time zero."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from conftest import Cli
from perigee_lab.common.files import RecordError
from perigee_lab.results import looks
from perigee_lab.results.joined import _since, joined
from perigee_lab.results.report.data import _goodput, payload
from perigee_lab.results.run import Run, find_records

SCENARIO = """
[run]
duration = "4 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
start = "1.5 s"
"""


def qlog(path: Path) -> None:
    """Metrics of a sender from 2023 on, ten a second."""
    common = {"time_format": "relative", "reference_time": 1.7e12}
    rows = [{"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"common_fields": common}}]
    rows += [
        {"time": 100.0 * k, "name": "recovery:metrics_updated", "data": {"latest_rtt": 41 + k % 2, "cwnd": 20_000}}
        for k in range(20)
    ]
    path.write_text("".join(f"\x1e{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folders(cli: Cli, tmp_path: Path) -> list[Path]:
    """A simulation with a late flow, and an import."""
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    qlog(tmp_path / "a.qlog")
    for words in (("run", "s.toml", "--cc", "cubic", "--no-report"), ("import", "log", "a.qlog")):
        done = cli(*words, "--out", "simulated" if words[0] == "run" else "imported")
        assert done.returncode == 0, done.stderr
    return [tmp_path / "simulated", tmp_path / "imported"]


def test_runs_start_with_their_first_flow(folders: list[Path]) -> None:
    (alone,) = find_records(folders[0])
    simulated, imported = joined(folders)
    assert (simulated.cc, imported.cc) == ("simulated: cubic", "imported")
    before, after = (run.to_pandas("flows") for run in (alone, simulated))
    late = before[before["t_ns"] >= 1_500_000_000]
    assert (late["t_ns"] - 1_500_000_000).tolist() == after["t_ns"].tolist()
    assert late["goodput_bps"].tolist() == after["goodput_bps"].tolist()
    assert after.dtypes.equals(before.dtypes)
    assert simulated.table("flow_totals").column("started_ns").to_pylist() == [0]
    assert simulated.manifest.duration_ns == 2_500_000_000
    assert imported.to_pandas("flows")["t_ns"].max() < 2_000_000_000
    # The routes of time zero are those that began before it.
    assert simulated.to_pandas("routes")["t_ns"].tolist() == [0] * simulated.table("routes").num_rows
    page = payload([simulated, imported])
    assert [s["label"] for s in page["schemes"]] == ["simulated: cubic", "imported"]
    rtts = [max(x for x in s["curves"]["0"]["rtt"] if x is not None) for s in page["schemes"]]
    assert page["duration_s"] == 2.5
    assert page["schemes"][0]["look"] == looks.BUILT_IN["cubic"].page(), "the style of the scheme, not of the label"
    assert page["ran"] == ""
    assert page["hosts"] == "simulator for simulated: cubic; measurement for imported"
    assert rtts[0] > 40
    assert 41 <= rtts[1] <= 42


def test_goodput_is_that_of_the_run_in_its_own_folder(cli: Cli, tmp_path: Path) -> None:
    """Also with a warm-up, after a start between two instants of sampling."""
    for name, start in (("a", "0.31 s"), ("b", "0.35 s")):
        text = SCENARIO.replace("1.5 s", start).replace('"4 s"', '"4 s"\nwarmup = "1 s"\nsample = "100 ms"')
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        done = cli("run", f"{name}.toml", "--cc", "cubic", "--no-report", "--out", name)
        assert done.returncode == 0, done.stderr
    alone = [find_records(tmp_path / name)[0].summary["goodput_mbps"] for name in "ab"]
    assert [run.summary["goodput_mbps"] for run in joined([tmp_path / "a", tmp_path / "b"])] == alone


def test_a_run_that_ends_early_has_the_length_until_its_end(folders: list[Path]) -> None:
    (run,) = find_records(folders[0])
    assert (payload([run])["duration_s"], payload([run])["ran"]) == (4, "simulated")
    manifest = replace(run.manifest, simulated_ns=3_760_000_000, backend="real-time")
    page = payload([Run(manifest, run.folder)])
    assert (page["duration_s"], page["ran"], page["hosts"]) == (3.76, "", "hosts in real time")


def test_labels_keep_the_styles_of_schemes_and_others_differ_in_dashes() -> None:
    found = looks.of(["a: cubic", "b: cubic", "one", "two", "three", "four"])
    assert found["a: cubic"] == looks.BUILT_IN["cubic"]
    assert found["b: cubic"].colour == found["a: cubic"].colour
    assert found["b: cubic"].dashes != found["a: cubic"].dashes
    others = [found[name] for name in ("one", "two", "three", "four")]
    assert len({look.dashes for look in others}) == len({look.colour for look in others}) == 4


def test_the_goodput_of_logs_is_that_of_a_time() -> None:
    # Two rows per ACK of 1000 bytes: a row with the data 1 ms after the one before, and one without data.
    rows = [(10 * k + late, 1000 * (k + late), 8e6 * late) for k in range(50) for late in (0, 1)]
    frame = pd.DataFrame(rows, columns=["t_ns", "delivered_bytes", "goodput_bps"])
    frame["t_ns"] *= 1_000_000
    found = _goodput(frame)
    assert found[40:] == pytest.approx(8e5, rel=0.1)
    assert frame["goodput_bps"].mean() == 4e6
    frame["delivered_bytes"] = float("nan")
    assert _goodput(frame).tolist() == frame["goodput_bps"].tolist()


def test_routes_at_time_zero_are_the_latest_of_each_pair() -> None:
    rows = [(0, 0, 0), (0, 1, 0), (3, 0, 0), (3, 0, 1), (5, 0, 0), (6, 1, 0)]
    table = pa.table(
        {name: list(column) for name, column in zip(("t_ns", "pair", "hop"), zip(*rows, strict=True), strict=True)}
    )
    assert _since(table, "pair", 4).to_pylist() == table.take([1, 2, 3, 4, 5]).to_pylist()
    assert _since(table.slice(0, 0), "pair", 4).num_rows == 0


def test_the_page_of_several_folders_needs_a_file(cli: Cli, folders: list[Path]) -> None:
    done = cli("report", *folders)
    assert (done.returncode, "--out together.html" in done.stderr) == (2, True)
    page = folders[0].parent / "together.html"
    done = cli("report", *folders, "--out", page)
    assert done.returncode == 0, done.stderr
    assert "simulated: cubic" in page.read_text(encoding="utf-8")
    assert not (folders[0] / "report.html").exists()


def test_folders_have_different_names(folders: list[Path]) -> None:
    with pytest.raises(RecordError, match="named simulated"):
        joined([folders[0], folders[0]])
