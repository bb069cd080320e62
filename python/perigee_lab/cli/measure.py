# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee measure`: a server and a client that measure the path between them."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli.tables import print_record
from perigee_lab.common import quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from perigee_lab.common.files import cannot_write, writing
from perigee_lab.common.messages import complain, say

if TYPE_CHECKING:
    pass

KeyFile = Annotated[Path | None, typer.Option(help="The shared key; default: the variable PERIGEE_MEASURE_KEY.")]

command = typer.Typer(no_args_is_help=True, help="Measure a real path: probes, downloads, uploads.")


@command.command()
def key(file: Annotated[Path, typer.Argument(help="File to write to; it must not exist.")]) -> None:
    """Create a key shared by server and client."""
    import os

    from perigee_lab.measure.net.protocol import new_key

    with writing(file):
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            stop(f"{file} exists, and keys are never replaced: choose another name, or use this key")
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(new_key() + "\n")
    say(f"{file}: copy it to the other end, and keep it secret: it authorises traffic from the server")


@command.command()
def serve(
    key_file: KeyFile = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP and UDP port; 0 = any free one.")] = 4620,
    host: Annotated[str, typer.Option(help="Address to listen on; default: all.")] = "",
    max_bytes: Annotated[str, typer.Option(help="Maximum bytes per transfer.")] = "10GB",
    max_time: Annotated[str, typer.Option(help="Maximum duration of a transfer.")] = "30min",
    max_daily: Annotated[str, typer.Option(help="Maximum bytes in 24 hours.")] = "1000GB",
    max_rate: Annotated[
        str | None, typer.Option(help="Maximum rate per connection and direction, such as 200Mbit.")
    ] = None,
) -> None:
    """Answer probes and transfers of clients with the key. Needs no root."""
    from perigee_lab.measure.net.kernel import schemes
    from perigee_lab.measure.net.limits import Limits
    from perigee_lab.measure.net.protocol import read_key
    from perigee_lab.measure.net.server import Server
    from perigee_lab.measure.quantities import amount_bytes, rate_bps, time_ns

    limits = Limits(
        transfer_bytes=amount_bytes(max_bytes, "--max-bytes"),
        transfer_ns=time_ns(max_time, "--max-time"),
        daily_bytes=amount_bytes(max_daily, "--max-daily"),
        rate_bytes_per_s=None if max_rate is None else max(1, rate_bps(max_rate, "--max-rate") // 8),
    )
    server = Server(read_key(key_file), host, port, limits)
    over = _until_signal()
    server.start()
    known = ", ".join(schemes()) or "its own"
    say(f"measure: port {server.port}, TCP and UDP; congestion controls for downloads: {known}", flush=True)
    over.wait()
    server.stop()
    counts = ", ".join(f"{n} {what}" for what, n in sorted(server.counts.items()))
    say(f"measure: served {counts or 'no client'}", file=sys.stderr)


@command.command()
def run(
    what: Annotated[str, typer.Argument(metavar="CAMPAIGN|HOST[:PORT]", help="Campaign file, or a server.")],
    server: Annotated[str | None, typer.Option(help="Server, if the campaign file has none.")] = None,
    key_file: KeyFile = None,
    pings: Annotated[str | None, typer.Option(help="Without a campaign file: duration of probes, such as 60s.")] = None,
    interval: Annotated[str, typer.Option(help="Time between probes.")] = "20ms",
    trains: Annotated[
        str | None, typer.Option(help="Trains of 20 packets, one a second, for this time: capacity of both directions.")
    ] = None,
    download: Annotated[str | None, typer.Option(help="Downloads of this size (10MB) or duration (20s).")] = None,
    upload: Annotated[str | None, typer.Option(help="Uploads of this size or duration.")] = None,
    cc: Annotated[str | None, typer.Option(help="Schemes of the senders, such as cubic,bbr.")] = None,
    streams: Annotated[int, typer.Option(min=1, max=64, help="Parallel connections of each transfer.")] = 1,
    beside: Annotated[bool, typer.Option("--beside", help="Also probe during transfers.")] = False,
    runs: Annotated[int, typer.Option(min=1, help="Cycles.")] = 1,
    sample: Annotated[str, typer.Option(help="Time between samples of TCP_INFO, 10ms to 10s.")] = "100ms",
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: a new one in runs/.")] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write records and report at the end.")] = True,
) -> int:
    """Run a measurement campaign (from a file or options).

    Repeated with the same --out, it resumes.
    """
    from perigee_lab.common.files import RecordError, fresh_folder, refuse_file
    from perigee_lab.measure.campaign import parsed, read_campaign
    from perigee_lab.measure.journal import Journal
    from perigee_lab.measure.net.protocol import MeasureError, read_key
    from perigee_lab.measure.runner import Runner
    from perigee_lab.measure.store import RUNS

    folder, journal = out or Path(), None
    try:
        secret = read_key(key_file)
        if what.endswith(".toml"):
            if pings or trains or download or upload or cc:
                stop(
                    "the campaign file defines the measurements: --pings, --trains, --download, --upload and --cc "
                    "are for HOST"
                )
            campaign = read_campaign(Path(what))
        else:
            lines = _written(what, pings, interval, trains, download, upload, cc, streams, sample, runs, beside=beside)
            try:
                campaign = parsed("\n".join(line for _, line in lines) + "\n", "measured")
            except MeasureError as error:
                raise MeasureError(_of_option(str(error), [option for option, _ in lines])) from None
        if out is not None:
            refuse_file(out)
        folder = out or fresh_folder(campaign.name, RUNS)
        journal = Journal(folder, campaign.text)
        over = _until_signal()
        runner = Runner(campaign, journal, secret, server, _say, over)
        runner.run()
    except (MeasureError, OSError, RecordError) as error:
        complain(cannot_write(out or Path(), error) if isinstance(error, OSError) else str(error))
        _conclude(folder if report and journal is not None else None)
        return BAD_INPUT if isinstance(error, MeasureError) else FAILED
    code = INTERRUPTED if over.is_set() else FAILED if runner.given_up else 0
    if not report:
        say(f"measured: {folder}; perigee measure report {folder} writes its records")
        return code
    if over.is_set():
        say(f"stopped; the same command with --out {folder} resumes", file=sys.stderr)
    _conclude(folder)
    return code


