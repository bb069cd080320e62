# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Damaged results, as from a full disk: they are reported, and never used as results."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli, command
from perigee_lab.common.files import RecordError
from perigee_lab.extensions.plugins import PluginError, load_file
from perigee_lab.results.metrics import flow_rows
from perigee_lab.results.run import open_record
from perigee_lab.results.tables import TABLES
from perigee_studies.cache import Cache
from perigee_studies.digest import Digest


def spoilt(data: bytes) -> list[bytes]:
    """Damaged versions of a file: empty, truncated, and with changed bits in the middle."""
    flipped = bytearray(data)
    for k in range(len(data) // 3, 2 * len(data) // 3):
        flipped[k] ^= 0x55
    return [b"", data[: len(data) // 2], data[:-1], bytes(flipped), b"garbage"]


def test_a_damaged_digest_counts_as_none(tmp_path: Path) -> None:
    import numpy as np

    cache = Cache(tmp_path)
    digest = Digest([{"name": "a"}], np.arange(50.0), {"rtt_ns": np.arange(50.0)[None, :]})
    cache.write("ab12", digest)
    whole = cache.path("ab12").read_bytes()
    assert cache.has("ab12")
    for data in spoilt(whole):
        cache.path("ab12").write_bytes(data)
        assert not cache.has("ab12"), len(data)
        assert cache.read("ab12") is None
    cache.write("ab12", digest)
    assert cache.has("ab12")


@pytest.fixture
def record(tmp_path: Path, small: Path) -> Path:
    perigee.load(small).run(cc="cubic").save(tmp_path / "out/cubic/seed1")
    return tmp_path / "out/cubic/seed1"


def test_a_table_in_the_place_of_another_is_named(cli: Cli, record: Path) -> None:
    shutil.copy(record / "links.parquet", record / "flows.parquet")
    with pytest.raises(RecordError, match=r"flows\.parquet has no column flow, goodput_bps"):
        open_record(record).table("flows")
    done = cli("report", "out")
    assert done.returncode == 2
    assert "flows.parquet has no column flow" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_table_is_named(cli: Cli, record: Path) -> None:
    (record / "rtt.parquet").unlink()
    for words in (["report", "out"], ["compare", "out", "out"]):
        done = cli(*words)
        assert done.returncode == 2
        assert "rtt.parquet is missing: run it again with --force" in done.stderr


def test_every_table_of_a_record_has_its_columns(record: Path) -> None:
    run = open_record(record)
    assert set(run.tables) == set(TABLES)
    assert all(run.table(name).num_columns for name in run.tables)


@pytest.mark.parametrize("cc", [":X", "mine.py:", "none.toml:X", "folder.py:X", "folder.toml:X"])
def test_a_class_that_is_nowhere_is_refused_in_one_line(cli: Cli, small: Path, tmp_path: Path, cc: str) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder.toml").mkdir()
    done = cli("run", small, "--cc", cc)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "importlib" not in done.stderr


def test_a_plug_in_cannot_end_the_program_when_it_is_loaded(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "quits.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    done = cli("run", small, "--cc", "quits.py:X")
    assert done.returncode == 2
    assert "quits.py cannot be loaded: SystemExit: 3 (quits.py, line 2)" in done.stderr
    with pytest.raises(PluginError, match="SystemExit"):
        load_file(tmp_path / "quits.py", None)


def test_names_in_the_wrong_place_get_a_hint(cli: Cli, tmp_path: Path) -> None:
    refused = cli("study", "run", "orbcc/responsiveness", "--cc", "mine.py:Mine")
    assert (refused.returncode, "names of `perigee schemes` only" in refused.stderr) == (2, True)
    refused = cli("new-cc", "cubic", "--python", "--in", tmp_path)
    assert (refused.returncode, "my_cubic" in refused.stderr) == (2, True)
    assert not (tmp_path / "cubic.py").exists()
    refused = cli("validate", "--cc", "cubci")
    assert (refused.returncode, "did you mean cubic?" in refused.stderr) == (2, True)
    refused = cli("validate", "--cc", "nix")
    assert "no congestion control is called 'nix'; there are newreno, cubic" in refused.stderr


@pytest.mark.slow
def test_lost_probes_of_a_ping_are_counted(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "ping.toml"
    path.write_text(
        '[run]\nduration = "20 s"\n[source.dumbbell]\nrtt = "30 ms"\nloss = 0.05\n'
        '[port.bottleneck]\nrate = "10 Mbit"\nqueue = "1 bdp"\n[[flow]]\ncc = "newreno"\n[[flow]]\napp = "ping"\n',
        encoding="utf-8",
    )
    run = perigee.load(path).run()
    rows = flow_rows(run)
    probe = run.table("flow_totals").to_pylist()[1]
    assert "lost_probes" not in rows[0]
    # Probes were answered, were lost, or are in flight.
    under_way = probe["data_sent"] - probe["rtt_samples"] - rows[1]["lost_probes"]
    assert 0 <= under_way <= 2
    assert rows[1]["lost_probes"] > 0
    assert f" times; {rows[1]['lost_probes']} lost probes\n" in cli("run", path).stdout
    unhurt = ("--set", "source.dumbbell.loss=0", "--set", "port.bottleneck.queue=1000 bdp")
    assert "lost probe" not in cli("run", path, *unhurt).stdout


STUDY = ("leotcp/responsiveness", "orbcc/initial-phase")


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two experiments."""
    folder = tmp_path_factory.mktemp("studied")
    asked = [*STUDY, "--quick", "--cc", "newreno,orbcc-repro", "--out", folder / "o"]
    subprocess.run(command("study", "run", *asked), check=True, capture_output=True)
    return folder / "o"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("data/series.csv", b""),
        ("data/series.csv", None),
        ("data/runs.csv", b"garbage\n1\n"),
        ("about.json", b"\xff\x00{]"),
        ("about.json", None),
    ],
)
def test_damaged_results_of_a_study_are_named(
    cli: Cli, studied: Path, tmp_path: Path, file: str, content: bytes | None
) -> None:
    shutil.copytree(studied, tmp_path / "o")
    spoiled = tmp_path / "o/quick" / STUDY[0] / file
    assert spoiled.exists()
    if content is None:
        spoiled.unlink()
    else:
        spoiled.write_bytes(content)
    done = cli("study", "report", "--size", "quick", "--out", "o", "--docs", "pages")
    assert done.returncode == 1
    what = "missing" if content is None else "damaged"
    line = f"perigee: o/quick/{STUDY[0]}/{file} is {what}: run `perigee study run {STUDY[0]} --quick --out o` again"
    complaints = [said for said in done.stderr.splitlines() if said.startswith("perigee:")]
    assert complaints == [line], done.stderr
    assert f"{STUDY[0]:<30} damaged" in done.stdout
    assert "claims reproduced" in done.stdout, "the other is still reported"
    assert "is " + what in (tmp_path / "o/quick/index.html").read_text(encoding="utf-8")
    assert not (tmp_path / "pages/leotcp-responsiveness.md").exists()
    assert (tmp_path / "pages/orbcc-initial-phase.md").exists()


@pytest.mark.slow
def test_a_damaged_list_of_failures_is_named(cli: Cli, studied: Path, tmp_path: Path) -> None:
    shutil.copytree(studied, tmp_path / "o")
    (tmp_path / "o/quick/failures.json").write_text("{", encoding="utf-8")
    done = cli("study", "report", STUDY[0], "--size", "quick", "--out", "o")
    assert (done.returncode, "failures.json is damaged" in done.stderr) == (1, True)


@pytest.mark.slow
def test_what_was_damaged_is_run_again(cli: Cli, studied: Path, tmp_path: Path) -> None:
    shutil.copytree(studied, tmp_path / "o")
    before = (tmp_path / "o/quick" / STUDY[1] / "verdicts.json").read_bytes()
    for digest in (tmp_path / "o/cache").glob("*/*.digest"):
        digest.write_bytes(digest.read_bytes()[:100])
    done = cli("study", "run", STUDY[1], "--quick", "--cc", "newreno,orbcc-repro", "--out", "o")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "o/quick" / STUDY[1] / "verdicts.json").read_bytes() == before
