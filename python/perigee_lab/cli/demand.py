# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee demand`: users of a constellation as a fluid."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.options import JsonOption, ScenarioArg, SetOption, TleOption, TrustOption
from perigee_lab.cli.output import save
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from perigee_lab.demand.record import Progress, Record

command = typer.Typer(help="Allocate the capacity of a constellation to all its users.", no_args_is_help=True)

RecordArg = Annotated[Path, typer.Argument(metavar="OUT", help="Folder of perigee demand run.")]
BesideOption = Annotated[
    Path | None, typer.Option("--beside", metavar="OUT2", help="A second record, to which OUT is compared.")
]


@command.command()
def run(
    scenario: ScenarioArg,
    out: Annotated[Path, typer.Option(help="Folder for the record.")],
    tle: TleOption = None,
    sets: SetOption = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default: one per core).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute a demand step by step, with tables and a report.

    An interrupted call resumes.
    """
    from perigee_lab.demand import record, report

    loaded = given.scenario(scenario, sets, tle, trust=trust, as_json=as_json)
    with writing(out), ExitStack() as stack, given.problems(as_json=as_json):
        found = record.compute(loaded, out, force=force, threads=threads, begin=_begin(stack))
    page = out / "report.html"
    with writing(page):
        report.write(found, page)
    if as_json:
        print(json.dumps({k: v for k, v in found.manifest.items() if k != "scenario"}))
        return
    for line in report.lines(found):
        print(line)
    print(f"report: {page}")


def _begin(stack: ExitStack) -> Callable[[Progress], Callable[[], None]]:
    """A progress bar, entered when the number of chunks is known."""
    from perigee_lab.cli.output import progress

    def begin(found: Progress) -> Callable[[], None]:
        if found.done:
            typer.echo(f"resuming: {found.done} of {found.chunks} chunks already complete", err=True)
        return stack.enter_context(progress("chunks", found.chunks - found.done))

    return begin


@command.command("map")
def map_(
    out: RecordArg,
    what: Annotated[str, typer.Option("--map", help="rate, unserved, load, or lost (with --beside).")] = "rate",
    file: Annotated[Path | None, typer.Option("--out", help="Map to write: .png, .svg, .pdf, .gif, .geojson.")] = None,
    time: Annotated[
        str | None, typer.Option(metavar="TIME", help="Instant, such as 20h; default: mean over the entire run.")
    ] = None,
    up: Annotated[bool, typer.Option("--up", help="Traffic from the terminals instead of traffic to them.")] = False,
    beside: BesideOption = None,
) -> None:
    """Map rates and unserved demand of cells, or the load of links."""
    from perigee_lab.cli.options import seconds
    from perigee_lab.demand import maps

    if what not in maps.MAPS:
        stop(f"--map: {what!r} is none of {', '.join(maps.MAPS)}")
    if (what == "lost") != (beside is not None):
        stop("--map lost requires --beside OUT2, and no other map accepts it")
    record = _open(out)
    target = file or Path(f"{record.start['name']}-{what}.png")
    forms = (".png", ".svg", ".pdf", ".gif", ".geojson")
    if target.suffix not in forms:
        stop(f"--out {target}: the name must end in one of {', '.join(forms)}")
    t_s = None if time is None else seconds(time)
    if t_s is not None and t_s >= record.start["duration_s"]:
        stop(f"--time {time}: the record ends at {record.start['duration_s']:g} s")
    direction = int(up)
    if target.suffix == ".gif":
        with writing(target):
            maps.film(record, what, direction, target)
    elif target.suffix == ".geojson":
        with writing(target):
            maps.write_geojson(record, what, direction, t_s, target, None if beside is None else _open(beside))
    else:
        save(maps.draw(record, what, direction, t_s, None if beside is None else _open(beside)), target)
    print(f"map: {target}")


@command.command("report")
def report_(
    out: RecordArg,
    beside: BesideOption = None,
    file: Annotated[Path | None, typer.Option("--out", help="Page to write; default: OUT/report.html.")] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Only from this time on (cells, not links and hours).")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only up to this time.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report page of a record, or of two side by side."""
    from perigee_lab.demand import report

    window = None if since is None and until is None else (_time(since, 0.0), _time(until, math.inf))
    record = _open(out, window)
    other = None if beside is None else _open(beside, window)
    page = file or out / ("report.html" if other is None else f"beside-{other.folder.name}.html")
    with writing(page):
        report.write(record, page, other)
    if as_json:
        print(json.dumps(report.as_json(record, other)))
        return
    for line in report.lines(record, other):
        print(line)
    print(f"report: {page}")


@command.command()
def background(
    out: RecordArg,
    file: Annotated[Path, typer.Option("--out", help="Table to write (CSV).")],
    time: Annotated[
        str | None, typer.Option(metavar="TIME", help="Start, such as 20h; default: the busiest interval.")
    ] = None,
    length: Annotated[str, typer.Option(metavar="TIME", help="Length.")] = "60s",
) -> None:
    """Write the loads at a time as background traffic for a packet-level scenario.

    Prints the section for the scenario, and the start of its sky.
    """
    from datetime import timedelta

    from perigee_lab.cli.options import seconds
    from perigee_lab.demand import background as loads_

    record = _open(out)
    found = loads_.loads(record, None if time is None else seconds(time), seconds(length))
    with writing(file):
        found.write(file)
    print(found.section(file.name), end="")
    print(f"# {timedelta(seconds=found.from_s)} after the start of {record.start['name']}")


def _time(text: str | None, default_s: float) -> float:
    from perigee_lab.cli.options import seconds

    return default_s if text is None else seconds(text)


def _open(folder: Path, window_s: tuple[float, float] | None = None) -> Record:
    """A complete record, or a part of its time. Raises DemandError otherwise."""
    from perigee_lab.demand.record import Record

    record = Record(folder)
    _ = record.manifest
    return record if window_s is None else record.between(*window_s)
