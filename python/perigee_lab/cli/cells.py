# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee cells`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.cell_tables import finite, print_cells, usual_columns
from perigee_lab.cli.options import ForceOption, JsonOption, check_free, names_of
from perigee_lab.cli.output import save
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing


def command(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="KEY=VALUE", help="Only these cells; repeatable. Also cc, seed."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B,C", help="Columns (`perigee columns`).")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="CSV with a row per run instead of means per cell.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Picture of the first column (.png, .svg, .pdf).")] = None,
    x: Annotated[str | None, typer.Option(help="With --plot: the key to the right.")] = None,
    y: Annotated[str | None, typer.Option(help="With --plot: the key upwards, for a heat map.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """List, filter and plot the results of a sweep."""
    from perigee_lab.results.cells import open_sweep
    from perigee_lab.results.columns import COLUMNS
    from perigee_lab.results.summary import as_csv

    check_free(plot, force=force)
    if plot is None and (x or y):
        stop("--x and --y are axes of a picture: say --plot FILE, too")
    with writing(folder):
        found = open_sweep(folder).where(dict(_condition(w) for w in where or []))
    names = names_of("--columns", columns) or usual_columns(found)
    unknown = [n for n in names if n not in {c.name for c in COLUMNS}]
    if unknown:
        stop(f"--columns: there is no column {unknown[0]!r}: `perigee columns` lists them")
    if plot is not None:
        try:
            save(found.plot(names[0], x, y), plot)
        except ValueError as error:
            stop(f"{plot}: {error}")
        print(f"{plot} is written")
    elif csv:
        labels = [*found.keys, "cc", "seed"]
        print(as_csv(found.rows, [*labels, *(n for n in names if n not in labels)]), end="")
    elif as_json:
        print(json.dumps(finite({"keys": found.keys, "cells": found.means(names)}), indent=1))
    else:
        print_cells(found, names)


def _condition(text: str) -> tuple[str, str]:
    key, sign, value = text.rpartition("=")
    if not sign or not key:
        stop(f"--where {text!r}: write KEY=VALUE, such as queue=1bdp")
    return key.strip(), value.strip()
