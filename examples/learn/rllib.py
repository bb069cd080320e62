# SPDX-License-Identifier: Apache-2.0 OR MIT
"""RLlib with a shared policy.

`pip install 'perigee-lab[learn]' 'ray[rllib]' torch`, then run it.
"""

from __future__ import annotations

import sys
from typing import Any

from gymnasium.spaces import Dict
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

from perigee_lab.learn.parallel import PathsEnv


class Paths(ParallelPettingZooEnv):  # type: ignore[misc]
    """The environment for RLlib, which otherwise knows only the agents of the first reset."""

    def __init__(self, flows: int = 2) -> None:
        """Declares the spaces of all agents that may appear."""
        super().__init__(PathsEnv("smoke", flows=flows))
        self.possible_agents = list(self.par_env.possible_agents)
        self.observation_space = Dict(self.par_env.observation_spaces)
        self.action_space = Dict(self.par_env.action_spaces)


def make(_: dict[str, Any]) -> Paths:
    """Creates the environment, for RLlib's registry."""
    return Paths()


def main(rounds: int = 5) -> float:
    """Trains, and returns the mean return of the last round's episodes."""
    register_env("perigee_paths", make)
    config = (
        PPOConfig()
        .environment("perigee_paths")
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, *_, **__: "shared")
        .training(gamma=0.98, train_batch_size=2000, minibatch_size=256, num_epochs=6)
    )
    algorithm = config.build_algo()
    results = [algorithm.train() for _ in range(rounds)]
    algorithm.stop()
    return float(results[-1]["env_runners"]["episode_return_mean"])


if __name__ == "__main__":
    print(f"mean return {main(int(sys.argv[1]) if sys.argv[1:] else 5):.3f}")
