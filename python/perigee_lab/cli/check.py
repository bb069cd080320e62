# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee check`: validation of a scenario and estimate of the cost of its runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from perigee_lab.cli import given
from perigee_lab.cli.backend import BackendOption, ClockOption, HostsOption, KernelOption, chosen, name_of, refuse_idle
from perigee_lab.cli.options import (
    CcOption,
    JsonOption,
    ScenarioArg,
    SetOption,
    TleOption,
    TrustOption,
    count,
    schemes_of,
)
from perigee_lab.cli.output import print_warnings
from perigee_lab.common.messages import say, significant

if TYPE_CHECKING:
    from pathlib import Path

    from perigee_lab.runs.scenario import Scenario


def command(
    scenario: ScenarioArg,
    cc: CcOption = None,
    tle: TleOption = None,
    sets: SetOption = None,
    backend: BackendOption = None,
    hosts: HostsOption = None,
    kernel: KernelOption = None,
    clock: ClockOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Validate a scenario and estimate the cost of a run.

    With --backend linux or emulation, also list the flows that real hosts carry.
    """
    from perigee_lab.extensions.congestion import named, with_params
    from perigee_lab.judge import expectations
    from perigee_lab.runs.cost import hops_in_words

    given_cc = schemes_of(cc)
    at = chosen(name_of(backend, hosts, clock), kernel)
    on = at.as_core()
    loaded = given.scenario(scenario, sets, tle, trust=trust, as_json=as_json)
    if not loaded.core.has_flows:
        _check_demand(scenario, loaded, as_json=as_json)
        return
    refuse_idle(loaded, at)
    with given.problems(as_json=as_json), _as_problems():
        requested, classes = named(given_cc)
        classes = with_params({**loaded.classes(), **classes}, loaded.core)
        names = loaded.core.schemes(requested, on)
        world = loaded.core.world(loaded.core.seed)
        for name in names:
            world.check(name, classes, on)
        expectations.check_all(expectations.of(loaded.core), world, names, of_file=not given_cc)
        real = world.real_flows(names[0], on) if at.has_hosts else []
    found: dict[str, Any] = json.loads(world.describe())
    hops, cpu_s = world.estimate(on)
    runs = len(names) * loaded.core.runs
    shared = _shared_choices(loaded)
    if as_json:
        data = {**found, "warnings": [*found["warnings"], *shared]} | ({"real_flows": real} if at.has_hosts else {})
        print(json.dumps({"ok": True, "cc": names, "estimate_cpu_s": cpu_s * runs, **data}, indent=1))
        return
    has_warnings = found["warnings"] or shared
    say(f"{scenario}: " + ("OK, with warnings" if has_warnings else "OK"))
    flows, seconds = count(len(found["flows"]), "flow"), loaded.core.duration_ns / 1e9
    say(f"  {flows}, {found['nodes']} nodes at the start, {seconds:g} s")
    if at.has_hosts:
        more = f" and {len(real) - 8} more" if real[8:] else ""
        say(f"  on real hosts: {', '.join(real[:8]) or 'no flow'}{more}")
    for line in found["report"]:
        say(f"  {line}")
    print_warnings([*found["warnings"], *shared])
    for p in found["ports"][:8]:
        queue = f"{p['queue_bytes']} B" if p["queue_bytes"] is not None else f"{p['queue_packets']} packets"
        say(f"  port {p['name']} ({p['class']}): {p['rate_bps'] / 1e6:.10g} Mbit/s, queue {queue}")
    cost = f"{hops_in_words(hops * runs)}, {significant(cpu_s * runs)} s of one core"
    say(f"  {', '.join(names)}: {count(runs, 'run')}, about {cost}")


def _check_demand(path: Path, scenario: Scenario, *, as_json: bool) -> None:
    """Checks a scenario with a [demand] section and no flows."""
    from perigee_lab import _core

    with given.problems(as_json=as_json):
        found: dict[str, Any] = json.loads(_core.Demand(scenario.core).describe())
    terminals = sum(c["terminals"] for c in found["cells"])
    sizes = {"satellites": len(found["satellites"]), "gateways": len(found["gateways"]), "cells": len(found["cells"])}
    if as_json:
        data = {
            "terminals": terminals,
            "steps": found["steps"],
            "report": found["report"],
            "warnings": found["warnings"],
        }
        print(json.dumps({"ok": True, **sizes, **data}, indent=1))
        return
    say(f"{path}: " + ("OK, with warnings" if found["warnings"] else "OK"))
    say("  " + ", ".join(f"{n:,} {noun}" for noun, n in sizes.items()) + f", {terminals:,.0f} terminals")
    say(f"  {found['steps']:,} steps of {found['step_s']:g} s; perigee demand run computes them")
    for line in found["report"]:
        say(f"  {line}")
    print_warnings(found["warnings"])


@contextmanager
def _as_problems() -> Iterator[None]:
    """Reports errors of a run's start and of user-supplied code as problems of the scenario.

    Raises ScenarioError.
    """
    from perigee_lab import _core
    from perigee_lab.extensions.trust import PluginError

    try:
        yield
    except (_core.RunError, PluginError) as error:
        key = "cc" if isinstance(error, PluginError) else "run"
        problem = json.dumps([{"key": key, "message": str(error)}])
        raise _core.ScenarioError(str(error), problem) from None


def _shared_choices(scenario: Scenario) -> list[str]:
    """Warnings about satellites that terminals select for several pairs; empty where there is no sky."""
    from perigee_lab import _core

    try:
        return _core.Sky(scenario.core, []).shared_choices()
    except (_core.ScenarioError, _core.RunError):
        return []