def _conclude(folder: Path | None) -> None:
    """Writes the records of a measurement, however it ended."""
    from perigee_lab.common.files import RecordError
    from perigee_lab.measure.journal import FOLDER
    from perigee_lab.measure.measured import write_records

    if folder is None:
        return
    if not any((folder / FOLDER).glob("*.npz")):
        complain(f"nothing was measured yet: no record in {folder}")
        return
    try:
        write_records(folder)
    except (OSError, RecordError) as error:
        # The measurement is stored: `perigee measure report` writes its records later.
        why = cannot_write(folder, error) if isinstance(error, OSError) else error
        complain(f"{why}; measurements so far are in {folder}")
        return
    print_record(folder)


@command.command()
def report(folder: Annotated[Path, typer.Argument(help="Folder of a campaign, running or complete.")]) -> int:
    """Write records and report of the measurements so far.

    Damaged measurements are listed and skipped; the exit code is then 1.
    """
    from perigee_lab.measure.measured import write_records

    damaged: list[str] = []
    with writing(folder):
        write_records(folder, tell=damaged.append)
    print_record(folder)
    return FAILED if damaged else 0


def _say(text: str) -> None:
    say(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _until_signal() -> threading.Event:
    """Set by Ctrl-C and SIGTERM; a second one ends the command at once."""
    over = threading.Event()

    def handle(number: int, frame: object) -> None:
        if over.is_set():
            raise SystemExit(128 + number)
        over.set()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return over


def _written(
    server: str, pings: str | None, interval: str, trains: str | None, download: str | None, upload: str | None,
    cc: str | None, streams: int, sample: str, runs: int, *, beside: bool,
) -> list[tuple[str, str]]:  # fmt: skip
    """The lines of a campaign file for the options, each with its option."""
    from perigee_lab.measure.net.protocol import MeasureError

    if not (pings or trains or download or upload):
        raise MeasureError(
            "nothing to measure: give --pings 60s, --trains 60s, --download 10MB, --upload 10MB or a campaign file"
        )
    if (streams > 1 or cc) and not (download or upload):
        raise MeasureError("--cc and --streams need --download or --upload")
    if beside and not (download or upload):
        raise MeasureError("--beside needs --download or --upload")
    lines = [("", "[campaign]"), ("HOST", f"server = {quoting.toml(server)}"), ("--runs", f"cycles = {runs}")]
    probes = [("", "[[step]]"), ("", 'do = "pings"'), ("--interval", f"interval = {quoting.toml(interval)}")]
    if pings:
        lines += [*probes, ("--pings", f"duration = {quoting.toml(pings)}")]
    if trains:
        lines += [("", "[[step]]"), ("", 'do = "trains"'), ("--trains", f"duration = {quoting.toml(trains)}")]
    for do, size in (("download", download), ("upload", upload)):
        for scheme in (cc or "").split(",") if size else []:
            key = "bytes" if size and size.rstrip().endswith("B") else "duration"
            lines += [("", "[[step]]"), ("", f'do = "{do}"'), (f"--{do}", f"{key} = {quoting.toml(size or '')}")]
            lines += [("--streams", f"streams = {streams}"), ("--sample", f"sample = {quoting.toml(sample)}")]
            lines += [("--cc", f"cc = {quoting.toml(scheme)}")] if scheme else []
            lines += [*probes, ("--beside", "beside = true")] if beside else []
    return lines


def _of_option(error: str, options: list[str]) -> str:
    """An error in a generated campaign file, in terms of the option for its line."""
    found = re.match(r"\[.*?, line (\d+): (?:\w+ = )?(.*)", error, re.DOTALL)
    option = options[int(found[1]) - 1] if found else ""
    return f"{option} {found[2]}" if found and option else error
