# SPDX-License-Identifier: Apache-2.0 OR MIT
"""PettingZoo environment: agents `flow_0`, `flow_1`, … with the lifetimes of their flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from perigee_lab.learn import spaces
from perigee_lab.learn.gym import LIMIT_STEPS, action_space, observation_space
from perigee_lab.learn.vector import VecEnv


class PathsEnv(ParallelEnv):  # type: ignore[misc]
    """Flows that share a network, each with a new window every 30 ms.

    Args:
        scenario: a scenario file, a recipe, or the name of a bundled recipe.
        flows: largest number of flows to control.
        observation: observation of each agent.
        action: action of each agent.
        reward: reward of each agent.
        render_mode: not used.
    """

    metadata = {"name": "perigee_paths_v0", "render_modes": []}  # noqa: RUF012 (PettingZoo's own form)

    def __init__(
        self,
        scenario: str | Path = "smoke",
        flows: int = 6,
        observation: spaces.Observation | None = None,
        action: spaces.Action | None = None,
        reward: spaces.Reward | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Creates the spaces; the scenario is read at the first reset."""
        self.scenario, self.flows = scenario, flows
        self.render_mode = render_mode
        self._sees = observation or spaces.AstraeaFeatures()
        self._does = action or spaces.WindowFactor()
        self._earns = reward or spaces.AstraeaReward()
        self.possible_agents = [f"flow_{i}" for i in range(flows)]
        self.agents: list[str] = []
        self.observation_spaces = {a: observation_space(self._sees) for a in self.possible_agents}
        self.action_spaces = {a: action_space(self._does) for a in self.possible_agents}
        self._rng = np.random.default_rng()
        self._views: dict[str, spaces.FlowView] = {}
        self._env: VecEnv | None = None

    def observation_space(self, agent: str) -> Any:
        """Observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Action space of an agent."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts an episode; options are not used.

        Raises:
            RuntimeError: no flow of the scenario starts.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._env = VecEnv(self.scenario, count=1, flows=self.flows, seed=int(self._rng.integers(1 << 31)))
        for _ in range(LIMIT_STEPS):
            step = self._env.step(np.zeros((1, self.flows)))
            if step.active.any():
                self._look()
                return {a: self._sees.of(v) for a, v in self._views.items()}, self._infos()
        raise RuntimeError(f"{self.scenario}: no flow begins within {LIMIT_STEPS} decisions")

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Carries out the decisions of the active agents.

        Raises:
            RuntimeError: the environment was not reset.
        """
        if self._env is None:
            raise RuntimeError("reset the environment first")
        windows, rates = np.zeros((1, self.flows)), np.zeros((1, self.flows))
        for agent, action in actions.items():
            i = self.possible_agents.index(agent)
            told = np.atleast_1d(np.asarray(action, np.float32))
            windows[0, i], rates[0, i] = self._does.decide(told, self._views[agent])
        before, views = self.agents, self._views
        step = self._env.step(windows, rates)
        over = bool(step.ended[0])
        self._look()
        told_of = [*before, *(a for a in self._views if a not in before)]
        shown = {a: self._views.get(a) or views[a] for a in told_of}
        truncated = {a: over or a not in self._views for a in told_of}
        infos = {a: dict(v.measured) | {"global": step.globals[0].copy()} for a, v in shown.items()}
        self.agents = [a for a in told_of if not truncated[a]]
        return (
            {a: self._sees.of(v) for a, v in shown.items()},
            {a: self._earns.of(v) for a, v in shown.items()},
            dict.fromkeys(told_of, False),
            truncated,
            infos,
        )

    def state(self) -> Any:
        """The twelve global features."""
        if self._env is None:
            return np.zeros(12, np.float32)
        return self._env.latest.globals[0].copy()

    def _look(self) -> None:
        assert self._env is not None
        step = self._env.latest
        self._views = {self.possible_agents[i]: spaces.view(step, 0, int(i)) for i in np.flatnonzero(step.active[0])}
        self.agents = list(self._views)

    def _infos(self) -> dict[str, Any]:
        return {a: dict(v.measured) for a, v in self._views.items()}
