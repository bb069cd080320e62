# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A training ground for congestion control: environments, trainings, policies.

`vector` steps many scenarios at once and needs nothing but NumPy; `gym` and `parallel` are Gymnasium's and PettingZoo's
forms of it (extra `learn`); `spaces` says what an agent sees, does and earns; `training` and `policy` are what
`perigee train` and `perigee policy` do.
"""

from importlib.util import find_spec

if find_spec("gymnasium") is not None:
    # Gymnasium 1.4 no longer asks packages for their environments: whoever imports this one has "perigee/Path-v0".
    from perigee_lab.learn import gym

    gym.register()
