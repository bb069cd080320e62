# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Damaged manifests cause an error of one line; `verify` detects changes in manifests."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import perigee_lab as perigee
from conftest import SMALL
from perigee_lab.cli import compare, report
from perigee_lab.cli.ending import reported
from perigee_lab.common.files import RecordError
from perigee_lab.results import manifest
from perigee_lab.results.format_1 import same_ports
from perigee_lab.runs.trace import Wanted, trace_command
from perigee_lab.runs.verify import verify_command

WRONG: list[Any] = [None, True, 7, -1, 0.5, 10**400, "x", "\ud800", [], [7], {}, {"x": 7}]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("record")
    perigee.loads(SMALL, {"run.duration": "1 s"}).run_all(["cubic"], out=out)
    return out / "cubic" / "seed1"


@pytest.fixture
def text(record: Path) -> Iterator[str]:
    """The manifest as it was written, which is restored afterwards."""
    path = record / manifest.MANIFEST
    whole = path.read_bytes()
    yield whole.decode()
    path.write_bytes(whole)


def commands(record: Path, out: Path) -> Iterator[int]:
    """Exit codes of all commands that read records."""
    for read in (
        lambda: verify_command(record, rerun=False, as_json=False),
        lambda: report.command([record], out / "report.html"),
        lambda: compare.command(record, record),
        lambda: trace_command(record, Wanted(end="0.1s"), as_csv=False, qlog=None, out=out / "trace.txt"),
    ):
        try:
            yield read() or 0
        except Exception as error:
            code = reported(error)
            if code is None:
                raise
            yield code


