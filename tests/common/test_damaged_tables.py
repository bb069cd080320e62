# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Damaged and hostile tables, manifests and sweeps: one clear line, bounded memory, no traceback."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fuzz_readers
import perigee_lab as perigee
from conftest import Cli
from perigee_lab.common.exit_codes import OUTSIDE_TOLERANCE
from perigee_lab.common.files import RecordError
from perigee_lab.results import dataset, summary_cache
from perigee_lab.results.cells import open_sweep
from perigee_lab.results.delays import distributions
from perigee_lab.results.run import open_record
from perigee_lab.results.summary import about_seeds
from perigee_lab.runs import transfer


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record with its summary."""
    folder = tmp_path_factory.mktemp("record")
    fuzz_readers.make_record(folder)
    return folder


@pytest.fixture
def record(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole / "out", tmp_path / "out")
    return tmp_path / "out/cubic/seed1"


def changed(record: Path, **values: Any) -> None:
    """Changes keys of the manifest; `tables__NAME` is the number of rows of a table."""
    path = record / "manifest.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    for key, value in values.items():
        if key.startswith("tables__"):
            found["tables"][key.removeprefix("tables__")]["rows"] = value
        else:
            found[key] = value
    path.write_text(json.dumps(found), encoding="utf-8")


def edited(record: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Changes a table, and its number of rows in the manifest."""
    path = record / f"{name}.parquet"
    table = change(pq.read_table(path))
    pq.write_table(table, path)
    changed(record, **{f"tables__{name}": table.num_rows})


def test_a_table_with_other_rows_than_its_manifest_is_refused(record: Path) -> None:
    rows = pq.read_metadata(record / "flows.parquet").num_rows
    changed(record, tables__flows=rows + 1)
    with pytest.raises(RecordError, match=rf"flows\.parquet has {rows} rows, the manifest has {rows + 1}"):
        open_record(record).table("flows")


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.list_(pa.uint64()), pa.timestamp("ns"), pa.float32()])
def test_a_column_of_another_type_is_refused(record: Path, kind: pa.DataType) -> None:
    def change(table: pa.Table) -> pa.Table:
        odd = pa.nulls(table.num_rows, kind)
        return table.set_column(table.column_names.index("t_ns"), "t_ns", odd)

    edited(record, "flows", change)
    for read in (lambda r: r.table("flows"), lambda r: list(r.groups("flows")), lambda r: r.columns("flows", ["t_ns"])):
        with pytest.raises(RecordError, match=r"t_ns has the type .*, must be u64"):
            read(open_record(record))


def test_a_gap_in_a_column_without_gaps_is_refused(record: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        odd = pa.array([None, *table["flow"].to_pylist()[1:]], pa.uint32())
        return table.set_column(table.column_names.index("flow"), "flow", odd)

    edited(record, "flow_totals", change)
    with pytest.raises(RecordError, match="flow has no value in 1 rows"):
        open_record(record).table("flow_totals")


def test_a_column_twice_is_refused(record: Path) -> None:
    edited(record, "links", lambda t: t.append_column("link", t["link"]))
    with pytest.raises(RecordError, match=r"links\.parquet"):
        open_record(record).table("links")


def test_a_small_file_that_unpacks_to_gigabytes_is_refused_unread(record: Path, cli: Cli) -> None:
    path = record / "rtt.parquet"
    rows = pq.read_table(path).slice(0, 1)
    million = pa.concat_tables([rows] * 1000).combine_chunks()
    million = pa.concat_tables([million] * 1000).combine_chunks()
    with pq.ParquetWriter(path, million.schema, compression="zstd") as file:
        for _ in range(20):
            file.write_table(million)
    changed(record, tables__rtt=20_000_000)
    assert path.stat().st_size < 2_000_000
    with pytest.raises(RecordError, match="would unpack to 320 MB"):
        open_record(record).table("rtt")
    for words in (["verify", "out", "--no-rerun"], ["report", "out"]):
        done = cli(*words)
        assert done.returncode in (2, OUTSIDE_TOLERANCE)
        assert "would unpack" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_tables_that_contradict_each_other_are_named(record: Path, cli: Cli) -> None:
    edited(record, "flow_totals", lambda t: t.drop_columns(["path_changes"]))
    (record / "summary.json").unlink()
    with pytest.raises(RecordError, match="contradict each other"):
        assert open_record(record).summary
    done = cli("report", "out")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("count", [1, 2**64 - 1], "row 2: count is 18446744073709551615, must be at least 1, and at most"),
        ("count", [0, 1], "row 1: count is 0, must be at least 1"),
        ("flow", [0, 4_000_000_000], "row 2: flow 4000000000 is not in flow_totals"),
        ("direction", ["forward", "up"], "row 2: direction is up, must be forward or return"),
        ("delay_us", [7, 7], "row 2: it repeats the previous one"),
        ("delay_us", [8, 7], "row 2: it is not in order"),
    ],
)
def test_a_damaged_row_of_delays_is_named(record: Path, cli: Cli, column: str, values: list[Any], says: str) -> None:
    def change(table: pa.Table) -> pa.Table:
        rows = {"flow": [0, 0], "direction": ["forward"] * 2, "delay_us": [7, 8], "count": [1, 1], column: values}
        return pa.table({f.name: pa.array(rows[f.name], f.type) for f in table.schema})

    edited(record, "delays", change)
    edited(
        record, "flow_totals", lambda t: t.set_column(t.column_names.index("cc"), "cc", pa.array(["programs"] * len(t)))
    )
    (record / "summary.json").unlink()
    with pytest.raises(RecordError, match=rf"delays\.parquet is damaged: {says}"):
        distributions(open_record(record))
    done = cli("report", "out")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert says in done.stderr


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sample_ns", 0),
        ("sample_ns", -1),
        ("duration_ns", 1 << 62),
        ("wall_s", float("nan")),
        ("other", float("inf")),
        ("seed", 1 << 63),
        ("splits", [{"flow": "a", "legs": [1e400]}]),
    ],
)
def test_an_odd_number_in_a_manifest_is_named(record: Path, cli: Cli, key: str, value: object) -> None:
    changed(record, **{key: value})
    for words in (["report", "out"], ["view", "out", "--html", "v.html"], ["verify", "out", "--no-rerun"]):
        done = cli(*words)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert "manifest.json" in done.stderr


