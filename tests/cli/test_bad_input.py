# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Bad input: exit code 2 and a message with place, error and alternatives, before any run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import ROOT, SMALL, Cli, command

SKY = (ROOT / "scenarios/leo/london-new-york.toml").read_text(encoding="utf-8")

# (base text, override, words in the message)
SPOILS = [
    (SMALL, "run.duratoin=5 s", ["unknown key", "did you mean"]),
    (SMALL, "run.duration=5", ["no unit"]),
    (SMALL, "extends=other.toml", ["set it in the file"]),
    (SMALL, "run.duration=1e9 s", ["largest allowed"]),
    (SMALL, "port.bottleneck.rate=0 bit", ["zero"]),
    (SMALL, "port.bottleneck.rate=-5 Mbit", ["negative"]),
    (SMALL, "link.bottleneck.rate=50MB", ["Mbit"]),
    (SMALL, "port.bottleneck.queue=0 packets", ["no capacity"]),
    (SMALL, "port.nowhere.queue=5 packets", ["no such port"]),
    (SMALL, "source.dumbbell.pairs=1.5", ["source.dumbbell.pairs", "an integer from 1"]),
    (SMALL, 'change=[{at="1 s", rate="1 Mbit", on="r9"}]', ["change.on", 'no such bottleneck: "r9"']),
    (SMALL, "source.dumbbell.loss=nan", ["finite"]),
    (SMALL, "flow.0.start=3 s", ["after the end"]),
    (SMALL, "flow.0.count=10000000", ["100000"]),
    (SMALL, 'flow=[{from="s1", to="d9"}]', ["d9"]),
    (SMALL, "run.cc=[]", ["empty"]),
    (SKY, "node.london.place=Lodnon", ["did you mean", "London"]),
    (SKY, "node.new-york.lat=91", ["node.new-york.lat"]),
    (SKY, "source.constellation.tle=nowhere.tle", ["cannot read"]),
    (SKY, "source.constellation.mask=89.9 deg", ["sees no satellite"]),
    (SKY, "source.constellation.start=yesterday", ["start"]),
]


@pytest.mark.parametrize(("text", "override", "words"), SPOILS, ids=[s[1] for s in SPOILS])
def test_a_spoiled_scenario_is_refused(cli: Cli, tmp_path: Path, text: str, override: str, words: list[str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text, encoding="utf-8")
    for verb in (["check", path], ["run", path, "--out", "out"]):
        done = cli(*verb, "--set", override)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        for word in words:
            assert word in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_a_person_means_is_understood(cli: Cli, small: Path) -> None:
    for override in ("source.dumbbell.pairs=1e0", 'port."r1->r2".rate=5 Mbit', "run.cc=all"):
        done = cli("check", small, "--set", override)
        assert done.returncode == 0, done.stderr
    assert "Mbit/s" in done.stdout
    assert f"{len(perigee.schemes()) - 1} runs" in done.stdout  # all but the scheme that needs a file


@pytest.mark.parametrize("words", [["--set", "title=\udcff"], ["--out", "r\udcff"]], ids=["set", "out"])
def test_what_is_not_utf_8_is_said_in_a_line(cli: Cli, small: Path, words: list[str]) -> None:
    done = cli("run", small, *words)
    assert done.returncode == 2, done.stderr
    assert f"perigee: {words[1]!r} is not UTF-8" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_a_device_is_no_scenario(cli: Cli) -> None:
    done = cli("check", "/dev/zero")
    assert done.returncode == 2
    assert "cannot read /dev/zero: it is a device" in done.stderr


def test_the_line_of_a_mistake_is_named(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SMALL.replace("10 Mbit", "10 Mbyte"), encoding="utf-8")
    done = cli("check", path)
    line = 1 + SMALL[: SMALL.index("10 Mbit")].count("\n")
    assert f"s.toml:{line}: port.bottleneck.rate" in done.stderr
    problems = json.loads(cli("check", path, "--json").stdout)["problems"]
    assert problems[0]["line"] == line
    assert problems[0]["found"] == '"10 Mbyte"'


@pytest.mark.parametrize("content", ["", "1 25544U 98067A\n", "garbage\n" * 10, "\x00\x01\x02"])
def test_damaged_element_sets_are_refused(cli: Cli, tmp_path: Path, content: str) -> None:
    path, tle = tmp_path / "s.toml", tmp_path / "x.tle"
    path.write_text(SKY, encoding="utf-8")
    tle.write_text(content, encoding="utf-8")
    done = cli("check", path, "--tle", tle)
    assert done.returncode == 2, done.stderr
    assert "x.tle" in done.stderr


def test_a_truncated_path_log_is_refused_with_its_line(cli: Cli, tmp_path: Path) -> None:
    log = (ROOT / "scenarios/studies/leo-cc/data/starlink-sd-ny-isl-120s.log").read_text(encoding="utf-8")
    cut = tmp_path / "cut.log"
    cut.write_text(log[:2000], encoding="utf-8")
    done = cli("check", ROOT / "scenarios/leo/path-log.toml", "--set", f"source.path_log.file={cut}")
    assert done.returncode == 2
    assert "line" in done.stderr


def test_unknown_files_commands_and_schemes_are_bad_input(cli: Cli, small: Path) -> None:
    assert cli("run", "nowhere.toml").returncode == 2
    assert cli("run", small, "--cc", "cubci").returncode == 2
    assert cli("rnu", small).returncode == 2
    assert cli("report", "nowhere").returncode == 2
    assert cli("compare", "nowhere", "nowhere").returncode == 2
    assert cli("bench", "nothing").returncode == 2
    assert "less than or equal to 1024" in cli("run", small, "--threads", "1025").stderr
    assert "needs numbers of threads" in cli("bench", "--threads", "1,x").stderr
    assert "from 1 to 1024" in cli("bench", "--threads", "0").stderr
    assert "no such case" in cli("bench", "nothing", "--threads", "2").stderr


def test_a_bad_scenario_costs_no_earlier_results_even_with_force(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--out", "out").returncode == 0
    before = {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    done = cli("run", small, "--out", "out", "--force", "--set", "port.nowhere.rate=1 Mbit")
    assert done.returncode == 2
    assert {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_folder_that_cannot_be_written_to_is_refused_before_the_run(
    cli: Cli, small: Path, tmp_path: Path, out: str
) -> None:
    (tmp_path / "file").write_text("here already", encoding="utf-8")
    done = cli("run", small, "--out", out, "--force")
    assert done.returncode == 2
    assert "cannot write to" in done.stderr
    assert (tmp_path / "file").read_text(encoding="utf-8") == "here already"


@pytest.mark.parametrize("manifest", ["[]", '{"tables": 5, "cc": 7}', '{"tables": {}, "cc": "cubic"}', "\x00"])
def test_what_only_looks_like_a_manifest_is_refused(cli: Cli, tmp_path: Path, manifest: str) -> None:
    folder = tmp_path / "out" / "cubic" / "seed1"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    for words in (["verify", "out"], ["report", "out"], ["compare", "out", "out"]):
        done = cli(*words)
        assert done.returncode == 2, done.stderr
        assert "manifest" in done.stderr or "record" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_closed_stdout_is_no_traceback(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--out", "o", "--no-report").returncode == 0
    words = ["sh", "-c", 'exec "$@" >&-', "sh", *command("results", "o")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
