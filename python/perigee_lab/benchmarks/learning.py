# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of learning.

Measures decisions against a run without agents, PettingZoo's dictionaries, and the guard.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perigee_lab import _core

RATES_MBPS = {"learn-100M": 100.0, "learn-10M": 10.0}
PETTINGZOO, POLICY = "learn-pettingzoo", "learn-policy"
CASES = (*RATES_MBPS, PETTINGZOO, POLICY)
SECONDS, TURNS = 60.0, 5
"""Length of a run, and number of alternations between runs with and without agents."""
STEPS, EVALUATIONS = 2000, 200_000
FOUR_FLOWS = """title = "four flows"
[world]
rate_mbps = 10
rtt_ms = 40
buffer_bdp = 1
flows = 4
duration_s = 120
together = 1.0
exploring = 1.0
[train]
transitions = 1000
explore = 100
"""


def names() -> list[str]:
    """The cases available here."""
    return [c for c in CASES if c != PETTINGZOO or importlib.util.find_spec("pettingzoo") is not None]


def measure(name: str) -> dict[str, Any]:
    """Runs a case."""
    begin = time.perf_counter()
    if name in RATES_MBPS:
        found = _overheads(RATES_MBPS[name])
    elif name == PETTINGZOO:
        found = {"decisions_per_s": _pettingzoo()}
    else:
        decision, guard = (_cpu_s(_core.bench_decisions, what, EVALUATIONS) for what in ("policy", "guard"))
        found = {"us_per_decision": 1e6 * decision / EVALUATIONS, "us_of_guard": 1e6 * guard / EVALUATIONS}
    return {"name": name, "learning": True, **found, "wall_s": time.perf_counter() - begin}


def _cpu_s(work: Callable[..., Any], *words: object) -> float:
    """CPU time of this thread, which other load affects less than wall-clock time."""
    begin = time.thread_time()
    work(*words)
    return time.thread_time() - begin


def _overheads(mbps: float) -> dict[str, float]:
    """Alternates runs with and without agents, and takes the shortest of each."""
    best = dict.fromkeys(("none", "idle", "policy"), float("inf"))
    for _ in range(TURNS):
        for agent in best:
            best[agent] = min(best[agent], _cpu_s(_core.bench_run, mbps, SECONDS, agent))
    return {
        "decisions_per_s": _core.bench_run(mbps, SECONDS, "idle") / best["idle"],
        "overhead": best["idle"] / best["none"] - 1,
        "overhead_with_policy": best["policy"] / best["none"] - 1,
    }


def _pettingzoo() -> float:
    """Decisions per second through dictionaries, with four agents at 10 Mbit/s."""
    import numpy as np

    from perigee_lab.learn.parallel import PathsEnv

    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder) / "four.toml"
        recipe.write_text(FOUR_FLOWS, encoding="utf-8")
        env = PathsEnv(recipe, flows=4)
        env.reset(seed=1)
        still = np.zeros(1, np.float32)
        decisions, begin = 0, time.thread_time()
        for _ in range(STEPS):
            if not env.agents:
                env.reset()
            decisions += len(env.agents)
            env.step(dict.fromkeys(env.agents, still))
        return decisions / (time.thread_time() - begin)


def remark(r: dict[str, Any]) -> str:
    """Note on a row."""
    if "us_of_guard" in r:
        return (
            f"  {r['us_per_decision']:.1f} us per decision of astraea's policy, {r['us_of_guard']:.3f} us of its guard"
        )
    if "overhead" not in r:
        return f"  {r['decisions_per_s']:,.0f} decisions/s through dictionaries"
    return (
        f"  {r['decisions_per_s']:,.0f} decisions/s a core, {100 * r['overhead']:+.0f} % over the run without an agent"
        f", {100 * r['overhead_with_policy']:+.0f} % with a policy asked"
    )
