# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Explanations of studies: made again, with tables of their own size, damaged ones, printed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conftest import Cli


@pytest.mark.slow
def test_an_explanation_is_made_again_by_one_command(cli: Cli, tmp_path: Path) -> None:
    """The row of the variant in the published table is reproduced to the last digit."""
    docs = Path(__file__).parents[2] / "docs/studies"
    done = cli("study", "explain", "hypatia/rtts", "--variant", "samples", "--from", str(docs), "--out", "o")
    assert done.returncode == 0, done.stderr
    assert "with the RTT as sampled" in " ".join(done.stdout.split())
    ours, theirs = (
        {line for line in (folder / "variants-runs.csv").read_text(encoding="utf-8").splitlines() if "samples" in line}
        for folder in (tmp_path / "o/full/hypatia/rtts/data", docs / "data/hypatia-rtts")
    )
    assert ours == theirs
    assert len(ours) == 1


@pytest.mark.slow
def test_pages_tables_are_used_at_their_own_size(cli: Cli, tmp_path: Path) -> None:
    """Variants at another size than the figure would differ in more than the varied setting."""
    docs = Path(__file__).parents[2] / "docs/studies"
    for name, size in (("hypatia-rtts", "full"), ("hypatia-vegas", "default")):
        shutil.copytree(docs / "data" / name, tmp_path / "pages/data" / name)
        about = tmp_path / "pages/data" / name / "about.json"
        about.write_text(json.dumps(json.loads(about.read_text()) | {"size": size}), encoding="utf-8")
    both = ("hypatia/rtts", "hypatia/vegas", "--from", "pages", "--out", "o")
    assert cli("study", "report", *both).returncode == 0
    found = sorted(p.relative_to(tmp_path / "o").as_posix() for p in (tmp_path / "o").glob("*/hypatia/*"))
    assert found == ["default/hypatia/vegas", "full/hypatia/rtts"]
    refused = cli("study", "report", *both[:-1], "p", "--size", "default")
    assert refused.returncode == 2
    assert (
        "--size default: the tables of hypatia/rtts in pages are of the size full; leave --size out" in refused.stderr
    )
    assert "(full, default)" in cli("study", "report", *both, "--json").stderr.replace(
        "(default, full)", "(full, default)"
    )


@pytest.mark.slow
def test_damaged_tables_of_pages_are_named(cli: Cli, tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs/studies"
    folder = tmp_path / "pages/data/hypatia-rtts"
    for file, text, says in (
        ("about.json", "{", "about.json is damaged"),
        ("runs.csv", (docs / "data/hypatia-rtts/runs.csv").read_text()[:300], "runs.csv is not as it was saved"),
    ):
        shutil.rmtree(tmp_path / "pages", ignore_errors=True)
        shutil.copytree(docs / "data/hypatia-rtts", folder)
        (folder / file).write_text(text)
        done = cli("study", "report", "hypatia/rtts", "--from", "pages", "--out", "o")
        assert done.returncode == 2
        assert f"perigee: pages/data/hypatia-rtts/{says}: bring it back" in done.stderr
        assert not list((tmp_path / "o").rglob("*.csv"))
        explained = cli("study", "explain", "hypatia/rtts", "--from", "pages", "--out", "e")
        assert (explained.returncode, explained.stderr) == (2, done.stderr)
        assert not (tmp_path / "e").exists()


@pytest.mark.slow
def test_explanations_say_what_they_lack(cli: Cli, tmp_path: Path) -> None:
    assert "no explanation of geo/ping rests on variants" in cli("study", "explain", "geo/ping").stderr
    docs = Path(__file__).parents[2] / "docs/studies"
    words = ["orbcc/responsiveness", "--variant", "nonsense", "--from", str(docs), "--out", "o"]
    for more in ([], ["--variant", "F-RTO"]):
        done = cli("study", "explain", *words, *more)
        assert done.returncode == 2
        assert "no variant is called 'nonsense'; there are 'F-RTO" in done.stderr
        assert not (tmp_path / "o").exists()


def test_nothing_is_run_where_variants_have_no_tables_to_stand_beside(cli: Cli, tmp_path: Path) -> None:
    """The tables are checked before the first run, and no files are left behind."""
    (tmp_path / "wrong").mkdir()
    words = ("study", "explain", "hypatia/rtts", "--variant", "samples", "--out", "o")
    for more, said in (
        (("--from", "wrong"), "--from wrong has no tables of hypatia/rtts (wrong/data/hypatia-rtts/about.json"),
        ((), "o/default/hypatia/rtts/about.json is missing: run `perigee study run hypatia/rtts --out o` again"),
    ):
        done = cli(*words, *more)
        assert done.returncode == 2
        assert said in done.stderr
        assert "runs" not in done.stderr.replace("run `", "")
        assert [p.name for p in tmp_path.iterdir()] == ["wrong"]


@pytest.mark.slow
def test_explanations_are_printed_on_request(cli: Cli, tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs/studies/data/orbcc-responsiveness"
    folder = tmp_path / "default/orbcc/responsiveness"
    (folder / "data").mkdir(parents=True)
    for table in docs.glob("*.csv"):
        (folder / "data" / table.name).write_bytes(table.read_bytes())
    (folder / "about.json").write_text('{"size": "default", "runs": 1, "planned": 1}', encoding="utf-8")
    command = ("study", "report", "orbcc/responsiveness", "--out", str(tmp_path))
    plain, explained = cli(*command), cli(*command, "--explain")
    assert plain.returncode == explained.returncode == 0
    assert "why: OrbCC retransmits less than any other" in explained.stdout
    assert "per delivered bit (next row) the order is computed again" in " ".join(explained.stdout.split())
    assert "why:" not in plain.stdout
