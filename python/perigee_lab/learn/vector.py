# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Vectorised environments, advanced together to their next decision on all cores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.reading import parsed_toml, read_text

OBSERVATION = 50
GLOBALS = 12
METRICS = (
    "throughput_bytes_per_s",
    "rtt_us",
    "srtt_us",
    "min_rtt_us",
    "max_throughput_bytes_per_s",
    "loss_bytes_per_s",
    "cwnd_packets",
    "out_packets",
    "pacing_bytes_per_s",
    "base_rtt_us",
    "goodput_bytes_per_s",
    "capacity_bytes_per_s",
)
"""Columns of `Step.metrics`; a value of zero = unknown."""

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Step:
    """Result of a step of E environments with F flows each; the next step overwrites the arrays.

    Attributes:
        observations: E x F x 50, Astraea's features of the last five decisions, oldest first.
        active: E x F, whether a flow is active.
        globals: E x 12, global features for critics.
        rewards: E x F, Astraea's reward.
        metrics: E x F x 12, see `METRICS`.
        ended: E, whether the episode ended with this step; the next step is then the first of
            another episode.
    """

    observations: Floats
    active: Bools
    globals: Floats
    rewards: Floats
    metrics: Floats
    ended: Bools


def recipe_text(world: str | Path) -> tuple[str, Path]:
    """The text of a recipe and the folder of its files.

    Args:
        world: the name of a bundled recipe, a recipe, or a scenario file, in which flows with cc =
        "*" are the
            agents.

    Raises:
        ValueError: there is no such file.
    """
    shipped = dict(_core.recipes())
    if str(world) in shipped:
        return shipped[str(world)], Path()
    path = Path(world)
    if not path.is_file():
        raise ValueError(f"{path}: no such file; recipes that come along: {', '.join(shipped)}")
    text = read_text(path)
    if _is_recipe(text):
        return text, path.parent
    name = quoting.toml(str(path.resolve()))
    return (
        f'title = "a scenario"\n[world]\nfile = {name}\n[train]\ntransitions = 1000000\nexplore = 100000\n',
        path.parent,
    )


def _is_recipe(text: str) -> bool:
    """Whether a text is a recipe: TOML with the section `train`. Invalid TOML is rejected later."""
    try:
        return "train" in parsed_toml(text)
    except ValueError:
        return False


class VecEnv:
    """E environments of at most F flows.

    Events in environment i depend on the seed and i alone. Flows beyond F keep their windows.

    Args:
        world: see `recipe_text`.
        count: E.
        flows: F.
        seed: of all randomness.

    Raises:
        ValueError: the recipe or scenario is invalid.
    """

    def __init__(self, world: str | Path, count: int = 8, flows: int = 6, seed: int = 1) -> None:
        """Starts the first episode of each environment."""
        if count < 1 or flows < 1:
            raise ValueError(f"at least one environment and one flow, not {count} and {flows}")
        text, folder = recipe_text(world)
        self.count, self.flows = count, flows
        self._core = _core.VecEnv(text, str(folder), count, flows, seed)
        self.latest = Step(
            observations=np.zeros((count, flows, OBSERVATION), np.float32),
            active=np.zeros((count, flows), np.bool_),
            globals=np.zeros((count, GLOBALS), np.float32),
            rewards=np.zeros((count, flows), np.float32),
            metrics=np.zeros((count, flows, len(METRICS)), np.float32),
            ended=np.zeros(count, np.bool_),
        )

    def step(self, actions: npt.ArrayLike, rates: npt.ArrayLike | None = None) -> Step:
        """Advances by one decision.

        Args:
            actions: E x F; Astraea's steps from -1 to 1, or windows in packets if rates are given.
            rates: E x F; pacing rates in bytes/s, 0 = Astraea's pacing.

        Raises:
            ValueError: an action is NaN or infinite.
        """
        s = self.latest
        self._core.step(
            np.ascontiguousarray(actions, np.float32),
            None if rates is None else np.ascontiguousarray(rates, np.float32),
            s.observations,
            s.active,
            s.globals,
            s.rewards,
            s.metrics,
            s.ended,
        )
        return s
