# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee trace`: the packets of a flow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import TrustOption


def command(
    folder: Annotated[
        Path, typer.Argument(help="Folder of the record of one run (RECORD/SCHEME/seedN), or of several.")
    ],
    flow: Annotated[str, typer.Option(help="Number of the flow, from 1, or its name.")] = "1",
    begin: Annotated[str, typer.Option("--from", help="Start, such as 14.9s.")] = "0s",
    end: Annotated[str | None, typer.Option("--to", help="End; default: a second later.")] = None,
    cc: Annotated[str | None, typer.Option(help="Scheme, where the record has several.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed, where the record has several.")] = None,
    at: Annotated[str, typer.Option(help="Point of observation: sender, receiver or both.")] = "sender",
    csv: Annotated[bool, typer.Option("--csv", help="CSV instead of text.")] = False,
    qlog: Annotated[Path | None, typer.Option(help="Write a qlog file instead.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write text or CSV to this file.")] = None,
    trust: TrustOption = False,
) -> None:
    """Print the packets of a flow in a time span.

    Re-runs the simulation.
    """
    from perigee_lab.runs.trace import Wanted, trace_command

    wanted = Wanted(flow, begin, end, cc, seed, at, trust)
    trace_command(folder, wanted, as_csv=csv, qlog=qlog, out=out)
