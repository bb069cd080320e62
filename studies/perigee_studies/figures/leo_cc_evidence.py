# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Evidence on figures of the testbed that are not reproduced: variants of their runs, as text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perigee_studies import frames
from perigee_studies.beside import repeated
from perigee_studies.figures import leo_cc_cases as figure
from perigee_studies.figures.leo_cc_cases import FLOWS, SHALLOW_RTT_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from perigee_studies.model import Ask, Case, Tables

RUNS = 4
OWN, TOLD, FIRST, CALM, AT_ONCE, ACCESS = "own", "told", "first", "calm", "at once", "access"
FRAMES, BURSTS = "no bucket", "bursts of 64 kB"
EFFICIENCY: Mapping[str, tuple[str, tuple[int, ...], Mapping[str, object]]] = {
    OWN: ("leocc", FLOWS, {"cc.leocc.trigger_scope": "path"}),
    TOLD: ("leocc", (10,), {"cc.leocc.signal": "notices"}),
    FIRST: ("leocc", (10,), {"port.all.probe_priority": True}),
    CALM: ("leocc", (10,), {"schedule.first": "249 s"}),
    AT_ONCE: ("bbr3", (20,), {}),
}
"""Variants by name: scheme, numbers of flows, settings."""
PARKING: Mapping[str, tuple[tuple[str, ...], tuple[float, ...], Mapping[str, object]]] = {
    CALM: (("bbr3", "leocc"), (1.0,), {"schedule.first": "199 s"}),
    FIRST: (("bbr3", "leocc"), (1.0,), {}),
    ACCESS: (("bbr3",), (1.0,), {"source.parking_lot.rtt_at": "access"}),
    TOLD: (("leocc",), (1.0,), {"cc.leocc.signal": "notices"}),
    OWN: (("leocc",), (0.2, 0.4), {"cc.leocc.trigger_scope": "path"}),
    FRAMES: (("bbr3", "leocc"), (1.0,), {"port.bottleneck.burst": "1514 B"}),
    BURSTS: (("bbr3", "leocc"), (1.0,), {"tcp.tso_segments": 44}),
}
"""Variants by name: schemes, queue lengths in BDP, settings."""
INET, LINUX = "simulator's", "Linux"
INTRA: Mapping[str, Mapping[str, object]] = {INET: {"cc.bbr3.variant": "inet"}, LINUX: {"tcp.profile": "linux"}}
"""Variants by name: BBRv3 of the OrbCC study's simulator; the entire transport of Linux 6.12."""


def efficiency_cases(ask: Ask) -> list[Case]:
    """Variants of the first runs of `leo-cc/efficiency`."""
    out = []
    some = repeated(figure.efficiency_cases, ask, RUNS)
    for name, (cc, counts, sets) in EFFICIENCY.items():
        for c in (c for c in some if c.cc == cc and c.labels["flows"] in counts):
            out.append(starting_within_a_second(c) if name == AT_ONCE else _variant(c, name, sets))
    return out


def starting_within_a_second(case: Case) -> Case:
    """The case with flows that start a twentieth of a second after each other."""
    flows = [f | {"start": f"{k / 20:g} s"} for k, f in enumerate(_flows(case))]
    return _variant(case, AT_ONCE, {"flow": flows})


def parking_cases(ask: Ask) -> list[Case]:
    """Variants of `leo-cc/parking-lot` over three bottlenecks, 120 ms, also with shallow queues."""
    out = []
    found = repeated(figure.parking_cases, ask, RUNS)
    some = [c for c in found if (c.labels["bottlenecks"], c.labels["rtt_ms"]) == (3, SHALLOW_RTT_MS)]
    for name, (ccs, queues, sets) in PARKING.items():
        for c in (c for c in some if c.cc in ccs and c.labels["queue_bdp"] in queues):
            more = dict(sets)
            if name == FIRST:
                more["flow"] = [f | {"start": "50 s" if k else "0 s"} for k, f in enumerate(_flows(c))]
            out.append(_variant(c, name, more))
    return out


def _variant(case: Case, name: str, sets: Mapping[str, object]) -> Case:
    return replace(case, labels={**case.labels, "variant": name}, sets={**case.sets, **sets})


def _flows(case: Case) -> list[dict[str, str]]:
    flows = case.sets["flow"]
    assert isinstance(flows, list)  # as in the figure's cases
    return flows


