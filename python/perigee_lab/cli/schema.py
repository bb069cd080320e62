# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee schema`: the JSON Schema of scenario files."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def command(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page instead.")] = False,
) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from perigee_lab import _core

    if markdown:
        print(_core.reference(), end="")
    else:
        print(json.dumps(json.loads(_core.json_schema()), indent=1))
