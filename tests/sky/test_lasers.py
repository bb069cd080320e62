# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Losses of pointing of inter-satellite links, and failed lasers, from the scenario to the record."""

from __future__ import annotations

from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli

SKY = """
title = "lasers that lose their pointing"
[run]
duration = "60 s"
[source.constellation]
preset = "starlink-shell1"
KEYS
[handover]
outage = "0 s"
[node.london]
place = "London"
[node.new-york]
place = "New York"
[port.isl]
rate = "1 Gbit"
queue = "100 packets"
[port.ground]
rate = "100 Mbit"
queue = "100 packets"
[[flow]]
from = "london"
to = "new-york"
app = "cbr"
rate = "4 Mbit"
"""


def totals(keys: str, seed: int = 1) -> dict[str, float]:
    run = perigee.run(perigee.loads(SKY.replace("KEYS", keys)), seed=seed)
    [row] = run.table("flow_totals").to_pylist()
    found: dict[str, float] = row
    return found


def test_what_is_on_a_laser_that_loses_its_pointing_is_lost() -> None:
    always, often = totals(""), totals('isl_pointing_every = "60 s"\nisl_acquisition = "10 s"')
    sent = often["sent_packets"]
    # Some six links, each lost once in 70 s, for up to a step of 100 ms and the light time: 0.1 to 1 %.
    more = often["drops_outage"] - always["drops_outage"]
    assert 0.0003 * sent < more < 0.03 * sent, f"{more} of {sent} packets"
    assert often["path_changes"] > always["path_changes"]
    assert totals('isl_pointing_every = "60 s"\nisl_acquisition = "10 s"') == often, "the same seed"
    other = totals('isl_pointing_every = "60 s"\nisl_acquisition = "10 s"', seed=2)
    assert other["drops_outage"] != often["drops_outage"], "another seed"


def test_failed_lasers_lengthen_the_path() -> None:
    def rtt_ms(keys: str) -> float:
        row = totals(keys)
        return row["base_rtt_sum_ns"] / row["routed_ns"]

    assert rtt_ms('isl_failed = "30 %"') > 1.02 * rtt_ms("")
    assert rtt_ms('isl_failure_every = "30 s"') > 1.02 * rtt_ms("")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('isls = "none"\nisl_pointing_every = "60 s"', ["isl_pointing_every", "no effect"]),
        ('isls = "none"\nisl_failed = "2 %"', ["isl_failed", "no effect"]),
        ('isls = "none"\nisl_failure_every = "1 h"', ["isl_failure_every", "no effect"]),
        ('isl_acquisition = "10 s"', ["isl_acquisition", "no effect without isl_pointing_every"]),
        ('isl_pointing_every = "60 s"\nisl_acquisition = "0 s"', ["isl_acquisition", "above zero"]),
        ('isl_pointing_every = "1 s"', ["isl_pointing_every", "10 s"]),
    ],
)
def test_keys_without_effect_are_rejected(cli: Cli, tmp_path: Path, keys: str, words: list[str]) -> None:
    file = tmp_path / "sky.toml"
    file.write_text(SKY.replace("KEYS", keys), encoding="utf-8")
    done = cli("check", str(file))
    assert done.returncode == 2
    assert all(word in done.stderr for word in words), done.stderr
