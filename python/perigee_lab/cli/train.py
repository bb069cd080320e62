# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee train`: training of a policy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.common.errors import stop
from perigee_lab.common.files import refuse_link, writing
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from perigee_lab.learn.training import Progress

RUNS = Path("runs/train")


def command(
    recipe: Annotated[
        str,
        typer.Argument(help="A recipe (TOML), or a bundled one: astraea, astraea-leo, cubic-corrected, smoke."),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder; a training with a checkpoint is resumed.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="Seed of all random draws.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Stop after 50 seconds, with a checkpoint.")] = False,
    report: Annotated[bool, typer.Option(help="Write report.html at the end.")] = True,
) -> None:
    """Train a policy."""
    from perigee_lab.learn.training import POLICY
    from perigee_lab.learn.training import train as work

    folder = out or RUNS / f"{Path(recipe).stem}-{seed}"

    rewards: list[float] = []

    def show(progress: Progress) -> None:
        rewards.append(progress.round["reward"])
        if sys.stderr.isatty():
            print(f"\r{progress.line:<120}", end="", file=sys.stderr, flush=True)
        elif progress.round["score"]:
            say(progress.line, file=sys.stderr, flush=True)

    try:
        if out is None:
            for own in (RUNS.parent, RUNS, folder):
                refuse_link(own)
        with writing(folder):
            scores = work(recipe, folder, seed, show, 50.0 if quick else None)
    except ValueError as error:
        stop(str(error))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if rewards:
        part = max(1, len(rewards) // 4)
        begin, end = sum(rewards[:part]) / part, sum(rewards[-part:]) / part
        say(f"reward while learning {begin:.4f} -> {end:.4f}, first and last quarter of {len(rewards)} rounds")
    if scores:
        of = [s["reward"] for s in scores]
        best = f"best {max(of):.4f} (evaluation {of.index(max(of)) + 1} of {len(of)})"
        say(f"reward in evaluations: first {of[0]:.4f}, {best}, last {of[-1]:.4f}")
    say(f"policy: {folder / POLICY}")
    if report:
        from perigee_lab.learn.report import write

        say(f"report: {write(folder, grid=not quick)}")
