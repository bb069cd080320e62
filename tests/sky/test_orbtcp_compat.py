# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The sky of the OrbCC study against its authors' orbit code: shared links and path changes.

The expected figures were calculated with Avian688/leosatellites (cOrbitA.cc, NoradA.ned) over the
300 s of a run. Instants at which a satellite rises above the mask differ by up to a second (0.05
degrees of elevation), which moves shares by 0.003.
"""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest

import perigee_lab as perigee

SCENARIO = "scenarios/studies/orbcc/constellation.toml"
DURATION_S = 300
EXPECTED = {
    "Pair1": ((("new-york", "london"), ("new-york", "st-johns")), 0.497, (17, 11)),
    "Pair2": ((("san-diego", "new-york"), ("lawrence", "new-york")), 0.640, (15, 12)),
}
Hops = frozenset[tuple[int, int]]


def routes(run: perigee.Run, pair: int) -> list[tuple[float, Hops]]:
    """Directed hops of a pair, each with the time in seconds from which they apply."""
    rows = [r for r in run.table("routes").to_pylist() if r["pair"] == pair]
    grouped = (
        (t, [r["node"] for r in sorted(g, key=lambda r: r["hop"])]) for t, g in groupby(rows, lambda r: r["t_ns"])
    )
    return [(t / 1e9, frozenset(pairwise(nodes))) for t, nodes in grouped]


def shared_s(one: list[tuple[float, Hops]], two: list[tuple[float, Hops]]) -> float:
    """Time during which both pairs have a hop in common."""
    instants = sorted({t for t, _ in one + two} | {float(DURATION_S)})
    at = [[next(hops for since, hops in reversed(r) if since <= t) for t in instants[:-1]] for r in (one, two)]
    steps = zip(pairwise(instants), *at, strict=True)
    return sum(until - since for (since, until), a, b in steps if a & b)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_crossing_paths_are_those_of_the_authors_simulator(name: str) -> None:
    ends, share, changes = EXPECTED[name]
    sets: dict[str, object] = {"nodes": [{"set": "gateways"}], "run.duration": f"{DURATION_S} s"}
    for i, (a, b) in enumerate(ends):
        sets |= {f"flow.{i}.{key}": v for key, v in {"from": a, "to": b, "app": "ping", "interval": "10 s"}.items()}
    run = perigee.load(SCENARIO, sets=sets).run()
    pairs = [(p["from"], p["to"]) for p in run.manifest["pairs"]]
    found = [routes(run, pairs.index(e)) for e in ends]
    assert shared_s(*found) / DURATION_S == pytest.approx(share, abs=0.005)
    # Paths last only a few steps of 100 ms if one satellite sets just before another rises.
    lasting = [[t for t, until in pairwise([*(t for t, _ in r), DURATION_S]) if until - t >= 0.5] for r in found]
    assert [len(r) - 1 for r in lasting] == pytest.approx(changes, abs=1)
