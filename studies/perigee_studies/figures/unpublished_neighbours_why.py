# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Causes of OrbCC's share next to other schemes: variants of port, neighbour and telemetry.

Each hypothesis has a run that could contradict it: queues of another length, a CoDel that permits
longer queues, a neighbour that ignores drops, a LeoCC that is not misled by its own queue, a port
with one queue per class and telemetry for the class, and OrbCC alone at half of the rate, to which
such a class should be equivalent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies import frames, style
from perigee_studies.beside import varied
from perigee_studies.decided import Decided, by_share, gap
from perigee_studies.figures.orbcc_two_flows import queue_packets
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from perigee_studies.model import Ask, Case, Tables
    from perigee_studies.verdicts import Verdict

RUNS = 4
SHALLOW, PATIENT, CALM, OWN = "0.2 BDP", "target of 50 ms", "without probes", "half of the rate"
CLASSES = "a queue per class"
DROP_TAIL, CODEL, FQ, EACH = "drop-tail", "CoDel", "fq_codel", "a queue per flow"
LEOCC, DEAF = "leocc_omnet", "bbr"
TARGET: Mapping[str, object] = {"port.bottleneck.target": "50 ms", "port.bottleneck.interval": "500 ms"}
VARIANTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Mapping[str, object]]] = {
    SHALLOW: ((DROP_TAIL, EACH), ("cubic", "bbr3"), {"port.all.queue": f"{queue_packets(50, 0.2)} packets"}),
    PATIENT: ((CODEL, FQ), ("cubic", "bbr3"), TARGET),
    CALM: ((DROP_TAIL, CODEL, FQ, EACH), (LEOCC,), {"cc.leocc_omnet.signal": "notices"}),
    CLASSES: ((FQ,), ("cubic", "bbr3", LEOCC), {"port.bottleneck.discipline": "classes"}),
}
"""Variants by name: ports, neighbours, settings."""


def cases(figure: Callable[[Ask], list[Case]], make: Callable[[Case, str], Case]) -> Callable[[Ask], list[Case]]:
    """Variants of the first runs with one flow each.

    `make` replaces the neighbour of a case, or removes it.
    """

    def found(ask: Ask) -> list[Case]:
        some = [c for c in figure(ask) if c.labels["flows"] == 1 and int(c.labels["run"]) <= RUNS]
        out = []
        for name, (ports, others, sets) in VARIANTS.items():
            mine = [c for c in some if c.labels["port"] in ports and c.labels["other"] in others]
            out += varied(mine, name, sets)
        cubic = [c for c in some if c.labels["other"] == "cubic"]
        out += varied([make(c, DEAF) for c in cubic if c.labels["port"] == CODEL], DEAF, {})
        alone = [make(c, "") for c in cubic if c.labels["port"] == DROP_TAIL]
        half = {"port.bottleneck.rate": "50 Mbit/s", "port.all.queue": f"{queue_packets(50, 0.5)} packets"}
        return out + varied(alone, OWN, half)

    return found


def explain(verdicts: Callable[[Tables], list[Verdict]]) -> Callable[[Tables, Tables], Mapping[str, str]]:
    """Explanations by claim: those for each port, and separately those for LeoCC."""

    def words(t: Tables, variants: Tables) -> dict[str, str]:
        said = {DROP_TAIL: _drop_tail, CODEL: _codel, FQ: _fq, EACH: _each}
        out = {}
        for v in verdicts(t):
            port = next(p for p in said if v.key.split("-", 1)[1].startswith(f"{p}-"))
            if "apart" in v.key:
                out[v.key] = _apart(t, port)
            else:
                out[v.key] = _leocc(t, variants, port) if LEOCC in v.key else said[port](t, variants)
        return out

    return words


def _of(runs: pd.DataFrame, port: str, other: str, column: str = "share", **where: object) -> str:
    """Mean over runs, with its 95 % interval if there are enough runs."""
    found = frames.average(runs, column, port=port, other=other, flows=1, **where)
    return f"{found.value:.2f}" + (f" ({found.low:.2f} to {found.high:.2f})" if found.n > 1 else "")


def _both(runs: pd.DataFrame, port: str, column: str = "share", **where: object) -> str:
    each = (f"{_of(runs, port, o, column, **where)} beside {style.label(o)}" for o in ("cubic", "bbr3"))
    return " and ".join(each)


def _drop_tail(t: Tables, variants: Tables) -> str:
    runs, other = t["runs"], variants["runs"]
    return (
        "OrbCC counts the bytes that wait, whoever sent them, and gives way to them. Over one BDP one flow's share is "
        f"{_both(runs, DROP_TAIL)}, its RTT over the base RTT, which is the neighbour's queue, "
        f"{_both(runs, DROP_TAIL, 'orbcc_inflation')}; over 0.2 BDP, where less can wait, the share is "
        f"{_both(other, DROP_TAIL, variant=SHALLOW)}, the RTT "
        f"{_both(other, DROP_TAIL, 'orbcc_inflation', variant=SHALLOW)} (95 % intervals)."
    )


def _codel(t: Tables, variants: Tables) -> str:
    runs, other = t["runs"], variants["runs"]
    return (
        f"The neighbour answers to CoDel's drops, OrbCC to none: one flow's share is {_both(runs, CODEL)}. Beside "
        f"BBRv1, which answers to none either, it is {_of(other, CODEL, DEAF, variant=DEAF)}; with a target of 50 ms, "
        f"so that the neighbour may queue for longer, {_both(other, CODEL, variant=PATIENT)}, and the RTT over the "
        f"base RTT {_both(other, CODEL, 'orbcc_inflation', variant=PATIENT)} (95 % intervals)."
    )


