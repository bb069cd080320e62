# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee fit`: a scenario that replays a measured path."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import ForceOption, time_ns
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say


def command(
    given: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RECORDS...",
            help="Records, logs and captures: of quiet probes, and of downloads over the same path.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the scenario and its files.")] = ...,  # type: ignore[assignment]
    rates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recorded rates: a line in ms for each 1500 bytes (mahimahi).")
    ] = None,
    rates_back: Annotated[Path | None, typer.Option(metavar="FILE", help="The same for the return path.")] = None,
    delays: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Recorded one-way delays: a line in ms for each step (LeoReplayer)."),
    ] = None,
    rate_step: Annotated[str, typer.Option(help="Averaging interval of recorded rates.")] = "100ms",
    delay_step: Annotated[str, typer.Option(help="Time between recorded delays.")] = "10ms",
    rate: Annotated[str | None, typer.Option(help="Capacity, where records have none, such as 100Mbit.")] = None,
    rtt: Annotated[str | None, typer.Option(help="RTT, without probes and delays, such as 50ms.")] = None,
    queue: Annotated[str | None, typer.Option(help="Queue size, if known, such as 300kB.")] = None,
    on: Annotated[
        str | None, typer.Option("--on", metavar="CC", help="Flow used by the fit; the others validate it.")
    ] = None,
    score: Annotated[bool, typer.Option("--score/--no-score", help="Replay the records, and compare.")] = True,
    force: ForceOption = False,
) -> None:
    """Fit a scenario to a measured path.

    Estimates base RTT over time, jitter, losses, capacity and queue from records, and reports the quality of the fit.

    Recordings of a link (mahimahi, LeoReplayer) are --rates and --delays; other tools' logs and captures are imported.
    """
    from perigee_lab import _core
    from perigee_lab.common.files import refuse_file, writing
    from perigee_lab.measure.fit.command import fit as fit_path
    from perigee_lab.measure.fit.command import lines
    from perigee_lab.measure.fit.files import SCENARIO
    from perigee_lab.measure.fit.given import runs_of
    from perigee_lab.measure.fit.recording import Given
    from perigee_lab.measure.quantities import amount_bytes, rate_bps

    paths = given or []
    recorded = [f for f in (rates, rates_back, delays) if f is not None]
    if not paths and not recorded:
        stop("nothing to fit: give records, logs or captures, or recordings (--rates FILE --delays FILE)")
    if rates_back is not None and rates is None:
        stop("--rates-back requires --rates")
    refuse_file(out)
    if (out / SCENARIO).exists() and not force:
        stop(f"{out} has a fitted scenario, perhaps edited: pass --force to replace it, or choose another --out")
    capacity = None if rate is None else rate_bps(rate, "--rate")
    steps_s = time_ns("--rate-step", rate_step) / 1e9, time_ns("--delay-step", delay_step) / 1e9
    one_ms = None if rtt is None else time_ns("--rtt", rtt) / 1e6
    known = Given(rates, rates_back, delays, *steps_s, one_ms, capacity)
    if recorded and not paths and delays is None and rtt is None:
        stop("rates do not determine the RTT: give --delays FILE, a log of pings, or a value such as --rtt 50ms")
    names = " ".join(map(str, [*paths, *recorded]))
    try:
        with writing(out), tempfile.TemporaryDirectory() as scratch:
            found = fit_path(
                runs_of(paths, Path(scratch)), out, title=f"Replay of {names}", command=f"perigee fit {names}", on=on,
                score=score, rate_bps=capacity, given=known,
                queue_bytes=None if queue is None else amount_bytes(queue, "--queue"),
                tell=lambda text: say(text, file=sys.stderr) if sys.stderr.isatty() else None,
            )  # fmt: skip
    except _core.ScenarioError as error:
        stop(_of_scenario(str(error), out))
    for line in lines(found) if score else []:
        say(line)
    picture = f", side by side: {out / 'fit.png'}" if score else ""
    say(f"scenario: {found.scenario} (perigee run {found.scenario} --cc cubic,bbr){picture}")


OPTIONS = {
    "source.trace.rate_file": "--rates", "source.trace.reverse_rate_file": "--rates-back",
    "source.trace.delay_file": "--delays", "source.trace.rate_step": "--rate-step",
    "source.trace.delay_step": "--delay-step", "source.trace.rtt": "--rtt",
}  # fmt: skip


def _of_scenario(error: str, out: Path) -> str:
    """An error of a recording with the option that named it; other errors unchanged."""
    for key, option in OPTIONS.items():
        if f"{key}: " in error:
            return f"{option}: {error.partition(f'{key}: ')[2]}"
    return f"the fitted scenario in {out} cannot be run: {error}"
