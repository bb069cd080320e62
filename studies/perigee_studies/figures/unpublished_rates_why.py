# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Causes of lower shares at higher rates.

The variants have the same or a larger window in packets at six times the rates.

Packets can grow by a factor of at most six: segments have up to 8948 bytes. Since headers keep
their size, the rate on the ground is reduced until the rate of the payload is the same as with
small packets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies import frames, style
from perigee_studies.beside import varied
from perigee_studies.decided import Decided, by_share, gap
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from perigee_lab.common.statistics import Estimate
    from perigee_studies.model import Ask, Case, Tables

TIMES, MSS, HEADERS = 6, 1380, 54
MORE, LARGER = "six times the rates", "six times the rates, packets as much larger"
SCHEMES = ("newreno", "vegas")
"""Schemes whose shares of the full rates are much lower with any queue."""
TOWNS = ("Sao Paulo", "Montreal")
MORE_MBPS = 10.0 * TIMES
"""Reference rate for the goodput of both variants."""
LARGER_MBPS = MORE_MBPS * (MSS / (MSS + HEADERS)) / (TIMES * MSS / (TIMES * MSS + HEADERS))
LASERS = {"port.isl.rate": f"{TIMES} Gbit"}
QUEUE = f"{100 * TIMES} packets"
SETS: Mapping[str, Mapping[str, object]] = {
    MORE: {**LASERS, "port.ground.rate": f"{MORE_MBPS:g} Mbit", "port.ground.queue": QUEUE, "port.isl.queue": QUEUE},
    LARGER: {**LASERS, "port.ground.rate": f"{LARGER_MBPS:.3f} Mbit", "tcp.mss": TIMES * MSS},
}


def evidence(figure: Callable[[Ask], list[Case]], scaled: str) -> Evidence:
    """Variants of the figure's runs at the published rates."""

    def cases(ask: Ask) -> list[Case]:
        some = [
            c for c in figure(ask) if c.cc in SCHEMES and c.labels["town"] in TOWNS and c.labels["setting"] == scaled
        ]
        return [c for name, sets in SETS.items() for c in varied(some, name, sets)]

    def decide(t: Tables, variants: Tables) -> list[Decided]:
        return [_of_scheme(cc, t, variants, scaled) for cc in SCHEMES]

    return Evidence(cases, lambda t, variants: {}, tuple(SETS), decide)


def _of_scheme(cc: str, t: Tables, variants: Tables, scaled: str) -> Decided:
    runs = t["runs"][t["runs"]["town"].isin(TOWNS)]
    slow = frames.average(runs, "share", "town", scheme=cc, setting=scaled)

    def of(name: str) -> Estimate:
        return frames.average(variants["runs"], "share", "town", scheme=cc, variant=name)

    more, larger = of(MORE), of(LARGER)
    return Decided(
        f"{style.label(cc)} has less of a larger rate because its window has more packets",
        by_share(slow.value - more.value, gap(larger, more)),
        f"Share of the rate, from {' and '.join(TOWNS)}: {frames.in_words(slow)} scaled down, {frames.in_words(more)} "
        f"at {TIMES} times the rates with queues as long in time, {frames.in_words(larger)} there with packets of "
        f"{TIMES * MSS:,} bytes, of which the window has as many as scaled down.",
    )
