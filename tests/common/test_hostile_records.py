# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Hostile names, and scenarios, in manifests and tables of records."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.common import names
from perigee_lab.common.files import RecordError
from perigee_lab.common.reading import parsed_toml
from perigee_lab.results.run import open_record

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture
def record(tmp_path: Path, small: Path) -> Path:
    perigee.load(small).run_all(["cubic"], seeds=[1], out=tmp_path / "out")
    return tmp_path / "out/cubic/seed1"


def texts(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of the texts in JSON data."""
    if isinstance(data, str):
        yield path
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in parts:
        yield from texts(part, (*path, key))


# Texts of a manifest that are content, depend on the time of the run, or are not used as names;
# they are quoted when they are displayed.
FREE = {
    "scenario_toml",
    "report",
    "warnings",
    "files",
    "command",
    "host",
    "version",
    "finished",
    "conservation",
    "ports",
    "tcp_profile",
}


def test_a_record_with_a_control_character_in_a_name_is_refused(record: Path) -> None:
    file = record / "manifest.json"
    whole = json.loads(file.read_text(encoding="utf-8"))
    refused: set[Any] = set()
    said: list[str] = []
    for path in texts(whole):
        damaged = json.loads(json.dumps(whole))
        at = damaged
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] += "\x1b]0;x\x07"
        file.write_text(json.dumps(damaged), encoding="utf-8")
        try:
            open_record(record)
        except RecordError as error:
            refused.add(path[0])
            said.append(str(error))
    assert [s for s in said if names.problem(s)] == []
    assert refused >= {"scenario", "title", "cc", "flows", "nodes", "pairs"}
    assert {p[0] for p in texts(whole)} - refused <= FREE, "a text that is neither a name nor listed above"


def test_a_table_with_a_control_character_in_a_name_is_refused(record: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("flow_totals", "link_totals", "events"):
        path = record / f"{name}.parquet"
        table = pq.read_table(path)
        for column in [c for c in table.column_names if pa.types.is_string(table[c].type)]:
            if table.num_rows == 0:
                continue
            at = table.column_names.index(column)
            bad = pa.array([f"{v}\x1b[2J" for v in table[column].to_pylist()], pa.string())
            pq.write_table(table.set_column(at, column, bad), path)
            run = open_record(record)
            if column == "text":
                assert "\\x1b[2J" in run.table(name)[column].to_pylist()[0]
                continue
            with pytest.raises(RecordError, match=r"control character U\+001B") as refused:
                run.table(name)
            assert names.problem(str(refused.value)) is None
        pq.write_table(table, path)


@pytest.mark.parametrize(
    "scenario",
    [
        f"x = {'9' * 5000}",
        f"x = {'[' * 5000}",
        'schedule = "x"\nsource = 5\nflow = "x"\nport = 7\n',
        "source.a.b = 1\n[[flow]]\n",
    ],
    ids=["digits", "nested", "types", "keys"],
)
def test_a_hostile_scenario_in_a_manifest_ends_in_a_report_or_a_line(record: Path, cli: Cli, scenario: str) -> None:
    file = record / "manifest.json"
    found = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(found | {"scenario_toml": scenario}), encoding="utf-8")
    (record / "summary.json").unlink(missing_ok=True)
    for words in (("report", "out"), ("compare", "out", "out"), ("verify", "out"), ("results", "out")):
        done = cli(*words)
        assert "Traceback" not in done.stderr, words
        assert done.returncode in (0, 1, 2, 3), words


PARTS = ["a." * 30_000 + "a=1", '"a" . ' * 30_000 + "a=1", "[" + "a." * 30_000 + "a]", "a." * 1500 + "a=1"]


@pytest.mark.parametrize("text", [*PARTS, "x = " + "[" * 65 + "]" * 65, "x = " + "{a = " * 100 + "1" + "}" * 100])
def test_deep_toml_is_refused_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"line 2: a key has more than 64 parts|nested too deep"):
        parsed_toml(f"b = 1\n{text}\n")
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    "text",
    [
        f"x = '{'a.' * 1000}'",
        f'x = "{"a." * 1000}\\"{"a." * 1000}"',
        f'x = """\n{"a." * 1000}"\n\\"""{"a." * 1000}"""""\ny = 1',
        f"x = '''\n{'a.' * 1000}'\n{'a.' * 1000}'''''\ny = 1",
        f"x = 1 # {'a.' * 1000}\n",
        f"x = [{'1.5, ' * 1000}]",
        "\n".join(f"x{n} = 1.5" for n in range(1000)),
        f"{'a.' * 63}a = 1",
        f"x = {'[' * 63}{']' * 63}",
    ],
)
def test_dots_elsewhere_are_not_counted(text: str) -> None:
    assert parsed_toml(text) == tomllib.loads(text)


def test_one_function_parses_toml() -> None:
    root = Path(perigee.__file__).parents[2]
    places = [root / "python/perigee_lab", root / "studies/perigee_studies"]
    for path in (path for place in places for path in place.rglob("*.py")):
        if path.name != "reading.py":
            assert "tomllib" not in path.read_text(encoding="utf-8"), path


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [PARTS[0], PARTS[3]])
def test_a_deep_scenario_in_a_manifest_takes_no_time(record: Path, tmp_path: Path, cli: Cli, scenario: str) -> None:
    file = record / "manifest.json"
    found = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(found | {"scenario_toml": scenario}), encoding="utf-8")
    (record / "summary.json").unlink(missing_ok=True)
    (tmp_path / "deep.toml").write_text(scenario, encoding="utf-8")
    assert cli("measure", "key", "k.key").returncode == 0
    for words in (
        ("report", "out"),
        ("compare", "out", "out"),
        ("pack", "out", "-o", "x.perigee"),
        ("measure", "run", "deep.toml", "--key-file", "k.key", "--server", "127.0.0.1"),
    ):
        begin = time.monotonic()
        done = cli(*words)
        assert "Traceback" not in done.stderr, words
        assert done.returncode in (0, 2), (words, done.stderr)
        assert time.monotonic() - begin < 30, words
