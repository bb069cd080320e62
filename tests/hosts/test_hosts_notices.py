# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Notices of handovers for programs on real hosts, end to end. Needs a kernel (`make kernel`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from perigee_lab.results.record import run_folder
from real_hosts import real

SCENARIO = """\
[run]
duration = "4 s"
cc = ["cubic"]
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[notices]
lead = "300 ms"
hold = "400 ms"
[[change]]
at = "2 s"
outage = "100 ms"
[[flow]]
name = "carrier"
app = "programs"
[[flow]]
name = "bulk"
[[program]]
node = "s1"
command = ["python3", "listen.py"]
[[program]]
node = "s1"
command = ["python3", "follow.py"]
namespace = "first"
"""
NOW = "now = lambda: round((time.clock_gettime(time.CLOCK_MONOTONIC) - 4) * 1e9)\n"
LISTEN = f"""\
import socket, time
{NOW}
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
for _ in range(4):
    line = s.recv(1500).decode()
    print(now(), line, end="", flush=True)
"""
FOLLOW = """\
import os, time
print("sees", *os.listdir("/proc/self/net/dev_snmp6"))
with open("/run/perigee/notices") as f:
    end = time.monotonic() + 3
    while time.monotonic() < end:
        print(f.readline(), end="", flush=True)
        time.sleep(0.05)
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "notices.toml"
    path.write_text(SCENARIO)
    (tmp_path / "listen.py").write_text(LISTEN)
    (tmp_path / "follow.py").write_text(FOLLOW)
    return path


def output(out: Path, word: str) -> list[str]:
    folder = run_folder(out, "cubic", 1) / "programs"
    text = [f.read_text() for f in sorted(folder.rglob("*")) if f.is_file() and f.suffix != ".json"]
    found = [t for t in text if word in t]
    assert len(found) == 1, text
    return found[0].splitlines()


def notices(lines: list[str]) -> list[dict[str, Any]]:
    """The notices of one of the two flows."""
    return [n for n in (json.loads(line[line.index("{") :]) for line in lines if "{" in line) if n["flow"] == "carrier"]


@real
def test_programs_hear_of_handovers_in_virtual_time(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    done = cli("run", scenario, "--backend", "linux", "--trust", "--no-report", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    heard = output(tmp_path / "out", " {")
    begin = {"t_ns": 1_700_000_000, "node": "s1", "flow": "carrier", "event": "begin", "until_ns": 2_100_000_000}
    end = {"t_ns": 2_100_000_000, "node": "s1", "flow": "carrier", "event": "end"}
    assert notices(heard) == [begin, end]
    # Notices arrive at the times that they state, whatever the load from the bulk transfer on the
    # host.
    for line in heard:
        t_ns = json.loads(line[line.index("{") :])["t_ns"]
        assert int(line.split()[0]) == pytest.approx(t_ns, abs=100_000)
    followed = output(tmp_path / "out", "sees")
    # The program runs in the first namespace, with a file that also has the notices of the other
    # end.
    assert [n for n in notices(followed) if n["node"] == "s1"] == [begin, end]
    assert len(notices(followed)) == 4
    done = cli("verify", tmp_path / "out", "--trust")
    assert done.returncode == 0, done.stdout


@real
def test_lost_notices_reach_nobody(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO.replace("[notices]", "[notices]\nloss = 1"))
    cli("run", scenario, "--backend", "linux", "--trust", "--no-report", "--out", tmp_path / "out")
    assert notices(output(tmp_path / "out", "sees")) == []


@real
def test_an_error_moves_what_programs_are_told(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    begun = {}
    for error in ("50 ms", "uniform(10 ms, 90 ms)"):
        scenario.write_text(SCENARIO.replace("[notices]", f'[notices]\nerror = "{error}"'))
        out = tmp_path / error.partition("(")[0].replace(" ", "")
        done = cli("run", scenario, "--backend", "linux", "--trust", "--no-report", "--out", out)
        assert done.returncode == 0, done.stderr
        lines = [line for line in output(out, " {") if '"flow":"carrier"' in line]
        [begin, end] = [json.loads(line[line.index("{") :]) for line in lines]
        # They also arrive at that wrong time, and the end is as far from it as announced.
        assert [int(line.split()[0]) for line in lines] == pytest.approx([begin["t_ns"], end["t_ns"]], abs=100_000)
        assert end["t_ns"] == begin["until_ns"] == begin["t_ns"] + 400_000_000
        begun[error] = begin["t_ns"] - 1_700_000_000
    assert begun["50 ms"] == 50_000_000
    assert 10_000_000 <= begun["uniform(10 ms, 90 ms)"] <= 90_000_000
    assert begun["uniform(10 ms, 90 ms)"] != 50_000_000
