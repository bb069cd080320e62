# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee columns`: definitions of the columns of tables."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop

WIDTH = 100


def command(
    names: Annotated[list[str] | None, typer.Argument(metavar="COLUMN", help="Columns; default: all.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Describe the columns of tables and summary.csv."""
    from perigee_lab.results.columns import BY_NAME, COLUMNS, SPANS, one_line
    from perigee_lab.results.columns import markdown as page

    by_name = {c.name: c for c in SPANS} | BY_NAME
    unknown = [n for n in names or [] if n not in by_name]
    if unknown:
        stop(f"no column {unknown[0]!r}; perigee columns lists them")
    chosen = [by_name[n] for n in names or []] or [*COLUMNS, *SPANS]
    if as_json:
        told = [{"name": c.name, "unit": c.unit, "rows": c.rows, "meaning": c.meaning} for c in chosen]
        print(json.dumps(told, indent=1))
        return
    if markdown:
        print(page(), end="")
        return
    for c in chosen:
        heading = f' "{one_line(c.heading)}"' if c.heading else ""
        print(f"{c.name}{f' [{c.unit}]' if c.unit else ''}{heading} ({c.rows})")
        print(textwrap.fill(c.meaning, WIDTH, initial_indent="    ", subsequent_indent="    "))
