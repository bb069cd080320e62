# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee import`: what others recorded, as records."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli.options import ForceOption, count, stop
from perigee_lab.common import quoting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from perigee_lab.results.record import Run

OutFolder = Annotated[Path | None, typer.Option(help="Folder of the record; default: a new one in runs/.")]
CcName = Annotated[
    str | None, typer.Option("--cc", metavar="NAME", help="Congestion control of its senders, if you know it.")
]
SampleOption = Annotated[str, typer.Option(help="Time between rows of the time series.")]

MOST_COLUMNS = 4
"""Flows whose classification is printed; the report has more."""

group = typer.Typer(
    no_args_is_help=True, help="Turn what others recorded into records, and their networks into timelines."
)


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.add_typer(group, name="import")


@group.command()
def capture(
    file: Annotated[Path, typer.Argument(help="Capture: pcap or pcapng, compressed with gzip or not.")],
    at: Annotated[
        str | None,
        typer.Option(metavar="sender|receiver", help="Where it was taken; default: found from each handshake."),
    ] = None,
    cc: CcName = None,
    sample: SampleOption = "100ms",
    warmup: Annotated[str, typer.Option(help="Metrics leave out what is before this.")] = "0s",
    wireshark: Annotated[
        bool, typer.Option("--wireshark", help="Also count what tshark's analysis finds, beside ours.")
    ] = False,
    out: OutFolder = None,
    force: ForceOption = False,
) -> None:
    """Make a record of a capture: goodput, RTTs, bytes in flight, retransmissions of each TCP connection.

    Connections of QUIC are followed as far as they can be seen: handshake, sizes, spin bit.
    """
    from perigee_lab.common.files import RecordError, cannot_write
    from perigee_lab.measure.capture import PLACES, CaptureStopped, Reading, import_capture
    from perigee_lab.measure.store import UNKNOWN

    if at is not None and at not in PLACES:
        stop(f"--at {at!r}: a capture is taken at the {' or the '.join(PLACES)}")
    times_ns = time_ns("--sample", sample), time_ns("--warmup", warmup, zero=True)
    reading = Reading(at, cc or UNKNOWN, *times_ns, wireshark=wireshark)
    begin = time.perf_counter()
    try:
        size = file.stat().st_size if file.is_file() else 0
        with _bar(file.name, size) as progress:
            folder = import_capture(file, reading, out, force=force, progress=progress)
    except RecordError as error:
        stop(str(error))
    except CaptureStopped:
        raise SystemExit(130) from None
    except OSError as error:
        stop(cannot_write(out or file, error))
    took_s = time.perf_counter() - begin
    tell(folder)
    if wireshark:
        _beside_wireshark(folder)
    if took_s > 2:
        print(f"{size / 1e6:.0f} MB in {took_s:.1f} s", file=sys.stderr)


def _beside_wireshark(folder: Path) -> None:
    """The classification of both, a line for each number."""
    from rich.console import Console
    from rich.table import Table

    from perigee_lab.measure import wireshark
    from perigee_lab.results.record import find_records

    found = wireshark.section(find_records(folder)[0])
    if found is None:
        return
    heads, *rows = found["table"]
    # Addresses of IPv6 are in brackets, which mean something else to tables.
    table = Table("", *(quoting.cell(row[0]) for row in rows[:MOST_COLUMNS]))
    for k, head in enumerate(heads[1:], 1):
        whose = "ours" if k <= len(wireshark.OURS) else "Wireshark's"
        table.add_row(f"{whose}: {head}", *(quoting.cell(row[k]) for row in rows[:MOST_COLUMNS]))
        if k == len(wireshark.OURS):
            table.add_section()
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def time_ns(option: str, text: str, *, zero: bool = False) -> int:
    """A time with its unit, such as 100ms, in ns."""
    from perigee_lab.runs.trace import TraceError, nanoseconds

    try:
        found = nanoseconds(text, option)
    except TraceError as error:
        stop(str(error))
    if found <= 0 and not (zero and found == 0):
        stop(f"{option} {text!r}: more than 0 is wanted")
    return found


