# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Variants of `geo/set-ups`: return links with capacity on request, and links that drop in rate.

The allocation of the terminal is not published. The variants have the defaults of an open emulator
of DVB-RCS2 (OpenSAND): 100 kbit/s without a request, and at most 5,120 kbit/s by rate-based
requests. A grant takes 600 ms, which is a round trip to the hub and the scheduler's delay, in
frames of 26.5 ms.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies.figures import geo_downloads as downloads
from perigee_studies.figures import geo_ping as pings
from perigee_studies.model import Case, Keep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perigee_studies.model import Outcome

DELAY_MS, CRA_KBPS, RBDC_KBPS, FCA_KBPS = 600, 100, 5120, 1000
_ASKED = {"port.reverse.dama_delay": f"{DELAY_MS} ms"}
_CONSTANT = {**_ASKED, "port.reverse.dama_cra": f"{CRA_KBPS} kbit"}
_BY_RATE = {**_CONSTANT, "port.reverse.dama_rbdc": f"{RBDC_KBPS} kbit"}
VOLUME, CONSTANT, RATE, RATE_ALONE, FREE = (
    "by volume",
    "by volume, some constant",
    "by rate and volume, some constant",
    "by rate, some constant",
    "by volume, some constant and free",
)
ON_REQUEST: Mapping[str, Mapping[str, object]] = {
    VOLUME: _ASKED,
    CONSTANT: _CONSTANT,
    RATE: _BY_RATE,
    RATE_ALONE: {**_BY_RATE, "port.reverse.dama_by_volume": False},
    FREE: {**_CONSTANT, "port.reverse.dama_fca": f"{FCA_KBPS} kbit"},
}
"""Settings of the return link, by variant."""
FAST, TIMES_S = 144, 180
FALLS: Mapping[str, tuple[int, float]] = {"a third for 5 s a minute": (48, 5.0), "half for 10 s a minute": (72, 10.0)}
"""Reduced rate in Mbit/s and its duration in s; drops are a Poisson process with one per minute."""
PING_S = 600
BODY_MS = (560, 625)
"""Range in ms that contains 99 % of the published pings."""
PING_KEEP = Keep(("rtt_ns",))


def falls(name: str, seed: int) -> dict[str, object]:
    """Rate changes of a run.

    The times between drops are exponential, one minute on average, and drawn from the seed.
    """
    rate, length_s = FALLS[name]
    draws, at = random.Random(f"falls {seed}"), 0.0
    changes: list[dict[str, str]] = []
    while True:
        at += draws.expovariate(1 / 60)
        if at + length_s >= TIMES_S:
            return {"change": changes}
        changes.append({"at": f"{at:.3f} s", "rate": f"{rate} Mbit"})
        at += length_s
        changes.append({"at": f"{at:.3f} s", "rate": f"{FAST} Mbit"})


def cases(runs: range, published: str) -> list[Case]:
    """Downloads of every variant, and ten minutes of pings over each return link.

    Pings also run over the published return link.
    """
    found = [
        Case(downloads.FILE, cc, _labels(name, run), run, sets, downloads.KEEP)
        for name, sets in ON_REQUEST.items()
        for run in runs
        for cc in downloads.SCHEMES
    ]
    found += [
        Case(downloads.FILE, cc, _labels(name, run), run, falls(name, run), downloads.KEEP)
        for name in FALLS
        for run in runs
        for cc in downloads.SCHEMES
    ]
    short = {"run.duration": f"{PING_S} s"}
    found += [
        Case(pings.FILE, "ping", _labels(name, run), run, {**sets, **short}, PING_KEEP)
        for name, sets in {published: {}, **ON_REQUEST}.items()
        for run in runs
    ]
    return found


def _labels(name: str, run: int) -> dict[str, object]:
    return {"set_up": name, "run": run, "variant": name}


def ping_row(o: Outcome) -> dict[str, Any]:
    """Share of RTTs within `BODY_MS`, the range of 99 % of the published ones, and mean RTT."""
    rtt = o.digest.columns["rtt_ns"][0] / 1e6
    known = rtt[~np.isnan(rtt)]
    low, high = BODY_MS[0] - pings.ROUNDING_MS, BODY_MS[1] + pings.ROUNDING_MS
    return {"ping_ms": known.mean(), "ping_body_pct": 100 * float(np.mean((known >= low) & (known <= high)))}
