# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Several kernels in one run, end to end. Needs a kernel (`make kernel`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.results.run import Run
from real_hosts import SCENARIO, real, record, scenario, totals

__all__ = ["scenario"]

OWN = ("--set", 'hosts.kernel="own"')


def hashes(run: Run) -> dict[str, str]:
    return {table: known.sha256 for table, known in run.manifest.tables.items()}


@pytest.mark.slow
@real
@pytest.mark.parametrize(("cc", "seconds"), [("cubic", 4), ("bbr", 30)])
def test_a_kernel_for_each_host_and_one_for_all_agree(
    cli: Cli, scenario: Path, tmp_path: Path, cc: str, seconds: int
) -> None:
    # Each kernel draws the phases of BBR's cycle, so that means agree only over many of them.
    duration = ("--set", f"run.duration={seconds}s")
    asked = ("run", scenario, "--cc", cc, "--backend", "linux", "--no-report", *duration, "--out")
    for out, more in (("shared", ()), ("own", OWN), ("again", OWN)):
        done = cli(*asked, tmp_path / out, *more)
        assert done.returncode == 0, done.stderr
    shared, own, again = (record(tmp_path / out, cc) for out in ("shared", "own", "again"))
    assert hashes(own) == hashes(again)
    assert hashes(own) != hashes(shared), "kernels draw their own sequence numbers"
    assert own.manifest.conserved
    one, other = totals(shared), totals(own)
    for key in ("goodput_bytes", "window_bytes"):
        assert other[key] == pytest.approx(one[key], rel=0.001), key
    assert other["retransmits"] == pytest.approx(one["retransmits"], rel=0.1, abs=3)
    assert other["rtt_sum_ns"] / other["rtt_samples"] == pytest.approx(
        one["rtt_sum_ns"] / one["rtt_samples"], rel=0.001
    )
    # Arriving data is counted by the kernel itself within one kernel, and from packets between two
    # kernels.
    rows = [{r["t_ns"]: r["delivered_bytes"] for r in run.table("flows").to_pylist()} for run in (shared, own)]
    assert rows[1][1_000_000_000] == pytest.approx(rows[0][1_000_000_000], rel=0.002)


@real
def test_limited_transfers_between_kernels_complete(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO + 'bytes = "1 MB"\n')
    asked = ("run", scenario, "--cc", "cubic", "--backend", "linux", "--no-report", "--out")
    cli(*asked, tmp_path / "shared")
    cli(*asked, tmp_path / "own", *OWN)
    one, other = (totals(record(tmp_path / out, "cubic")) for out in ("shared", "own"))
    assert other["goodput_bytes"] == one["goodput_bytes"] == 1_000_000
    assert other["completed_ns"] == pytest.approx(one["completed_ns"], rel=0.002)


@pytest.mark.slow
@real
def test_more_hosts_than_a_kernel_takes_have_several(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "many.toml"
    many = SCENARIO.replace("20 Mbit", "500 Mbit").replace("4 s", "600 ms").replace("1 s", "0 s")
    path.write_text(many.replace('rtt = "20 ms"', 'rtt = "20 ms"\npairs = 25'))
    done = cli("run", path, "--cc", "cubic", "--backend", "linux", "--no-report", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    run = record(tmp_path / "out", "cubic")
    flows = run.table("flow_totals").to_pylist()
    assert len({end for f in flows for end in (f["from"], f["to"])}) == 50
    assert all(f["goodput_bytes"] > 0 for f in flows)
    assert run.manifest.conserved


@real
def test_too_many_kernels_are_refused(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "many.toml"
    path.write_text(SCENARIO.replace('rtt = "20 ms"', 'rtt = "20 ms"\npairs = 33'))
    done = cli("run", path, "--cc", "cubic", "--backend", "linux", *OWN)
    assert done.returncode == 2
    assert "64 at most" in done.stderr
    done = cli("check", path, "--set", 'hosts.kernel="mine"')
    assert done.returncode == 2
    assert all(word in done.stderr for word in ("mine", "shared", "own")), done.stderr
