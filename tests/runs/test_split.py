# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Flows that are split at proxies, from the scenario file to the record and the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import perigee_lab as perigee

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

PATH = """
[run]
duration = "30 s"
[source.dumbbell]
rtt = "600 ms"
rtt_at = "access"
bottleneck_delay = "290 ms"
[port.all]
queue = "20000 packets"
[port.bottleneck]
rate = "50 Mbit"
[[flow]]
name = "load"
from = "s1"
to = "d1"
cc = "*"
{}
"""
VIA = 'via = ["r1", "r2"]\nvia_cc = ["*", "hybla", "cubic"]\nvia_buffer = "8 MB"\n'


def test_the_record_shows_every_leg_and_what_arrives() -> None:
    run = perigee.loads(PATH.format(VIA + 'bytes = "20 MB"')).run(cc="bbr")
    assert run.manifest["conserved"]
    assert run.manifest["splits"] == [
        {
            "flow": "load",
            "legs": [0, 1, 2],
            "via": ["r1", "r2"],
            "buffer_bytes": 8_000_000,
            "spoof": True,
            "standing": False,
        }
    ]
    totals = run.to_pandas("flow_totals")
    assert list(totals["name"]) == ["load leg 1", "load leg 2", "load leg 3"]
    assert list(totals["cc"]) == ["bbr", "hybla", "cubic"]
    assert list(zip(totals["from"], totals["to"], strict=True)) == [("s1", "r1"), ("r1", "r2"), ("r2", "d1")]
    assert set(totals["goodput_bytes"]) == {20_000_000}
    done = run.to_pandas("completions")
    assert list(done["flow"]) == [2]
    assert done["asked_ns"][0] == 0
    # The sum counts only the data that arrives at the receiver, once.
    last = totals.iloc[2]
    assert run.summary["goodput_mbps"] == pytest.approx(last["window_bytes"] * 8e3 / last["window_ns"])


def test_a_proxy_speeds_a_long_path_up() -> None:
    times = {}
    for name, more in (("whole", ""), ("split", VIA)):
        run = perigee.loads(PATH.format(more + 'bytes = "2 MB"')).run(cc="cubic")
        row = run.to_pandas("completions").iloc[0]
        times[name] = (row["done_ns"] - row["asked_ns"]) / 1e9
    assert times["split"] < 0.6 * times["whole"]


def test_copies_have_their_own_legs() -> None:
    run = perigee.loads(PATH.format(VIA + 'count = 2\nstagger = "1 s"')).run(cc="cubic")
    totals = run.to_pandas("flow_totals")
    assert list(totals["name"])[3] == "load.2 leg 1"
    assert totals["started_ns"][3] == 1_000_000_000
    assert [s["legs"] for s in run.manifest["splits"]] == [[0, 1, 2], [3, 4, 5]]
    assert run.summary["jain"] <= 1
    assert run.summary["goodput_mbps"] < 50


def test_gateways_of_a_constellation_split_flows_too() -> None:
    text = """
[run]
duration = "20 s"
[source.constellation]
preset = "starlink-shell1"
[port.all]
rate = "50 Mbit"
[node.London]
place = "London"
[node.Montreal]
place = "Montreal"
[node."New York"]
place = "New York"
[[flow]]
from = "London"
to = "New York"
via = "Montreal"
cc = "cubic"
"""
    run = perigee.loads(text).run()
    totals = run.to_pandas("flow_totals")
    assert list(totals["from"]) == ["London", "Montreal"]
    assert 0 < totals["goodput_bytes"][1] <= totals["goodput_bytes"][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('via_buffer = "1 MB"', "no effect without via"),
        ('via = "r1"\nvia_cc = ["cubic", "bbr", "cubic"]', "3 congestion controls for 2 legs"),
        ('via = ["r1", "r1"]', "passes each node once"),
        ('via = ["r2", "r1"]', "has no pair from"),
        ('via = "r9"', "r9"),
        ('via = "r1"\napp = "ping"', 'belongs to app = "bulk"'),
    ],
)
def test_what_cannot_be_split_is_refused(cli: Cli, tmp_path: Path, more: str, words: str) -> None:
    (tmp_path / "s.toml").write_text(PATH.format(more), encoding="utf-8")
    done = cli("run", "s.toml", "--cc", "cubic")
    assert done.returncode == 2
    assert words in done.stderr
    assert "s.toml:" in done.stderr


@pytest.mark.slow
def test_the_manifest_is_json_on_disk(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PATH.format(VIA), encoding="utf-8")
    done = cli("run", "s.toml", "--cc", "cubic", "--out", "o")
    assert done.returncode == 0, done.stderr
    manifest = next((tmp_path / "o").rglob("manifest.json"))
    assert json.loads(manifest.read_text(encoding="utf-8"))["splits"][0]["legs"] == [0, 1, 2]
    assert cli("report", "o").returncode == 0
