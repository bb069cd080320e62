# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Perigee: a laboratory for transport protocols over satellite networks.

>>> import perigee_lab as perigee
>>> run = perigee.load("scenarios/micro/dumbbell.toml").run(cc="cubic", seed=1)
>>> run.to_pandas("flows")
>>> run.plot()
"""

from __future__ import annotations

# Not from `typing`: its import takes as long as all others before the program handles Ctrl-C
# (`perigee_lab.entry`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perigee_lab._core import Ack, Cx, Hop, RunError, ScenarioError, Window
    from perigee_lab.extensions.congestion import CongestionControl
    from perigee_lab.extensions.trust import PluginError
    from perigee_lab.results.cells import open_sweep
    from perigee_lab.results.comparison import Comparison, compare, paired
    from perigee_lab.results.joined import open_runs
    from perigee_lab.results.run import Results, Run, open_record
    from perigee_lab.runs.scenario import Scenario, load, loads, run, schemes
    from perigee_lab.runs.sweep import sweep
    from perigee_lab.sky.survey import paths
    from perigee_lab.sky.timeline import Timeline, load_timeline
    from perigee_lab.view.shown import show

__all__ = [
    "Ack",
    "Comparison",
    "CongestionControl",
    "Cx",
    "Hop",
    "PluginError",
    "Results",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Timeline",
    "Window",
    "compare",
    "load",
    "load_timeline",
    "loads",
    "open_record",
    "open_runs",
    "open_sweep",
    "paired",
    "paths",
    "run",
    "schemes",
    "show",
    "sweep",
]

# Names are imported when they are first used: `perigee --help` needs neither NumPy nor the compiled
# module.
_HOMES = {
    "Ack": "perigee_lab._core",
    "Cx": "perigee_lab._core",
    "Hop": "perigee_lab._core",
    "Window": "perigee_lab._core",
    "Comparison": "perigee_lab.results.comparison",
    "CongestionControl": "perigee_lab.extensions.congestion",
    "PluginError": "perigee_lab.extensions.trust",
    "Results": "perigee_lab.results.run",
    "Run": "perigee_lab.results.run",
    "RunError": "perigee_lab._core",
    "Scenario": "perigee_lab.runs.scenario",
    "ScenarioError": "perigee_lab._core",
    "Timeline": "perigee_lab.sky.timeline",
    "__version__": "perigee_lab._core",
    "compare": "perigee_lab.results.comparison",
    "load": "perigee_lab.runs.scenario",
    "load_timeline": "perigee_lab.sky.timeline",
    "loads": "perigee_lab.runs.scenario",
    "open_record": "perigee_lab.results.run",
    "open_runs": "perigee_lab.results.joined",
    "run": "perigee_lab.runs.scenario",
    "paired": "perigee_lab.results.comparison",
    "paths": "perigee_lab.sky.survey",
    "schemes": "perigee_lab.runs.scenario",
    "show": "perigee_lab.view.shown",
    "open_sweep": "perigee_lab.results.cells",
    "sweep": "perigee_lab.runs.sweep",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'perigee_lab' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
