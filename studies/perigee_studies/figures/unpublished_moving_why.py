# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Causes of unfairness between unequal RTTs on moving paths: variants without a supposed cause.

Each variant removes one cause: the difference of the RTTs, the motion, the space for queues, and
for LeoCC, the probes: it mistakes their gaps for reconfigurations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perigee_studies import frames, style
from perigee_studies.beside import varied
from perigee_studies.decided import Decided, by_share, gap
from perigee_studies.figures.orbcc_two_flows import FILE as STILL_FILE
from perigee_studies.figures.orbcc_two_flows import queue_packets
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from perigee_lab.common.statistics import Estimate
    from perigee_studies.model import Ask, Case, Tables
    from perigee_studies.verdicts import Verdict

RUNS = 20
"""As in the figure at full size: LeoCC's runs differ too much for five runs to be conclusive."""
EQUAL, STILL, SHALLOW, NOTICES = "both far", "standing still", "0.2 BDP", "without probes"
SCHEMES = ("bbr", "bbr3", "leocc")
RTTS_MS = (16, 44)
"""Approximate RTTs of the near and far path without queues, used for paths without motion."""
QUEUE_PACKETS = 371
CAUSES: Mapping[str, str] = {
    EQUAL: "because the RTTs are unequal",
    STILL: "because the paths move",
    SHALLOW: "because queues hold a product of the far path",
}


def evidence(
    figure: Callable[[Ask], list[Case]],
    ends: Mapping[str, tuple[str, str, str]],
    claims: Callable[[Tables], list[Verdict]],
) -> Evidence:
    """Variants of the first runs between the first ends, and conclusions from them."""
    first = next(iter(ends))

    def cases(ask: Ask) -> list[Case]:
        some = [
            c for c in figure(ask) if c.cc in SCHEMES and c.labels["ends"] == first and int(c.labels["run"]) <= RUNS
        ]
        return [
            *(c for case in some for c in varied([case], EQUAL, {"flow": _both_far(case, ends[first][2])})),
            *(_standing(c) for c in some),
            *varied(some, SHALLOW, {"port.all.queue": f"{queue_packets(RTTS_MS[1], 0.2)} packets"}),
            *varied([c for c in some if c.cc == "leocc"], NOTICES, {"cc.leocc.signal": "notices"}),
        ]

    def decide(t: Tables, variants: Tables) -> list[Decided]:
        return [d for cc in SCHEMES for d in _of_scheme(t["runs"], variants["runs"], first, cc)]

    def words(t: Tables, variants: Tables) -> dict[str, str]:
        said = {cc: _in_short(t["runs"], variants["runs"], first, cc) for cc in SCHEMES}
        found = ((v.key, v.key.rsplit("-", 1)[1]) for v in claims(t) if v.key.startswith("fair-"))
        return {key: said[cc] for key, cc in found if cc in said}

    return Evidence(cases, words, (EQUAL, STILL, SHALLOW, NOTICES), decide)


def _both_far(case: Case, far: str) -> list[Mapping[str, object]]:
    flows = case.sets["flow"]
    assert isinstance(flows, list)  # as the figure has it
    return [f | {"to": far} for f in flows]


def _standing(case: Case) -> Case:
    """Two senders at one bottleneck, with the RTTs and start times of the two paths."""
    flows = case.sets["flow"]
    assert isinstance(flows, list)  # as the figure has it
    sets = {
        "run.duration": case.sets["run.duration"],
        "source.dumbbell.rtt": [f"{rtt} ms" for rtt in RTTS_MS],
        "port.all.queue": f"{QUEUE_PACKETS} packets",
        **{f"flow.{i}.start": f["start"] for i, f in enumerate(flows)},
    }
    return replace(case, scenario=STILL_FILE, labels={**case.labels, "variant": STILL}, sets=sets)


def _fair(runs: pd.DataFrame, ends: str, cc: str, **where: object) -> Estimate:
    return frames.average(runs[runs["run"] <= RUNS], "fair", ends=ends, scheme=cc, **where)


def _of_scheme(runs: pd.DataFrame, other: pd.DataFrame, ends: str, cc: str) -> list[Decided]:
    ours, name = _fair(runs, ends, cc), style.label(cc)
    causes = dict(CAUSES)
    if cc == "leocc":
        causes[NOTICES] = "because it takes gaps of its probes for reconfigurations"
    found = {variant: _fair(other, ends, cc, variant=variant) for variant in causes}
    return [
        Decided(
            f"{name} is unfair {cause}",
            by_share(1 - ours.value, gap(found[variant], ours)),
            f"Smaller over larger goodput {frames.in_words(ours)}, {_how(variant)} {frames.in_words(found[variant])}; "
            f"half of what is missing to 1 is {(1 - ours.value) / 2:.2f}.",
        )
        for variant, cause in causes.items()
    ]


def _how(variant: str) -> str:
    return {
        EQUAL: "with both flows to the far end",
        STILL: f"at one bottleneck with {RTTS_MS[0]} and {RTTS_MS[1]} ms that do not change",
        SHALLOW: f"with queues of {queue_packets(RTTS_MS[1], 0.2)} packets",
        NOTICES: "with notices in place of probes, of which there are none here,",
    }[variant]


def _in_short(runs: pd.DataFrame, other: pd.DataFrame, ends: str, cc: str) -> str:
    variants = [v for v in (*CAUSES, NOTICES) if cc == "leocc" or v != NOTICES]
    rest = ", ".join(f"{_how(v)} {frames.in_words(_fair(other, ends, cc, variant=v))}" for v in variants)
    return f"{ends}, {style.label(cc)}: {frames.in_words(_fair(runs, ends, cc))} as run; {rest} (95 % intervals)."
