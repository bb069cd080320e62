# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee bench`: the simulator's speed."""

from __future__ import annotations

from typing import Annotated

import typer

from perigee_lab.cli.options import JsonOption


def command(
    cases: Annotated[list[str] | None, typer.Argument(help="Cases; default: all.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each case; the fastest counts.")] = 5,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Also count instructions (slow; needs valgrind).")
    ] = False,
    threads: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Speed of one run on these numbers of threads, e.g. 1,2,4."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the simulator's speed."""
    from perigee_lab.benchmarks.bench import bench_command
    from perigee_lab.benchmarks.threads import numbers, threads_command
    from perigee_lab.common.errors import stop

    if threads is not None:
        if instructions:
            stop("--instructions counts those of runs on one thread: leave out --threads")
        threads_command(cases or [], numbers(threads), repeat=repeat, as_json=as_json)
        return
    bench_command(cases or [], repeat=repeat, instructions=instructions, as_json=as_json)
