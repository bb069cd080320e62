# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee policy`: contents of a policy file, its behaviour, and its acceptance table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perigee_lab import _core
from perigee_lab.common.reading import read_text

INPUTS = 50
"""Number of inputs of Astraea's networks."""
RATIOS = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0)
"""RTT relative to the lowest RTT: the columns of the map."""
RATES_MBPS = (10, 20, 40, 80, 100, 160)
"""Highest throughput: the rows of the map."""


def text_of(name: str | Path) -> str:
    """The text of a policy file, or of a bundled policy.

    Raises:
        ValueError: it cannot be read.
    """
    shipped = dict(_core.policies())
    if str(name) in shipped:
        return shipped[str(name)]
    try:
        return read_text(Path(name))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}: cannot read: {error}; policies that come along: {', '.join(shipped)}") from error


def load(path: str | Path) -> tuple[_core.Policy, list[str]]:
    """A policy and the comments at the head of its file.

    Raises:
        ValueError: it cannot be read or is damaged; with the line.
    """
    text = text_of(path)
    head = [line[1:].strip() for line in text.splitlines() if line.startswith("#")]
    try:
        return _core.Policy(text), head
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        id: A1 to A12, or L8, L9.
        what: test and requirement.
        values: all measured values, by name.
        passed: whether the requirement is met.
    """

    id: str
    what: str
    values: dict[str, float]
    passed: bool

    @property
    def text(self) -> str:
        """The row as text for a terminal."""
        values = "; ".join(f"{name} {value:.3f}" for name, value in self.values.items())
        return f"{self.id:4} {'pass' if self.passed else 'FAIL'}  {self.what}\n          {values}"


@dataclass(frozen=True)
class Facts:
    """A policy under test against the table.

    Attributes:
        scheme: astraea or astraea_leo.
        policy: text of its file.
        params: parameters of the scheme.
    """

    scheme: str
    policy: str
    params: dict[str, str]

    @staticmethod
    def of(name: str | Path, scheme: str = "", params: dict[str, str] | None = None) -> Facts:
        """Loads a file, or a bundled policy.

        Raises:
            ValueError: it is no policy, or there is no such scheme.
        """
        load(name)
        chosen = scheme or (str(name) if str(name) in dict(_core.policies()) else "astraea")
        if chosen not in ("astraea", "astraea_leo"):
            raise ValueError(f"{chosen!r}: policies are examined as astraea or as astraea_leo")
        return Facts(chosen, text_of(name), params or {})

    @property
    def rows(self) -> list[str]:
        """Identifiers of the rows of the scheme's table."""
        return _core.policy_rows("astraea" if self.scheme == "astraea" else "satellite")

    def row(self, name: str) -> Row:
        """Computes a row by simulations, on all cores.

        Raises:
            ValueError: there is no such row, or a parameter is wrong.
        """
        found = json.loads(_core.policy_row(self.scheme, self.policy, self.params, name))
        return Row(found["id"], found["what"], {n: v for n, v in found["values"] if v is not None}, found["pass"])


def steady(ratio: float, rate_mbps: float, rtt_ms: float) -> npt.NDArray[np.float32]:
    """The observation of a flow in steady state at its highest rate: 50 values.

    `ratio` is the RTT relative to the minimum RTT.
    """
    row = [1, min(ratio, 2), min(ratio, 2), min(0.8 * ratio, 2), rate_mbps / 80, rtt_ms / 500, 0, 1, 1, 0]
    return np.tile(np.asarray(row, np.float32), 5)


def behaviour(policy: _core.Policy, rtt_ms: float = 30.0) -> npt.NDArray[np.float32]:
    """Actions in the steady state: rates x ratios.

    Raises:
        ValueError: the policy does not have Astraea's 50 inputs.
    """
    rows = [[steady(ratio, rate, rtt_ms) for ratio in RATIOS] for rate in RATES_MBPS]
    return policy.evaluate(np.reshape(rows, (-1, 50))).reshape(len(RATES_MBPS), len(RATIOS))


def describe(path: str | Path) -> str:
    """Description of a policy as text for a terminal.

    Raises:
        ValueError: it is no policy.
    """
    policy, head = load(path)
    widths = policy.widths
    logs = " with logarithms of the inputs" if policy.logs else ""
    lines = [*head, f"network {'-'.join(map(str, widths))}{logs}, {policy.count} values"]
    if widths[0] == INPUTS:
        lines += ["", "action in the steady state, base RTT 30 ms", "highest rate | RTT over lowest RTT"]
        lines.append("  (Mbit/s)   |" + "".join(f"{r:7.2f}" for r in RATIOS))
        for rate, row in zip(RATES_MBPS, behaviour(policy), strict=True):
            lines.append(f"{rate:12} |" + "".join(f"{a:7.2f}" for a in row))
    return "\n".join(lines)
