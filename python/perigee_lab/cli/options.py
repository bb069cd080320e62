# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Arguments and options shared by several commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.common.errors import stop

if TYPE_CHECKING:
    from perigee_lab.runs.machines import Machines

ScenarioArg = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. port.bottleneck.rate=50Mbit; repeatable."),
]
SweptOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=A,B,C", help="A key with its values; with one value, an override."),
]
ZipOption = Annotated[
    bool, typer.Option("--zip", help="Run the n-th values of all keys together, not all combinations.")
]
CcOption = Annotated[str | None, typer.Option("--cc", metavar="A,B,C", help="Congestion controls to compare.")]
TleOption = Annotated[
    Path | None, typer.Option("--tle", metavar="FILE", help="Satellites from a TLE file instead of the scenario's.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Run the Python code that the file names (docs/reference/security.md).")
]
UseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--use",
        metavar="HOST=netns:NAME|HOST=interface:NAME",
        help="As root: an existing host of this machine: a network namespace, or a host behind an interface.",
    ),
]
StdinOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Standard input of the last program; - = that of this command.")
]
EnvOption = Annotated[list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="Environment of programs.")]
WritableOption = Annotated[
    list[Path] | None, typer.Option("--writable", metavar="DIR", help="A folder that programs may modify.")
]
GraceOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Time to exit after SIGTERM at the end of the run (hosts.grace; default: 2s); 0s = none.",
    ),
]
JobsOption = Annotated[int | None, typer.Option("--jobs", min=1, help="Parallel runs (default: one per core).")]
ThreadsOption = Annotated[
    int,
    typer.Option(
        "--threads", min=1, max=1024, help="Threads of one run of the simulator; results do not depend on it."
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS|local|slurm|kubernetes", help="Run on a Dask cluster (docs/how-to/cluster.md)."
    ),
]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="With --cluster: where workers store results (s3://...).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace existing files.")]


def machines_of(jobs: int | None, cluster: str | None, store: str | None, threads: int = 1) -> Machines:
    """The machines of the options. Raises RecordError if they are unavailable."""
    from perigee_lab.runs.machines import Machines

    return Machines(jobs, cluster, store, threads)


def count(n: int, noun: str) -> str:
    """A number with its noun: 1 run, 2 runs."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def schemes_of(given: str | None) -> list[str]:
    """The schemes of --cc; code among them is marked as given by the user."""
    from perigee_lab.extensions.trust import Said

    return [Said(name) for name in names_of("--cc", given)]


def names_of(option: str, given: str | None) -> list[str]:
    """The names of a comma-separated list; none for None.

    An empty list (often an unset variable) is rejected, as it would otherwise mean the default.
    """
    names = [name.strip() for name in given.split(",")] if given is not None else []
    if "" in names:
        stop(f"{option} {given!r} has an empty name: give comma-separated names, or remove {option}")
    return names


def check_free(*paths: Path | None, force: bool) -> None:
    """Ends the command if an existing file would be replaced without --force."""
    taken = [p for p in paths if p is not None and p.exists() and not force]
    if taken:
        stop(f"{taken[0]} exists; pass --force to replace it")


def time_ns(option: str, text: str, *, zero: bool = False) -> int:
    """A time with its unit, such as 100ms, in ns. Raises TraceError."""
    from perigee_lab.runs.trace import nanoseconds

    found = nanoseconds(text, option)
    if found <= 0 and not (zero and found == 0):
        stop(f"{option} {text!r}: must be positive")
    return found


def seconds(text: str) -> float:
    """A time with its unit, such as 42s, in seconds."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(us|µs|ms|s|min|h|)\s*", text)
    if match is None:
        stop(f"{text!r} is not a time such as 42s")
    return float(match[1]) * {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "min": 60.0, "h": 3600.0}[match[2]]
