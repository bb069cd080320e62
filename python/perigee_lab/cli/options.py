# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Arguments, options and refusals that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from perigee_lab.common.exit_codes import BAD_INPUT
from perigee_lab.common.messages import complain

if TYPE_CHECKING:
    from perigee_lab.runs.machines import Machines

ScenarioArg = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. port.bottleneck.rate=50Mbit; repeatable."),
]
CcOption = Annotated[str | None, typer.Option("--cc", metavar="A,B,C", help="Congestion controls to compare.")]
TleOption = Annotated[
    Path | None, typer.Option("--tle", metavar="FILE", help="Satellites from a TLE file instead of the scenario's.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Run the Python code that the file names (docs/security.md).")
]
HostsOption = Annotated[
    str | None,
    typer.Option(
        "--hosts", metavar="simulated|linux", help="Who carries TCP: the simulator, or Linux (docs/hosts.md)."
    ),
]
KernelOption = Annotated[
    str | None, typer.Option("--kernel", metavar="NAME", help="With --hosts linux: one of `perigee kernel list`.")
]
ClockOption = Annotated[
    str,
    typer.Option(metavar="virtual|real", help="With --hosts linux; real: this machine's kernel, by its clock."),
]
UseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--use",
        metavar="HOST=netns:NAME|HOST=interface:NAME",
        help="As root: a host that this machine has already, a network namespace or whatever is behind an interface.",
    ),
]
EnvOption = Annotated[list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="Environment of programs.")]
WritableOption = Annotated[
    list[Path] | None, typer.Option("--writable", metavar="DIR", help="A folder that programs may change.")
]
ProgramsKernelOption = Annotated[
    str | None, typer.Option("--kernel", metavar="NAME", help="One of `perigee kernel list`.")
]
JobsOption = Annotated[int | None, typer.Option("--jobs", min=1, help="Runs at once; default: one per core.")]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS|local|slurm|kubernetes", help="Run on a Dask cluster (docs/cluster.md)."
    ),
]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="With --cluster: where workers leave results (s3://...).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace what exists.")]


def machines_of(jobs: int | None, cluster: str | None, store: str | None) -> Machines:
    """Where to run; ends where that cannot be."""
    from perigee_lab.common.files import RecordError
    from perigee_lab.runs.machines import Machines

    try:
        return Machines(jobs, cluster, store)
    except RecordError as error:
        stop(str(error))


def count(n: int, noun: str) -> str:
    """A number with its noun: 1 run, 2 runs."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def schemes_of(given: str | None) -> list[str]:
    """The schemes of --cc, code among them marked as the user's own."""
    from perigee_lab.extensions.trust import Said

    return [Said(name) for name in names_of("--cc", given)]


def names_of(option: str, given: str | None) -> list[str]:
    """The names of a list with commas; those of no list are none.

    An empty one (often of a variable that is not set) is refused: taken for no list, it would mean the default.
    """
    names = [name.strip() for name in given.split(",")] if given is not None else []
    if "" in names:
        stop(f"{option} {given!r} has an empty name: give names with commas between them, or leave {option} out")
    return names


def stop(message: str) -> NoReturn:
    """Ends the command for bad input."""
    complain(message)
    raise SystemExit(BAD_INPUT)


def check_free(*paths: Path | None, force: bool) -> None:
    """Nothing that exists is replaced unasked."""
    taken = [p for p in paths if p is not None and p.exists() and not force]
    if taken:
        stop(f"{taken[0]} exists; say --force to replace it")
