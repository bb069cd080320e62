# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee run-job`: saved jobs, run here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import (
    ClusterOption,
    ForceOption,
    JobsOption,
    JsonOption,
    StoreOption,
    TrustOption,
    machines_of,
)


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Jobs or an archive of `perigee run --dry --save-job`.")],
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: a fresh runs/NAME.")] = None,
    force: ForceOption = False,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Run saved jobs, here or on another machine.

    The tables are identical.
    """
    from perigee_lab.cli.execution import Options, run_archive_command, run_job_command
    from perigee_lab.runs.archive import is_archive

    options = Options(machines_of(jobs, cluster, store), out, force, report, as_json)
    if is_archive(file):
        return run_archive_command(file, options, trust=trust)
    return run_job_command(file, options, trust=trust)
