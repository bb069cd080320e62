# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Interfaces of real hosts, which lose their carrier during outages.

Skipped if no kernel is built (`make kernel`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import open_record
from real_hosts import SCENARIO, real

OUTAGES = """
[[change]]
at = "1 s"
outage = "200 ms"
[[change]]
at = "2.5 s"
outage = "300 ms"
"""
# Prints times in simulated ms at which the interface gains or loses its carrier (IFF_RUNNING of
# netdevice(7)).
WATCH = """
import fcntl, socket, struct, time
made, before = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), None
[name] = [name.encode() for _, name in socket.if_nameindex() if name != "lo"]
while (now := time.monotonic() - 4) < 3.5:
    [flags] = struct.unpack_from("H", fcntl.ioctl(made, 0x8913, struct.pack("16s24x", name)), 16)
    if (flags & 64) != before:
        before = flags & 64
        print("up" if before else "down", round(now * 1000))
    time.sleep(0.002)
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "real.toml"
    path.write_text(SCENARIO + OUTAGES + '[hosts]\ncarrier = "s1"\n')
    (tmp_path / "watch.py").write_text(WATCH)
    return path


@pytest.mark.slow
@real
def test_an_interface_has_no_carrier_while_an_outage_lasts(cli: Cli, scenario: Path) -> None:
    seen = {}
    for node in ("s1", "d1"):
        done = cli("exec", scenario, "--at", node, "--", "python3", "watch.py")
        assert done.returncode == 0, done.stderr
        words = [line.split() for line in done.stdout.splitlines()]
        seen[node] = [(word, int(ms)) for word, ms in words]
    (up, _), *changes = seen["s1"]
    assert (up, [word for word, _ in changes]) == ("up", ["down", "up", "down", "up"]), seen
    for (_, ms), expected in zip(changes, (1000, 1200, 2500, 2800), strict=True):
        # The program checks every 2 ms; Linux may report a loss up to a second late, if it follows
        # another change.
        assert expected <= ms <= expected + 10, seen
    # Loss of the carrier was not requested for the other host.
    assert [word for word, _ in seen["d1"]] == ["up"]


@real
def test_a_flow_goes_on_after_its_host_had_no_carrier(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    tables = []
    for out in ("first", "second"):
        words = ("run", scenario, "--backend", "linux", "--cc", "cubic", "--no-report", "--out", tmp_path / out)
        assert cli(*words).returncode == 0
        run = open_record(run_folder(tmp_path / out, "cubic", 1))
        tables.append(run.manifest.tables)
        assert run.manifest.warnings == ()
    assert tables[0] == tables[1]
    delivered = {row["t_ns"]: row["delivered_bytes"] for row in run.table("flows").to_pylist()}
    assert delivered[1_200_000_000] - delivered[1_100_000_000] == 0
    assert delivered[4_000_000_000] - delivered[3_500_000_000] > 500_000


@real
def test_a_carrier_that_stays_is_told_and_one_of_nobody_refused(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    words = ("run", scenario, "--backend", "linux", "--cc", "cubic", "--no-report", "--out", tmp_path / "out")
    scenario.write_text(SCENARIO + '[hosts]\ncarrier = "s1"\n')
    assert cli(*words).returncode == 0
    [warning] = open_record(run_folder(tmp_path / "out", "cubic", 1)).manifest.warnings
    assert warning == "hosts.carrier names s1, which had no outage in this run"
    scenario.write_text(SCENARIO + '[hosts]\ncarrier = ["s1", "mars"]\n')
    done = cli(*words)
    assert (done.returncode, "hosts.carrier" in done.stderr) == (2, True), done.stderr
    assert "'mars'" in done.stderr or '"mars"' in done.stderr
