# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee report`: the report page of a record."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.common.files import writing


def command(
    folder: Annotated[Path, typer.Argument(help="Folder of a record.")],
    out: Annotated[Path | None, typer.Option(help="File to write; default: FOLDER/report.html.")] = None,
) -> None:
    """Regenerate the report page of a record."""
    from perigee_lab.results.report import write_report
    from perigee_lab.results.run import find_records

    target = out or folder / "report.html"
    started = time.perf_counter()
    with writing(target):
        write_report(find_records(folder), target)
    print(f"wrote {target} ({time.perf_counter() - started:.1f} s)")
