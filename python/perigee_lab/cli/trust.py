# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee trust`: Python files that scenarios and records may run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing


def command(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Python files; default: list them.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Take the answer back.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Allow a Python file to be run by scenarios and records.

    It is allowed as it is now; one that changes has to be allowed again.
    """
    from perigee_lab.extensions import trust
    from perigee_lab.extensions.plugins import existing

    with writing(trust.store()):
        for file in files or []:
            if not forget:
                trust.remember(existing(file))
            elif not trust.forget(file):
                stop(f"{file} is not remembered")
    rows = [{"file": f, "unchanged": trust.is_remembered(Path(f))} for f in trust.remembered()]
    if as_json:
        print(json.dumps({"store": str(trust.store()), "files": rows}, indent=1))
        return
    for r in rows:
        print(f"{r['file']}" + ("" if r["unchanged"] else "  (has changed or is gone: asked for again)"))
