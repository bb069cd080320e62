# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee why`: the limits of senders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop

if TYPE_CHECKING:
    from perigee_lab.results.run import Run
    from perigee_lab.results.why import FlowLimits

MOST_FLOWS = 20
"""Flows of a run in the terminal without --flow."""


def command(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder of a run, or of an import.")],
    flow: Annotated[
        str | None, typer.Option("--flow", metavar="F", help="One flow: its name, or its number from 1.")
    ] = None,
    cc: Annotated[str | None, typer.Option("--cc", metavar="A,B,C", help="Only these schemes.")] = None,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", help="Length of the spans of rows.")] = 1.0,
    csv: Annotated[bool, typer.Option("--csv", help="Print a row per span, with the share of each limit.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Explain what limited the senders of a run.

    Shares of each flow's time by limit: handshake, application, receive window, send buffer,
    congestion window (start, recovery, steady), pacing, outage, timeout. Of --cc and seeds, the
    first seed of each scheme.
    """
    from perigee_lab.results.why import limits, limits_of_flow, text

    if not 0.001 <= every <= 1e6:
        stop(f"--every must be from 0.001 to 1000000 seconds; found {every:g}")
    runs = _chosen(folder, cc)
    found = [(run, [limits_of_flow(run, flow)] if flow is not None else limits(run)) for run in runs]
    if not any(flows for _, flows in found):
        stop(f"{folder} has no flow over TCP or QUIC that started")
    if as_json:
        print(text.dumped([item for run, flows in found for item in text.as_json(run, flows, every)]))
    elif csv:
        print(text.as_csv([row for run, flows in found for f in flows for row in text.rows(run, f, every)]), end="")
    else:
        print("\n\n".join(_shown(run, flows) for run, flows in found if flows))


def _shown(run: Run, flows: list[FlowLimits]) -> str:
    from perigee_lab.results.why import text

    more = len(flows) - MOST_FLOWS
    lines = text.text(run, flows[:MOST_FLOWS], seeds=True)
    return lines + (f"\n\n{more} more flows: --flow F shows one, --csv all" if more > 0 else "")


def _chosen(folder: Path, cc: str | None) -> list[Run]:
    """The first run of each scheme, or of those named. Raises CommandError."""
    from perigee_lab.cli.options import names_of
    from perigee_lab.results.run import Results, find_records

    firsts = Results(find_records(folder)).firsts()
    names = names_of("--cc", cc)
    missing = [n for n in names if n not in {r.cc for r in firsts}]
    if missing:
        stop(f"no run of {missing[0]!r} in {folder}; there are {', '.join(r.cc for r in firsts)}")
    return [r for r in firsts if not names or r.cc in names]
