# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Gymnasium environment: `gymnasium.make("perigee/Path-v0", scenario="FILE")`.

There is one agent; other agents of the scenario keep their windows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces as boxes

from perigee_lab.learn import spaces
from perigee_lab.learn.vector import VecEnv

NAME = "perigee/Path-v0"
LIMIT_STEPS = 1000
"""Maximum number of decisions before the first flow of a scenario is established."""


def register() -> None:
    """Registers the environment with Gymnasium, as the package's entry point."""
    if NAME not in gymnasium.registry:
        gymnasium.register(id=NAME, entry_point="perigee_lab.learn.gym:PathEnv")


def action_space(action: spaces.Action) -> gymnasium.Space[Any]:
    """Gymnasium's space of an action."""
    if action.choices:
        return boxes.Discrete(action.choices)
    return boxes.Box(-1.0, 1.0, (action.size,), np.float32)


def observation_space(observation: spaces.Observation) -> gymnasium.Space[Any]:
    """Gymnasium's space of an observation."""
    return boxes.Box(-np.inf, np.inf, (observation.size,), np.float32)


class PathEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc,unused-ignore]
    """A flow over a path, with a new window every 30 ms.

    Args:
        scenario: a scenario file, a recipe, or the name of a bundled recipe.
        observation: observation of the agent.
        action: action of the agent.
        reward: reward of the agent.
        render_mode: "rgb_array" draws the episode so far.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(
        self,
        scenario: str | Path = "smoke",
        observation: spaces.Observation | None = None,
        action: spaces.Action | None = None,
        reward: spaces.Reward | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Creates the spaces; the scenario is read at the first reset."""
        self.scenario = scenario
        self._sees = observation or spaces.AstraeaFeatures()
        self._does = action or spaces.WindowFactor()
        self._earns = reward or spaces.AstraeaReward()
        self.observation_space = observation_space(self._sees)
        self.action_space = action_space(self._does)
        self.render_mode = render_mode
        self._env: VecEnv | None = None
        self._flow: spaces.FlowView | None = None
        self._over = False
        self._told: list[dict[str, float]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode; options are not used.

        Raises:
            ValueError: the scenario is invalid.
            RuntimeError: no flow of the scenario starts.
        """
        super().reset(seed=seed)
        self._env = VecEnv(self.scenario, count=1, flows=1, seed=int(self.np_random.integers(1 << 31)))
        self._told = []
        self._over = False
        for _ in range(LIMIT_STEPS):
            step = self._env.step([[0.0]])
            if step.active[0, 0]:
                self._flow = spaces.view(step, 0, 0)
                return self._sees.of(self._flow), dict(self._flow.measured)
        raise RuntimeError(f"{self.scenario}: its first flow does not begin within {LIMIT_STEPS} decisions")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carries out a decision.

        Raises:
            RuntimeError: the environment was not reset, or the episode has ended.
            ValueError: the action has a shape other than the space's, or is no valid choice.
        """
        if self._env is None or self._flow is None:
            raise RuntimeError("reset the environment first")
        if self._over:
            raise RuntimeError("the episode is over: reset() begins the next")
        told = self._within(action)
        cwnd, rate = self._does.decide(told, self._flow)
        step = self._env.step([[cwnd]], [[rate]])
        self._over = truncated = bool(step.ended[0] or not step.active[0, 0])
        if step.active[0, 0]:
            self._flow = spaces.view(step, 0, 0)
        self._told.append(self._flow.measured)
        # The path continues after the episode: learners bootstrap from its last observation.
        return self._sees.of(self._flow), self._earns.of(self._flow), False, truncated, dict(self._flow.measured)

    def _within(self, action: Any) -> Any:
        """An action as numbers of the space, clipped to its bounds."""
        told = np.asarray(action, np.float32)
        if told.size != (1 if self._does.choices else self._does.size):
            raise ValueError(f"an action of shape {told.shape}: the space is {self.action_space}")
        told = told.reshape(-1)
        if self._does.choices:
            if not (float(told[0]).is_integer() and 0 <= told[0] < self._does.choices):
                raise ValueError(f"the choice {told[0]:g}: there are 0 to {self._does.choices - 1}")
            return told
        return np.clip(told, -1.0, 1.0)

    def render(self) -> Any:
        """The episode so far, as an image of height x width x 3 bytes."""
        if self.render_mode is None:
            return None
        from perigee_lab.learn.pictures import episode_image

        return episode_image(self._told)