def test_seeds_far_apart_take_no_memory(record: Path, cli: Cli) -> None:
    other = record.with_name(f"seed{1 << 62}")
    shutil.copytree(record, other)
    changed(other, seed=1 << 62)
    runs = [open_record(record), open_record(other)]
    assert about_seeds(runs)[0].startswith("nothing random: the runs of 2 seeds")
    assert cli("report", "out").returncode == 0


def test_damaged_summaries_are_computed_again(record: Path) -> None:
    path = record / "summary.json"
    undamaged = summary_cache.read(record)
    found = json.loads(path.read_text(encoding="utf-8"))
    for odd in (
        {"run": found["run"] | {"seed": "x"}},
        {"run": found["run"] | {"goodput_mbps": []}},
        {"run": found["run"] | {"cc": "a\nb"}},
        {"run": found["run"] | {"more": 1}},
        {"flow_count": 1 << 62},
        {"about": {"wall_s": "x"}},
    ):
        path.write_text(json.dumps(found | odd), encoding="utf-8")
        assert repr(summary_cache.read(record)) == repr(undamaged)


@pytest.fixture(scope="module")
def whole_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two cells with two schemes; one flow each, so that there is no Jain's index."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "s.toml").write_text(fuzz_readers.SCENARIO, encoding="utf-8")
    keys = {"port.bottleneck.rate": ["2 Mbit", "4 Mbit"]}
    perigee.sweep(folder / "s.toml", keys, ["cubic", "newreno"], out=folder / "out")
    return folder / "out"


@pytest.fixture
def sweep(whole_sweep: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole_sweep, tmp_path / "out")
    return tmp_path / "out"


def test_sets_without_any_jain_are_joined(sweep: Path, tmp_path: Path, cli: Cli) -> None:
    shutil.copytree(sweep, tmp_path / "other")
    done = cli("results", "out", "other", "--join", "--columns", "jain,goodput_mbps", "--out", "j.csv")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "j.csv").read_text(encoding="utf-8").splitlines()) == 5


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("sweep.csv", b"\xff\xfe\x00"),
        ("sweep.csv", b"cc,seed\ncubic,1,2,3\n"),
        ("sweep.csv", b"cc,seed\ncubic\n"),
        ("sweep.csv", b"cc\ncubic\n"),
        ("sweep.csv", b"port.bottleneck.rate,cc,seed\n2 Mbit,cubic,1e400\n"),
    ],
)
def test_a_damaged_table_of_a_sweep_is_named(sweep: Path, cli: Cli, file: str, content: bytes) -> None:
    (sweep / file).write_bytes(content)
    with pytest.raises(RecordError, match=r"sweep\.csv is damaged"):
        open_sweep(sweep)
    done = cli("results", "out", "--means")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr


@pytest.mark.parametrize("folder", ["../../x", "/etc", ".hidden", "a/b"])
def test_a_cell_is_no_folder_elsewhere(sweep: Path, folder: str) -> None:
    index = json.loads((sweep / "sweep.json").read_text(encoding="utf-8"))
    index["cells"][0]["folder"] = folder
    (sweep / "sweep.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(RecordError, match=r"cells\.0\.folder is .*, must be a name without folders"):
        open_sweep(sweep)


def test_damaged_results_of_a_sweep_are_named(sweep: Path, cli: Cli) -> None:
    draw = random.Random(1)
    path = next(sweep.glob("results/**/*.parquet"))
    undamaged = path.read_bytes()
    for _ in range(20):
        path.write_bytes(fuzz_readers.bytes_of(draw, undamaged))
        try:
            dataset.query(sweep, ["goodput_mbps>0"])
        except RecordError:
            continue
    path.write_bytes(undamaged[: len(undamaged) // 2])
    done = cli("results", "out")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr


def test_an_archive_unpacks_to_no_more_than_its_size(record: Path, tmp_path: Path) -> None:
    packed = transfer.pack(record)
    with pytest.raises(RecordError, match="is damaged"):
        transfer.unpack(gzip.compress(packed), tmp_path / "in/seed1", force=True)
    large = tarfile.TarInfo("seed1/manifest.json")
    large.size = 1 << 40
    with pytest.raises(RecordError, match="is damaged"):
        transfer.unpack(large.tobuf(tarfile.PAX_FORMAT) + packed[512:], tmp_path / "in/seed1", force=True)
    assert not (tmp_path / "in/seed1").exists()


@pytest.mark.slow
@pytest.mark.parametrize("target", [t.name for t in fuzz_readers.TARGETS if t.name != "measured"])
def test_a_hundred_mutated_inputs_end_in_a_result_or_a_line(target: str) -> None:
    assert fuzz_readers.main(30 if target in ("capture", "fit", "matrix") else 100, 7, target) == 0
