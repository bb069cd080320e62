# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee diff`: differences between two saved timelines."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import JsonOption, seconds
from perigee_lab.common.errors import stop

DIFFERENT = 3


def command(
    a: Annotated[Path, typer.Argument(help="A saved timeline.")],
    b: Annotated[Path, typer.Argument(help="Another.")],
    step: Annotated[str, typer.Option(help="Time between compared instants.")] = "100ms",
    tolerance: Annotated[str, typer.Option(help="Maximum time difference of matching events.")] = "200ms",
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Compare the node OLD of either as NEW, e.g. end1=london; repeatable."),
    ] = None,
    shell: Annotated[
        str | None,
        typer.Option(metavar="24x66", help="Planes and slots of a shell: compare node N as its satellite sat-P-S."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Compare two saved timelines.

    Paths, delays, ports and events of their common pairs. Exit code 3 if they differ.
    """
    from perigee_lab import _core
    from perigee_lab.sky import exchange

    for folder in (f for f in (a, b) if f.is_dir()):
        stop(f"{folder} is a folder: perigee compare compares records, perigee diff saved timelines")
    names = exchange.Names(_renamed(rename or []), _grid(shell))
    try:
        found = exchange.diff(a, b, step_s=seconds(step), tolerance_s=seconds(tolerance), names=names)
    except _core.RunError as error:
        stop(error.args[0])
    print(json.dumps(found, indent=1) if as_json else "\n".join(exchange.lines(found)))
    return 0 if found["same"] else DIFFERENT


def _renamed(pairs: Sequence[str]) -> dict[str, str]:
    split = [p.partition("=") for p in pairs]
    for old, _, new in split:
        if not old.strip() or not new.strip():
            stop("--rename: write OLD=NEW, such as end1=london")
    return {old.strip(): new.strip() for old, _, new in split}


def _grid(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d{1,4})\s*[xX]\s*(\d{1,4})\s*", text)
    if match is None or 0 in (int(match[1]), int(match[2])):
        stop(f"--shell: {text!r} is not planes and slots such as 24x66")
    return int(match[1]), int(match[2])
