# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee policy show`: what is in a policy's file, and how it behaves."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perigee import _core

RATIOS = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0)
"""RTT over lowest RTT, the columns of the map."""
RATES_MBPS = (10, 20, 40, 80, 100, 160)
"""Highest throughput, the rows of the map."""


def load(path: Path) -> tuple[_core.Policy, list[str]]:
    """A policy and the comments at the head of its file.

    Raises:
        ValueError: it cannot be read, or is damaged; with the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot read: {error}") from error
    head = [line[1:].strip() for line in text.splitlines() if line.startswith("#")]
    try:
        return _core.Policy(text), head
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def steady(ratio: float, rate_mbps: float, rtt_ms: float) -> npt.NDArray[np.float32]:
    """The observation of a flow that has long sent at its highest rate, with this RTT over its lowest: 50 values."""
    row = [1, min(ratio, 2), min(ratio, 2), min(0.8 * ratio, 2), rate_mbps / 80, rtt_ms / 500, 0, 1, 1, 0]
    return np.tile(np.asarray(row, np.float32), 5)


def behaviour(policy: _core.Policy, rtt_ms: float = 30.0) -> npt.NDArray[np.float32]:
    """Actions in the steady state: rates x ratios.

    Raises:
        ValueError: the policy does not have Astraea's 50 inputs.
    """
    rows = [[steady(ratio, rate, rtt_ms) for ratio in RATIOS] for rate in RATES_MBPS]
    return policy.evaluate(np.reshape(rows, (-1, 50))).reshape(len(RATES_MBPS), len(RATIOS))


def describe(path: Path) -> str:
    """Text for a terminal.

    Raises:
        ValueError: it is no policy.
    """
    policy, head = load(path)
    widths = policy.widths
    count = sum((a + 1) * b for a, b in pairwise(widths))
    lines = [*head, f"network {'-'.join(map(str, widths))}, {count} values"]
    if widths[0] == 50:
        lines += ["", "action in the steady state, base RTT 30 ms", "highest rate | RTT over lowest RTT"]
        lines.append("  (Mbit/s)   |" + "".join(f"{r:7.2f}" for r in RATIOS))
        for rate, row in zip(RATES_MBPS, behaviour(policy), strict=True):
            lines.append(f"{rate:12} |" + "".join(f"{a:7.2f}" for a in row))
    return "\n".join(lines)
