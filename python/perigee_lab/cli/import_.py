# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee import`: recordings of other tools as records."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import ForceOption, check_free, time_ns
from perigee_lab.cli.output import output
from perigee_lab.cli.places import FromOption, ToOption, ends_of
from perigee_lab.cli.tables import print_record
from perigee_lab.common import quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import INTERRUPTED
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say

OutFolder = Annotated[Path | None, typer.Option(help="Folder of the record; default: a new one in runs/.")]


CcName = Annotated[
    str | None, typer.Option("--cc", metavar="NAME", help="Congestion control of its senders, if known.")
]


SampleOption = Annotated[str, typer.Option(help="Time between rows of the time series.")]


MOST_COLUMNS = 4
"""Maximum number of flows with a printed classification; the report has more."""


command = typer.Typer(no_args_is_help=True, help="Import captures, logs and networks.")


@command.command()
def capture(
    file: Annotated[Path, typer.Argument(help="Capture: pcap or pcapng, optionally compressed with gzip.")],
    at: Annotated[
        str | None,
        typer.Option(metavar="sender|receiver", help="Vantage point; default: detected from each handshake."),
    ] = None,
    cc: CcName = None,
    sample: SampleOption = "100ms",
    warmup: Annotated[str, typer.Option(help="Start of the metrics.")] = "0s",
    wireshark: Annotated[
        bool, typer.Option("--wireshark", help="Also count the findings of tshark's analysis, for comparison.")
    ] = False,
    out: OutFolder = None,
    force: ForceOption = False,
) -> int:
    """Make a record of a packet capture.

    Goodput, RTTs, bytes in flight and retransmissions of each TCP connection. Connections of QUIC are followed as far
    as they can be seen: handshake, sizes, spin bit.
    """
    from perigee_lab.measure.capture import PLACES, CaptureStopped, Reading, import_capture
    from perigee_lab.measure.store import UNKNOWN

    if at is not None and at not in PLACES:
        stop(f"--at {at!r}: must be {' or '.join(PLACES)}")
    times_ns = time_ns("--sample", sample), time_ns("--warmup", warmup, zero=True)
    reading = Reading(at, cc or UNKNOWN, *times_ns, wireshark=wireshark)
    started = time.perf_counter()
    try:
        size = file.stat().st_size if file.is_file() else 0
        with writing(out or file), _bar(file.name, size) as progress:
            folder = import_capture(file, reading, out, force=force, progress=progress)
    except CaptureStopped:
        return INTERRUPTED
    took_s = time.perf_counter() - started
    print_record(folder)
    if wireshark:
        _beside_wireshark(folder)
    if took_s > 2:
        say(f"{size / 1e6:.0f} MB in {took_s:.1f} s", file=sys.stderr)
    return 0


def _beside_wireshark(folder: Path) -> None:
    """Prints both classifications, with one line for each count."""
    from perigee_lab.common.terminal import empty_table, print_table, table_console
    from perigee_lab.measure import wireshark
    from perigee_lab.results.run import find_records

    found = wireshark.section(find_records(folder)[0])
    if found is None:
        return
    heads, *rows = found["table"]
    # IPv6 addresses have brackets, which would be markup in tables.
    console = table_console()
    table = empty_table("", *(quoting.cell(row[0]) for row in rows[:MOST_COLUMNS]), plain=not console.is_terminal)
    for k, head in enumerate(heads[1:], 1):
        whose = "ours" if k <= len(wireshark.OURS) else "Wireshark's"
        table.add_row(f"{whose}: {head}", *(quoting.cell(row[k]) for row in rows[:MOST_COLUMNS]))
        if k == len(wireshark.OURS):
            table.add_section()
    print_table(console, table)


@contextmanager
def _bar(name: str, size: int) -> Iterator[Callable[[int], bool] | None]:
    """A progress bar in bytes, if the output is a terminal."""
    from rich.console import Console

    console = Console(stderr=True, emoji=False)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=size)

        def show(done: int) -> bool:
            bar.update(task, completed=done)
            return True

        yield show


@command.command()
def log(
    file: Annotated[Path, typer.Argument(help="Log, optionally compressed with gzip.")],
    written_by: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="ping, qlog, ss, table, irtt, mtr, iperf3 or speedtest; default: detected."
        ),
    ] = None,
    interval: Annotated[str | None, typer.Option(help="Time between samples, where the log has no times.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Zone of dates without one: UTC, +01:00, Europe/London.")] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--column", metavar="NAME=WHAT", help="Meaning of a column of a table.")
    ] = None,
    units: Annotated[
        list[str] | None, typer.Option("--unit", metavar="NAME=UNIT", help="Unit of a column of a table.")
    ] = None,
    cc: CcName = None,
    warmup: Annotated[str, typer.Option(help="Start of the metrics.")] = "0s",
    out: OutFolder = None,
    force: ForceOption = False,
) -> None:
    """Make a record of another tool's log.

    Of ping, irtt, mtr, iperf3, speedtest, ss -ti, or CSV with named columns. Columns are recognised by common
    names; units that are not in the names must be given, and are never guessed.
    """
    from perigee_lab.measure.logs.model import Asked, zone_of
    from perigee_lab.measure.logs.reader import FORMATS
    from perigee_lab.measure.logs.record import import_log

    if written_by is not None and written_by not in FORMATS:
        stop(f"--format {written_by!r}: it may be {', '.join(FORMATS)}")
    request = Asked(
        None if interval is None else time_ns("--interval", interval),
        None if timezone is None else zone_of(timezone),
        _pairs("--column", columns),
        _pairs("--unit", units),
    )
    warmup_ns = time_ns("--warmup", warmup, zero=True)
    with writing(out or file):
        folder = import_log(file, request, out, written_by=written_by, cc=cc, warmup_ns=warmup_ns, force=force)
    print_record(folder)


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Parses values NAME=WHAT of an option into a dictionary."""
    found = {}
    for text in given or []:
        name, sign, what = text.rpartition("=")
        if not (sign and name and what):
            stop(f"{option} {text!r}: expected NAME=WHAT")
        found[name] = what
    return found


SourceFolder = Annotated[Path, typer.Argument(help="Folder of the other tool's state, or its file.")]


TimelineOut = Annotated[Path, typer.Argument(help="Timeline to write.")]


@command.command("hypatia")
def hypatia(
    source: SourceFolder,
    out: TimelineOut,
    origin: FromOption = None,
    target: ToOption = None,
    dynamic: Annotated[str | None, typer.Option(help="Folder of forwarding states, where there are several.")] = None,
    force: ForceOption = False,
) -> None:
    """Turn a state folder of Hypatia into a timeline."""
    _import_state("hypatia", source, out, ends_of(origin, target), dynamic, force=force)


@command.command("leoem")
def leoem(source: SourceFolder, out: TimelineOut, force: ForceOption = False) -> None:
    """Turn a path log of LeoEM into a timeline."""
    _import_state("leoem", source, out, [], None, force=force)


def _import_state(
    what: str, source: Path, out: Path, ends: list[tuple[str, str]], dynamic: str | None, *, force: bool
) -> None:
    from perigee_lab import _core

    check_free(out, force=force)
    with output(out) as partial:
        _core.import_state(what, source, partial, ends, dynamic)
    say(f"timeline: {out}")
