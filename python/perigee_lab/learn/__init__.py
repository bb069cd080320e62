# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reinforcement learning for congestion control: environments, training, policies.

`vector` steps many scenarios at once with NumPy only; `gym` and `parallel` are its interfaces for
Gymnasium and PettingZoo (extra `learn`); `spaces` defines observations, actions and rewards;
`training` and `policy` implement `perigee train` and `perigee policy`.
"""

from importlib.util import find_spec

if find_spec("gymnasium") is not None:
    # Gymnasium 1.4 ignores entry points of packages; importing this one registers
    # "perigee/Path-v0".
    from perigee_lab.learn import gym

    gym.register()
