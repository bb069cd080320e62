# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ports with demand-assigned capacity (DAMA), from the scenario file to RTTs."""

from __future__ import annotations

from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli
from real_hosts import SCENARIO, real, record, scenario, totals

__all__ = ["scenario"]

NETWORK = """
[run]
duration = "20 s"
[source.dumbbell]
rtt = "540 ms"
rtt_at = "bottleneck"
[port.bottleneck]
rate = "20 Mbit"
queue = "4 MB"
[port.reverse]
rate = "2 Mbit"
queue = "1 MB"
"""
PINGS = '[[flow]]\napp = "ping"\ninterval = "1 s"\nsize = 48\n'
ASKS = 'dama_delay = "600 ms"\n'


def rtts_ms(port: str) -> list[float]:
    """RTTs of pings."""
    run = perigee.loads(f"{NETWORK}{port}{PINGS}").run(seed=1)
    assert run.manifest["conserved"]
    rtt = run.to_pandas("flows")["rtt_ns"].dropna()
    return list(rtt / 1e6)


def test_pings_wait_for_a_grant_unless_some_capacity_is_constant_or_free() -> None:
    plain, asked = rtts_ms(""), rtts_ms(ASKS)
    # At most one frame until the request, and 23 frames of 26.5 ms until the grant.
    assert all(23 * 26.5 - 1 <= a - p <= 24 * 26.5 + 1 for p, a in zip(plain, asked, strict=False))
    for unasked in ('dama_cra = "64 kbit"\n', 'dama_fca = "64 kbit"\n'):
        assert max(rtts_ms(ASKS + unasked)) < max(plain) + 27


def test_a_download_takes_longer_to_start_and_ends_with_the_same_rate() -> None:
    bulk = '[[flow]]\ncc = "cubic"\nbytes = "30 MB"\n'
    runs = [perigee.loads(f"{NETWORK}{port}{bulk}").run(cc="cubic", seed=1) for port in ("", ASKS)]
    first = [r.to_pandas("flows").query("t_ns == 5_000_000_000")["delivered_bytes"].iloc[0] for r in runs]
    assert first[1] < first[0] / 4, "in slow start a round trip is twice as long"
    port = next(p for p in runs[1].manifest["ports"] if p["name"] == "r2->r1")
    assert port["dama"] == {
        "delay_ns": 600_000_000, "frame_ns": 26_500_000, "cra_bps": 0, "rbdc_bps": 0, "fca_bps": 0,
    }  # fmt: skip
    assert "dama" not in next(p for p in runs[0].manifest["ports"] if p["name"] == "r2->r1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ('dama_rbdc = "1 Mbit"', "set dama_delay"),
        (f'{ASKS}burst = "10 kB"', "remove dama_delay"),
        (f"{ASKS}dama_by_volume = false", "no category"),
        ('dama_delay = "0 s"', "from 1 ms to 60 s"),
        (f"{ASKS}dama_by_volume = false", "remove dama_by_volume = false"),
        (f'{ASKS}dama_cra = "300 bit"', "less than one byte per frame"),
        (f'{ASKS}dama_cra = "3 Mbit"', "exceeds the rate of the port"),
    ],
)
def test_what_has_no_effect_is_refused(keys: str, word: str, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "asks.toml"
    file.write_text(f"{NETWORK}{keys}\n{PINGS}")
    done = cli("check", file)
    assert done.returncode == 2, done.stdout + done.stderr
    assert word in done.stderr, done.stderr


def test_a_saved_timeline_keeps_the_requests(tmp_path: Path) -> None:
    asks = perigee.loads(f'{NETWORK}{ASKS}dama_cra = "1 kbit"\n{PINGS}')
    asks.timeline().save(tmp_path / "t.jsonl")
    replay = '[run]\nduration = "20 s"\n[source.timeline]\nfile = "t.jsonl"\n'
    (tmp_path / "replay.toml").write_text(replay + PINGS)
    again = perigee.load(tmp_path / "replay.toml").run(seed=1)
    first = asks.run(seed=1)
    columns = ["t_ns", "rtt_ns"]
    assert first.to_pandas("flows")[columns].equals(again.to_pandas("flows")[columns])
    damaged = (tmp_path / "t.jsonl").read_text().replace('"frame":26500000', '"frame":0')
    (tmp_path / "t.jsonl").write_text(damaged)
    with pytest.raises(perigee.ScenarioError, match="frame of 0 ns: 1 ms to 10 s"):
        perigee.load(tmp_path / "replay.toml").run(seed=1)


@pytest.mark.parametrize("what", ["tc", "mahimahi", "leoreplayer"])
def test_exports_say_what_they_cannot_carry(what: str, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "asks.toml"
    file.write_text(f"{NETWORK}{ASKS}{PINGS}".replace('queue = "4 MB"', 'queue = "4 MB"\ndiscipline = "codel"'))
    done = cli("export", what, file, tmp_path / "asks")
    assert done.returncode == 0, done.stderr
    assert f"{what} has no demand assignment: what r2->r1 waits" in done.stderr, done.stderr
    assert f"{what} has no queue discipline: codel of r1->r2" in done.stderr, done.stderr
    file.write_text(f"{NETWORK}{PINGS}")
    done = cli("export", what, file, tmp_path / "plain")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@real
def test_real_hosts_ask_too(scenario: Path, tmp_path: Path, cli: Cli) -> None:
    text = SCENARIO + 'bytes = "100 kB"\n[port.reverse]\ndama_delay = "200 ms"\n'
    scenario.write_text(text)
    both = ("run", scenario, "--cc", "cubic", "--no-report", "--out")
    done = cli(*both, tmp_path / "linux", "--backend", "linux")
    assert done.returncode == 0, done.stderr
    cli(*both, tmp_path / "simulated")
    mine, theirs = (totals(record(tmp_path / out, "cubic")) for out in ("linux", "simulated"))
    assert mine["completed_ns"] > 3 * 200e6
    assert mine["completed_ns"] == pytest.approx(theirs["completed_ns"], rel=0.02)