def explain_efficiency(t: Tables, variants: Tables) -> dict[str, str]:
    """Explanations of delays that differ from the published ones."""

    def of(name: str, n: int) -> str:
        return frames.in_words(frames.average(variants["runs"], "inflation", variant=name, flows=n), 1)

    def run(cc: str, n: int) -> str:
        return f"{frames.average(t['runs'], 'inflation', cc=cc, flows=n).value:.1f}"

    own, shared = [of(OWN, n) for n in FLOWS], [run("leocc", n) for n in FLOWS]
    leocc = (
        "How reconfigurations are detected decides it. The companion's probes wait in the queue of 5 BDP, and when a "
        "cut empties it or a probe finds it full, gaps beyond the threshold appear that are none. If each flow heeds "
        f"its own probes, the delay is {own[0]}, {own[1]} and {own[2]} with 5, 10 and 20 flows; in Mininet hosts share "
        "the kernel module and one flow's gap triggers all (as run): "
        f"{shared[0]}, {shared[1]} and {shared[2]}. With 10 flows it is {of(TOLD, 10)} with notices of the true cuts, "
        f"{of(FIRST, 10)} if probes go first, {of(CALM, 10)} without cuts (95 % intervals)."
    )
    bbr3 = (
        "In part who joins when: flows that join a standing queue take its RTT for their path's, until the PROBE_RTTs "
        f"of all meet. Where the 20 start within a second it is {of(AT_ONCE, 20)}, joining over "
        f"100 s {run('bbr3', 20)}."
    )
    return {f"leocc-{n}": leocc for n in FLOWS} | {"bbr3-20": bbr3}


def explain_parking(t: Tables, variants: Tables) -> dict[str, str]:
    """Explanations of the share of the long flow."""

    def of(cc: str, name: str, bdp: float = 1.0) -> str:
        return frames.in_words(frames.average(variants["runs"], "ratio", cc=cc, variant=name, queue_bdp=bdp))

    def run(cc: str, bdp: float = 1.0) -> str:
        where = {"bottlenecks": 3, "rtt_ms": SHALLOW_RTT_MS, "queue_bdp": bdp}
        return f"{frames.average(t['runs'], 'ratio', cc=cc, **where).value:.2f}"

    bbr3 = (
        f"The depth of the queue decides it for BBRv3 (second figure): {run('bbr3', 0.2)} of the best short flow with "
        f"0.2 BDP, {run('bbr3', 0.4)} with 0.4 and {run('bbr3')} with 1 BDP at three bottlenecks and 120 ms. With "
        "shallow queues losses, which the long flow sees three times as often, share the links about proportionally. "
        "One BDP holds the two products that BBR keeps under way without losses: the flows are bound by their windows, "
        "the long one waits in three queues, the short ones in one, and its best rates fall round by round. Over 1 BDP "
        f"it is {of('bbr3', CALM)} without cuts, {of('bbr3', FIRST)} where the long flow begins and "
        f"{of('bbr3', ACCESS)} with the RTT on access links; {of('bbr3', FRAMES)} without a token bucket's depth, "
        f"{of('bbr3', BURSTS)} with the largest bursts that Linux sends. Two BBRv3 flows of the measured kernel over 1 "
        "BDP are as uneven for the same reason (docs/explanation/kernel.md)."
    )
    leocc = (
        "As BBRv3's over 1 BDP: a model of BBRv1 that keeps two products under way. With shallower queues it is "
        f"{run('leocc', 0.2)} and {run('leocc', 0.4)} (0.2 and 0.4 BDP, second figure), where one flow's gap makes all "
        f"start anew, as in Mininet; with each flow's own probes {of('leocc', OWN, 0.2)} and "
        f"{of('leocc', OWN, 0.4)} there. Over 1 BDP it is {run('leocc')}, {of('leocc', CALM)} without cuts, "
        f"{of('leocc', FIRST)} where the long flow begins, {of('leocc', TOLD)} with notices in place of probes, "
        f"{of('leocc', FRAMES)} without the depth of the token bucket, {of('leocc', BURSTS)} with the largest bursts. "
        "What the study's flows did otherwise is open."
    )
    return {f"{cc}-{n}": why for cc, why in (("bbr3", bbr3), ("leocc", leocc)) for n in (3, 6)}


def intra_cases(ask: Ask) -> list[Case]:
    """BBRv3's runs of `leo-cc/intra-rtt` as in OrbCC's simulator, and with Linux's transport."""
    mine = [c for c in repeated(figure.intra_cases, ask, RUNS) if c.cc == "bbr3"]
    return [_variant(c, name, sets) for name, sets in INTRA.items() for c in mine]


def explain_intra(t: Tables, variants: Tables) -> dict[str, str]:
    """BBRv3's ratio by version and transport, over all RTTs and at the longest."""
    far = int(t["runs"]["rtt_ms"].max())

    def of(runs: pd.DataFrame, **where: object) -> str:
        here = frames.pick(runs, cc="bbr3", **where)
        longest = frames.average(here, "ratio", rtt_ms=far).value
        return f"{frames.average(here, 'ratio', 'rtt_ms').value:.2f} ({longest:.2f} at {far} ms)"

    cubic = frames.average(t["runs"], "ratio", "rtt_ms", cc="cubic").value
    return {
        "bbr3": f"BBRv3 has {of(t['runs'])}, Cubic {cubic:.2f}; {of(variants['runs'], variant=LINUX)} with all of "
        f"Linux's transport, {of(variants['runs'], variant=INET)} with the version of the OrbCC study's simulator."
    }
