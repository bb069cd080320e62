# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of a record: streaming writes, hashes independent of batches, format 1."""

from __future__ import annotations

import json
import math
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import perigee_lab as perigee
from conftest import ROOT, SMALL
from perigee_lab import _core
from perigee_lab.common.columns import from_arrow
from perigee_lab.results import manifest as manifests
from perigee_lab.results import writer
from perigee_lab.results.run import Run, open_record
from perigee_lab.results.tables import RELIED_ON, TABLES
from perigee_lab.results.writer import RecordWriter, TableWriter
from perigee_lab.runs.verify import verify_command

if TYPE_CHECKING:
    from perigee_lab.common.columns import Column

# Two schemes, one of which starts late and has columns of its own, and a probe without a window.
MIXED = (
    SMALL
    + """
[[flow]]
cc = "orbcc"
start = "1500 ms"
[[flow]]
app = "ping"
"""
)


@pytest.fixture(scope="module")
def mixed() -> Run:
    return perigee.loads(MIXED).run(cc="cubic")


def column(name: str, values: Any) -> Column:
    return name, np.asarray(values), None, None


def test_the_page_of_records_has_the_columns_that_the_core_declares() -> None:
    page = (ROOT / "docs/reference/record.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(ROOT / "docs/make/record_tables.py"))["page"](page) == page, "run make docs"
    assert all(f"\n### {name}\n" in page for name in TABLES)


def test_what_the_core_declares_is_what_a_run_has(mixed: Run) -> None:
    assert list(TABLES) == [
        "flows",
        "links",
        "events",
        "rtt",
        "delays",
        "completions",
        "flow_totals",
        "windows",
        "applications",
        "limits",
        "carriers",
        "link_totals",
        "meters",
        "routes",
        "tracks",
    ]
    for name, spec in TABLES.items():
        table = mixed.table(name)
        declared = [c.name for c in spec.columns]
        assert table.column_names[: len(declared)] == declared
        assert all(extra.startswith("cc_") for extra in table.column_names[len(declared) :])
        assert all(c.null for c in spec.columns if table.column(c.name).null_count)


def test_readers_rely_on_columns_that_are_declared() -> None:
    assert set(RELIED_ON) == set(TABLES)
    for name, columns in RELIED_ON.items():
        assert set(columns.split()) <= {c.name for c in TABLES[name].columns}, name


def test_what_is_not_known_is_null(mixed: Run) -> None:
    table = mixed.table("flows")
    flow = np.asarray(table.column("flow"))
    no_window = np.asarray(table.column("cwnd_bytes").is_null())
    assert (flow == 2).any()
    assert no_window[flow == 2].all(), "a probe has none"
    assert not no_window[flow == 0].any()
    assert np.asarray(table.column("cc_u").is_null())[flow != 1].all(), "another scheme's number"


def test_rows_handed_on_are_those_of_the_tables(mixed: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(writer, "GROUP_ROWS", 5)
    made = perigee.loads(MIXED).core.world(1)
    batches: list[tuple[str, list[Column]]] = []
    text, tables, stopped = made.run("cubic", batches=lambda name, columns: batches.append((name, columns)))
    assert (tables, stopped) == ({}, False)
    assert {name: t.sha256 for name, t in mixed.manifest.tables.items()} == {
        name: t["sha256"] for name, t in json.loads(text)["tables"].items()
    }
    with RecordWriter(tmp_path / "cubic/seed1", force=False) as record:
        for name, columns in batches:
            record(name, columns)
        record.finish(mixed.manifest)
    back = open_record(tmp_path / "cubic/seed1")
    assert back.hashes() == mixed.hashes()
    for name in mixed.tables:
        assert (
            back.table(name).equals(mixed.table(name)) or back.table(name).to_pylist() == mixed.table(name).to_pylist()
        )


def test_a_column_that_comes_late_is_null_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "GROUP_ROWS", 2)
    first = pa.table({"t_ns": pa.array([1, 2], pa.uint64()), "mode": pa.array(["a", "b"]).dictionary_encode()})
    late = pa.table({"cc_u": [0.5, 0.6], "t_ns": pa.array([3, 4], pa.uint64()), "cc_bw": [7.0, 8.0]})
    last = pa.table({"t_ns": pa.array([5], pa.uint64()), "mode": pa.array(["b"]).dictionary_encode()})
    table = TableWriter(tmp_path, "flows")
    for rows in (first, late, last):
        table.add(rows)
    assert len(list(tmp_path.iterdir())) == 2, "a file for each set of columns"
    table.close()
    assert [p.name for p in tmp_path.iterdir()] == ["flows.parquet"]
    made = pq.read_table(tmp_path / "flows.parquet")
    assert made.column_names == [c.name for c in TABLES["flows"].columns] + ["cc_bw", "cc_u"]
    assert made.column("cc_u").to_pylist() == [None, None, 0.5, 0.6, None]
    assert made.column("mode").to_pylist() == ["a", "b", None, None, "b"]
    hasher = _core.TableHasher()
    for rows in (first, late, last):
        hasher.update(from_arrow(rows))
    assert hasher.rows == 5
    whole = made.select(["cc_u", "mode", "t_ns", "cc_bw"])
    assert hasher.hexdigest() == _core.hash_table(from_arrow(whole), 2)


def manifest_of(rows: dict[str, int]) -> manifests.Manifest:
    """A manifest that knows these tables."""
    whole = perigee.loads(SMALL, {"run.duration": "200 ms"}).run(cc="cubic").manifest
    return replace(whole, tables={name: manifests.Table(n, "0" * 64) for name, n in rows.items()})


def test_a_run_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(record: RecordWriter) -> None:
        with record:
            record("rtt", [column("rtt_us", np.array([1], np.uint32))])
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        fail(RecordWriter(tmp_path / "cubic/seed1", force=False))
    assert list(tmp_path.iterdir()) == []


def test_an_exception_of_whoever_takes_rows_ends_the_run() -> None:
    def full(_name: str, _columns: list[Column]) -> None:
        raise OSError(28, "No space left on device", "flows.parquet")

    with pytest.raises(OSError, match="No space left on device"):
        perigee.loads(SMALL).core.world(1).run("cubic", batches=full)


def as_format_1(run: Run, folder: Path) -> Path:
    """The record as written by version 0.1: NaN and 0 for nulls, one hash over entire columns."""
    zero = {"cwnd_bytes", "in_flight_bytes", "delivery_rate_bps"}
    tables = {}
    for name in run.tables:
        table = run.table(name)
        for i, old in enumerate(table.column_names):
            filler = math.nan if old.startswith("cc_") else 0 if old in zero else None
            if filler is not None:
                table = table.set_column(i, old, table.column(old).fill_null(filler))
        tables[name] = table
    entries = {n: {"rows": t.num_rows, "sha256": _core.hash_table(from_arrow(t), 1)} for n, t in tables.items()}
    about = manifests.parsed({**run.manifest.data, "record_format": 1, "tables": entries}, Path("m"))
    Run(about, None, tables).save(folder)
    return folder


def test_records_of_format_1_are_verified(mixed: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = as_format_1(mixed, tmp_path / "cubic/seed1")
    assert verify_command(old, rerun=True, as_json=False) == 0, capsys.readouterr().out
    made = open_record(old)
    assert made.table("flows").column("cwnd_bytes").null_count == 0
    assert made.summary == pytest.approx(mixed.summary, nan_ok=True)
    # The hash of format 1 over the new tables is that of the old record.
    assert made.hashes() == {n: _core.hash_table(from_arrow(mixed.table(n)), 1) for n in mixed.tables}


def test_a_changed_number_in_a_record_of_format_1_is_found(
    mixed: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    old = as_format_1(mixed, tmp_path / "cubic/seed1")
    links = pq.read_table(old / "links.parquet")
    at = links.column_names.index("tx_bytes")
    pq.write_table(links.set_column(at, "tx_bytes", pa.array([1] * len(links), pa.uint64())), old / "links.parquet")
    assert verify_command(old, rerun=False, as_json=False) == 3
    assert "links.parquet is not what the manifest says" in capsys.readouterr().out


SLOW_LINK = """
[run]
duration = "{duration} s"
sample = "1 ms"
cc = ["cubic"]
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "2 Mbit"
[[flow]]
"""

PEAK = """
import re, sys
from pathlib import Path
from perigee_lab.runs.runner import Plan, execute
from perigee_lab.runs.scenario import load

plan = Plan.of(load(sys.argv[1]), [])
runs = execute(plan if len(sys.argv) == 2 else plan.into(Path(sys.argv[2])))
# Not getrusage: its peak includes that of whoever started this process.
status = Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_memory_of_a_run_that_is_written_does_not_grow_with_time(tmp_path: Path) -> None:
    """Peak memory of runs of 150 s and 750 s with a row every 5 ms and link.

    Some 600,000 more rows.
    """

    def peak_mb(duration: int, out: str) -> int:
        scenario = tmp_path / f"{duration}.toml"
        scenario.write_text(SLOW_LINK.format(duration=duration))
        words = [sys.executable, "-c", PEAK, str(scenario), *([str(tmp_path / out)] if out else [])]
        return int(subprocess.run(words, capture_output=True, text=True, check=True, timeout=600).stdout)

    written = peak_mb(750, "long") - peak_mb(150, "short")
    kept = peak_mb(750, "") - peak_mb(150, "")
    assert kept > 40, "what tables in memory take: the bound below means something"
    assert written < kept / 2
