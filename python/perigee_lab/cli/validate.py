# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee validate`: comparison with measured Linux and ns-3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.backend import BackendOption, HostsOption, KernelOption, chosen, linux, name_of, not_in_real_time
from perigee_lab.cli.options import CcOption, JsonOption, TrustOption, schemes_of
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED


def command(
    scenarios: Annotated[
        list[Path] | None, typer.Argument(metavar="SCENARIO", help="With --against linux: instead of the table.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="linux", help="Real hosts over the same network (docs/explanation/kernel.md).")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Only this group of cells (single, loss, step, …, ns3, inet).")
    ] = None,
    cc: CcOption = None,
    cell: Annotated[list[str] | None, typer.Option(help="Only this cell.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel cells; default: 2.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of each cell with random draws; default: 5.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV file for the verdicts; with --against linux a folder, also for records.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the full curves, to compare these as well.")] = None,
    plots: Annotated[Path | None, typer.Option(help="With --data: folder for plots of both curves.")] = None,
    backend: BackendOption = None,
    hosts: HostsOption = None,
    kernel: KernelOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Compare the simulator with measured Linux and ns-3.

    With --against linux, with real Linux hosts side by side; with --backend linux, real hosts are compared with the
    curves of Linux.
    """
    from perigee_lab.runs.backends import Linux
    from perigee_lab.validation.command import Asked, validate_command

    if against is not None:
        if against != "linux":
            stop(f"--against {against!r}: must be linux")
        if group or data or plots:
            stop("--group, --data and --plots apply to measured curves, not to --against linux")
        loaded = [given.scenario(s, None, trust=trust, as_json=as_json) for s in scenarios or []]
        if loaded and cell:
            stop("--cell and scenarios exclude each other: give one of them")
        from perigee_lab.validation import against_linux

        request = against_linux.Asked(loaded, schemes_of(cc), cell or [], jobs, seeds, out, as_json)
        on_linux = linux(kernel)
        with _failures():
            return against_linux.compare_command(request, on_linux)
    if scenarios:
        stop("scenarios need --against linux")
    on = chosen(name_of(backend, hosts, None), kernel)
    not_in_real_time(on, "and cells run side by side")
    if seeds == 1:
        stop("--seeds must be at least 2")
    if plots is not None and data is None:
        stop("--plots needs the full curves: give their folder with --data")
    schemes = schemes_of(cc)
    options = Asked(
        group or [],
        schemes,
        cell or [],
        jobs or 2,
        seeds or 5,
        out,
        data,
        plots,
        as_json,
        on if isinstance(on, Linux) else None,
    )
    with _failures():
        return validate_command(options)


@contextmanager
def _failures() -> Iterator[None]:
    """Failed runs end with exit code 1, even if hosts failed: 3 is reserved for the verdict."""
    from perigee_lab import _core

    try:
        yield
    except _core.RunError as error:
        stop(str(error), FAILED)
