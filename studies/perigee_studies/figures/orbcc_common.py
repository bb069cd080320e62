# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Common parts of the experiments of OrbCC and of LeoTCP, its earlier version."""

from __future__ import annotations

import random

from perigee_studies.model import Theirs

MINE = "orbcc-repro"
SCHEMES = ("cubic", "bbr", "bbr3", MINE, "orbcc")
PAPERS = {"orbcc": "OrbCC", "leotcp": "LeoTCP"}
DEVIATIONS = (
    "Transport: our TCP with the profile `study-orbcc` (INET as the study configured it); OrbCC as in the study's "
    "simulator (`orbcc-repro`), and as in the paper, with telemetry on the wire (`orbcc`).",
)
INET = Theirs(
    ("cubic", "bbr", "bbr3"),
    {"tcp.profile": "inet"},
    "Cubic, BBRv1 and BBRv3 of the claims above are the models of the study's simulator (`--set tcp.profile=inet`; "
    "design/differences.md says what separates them from Linux's); LeoCC is that simulator's as well "
    "(`leocc_omnet`). Here the claims are checked once more with Linux's schemes.",
)
"""The schemes of the study's simulator, which claims and figures have."""


def generator(run: int) -> random.Random:
    """The study's random generator for this run; its seeds start with 1999."""
    return random.Random(1998 + run)
