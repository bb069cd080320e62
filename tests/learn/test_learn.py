# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Environments for learning, trainings, policies."""

from __future__ import annotations

import html
import itertools
import json
import struct
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT, SMALL, Cli
from perigee_lab import _core
from perigee_lab.learn import spaces, tensorflow
from perigee_lab.learn.report import STYLE
from perigee_lab.learn.tensorflow import masked_crc
from perigee_lab.learn.training import CHECKPOINT, POLICY, Progress, train
from perigee_lab.learn.vector import VecEnv
from perigee_lab.results.webpage import hash_of

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_policies_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    path = tiny(tmp_path)
    done = cli("train", path, "--out", "trained", "--quick")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "trained/report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2
    assert hash_of(STYLE) in html.unescape(page)
    assert "rate_mbps" in page
    assert "reward" in done.stdout
    shown = cli("policy", "show", tmp_path / "trained" / POLICY)
    assert shown.returncode == 0, shown.stderr
    assert "network 50-8-1, 417 values" in shown.stdout
    (tmp_path / "bad.policy").write_text("perigee-policy 1\ninput 50\ndense 1\n1 x", encoding="utf-8")
    bad = cli("policy", "show", tmp_path / "bad.policy")
    assert bad.returncode == 2
    assert "line 4" in bad.stderr
    facts = cli("policy", "evaluate", "astraea", "--rows", "A9,A11", "--json")
    assert [row["passed"] for row in json.loads(facts.stdout)] == [True, True], facts.stderr
    unknown = cli("policy", "evaluate", "astraea", "--rows", "A13")
    assert unknown.returncode == 2
    assert "A12" in unknown.stderr
    path.write_text(TINY.replace("rtt_ms = 30", "rtt_ms = -1"), encoding="utf-8")
    assert cli("train", path, "--out", "other").returncode == 2


