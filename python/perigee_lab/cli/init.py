# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee init`: a commented scenario to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import ForceOption, check_free
from perigee_lab.common.files import write_text, writing
from perigee_lab.common.messages import say


def command(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("scenario.toml"),
    sky: Annotated[bool, typer.Option("--sky", help="Use a constellation instead of a dumbbell.")] = False,
    force: ForceOption = False,
) -> None:
    """Write a commented scenario to start from."""
    from importlib.resources import files

    check_free(path, force=force)
    template = files("perigee_lab") / "templates" / ("sky.toml" if sky else "dumbbell.toml")
    with writing(path):
        write_text(path, template.read_text(encoding="utf-8"))
    say(f"wrote {path}; next: perigee run {path}")
