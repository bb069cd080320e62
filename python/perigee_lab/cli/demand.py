# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee demand`: users of a constellation as a fluid."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.options import (
    JsonOption,
    ScenarioArg,
    SetOption,
    SweptOption,
    TleOption,
    TrustOption,
    ZipOption,
    count,
)
from perigee_lab.cli.output import save
from perigee_lab.common import names
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from perigee_lab.demand.paired import Paired
    from perigee_lab.demand.record import Progress, Record
    from perigee_lab.results.cells import Cell

command = typer.Typer(help="Allocate the capacity of a constellation to all its users.", no_args_is_help=True)

LEAST_SHOWN = 0.01
"""Share of its traffic that a cell gains or loses to be listed."""

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
        say(line)
    say(f"report: {page}")


@contextmanager
def _begin_cell(cell: Cell) -> Iterator[Callable[[Progress], Callable[[], None]]]:
    """The progress bar of a cell of a sweep."""
    typer.echo(cell.folder, err=True)
    with ExitStack() as stack:
        yield _begin(stack)


def _begin(stack: ExitStack) -> Callable[[Progress], Callable[[], None]]:
    """A progress bar, entered when the number of chunks is known."""
    from perigee_lab.cli.output import progress

    def begin(found: Progress) -> Callable[[], None]:
        if found.done:
            typer.echo(f"resuming: {found.done} of {found.chunks} chunks already complete", err=True)
        return stack.enter_context(progress(f"parts of {found.chunk_s:g} s of the demand", found.chunks - found.done))

    return begin


@command.command("map")
def map_(
    out: RecordArg,
    what: Annotated[str, typer.Option("--map", help="rate, below, unserved, load, or lost (with --beside).")] = "rate",
    file: Annotated[
        Path | None, typer.Option("--out", help="Map to write: .png, .svg, .pdf, .gif, .mp4, .geojson.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Instant, such as 20h; default: mean over the run; for load, its busiest interval."
        ),
    ] = None,
    up: Annotated[bool, typer.Option("--up", help="Traffic from the terminals instead of traffic to them.")] = False,
    beside: BesideOption = None,
) -> None:
    """Map rates and unserved demand of cells, or the load of links."""
    from perigee_lab.cli.options import seconds
    from perigee_lab.demand import maps
    from perigee_lab.results.checked import consistent
    from perigee_lab.sky.over_time_maps import FILMS

    if what not in maps.MAPS:
        stop(f"--map: {what!r} is none of {', '.join(maps.MAPS)}")
    if (what == "lost") != (beside is not None):
        stop("--map lost requires --beside OUT2, and no other map accepts it")
    record = _open(out)
    target = file or Path(f"{names.as_folder(record.start['name'])}-{what}.png")
    forms = (".png", ".svg", ".pdf", *FILMS, ".geojson")
    if target.suffix not in forms:
        stop(f"--out {target}: the name must end in one of {', '.join(forms)}")
    t_s = None if time is None else seconds(time)
    if t_s is not None and t_s >= record.start["duration_s"]:
        stop(f"--time {time}: the record ends at {record.start['duration_s']:g} s")
    direction = int(up)
    instant = None if t_s is None else (t_s, math.nextafter(t_s, math.inf))
    other = None if beside is None else _same_times(record, _open(beside), instant)
    with consistent(out):
        if target.suffix in FILMS:
            with writing(target):
                maps.film(record, what, direction, target)
        elif target.suffix == ".geojson":
            with writing(target):
                maps.write_geojson(record, what, direction, t_s, target, other)
        else:
            save(maps.draw(record, what, direction, t_s, other), target)
    say(f"map: {target}")


def _same_times(record: Record, other: Record, window: tuple[float, float] | None) -> Record:
    """The other record, if both have the same times, or all times of the window."""
    ends = [r.start["duration_s"] for r in (record, other)]
    until_s = max(ends) if window is None else window[1]
    if record.start["start"] != other.start["start"] or (ends[0] != ends[1] and until_s > min(ends)):
        spans = [f"{r.folder} has {r.start['duration_s']:g} s from {r.start['start']}" for r in (record, other)]
        stop(
            f"--beside: {spans[0]}, {spans[1]}: only equal times are compared; choose an earlier one, or run both again"
        )
    return other


