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


LOSSES = 'isl_pointing_every = "10 s"\nisl_acquisition = "1 s"'


def totals(keys: str, seed: int = 1, text: str = SKY) -> dict[str, float]:
    run = perigee.run(perigee.loads(text.replace("KEYS", keys)), seed=seed)
    [row] = run.table("flow_totals").to_pylist()
    found: dict[str, float] = row
    return found


def test_what_is_on_a_laser_that_loses_its_pointing_is_lost() -> None:
    always, often = totals(""), totals(LOSSES)
    # Three or four links, each lost every 11 s: some 19 losses in 60 s. Each loses what arrives until the
    # next step, 50 ms in the mean, and what is on the way to it: 333 packets a second.
    more = often["drops_outage"] - always["drops_outage"]
    assert 150 < more < 1000, f"{more} of {often['sent_packets']} packets"
    assert often["path_changes"] - always["path_changes"] > 15, "away from the link, and back"
    assert totals(LOSSES) == often, "the same seed"
    assert totals(LOSSES, seed=2)["drops_outage"] != often["drops_outage"], "another seed"


def test_failed_lasers_lengthen_the_path() -> None:
    pings = SKY.replace('app = "cbr"\nrate = "4 Mbit"', 'app = "ping"')

    def rtt_ms(keys: str) -> float:
        row = totals(keys, text=pings)
        return row["rtt_sum_ns"] / row["rtt_samples"]

    assert rtt_ms('isl_failed = "40 %"') > 1.02 * rtt_ms("")
    assert totals("", text=pings)["unreachable"] == 0
    assert totals('isl_failure_every = "20 s"', text=pings)["unreachable"] > 0, "in the end no path is left"


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


def test_faults_without_lasers_are_refused(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "sky.toml"
    file.write_text(SKY.replace("KEYS", "isl_failed = 0.5").replace("starlink-shell1", "oneweb"))
    found = cli("check", file)
    assert found.returncode == 2
    assert "no inter-satellite links, so that faults of lasers (isl_failed" in found.stderr


@pytest.mark.slow
def test_a_seed_whose_failed_lasers_cut_the_only_pair_has_a_record_with_the_reason(cli: Cli, tmp_path: Path) -> None:
    """Such a seed does not end a sweep, and the others have their results."""
    file = tmp_path / "sky.toml"
    file.write_text(SKY.replace("KEYS", "isl_failed = 0"))
    found = cli("sweep", file, "--set", "source.constellation.isl_failed=0,1", "--out", tmp_path / "out")
    assert found.returncode == 0, found.stderr
    rows = perigee.open_sweep(tmp_path / "out").frame()
    assert sorted(rows["source.constellation.isl_failed"].astype(float)) == [0.0, 1.0]
    file.write_text(SKY.replace("KEYS", "isl_failed = 1"))
    run = perigee.load(file).run(seed=1)
    [row] = run.table("flow_totals").to_pylist()
    assert row["goodput_bytes"] == 0
    reason = "faults of lasers (isl_failed, isl_failure_every, isl_pointing_every) cut it with this seed"
    assert any(reason in w for w in run.manifest["warnings"]), run.manifest["warnings"]
    done = cli("check", file)
    assert done.returncode == 0
    assert reason in done.stdout + done.stderr
