# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Environments to learn in, trainings, policies."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL, Cli
from perigee.learn import spaces
from perigee.learn.training import CHECKPOINT, POLICY, Progress, train
from perigee.learn.vector import VecEnv

TINY = """
title = "tiny"
[world]
rate_mbps = "uniform(2, 4)"
rtt_ms = 30
buffer_bdp = 1
flows = "choice(1, 2)"
duration_s = 3
exploring = 1.0
[td3]
actor = [8]
critic = [8]
batch = 16
[train]
transitions = 2000
explore = 1000
episodes = 2
evaluate = 2
evaluation_episodes = 2
"""


def tiny(folder: Path) -> Path:
    path = folder / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


def test_an_environment_depends_on_seed_and_index_alone(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    few, many = VecEnv(path, count=2, flows=2, seed=5), VecEnv(path, count=5, flows=2, seed=5)
    other = VecEnv(path, count=2, flows=2, seed=6)
    differ = False
    for k in range(150):
        a, b = few.step(np.full((2, 2), 0.3)), many.step(np.full((5, 2), 0.3))
        assert np.array_equal(a.observations, b.observations[:2]), k
        assert np.array_equal(a.rewards, b.rewards[:2])
        differ |= not np.array_equal(a.observations, other.step(np.full((2, 2), 0.3)).observations)
    assert differ
    assert a.active.any()


def test_the_window_follows_the_decisions(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    env = VecEnv(path, count=1, flows=1)
    cwnd = spaces.INDEX["cwnd_packets"]
    for _ in range(20):
        step = env.step([[0.0]])
    assert step.active[0, 0]
    before = step.metrics[0, 0, cwnd]
    assert env.step([[1.0]]).metrics[0, 0, cwnd] == np.ceil(before * 1.025)
    assert env.step([[37.0]], [[0.0]]).metrics[0, 0, cwnd] == 37
    with pytest.raises(ValueError, match="finite"):
        env.step([[np.nan]])


def test_a_training_of_seconds_improves_the_reward(tmp_path: Path) -> None:
    scores = train("smoke", tmp_path / "out")
    first = scores[0]["reward"]
    assert max(s["reward"] for s in scores) > first
    assert scores[-1]["utilisation"] > 0.8
    assert (tmp_path / "out" / POLICY).read_text(encoding="utf-8").startswith("# Smoke test, seed 1")


def test_a_training_that_was_stopped_ends_with_the_same_weights(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    train(path, tmp_path / "whole")
    rounds: list[Progress] = []
    while not rounds or rounds[-1].round["transitions"] < 2000:
        train(path, tmp_path / "parts", told=rounds.append, seconds=0.0)
    assert len(rounds) > 2
    assert (tmp_path / "parts" / POLICY).read_bytes() == (tmp_path / "whole" / POLICY).read_bytes()
    with pytest.raises(ValueError, match="another recipe or seed"):
        train(path, tmp_path / "parts", seed=2)
    (tmp_path / "parts" / CHECKPOINT).write_bytes(b"nothing")
    with pytest.raises(ValueError, match="damaged"):
        train(path, tmp_path / "parts")


def test_policies_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    path = tiny(tmp_path)
    done = cli("train", path, "--out", "trained")
    assert done.returncode == 0, done.stderr
    assert "reward" in done.stdout
    shown = cli("policy", "show", tmp_path / "trained" / POLICY)
    assert shown.returncode == 0, shown.stderr
    assert "network 50-8-1, 417 values" in shown.stdout
    (tmp_path / "bad.policy").write_text("perigee-policy 1\ninput 50\ndense 1\n1 x", encoding="utf-8")
    bad = cli("policy", "show", tmp_path / "bad.policy")
    assert bad.returncode == 2
    assert "line 4" in bad.stderr
    path.write_text(TINY.replace("rtt_ms = 30", "rtt_ms = -1"), encoding="utf-8")
    assert cli("train", path, "--out", "other").returncode == 2


def test_gymnasium_accepts_the_environment(tmp_path: Path) -> None:
    gymnasium = pytest.importorskip("gymnasium", reason="the extra learn is not installed")
    from gymnasium.utils.env_checker import check_env

    from perigee.learn.gym import NAME, PathEnv, register

    register()
    path = tiny(tmp_path)
    for action in (spaces.WindowFactor(), spaces.RateFactor(), spaces.WindowAndGain(), spaces.Choices()):
        env = gymnasium.make(NAME, scenario=str(path), action=action, disable_env_checker=True)
        with warnings.catch_warnings():
            # Checkers advise on what is optional: bounds of observations, render modes.
            warnings.simplefilter("ignore")
            check_env(env.unwrapped, skip_render_check=True)
    env = PathEnv(str(path), reward=spaces.PowerReward(), render_mode="rgb_array")
    env.reset(seed=1)
    steps = 0
    truncated = False
    while not truncated:
        _, reward, terminated, truncated, _ = env.step([0.0])
        assert not terminated
        assert 0 <= reward < 1.2
        steps += 1
    assert 50 < steps <= 100, "three seconds of 30 ms, less what the start takes"
    assert env.render().shape[2] == 3


def test_pettingzoo_accepts_the_environment(tmp_path: Path) -> None:
    pytest.importorskip("pettingzoo", reason="the extra learn is not installed")
    from pettingzoo.test import parallel_api_test

    from perigee.learn.parallel import PathsEnv

    path = tmp_path / "two.toml"
    path.write_text(TINY.replace('"choice(1, 2)"', "2"), encoding="utf-8")
    env = PathsEnv(str(path), flows=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parallel_api_test(env, num_cycles=200)
    env.reset(seed=1)
    seen = set(env.agents)
    while env.agents:
        observations, rewards, terminated, _, infos = env.step({a: np.zeros(1, np.float32) for a in env.agents})
        assert set(observations) == set(rewards) == set(infos)
        assert not any(terminated.values())
        seen |= set(env.agents)
    assert seen == {"flow_0", "flow_1"}
    assert env.state().shape == (12,)
