# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee columns`: definitions of the columns of tables."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated, Any

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say

WIDTH = 100


def command(
    names: Annotated[list[str] | None, typer.Argument(metavar="COLUMN", help="Columns; default: all.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Describe the columns of tables and summary.csv."""
    from perigee_lab.results.columns import COLUMNS, SPANS, one_line
    from perigee_lab.results.columns import markdown as page

    chosen = [c for n in names or [] for c in _named(n)] or [*COLUMNS, *SPANS]
    if as_json:
        data = [{"name": c.name, "unit": c.unit, "rows": c.rows, "meaning": c.meaning} for c in chosen]
        print(json.dumps(data, indent=1))
        return
    if markdown:
        print(page(), end="")
        return
    for c in chosen:
        heading = f' "{one_line(c.heading)}"' if c.heading else ""
        say(f"{c.name}{f' [{c.unit}]' if c.unit else ''}{heading} ({c.rows})")
        say(textwrap.fill(c.meaning, WIDTH, initial_indent="    ", subsequent_indent="    "))


def _named(name: str) -> list[Any]:
    """The column of that name, or all of which it is a word (goodput: goodput_mbps and others)."""
    from perigee_lab.common.messages import nearest
    from perigee_lab.results.columns import BY_NAME, SPANS, one_line

    by_name = {c.name: c for c in SPANS} | BY_NAME
    if name in by_name:
        return [by_name[name]]
    wanted = name.lower().replace("-", "_").replace(" ", "_")
    found = [c for n, c in by_name.items() if f"_{wanted}_" in f"_{n}_"]
    if not found:
        headings = {one_line(c.heading).lower(): n for n, c in by_name.items() if c.heading}
        near = nearest(name, {**{n: n for n in by_name}, **headings})
        stop(f"no column {name!r}{near}; perigee columns lists them")
    return found
