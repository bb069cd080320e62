# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Experiments of the emulation study on Linux hosts: their cases, with the companions of schemes.

Each case is the simulated one, with Linux's transport in place of the profile of the simulator's.
Only the schemes for which a kernel has code are run (`SCHEMES`); the networks are those of the
study, without the constellation that is shown with them.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.reading import parsed_toml
from perigee_studies import beside
from perigee_studies.execute import Failure
from perigee_studies.model import SCENARIOS, Ask, Case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perigee_lab.runs.backends import Linux
    from perigee_studies.cache import Cache
    from perigee_studies.execute import Plan
    from perigee_studies.model import Experiment

STUDY = "leo-cc"
NAMES = tuple(f"{STUDY}/{name}" for name in (
    "single-flow", "fairness", "responsiveness", "inter-rtt", "intra-rtt", "parking-lot", "efficiency"
))  # fmt: skip
"""The experiments with the study's figures."""
SCHEMES = {"cubic": "cubic", "satcp": "satcp", "bbr3": "bbr", "leocc": "leocc"}
"""Names of the study's schemes in the kernel. BBRv3's patch replaces `bbr`."""
PROFILE: dict[str, object] = {"tcp.profile": "linux", "port.all.framing": 14, "tcp.buffer_factor": 22.0}
"""Settings of the profile `study-leo-cc` that are not about the simulator's own transport."""
KERNEL: dict[str, object] = {"tcp.hz": 1000, "tcp.tso_defer": "linux", "tcp.push_acks": True}
"""Settings of the simulator's transport in which the hosts' kernel differs from the study's."""
NOTICES: dict[str, object] = {"notices.lead": "0.5 s", "notices.hold": "2.3 s"}
COMPANIONS = SCENARIOS / STUDY / "companions"
FOLDER = "linux"
"""Folder of their results within that of all results, and of their tables next to the pages."""
HOW = "docs/how-to/hosts-kernel.md"


class LinuxError(PerigeeError):
    """An experiment that cannot run on Linux hosts."""


def cases(experiment: Experiment, ask: Ask) -> list[Case]:
    """The cases of an experiment on Linux hosts, and the same with two models of the simulator."""
    found = figure_cases(experiment, ask)
    study = [beside.marked(c, beside.STUDY) for c in found]
    simulated = [beside.marked(replace(c, sets={**c.sets, **KERNEL}), beside.SIMULATED) for c in found]
    return [*map(on_linux, found), *study, *simulated]


def figure_cases(experiment: Experiment, ask: Ask) -> list[Case]:
    """The cases of the figure that run on Linux hosts, before their transport is replaced."""
    wanted = tuple(cc for cc in SCHEMES if cc in (ask.cc or SCHEMES))
    return [c for c in experiment.cases(replace(ask, cc=wanted)) if c.labels.get("network") != "constellation"]


def check(names: Sequence[str], ask: Ask, backend: Linux) -> None:
    """Checks that these experiments can run with a kernel. Raises LinuxError."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise LinuxError(f"{', '.join(unknown)} cannot run on Linux hosts; there are {', '.join(NAMES)}")
    absent = [cc for cc in ask.cc if cc not in SCHEMES]
    if absent:
        raise LinuxError(f"--cc {','.join(absent)} is not in a kernel; there are {', '.join(SCHEMES)}")
    wanted = ask.cc or tuple(SCHEMES)
    made = backend.kernel.manifest
    modules = {m.name for m in made.modules}
    lacking: list[str] = [cc for cc in ("satcp", "leocc") if cc in wanted and not modules & {f"{cc}.c", f"tcp_{cc}.c"}]
    if "bbr3" in wanted and not made.extra_patches:
        lacking.append("bbr3")
    if lacking:
        raise LinuxError(
            f"kernel {made.key} has no {', '.join(lacking)}: build one with its patch or module ({HOW}) and name it "
            "with --kernel, or choose others with --cc"
        )
    if "leocc" in wanted and shutil.which("ping") is None:
        raise LinuxError("LeoCC's companion needs ping(8), which this machine lacks: install it (iputils-ping)")
    if "leocc" in wanted and not (COMPANIONS / "monitor_ping").exists():
        raise LinuxError(f"{COMPANIONS / 'monitor_ping'} is missing: compile LeoCC's monitor_ping.c there ({HOW})")


def drop_broken(plan: Plan, cache: Cache) -> list[Failure]:
    """Removes results of runs in which a companion failed, so that the next call repeats them."""
    found = []
    for name, rows in plan.planned.items():
        for p in (p for p in rows if p.kernel is not None):
            digest = cache.read(p.key)
            bad = (
                [] if digest is None else [str(w) for w in digest.info["warnings"] if "ended with exit code" in str(w)]
            )
            if bad:
                cache.path(p.key).unlink()
                found.append(Failure(name, p.case, bad[0]))
    return found


def on_linux(case: Case) -> Case:
    """The case with Linux's transport and, if its scheme has one, its companion."""
    file = parsed_toml((SCENARIOS / case.scenario).read_text(encoding="utf-8"))
    given: Any = case.sets.get("flow", file["flow"])
    # A dumbbell's flow without ends is that of its first pair.
    flows = [{"from": "s1", "to": "d1", **flow} for flow in given]
    sets = {**case.sets, **PROFILE}
    for source in ("dumbbell", "parking_lot"):
        if source in file["source"]:
            sets |= {f"source.{source}.rtt_at": "forward", f"source.{source}.reordering": True}
    if case.cc == "satcp":
        sets |= {**NOTICES, **_with(flows, flows[:1], _relay(flows[0]))}
    elif case.cc == "leocc":
        sets |= _with(flows, flows, [program for flow in flows for program in _monitor(flow)])
    keep = replace(case.keep, flows=len(flows))
    return replace(case, sets=sets, keep=keep, run_as=SCHEMES[case.cc])


def _with(
    flows: list[dict[str, Any]], carried: Sequence[Mapping[str, Any]], programs: list[dict[str, Any]]
) -> dict[str, object]:
    """Settings that add programs, and flows for their packets after those of the study."""
    extra = [{"from": f["from"], "to": f["to"], "app": "programs", "cc": "cubic"} for f in carried]
    return {"flow": [*flows, *extra], "program": programs}


def _relay(flow: Mapping[str, Any]) -> list[dict[str, Any]]:
    """SaTCP's companion, which notifies the module; a kernel's hosts share both."""
    command = ["python3", "satcp.py"]
    return [{"node": flow["from"], "namespace": "first", "folder": str(COMPANIONS), "command": command}]


def _monitor(flow: Mapping[str, Any]) -> list[dict[str, Any]]:
    """LeoCC's companion of one flow, which starts with it, and the ping on the flow's host."""
    node, to, start = flow["from"], flow["to"], flow.get("start", "0 s")
    pings = f"/tmp/pings-{to}"
    return [
        {"node": node, "start": start, "command": f"mkfifo {pings}; exec ping -4 -i 0.01 {to} > {pings}"},
        {
            "node": node,
            "start": start,
            "namespace": "first",
            "folder": str(COMPANIONS),
            "environment": ["PATH=.:/usr/bin:/bin"],
            "command": ["./monitor_ping", to, "45"],
        },
    ]
