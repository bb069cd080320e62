# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee pack`: records and everything that they need, in one file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import ForceOption, JsonOption, check_free, count
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say


def command(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder of a record.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: OUT.perigee.")] = None,
    records: Annotated[bool, typer.Option("--records", help="Include the tables, and not only their hashes.")] = False,
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", metavar="FILE", help="A further file, such as a notebook or a plot; repeatable."),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Pack a record into one file that runs and verifies anywhere.

    It has the scenario, its inputs and Python sources, seeds, versions and the hashes of all tables. Files of --add
    are listed with their checksums and never run.
    Next: perigee verify FILE, perigee run FILE.
    """
    from perigee_lab.runs.archive import SUFFIX, is_archive
    from perigee_lab.runs.packing import pack

    target = out or Path(f"{folder.resolve().name}{SUFFIX}")
    if not is_archive(target):
        stop(f"-o {target}: the name of an archive must end in {SUFFIX}")
    check_free(target, force=force)
    with writing(target):
        made = pack(folder, target, tables=records, added=add or ())
    if as_json:
        data = {"archive": str(made.path), "sha256": made.sha256, "bytes": made.size, "code": list(made.code)}
        data["added"] = [asdict(e) for e in made.added]
        print(json.dumps({**data, "files": made.files, "records": made.records, "tables": made.tables}, indent=1))
        return
    tables = "with their tables" if made.tables else "hashes of tables only; --records adds the tables"
    say(
        f"{target}: {count(made.records, 'record')} ({tables}), {count(made.files, 'input file')}, "
        f"{made.size / 1e6:.1f} MB, hash {made.sha256[:16]}"
    )
    for entry in made.added:
        say(f"{entry.name}: {count(entry.size, 'byte')}, SHA-256 {entry.sha256}")
    if made.code:
        say(f"code: {', '.join(made.code)}; it runs elsewhere with --trust")