@command.command("report")
def report_(
    out: RecordArg,
    beside: BesideOption = None,
    file: Annotated[Path | None, typer.Option("--out", help="Page to write; default: OUT/report.html.")] = None,
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Only from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only up to this time.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report page of a record, or of two side by side."""
    from perigee_lab.demand import report
    from perigee_lab.results.checked import consistent

    window = None if since is None and until is None else (_time(since, 0.0), _time(until, math.inf))
    record = _open(out, window)
    other = None if beside is None else _same_times(record, _open(beside, window), window)
    page = file or out / ("report.html" if other is None else f"beside-{other.folder.name}.html")
    with writing(page), consistent(out):
        report.write(record, page, other)
        data = json.dumps(report.as_json(record, other)) if as_json else ""
        lines = report.lines(record, other)
    if as_json:
        print(data)
        return
    for line in lines:
        say(line)
    say(f"report: {page}")


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
    from perigee_lab.results.checked import consistent

    record = _open(out)
    with consistent(out):
        found = loads_.loads(record, None if time is None else seconds(time), seconds(length))
    with writing(file):
        found.write(file)
    say(found.section(file.name), end="")
    say(f"# {timedelta(seconds=found.from_s)} after the start of {record.start['name']}")


@command.command()
def sweep(
    scenario: ScenarioArg,
    out: Annotated[Path, typer.Option(help="Folder for the records and sweep.csv.")],
    tle: TleOption = None,
    sets: SweptOption = None,
    zip_values: ZipOption = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default: one per core).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute a demand with every combination of some values.

    Values of keys (--set KEY=A,B,C) and of the scenario's [sweep]. An interrupted call resumes;
    `perigee demand compare` compares two of the records.
    """
    from perigee_lab.cli.sweep import split
    from perigee_lab.common.files import claimed
    from perigee_lab.demand import sweep as sweeps

    single, axes = split(sets or [], zip_values)
    single += given.elements(tle)
    with writing(out), given.problems(as_json=as_json):
        planned = sweeps.plan(scenario, single, axes, zip_values=zip_values, trust=trust)
        with claimed(out):
            found = sweeps.execute(planned, out, force=force, threads=threads, begin=_begin_cell)
    if as_json:
        rows = json.loads(found.to_json(orient="records"))
        shown = {"out": str(out), "keys": [a.key for a in planned.index.axes], "cells": rows}
        print(json.dumps(shown | ({"warnings": planned.warnings} if planned.warnings else {}), indent=1))
        return
    _print_sweep(found, [a.key for a in planned.index.axes])
    if planned.warnings:
        say("Warnings:\n  " + "\n  ".join(planned.warnings))
    say(f"table: {out / 'sweep.csv'}, a row per combination; its column folder names the record")


def _print_sweep(found: pd.DataFrame, keys: list[str]) -> None:
    """The metrics that differ between the cells, and those that are always of interest."""
    from perigee_lab.common import quoting
    from perigee_lab.common.terminal import empty_table, print_table, table_console
    from perigee_lab.demand.paired import METRICS

    always = ("served_gbps", "served_pct", "below_pct", "rate_mbps", "rtt_ms")
    names = [n for n in METRICS if n in found and (n in always or found[n].nunique() > 1)]
    console = table_console()
    table = empty_table(plain=not console.is_terminal)
    for key in keys:
        table.add_column(quoting.cell(key), no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for row in found.to_dict("records"):
        table.add_row(*(quoting.cell(str(row[k])) for k in keys), *(_number(row[n]) for n in names))
    print_table(console, table)
    print("means over the run, traffic to the terminals; sweep.csv has the other direction as well")


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


@command.command("compare")
def compare_(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder of perigee demand run.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one, of the same time.")],
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Only from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only up to this time.")] = None,
    up: Annotated[bool, typer.Option("--up", help="Traffic from the terminals instead of traffic to them.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the differences as CSV.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two records interval by interval and cell by cell."""
    if as_csv and as_json:
        stop("--csv and --json exclude each other: give only one", 2)
    window = None if since is None and until is None else (_time(since, 0.0), _time(until, math.inf))
    compare_records(_open(a, window), _open(b, window), int(up), as_csv=as_csv, as_json=as_json)


def compare_records(a: Record, b: Record, direction: int = 0, *, as_csv: bool = False, as_json: bool = False) -> None:
    """Prints the paired differences of two records."""
    from perigee_lab.demand import paired
    from perigee_lab.results.checked import consistent

    with consistent(a.folder):
        found = paired.compare(a, b, direction)
    if as_csv:
        print("metric,unit,a,b,difference,p5,p95,more_pct,less_pct")
        for row in found.rows:
            numbers = (row.a, row.b, row.difference, row.p5, row.p95, row.more_pct, row.less_pct)
            say(",".join([row.metric, row.unit, *("" if math.isnan(n) else f"{n:.7g}" for n in numbers)]))
    elif as_json:
        print(json.dumps({"a": str(a.folder), "b": str(b.folder), **found.as_data()}, indent=1))
    else:
        _print_paired(found, a, b)


def _print_paired(found: Paired, a: Record, b: Record) -> None:
    from perigee_lab.common import quoting
    from perigee_lab.common.terminal import empty_table, print_table, table_console
    from perigee_lab.demand.paired import GAIN, METRICS

    console = table_console(160)
    table = empty_table(plain=not console.is_terminal)
    for name in ("metric", "unit"):
        table.add_column(name, no_wrap=True)
    for name in ("A", "B", "B - A", "5 % to 95 %", "B more", "B less"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in found.rows:
        spread = f"{_number(row.p5)} to {_number(row.p95)}"
        shares = (f"{row.more_pct:.0f} %", f"{row.less_pct:.0f} %")
        difference = "-" if math.isnan(row.difference) else f"{row.difference:+.4g}"
        table.add_row(
            METRICS[row.metric][0], row.unit, _number(row.a), _number(row.b), difference, spread, *shares
        )  # fmt: skip
    print_table(console, table)
    say(f"A: {quoting.cell(str(a.folder))}; B: {quoting.cell(str(b.folder))}")
    say(
        f"{count(found.intervals, 'interval')}, {found.direction}: means, 5th to 95th percentile of the differences "
        "over the intervals, and"
    )
    print(
        "share of the intervals in which B has more or less. A demand has no random events: there is nothing to test."
    )
    if found.cells is None:
        print("The cells of the records differ: no comparison by cell")
        return
    of = found.by_share()
    say(
        f"{of['gain']:,.0f} terminals are in cells that gain {GAIN:.0%} or more of their traffic, {of['lose']:,.0f} in "
        f"cells that lose as much, {of['keep']:,.0f} in others"
    )
    ends = (("lose", found.cells.head(3)), ("gain", found.cells.tail(3)[::-1]))
    for what, rows in ends:
        sign = -1 if what == "lose" else 1
        named = [
            f"{quoting.cell(str(r['cell']))} {r['difference_bps'] / 1e6:+,.0f} Mbit/s ({r['change']:+.0%})"
            for r in rows.to_dict("records")
            if sign * r["change"] >= LEAST_SHOWN
        ]
        if named:
            say(f"most to {what}: {'; '.join(named)}")


def _time(text: str | None, default_s: float) -> float:
    from perigee_lab.cli.options import seconds

    return default_s if text is None else seconds(text)


def _open(folder: Path, window_s: tuple[float, float] | None = None) -> Record:
    """A complete record, or a part of its time. Raises DemandError otherwise."""
    from perigee_lab.demand.record import Record

    record = Record(folder)
    _ = record.manifest
    return record if window_s is None else record.between(*window_s)
