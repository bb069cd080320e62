# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fluid model of OrbCC's control loop, linearised: its phase margin.

N flows share a port of rate C. In RTTs of length T, with the windows W as the state, OrbCC corrects per RTT

    dW/dt = (g/T) (W η/U − W + AI),    U' = (u − U)/(m T),    u(t) = Σ W(t − T) / (C T),    AI = a C T / N

since bytes in flight are either sent (u is the rate) or queued (u is 1 and the queue). At the equilibrium U = η/(1 − a)
windows are C T U/N, and a deviation obeys, with s in 1/T,

    open loop L(s) = g (1 − a) e^(−s) / ((s + g a) (1 + m s)),    m: averaging of U in RTTs.

η only moves the equilibrium. m is the time of 1/α ACKs, of which a flow receives B/N per RTT (B: bandwidth-delay
product in packets): m = N/(α B). RTT, rate and number of flows enter through m alone.

python docs/make/orbcc_loop.py    prints the margins for some paths
"""

from __future__ import annotations

import math

PACKET_BITS = 1507 * 8


def averaging_rtts(flows: int, rate_bps: float, rtt_s: float, alpha: float) -> float:
    """Time constant of OrbCC's mean utilisation, in RTTs."""
    return flows / (alpha * rate_bps * rtt_s / PACKET_BITS)


def open_loop(omega: float, averaging: float, gain: float, increase: float) -> complex:
    """Open-loop transfer function at `omega` radians per RTT."""
    s = 1j * omega
    delay = complex(math.cos(omega), -math.sin(omega))
    return gain * (1.0 - increase) * delay / ((s + gain * increase) * (1.0 + averaging * s))


def phase_margin(averaging: float, *, gain: float = 1.0, increase: float = 0.0) -> float:
    """Phase margin in degrees; negative = unstable. `averaging` in RTTs, `increase` is a."""
    low, high = 1e-6, 1e3
    for _ in range(200):
        middle = math.sqrt(low * high)
        above = abs(open_loop(middle, averaging, gain, increase)) > 1.0
        low, high = (middle, high) if above else (low, middle)
    lags = low + math.atan2(low, gain * increase) + math.atan(averaging * low)
    return 180.0 - math.degrees(lags)


def main() -> None:
    """Prints margins."""
    print("flows  RTT ms  alpha  averaging  margin   with a = 0.05")
    for flows, rtt, alpha in ((1, 50, 0.01), (5, 50, 0.01), (20, 20, 0.01), (100, 20, 0.01), (100, 20, 0.1)):
        m = averaging_rtts(flows, 100e6, rtt / 1e3, alpha)
        margins = f"{phase_margin(m):5.1f}°  {phase_margin(m, increase=0.05):5.1f}°"
        print(f"{flows:5d} {rtt:7d} {alpha:6} {m:10.2f}  {margins}")
    print(f"orbcc-next: {phase_margin(0.5, gain=0.3):.1f}°")


if __name__ == "__main__":
    main()
