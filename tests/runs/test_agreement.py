# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Agreement of an archive's parts: what it verifies is what it runs, and damage names its place."""

from __future__ import annotations

import json
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import perigee_lab
from archives import RATES, changed, parts, rebuilt, without, zipped
from conftest import SMALL, Cli
from perigee_lab.common.errors import PerigeeError
from perigee_lab.results.manifest import NEEDED
from perigee_lab.runs import packing
from perigee_lab.runs.archive import JOBS, ArchiveError, open_archive


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the runs of two schemes with two seeds, without code, and an archive of it."""
    folder = tmp_path_factory.mktemp("records")
    (folder / "rates.csv").write_text(RATES, encoding="utf-8")
    (folder / "s.toml").write_text(SMALL + '[schedule]\nfile = "rates.csv"\n', encoding="utf-8")
    perigee_lab.load(folder / "s.toml").run_all(["cubic", "newreno"], seeds=[1, 2], out=folder / "out")
    packing.pack(folder / "out", folder / "r.perigee", tables=False)
    packing.pack(folder / "out", folder / "t.perigee", tables=True)
    return folder


def _slower(job: dict[str, Any]) -> None:
    assert "rate = " in job["toml"]
    job["toml"] = job["toml"].replace("10 Mbit", "9 Mbit").replace("10000000", "9000000")
    job["toml"] = job["toml"].replace('"30 ms"', '"31 ms"')


CUBIC = "records/cubic/seed1/manifest.json"
CONTRADICTIONS: tuple[tuple[str, Callable[[Any], object], str], ...] = (
    (JOBS, lambda d: [_slower(j) for j in d["jobs"]], "scenario.toml and the scenario of jobs.json differ"),
    (JOBS, lambda d: d["jobs"][1].update(seed=7), f"{CUBIC[:-15]}2/manifest.json is of cubic with seed 2"),
    (JOBS, lambda d: d["jobs"].append({**d["jobs"][0], "seed": 7}), "with seed 7, of which there is no manifest"),
    (JOBS, lambda d: d["jobs"].append(d["jobs"][0]), "jobs.json has two jobs with seed 1"),
    (JOBS, lambda d: [j["schemes"].append("bbr") for j in d["jobs"]], "bbr with seed 1, of which there is no manifest"),
    (JOBS, lambda d: [j["schemes"].remove("cubic") for j in d["jobs"]], f"{CUBIC} is of cubic with seed 1"),
    (JOBS, lambda d: [j.update(scenario="other") for j in d["jobs"]], "perigee.json names the scenario 's'"),
    (JOBS, lambda d: [j.update(capture=True) for j in d["jobs"]], "jobs.json captures packets"),
    (JOBS, lambda d: [j.update(kernel="emulation") for j in d["jobs"]], "is of the simulator, jobs.json of emulation"),
    (JOBS, lambda d: d["jobs"][1].update(toml=d["jobs"][1]["toml"] + "[[expect]]\n"), "the scenario of seed 2"),
    (CUBIC, lambda d: d.update(seed=7), f"{CUBIC} is of cubic with seed 7"),
    (CUBIC, lambda d: d.update(cc="bbr"), f"{CUBIC} is of bbr with seed 1"),
    (CUBIC, lambda d: d.update(seed=2), "are both of cubic with seed 2"),
    (CUBIC, lambda d: d.update(scenario="x"), f"{CUBIC} names the scenario 'x'"),
    (CUBIC, lambda d: d.update(scenario_toml=d["scenario_toml"] + "x = 1\n"), f"the scenario of {CUBIC} is not that"),
    (CUBIC, lambda d: d.update(backend="capture"), f"{CUBIC} is of capture, jobs.json of the simulator"),
    (CUBIC, lambda d: d["files"][0].update(sha256="0" * 64), "with another hash than jobs.json"),
    (CUBIC, lambda d: d["files"][0].update(path="files/no"), f"{CUBIC} names 'files/no'"),
    (CUBIC, lambda d: d.update(seed=-1), f"{CUBIC}: seed is -1, must be 0 or more: the manifest is damaged; pack it"),
    (CUBIC, lambda d: d.pop("tables"), f"{CUBIC}: tables is missing"),
)


@pytest.mark.parametrize(("entry", "edit", "why"), CONTRADICTIONS, ids=[w for _, _, w in CONTRADICTIONS])
def test_the_parts_of_an_archive_describe_the_same_runs(
    records: Path, tmp_path: Path, entry: str, edit: Callable[[Any], object], why: str
) -> None:
    bad = tmp_path / "bad.perigee"
    changed(records / "r.perigee", bad, entry, edit)
    with pytest.raises(ArchiveError) as refused:
        open_archive(bad)
    assert (str(refused.value).startswith(str(bad)), "damaged" in str(refused.value)) == (True, True), refused.value
    assert why in str(refused.value)
    assert "--force" not in str(refused.value)


def test_no_part_of_an_archive_is_missing_or_replaced(records: Path, tmp_path: Path) -> None:
    source, tables, bad = records / "r.perigee", records / "t.perigee", tmp_path / "bad.perigee"
    for names, why in (
        (("scenario.toml",), "it has no scenario.toml"),
        ((CUBIC,), "jobs.json has cubic with seed 1, of which there is no manifest"),
    ):
        without(source, bad, *names)
        with pytest.raises(ArchiveError, match=why):
            open_archive(bad)
    without(tables, bad, CUBIC)
    with pytest.raises(ArchiveError, match=r"no manifest"):
        open_archive(bad)
    rebuilt(source, bad, {"scenario.toml": b"[run]\n"})
    with pytest.raises(ArchiveError, match=r"scenario\.toml and the scenario of jobs\.json differ"):
        open_archive(bad)
    content, _ = parts(source)
    jobs = json.loads(content[JOBS])
    for one in jobs["jobs"]:
        _slower(one)
    both = {JOBS: json.dumps(jobs).encode(), "scenario.toml": jobs["jobs"][0]["toml"].encode()}
    rebuilt(source, bad, both)
    with pytest.raises(ArchiveError, match=rf"the scenario of {CUBIC} is not that of seed 1 in jobs\.json"):
        open_archive(bad)
    content, index = parts(tables)
    zipped(bad, content, {**index, "tables": False})
    with pytest.raises(ArchiveError, match="says that records have no tables, there is 'records/cubic/seed1/"):
        open_archive(bad)
    content, index = parts(source)
    zipped(bad, content, {**index, "tables": True})
    with pytest.raises(ArchiveError, match="says that records have their tables, there are none"):
        open_archive(bad)


def test_a_contradiction_is_found_by_verify_and_run_alike(records: Path, tmp_path: Path, cli: Cli) -> None:
    changed(records / "r.perigee", tmp_path / "b.perigee", CUBIC, lambda d: d.update(seed=7))
    for words in (("verify",), ("verify", "--no-rerun"), ("run", "--out", "o"), ("trust",)):
        done = cli(words[0], "b.perigee", *words[1:])
        assert (done.returncode, f"damaged: {CUBIC}" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
def test_every_table_of_the_repeated_run_is_compared(records: Path, tmp_path: Path, cli: Cli) -> None:
    assert cli("verify", records / "t.perigee", "--no-rerun").returncode == 0
    assert cli("verify", records / "r.perigee").returncode == 0
    with zipfile.ZipFile(records / "r.perigee") as file:
        extra = sorted({*json.loads(file.read(CUBIC))["tables"]} - {*NEEDED})
    changed(records / "r.perigee", tmp_path / "b.perigee", CUBIC, lambda d: d["tables"].pop(extra[0]))
    done = cli("verify", "b.perigee")
    assert (done.returncode, f"cubic seed 1: the manifest has no table {extra[0]}" in done.stdout) == (3, True)


def test_runs_of_an_archive_are_complete(records: Path, tmp_path: Path) -> None:
    shutil.copytree(records / "out", tmp_path / "out")
    shutil.rmtree(tmp_path / "out/cubic/seed2")
    with pytest.raises(PerigeeError, match="has no run of cubic with seed 2: run it into the folder"):
        packing.pack(tmp_path / "out", tmp_path / "x.perigee", tables=False)


def test_damage_is_described_in_words(records: Path, tmp_path: Path) -> None:
    bad, data = tmp_path / "b.perigee", (records / "r.perigee").read_bytes()
    for offset in (0xFFFFFFF0, len(data) + 5, len(data) - 23):
        moved = bytearray(data)
        moved[-6:-2] = struct.pack("<L", offset)
        bad.write_bytes(moved)
        with pytest.raises(ArchiveError) as refused:
            open_archive(bad)
        assert "Errno" not in str(refused.value)
        assert "outside of the file" in str(refused.value) or "Bad magic" in str(refused.value), refused.value
    source = records / "r.perigee"
    for name in (JOBS, CUBIC):
        rebuilt(source, bad, {name: b'{"record_format": ' + b"9" * 5000 + b"}"})
        with pytest.raises(ArchiveError, match="an integer of thousands of digits") as refused:
            open_archive(bad)
        assert name in str(refused.value)
        rebuilt(source, bad, {name: b"\xff"})
        with pytest.raises(ArchiveError, match="not valid UTF-8"):
            open_archive(bad)
