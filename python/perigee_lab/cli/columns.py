# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command `columns`."""

from __future__ import annotations

import json
import textwrap

from perigee_lab.common.exit_codes import BAD_INPUT
from perigee_lab.common.messages import complain
from perigee_lab.results.columns import BY_NAME, COLUMNS, one_line
from perigee_lab.results.columns import markdown as page

WIDTH = 100


def columns_command(names: list[str], *, as_json: bool, markdown: bool) -> int:
    """Definitions of the columns."""
    unknown = [n for n in names if n not in BY_NAME]
    if unknown:
        complain(f"no column {unknown[0]!r}; perigee columns lists them")
        return BAD_INPUT
    chosen = [BY_NAME[n] for n in names] or COLUMNS
    if as_json:
        told = [{"name": c.name, "unit": c.unit, "rows": c.rows, "meaning": c.meaning} for c in chosen]
        print(json.dumps(told, indent=1))
        return 0
    if markdown:
        print(page(), end="")
        return 0
    for c in chosen:
        heading = f' "{one_line(c.heading)}"' if c.heading else ""
        print(f"{c.name}{f' [{c.unit}]' if c.unit else ''}{heading} ({c.rows})")
        print(textwrap.fill(c.meaning, WIDTH, initial_indent="    ", subsequent_indent="    "))
    return 0
