# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs of sweeps as a dataset: listed, filtered, joined, exported; cached summaries."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Cli, command
from perigee_lab.common.files import RecordError
from perigee_lab.common.quantities import Quantity, quantity
from perigee_lab.results import dataset, summary_cache
from perigee_lab.results.run import find_records
from perigee_lab.results.summary import summary_csv

SWEPT = """
[run]
duration = "500 ms"
[source.dumbbell]
rtt = "10 ms"
[port.bottleneck]
rate = "5 Mbit"
queue = "1 bdp"
[[flow]]
count = 2
cc = "*"
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of four cells, two schemes and two seeds."""
    import perigee_lab as perigee

    folder = tmp_path_factory.mktemp("sweep")
    (folder / "s.toml").write_text(SWEPT, encoding="utf-8")
    keys = {"source.dumbbell.rtt": ["10ms", "20ms"], "port.bottleneck.queue": ["1bdp", "2bdp"]}
    perigee.sweep(folder / "s.toml", keys, ["cubic", "newreno"], seeds=[1, 2], out=folder / "out")
    return folder / "out"


@pytest.mark.slow
def test_each_run_is_a_row_with_its_keys_and_where_it_comes_from(swept: Path) -> None:
    found = dataset.query(swept)
    assert found.num_rows == 16
    with (swept / "sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, text in zip(found.to_pylist(), rows, strict=True):
        assert row["goodput_mbps"] == pytest.approx(float(text["goodput_mbps"]), rel=1e-8)
        assert row["port.bottleneck.queue"] == text["port.bottleneck.queue"]
        [record] = find_records(swept / row["record"])
        assert (record.manifest.key, record.cc, record.seed) == (row["key"], row["cc"], row["seed"])
        assert row["version"]
        assert row["finished"].endswith("Z")


def test_conditions_and_columns(swept: Path) -> None:
    assert dataset.query(swept, ["queue=2bdp", "cc = cubic"], ["seed"]).to_pylist() == [
        {"seed": 1},
        {"seed": 2},
        {"seed": 1},
        {"seed": 2},
    ]
    assert dataset.query(swept, ["seed>1", "rtt!=10ms"]).num_rows == 4
    assert dataset.query(swept, ["goodput_mbps<=1e9"]).num_rows == 16
    twice = dataset.query(swept, [], ["port.bottleneck.queue", "queue", "seed", "seed"])
    assert twice.column_names == ["port.bottleneck.queue", "seed"]
    for wrong, said in (
        ("nix=1", "no column 'nix'"),
        ("seed=a", "is a number"),
        ("seed", "write KEY=VALUE"),
        ("queue=\udcff", "not UTF-8"),
        ("cc=\udcff", "not UTF-8"),
    ):
        with pytest.raises(RecordError, match=said):
            dataset.query(swept, [wrong])


def folder_of(folder: Path, values: dict[str, list[str]]) -> Path:
    """Results with one row for each value of the swept keys."""
    n = max(map(len, values.values()))
    rows = pa.table({**{k: (v * n)[:n] for k, v in values.items()}, "cc": ["cubic"] * n, "seed": list(range(n))})
    dataset.write_table(rows, folder, list(values))
    return folder


@pytest.mark.parametrize(("condition", "seeds"), [
    ("rate>200kbit", [1, 2]), ("rate >= 1000 kbit", [1, 2]), ("rate<1Mbit/s", [0]), ("rate=0.1Mbit", [0]),
    ("rate!=100 kbit", [1, 2]), ("delay>200ms", [1, 2]), ("delay=600 ms", [1, 2]), ("delay=0.6s", [1, 2]),
    ("delay!=600ms", [0]), ("delay<0.5 s", [0]), ("amount>200kB", [1, 2]), ("amount<=100000B", [0]),
    ("amount=1MiB", []), ("queue=1.0 bdp", [0]), ("queue=100 packets", [1]), ("queue!=64kB", [0, 1]),
    ("scheme=codel", [0]), ("scheme!=codel", [1, 2]),
])  # fmt: skip
def test_swept_values_are_compared_as_quantities(condition: str, seeds: list[int], tmp_path: Path) -> None:
    found = dataset.query(folder_of(tmp_path, QUANTITIES), [condition], ["seed"])
    assert [r["seed"] for r in found.to_pylist()] == seeds


QUANTITIES = {
    "p.rate": ["100kbit", "1Mbit", "1000 kbit"],
    "p.delay": ["100ms", "600ms", "0.6 s"],
    "p.amount": ["100kB", "1MB", "2 MB"],
    "p.queue": ["1bdp", "100packets", "64kB"],
    "p.scheme": ["codel", "droptail", "droptail"],
}


@pytest.mark.parametrize(("condition", "said"), [
    ("delay>abc", "p.delay has 100ms, 600ms, 0.6 s: give a time with its unit"), ("delay=abc", "give a time"),
    ("delay>100", "give a time"), ("delay!=5Mbit", "give a time"), ("rate<5ms", "give a rate"),
    ("queue>1bdp", "only = and !="), ("scheme<codel", "only = and !="),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused(condition: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=said):
        dataset.query(folder_of(tmp_path, QUANTITIES), [condition])


def test_swept_values_are_sorted_as_quantities(tmp_path: Path) -> None:
    table = dataset.query(folder_of(tmp_path, {"p.rate": ["900kbit", "1Mbit", "200 kbit", "1000kbit"]}))
    assert dataset.ordered(table, "p.rate")["seed"].to_pylist() == [2, 0, 1, 3]
    assert dataset.ordered(table, "p.rate", descending=True)["seed"].to_pylist()[2:] == [0, 2]
    assert dataset.ordered(table, "p.rate").column_names == table.column_names


@pytest.mark.parametrize(("text", "read"), [
    ("1_500_000us", ("time", "ns", 1_500_000_000)), (" 0.05min ", ("time", "ns", 3_000_000_000)),
    ("2e3 ms", ("time", "ns", 2_000_000_000)), ("50Mbit/s", ("rate", "bit/s", 50_000_000)),
    ("9600 bit/s", ("rate", "bit/s", 9600)), ("64 KiB", ("size", "B", 65_536)),
    ("100 packets", ("size", "packets", 100)), ("1.5bdp", ("size", "bdp", 1.5)),
    ("-2.5", ("number", "", -2.5)), ("1e3", ("number", "", 1000.0)),
    ("5 Ms", ("text", "", "5 Ms")), ("-1 s", ("text", "", "-1 s")), ("NaN s", ("text", "", "NaN s")),
    ("1e400 s", ("text", "", "1e400 s")), ("nan", ("text", "", "nan")), ("inf", ("text", "", "inf")),
    ("\udcff", ("text", "", "\udcff")),
    ("1.5 packets", ("text", "", "1.5 packets")), (" bbr ", ("text", "", "bbr")), ("", ("text", "", "")),
])  # fmt: skip
def test_quantities_are_read_as_scenarios_read_them(text: str, read: tuple[str, str, float | str]) -> None:
    assert quantity(text) == Quantity(*read)


def test_a_kept_summary_is_the_computed_one_and_a_damaged_one_is_computed(swept: Path) -> None:
    cell = next((swept / "cells").iterdir())
    runs = find_records(cell)
    assert (cell / "summary.csv").read_text(encoding="utf-8") == summary_csv(runs)
    for run in runs:
        assert run.folder is not None
        read = summary_cache.read(run.folder)
        assert {k for k, v in read.run.items() if v != run.summary[k] and not math.isnan(v)} == set()
        text = (run.folder / summary_cache.FILE).read_text(encoding="utf-8")
        other = json.loads(text)
        other["run"]["goodput_mbps"] = -1.0
        for damaged in (
            "",
            "{",
            "[]",
            text.replace(summary_cache.version(), "another"),
            json.dumps({**other, "code": "x"}),
        ):
            (run.folder / summary_cache.FILE).write_text(damaged, encoding="utf-8")
            assert summary_cache.read(run.folder).run["goodput_mbps"] == run.summary["goodput_mbps"]
        (run.folder / summary_cache.FILE).write_text(text, encoding="utf-8")


def test_large_sets_are_split_by_keys_and_read_back_equal(tmp_path: Path) -> None:
    n = 20_000
    queues = [f"{1 + i % 3}bdp" for i in range(n)]
    rows = pa.table(
        {"a.queue": queues, "a.loss": [i % 5000 / 1000 for i in range(n)], "cc": ["cubic"] * n, "seed": list(range(n))}
    )
    assert dataset.partitions(rows, ["a.queue", "a.loss"]) == ["a.queue"]
    dataset.write_table(rows, tmp_path, ["a.queue", "a.loss"])
    assert sorted(p.name for p in (tmp_path / "results").iterdir()) == ["a.queue=1bdp", "a.queue=2bdp", "a.queue=3bdp"]
    found = dataset.query(tmp_path).select(rows.column_names).sort_by("seed")
    assert found.to_pylist() == rows.to_pylist()
    assert dataset.query(tmp_path, ["queue=2bdp", "loss<0.01"]).num_rows == sum(
        q == "2bdp" and i % 5000 / 1000 < 0.01 for i, q in enumerate(queues)
    )


def test_polars_reads_it_lazily(swept: Path) -> None:
    pl = pytest.importorskip("polars")
    lazy = pl.scan_parquet(swept / "results" / "**" / "*.parquet")
    assert lazy.filter(pl.col("cc") == "cubic").select(pl.len()).collect().item() == 8


@pytest.mark.slow
def test_a_condition_that_no_row_meets_is_named_with_what_there_is(swept: Path, cli: Cli) -> None:
    done = cli("results", swept, "--where", "seed>=1", "--where", "cc=BBR")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "0 rows")
    assert done.stderr.startswith(f"perigee: no row of {swept} has cc=BBR: cc has ")
    assert "cubic" in done.stderr
    apart = cli("results", swept, "--where", "seed<2", "--where", "seed>1")
    assert apart.stderr == f"perigee: no row of {swept} has seed<2, seed>1 together\n"
    assert cli("results", swept, "--where", "cc=cubic").stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full stands for a full disk")
def test_a_full_standard_output_is_not_blamed_on_the_folder(swept: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command("results", swept), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write the result: No space left" in done.stderr
    assert str(swept) not in done.stderr


def test_the_command_lists_sorts_joins_and_exports(swept: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli(
        "results", swept, "--where", "cc=cubic", "--sort", "-goodput_mbps", "--columns", "goodput_mbps", "--json"
    )
    assert done.returncode == 0, done.stderr
    values = [r["goodput_mbps"] for r in json.loads(done.stdout)]
    assert len(values) == 8
    assert values == sorted(values, reverse=True)
    for suffix in ("csv", "parquet", "json"):
        assert cli("results", swept, "--columns", "all", "--out", f"x.{suffix}").returncode == 0
    assert pq.read_table(tmp_path / "x.parquet").num_rows == len(json.loads((tmp_path / "x.json").read_text())) == 16
    assert (tmp_path / "x.csv").read_text().count("\n") == 17
    assert cli("results", swept, "--out", "x.csv").returncode == 2
    small = cli("run", swept.parent / "s.toml", "--cc", "cubic", "--out", "r", "--no-report")
    assert small.returncode == 0
    joined = cli("results", swept, "r", "--join", "--columns", "goodput_mbps", "--where", "seed=1", "--json")
    assert joined.returncode == 0, joined.stderr
    rows = json.loads(joined.stdout)
    assert {"goodput_mbps@out", "goodput_mbps@r", "cc", "seed"} <= rows[0].keys()
    # Sets with the same name are distinguished by their parent folders.
    twin = tmp_path / "twin" / "out"
    shutil.copytree(swept, twin)
    joined = cli("results", swept, twin, "--join", "--columns", "goodput_mbps", "--sort", "-seed", "--json")
    assert joined.returncode == 0, joined.stderr
    rows = json.loads(joined.stdout)
    assert len(rows) == 16
    assert {f"goodput_mbps@{swept.parent.name}/out", "goodput_mbps@twin/out"} <= rows[0].keys()
    assert cli("results", swept, swept, "--join").returncode == 2
    # The sort column need not be among the columns.
    ordered = cli("results", swept, "--columns", "share", "--sort", "-rtt_p95_ms", "--json")
    assert ordered.returncode == 0, ordered.stderr
    delays = [r["rtt_p95_ms"] for r in json.loads(ordered.stdout)]
    assert delays == sorted(delays, reverse=True)
    below = cli("results", swept, "r")
    assert below.returncode == 0
    assert "17 rows" in below.stdout


@pytest.mark.slow
def test_what_cannot_be_listed_is_said_in_a_line(cli: Cli, swept: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for words, said in (
        (["empty"], "holds no results"),
        (["absent"], "holds no results"),
        ([swept, "--columns", "nix"], "no column 'nix'"),
        ([swept, "--sort", "nix"], "no column 'nix'"),
        ([swept, "--join"], "--join needs at least two folders"),
        ([swept, "--out", "x.doc"], ".csv, .parquet or .json"),
    ):
        done = cli("results", *words)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr
