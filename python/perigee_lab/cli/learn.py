# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee train` and `perigee policy`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli.options import ForceOption, JsonOption, check_free, stop

if TYPE_CHECKING:
    from perigee_lab.learn.training import Progress

policy = typer.Typer(help="Look into policies of learned congestion controls.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.command("train")(train)
    app.add_typer(policy, name="policy")


def train(
    recipe: Annotated[
        str,
        typer.Argument(help="A recipe (TOML), or one that comes along: astraea, astraea-leo, cubic-corrected, smoke."),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder; one with a checkpoint is gone on with.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="Seed of everything.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Stop after 50 seconds, with a checkpoint.")] = False,
    report: Annotated[bool, typer.Option(help="Write report.html at the end.")] = True,
) -> None:
    """Train a policy."""
    from perigee_lab.common.files import cannot_write
    from perigee_lab.learn.training import POLICY
    from perigee_lab.learn.training import train as work

    folder = out or Path("runs/train") / f"{Path(recipe).stem}-{seed}"

    rewards: list[float] = []

    def tell(progress: Progress) -> None:
        rewards.append(progress.round["reward"])
        if sys.stderr.isatty():
            print(f"\r{progress.line:<120}", end="", file=sys.stderr, flush=True)
        elif progress.round["score"]:
            print(progress.line, file=sys.stderr, flush=True)

    try:
        scores = work(recipe, folder, seed, tell, 50.0 if quick else None)
    except ValueError as error:
        stop(str(error))
    except OSError as error:
        stop(cannot_write(folder, error))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if rewards:
        part = max(1, len(rewards) // 4)
        begin, end = sum(rewards[:part]) / part, sum(rewards[-part:]) / part
        print(f"reward while learning {begin:.4f} -> {end:.4f}, first and last quarter of {len(rewards)} rounds")
    if scores:
        of = [s["reward"] for s in scores]
        best = f"best {max(of):.4f} (evaluation {of.index(max(of)) + 1} of {len(of)})"
        print(f"reward in evaluations: first {of[0]:.4f}, {best}, last {of[-1]:.4f}")
    print(f"policy: {folder / POLICY}")
    if report:
        from perigee_lab.learn.report import write

        print(f"report: {write(folder, grid=not quick)}")


@policy.command()
def show(file: Annotated[str, typer.Argument(help="A policy's file, or astraea or astraea_leo.")]) -> None:
    """Print a policy's network and how it behaves."""
    from perigee_lab.learn.policy import describe

    try:
        print(describe(file))
    except ValueError as error:
        stop(str(error))


@policy.command()
def evaluate(
    file: Annotated[str, typer.Argument(help="A policy's file, or astraea or astraea_leo.")],
    rows: Annotated[str | None, typer.Option(metavar="A1,A2", help="Only these rows.")] = None,
    scheme: Annotated[str, typer.Option(help="As which scheme: astraea or astraea_leo.")] = "",
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the scheme.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Hold a policy against what is known of Astraea (A1 to A12), or is asked of a policy for satellites."""
    from perigee_lab.learn.policy import Facts

    try:
        facts = Facts.of(file, scheme, dict(s.partition("=")[::2] for s in sets or []))
        wanted = rows.split(",") if rows else facts.rows
        found = []
        for name in wanted:
            row = facts.row(name)
            found.append(row)
            if not as_json:
                print(row.text, flush=True)
    except ValueError as error:
        stop(str(error))
    if as_json:
        print(json.dumps([row.__dict__ for row in found], indent=1))
    else:
        print(f"{sum(row.passed for row in found)} of {len(found)} rows pass")


@policy.command("import")
def import_(
    checkpoint: Annotated[Path, typer.Argument(help="A TensorFlow checkpoint, without .index.")],
    out: Annotated[Path, typer.Argument(help="The policy's file to write.")],
    scope: Annotated[str | None, typer.Option(help="The actor's scope in the checkpoint.")] = None,
    force: ForceOption = False,
) -> None:
    """Make a policy's file of the actor in a TensorFlow checkpoint; TensorFlow is not needed."""
    from perigee_lab.common.files import write_text
    from perigee_lab.learn.policy import describe
    from perigee_lab.learn.tensorflow import policy as read

    check_free(out, force=force)
    prefix = checkpoint.with_suffix("") if checkpoint.suffix == ".index" else checkpoint
    try:
        write_text(out, read(prefix, scope))
        print(describe(str(out)))
    except ValueError as error:
        stop(str(error))
