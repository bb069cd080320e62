# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cases of the figures on TCP over Starlink's inter-satellite links (Barbosa et al.), by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies.figures.hypatia_published import NUMBER, SCHEMES, WIRED_TABLE
from perigee_studies.model import Ask, Case, Keep

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIR, WIRED = "hypatia/pair.toml", "hypatia/wired.toml"
KEEP = Keep(("rtt_ns", "base_rtt_ns"))
ROUTES = Keep(("rtt_ns", "base_rtt_ns"), routes=True)
TOWNS = {
    "Sao Paulo": "sao-paulo",
    "San Jose": "san-jose-costa-rica",
    "San Jose (California)": "san-jose-california",
    "Montreal": "montreal",
    "Victoria": "victoria",
}
"""Names of the source nodes by town. The destinations are derived from the published distances. The study does not
specify which San Jose it means: both are run."""
STRATEGIES = {"shortest": "shortest-path", "nearest": "nearest"}
WIRES = {
    "Sao Paulo": (8, 83.99),
    "San Jose": (19, 142.58),
    "San Jose (California)": (14, 118.60),
    "Montreal": (26, 222.82),
    "Victoria": (12, 120.47),
}
"""Wired paths: number of links and mean RTT (ms) of the shortest paths over 11,000 km."""
PER_ACK = 2
"""Segments per ACK in all figures: ns-3's default, which Hypatia keeps."""
ASSUMED, LATER = "3.34 to 3.40", "3.43 and later"
"""Versions of ns-3. The study (2023) does not name its version. Hypatia bundles 3.31, but ns-3 has Cubic since 3.33 and
BBR since 3.34."""
BBR_OF: dict[str, dict[str, object]] = {
    ASSUMED: {"tcp.bbr.smoothed_samples": True},
    LATER: {"tcp.bbr.smoothed_samples": False},
}
"""Settings by version of ns-3: the BBR of 3.34 to 3.40 uses the smoothed RTT as its latest sample."""


def _case(town: str, km: int, strategy: str, cc: str, per_ack: int = PER_ACK, version: str = ASSUMED) -> Case:
    """A case over satellites; `per_ack` is the number of segments per ACK of the receiver."""
    source = TOWNS[town]
    sets: dict[str, object] = {
        "source.constellation.attach": STRATEGIES[strategy],
        "flow.0.from": source,
        "flow.0.to": f"{source}-{km}",
    }
    if cc == "ping":
        sets |= {"flow.0.app": "ping", "flow.0.interval": "1 ms"}
    sets |= _transport(cc, per_ack, version)
    labels = {"town": town, "km": km, "strategy": strategy, "network": "leo", "what": cc}
    labels |= {"per_ack": per_ack, "ns3": version}
    return Case(PAIR, "newreno" if cc == "ping" else cc, labels, 1, sets, ROUTES if cc == "ping" else KEEP)


def _transport(cc: str, per_ack: int, version: str) -> dict[str, object]:
    """Settings of the delayed-ACK policy and of a version of ns-3."""
    sets: dict[str, object] = {} if per_ack == 1 else {"tcp.delayed_ack": per_ack}
    return sets | (BBR_OF[version] if cc == "bbr" else {})


def _wired(town: str, cc: str, per_ack: int = PER_ACK, version: str = ASSUMED) -> Case:
    """The case over the wired path with the same number of links and mean RTT."""
    links, rtt_ms = WIRES[town]
    slow = {
        "port.s->r1.rate": "10 Mbit",
        f"port.r{links - 1}->d.rate": "10 Mbit",
        f"port.d->r{links - 1}.rate": "10 Mbit",
    }
    sets = {"source.chain.links": links, "source.chain.rtt": f"{rtt_ms} ms", **slow, "port.r1->s.rate": "10 Mbit"}
    sets |= _transport(cc, per_ack, version)
    labels = {"town": town, "km": 11000, "strategy": "wired", "network": "wired", "what": cc}
    labels |= {"per_ack": per_ack, "ns3": version}
    return Case(WIRED, cc, labels, 1, sets, KEEP)


def towns(ask: Ask) -> list[str]:
    """All towns; at size quick, only Sao Paulo and Victoria."""
    return ask.pick(("Sao Paulo", "Victoria"), tuple(TOWNS), tuple(TOWNS))


def throughput_cases(ask: Ask) -> list[Case]:
    """Towns x distances x strategies x (schemes and pings), and schemes over the wired paths."""
    ccs = ask.schemes(SCHEMES)
    out = [_case(town, km, strategy, cc) for km, strategy in NUMBER for town in towns(ask) for cc in ["ping", *ccs]]
    return out + [_wired(town, cc) for town in towns(ask) for cc in ccs]


def table_cases(ask: Ask) -> list[Case]:
    """The `throughput_cases`, and the cells of the tables with an ACK per segment and with the later ns-3."""
    return throughput_cases(ask) + _cells(ask, ask.schemes(SCHEMES), per_ack=1) + _cells(ask, ["bbr"], version=LATER)


def _cells(ask: Ask, ccs: Sequence[str], per_ack: int = PER_ACK, version: str = ASSUMED) -> list[Case]:
    """The cells of Tables 1 to 4 and of the wired paths; none at size quick."""
    known = ask.pick((), tuple(WIRED_TABLE), tuple(WIRED_TABLE))
    out = [_case(town, km, strategy, cc, per_ack, version) for km, strategy in NUMBER for town in known for cc in ccs]
    return out + [_wired(town, cc, per_ack, version) for town in known for cc in ccs]


def ping_cases(ask: Ask) -> list[Case]:
    """Pings without other traffic."""
    return [_case(town, km, strategy, "ping") for km, strategy in NUMBER for town in towns(ask)]