def tell(folder: Path) -> None:
    """The table of a record, what to look at before trusting it, and where it is."""
    from rich.console import Console

    from perigee_lab.cli.commands import scheme_table
    from perigee_lab.results.beside import beside, said_once
    from perigee_lab.results.flow_file import where
    from perigee_lab.results.record import find_records
    from perigee_lab.results.summary import about_seeds, by_scheme

    runs = find_records(folder)
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(scheme_table(by_scheme(runs), width=console.width, plain=not console.is_terminal))
    for line in [*beside(runs), *about_seeds(runs), *_facts(runs[0])]:
        print(line)
    remarks = [w for r in runs for w in r.manifest.warnings]
    if remarks:
        print("Look before you trust:")
        for remark in said_once(remarks):
            print(f"  {remark}")
    for line in where(folder):
        print(line)
    print(f"record: {folder}, report: {folder / 'report.html'}")


def _facts(run: Run) -> list[str]:
    m = run.manifest
    began = m["measured"]["began"] if m["measured"]["began_ns"] else "unknown"
    return [f"{count(run.rows('flow_totals'), 'flow')}, {m.duration_ns / 1e9:g} s; time 0 is {began}"]


@contextmanager
def _bar(name: str, size: int) -> Iterator[Callable[[int], bool] | None]:
    """A progress bar in bytes, on a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
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

        def tell(done: int) -> bool:
            bar.update(task, completed=done)
            return True

        yield tell


@group.command()
def log(
    file: Annotated[Path, typer.Argument(help="Log, compressed with gzip or not.")],
    written_by: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="ping, qlog, ss, table, irtt, mtr, iperf3 or speedtest; default: found."
        ),
    ] = None,
    interval: Annotated[str | None, typer.Option(help="Time between samples, where the log has no times.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Of dates without one: UTC, +01:00, Europe/London.")] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--column", metavar="NAME=WHAT", help="What a column of a table is.")
    ] = None,
    units: Annotated[
        list[str] | None, typer.Option("--unit", metavar="NAME=UNIT", help="Unit of a column of a table.")
    ] = None,
    cc: CcName = None,
    warmup: Annotated[str, typer.Option(help="Metrics leave out what is before this.")] = "0s",
    out: OutFolder = None,
    force: ForceOption = False,
) -> None:
    """Make a record of what another tool logged: ping, irtt, mtr, iperf3, speedtest, ss -ti, CSV with named columns.

    Columns are known by usual names; units that their names do not say are asked for, never guessed.
    """
    from perigee_lab.common.files import RecordError, cannot_write
    from perigee_lab.measure.logs.model import Asked, LogError, zone_of
    from perigee_lab.measure.logs.reader import FORMATS
    from perigee_lab.measure.logs.record import import_log

    if written_by is not None and written_by not in FORMATS:
        stop(f"--format {written_by!r}: it may be {', '.join(FORMATS)}")
    try:
        asked = Asked(
            None if interval is None else time_ns("--interval", interval),
            None if timezone is None else zone_of(timezone),
            _pairs("--column", columns),
            _pairs("--unit", units),
        )
        warmup_ns = time_ns("--warmup", warmup, zero=True)
        folder = import_log(file, asked, out, written_by=written_by, cc=cc, warmup_ns=warmup_ns, force=force)
    except (LogError, RecordError) as error:
        stop(str(error))
    except OSError as error:
        stop(cannot_write(out or file, error))
    tell(folder)


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """NAME=WHAT, as a dictionary."""
    found = {}
    for text in given or []:
        name, sign, what = text.rpartition("=")
        if not (sign and name and what):
            stop(f"{option} {text!r}: NAME=WHAT is wanted")
        found[name] = what
    return found