def one_line_or_none(record: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> set[int]:
    """Runs the commands: they succeed, or fail with one line that names the file."""
    codes = set()
    for code in commands(record, out):
        told = capsys.readouterr()
        codes.add(code)
        assert code in (0, 2, 3), told.err
        if code == 2:
            lines = told.err.strip().splitlines()
            assert lines[0].startswith("perigee: "), told.err
            assert len(lines) == 1 or "cannot be made again" in lines[0], told.err
    return codes


def keys() -> list[str]:
    found = perigee.loads(SMALL, {"run.duration": "0.1 s"}).run("cubic").manifest
    return [*found, *manifest.OF_THE_MOMENT]


@pytest.mark.parametrize("key", keys())
def test_every_key_may_be_missing_or_wrong(
    record: Path, text: str, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.loads(text)
    refused, accepted = [], 0
    for data in spoilt(whole, key):
        (record / manifest.MANIFEST).write_text(json.dumps(data), encoding="utf-8")
        try:
            perigee.open_record(record)
        except RecordError as error:
            refused.append(str(error))
        else:
            # If a manifest can be read, all commands can read it; only a few are tested for each
            # key, to save time.
            accepted += 1
            if accepted < 3:
                one_line_or_none(record, tmp_path, capsys)
    assert all(str(record) in error and "\n" not in error for error in refused)
    # Perigee keeps other keys unchanged.
    assert key not in KNOWN or any(key in error for error in refused)


KNOWN = {f.metadata.get("key", f.name) for f in dataclasses.fields(manifest.Manifest)} - {"data"}


def spoilt(whole: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Manifests in which a key, or an entry of its value, is missing or has another type."""
    yield {k: v for k, v in whole.items() if k != key}
    yield from ({**whole, key: value} for value in WRONG)
    entries = whole.get(key)
    if isinstance(entries, list) and entries:
        yield from ({**whole, key: [value]} for value in WRONG)
    if isinstance(entries, list) and entries and isinstance(entries[0], dict):
        for name in entries[0]:
            yield {**whole, key: [{k: v for k, v in entries[0].items() if k != name}]}
            yield from ({**whole, key: [{**entries[0], name: v}]} for v in WRONG)
    if key == "tables":
        for value in [*WRONG, {"rows": 1}, {"sha256": "x", "rows": 1}]:
            yield {**whole, key: {**whole[key], "flows": value}}
        yield {**whole, key: {"../flows": whole[key]["flows"]}}


def test_files_that_are_cut_or_no_text_are_refused(
    record: Path, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = text.encode()
    cuts = [whole[: len(whole) * k // 20] for k in range(20)]
    for data in [*cuts, b"\xff" + whole, whole.replace(b"cubic", b"\xe9"), b"[" * 100_000, b"null", b"7", b'"x"']:
        (record / manifest.MANIFEST).write_bytes(data)
        assert one_line_or_none(record, tmp_path, capsys) == {2}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("conserved", False, "packets were not conserved"),
        ("stopped", True, "stopped before its end"),
        ("cc", "bbr", "the manifest says bbr, seed 1; its folder is cubic/seed1"),
        ("seed", 2, "its folder is cubic/seed1"),
    ],
)
def test_verify_sees_what_contradicts_the_folder(
    record: Path, text: str, key: str, value: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (record / manifest.MANIFEST).write_text(json.dumps({**json.loads(text), key: value}), encoding="utf-8")
    assert verify_command(record, rerun=False, as_json=False) == 3
    assert said in capsys.readouterr().out


# The repeated run takes the name of the scenario from the record.
UNSEEN = {*manifest.OF_THE_MOMENT, "tables", "record_format", "scenario"}


@pytest.mark.parametrize("key", [k for k in keys() if k not in UNSEEN])
def test_verify_sees_every_key_that_was_changed(
    record: Path, text: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.loads(text)
    if key == "scenario_toml":
        whole[key] = whole[key].replace("10", "11", 1)
    else:
        whole[key] = _other(whole[key])
    (record / manifest.MANIFEST).write_text(json.dumps(whole), encoding="utf-8")
    assert verify_command(record, rerun=True, as_json=False) == 3
    assert "equal" not in capsys.readouterr().out


def _other(value: Any) -> Any:
    """A different value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, dict):
        return {k: _other(v) for k, v in value.items()}
    return 1 if value is None else [_other(v) for v in value] or ["x"]


def test_verify_notes_another_version(record: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = {**json.loads(text), "version": "0.0.1"}
    (record / manifest.MANIFEST).write_text(json.dumps(whole), encoding="utf-8")
    assert verify_command(record, rerun=True, as_json=False) == 0
    assert "equal (made by version 0.0.1, this is " in capsys.readouterr().out


def test_unknown_keys_are_kept_and_later_formats_are_named(record: Path, text: str, tmp_path: Path) -> None:
    whole = json.loads(text)
    read = manifest.parsed({**whole, "later": {"a": 1}, "record_format": 2}, Path("m"))
    assert json.loads(read.text())["later"] == read["later"] == {"a": 1}
    two = {k: v for k, v in whole.items() if k != "events"} | {"record_format": 2}
    assert manifest.parsed(two, Path("m")).events is None
    with pytest.raises(RecordError, match="record_format 3 is of a later version"):
        manifest.parsed({**whole, "record_format": 3}, Path("m"))


OLD_PORTS = [
    {"name": "laser", "class": "laser", "rate_bps": 1, "discipline": "drop-tail"},
    {"name": "a", "class": "hop", "discipline": {"codel": {"interval": 100_000_000, "target": 5_500_000}}},
    {"name": "b", "class": "hop", "discipline": {"fq_codel": {"interval": 1, "quantum": 1514, "target": 5_000}}},
    {
        "name": "c",
        "class": "hop",
        "discipline": {
            "red": {"floor_ppb": 0, "max": 24959, "min": 12479, "p_ppb": 20_000_000, "weight_ppb": 1_000_000_000}
        },
    },
]
NEW_PORTS = [
    {"name": "isl", "class": "isl", "rate_bps": 1, "discipline": "drop-tail"},
    {"name": "a", "class": "hop", "discipline": {"codel": {"interval": "100 ms", "target": "5.5 ms"}}},
    {"name": "b", "class": "hop", "discipline": {"fq_codel": {"interval": "1 ns", "quantum": 1514, "target": "5 us"}}},
    {
        "name": "c",
        "class": "hop",
        "discipline": {
            "red": {"red_floor": 0.0, "red_max": "24959 B", "red_min": "12479 B", "red_p": 0.02, "red_weight": 1.0}
        },
    },
]


def test_ports_of_format_1_are_compared_by_what_they_mean() -> None:
    assert same_ports(OLD_PORTS, NEW_PORTS)
    for changed in (
        {**OLD_PORTS[0], "rate_bps": 2},
        {**OLD_PORTS[0], "discipline": "red"},
        {**OLD_PORTS[0], "discipline": {"red": None, "pie": 1}},
        {**OLD_PORTS[0], "name": ["laser"]},
    ):
        assert not same_ports([changed, *OLD_PORTS[1:]], NEW_PORTS)
    assert not same_ports([{**OLD_PORTS[1], "discipline": {"codel": {"target": "soon"}}}], NEW_PORTS[1:2])
    assert not same_ports([{**OLD_PORTS[1], "discipline": {"codel": ["target"]}}], NEW_PORTS[1:2])
    assert not same_ports(OLD_PORTS[:1], NEW_PORTS)
