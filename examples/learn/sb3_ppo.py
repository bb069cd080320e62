# SPDX-License-Identifier: Apache-2.0 OR MIT
"""PPO of Stable-Baselines3: `pip install 'perigee-lab[learn]' stable-baselines3`, then run this."""

from __future__ import annotations

import sys

import gymnasium
from stable_baselines3 import PPO

import perigee_lab.learn  # noqa: F401 - makes the environment known


def main(steps: int = 50_000) -> float:
    """Trains, and returns the mean reward of an episode under the trained policy."""
    env = gymnasium.make("perigee/Path-v0", scenario="smoke")
    model = PPO("MlpPolicy", env, n_steps=1024, batch_size=256, gamma=0.98, verbose=0, device="cpu")
    model.learn(total_timesteps=steps)
    observation, _ = env.reset(seed=1)
    rewards = []
    truncated = False
    while not truncated:
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, _, truncated, _ = env.step(action)
        rewards.append(float(reward))
    return sum(rewards) / len(rewards)


if __name__ == "__main__":
    print(f"mean reward {main(int(sys.argv[1]) if sys.argv[1:] else 50_000):.4f}")
