# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Random effects within a set-up.

These are `run.host_jitter` and `run.rtt_spread`; also covers warnings about seeds that change
nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import perigee_lab as perigee

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    Cli = Callable[..., CompletedProcess[str]]

DUMBBELL = """
[run]
duration = "5 s"
cc = "cubic"
[source.dumbbell]
pairs = 2
rtt = ["20 ms", "40 ms"]
[port.bottleneck]
rate = "20 Mbit"
queue = "0.5 bdp"
[[flow]]
cc = "*"
"""
GATEWAY = """
[run]
duration = "6 s"
[source.constellation]
preset = "starlink-shell1"
ground_ports = "per-node"
[node.gateway]
kind = "station"
lat = 48
lon = 8
[[nodes]]
file = "users.csv"
[port.all]
queue = "133 packets"
[port.station]
rate = "40 Mbit"
[[flow]]
matrix = "matrix.csv"
"""
LOCKED = "locks their phases"
ALIKE = "give the same network and traffic"


def rows(text: str, seed: int, table: str = "flows", **sets: object) -> list[dict[str, object]]:
    """A table of a run."""
    return perigee.loads(text, sets=sets).run(seed=seed).table(table).to_pylist()


def warnings(cli: Cli, path: Path, *sets: str) -> str:
    """The warnings of `perigee check`."""
    given = [word for s in sets for word in ("--set", s)]
    done = cli("check", path, "--json", *given)
    assert done.returncode == 0, done.stderr
    return "\n".join(json.loads(done.stdout)["warnings"])


@pytest.mark.parametrize("key", [{"run.host_jitter": "0.6 ms"}, {"run.rtt_spread": 0.01}])
def test_a_key_makes_seeds_differ_that_are_alike_without_it(key: dict[str, object]) -> None:
    assert rows(DUMBBELL, 1) == rows(DUMBBELL, 2)
    assert rows(DUMBBELL, 1, **key) != rows(DUMBBELL, 2, **key)
    assert rows(DUMBBELL, 1, **key) == rows(DUMBBELL, 1, **key)


def test_base_rtts_are_drawn_around_their_nominal_values() -> None:
    scenario = perigee.loads(DUMBBELL, sets={"run.rtt_spread": 0.1})
    worlds = [json.loads(scenario.core.world(seed).describe()) for seed in range(1, 6)]
    bases = [[f["base_rtt_ns"] / 1e6 for f in world["flows"]] for world in worlds]
    assert all(18 <= a <= 22 and 36 <= b <= 44 for a, b in bases)
    assert len({a for a, _ in bases}) == len(bases)
    assert len({b / a for a, b in bases}) == len(bases), "each flow has a draw of its own"


@pytest.mark.slow
def test_check_warns_where_all_seeds_are_alike(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(DUMBBELL, encoding="utf-8")
    assert ALIKE not in warnings(cli, path)
    assert ALIKE in warnings(cli, path, "run.runs=3")
    for other in (
        "run.host_jitter=0.6ms",
        "run.rtt_spread=0.01",
        "source.dumbbell.loss=0.001",
        "run.start_jitter=10ms",
    ):
        assert ALIKE not in warnings(cli, path, "run.runs=3", other), other


def test_a_spread_has_no_effect_where_rtts_follow_from_paths(cli: Cli, tmp_path: Path) -> None:
    path = users(tmp_path, 2)
    done = cli("check", path, "--set", "run.rtt_spread=0.01")
    assert done.returncode == 2
    assert "run.rtt_spread" in done.stderr
    assert "no effect" in done.stderr


def users(folder: Path, number: int) -> Path:
    """A gateway that sends 8 Mbit/s to each of its users."""
    spots = [f"u{i},{47 + i / 10},{7 + i / 10}" for i in range(number)]
    (folder / "users.csv").write_text("\n".join(["name,lat,lon", *spots]) + "\n", encoding="utf-8")
    flows = [f"gateway,u{i},8" for i in range(number)]
    (folder / "matrix.csv").write_text("\n".join(["from,to,rate_mbps", *flows]) + "\n", encoding="utf-8")
    path = folder / "gateway.toml"
    path.write_text(GATEWAY, encoding="utf-8")
    return path


def test_users_of_a_full_gateway_share_it_where_their_packets_have_jitter(cli: Cli, tmp_path: Path) -> None:
    path = users(tmp_path, 10)
    assert LOCKED in warnings(cli, path)
    assert LOCKED not in warnings(cli, path, "run.host_jitter=0.3ms")
    assert LOCKED not in warnings(cli, users(tmp_path, 4))

    def shares(**sets: object) -> list[float]:
        run = perigee.load(users(tmp_path, 10), sets=sets).run()
        return [r["datagrams"] / 4000 for r in run.table("windows").to_pylist() if r["flow"] is not None]

    locked, fair = shares(), shares(**{"run.host_jitter": "0.3 ms"})
    assert min(locked) < 0.05
    assert max(locked) > 0.9
    assert all(0.35 < share < 0.65 for share in fair), fair
    assert sum(fair) == pytest.approx(sum(locked), rel=0.02)


@pytest.mark.slow
def test_a_parking_lot_no_longer_resonates() -> None:
    """Ratio of Cubic's long flow to the best short one, at two RTTs that differ by 0.2 %."""

    def ratio(rtt: str, seed: int, **sets: object) -> float:
        given = {"source.parking_lot.rtt": rtt, "port.all.queue": "0.2 bdp", "run.duration": "120 s", **sets}
        run = perigee.load("scenarios/studies/orbcc/parking-lot.toml", sets=given).run(cc="cubic", seed=seed)
        long, *short = (r["window_bytes"] for r in run.table("flow_totals").to_pylist())
        return float(long / max(short))

    off = {"run.host_jitter": "0 ms", "run.rtt_spread": 0}
    bare = [ratio(rtt, 1, **off) for rtt in ("200.0 ms", "200.4 ms")]
    assert bare[0] > 2 * bare[1]
    on = {"run.host_jitter": "0.12 ms", "run.rtt_spread": 0}
    means = [sum(ratio(rtt, seed, **on) for seed in (1, 2, 3)) / 3 for rtt in ("200.0 ms", "200.4 ms")]
    assert means[0] == pytest.approx(means[1], rel=0.2)
