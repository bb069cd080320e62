# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fluid model of OrbCC's control loop, linearised, and its phase margin.

N flows share a port of rate C and RTT T. In RTTs, with W the windows, R the references and U the averages,

    W = R η/U + AI    R' = W − R    U' = (u − U)/m    u(t) = Σ W(t − 1) / (C T)    AI = a C T / N

since bytes in flight are either sent (u is the rate) or queued (u is 1 and the queue). Deviations from the
equilibrium U = η/(1 − a), W = C T U/N obey

    OrbCC        L(s) = (1 − a) (1 + s) e^(−s) / ((s + a) (1 + m s))       m = N / (α B)
    OrbCC next   L(s) = g (1 − a) e^(−s) / ((s + g a) (1 + m s))           m = averaging

The zero of OrbCC is the ratio η/U, which acts on the window at once and not only through the reference. A flow receives
B/N ACKs per RTT (B: bandwidth-delay product in packets) and averages over 1/α of them: RTT, rate and number of flows
enter through m alone; η only moves the equilibrium.

python docs/make/orbcc_loop.py    prints the margins for some paths
"""

from __future__ import annotations

import math

PACKET_BITS = 1507 * 8


def averaging_rtts(flows: int, rate_bps: float, rtt_s: float, alpha: float) -> float:
    """Time constant of OrbCC's mean utilisation, in RTTs."""
    return flows / (alpha * rate_bps * rtt_s / PACKET_BITS)


def magnitude(omega: float, averaging: float, increase: float, gain: float | None) -> float:
    """Open-loop gain at `omega` radians per RTT; `gain` None = OrbCC."""
    lag = math.hypot(1.0, averaging * omega)
    if gain is None:
        return (1.0 - increase) * math.hypot(1.0, omega) / (math.hypot(increase, omega) * lag)
    return gain * (1.0 - increase) / (math.hypot(gain * increase, omega) * lag)


def phase_margin(averaging: float, *, increase: float = 0.05, gain: float | None = None) -> float:
    """Phase margin in degrees; negative = unstable. `averaging` in RTTs; `gain` None = OrbCC, else OrbCC next."""
    # The gain falls with the frequency: the crossover by bisection.
    low, high = 1e-6, 1e3
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if magnitude(middle, averaging, increase, gain) > 1.0 else (low, middle)
    leak = increase * (1.0 if gain is None else gain)
    lead = math.atan(low) if gain is None else 0.0
    return 180.0 + math.degrees(lead - low - math.atan2(low, leak) - math.atan(averaging * low))


def main() -> None:
    """Prints margins."""
    print("flows  RTT ms  alpha  averaging  margin")
    for flows, rtt, alpha in ((1, 50, 0.05), (1, 50, 0.01), (5, 50, 0.01), (20, 20, 0.01), (100, 20, 0.01)):
        m = averaging_rtts(flows, 100e6, rtt / 1e3, alpha)
        print(f"{flows:5d} {rtt:7d} {alpha:6} {m:10.2f}  {phase_margin(m):5.1f}°")
    print(f"orbcc-next: {phase_margin(0.5, gain=0.3):.1f}°")


if __name__ == "__main__":
    main()
