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
from perigee_lab.common.messages import say


def command(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Python files or archives; default: list them.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Withdraw the consent.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Allow Python code of scenarios, records and archives to run.

    Consent covers the current content: changed code must be allowed again.
    """
    from perigee_lab.extensions import trust
    from perigee_lab.extensions.plugins import existing
    from perigee_lab.runs.archive import is_archive

    with writing(trust.store()):
        for file in files or []:
            if is_archive(file):
                _archive(file, forget=forget)
            elif not forget:
                trust.remember(existing(file))
            elif not trust.forget(file):
                stop(f"{file} is not trusted")
    rows = [{"file": f, "unchanged": trust.is_remembered(Path(f))} for f in trust.remembered()]
    archives = [{"file": f, "sha256": sha256} for sha256, f in trust.archives().items()]
    if as_json:
        print(json.dumps({"store": str(trust.store()), "files": rows, "archives": archives}, indent=1))
        return
    for r in rows:
        why = ", ".join(trust.changes(Path(str(r["file"])))) or "has changed or is missing"
        say(f"{r['file']}" + ("" if r["unchanged"] else f"  ({why}: must be allowed again)"))
    for a in archives:
        say(f"{a['file']}  (archive {a['sha256'][:16]}, wherever it is)")


def _archive(file: Path, *, forget: bool) -> None:
    from perigee_lab.extensions import trust
    from perigee_lab.runs.archive import open_archive

    found = open_archive(file)
    if not forget:
        trust.remember_archive(found.sha256, file)
    elif not trust.forget_archive(found.sha256):
        stop(f"{file} is not trusted")
