# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee cells`: the former name of `perigee results --means`, for one version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.cell_tables import csv_of_runs, show_cells
from perigee_lab.cli.options import ForceOption, JsonOption, names_of
from perigee_lab.common.messages import complain


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
    plot: Annotated[Path | None, typer.Option(help="Plot of the first column (.png, .svg, .pdf).")] = None,
    x: Annotated[str | None, typer.Option(help="With --plot: key on the x axis.")] = None,
    y: Annotated[str | None, typer.Option(help="With --plot: key on the y axis, for a heat map.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """List, filter and plot the results of a sweep.

    The former name of perigee results FOLDER --means (or --plot FILE).
    """
    complain("`perigee cells` is now `perigee results FOLDER --means`; the former name ends with the next version")
    names = names_of("--columns", columns)
    if csv and plot is None:
        print(csv_of_runs(folder, where or [], names), end="")
        return
    show_cells(folder, where or [], names, plot, x, y, force=force, as_json=as_json)
