# SPDX-License-Identifier: Apache-2.0 OR MIT
"""DDPG in one file as in CleanRL, over vector environments: `pip install torch`, then run it."""

from __future__ import annotations

import sys

import numpy as np
import torch
from torch import nn

from perigee_lab.learn.vector import OBSERVATION, VecEnv

ENVS, BATCH, GAMMA, TAU = 8, 256, 0.98, 0.005


def network(inputs: int, *last: nn.Module) -> nn.Sequential:
    """A network with two hidden layers."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), *last)


def main(steps: int = 4000, seed: int = 1) -> list[float]:
    """Trains, and returns the mean reward of each tenth of the steps."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env = VecEnv("smoke", count=ENVS, flows=1, seed=seed)
    actor, critic = network(OBSERVATION, nn.Tanh()), network(OBSERVATION + 1)
    targets = network(OBSERVATION, nn.Tanh()), network(OBSERVATION + 1)
    for target, net in zip(targets, (actor, critic), strict=True):
        target.load_state_dict(net.state_dict())
    optimisers = torch.optim.Adam(actor.parameters(), 3e-4), torch.optim.Adam(critic.parameters(), 1e-3)
    memory: list[tuple[np.ndarray, float, float, np.ndarray]] = []
    rewards: list[float] = []
    step = env.step(np.zeros((ENVS, 1)))
    seen, there = step.observations[:, 0].copy(), step.active[:, 0].copy()
    for k in range(steps):
        with torch.no_grad():
            wanted = actor(torch.from_numpy(seen)).numpy()
        noise = max(1.0 - 2 * k / steps, 0.1)
        actions = np.clip(wanted + noise * rng.normal(size=wanted.shape), -1, 1).astype(np.float32)
        step = env.step(actions)
        for i in np.flatnonzero(there & step.active[:, 0]):
            memory.append((seen[i], float(actions[i, 0]), float(step.rewards[i, 0]), step.observations[i, 0].copy()))
            rewards.append(float(step.rewards[i, 0]))
        seen, there = step.observations[:, 0].copy(), step.active[:, 0] & ~step.ended
        if len(memory) >= BATCH:
            learn(memory, rng, (actor, critic), targets, optimisers)
    return [float(np.mean(part)) for part in np.array_split(rewards, 10)]


def learn(memory: list, rng: np.random.Generator, nets: tuple, targets: tuple, optimisers: tuple) -> None:
    """Updates both networks once."""
    rows = [memory[i] for i in rng.integers(len(memory), size=BATCH)]
    seen, actions, rewards, after = (torch.tensor(np.array(c), dtype=torch.float32) for c in zip(*rows, strict=True))
    with torch.no_grad():
        later = targets[1](torch.cat([after, targets[0](after)], 1))[:, 0]
        goal = 10 * rewards + GAMMA * later
    loss = nn.functional.smooth_l1_loss(nets[1](torch.cat([seen, actions[:, None]], 1))[:, 0], goal)
    optimisers[1].zero_grad()
    loss.backward()
    optimisers[1].step()
    value = -nets[1](torch.cat([seen, nets[0](seen)], 1)).mean()
    optimisers[0].zero_grad()
    value.backward()
    optimisers[0].step()
    with torch.no_grad():
        for target, net in zip(targets, nets, strict=True):
            for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                slow.lerp_(fast, TAU)


if __name__ == "__main__":
    print("mean rewards:", *(f"{r:.3f}" for r in main(int(sys.argv[1]) if sys.argv[1:] else 4000)))
