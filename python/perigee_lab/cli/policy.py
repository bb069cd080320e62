# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee policy`: policies of learned congestion controls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import ForceOption, JsonOption, check_free
from perigee_lab.common.errors import stop
from perigee_lab.common.files import write_text
from perigee_lab.common.messages import say

command = typer.Typer(help="Inspect, test and import policies.", no_args_is_help=True)


@command.command()
def show(file: Annotated[str, typer.Argument(help="A policy's file, or astraea or astraea_leo.")]) -> None:
    """Print a policy's network and how it behaves."""
    from perigee_lab.learn.policy import describe

    try:
        say(describe(file))
    except ValueError as error:
        stop(str(error))


@command.command()
def evaluate(
    file: Annotated[str, typer.Argument(help="A policy's file, or astraea or astraea_leo.")],
    rows: Annotated[str | None, typer.Option(metavar="A1,A2", help="Only these rows.")] = None,
    scheme: Annotated[str, typer.Option(help="Scheme that uses the policy: astraea or astraea_leo.")] = "",
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the scheme.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a policy with known facts of Astraea.

    Rows A1 to A12, or the requirements on a policy for satellites.
    """
    from perigee_lab.learn.policy import Facts

    try:
        facts = Facts.of(file, scheme, dict(s.partition("=")[::2] for s in sets or []))
        wanted = rows.split(",") if rows else facts.rows
        found = []
        for name in wanted:
            row = facts.row(name)
            found.append(row)
            if not as_json:
                say(row.text, flush=True)
    except ValueError as error:
        stop(str(error))
    if as_json:
        print(json.dumps([row.__dict__ for row in found], indent=1))
    else:
        say(f"{sum(row.passed for row in found)} of {len(found)} rows pass")


@command.command("import")
def import_(
    checkpoint: Annotated[Path, typer.Argument(help="A TensorFlow checkpoint, without .index.")],
    out: Annotated[Path, typer.Argument(help="The policy's file to write.")],
    scope: Annotated[str | None, typer.Option(help="The actor's scope in the checkpoint.")] = None,
    force: ForceOption = False,
) -> None:
    """Convert the actor in a TensorFlow checkpoint.

    To a policy's file; TensorFlow is not needed.
    """
    from perigee_lab.learn.policy import describe
    from perigee_lab.learn.tensorflow import policy as read

    check_free(out, force=force)
    prefix = checkpoint.with_suffix("") if checkpoint.suffix == ".index" else checkpoint
    try:
        write_text(out, read(prefix, scope))
        say(describe(str(out)))
    except ValueError as error:
        stop(str(error))
