# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee train` and `perigee policy`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee.cli.options import stop

if TYPE_CHECKING:
    from perigee.learn.training import Progress

policy = typer.Typer(help="Look into policies of learned congestion controls.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.command("train")(train)
    app.add_typer(policy, name="policy")


def train(
    recipe: Annotated[
        str, typer.Argument(help="A recipe (TOML), or one that comes along: astraea, astraea-leo, smoke.")
    ],
    out: Annotated[Path | None, typer.Option(help="Folder; one with a checkpoint is gone on with.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Stop after 50 seconds, with a checkpoint.")] = False,
) -> None:
    """Train a policy."""
    from perigee.learn.training import POLICY
    from perigee.learn.training import train as work

    folder = out or Path("runs/train") / f"{Path(recipe).stem}-{seed}"

    def tell(progress: Progress) -> None:
        if sys.stderr.isatty():
            print(f"\r{progress.line:<120}", end="", file=sys.stderr, flush=True)
        elif progress.round["score"]:
            print(progress.line, file=sys.stderr, flush=True)

    try:
        scores = work(recipe, folder, seed, tell, 50.0 if quick else None)
    except ValueError as error:
        stop(str(error))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if scores:
        print(
            f"reward {scores[0]['reward']:.4f} -> {max(s['reward'] for s in scores):.4f} in {len(scores)} evaluations"
        )
    print(f"policy: {folder / POLICY}")


@policy.command()
def show(file: Annotated[Path, typer.Argument(help="A policy's file.")]) -> None:
    """Print a policy's network and how it behaves."""
    from perigee.learn.policy import describe

    try:
        print(describe(file))
    except ValueError as error:
        stop(str(error))
