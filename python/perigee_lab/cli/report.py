# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee report`: the report page of a record, or of several."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say


def command(
    folders: Annotated[
        list[Path], typer.Argument(help="Folder of a record; several: on one page.", metavar="FOLDER...")
    ],
    out: Annotated[Path | None, typer.Option(help="File to write; default: FOLDER/report.html.")] = None,
) -> None:
    """Regenerate the report page of a record, or of several on one page.

    Several folders, such as an import, an emulation and a simulation, become one page (--out). It names their runs
    by their folders, and time starts with the first flow of each run. Flows with the same number are compared.
    """
    from perigee_lab.results.joined import joined
    from perigee_lab.results.report import write_report
    from perigee_lab.results.run import find_records

    several = len(folders) > 1
    if several and out is None:
        stop("several folders have no page of their own: give the file to write, such as --out together.html")
    target = out or folders[0] / "report.html"
    started = time.perf_counter()
    with writing(target):
        write_report(joined(folders) if several else find_records(folders[0]), target)
    say(f"wrote {target} ({time.perf_counter() - started:.1f} s)")
