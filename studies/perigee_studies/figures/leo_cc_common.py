# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Common parts of the experiments on congestion control in LEO networks (Mazilu et al.)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from perigee_studies.digest import Digest

SCHEMES = ("cubic", "satcp", "bbr3", "leocc", "vivace", "astraea")
DEVIATIONS = (
    "Astraea decides by weights of our own (design/astraea-policy.md), trained as the published ones, which carry no "
    "licence; every 30 ms.",
    "Goodputs are in units of 10^6; the study's parser of iperf3 divides by 2^20, so that its values are lower by a "
    "factor of 0.9537.",
    "Cuts cut both directions and lose what is queued; the study's shaper lets 42 ms of line rate pass unshaped after "
    "one.",
)
BARS = "Lines: means over runs; dots: runs."
RATIO = """Ratio: for each second of the last 100 s (100 to 200 s) min / max of the two flows' goodputs, mean over
seconds and runs. Beside it the ratio of means (`ratio_of_means`), Jain's index over all flows' means (`jain`) and
goodputs, Mbit/s."""
CAPACITY_MBPS = 100.0
ALIKE = 0.1
"""Maximum difference of ratios and inflations that the study calls the same or similar."""
NEAR_1, VERY_HIGH, HIGH = 0.9, 0.9, 0.7
"""Values for the words that the study uses for ratios; noise lowers a ratio per second
(`RATIO`)."""


def lowest_over_base(d: Digest) -> float:
    """Mean of the lowest RTT so far over the base RTT.

    It is the share of the capacity that a window of one BDP of that RTT uses.
    """
    base = d.columns["base_rtt_ns"][0]
    return float(np.nanmean(np.fmin.accumulate(base) / base))


def bdp_bytes(rtt_ms: float, bdp: float = 1.0) -> int:
    """Converts a number of BDP at 100 "mbit" to bytes.

    As in the testbed, a "mbit" has 2^20 bits.
    """
    return int(bdp * int(100 * 2**20 * rtt_ms / 1e3 / 8))
