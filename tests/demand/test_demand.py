# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee demand`: records, resumed and damaged ones, maps, pages, errors of input."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest

from conftest import Begin, Cli, wait_for
from perigee_lab.demand import columns, maps, outages, report
from perigee_lab.demand.record import Record

SCENARIO = """
title = "two gateways"
[run]
duration = "MINUTES min"
[source.constellation]
preset = "starlink-shell1"
[[nodes]]
file = "gateways.csv"
[demand]
file = "cells.csv"
step = "60 s"
record_links = "60 s"
active = 0.1
[demand.down]
gateway = "3 Gbit"
[[demand.plan]]
share = 3
inelastic_down = "100 kbit"
[[demand.plan]]
name = "half"
down = "50 Mbit"
weight = 2
"""
CELLS = """name,lat,lon,population,terminals
Rome,41.9,12.5,2800000,900
Madrid,40.4,-3.7,3200000,700
Vienna,48.2,16.4,1900000,
Nairobi,-1.3,36.8,4400000,800
""".replace(",\n", ",500\n")
GATEWAYS = "name,lat,lon,dishes\nRaisting,47.9,11.1,8\nFucino,42.0,13.6,8\n"


def scenario(folder: Path, minutes: int = 30, more: str = "", name: str = "s.toml") -> Path:
    (folder / "cells.csv").write_text(CELLS)
    (folder / "gateways.csv").write_text(GATEWAYS)
    (folder / "twice.csv").write_text("name,lat,lon\na,1,2\na,3,4\n")
    (folder / "nameless.csv").write_text("name,lat,lon\n,1,2\n")
    (folder / name).write_text(SCENARIO.replace("MINUTES", str(minutes)) + more)
    return folder / name


