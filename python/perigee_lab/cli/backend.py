# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Option --backend of the commands that run something, and its older forms --hosts and --clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.common.errors import stop
from perigee_lab.common.messages import complain

if TYPE_CHECKING:
    from pathlib import Path

    from perigee_lab.runs.backends import Backend, Linux
    from perigee_lab.runs.scenario import Scenario

BackendOption = Annotated[
    str | None,
    typer.Option(
        "--backend",
        metavar="simulator|linux|emulation",
        help="Backend for TCP flows: simulated, Linux in virtual time, or Linux in real time (docs/how-to/hosts.md).",
    ),
]
HostsBackendOption = Annotated[
    str | None,
    typer.Option(
        "--backend", metavar="linux|emulation", help="Linux in virtual time (default), or this machine in real time."
    ),
]
KernelOption = Annotated[
    str | None, typer.Option("--kernel", metavar="NAME", help="With --backend linux: one of `perigee kernel list`.")
]
# Deprecated: version 0.3 has --backend.
HostsOption = Annotated[str | None, typer.Option("--hosts", metavar="simulated|linux", hidden=True)]
ClockOption = Annotated[str | None, typer.Option("--clock", metavar="virtual|real", hidden=True)]

HOSTS = ("linux", "emulation")
"""Backends with hosts on which programs can run."""
# Backends selected by the older options --hosts and --clock.
OLDER = {
    ("simulated", None): "simulator",
    ("simulated", "virtual"): "simulator",
    ("linux", None): "linux",
    ("linux", "virtual"): "linux",
    ("linux", "real"): "emulation",
}


def name_of(backend: str | None, hosts: str | None, clock: str | None, default: str = "simulator") -> str:
    """The name of the backend; ends the command if options are unknown or contradictory.

    `default` is that of the command, to which --clock alone refers.
    """
    from perigee_lab.runs.backends import names

    if backend is not None and backend not in names():
        stop(f"--backend {backend!r} is not registered; there are {', '.join(names())}")
    given = {option: word for option, word in (("--hosts", hosts), ("--clock", clock)) if word is not None}
    for option, words in (("--hosts", ("simulated", "linux")), ("--clock", ("virtual", "real"))):
        if given.get(option, words[0]) not in words:
            stop(f"{option} {given[option]!r} is neither {words[0]} nor {words[1]}")
    if not given:
        return backend or default
    carrier = hosts or {"simulator": "simulated"}.get(backend or default, "linux")
    older = OLDER.get((carrier, clock))
    if older is None:
        stop("--clock real needs real hosts: use --backend emulation")
    shown = " ".join(f"{option} {word}" for option, word in given.items())
    if backend not in (None, older):
        stop(f"{shown} contradicts --backend {backend}: remove {shown}")
    complain(f"{shown} is deprecated and will be removed in the next version; use --backend {older}")
    return older


def chosen(name: str, kernel: str | None) -> Backend:
    """The backend with its options; ends the command if it is unavailable. Raises KernelError."""
    from perigee_lab.hosts.real_time import why_not
    from perigee_lab.runs.backends import Backend, Emulation

    if kernel is not None and name != "linux":
        stop(f"--kernel names the kernel of --backend linux, but the backend is {name}: remove one of them")
    if name == "linux":
        return linux(kernel)
    if name != "emulation":
        return Backend(name)
    if (missing := why_not()) is not None:
        stop(missing)
    return Emulation()


def linux(kernel: str | None) -> Linux:
    """Linux hosts with a kernel of the cache. Raises KernelError if there is none."""
    from perigee_lab.hosts import kernels
    from perigee_lab.runs.backends import Linux

    return Linux(kernels.find(kernel))


def not_in_real_time(backend: Backend, what: str) -> None:
    """Ends the command if runs would have to be serial."""
    if backend.in_real_time:
        stop(f"--backend {backend.name} runs in real time, {what}: use perigee run")


def refuse_idle(scenario: Scenario, backend: Backend) -> None:
    """Ends the command if a key of the scenario has no effect on this backend."""
    if (why := backend.why_not(scenario.core.toml)) is not None:
        stop(why)


def check_hosts(name: str, kernel: str | None, writable: list[Path] | None, use: list[str] | None) -> None:
    """Ends the command if a backend has no hosts for programs, or lacks an option."""
    if name not in HOSTS:
        stop(f"--backend {name} has no hosts for programs; {' and '.join(HOSTS)} have")
    if name == "emulation" and (kernel is not None or writable):
        stop("--kernel and --writable require --backend linux; in real time hosts use this machine's kernel and files")
    if name == "linux" and use:
        stop("--use names hosts of this machine: it requires --backend emulation")