def test_who_imports_the_package_has_the_environment(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium", reason="the extra learn is not installed")
    code = (
        "import gymnasium, perigee_lab.learn\n"
        f"env = gymnasium.make('perigee/Path-v0', scenario={str(tiny(tmp_path))!r})\n"
        "print(env.reset(seed=1)[0].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(50,)", done.stderr


def test_gymnasium_accepts_the_environment(tmp_path: Path) -> None:
    gymnasium = pytest.importorskip("gymnasium", reason="the extra learn is not installed")
    from gymnasium.utils.env_checker import check_env

    from perigee_lab.learn.gym import NAME, PathEnv, register

    register()
    path = tiny(tmp_path)
    for action in (spaces.WindowFactor(), spaces.RateFactor(), spaces.WindowAndGain(), spaces.Choices()):
        env = gymnasium.make(NAME, scenario=str(path), action=action, disable_env_checker=True)
        with warnings.catch_warnings():
            # Checkers also warn about optional features: bounds of observations, render modes.
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
    with pytest.raises(RuntimeError, match="the episode is over"):
        env.step([0.0])


def test_actions_outside_of_the_space_are_its_bounds_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium", reason="the extra learn is not installed")
    from perigee_lab.learn.gym import PathEnv

    env, other = PathEnv(str(tiny(tmp_path))), PathEnv(str(tiny(tmp_path)))
    env.reset(seed=1)
    other.reset(seed=1)
    for beyond, bound in ((50.0, 1.0), (-7.0, -1.0)):
        assert (env.step([beyond])[0] == other.step([bound])[0]).all()
    for wrong in ([0.1, 0.2], [], [[0.1], [0.2]]):
        with pytest.raises(ValueError, match="shape"):
            env.step(wrong)
    env = PathEnv(str(tiny(tmp_path)), action=spaces.Choices())
    env.reset(seed=1)
    for wrong in (-1, 2.5, 10**6):
        with pytest.raises(ValueError, match="choice"):
            env.step(wrong)


def test_pettingzoo_accepts_the_environment(tmp_path: Path) -> None:
    pytest.importorskip("pettingzoo", reason="the extra learn is not installed")
    from pettingzoo.test import parallel_api_test

    from perigee_lab.learn.parallel import PathsEnv

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


def leveldb_block(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """A block with one restart and no shared prefixes, followed by its trailer."""
    body = b""
    for key, value in pairs:
        body += bytes([0, len(key), len(value)]) + key + value
    body += struct.pack("<II", 0, 1)
    return body + b"\0" + struct.pack("<I", masked_crc(body + b"\0"))


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def bundle(folder: Path, tensors: dict[str, np.ndarray]) -> Path:
    """Writes a TensorFlow checkpoint by hand, according to the format."""
    data, pairs = b"", [(b"", b"\x08\x01")]
    for name, a in sorted(tensors.items()):
        values = a.astype("<f4").tobytes()
        dims = b"".join(b"\x12" + bytes([len(d)]) + d for d in (b"\x08" + varint(n) for n in a.shape))
        entry = (
            b"\x08\x01\x12" + bytes([len(dims)]) + dims + b"\x20" + varint(len(data)) + b"\x28" + varint(len(values))
        )
        pairs.append((name.encode(), entry + b"\x35" + struct.pack("<I", masked_crc(values))))
        data += values
    first = leveldb_block(pairs)
    rest = leveldb_block([])
    second = leveldb_block([(b"z", varint(0) + varint(len(first) - 5))])
    handles = varint(len(first)) + varint(len(rest) - 5) + varint(len(first + rest)) + varint(len(second) - 5)
    footer = handles.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    (folder / "model.index").write_bytes(first + rest + second + footer)
    (folder / "model.data-00000-of-00001").write_bytes(data)
    return folder / "model"


def test_a_checkpoint_of_tensorflow_becomes_a_policy_and_damage_is_named(tmp_path: Path) -> None:
    assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
    rng = np.random.default_rng(1)
    tensors, widths = {}, (50, 7, 5, 1)
    for scope in ("actor", "target_actor"):
        for k, (a, b) in enumerate(itertools.pairwise(widths)):
            tensors[f"{scope}/dense_{k}/kernel"] = rng.normal(size=(a, b))
            tensors[f"{scope}/dense_{k}/bias"] = rng.normal(size=b)
            tensors[f"{scope}/dense_{k}/kernel/Adam"] = rng.normal(size=(a, b))
            if b > 1:
                for name in ("moving_mean", "moving_variance", "beta"):
                    tensors[f"{scope}/batch_normalization_{k}/{name}"] = rng.uniform(0.5, 2, size=b)
    prefix = bundle(tmp_path, tensors)
    network = _core.Policy(tensorflow.policy(prefix))
    assert network.widths == list(widths)
    x = rng.uniform(0, 2, size=(3, 50)).astype(np.float32)
    h = x
    for k in range(3):
        h = h @ tensors[f"actor/dense_{k}/kernel"] + tensors[f"actor/dense_{k}/bias"]
        if k < 2:
            mean, variance, beta = (
                tensors[f"actor/batch_normalization_{k}/{n}"] for n in ("moving_mean", "moving_variance", "beta")
            )
            h = (h - mean) / np.sqrt(variance + 0.001) + beta
            h = np.where(h > 0, h, 0.2 * h)
    assert np.allclose(network.evaluate(x), np.tanh(h[:, 0]), atol=1e-4)
    assert tensorflow.policy(prefix, "target_actor") != tensorflow.policy(prefix)
    with pytest.raises(ValueError, match="actor, target_actor"):
        tensorflow.policy(prefix, "critic")
    for file, said in ((f"{prefix}.data-00000-of-00001", "checksum of"), (f"{prefix}.index", "checksum of the index")):
        whole = Path(file).read_bytes()
        Path(file).write_bytes(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
        with pytest.raises(ValueError, match=said):
            tensorflow.policy(prefix)
        Path(file).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match=r"cut off|no index"):
            tensorflow.policy(prefix)
        Path(file).write_bytes(whole)


def test_a_training_that_was_killed_ends_with_the_same_weights(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    words = [sys.executable, "-m", "perigee_lab", "train", str(path), "--no-report", "--out"]
    whole = subprocess.run([*words, str(tmp_path / "whole")], capture_output=True, text=True, check=False)
    assert whole.returncode == 0, whole.stderr
    checkpoint = tmp_path / "parts" / CHECKPOINT
    with subprocess.Popen(
        [*words, str(tmp_path / "parts")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as one:
        while not checkpoint.exists() and one.poll() is None:
            time.sleep(0.001)
        one.kill()
    assert checkpoint.exists()
    again = subprocess.run([*words, str(tmp_path / "parts")], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "parts" / POLICY).read_bytes() == (tmp_path / "whole" / POLICY).read_bytes()


def test_the_notebook_runs_from_reset_to_a_policy_beside_cubic(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gymnasium", reason="the extra learn is not installed")
    monkeypatch.setenv("PERIGEE_QUICK", "1")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    notebook = json.loads((ROOT / "examples/learn/your_path.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "your_path.ipynb", "exec"), names)
    assert set(names["found"]) == {"cubic", "policy"}
    assert names["found"]["policy"][0] > 0.5
    assert names["beats_cubic"], names["found"]


@pytest.mark.parametrize(
    ("example", "needs", "size"),
    [("sb3_ppo", "stable_baselines3", 2048), ("cleanrl_ddpg", "torch", 400), ("rllib", "ray.rllib", 1)],
)
def test_examples_of_other_learners_run(example: str, needs: str, size: int) -> None:
    pytest.importorskip(needs, reason=f"{needs} is not installed")
    done = subprocess.run(
        [sys.executable, ROOT / f"examples/learn/{example}.py", str(size)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "mean re" in done.stdout


def test_flows_may_decide_once_a_round_trip(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    text = path.read_text(encoding="utf-8").replace("rtt_ms = 30", "rtt_ms = 100\ntogether = 1.0")
    text = text.replace('"choice(1, 2)"', "1")
    counts = []
    for agent in ("", "[agent]\nstep_ms = 10\nstep_rtts = 1.0\n", "[agent]\nstep_ms = 10\n"):
        path.write_text(text.replace("[td3]", f"{agent}[td3]"), encoding="utf-8")
        env = VecEnv(path, count=1, flows=1)
        steps = 0
        while not env.step([[0.0]]).ended[0]:
            steps += int(env.latest.active[0, 0])
        counts.append(steps)
    assert 70 < counts[0] <= 100, "three seconds of 30 ms"
    assert counts[1] < 31, "at most one decision each 100 ms"
    assert counts[2] > 200