def _fq(t: Tables, variants: Tables) -> str:
    runs, other = t["runs"], variants["runs"]
    own = frames.in_words(frames.average(other, "orbcc_inflation", variant=OWN))
    return (
        "Each flow has its turn, but the port tells the rate of the whole port: OrbCC takes what its neighbour gets "
        "for room and fills a queue of its own, which CoDel's drops do not move, until that makes a product: its "
        f"RTT over the base RTT is {_both(runs, FQ, 'orbcc_inflation')}. {_classes(other)}Alone at a port of 50 "
        f"Mbit/s, with half the rate, it is {own}. With a target of 50 ms the neighbour's own queue counts as load, "
        f"and its share is {_both(other, FQ, variant=PATIENT)} (95 % intervals)."
    )


def _classes(other: pd.DataFrame) -> str:
    if CLASSES not in set(other["variant"]):
        return ""
    delay, share = (_both(other, FQ, column, variant=CLASSES) for column in ("orbcc_inflation", "share"))
    return (
        "With a queue per class (`classes`), whose telemetry is half of the rate and its own bytes, it is "
        f"{delay}, and the share {share}. "
    )


def decide(t: Tables, variants: Tables) -> list[Decided]:
    """Verdicts on the port's telemetry as the cause of OrbCC's full queue."""
    found: list[Decided] = []
    for other in ("cubic", "bbr3") if CLASSES in set(variants["runs"]["variant"]) else ():
        ours, own = (
            frames.average(runs[runs["run"] <= RUNS], "orbcc_inflation", port=FQ, other=other, flows=1, **where)
            for runs, where in ((t["runs"], {}), (variants["runs"], {"variant": CLASSES}))
        )
        share = _of(variants["runs"], FQ, other, variant=CLASSES)
        found.append(
            Decided(
                f"beside {style.label(other)} over fq_codel OrbCC fills a queue because it is told of the whole port",
                by_share(ours.value - 1, gap(ours, own)),
                f"Its RTT over the base RTT is {frames.in_words(ours)}; with a queue per class, of which alone "
                f"telemetry tells, {frames.in_words(own)}, and its share {share}.",
            )
        )
    return found


def _each(t: Tables, variants: Tables) -> str:
    runs, other = t["runs"], variants["runs"]
    return (
        "The port tells the bytes of all queues, and nothing drops what the neighbour puts into its own: OrbCC gives "
        f"way to it, and one flow's share is {_both(runs, EACH)} over one BDP (95 % intervals). Over 0.2 BDP, where "
        f"the neighbour can hold less, it is {_both(other, EACH, variant=SHALLOW)}, at a price: OrbCC answers to no "
        f"loss, and {_again(other, 'cubic')} and {_again(other, 'bbr3')} packets of a run are sent again."
    )


def _again(other: pd.DataFrame, name: str) -> str:
    return _count(frames.pick(other, port=EACH, other=name, variant=SHALLOW))


def _leocc(t: Tables, variants: Tables, port: str) -> str:
    runs, other = t["runs"], variants["runs"]
    one, calm = frames.pick(runs, port=port, other=LEOCC), frames.pick(other, port=port, other=LEOCC, variant=CALM)
    again = ", ".join(f"{_count(one[one['flows'] == n])}" for n in sorted(set(one["flows"])))
    return (
        "LeoCC takes gaps of its probes for reconfigurations, and they wait in the queues that it makes. One flow "
        f"each: OrbCC's share is {_of(runs, port, LEOCC)} at {_of(runs, port, LEOCC, 'orbcc_inflation')} base RTTs; "
        "with notices in place of probes, of which there are none here, it is "
        f"{_of(other, port, LEOCC, variant=CALM)} at {_of(other, port, LEOCC, 'orbcc_inflation', variant=CALM)} (95 % "
        f"intervals). Sent again in a run, by the number of flows: {again} packets; with notices {_count(calm)}."
    )


def _apart(t: Tables, port: str) -> str:
    def each(n: int) -> str:
        here = frames.pick(t["runs"], port=port, other=f"{LEOCC}, probes apart", flows=n)
        share, delay = frames.average(here, "share"), frames.average(here, "orbcc_inflation")
        return f"{share.value:.2f} ({share.low:.2f} to {share.high:.2f}) at {delay.value:.2f} base RTTs"

    def among(n: int) -> str:
        return f"{frames.average(t['runs'], 'share', port=port, other=LEOCC, flows=n).value:.2f}"

    return (
        "Probes that are served first do not see the queue: one flow of LeoCC is not misled by it, keeps it short and "
        f"loses to OrbCC, whose share is {each(1)}; {among(1)} where probes wait among the data. With two flows each "
        f"it is {each(2)}; {among(2)} among the data (95 % intervals): two flows of LeoCC keep a queue in either case."
    )


def _count(runs: pd.DataFrame) -> str:
    return f"{runs['retransmits'].mean():,.0f}"


def evidence(
    figure: Callable[[Ask], list[Case]],
    make: Callable[[Case, str], Case],
    verdicts: Callable[[Tables], list[Verdict]],
) -> Evidence:
    """The variants and their conclusions."""
    return Evidence(cases(figure, make), explain(verdicts), (*VARIANTS, DEAF, OWN), decide)
