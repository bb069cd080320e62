# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee train`: rounds, evaluations, checkpoints; resumes from a checkpoint in the folder."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.files import claimed, write_text, written
from perigee_lab.learn.vector import recipe_text

CHECKPOINT = "checkpoint"
POLICY = "best.policy"
CURVES = "scores.csv"
RECIPE = "recipe.toml"


@dataclass(frozen=True)
class Progress:
    """Progress of a training after a round.

    Attributes:
        round: as reported by the core: round, transitions, of, updates, reward, score.
        elapsed_s: since the training started or resumed.
        left_s: estimate of the time to its end.
    """

    round: dict[str, Any]
    elapsed_s: float
    left_s: float

    @property
    def line(self) -> str:
        """The progress as a line for a terminal."""
        r, score = self.round, self.round["score"]
        text = f"{100 * min(1.0, r['transitions'] / r['of']):3.0f} %  {r['updates']} updates  reward {r['reward']:.4f}"
        if score:
            if score["passed"] is not None:
                text += f"  {score['passed']} rows"
            text += (
                f"  evaluation {score['reward']:.4f}, utilisation {score['utilisation']:.3f}, "
                f"RTT/base {score['inflation']:.2f}, Jain {score['fairness']:.3f}"
            )
        return f"{text}  {self.left_s:.0f} s left"


def train(
    recipe: str | Path,
    out: Path,
    seed: int = 1,
    told: Callable[[Progress], None] = lambda _: None,
    seconds: float | None = None,
) -> list[dict[str, Any]]:
    """Trains a recipe; resumes from the checkpoint in `out`, if there is one.

    Args:
        recipe: the name of a bundled recipe, or a file.
        out: folder for the checkpoint, the best policy and the table of evaluations.
        seed: seed of all randomness; the same seed gives the same weights on one machine.
        told: called after each round.
        seconds: stop after this time, with a checkpoint; the best policy is then the one with the
            highest reward.

    Returns:
        The evaluations: transitions, updates, reward, utilisation, inflation, fairness, passed
        (rows of the recipe's table; None without one, or if it cannot be the best).

    Raises:
        ValueError: the recipe is invalid, or the checkpoint belongs to another one.
        RecordError: another process writes to the folder, or it cannot be written to.
    """
    text, folder = recipe_text(recipe)
    with claimed(out):
        return _train(text, str(folder), out, seed, told, seconds)


def _train(
    text: str, folder: str, out: Path, seed: int, told: Callable[[Progress], None], seconds: float | None
) -> list[dict[str, Any]]:
    checkpoint = out / CHECKPOINT
    training = _core.Training(text, folder, seed, str(checkpoint) if checkpoint.exists() else None)
    if seconds is not None:
        training.without_tables()
    write_text(out / RECIPE, text)
    began, first = time.monotonic(), None
    while not training.over():
        done = json.loads(training.round())
        elapsed = time.monotonic() - began
        first = first if first is not None else done["transitions"]
        share = max(done["transitions"] - first, 1)
        told(Progress(done, elapsed, elapsed * max(done["of"] - done["transitions"], 0) / share))
        late = seconds is not None and elapsed > seconds
        if done["score"] or late:
            keep(training, out)
        if late:
            break
    keep(training, out)
    return list(json.loads(training.scores()))


def keep(training: _core.Training, out: Path) -> None:
    """Writes the checkpoint, the best policy and the table of evaluations."""
    training.save(str(out / CHECKPOINT))
    write_text(out / POLICY, training.best())
    scores = json.loads(training.scores())
    if scores:
        with written(out / CURVES) as partial, partial.open("w", newline="", encoding="utf-8") as f:
            table = csv.DictWriter(f, list(scores[0]))
            table.writeheader()
            table.writerows({k: quoting.csv(v) for k, v in row.items()} for row in scores)