def digests(out: Path) -> dict[str, str]:
    files = sorted(p for p in out.rglob("*") if p.is_file() and p.suffix in (".parquet", ".json", ".csv"))
    return {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def is_over(process: subprocess.Popen[str], chunks: Path, wanted: int) -> bool:
    """Whether a process has ended, or written that many chunks."""
    return process.poll() is not None or (chunks.is_dir() and len(list(chunks.glob("*.json"))) >= wanted)


@pytest.mark.slow
def test_a_record_has_its_tables_and_whatever_is_offered_is_accounted_for(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path)
    done = cli("demand", "run", "s.toml", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    assert max(manifest["conservation"].values()) <= 1e-9
    record = Record(tmp_path / "out")
    assert record.chunks == 4
    for name in columns.PARTS:
        assert list(record.table(name).columns) == [c.name for c in columns.TABLES[name][1]]
    cells = record.table("cells")
    assert len(cells) == 30 * 4 * 2 * 2
    offered = cells["elastic_offered_bps"] + cells["inelastic_offered_bps"]
    found = cells["elastic_bps"] + cells["inelastic_bps"] + cells["no_gateway_bps"] + cells["no_capacity_bps"]
    np.testing.assert_allclose(found, offered, rtol=1e-9)
    # Means over the run are those of the rows.
    down = cells[cells["direction"] == 0]
    assert manifest["totals"]["down"]["elastic_bps"] == pytest.approx(down["elastic_bps"].sum() / 30, rel=1e-12)
    # The terminals of the cells, by the plans' shares.
    rome = down[(down["cell"] == 0) & (down["t_s"] == 0)]
    assert rome["active"].iloc[0] == pytest.approx(3 * rome["active"].iloc[1])
    links = record.table("links")
    assert (links["peak_bps"] <= links["capacity_bps"] * (1 + 1e-6)).all()
    kinds = {columns.KINDS[k] for k in links["kind"]}
    assert kinds == set(columns.KINDS)
    summary = pd.read_csv(tmp_path / "out/cells.csv")
    assert set(summary["gateway"].dropna()) <= {"Raisting", "Fucino"}
    # The voice of a terminal fits everywhere, elastic traffic does not.
    voice = down[down["inelastic_offered_bps"] > 0]
    np.testing.assert_allclose(voice["inelastic_bps"], voice["inelastic_offered_bps"], rtol=1e-9)
    assert (summary["no_capacity_share"] > 0).any()


@pytest.mark.slow
def test_threads_and_interruptions_change_no_bit(cli: Cli, begin: Begin, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=160)
    assert cli("demand", "run", "s.toml", "--out", "whole", "--threads", "1").returncode == 0
    expected = digests(tmp_path / "whole")
    chunks = tmp_path / "killed/chunks"
    for threads, wanted in ((2, 2), (3, 7), (4, 12)):
        process = begin("demand", "run", "s.toml", "--out", "killed", "--threads", threads)
        wait_for(partial(is_over, process, chunks, wanted))
        process.send_signal(signal.SIGKILL)
        process.wait()
    # Facts are written last: without them a chunk is computed again, whatever is left of it.
    for number in (0, 3):
        (tmp_path / f"killed/chunks/{number:05d}.json").unlink(missing_ok=True)
    (tmp_path / "killed/cells/part-00003.parquet").write_bytes(b"half")
    done = cli("demand", "run", "s.toml", "--out", "killed")
    assert done.returncode == 0, done.stderr
    assert digests(tmp_path / "killed") == expected
    # A complete record is not computed again.
    assert cli("demand", "run", "s.toml", "--out", "killed").returncode == 0
    assert digests(tmp_path / "killed") == expected


def test_many_cells_are_drawn_as_the_mean_of_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots()
    axis.set_xlim(0, 45)
    ground = pd.DataFrame({"lon_deg": [1.2, 1.7, 9.5], "lat_deg": [40.1, 40.9, 41.5], "terminals": [1.0, 3.0, 2.0]})
    found = maps.Cells("", "%", np.array([10.0, 50.0, np.nan]), 100.0, True, np.array([1.0, 3.0, 1.0]))
    shown, most, size = maps._squares(axis, ground, found, {})
    assert (most, size) == (4.0, 1.0)
    assert shown.get_array().tolist() == [40.0]
    assert shown.get_paths()[0].get_extents().x0 == pytest.approx(1.015)
    plt.close(figure)


@pytest.mark.slow
def test_a_kill_before_the_first_chunk_leaves_a_folder_that_can_be_used_again(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path)
    for name in ("chunks", *columns.PARTS):
        (tmp_path / "out" / name).mkdir(parents=True)
    (tmp_path / "out/vertices.parquet").write_bytes(b"half")
    # Files that no interrupted start leaves are somebody else's.
    (tmp_path / "out/cells/mine.csv").touch()
    done = cli("demand", "run", "s.toml", "--out", "out")
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    (tmp_path / "out/cells/mine.csv").unlink()
    done = cli("demand", "run", "s.toml", "--out", "out")
    assert done.returncode == 0, done.stderr


def test_hot_links_are_named_and_cool_ones_are_not(whole: Path) -> None:
    import matplotlib.pyplot as plt

    record = Record(whole)
    links, place = maps.links_at(record, 0, maps.busiest(record, 0))
    _, axis = plt.subplots()
    axis.set_xlim(-180, 180)
    axis.set_ylim(-90, 90)
    share = np.full(len(links), maps.HOT_PERCENT - 1)
    assert maps._hottest(axis, record, place, links, share) == []
    share[0] = 90.0
    ((_, name),) = maps._hottest(axis, record, place, links, share)
    assert name.endswith(" 90 %")
    plt.close()


@pytest.mark.slow
def test_a_failure_costs_what_its_gateway_carried(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path)
    fail = '[[demand.failure]]\ngateway = ["Raisting", "Fucino"]\nat = "10 min"\nlength = "10 min"\n'
    scenario(tmp_path, more=fail, name="fail.toml")
    for name in ("s", "fail"):
        assert cli("demand", "run", f"{name}.toml", "--out", name).returncode == 0
    done = cli("demand", "report", "fail", "--beside", "s", "--out", "page.html", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert any("in 10 steps no cell reached a gateway" in line for line in told["lines"])
    assert [c["cell"] for c in told["cells"]]
    assert all(0 <= c["lost_share"] < 0.6 for c in told["cells"])
    steps = Record(tmp_path / "fail").table("steps")
    failed = steps["t_s"].between(600, 1199)
    assert (steps[failed]["elastic_bps"] == 0).all()
    assert (steps[~failed]["elastic_bps"] > 0).all()
    during = cli(
        "demand", "report", "fail", "--beside", "s", "--from", "10min", "--to", "20min", "--out", "p.html", "--json"
    )
    assert during.returncode == 0, during.stderr
    told = json.loads(during.stdout)
    assert all(c["lost_share"] == 1.0 for c in told["cells"])
    # Both gateways fail: all terminals lose theirs.
    assert {m["to"] for m in told["gateways"]} == {"none"}
    assert sum(m["terminals"] for m in told["gateways"]) == 2900
    # Links and hours are those of the window, in which no link carries anything.
    window = Record(tmp_path / "fail").between(600, 1200)
    assert not len(window.links)
    assert (window.hours["below_share"].dropna() == 1).all()
    assert len(Record(tmp_path / "s").between(600, 1200).links)
    assert cli("demand", "report", "fail", "--from", "3h").returncode == 2
    page = (tmp_path / "page.html").read_text()
    assert page.count("<img") >= 9
    assert "://" not in page.split("<details>")[0], "images are in base64, which has no colon"
    done = cli("demand", "map", "fail", "--map", "lost", "--beside", "s", "--out", "lost.geojson")
    assert done.returncode == 0, done.stderr
    features = json.loads((tmp_path / "lost.geojson").read_text())["features"]
    assert {f["properties"]["name"] for f in features} == {"Rome", "Madrid", "Vienna", "Nairobi"}


@pytest.mark.slow
def test_maps_are_drawn_of_the_run_and_of_an_instant(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=10)
    assert cli("demand", "run", "s.toml", "--out", "out").returncode == 0
    for what, end in (
        ("rate", "png"),
        ("below", "png"),
        ("unserved", "svg"),
        ("load", "png"),
        ("load", "geojson"),
        ("rate", "gif"),
    ):
        done = cli("demand", "map", "out", "--map", what, "--out", f"{what}.{end}")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / f"{what}.{end}").stat().st_size > 500
    done = cli("demand", "map", "out", "--map", "load", "--out", "load.mp4")
    if shutil.which("ffmpeg") is None:
        assert done.returncode == 2
        assert "load.mp4: MP4 needs ffmpeg, which is not installed" in done.stderr
        assert "contradict" not in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert b"ftyp" in (tmp_path / "load.mp4").read_bytes()[:16]
    assert cli("demand", "map", "out", "--time", "5min", "--up", "--out", "up.png").returncode == 0
    record = Record(tmp_path / "out")
    summary = pd.read_csv(tmp_path / "out/cells.csv")
    rows = summary[(summary["direction"] == "down") & (summary["cell"] == "Rome")]
    expected = rows["served_bps"].sum() / rows["active"].sum() / 1e6
    assert maps.cells(record, "rate", 0, None).values[0] == pytest.approx(expected)
    rows = record.table("cells")
    rows = rows[(rows["t_s"] == 300) & (rows["direction"] == 0) & (rows["cell"] == 0)]
    expected = (rows["elastic_bps"] + rows["inelastic_bps"]).sum() / rows["active"].sum() / 1e6
    assert maps.cells(record, "rate", 0, 330.0).values[0] == pytest.approx(expected)
    rows = record.table("cells")
    rows = rows[(rows["t_s"] == 300) & (rows["direction"] == 0) & (rows["cell"] == 0)]
    assert maps.cells(record, "below", 0, 330.0).values[0] == pytest.approx(
        100 * rows["below"].sum() / rows["active"].sum()
    )
    loads = maps.gateway_loads(record, 0, 0.0)
    assert set(loads) <= {"Raisting", "Fucino"}
    assert all(0 < load <= 100.0001 for load in loads.values())
    links, place = maps.links_at(record, 0, maps.busiest(record, 0))
    assert len(links)
    assert all(v in place for v in (*links["from"], *links["to"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("map", "out", "--map", "speed"), "'speed' is none of rate, below, unserved, load, lost"),
        (("map", "out", "--map", "lost"), "--map lost requires --beside OUT2"),
        (("map", "out", "--out", "x.bmp"), "the name must end in one of"),
        (("map", "out", "--time", "2h"), "the record ends at 600 s"),
        (("map", "out", "--map", "lost", "--beside", "out", "--out", "x.gif"), "a film shows one record"),
        (("map", "nothing"), "nothing is not a record of perigee demand"),
        (("run", "other.toml", "--out", "out"), "out has the demand of another scenario"),
        (("run", "s.toml", "--out", "."), ". is not empty"),
    ],
)
def test_what_cannot_be_done_is_named(words: tuple[str, ...], says: str, cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=10)
    scenario(tmp_path, minutes=20, name="other.toml")
    assert cli("demand", "run", "s.toml", "--out", "out").returncode == 0
    done = cli("demand", *words)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cells/part-00000.parquet", "vertices.parquet", "manifest.json", "start.json"])
def test_a_damaged_record_is_named_with_its_file(damage: str, cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=10)
    assert cli("demand", "run", "s.toml", "--out", "out").returncode == 0
    (tmp_path / "out" / damage).write_bytes(b"no table")
    done = cli("demand", "map", "out", "--time", "1min")
    assert done.returncode == 2
    assert damage.rsplit("/", maxsplit=1)[-1] in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('file = "cells.csv"', 'file = "none.csv"', "none.csv"),
        ('file = "cells.csv"', 'set = "towns"', "cities"),
        ('step = "60 s"', 'step = "7 s"', "record: must be a multiple of step"),
        ('file = "gateways.csv"', 'set = "cities"\nkind = "terminal"\ncount = 2', "no gateway is defined"),
        ("active = 0.1", "active = 1.5", "active"),
        ("active = 0.1", 'activity = "gateways.csv"', 'has no column "hour"'),
        ("active = 0.1", 'activity = "flatt"', "or one of residential, flat"),
        ("weight = 2", 'weight = 2\n[[demand.capacity]]\ncell = "Rom"\ndown = "1 Gbit"', 'did you mean "Rome"'),
        ("weight = 2", 'weight = 2\n[[demand.capacity]]\ncell = "Rome"', "without them it has no effect"),
        ("weight = 2", 'weight = 2\n[[demand.capacity]]\nup = "1 Gbit"', "give either gateways or cells"),
        ("active = 0.1", 'exchanges = "gateways.csv"\nfibre = 0.5', "fibre"),
        ("active = 0.1", "fibre = 2", "exchanges"),
        ("active = 0.1", 'exchanges = "cells-without.csv"', "cells-without.csv"),
        ("active = 0.1", 'exchanges = "twice.csv"', 'line 3: "a" is listed twice'),
        ("active = 0.1", 'exchanges = "nameless.csv"', "line 2: no name"),
        ("weight = 2", 'weight = 2\n[[demand.failure]]\ngateway = "Fucina"', 'did you mean "Fucino"'),
        ("weight = 2", 'weight = 2\n[[demand.failure]]\ngateway = "Fucino"\nat = "2 h"', "must be before the end"),
        ("active = 0.1", 'to = "cities"', "gateways, gravity, shares"),
        ("active = 0.1", "exponent = 2", 'to = "gravity"'),
        ("active = 0.1", 'to = "shares"\nshares = "shares.csv"\npeers = 3', "peers"),
        ("active = 0.1", "cells_up = 0.5", "cells_up"),
        ("active = 0.1", 'to = "gravity"\nexponent = 5', "exponent"),
        ("active = 0.1", 'to = "gravity"\ncount = 1', "only one cell has terminals"),
        ("active = 0.1", 'to = "gravity"\ncells_down = 0\ncells_up = 0', "cells_down and cells_up are both zero"),
        ("active = 0.1", 'to = "shares"', 'add shares = "FILE.csv"'),
        ("active = 0.1", 'to = "shares"\nshares = "none.csv"', "none.csv"),
        ("active = 0.1", 'to = "shares"\nshares = "gateways.csv"', 'no column "from"; found name, lat, lon'),
        ('starlink-shell1"', 'starlink-shell1"\n[source.chain]', "source"),
    ],
)
def test_wrong_scenarios_are_rejected_with_the_reason(old: str, new: str, says: str, cli: Cli, tmp_path: Path) -> None:
    path = scenario(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    for command in (("check", "s.toml"), ("demand", "run", "s.toml", "--out", "out")):
        done = cli(*command)
        assert done.returncode == 2
        assert says in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("Rome,941.9,12.5,1,9", 'cells.csv: line 2: lat is "941.9"; expected a number from -90 to 90'),
        ("Rome,41.9,12.5,many,9", 'line 2: population is "many"'),
        ("Rome,41.9,12.5", "line 2: 3 cells, the header has 5"),
    ],
)
def test_a_wrong_row_is_named_with_its_value_and_what_is_allowed(row: str, says: str, cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path)
    (tmp_path / "cells.csv").write_text(CELLS.replace("Rome,41.9,12.5,2800000,900", row))
    done = cli("demand", "run", "s.toml", "--out", "out")
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("Rom,Vienna,1", 'line 3: from is "Rom"; expected the name of a cell; did you mean "Rome"?'),
        ("Rome,Rome,1", 'line 3: from and to are both "Rome"; expected two cells'),
        ("Rome,Madrid,2", 'line 3: "Rome" to "Madrid" is listed twice'),
        ("Rome,Vienna,-1", 'line 3: share is "-1"; expected a number from 0'),
        ("Rome,Vienna,NaN", 'line 3: share is "NaN"'),
        ("Rome,Vienna", "line 3: 2 cells, the header has 3"),
    ],
)
def test_a_wrong_share_is_named_with_its_row_and_value(row: str, says: str, cli: Cli, tmp_path: Path) -> None:
    path = scenario(tmp_path, minutes=10)
    path.write_text(path.read_text().replace("active = 0.1", 'active = 0.1\nto = "shares"\nshares = "shares.csv"'))
    (tmp_path / "shares.csv").write_text(f"from,to,share\nRome,Madrid,1\n{row}\n")
    done = cli("demand", "run", "s.toml", "--out", "out")
    assert done.returncode == 2
    assert "shares.csv: " + says in done.stderr


