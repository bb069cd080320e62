# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What an agent sees, does and earns. Each is a small dataclass: write one with the same methods to have your own."""

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
        reward: Astraea's.
        measured: by the names in `perigee_lab.learn.vector.METRICS`.
    """

    features: Floats
    reward: float
    measured: dict[str, float]


def view(step: Step, env: int, flow: int) -> FlowView:
    """A flow of a step."""
    row = step.metrics[env, flow]
    measured = {name: float(row[i]) for name, i in INDEX.items()}
    return FlowView(step.observations[env, flow].copy(), float(step.rewards[env, flow]), measured)


class Observation(Protocol):
    """What an agent sees."""

    @property
    def size(self) -> int:
        """Number of values."""

    def of(self, flow: FlowView) -> Floats:
        """Those of a flow."""


class Action(Protocol):
    """What an agent does: numbers from -1 to 1, or one of some choices."""

    @property
    def size(self) -> int:
        """Numbers from -1 to 1; 0 = a choice."""

    @property
    def choices(self) -> int:
        """How many there are; 0 = numbers."""

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """Window in packets, and pacing rate in bytes/s (0 = as Astraea paces)."""


class Reward(Protocol):
    """What an agent earns."""

    def of(self, flow: FlowView) -> float:
        """For the latest step."""


@dataclass(frozen=True)
class AstraeaFeatures:
    """Ten features of the last five decisions."""

    size: int = OBSERVATION

    def of(self, flow: FlowView) -> Floats:
        """As they are."""
        return flow.features


@dataclass(frozen=True)
class WindowFactor:
    """The window times or divided by at most 1 + `most`, as Astraea (0.025) or Orca (3) do it."""

    most: float = 0.025
    size: int = 1
    choices: int = 0

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """At least a packet more or less for anything but zero."""
        a, cwnd = float(action[0]) * self.most, flow.measured["cwnd_packets"]
        return (float(np.ceil(cwnd * (1 + a))) if a >= 0 else float(np.floor(cwnd / (1 - a)))), 0.0


@dataclass(frozen=True)
class RateFactor:
    """The rate times or divided by at most 1 + `most`, as Aurora does it, within two bandwidth-delay products."""

    most: float = 0.025
    size: int = 1
    choices: int = 0

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """The pacing rate, and a window of twice what it fills."""
        a, rate = float(action[0]) * self.most, max(flow.measured["pacing_bytes_per_s"], PACKET_BYTES)
        rate = rate * (1 + a) if a >= 0 else rate / (1 - a)
        return max(2 * rate * flow.measured["min_rtt_us"] * 1e-6 / PACKET_BYTES, 4), rate


@dataclass(frozen=True)
class WindowAndGain:
    """The window by a factor, and the pacing rate from half to twice of window over RTT."""

    most: float = 0.025
    size: int = 2
    choices: int = 0

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """Both."""
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
        """One for each factor."""
        return len(self.factors)

    def decide(self, action: Floats, flow: FlowView) -> tuple[float, float]:
        """The window times the chosen factor."""
        return float(np.round(flow.measured["cwnd_packets"] * self.factors[int(action[0])])), 0.0


@dataclass(frozen=True)
class AstraeaReward:
    """As the simulator computes it from all flows."""

    def of(self, flow: FlowView) -> float:
        """Of the latest step."""
        return flow.reward


@dataclass(frozen=True)
class AuroraReward:
    """10 throughput - 1000 latency - 2000 loss (Jay et al. 2019), in packets/s, seconds and as a share, over 1000."""

    def of(self, flow: FlowView) -> float:
        """Of the latest step."""
        m = flow.measured
        loss = m["loss_bytes_per_s"] / m["pacing_bytes_per_s"] if m["pacing_bytes_per_s"] > 0 else 0.0
        packets = m["throughput_bytes_per_s"] / PACKET_BYTES
        return (10 * packets - 1000 * m["rtt_us"] * 1e-6 - 2000 * loss) / 1000


@dataclass(frozen=True)
class OrcaReward:
    """(throughput - 5 loss) over the highest throughput, times 1.25 min RTT / SRTT where that is below one."""

    def of(self, flow: FlowView) -> float:
        """Of the latest step."""
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
        """Of the latest step."""
        m = flow.measured
        if m["capacity_bytes_per_s"] <= 0 or m["rtt_us"] <= 0:
            return 0.0
        return m["throughput_bytes_per_s"] / m["capacity_bytes_per_s"] * m["base_rtt_us"] / m["rtt_us"]


@dataclass(frozen=True)
class CopaReward:
    """log throughput - delta log queueing delay (Arun and Balakrishnan 2018), in Mbit/s and ms."""

    delta: float = 0.5

    def of(self, flow: FlowView) -> float:
        """Of the latest step."""
        m = flow.measured
        throughput = max(m["throughput_bytes_per_s"] * 8e-6, 1e-3)
        queueing_ms = max((m["rtt_us"] - m["min_rtt_us"]) * 1e-3, 0.1)
        return float(np.log(throughput) - self.delta * np.log(queueing_ms))
