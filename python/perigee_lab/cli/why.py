# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee why`: factors that limited the senders of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from perigee_lab.results.run import Run
    from perigee_lab.results.why import FlowLimits

MOST_FLOWS = 20
"""Maximum number of flows shown per run without --flow."""


def command(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder of a run, or of an import.")],
    flow: Annotated[
        str | None, typer.Option("--flow", metavar="F", help="One flow: its name, or its number from 1.")
    ] = None,
    cc: Annotated[str | None, typer.Option("--cc", metavar="A,B,C", help="Only these schemes.")] = None,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", help="Time span of a row.")] = 1.0,
    csv: Annotated[bool, typer.Option("--csv", help="Print a row per span, with the share of each limit.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Explain what limited the senders of a run.

    Prints the fraction of each flow's time under each limit: handshake, application, receive window, send buffer,
    congestion window (start, recovery, steady), pacing, outage, timeout. Covers the first record of each scheme; with
    --flow, the first record that contains the flow.
    """
    from perigee_lab.results.why import text

    if csv and as_json:
        stop("--csv and --json cannot be used together: use one of them")
    if not 0.001 <= every <= 1e6:
        stop(f"--every must be from 0.001 to 1000000 seconds; found {every:g}")
    found = _found(_chosen(folder, cc), flow)
    if not any(flows for _, flows in found):
        stop(f"{folder} has no TCP or QUIC flow that started")
    if as_json:
        print(text.dumped([item for run, flows in found for item in text.as_json(run, flows, every)]))
    elif csv:
        print(text.as_csv([row for run, flows in found for f in flows for row in text.rows(run, f, every)]), end="")
    else:
        say("\n\n".join(_shown(run, flows) for run, flows in found if flows))


def _found(runs: list[Run], flow: str | None) -> list[tuple[Run, list[FlowLimits]]]:
    """Limits of all flows in the first run of each scheme, or of one flow in the first run that has it.

    Raises RecordError if no run has the flow.
    """
    from perigee_lab.results.run import Results
    from perigee_lab.results.why import NoFlowError, limits, limits_of_flow

    if flow is None:
        return [(run, limits(run)) for run in Results(runs).firsts()]
    found: dict[str, tuple[Run, list[FlowLimits]]] = {}
    missing: list[NoFlowError] = []
    for run in runs:
        if run.cc in found:
            continue
        try:
            found[run.cc] = (run, [limits_of_flow(run, flow)])
        except NoFlowError as error:
            missing.append(error)
    if missing and not found:
        raise missing[0]
    return list(found.values())


def _shown(run: Run, flows: list[FlowLimits]) -> str:
    from perigee_lab.results.why import text

    more = len(flows) - MOST_FLOWS
    lines = text.text(run, flows[:MOST_FLOWS], seeds=True)
    return lines + (f"\n\n{more} more flows: use --flow F for one of them, --csv for all" if more > 0 else "")


def _chosen(folder: Path, cc: str | None) -> list[Run]:
    """Runs of all schemes, or of those in `cc`. Raises CommandError."""
    from perigee_lab.cli.options import names_of
    from perigee_lab.results.cells import CELLS, INDEX
    from perigee_lab.results.run import find_records
    from perigee_lab.runs.archive import is_archive

    if (folder / INDEX).exists():
        stop(f"{folder} is a sweep: use the folder of one of its cells, {folder}/{CELLS}/NAME")
    if is_archive(folder) and folder.is_file():
        stop(f"{folder} is an archive: run it with `perigee run {folder}`, then use the folder of the record")
    runs = find_records(folder)
    schemes = list(dict.fromkeys(r.cc for r in runs))
    names = names_of("--cc", cc)
    missing = [n for n in names if n not in schemes]
    if missing:
        stop(f"no run of {missing[0]!r} in {folder}: use one of {', '.join(schemes)}")
    return [r for r in runs if not names or r.cc in names]
