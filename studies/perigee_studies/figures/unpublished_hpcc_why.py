# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Differences between HPCC and OrbCC: variants of T, target and stages, and of OrbCC's meter.

Each variant sets one key. T from the ports instead of from the handshake tests whether the RTT of
the handshake is outdated. A target of 1 instead of 0.95 tests the cost of a port that is never
full. OrbCC over ports that count full packets tests whether its queue is caused by counting only
payload. Stages as in HPCC's paper, inside TCP, test the effect of its growth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies import frames
from perigee_studies.beside import varied
from perigee_studies.figures.orbcc_common import MINE
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from perigee_studies.model import Ask, Case, Tables
    from perigee_studies.verdicts import Verdict

RUNS = 4
PLAIN, TCP = "hpcc", "hpcc_tcp"
TOLD, FULL, STAGES, WHOLE, OWN = "T of the ports", "target of 1", "five stages", "whole packets", "own RTT"
VARIANTS: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    TOLD: {PLAIN: {"cc.hpcc.reference": "avg_rtt"}},
    FULL: {PLAIN: {"cc.hpcc.eta": 1.0}, TCP: {"cc.hpcc_tcp.eta": 1.0}},
    STAGES: {TCP: {"cc.hpcc_tcp.max_stage": 5}},
    WHOLE: {MINE: {"cc.orbcc-repro.tx_bytes_unit": "wire"}},
    OWN: {TCP: {"cc.hpcc_tcp.reference": "fixed"}},
}
"""Settings of each variant, by scheme."""


def evidence(
    figure: Callable[[Ask], list[Case]], verdicts: Callable[[Tables], list[Verdict]], paths: tuple[str, ...]
) -> Evidence:
    """The first runs on some paths with each variant, and conclusions from them."""

    def cases(ask: Ask) -> list[Case]:
        some = [c for c in figure(ask) if c.labels["path"] in paths and int(c.labels["run"]) <= RUNS]
        return [
            c
            for name, by_scheme in VARIANTS.items()
            for cc, sets in by_scheme.items()
            for c in varied([c for c in some if c.cc == cc], name, sets)
        ]

    def words(t: Tables, variants: Tables) -> dict[str, str]:
        changing, unlike = paths
        said = {
            "goodput": _goodput(t["runs"], variants["runs"], changing, unlike),
            "delay": _delay(t["runs"], variants["runs"], unlike),
            "ratio": _ratio(t["runs"], variants["runs"], unlike),
        }
        return {v.key: said[v.key.split("-")[0]] for v in verdicts(t)}

    return Evidence(cases, words, tuple(VARIANTS))


def _of(runs: pd.DataFrame, column: str, digits: int, **where: object) -> str:
    """Mean over the first runs, which the variants also have, with its 95 % interval."""
    found = frames.average(runs[runs["run"] <= RUNS], column, **where)
    interval = f" ({found.low:.{digits}f} to {found.high:.{digits}f})" if found.n > 1 else ""
    return f"{found.value:.{digits}f}{interval}"


def _goodput(runs: pd.DataFrame, other: pd.DataFrame, changing: str, unlike: str) -> str:
    def ours(cc: str, path: str) -> str:
        return _of(runs, "carried_mbps", 1, scheme=cc, path=path)

    def with_(name: str, cc: str, path: str) -> str:
        return _of(other, "carried_mbps", 1, variant=name, scheme=cc, path=path)

    return (
        f"Where rate and RTT change HPCC carries {ours(PLAIN, changing)} Mbit/s, {with_(TOLD, PLAIN, changing)} with "
        f"the ports' mean RTT for the handshake's; inside TCP it has {ours(TCP, changing)}, and "
        f"{with_(STAGES, TCP, changing)} with five stages between corrections; OrbCC has {ours(MINE, changing)}. Where "
        f"nothing changes HPCC has {ours(PLAIN, unlike)} Mbit/s, and {with_(FULL, PLAIN, unlike)} with a target of 1 "
        "(95 % intervals)."
    )


def _delay(runs: pd.DataFrame, other: pd.DataFrame, unlike: str) -> str:
    def both(frame: pd.DataFrame, cc: str, **where: object) -> str:
        rate = _of(frame, "carried_mbps", 1, scheme=cc, path=unlike, **where)
        return f"{_of(frame, 'inflation', 3, scheme=cc, path=unlike, **where)} base RTTs at {rate} Mbit/s"

    return (
        f"OrbCC as its authors' simulator has it keeps a queue, HPCC does not. With flows of {unlike} HPCC "
        f"has {both(runs, PLAIN)}, inside TCP {both(runs, TCP)}; with a target of 1 {both(other, PLAIN, variant=FULL)} "
        f"and {both(other, TCP, variant=FULL)}. OrbCC has {both(runs, MINE)} where ports count payload, and "
        f"{both(other, MINE, variant=WHOLE)} where they count whole packets (95 % intervals): its queue is what "
        "counting the payload leaves out."
    )


def _ratio(runs: pd.DataFrame, other: pd.DataFrame, unlike: str) -> str:
    return (
        f"Inside TCP HPCC relates queues to the ports' mean RTT, as OrbCC does. With flows of {unlike} its goodput "
        f"ratio is {_of(runs, 'ratio', 4, scheme=TCP, path=unlike)}, OrbCC's "
        f"{_of(runs, 'ratio', 4, scheme=MINE, path=unlike)}; related to the flow's own RTT it is "
        f"{_of(other, 'ratio', 4, variant=OWN, scheme=TCP, path=unlike)} (95 % intervals)."
    )
