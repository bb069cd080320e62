# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Python functions for satellites, paths and ISLs: working examples, and clear failures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import perigee_lab as perigee
from conftest import Cli

SKY = """
[run]
duration = "4 s"
[source.constellation]
preset = "starlink-shell1"
{keys}
[port.ground]
rate = "5 Mbit"
[node.london]
place = "London"
[node.new-york]
place = "New York"
[[flow]]
from = "london"
to = "new-york"
cc = "cubic"
"""

# The policy of ten lines from the guide.
TEN_LINES = '''
def choose(view):
    """Stay while the satellite is high, else take the highest northbound one."""
    held = [s for s in view.satellites if s.number == view.holding]
    if held and held[0].elevation_deg > 30:
        return held[0]
    northbound = [s for s in view.satellites if s.ascending]
    best = max(northbound or view.satellites, key=lambda s: s.elevation_deg, default=None)
    return best
'''


def write(folder: Path, keys: str, code: str) -> Path:
    (folder / "mine.py").write_text(code, encoding="utf-8")
    path = folder / "sky.toml"
    path.write_text(SKY.format(keys=keys), encoding="utf-8")
    return path


def test_a_policy_of_ten_lines_works_from_the_command_line(cli: Cli, tmp_path: Path) -> None:
    path = write(tmp_path, 'attach = "mine.py:choose"', TEN_LINES)
    done = cli("paths", path, "--trust", "--json")
    assert done.returncode == 0, done.stderr
    [pair] = json.loads(done.stdout)
    assert all(leg["hops"][end]["ascending"] for leg in pair["paths"] for end in (0, -1))
    done = cli("run", path, "--trust", "--out", "out")
    assert done.returncode == 0, done.stderr
    done = cli("verify", tmp_path / "out", "--trust")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_function_that_does_what_a_policy_does_gives_the_same_paths(tmp_path: Path) -> None:
    def nearest(view: perigee._core.AttachView) -> int:
        return min(view.satellites, key=lambda s: (s.range_km, s.number != view.holding)).number

    path = write(tmp_path, "", "")
    own = perigee.paths(perigee.load(path, attach=nearest))
    built_in = perigee.paths(perigee.load(path, attach="nearest"))
    assert own[0].rtt_ms.tolist() == built_in[0].rtt_ms.tolist()
    assert perigee.load(path, attach=nearest).run().summary["goodput_mbps"] > 0


def test_a_routing_function_may_take_the_second_of_disjoint_paths(tmp_path: Path) -> None:
    code = "def second(view):\n    return view.disjoint(2)[1]\n"
    station = 'route = "mine.py:second"'
    path = write(tmp_path, station, code)
    path.write_text(path.read_text().replace("[node.london]", '[node.london]\nkind = "station"'))
    path.write_text(path.read_text().replace("[node.new-york]", '[node.new-york]\nkind = "station"'))
    second = perigee.paths(perigee.load(path, trust=True))[0]
    first = perigee.paths(perigee.load(path, trust=True, route="shortest"))[0]
    assert (second.rtt_ms > first.rtt_ms).all()
    for a, b in zip(first.legs[:1], second.legs[:1], strict=True):
        assert a.hops is not None
        assert b.hops is not None
        assert {h["name"] for h in a.hops}.isdisjoint({h["name"] for h in b.hops})


def test_a_function_may_link_the_satellites(tmp_path: Path) -> None:
    code = """
def rings(view):
    "Every satellite to the next of its plane, and across to the same slot of the next plane: the grid, by hand."
    links = []
    for s in range(view.satellites):
        shell, plane, slot = view.place(s)
        links.append((s, plane * 22 + (slot + 1) % 22))
        links.append((s, (plane + 1) % 72 * 22 + slot))
    return links
"""
    path = write(tmp_path, 'isls = "mine.py:rings"', code)
    own = perigee.paths(perigee.load(path, trust=True))[0]
    grid = perigee.paths(perigee.load(path, trust=True, isls="grid"))[0]
    assert own.rtt_ms.tolist() == grid.rtt_ms.tolist()


@pytest.mark.parametrize(
    ("keys", "code", "says"),
    [
        ('attach = "mine.py:choose"', "x = 1\n", "defines no function choose"),
        ('attach = "mine.py:choose"', "def other(view): ...\n", "it defines other"),
        ('attach = "gone.py:choose"', "", "there is no file"),
        ('attach = "mine.py:choose"', "def choose(view)\n", "line 1"),
        ('attach = "mine.py:choose"', "def choose(view):\n    return 1 / 0\n", "ZeroDivisionError"),
        ('attach = "mine.py:choose"', "def choose(view):\n    return 99999\n", "satellite 99999, which does not exist"),
        ('attach = "mine.py:choose"', "def choose(view):\n    return 'a'\n", "it returned 'a'; expected a satellite"),
        (
            'attach = "mine.py:choose"',
            "def choose(view):\n    if view.t_s >= 2:\n        raise ValueError('late')\n    return view.satellites[0]"
            "\n",
            'mine.py:choose at 2.000 s, for "london": it raised ValueError: late (mine.py, line 3)',
        ),
        ('route = "mine.py:go"', "def go(view):\n    return [99999]\n", "there is no satellite 99999"),
        ('route = "mine.py:go"', "def go(view):\n    p = view.shortest\n    return [p[0], *p]\n", "is a loop"),
        (
            'route = "mine.py:go"',
            "def go(view):\n    p = view.shortest\n    return [p[0], p[-1]]\n",
            "there is no link",
        ),
        ('route = "mine.py:go"', "def go(view):\n    return [0]\n", "cannot use satellite 0"),
        ('route = "mine.py:go"\nrouting = "per-hop"', "def go(view):\n    return view.shortest\n", "per-path"),
        ('isls = "mine.py:go"', "def go(view):\n    return [(0, 5000)]\n", "a link from 0 to 5000"),
        ('attach = "highest"', "", "or a function"),
    ],
)
def test_what_is_wrong_is_said_with_the_simulated_time(
    cli: Cli, tmp_path: Path, keys: str, code: str, says: str
) -> None:
    done = cli("run", write(tmp_path, keys, code), "--trust", "--out", "out")
    assert done.returncode in (1, 2), done.stdout
    assert says in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_a_node_that_wants_no_satellite_is_a_gap_and_not_an_error(tmp_path: Path) -> None:
    def half(view: perigee._core.AttachView) -> object:
        return None if 1 <= view.t_s < 2 else view.satellites[0]

    [pair] = perigee.paths(perigee.load(write(tmp_path, "", ""), attach=half))
    gone = [t for t, rtt in zip(pair.t_s, pair.rtt_ms, strict=True) if np.isnan(rtt)]
    assert gone == [pytest.approx(1 + k / 10) for k in range(10)]


def test_functions_belong_to_their_keys(tmp_path: Path) -> None:
    with pytest.raises(perigee.PluginError, match="a function may be given for attach"):
        perigee.load(write(tmp_path, "", ""), run__duration=lambda view: None)


def test_a_program_that_ends_while_a_function_is_asked_ends_quietly(tmp_path: Path) -> None:
    """The timeline's thread, which is not joined, must not call an interpreter that has exited."""
    program = """
import sys, time
import perigee_lab as perigee

def slow(view):
    time.sleep(0.002)
    return view.satellites[0]

world = perigee.load(sys.argv[1], {"run.duration": "60 s"}, attach=slow).core.world(1)
_, _, stopped = world.run("cubic", progress=lambda now_ns: False)
assert stopped
"""
    path = write(tmp_path, 'attach = "mine.py:slow"', "def slow(view):\n    return view.satellites[0]\n")
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
