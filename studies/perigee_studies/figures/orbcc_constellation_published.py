# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Published values of two flows over a constellation: OrbCC and LeoTCP, Fig. 3 and table."""

from __future__ import annotations

from perigee_studies.figures.orbcc_common import MINE, PAPERS

STUDIES = tuple(PAPERS)
"""The studies, in the order of the published pairs of values."""
RATIO = {
    "Pair1": {"cubic": (0.96, 0.95), "bbr": (0.71, 0.66), "bbr3": (0.79, 0.81), MINE: (0.99, 0.99)},
    "Pair2": {"cubic": (0.96, 0.98), "bbr": (0.40, 0.39), "bbr3": (0.74, 0.79), MINE: (0.97, 0.97)},
}
DELAY = {
    "Pair1": {"cubic": (2.01, 2.01), "bbr": (1.39, 1.37), "bbr3": (1.18, 1.18), MINE: (1.06, 1.06)},
    "Pair2": {"cubic": (2.15, 2.13), "bbr": (1.68, 1.69), "bbr3": (1.38, 1.35), MINE: (1.07, 1.07)},
}
"""OrbCC's values are corrected, LeoTCP's are as printed."""
PRINTED = {
    "Pair1": {"cubic": 1.38, "bbr": 0.95, "bbr3": 0.81, MINE: 0.73},
    "Pair2": {"cubic": 2.90, "bbr": 2.27, "bbr3": 1.86, MINE: 1.44},
}
"""OrbCC's are below 1, which is faster than light; LeoTCP's are multiplied by 0.686 and 1.35,
because of another base RTT."""
GOODPUT_MBPS = {
    "Pair1": {"cubic": (75.79, 75.73), "bbr": (76.28, 76.10), "bbr3": (76.41, 77.58), MINE: (78.46, 78.68)},
    "Pair2": {"cubic": (61.09, 60.56), "bbr": (59.38, 60.25), "bbr3": (60.74, 61.51), MINE: (61.85, 62.26)},
}
MOST: dict[str, tuple[float, float]] = {"cubic": (1.87, 1.88), "bbr": (2.09, 2.08)}
"""Largest delays of all pairs, in the order of the studies."""
FAIR = 0.99
"""OrbCC's approximate ratio."""
