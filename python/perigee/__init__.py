# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Perigee: a laboratory for transport protocols over satellite networks.

>>> import perigee
>>> run = perigee.load("scenarios/micro/dumbbell.toml").run(cc="cubic", seed=1)
>>> run.to_pandas("flows")
>>> run.plot()
"""

from __future__ import annotations

# Not from `typing`: its import takes as long as that of all else before the program hears Ctrl-C (`perigee.entry`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perigee._core import RunError, ScenarioError
    from perigee.extensions.congestion import CongestionControl
    from perigee.extensions.trust import PluginError
    from perigee.results.cells import open_sweep
    from perigee.results.paired import paired
    from perigee.results.record import Run, open_record
    from perigee.runs.scenario import Results, Scenario, load, loads, run, schemes
    from perigee.runs.sweep import sweep
    from perigee.sky.survey import paths
    from perigee.sky.timeline import Timeline, load_timeline

__all__ = [
    "CongestionControl",
    "PluginError",
    "Results",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Timeline",
    "load",
    "load_timeline",
    "loads",
    "open_record",
    "open_sweep",
    "paired",
    "paths",
    "run",
    "schemes",
    "sweep",
]

# Names are imported when they are first used: `perigee --help` needs neither NumPy nor the compiled module.
_HOMES = {
    "CongestionControl": "perigee.extensions.congestion",
    "PluginError": "perigee.extensions.trust",
    "Results": "perigee.runs.scenario",
    "Run": "perigee.results.record",
    "RunError": "perigee._core",
    "Scenario": "perigee.runs.scenario",
    "ScenarioError": "perigee._core",
    "Timeline": "perigee.sky.timeline",
    "__version__": "perigee._core",
    "load": "perigee.runs.scenario",
    "load_timeline": "perigee.sky.timeline",
    "loads": "perigee.runs.scenario",
    "open_record": "perigee.results.record",
    "run": "perigee.runs.scenario",
    "paired": "perigee.results.paired",
    "paths": "perigee.sky.survey",
    "schemes": "perigee.runs.scenario",
    "open_sweep": "perigee.results.cells",
    "sweep": "perigee.runs.sweep",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'perigee' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
