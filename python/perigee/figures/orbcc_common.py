# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the experiments of OrbCC and of LeoTCP, its earlier version, share."""

from __future__ import annotations

import random

MINE = "orbcc-repro"
SCHEMES = ("cubic", "bbr", "bbr3", MINE, "orbcc")
PAPERS = {"orbcc": "OrbCC", "leotcp": "LeoTCP"}
DEVIATIONS = (
    "Transport: our TCP with the profile `study-orbcc` (INET as the study configured it); OrbCC as its simulator has "
    "it (`orbcc-repro`), and as the paper describes it with telemetry on the wire (`orbcc`) beside it.",
)


def generator(run: int) -> random.Random:
    """The study's for this run: its seeds begin with 1999."""
    return random.Random(1998 + run)