@pytest.mark.slow
def test_shares_of_a_file_carry_traffic_between_cells(cli: Cli, tmp_path: Path) -> None:
    path = scenario(tmp_path, minutes=10)
    keys = 'active = 0.1\nto = "shares"\nshares = "shares.csv"\ncells_down = 0.2\ncells_up = 0.9'
    path.write_text(path.read_text().replace("active = 0.1", keys))
    (tmp_path / "shares.csv").write_text("from,to,share\nRome,Madrid,3\nRome,Vienna,1\nVienna,Rome,1\n")
    done = cli("demand", "run", "s.toml", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert max(json.loads(done.stdout)["conservation"].values()) <= 1e-9
    cells = Record(tmp_path / "out").table("cells")
    parts = ["elastic_bps", "inelastic_bps", "no_gateway_bps", "no_capacity_bps"]
    offered = cells["elastic_offered_bps"] + cells["inelastic_offered_bps"]
    np.testing.assert_allclose(cells[parts].sum(axis=1), offered, rtol=1e-9)


def test_a_demand_without_flows_is_checked_and_not_run(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path)
    done = cli("check", "s.toml")
    assert done.returncode == 0
    assert "1,584 satellites, 2 gateways, 4 cells, 2,900 terminals" in done.stdout
    assert json.loads(cli("check", "s.toml", "--json").stdout)["steps"] == 30
    done = cli("run", "s.toml", "--out", "out")
    assert done.returncode == 2
    assert "`perigee demand run` and `perigee demand sweep` compute its [demand]" in done.stderr


@pytest.mark.slow
def test_rain_at_a_gateway_takes_its_capacity(cli: Cli, tmp_path: Path) -> None:
    path = scenario(tmp_path, minutes=20)
    (tmp_path / "rain.csv").write_text("t_s,rate_share,loss\n0,1,0\n600,0.5,0\n")
    (tmp_path / "gateways.csv").write_text("name,lat,lon,dishes,weather\nRaisting,47.9,11.1,8,rain.csv\n")
    assert cli("demand", "run", path.name, "--out", "out").returncode == 0
    links = Record(tmp_path / "out").table("links")
    gateway = links[(links["kind"] == columns.KINDS.index("gateway")) & (links["direction"] == 0)]
    by_time = gateway.set_index("t_s")["capacity_bps"]
    assert by_time[540.0] == pytest.approx(3e9)
    assert by_time[600.0] == pytest.approx(1.5e9)


@pytest.mark.slow
def test_gateways_out_of_service_are_marked_whatever_the_reason(cli: Cli, tmp_path: Path) -> None:
    path = scenario(tmp_path, 20, '[[change]]\non = "Fucino"\nat = "10 min"\noutage = "5 min"\n')
    (tmp_path / "rain.csv").write_text("t_s,rate_share,loss\n0,1,0\n600,0,0\n")
    rows = "Raisting,47.9,11.1,8,rain.csv\nFucino,42.0,13.6,8,\n"
    (tmp_path / "gateways.csv").write_text(f"name,lat,lon,dishes,weather\n{rows}")
    done = cli("demand", "run", path.name, "--out", "out")
    assert done.returncode == 0, done.stderr
    record = Record(tmp_path / "out")
    assert (outages.failing(record, 540.0), outages.idle(record, 540.0)) == (set(), set())
    assert outages.failing(record, 660.0) == {"Fucino"}
    assert outages.idle(record, 660.0) == {"Fucino", "Raisting"}
    assert (outages.failing(record, 960.0), outages.idle(record, 960.0)) == (set(), {"Raisting"})
    window = record.between(900, 1200)
    assert (outages.failing(window, None), outages.idle(window, None)) == (set(), {"Raisting"})


def test_every_column_is_on_the_page_of_reference() -> None:
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs/reference/demand.md").read_text(encoding="utf-8")
    for name, (_, of) in columns.TABLES.items():
        assert f"## {name}" in page
        for column in of:
            assert f"| `{column.name}` |" in page, column.name


NAMES = ("name", "title", "start", "scenario", "chunks", "chunk_intervals", "cells", "gateways", "plans", "totals")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete record of ten minutes."""
    from perigee_lab.demand import record as records
    from perigee_lab.runs.scenario import open_file

    folder = tmp_path_factory.mktemp("whole")
    records.compute(open_file(scenario(folder, minutes=10), []), folder / "out")
    return folder / "out"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["=cmd()", "a\nb", "\x1b]0;x\x07", None, [], -1, 10**12, {"a": "b"}, "LACKS"])
def test_records_of_others_are_used_or_named_with_the_key(
    name: str, value: object, whole: Path, tmp_path: Path
) -> None:
    """Whatever a record of a demand has in place of a value, a command ends in a result or a line."""
    from perigee_lab.cli import demand as commands
    from perigee_lab.common.files import RecordError

    out = tmp_path / "out"
    shutil.copytree(whole, out)
    for file in ("start.json", "manifest.json"):
        found = json.loads((out / file).read_text())
        if name in found:
            found[name] = value
            if value == "LACKS":
                del found[name]
            (out / file).write_text(json.dumps(found))
    lines = []
    for command in (
        lambda: report.lines(Record(out), Record(whole)),
        lambda: commands.compare_(whole, out),
        lambda: commands.background(out, file=tmp_path / "b.csv", length="60s"),
        lambda: maps.cells(Record(out), "rate", 0, None),
    ):
        try:
            command()
        except RecordError as error:
            lines.append(str(error))
    assert all(line.isprintable() for line in lines)
    visible = ("name", "title", "start", "scenario")
    assert lines or (name in visible and isinstance(value, str))


@pytest.mark.parametrize(
    ("table", "damage"),
    [("vertices", "name"), *itertools.product(["vertices", "cells", "steps", "paths"], ["column", "rows", "large"])],
)
def test_tables_of_others_have_the_declared_columns_and_rows(
    table: str, damage: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from perigee_lab.common.files import RecordError
    from perigee_lab.demand.checked import table as read

    path = tmp_path / f"{table}.parquet"
    source = whole / "vertices.parquet" if table == "vertices" else whole / table / "part-00000.parquet"
    good = pq.read_table(source)
    rows = good.num_rows
    if damage == "column":
        good = good.drop_columns([good.column_names[-1]])
    elif damage == "rows":
        good = good.slice(1)
    elif damage == "large":
        monkeypatch.setattr("perigee_lab.results.checked.LARGE_BYTES", 100_000)
        good = good.take(pa.array([0] * 200_000))
        rows = good.num_rows
    else:
        good = good.set_column(2, "name", pa.array(["a\x1bb"] * rows))
    pq.write_table(good, path, compression="zstd")
    says = {"column": "columns must be", "rows": f"has {rows - 1} rows", "large": "would unpack", "name": "U+001B"}
    with pytest.raises(RecordError, match=re.escape(says[damage])):
        read(path, table, rows)


def test_the_name_in_a_record_chooses_no_folder(cli: Cli, whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "out")
    start = json.loads((whole / "start.json").read_text())
    start["name"] = f"{tmp_path}/elsewhere/pwned"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out/start.json").write_text(json.dumps(start))
    done = cli("demand", "map", "out")
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "elsewhere").iterdir())
    assert len(list(tmp_path.glob("*pwned-rate.png"))) == 1


@pytest.mark.slow
def test_a_table_of_another_record_is_computed_again_and_not_believed(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=10)
    for name, more in (("a", "demand.active=0.1"), ("b", "demand.active=0.2")):
        assert cli("demand", "run", "s.toml", "--set", more, "--out", name).returncode == 0
    expected = digests(tmp_path / "a")
    shutil.copy(tmp_path / "b/steps/part-00000.parquet", tmp_path / "a/steps/part-00000.parquet")
    done = cli("demand", "compare", "a", "b")
    assert done.returncode == 2
    assert "is not the table that was computed" in done.stderr
    assert cli("demand", "run", "s.toml", "--set", "demand.active=0.1", "--out", "a").returncode == 0
    assert digests(tmp_path / "a") == expected


@pytest.mark.parametrize("content", ["[]", "5", "{", "", "[" * 100_000, "\xff"])
def test_a_damaged_start_is_named_on_resumption(content: str, cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, minutes=10)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/start.json").write_bytes(content.encode("latin-1"))
    done = cli("demand", "run", "s.toml", "--out", "out")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "start.json" in done.stderr


@pytest.mark.slow
def test_an_encoder_that_fails_is_quoted(
    cli: Cli, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(whole, tmp_path / "out")
    encoder = tmp_path / "bin" / "ffmpeg"
    encoder.parent.mkdir()
    encoder.write_text("#!/bin/sh\ncat > /dev/null\necho no such codec >&2\nexit 3\n", encoding="utf-8")
    encoder.chmod(0o755)
    monkeypatch.setenv("PATH", f"{encoder.parent}{os.pathsep}{os.environ['PATH']}")
    done = cli("demand", "map", "out", "--map", "load", "--out", "m.mp4")
    assert done.returncode == 2, done.stderr
    assert "m.mp4: ffmpeg ended with exit code 3: no such codec" in done.stderr
    assert not (tmp_path / "m.mp4").exists()


def test_terminals_below_the_threshold_are_counted_with_those_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = pd.DataFrame({
        "terminals": [10.0, 20.0, 40.0, 80.0],
        "active": [5.0, 10.0, 20.0, 0.0],
        "below": [5.0, 5.0, 9.0, 0.0],
        "no_gateway_share": [1.0, 0.0, 0.4, np.nan],
    })  # fmt: skip
    monkeypatch.setattr(report, "_by_cell", lambda _record, _direction: cells)
    (line,) = report._below(cast(Record, None), 5.0)
    assert line.startswith("30 of 150 terminals are in cells below 5 Mbit/s")
    assert "10 of these without a path" in line
    monkeypatch.setattr(report, "_by_cell", lambda _record, _direction: cells[2:])
    assert report._below(cast(Record, None), 5.0) == []
