# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Timelines: saved, plotted and replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import ROOT, SMALL, Cli

SKY = (ROOT / "scenarios/leo/london-new-york.toml").read_text(encoding="utf-8").replace('"300 s"', '"3 s"')
CHANGING = SMALL + '[schedule]\nevery = "1 s"\nrate = "uniform(5 Mbit, 9 Mbit)"\noutage = "60 ms"\n'
REPLAY = '[run]\nduration = "3 s"\n[source.timeline]\nfile = "t.jsonl"\n[[flow]]\ncc = "cubic"\n'


@pytest.mark.parametrize("text", [SMALL, CHANGING, SKY], ids=["small", "changing", "sky"])
def test_a_replay_carries_the_same_packets(tmp_path: Path, text: str) -> None:
    made = perigee.loads(text)
    made.timeline().save(tmp_path / "t.jsonl")
    again = perigee.loads(REPLAY, folder=tmp_path)
    assert again.run().hashes() == made.run(cc="cubic").hashes()


def test_what_a_pair_sees(tmp_path: Path) -> None:
    timeline = perigee.loads(CHANGING).timeline()
    assert timeline.pairs == [("s1", "d1")]
    seen = timeline.pair(0)
    assert seen.base_rtt_ms == pytest.approx(30.0)
    assert [begin for begin, _ in seen.outages_s] == pytest.approx([0.0, 1.0, 2.0])
    assert ((seen.rate_mbps[1:] >= 5.0) & (seen.rate_mbps[1:] <= 9.0)).all()
    timeline.plot().savefig(tmp_path / "t.png")


@pytest.mark.slow
def test_the_command_saves_plots_and_refuses_to_overwrite(cli: Cli, small: Path, tmp_path: Path) -> None:
    done = cli("timeline", small, "--out", "t.jsonl", "--plot", "t.png", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["duration_ns"] == 3e9
    assert json.loads(cli("timeline", "t.jsonl", "--json").stdout) == facts
    before = (tmp_path / "t.jsonl").read_bytes()
    assert cli("timeline", small, "--out", "t.jsonl", "--set", "run.duration=2 s").returncode == 2
    assert (tmp_path / "t.jsonl").read_bytes() == before
    assert cli("timeline", small, "--out", "nowhere/t.jsonl").returncode == 2
    assert not list(tmp_path.glob("*.partial"))


def _spoil(lines: list[str], how: str) -> str:
    if how == "cut":
        return "\n".join(lines)[:-20]
    if how == "short":
        return lines[0]
    return "\n".join(lines).replace('"to":1', '"to":999', 1)


@pytest.mark.parametrize("how", ["cut", "short", "stranger"])
def test_damaged_files_are_refused(cli: Cli, tmp_path: Path, how: str) -> None:
    perigee.loads(SMALL).timeline().save(tmp_path / "good.jsonl")
    lines = (tmp_path / "good.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "t.jsonl").write_text(_spoil(lines, how), encoding="utf-8")
    (tmp_path / "replay.toml").write_text(REPLAY, encoding="utf-8")
    for words in (["timeline", "t.jsonl"], ["check", "replay.toml"]):
        done = cli(*words)
        assert done.returncode == 2, done.stdout
        assert "t.jsonl" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_replay_must_not_be_longer_than_its_timeline(cli: Cli, tmp_path: Path) -> None:
    perigee.loads(SMALL).timeline().save(tmp_path / "t.jsonl")
    (tmp_path / "replay.toml").write_text(REPLAY, encoding="utf-8")
    assert "at least 4 s" in cli("check", "replay.toml", "--set", "run.duration=4 s").stderr
    assert cli("check", "replay.toml", "--set", "run.duration=2 s").returncode == 0
    assert "contains its ports" in cli("check", "replay.toml", "--set", "port.all.rate=1 Mbit").stderr
