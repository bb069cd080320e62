# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee fit`: a scenario that replays a measured path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perigee.cli.options import stop


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command()(fit)


def fit(
    records: Annotated[
        list[Path], typer.Argument(help="Records: of quiet probes, and of downloads over the same path.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the scenario and its files.")],
    rate: Annotated[str | None, typer.Option(help="Capacity, where no flow tells it, such as 100Mbit.")] = None,
    on: Annotated[
        str | None, typer.Option("--on", metavar="CC", help="Flow that the fit sees; the others check it.")
    ] = None,
    score: Annotated[bool, typer.Option("--score/--no-score", help="Replay and compare.")] = True,
) -> None:
    """Make a scenario of a record: base RTT over time, jitter, losses, capacity, queue; and say how well."""
    from perigee import _core
    from perigee.common.files import RecordError, cannot_write, refuse_file
    from perigee.measure.fit.command import fit as fit_path
    from perigee.measure.fit.command import lines
    from perigee.measure.net.protocol import MeasureError
    from perigee.measure.quantities import rate_bps
    from perigee.results.record import find_records

    try:
        refuse_file(out)
        runs = [r for folder in records for r in find_records(folder)]
        names = " ".join(map(str, records))
        found = fit_path(
            runs, out, title=f"Replay of {names}", command=f"perigee fit {names}", on=on, score=score,
            rate_bps=None if rate is None else rate_bps(rate, "--rate"),
            tell=lambda text: print(text, file=sys.stderr) if sys.stderr.isatty() else None,
        )  # fmt: skip
    except (MeasureError, RecordError) as error:
        stop(str(error))
    except _core.ScenarioError as error:
        stop(f"the fitted scenario in {out} cannot be run: {error}")
    except OSError as error:
        stop(cannot_write(out, error))
    for line in lines(found) if score else []:
        print(line)
    picture = f", side by side: {out / 'fit.png'}" if score else ""
    print(f"scenario: {found.scenario} (perigee run {found.scenario} --cc cubic,bbr){picture}")
