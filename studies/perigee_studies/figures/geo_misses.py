# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The two misses of the geostationary study: BBR's start-up, and RTTs of two seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies import beside, frames
from perigee_studies.decided import CONFIRMED, PART, REJECTED, Finding
from perigee_studies.figures import geo_downloads as downloads
from perigee_studies.figures import geo_requests as requests
from perigee_studies.figures import geo_set_ups as geo

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from perigee_lab.common.statistics import Estimate
    from perigee_studies.model import Tables

PINGS_PCT = 99
"""Of the published pings, within 560 to 625 ms."""
NEAR_PCT = 4.0
"""Tolerated shortfall of this share."""
START_RTT_MS = downloads.TABLES["start-rtt"][4][0][1]
START_TOLERANCE_MS = downloads.MEAN_SHARE * START_RTT_MS
"""Of BBR's start, as `geo/downloads` has them."""
LATE_PCT, LATE_BOUNDS_PCT = 5, (2.5, 10)
"""Published share of RTTs of 2 s and more ("about"), and what counts as that: half to double."""


def _within(runs: pd.DataFrame, name: str, cc: str, *columns: str) -> bool:
    """The means of a variant lie within the tolerances of the published numbers."""
    numbers = [n for n in geo.NUMBERS if n.cc == cc and n.column in columns]
    return all(abs(_of(runs, n.column, name, cc).value - n.published) <= n.tolerance for n in numbers)


def _of(runs: pd.DataFrame, column: str, name: str, cc: str) -> Estimate:
    return frames.average(runs, column, set_up=name, cc=cc)


def _plus_minus(e: Estimate, digits: int = 1) -> str:
    return f"{e.value:.{digits}f} ± {e.high - e.value:.{digits}f}"


def _listed(names: list[str]) -> str:
    return "; ".join(names) or "none"


def start_up(tables: Mapping[str, Tables]) -> Finding:
    """Effect of a return link with requested capacity on start-up, steady state and pings."""
    runs = beside.of_variants(tables["geo/set-ups"])["runs"]
    said, fast, starts, keeps, pings = [], [], [], [], []
    for name in (geo.PUBLISHED, *requests.ON_REQUEST):
        mbps, ms, got_s, steady = (
            _of(runs, c, name, "bbr") for c in ("startup_mbps", "startup_rtt_ms", "get_30_mb_s", "rtt_ms")
        )
        body = _of(runs, "ping_body_pct", name, "ping").value
        said.append(
            f"{'without requests' if name == geo.PUBLISHED else name} {_plus_minus(mbps)} Mbit/s at "
            f"{_plus_minus(ms, 0)} ms, {got_s.value:.1f} s, steady {_plus_minus(steady, 0)} ms, pings {body:.0f} %"
        )
        if name != geo.PUBLISHED:
            fast += [name] if _within(runs, name, "bbr", "startup_mbps", "get_30_mb_s") else []
            starts += [name] if name in fast and abs(ms.value - START_RTT_MS) <= START_TOLERANCE_MS else []
            keeps += [name] if _within(runs, name, "bbr", "rtt_ms") else []
            pings += [name] if body >= PINGS_PCT - NEAR_PCT else []
    both = [name for name in starts if name in keeps and name in pings]
    cubic = [f"{name} {_plus_minus(_of(runs, 'startup_mbps', name, 'cubic'))}" for name in fast]
    return Finding(
        CONFIRMED if both else PART if fast else REJECTED,
        "BBR's start-up, its RTT, time to 30 MB, steady RTT, and the pings within "
        f"{requests.BODY_MS[0]} to {requests.BODY_MS[1]} ms, by what the terminal asks for (grants after "
        f"{requests.DELAY_MS} ms, {geo.BESIDE_RUNS} runs each, 95 % intervals): "
        f"{'; '.join(said)}. Published: 23.1 Mbit/s at {START_RTT_MS:g} ms, 15 s, 780 ms, {PINGS_PCT} %. The published "
        f"throughput and time of the start come out with: {_listed(fast)} (Cubic's throughput, published 16.6: "
        f"{_listed(cubic)}); the RTT of the start (within {START_TOLERANCE_MS:.0f} ms) as well with: "
        f"{_listed(starts)}; the steady RTT within its tolerance with: {_listed(keeps)}; the pings with: "
        f"{_listed(pings)}; all with: {_listed(both)}.",
    )


def long_rtts(tables: Mapping[str, Tables]) -> Finding:
    """Whether requests, fades or changing rates cause RTTs of 2 s and more."""
    runs, other = tables["geo/set-ups"]["runs"], beside.of_variants(tables["geo/set-ups"])["runs"]
    falling = (geo.SHALLOW, geo.DEEP, *requests.FALLS)
    words, held, enough = [], [], []
    for name in falling:
        late = _late(other, name)
        mbps = [_of(other, "mean_mbps", name, cc).value for cc in ("cubic", "bbr")]
        words.append(f"{name} {_plus_minus(late)} % (Cubic {mbps[0]:.0f}, BBR {mbps[1]:.0f} Mbit/s)")
        throughput = all(_within(other, name, cc, "mean_mbps") for cc in ("cubic", "bbr"))
        if throughput and late.value >= LATE_PCT:
            enough.append(name)
        if throughput and LATE_BOUNDS_PCT[0] <= late.value <= LATE_BOUNDS_PCT[1]:
            held.append(name)
    asked = "; ".join(f"{name} {_late(other, name).value:.1f}" for name in requests.ON_REQUEST)
    plain, fades = (_late(runs, name).value for name in (geo.PUBLISHED, "fades of 10 ms"))
    rtts = [f"{name} {_of(other, 'rtt_ms', name, 'cubic').value:.0f} and {_of(other, 'rtt_ms', name, 'bbr').value:.0f}"
            for name in enough]  # fmt: skip
    steady = [n for n in held if all(_within(other, n, cc, "rtt_ms") for cc in ("cubic", "bbr"))]
    return Finding(
        CONFIRMED if steady else PART if enough or held else REJECTED,
        f"RTTs of 2 s and more, in %: as run {plain:.1f}, with fades that lose packets {fades:.1f}; with a "
        f"return link on request: {asked}; with rates that fall ({geo.BESIDE_RUNS} runs of each scheme, 95 % "
        f"intervals): {'; '.join(words)}. Published: about {LATE_PCT} % (Cubic 123, BBR 113 Mbit/s). The published "
        f"throughputs with {LATE_PCT} % or more: {_listed(enough)}; with {LATE_BOUNDS_PCT[0]:g} to "
        f"{LATE_BOUNDS_PCT[1]:g} %: {_listed(held)}. Their mean RTTs, Cubic's and BBR's (published 821 and 780 ms): "
        f"{_listed(rtts)}.",
    )


def _late(runs: pd.DataFrame, name: str) -> Estimate:
    """Share of RTTs of 2 s and more over downloads of both schemes, in %."""
    return frames.average(runs[runs["cc"] != "ping"], "rtt_over_2s_pct", set_up=name)
