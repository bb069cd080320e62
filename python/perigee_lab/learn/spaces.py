# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Observations, actions and rewards, each a dataclass; a custom one needs the same methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from perigee_lab.learn.vector import METRICS, OBSERVATION, Floats, Step

INDEX = {name: i for i, name in enumerate(METRICS)}
PACKET_BYTES = 1500.0


@dataclass(frozen=True)
class FlowView:
    """A flow after a step.

    Attributes:
        features: 50 values, Astraea's of the last five decisions.
        reward: Astraea's reward.
        measured: measurements, by the names in `perigee_lab.learn.vector.METRICS`.
    """

    features: Floats
    reward: float
    measured: dict[str, float]


def view(step: Step, env: int, flow: int) -> FlowView:
    """Extracts a flow from a step."""
    row = step.metrics[env, flow]
    measured = {name: float(row[i]) for name, i in INDEX.items()}
    return FlowView(step.observations[env, flow].copy(), float(step.rewards[env, flow]), measured)


class Observation(Protocol):
    """Observation of an agent."""

    @property
    def size(self) -> int:
        """Number of values."""

    def of(self, flow: FlowView) -> Floats:
        """Values for a flow."""


class Action(Protocol):
    """Action of an agent: numbers from -1 to 1, or one of some choices."""

    @property
    def size(self) -> int:
        """Number of values from -1 to 1; 0 = a choice."""

    @property
    def choices(self) -> int:
        """Number of choices; 0 = values."""

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """Window in packets, and pacing rate in bytes/s (0 = pacing as in Astraea)."""


class Reward(Protocol):
    """Reward of an agent."""

    def of(self, flow: FlowView) -> float:
        """Reward of the latest step."""


@dataclass(frozen=True)
class AstraeaFeatures:
    """Ten features of the last five decisions."""

    size: int = OBSERVATION

    def of(self, flow: FlowView) -> Floats:
        """Returns the features unchanged."""
        return flow.features


@dataclass(frozen=True)
class WindowFactor:
    """Multiplies or divides the window by up to 1 + `most`, like Astraea (0.025) or Orca (3)."""

    most: float = 0.025
    size: int = 1
    choices: int = 0

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """Changes the window by at least a packet for any action but zero."""
        a, cwnd = float(action[0]) * self.most, flow.measured["cwnd_packets"]
        return (float(np.ceil(cwnd * (1 + a))) if a >= 0 else float(np.floor(cwnd / (1 - a)))), 0.0


@dataclass(frozen=True)
class RateFactor:
    """Multiplies or divides the rate by up to 1 + `most`, like Aurora.

    The window is two bandwidth-delay products.
    """

    most: float = 0.025
    size: int = 1
    choices: int = 0

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """The pacing rate, and a window of twice its bandwidth-delay product."""
        a, rate = float(action[0]) * self.most, max(flow.measured["pacing_bytes_per_s"], PACKET_BYTES)
        rate = rate * (1 + a) if a >= 0 else rate / (1 - a)
        return max(2 * rate * flow.measured["min_rtt_us"] * 1e-6 / PACKET_BYTES, 4), rate


@dataclass(frozen=True)
class WindowAndGain:
    """A factor of the window, and a pacing rate of half to twice the window over RTT."""

    most: float = 0.025
    size: int = 2
    choices: int = 0

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """Window and pacing rate."""
        cwnd, _ = WindowFactor(self.most).decide(action, flow)
        srtt_s = flow.measured["srtt_us"] * 1e-6
        return cwnd, 2.0 ** float(action[1]) * cwnd * PACKET_BYTES / srtt_s if srtt_s > 0 else 0.0


@dataclass(frozen=True)
class Choices:
    """One of some factors of the window."""

    factors: tuple[float, ...] = (0.5, 0.975, 1.0, 1.025, 1.5)
    size: int = 0

    @property
    def choices(self) -> int:
        """Number of factors."""
        return len(self.factors)

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """The window times the chosen factor."""
        return float(np.round(flow.measured["cwnd_packets"] * self.factors[int(action[0])])), 0.0


@dataclass(frozen=True)
class AstraeaReward:
    """Astraea's reward, computed by the simulator from all flows."""

    def of(self, flow: FlowView) -> float:
        """Reward of the latest step."""
        return flow.reward


@dataclass(frozen=True)
class AuroraReward:
    """10 throughput - 1000 latency - 2000 loss (Jay et al. 2019), over 1000.

    Units are packets/s, seconds and a fraction.
    """

    def of(self, flow: FlowView) -> float:
        """Reward of the latest step."""
        m = flow.measured
        loss = m["loss_bytes_per_s"] / m["pacing_bytes_per_s"] if m["pacing_bytes_per_s"] > 0 else 0.0
        packets = m["throughput_bytes_per_s"] / PACKET_BYTES
        return (10 * packets - 1000 * m["rtt_us"] * 1e-6 - 2000 * loss) / 1000


@dataclass(frozen=True)
class OrcaReward:
    """(throughput - 5 loss) over the highest throughput, times min(1, 1.25 min RTT / SRTT)."""

    def of(self, flow: FlowView) -> float:
        """Reward of the latest step."""
        m = flow.measured
        if m["max_throughput_bytes_per_s"] <= 0:
            return 0.0
        late = min(1.0, 1.25 * m["min_rtt_us"] / m["srtt_us"]) if m["srtt_us"] > 0 else 1.0
        useful = m["throughput_bytes_per_s"] - 5 * m["loss_bytes_per_s"]
        return useful / m["max_throughput_bytes_per_s"] * late


@dataclass(frozen=True)
class PowerReward:
    """Throughput over capacity times base RTT over RTT: Kleinrock's power, 1 at best."""

    def of(self, flow: FlowView) -> float:
        """Reward of the latest step."""
        m = flow.measured
        if m["capacity_bytes_per_s"] <= 0 or m["rtt_us"] <= 0:
            return 0.0
        return m["throughput_bytes_per_s"] / m["capacity_bytes_per_s"] * m["base_rtt_us"] / m["rtt_us"]


@dataclass(frozen=True)
class CopaReward:
    """log throughput - delta log queueing delay (Arun and Balakrishnan 2018), in Mbit/s and ms."""

    delta: float = 0.5

    def of(self, flow: FlowView) -> float:
        """Reward of the latest step."""
        m = flow.measured
        throughput = max(m["throughput_bytes_per_s"] * 8e-6, 1e-3)
        queueing_ms = max((m["rtt_us"] - m["min_rtt_us"]) * 1e-3, 0.1)
        return float(np.log(throughput) - self.delta * np.log(queueing_ms))
