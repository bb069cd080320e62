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
    from perigee.congestion import CongestionControl
    from perigee.record import Run, open_record
    from perigee.scenario import Results, Scenario, load, loads, run, schemes
    from perigee.survey import paths
    from perigee.timeline import Timeline, load_timeline
    from perigee.trust import PluginError

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
    "paths",
    "run",
    "schemes",
]

# Names are imported when they are first used: `perigee --help` needs neither NumPy nor the compiled module.
_HOMES = {
    "CongestionControl": "perigee.congestion",
    "PluginError": "perigee.trust",
    "Results": "perigee.scenario",
    "Run": "perigee.record",
    "RunError": "perigee._core",
    "Scenario": "perigee.scenario",
    "ScenarioError": "perigee._core",
    "Timeline": "perigee.timeline",
    "__version__": "perigee._core",
    "load": "perigee.scenario",
    "load_timeline": "perigee.timeline",
    "loads": "perigee.scenario",
    "open_record": "perigee.record",
    "run": "perigee.scenario",
    "paths": "perigee.survey",
    "schemes": "perigee.scenario",
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
