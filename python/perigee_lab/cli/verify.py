# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee verify`: comparison of a record with a second run of its scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import JsonOption, TrustOption


def command(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder of a record, or an archive of perigee pack.")],
    rerun: Annotated[bool, typer.Option(help="Re-run the scenario, or only check the files.")] = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Re-run a record and compare every bit.

    Compares table hashes and re-derives summary.csv. Exit code 3: a difference was found; 5: nothing could be
    compared, as in an archive without tables with --no-rerun.
    """
    from perigee_lab.runs.verify import verify_command

    return verify_command(folder, rerun=rerun, trust=trust, as_json=as_json)
