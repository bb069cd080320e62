# SPDX-License-Identifier: Apache-2.0 OR MIT
"""RLlib, flows that share a policy: `pip install 'perigee-lab[learn]' 'ray[rllib]' torch`, then run this file."""

from __future__ import annotations

import sys
from typing import Any

from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

from perigee.learn.parallel import PathsEnv


def make(_: dict[str, Any]) -> ParallelPettingZooEnv:
    """The environment as RLlib wants it."""
    return ParallelPettingZooEnv(PathsEnv("smoke", flows=2))


def main(rounds: int = 5) -> float:
    """Trains and returns the mean return of the last round's episodes."""
    register_env("perigee_paths", make)
    config = (
        PPOConfig()
        .environment("perigee_paths")
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, *_, **__: "shared")
        .training(gamma=0.98, train_batch_size=2000)
    )
    algorithm = config.build_algo()
    results = [algorithm.train() for _ in range(rounds)]
    algorithm.stop()
    return float(results[-1]["env_runners"]["episode_return_mean"])


if __name__ == "__main__":
    print(f"mean return {main(int(sys.argv[1]) if sys.argv[1:] else 5):.3f}")
