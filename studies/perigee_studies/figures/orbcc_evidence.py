# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Evidence on figures of the OrbCC study that are not reproduced.

It consists of variants of their runs, evaluated as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies import frames
from perigee_studies.beside import repeated, varied
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perigee_studies.model import Ask, Case, Tables

    Cases = Callable[[Ask], list[Case]]

SCHEDULES = 4
KEPT, LOSS_PROBES, FRTO, LINUX = "maximum kept", "loss probes", "F-RTO", "Linux"
CUBIC: Mapping[str, Mapping[str, object]] = {
    KEPT: {"cc.cubic.variant": "ns3"},
    LOSS_PROBES: {"tcp.tlp": True},
    FRTO: {"tcp.frto": True},
    LINUX: {"tcp.profile": "linux"},
}
UNPACED, RECOVERY, LATER = "no pacing", "Linux's recovery", "other starts"
SHALLOW: Mapping[str, Mapping[str, object]] = {
    LATER: {},
    UNPACED: {"tcp.pacing": False},
    RECOVERY: {"tcp.reduction": "rfc9937"},
    LINUX: {"tcp.profile": "linux"},
}
SHALLOW_RTT_MS, SHALLOW_BDP = 100, 0.2
AMONG, TOLD, TOGETHER = "probes among the data", "notices", "together"
PROBED_FLOWS = (5, 10)
MANY_RUNS = 4


def _some(figure: Sequence[Case], runs: int, **where: object) -> list[Case]:
    """The first runs of a figure with these labels and scheme."""
    return [
        c
        for c in figure
        if int(c.labels["run"]) <= runs and all({**c.labels, "cc": c.cc}[name] == v for name, v in where.items())
    ]


def cubic(figure: Cases) -> Evidence:
    """Cubic's underutilisation, which is not reproduced: the first schedules under other rules."""

    def cases(ask: Ask) -> list[Case]:
        mine = _some(figure(ask), SCHEDULES, cc="cubic")
        return [c for name, sets in CUBIC.items() for c in varied(mine, name, sets)]

    return Evidence(cases, explain_cubic, tuple(CUBIC))


def explain_cubic(t: Tables, variants: Tables) -> dict[str, str]:
    """Explains the effect of timeouts."""
    runs = frames.pick(t["runs"], cc="cubic", loss=0)
    first = runs[runs["run"] <= SCHEDULES]
    of = {name: frames.pick(variants["runs"], variant=name) for name in CUBIC}
    mbps = {name: f"{frame['goodput_mbps'].mean():.1f}" for name, frame in of.items()}
    late = {name: f"{frame['timeouts'].mean():.0f}" for name, frame in of.items()}
    return {
        "goodput-cubic": "What follows an outage decides. As run, each ends with a timeout "
        f"({first['timeouts'].mean():.0f} in a run), and a timeout makes Cubic forget the window at which it last lost "
        f"packets: it grows without the plateau there. On the first {SCHEDULES} schedules that gives "
        f"{first['goodput_mbps'].mean():.1f} Mbit/s; {mbps[KEPT]} where that window is kept "
        f"over a timeout (`cc.cubic.variant = ns3`), {mbps[LOSS_PROBES]} with tail loss probes ({late[LOSS_PROBES]} "
        f"timeouts), {mbps[FRTO]} with F-RTO, {mbps[LINUX]} with Linux's transport ({late[LINUX]} timeouts). The "
        "published underutilisation is that of a Cubic that remembers."
    }


def parking(figure: Cases) -> Evidence:
    """Cubic's long flow over shallow queues.

    The variants have other start times, pacing, recovery, or Linux's transport.
    """

    def cases(ask: Ask) -> list[Case]:
        where = {"cc": "cubic", "rtt_ms": SHALLOW_RTT_MS, "queue_bdp": SHALLOW_BDP}
        mine = _some(repeated(figure, ask, MANY_RUNS), MANY_RUNS, **where)
        out = [c for name, sets in SHALLOW.items() if sets for c in varied(mine, name, sets)]
        for c in mine:
            start_s = float(str(c.sets["flow.0.start"]).split()[0])
            out += varied([c], LATER, {"flow.0.start": f"{start_s / 2:.9f} s"})
        return out

    return Evidence(cases, explain_parking, tuple(SHALLOW))


def explain_parking(t: Tables, variants: Tables) -> dict[str, str]:
    """Explains the effects of chance, pacing and recovery."""
    here = {"rtt_ms": SHALLOW_RTT_MS, "queue_bdp": SHALLOW_BDP}
    ours = frames.average(t["runs"], "ratio", cc="cubic", **here)
    of = {name: frames.in_words(frames.average(variants["runs"], "ratio", variant=name)) for name in SHALLOW}
    return {
        "similar": f"Cubic with {SHALLOW_BDP} BDP at {SHALLOW_RTT_MS} ms: {ours.value:.2f} as run; {of[LATER]} where "
        f"the long flow starts after half of the time, {of[UNPACED]} without pacing, {of[RECOVERY]} with Linux's "
        f"recovery, {of[LINUX]} with all of Linux's transport."
    }


def many(figure: Cases) -> Evidence:
    """Many flows: LeoCC's probes wait with the data, or are replaced by notices.

    In addition, 20 BBRv1 flows that start together.
    """

    def cases(ask: Ask) -> list[Case]:
        out = []
        for n in PROBED_FLOWS:
            mine = _some(repeated(figure, ask, MANY_RUNS), MANY_RUNS, cc="leocc_omnet", flows=n)
            out += varied(mine, AMONG, {"port.all.probe_priority": False})
            out += varied(mine, TOLD, {"cc.leocc_omnet.signal": "notices"})
        for c in _some(repeated(figure, ask, MANY_RUNS), MANY_RUNS, cc="bbr", flows=20):
            flows = c.sets["flow"]
            assert isinstance(flows, list)  # as in the figure's cases
            out += varied([c], TOGETHER, {"flow": [f | {"start": f"{k / 20:g} s"} for k, f in enumerate(flows)]})
        return out

    return Evidence(cases, explain_many, (AMONG, TOLD, TOGETHER))


def explain_many(t: Tables, variants: Tables) -> dict[str, str]:
    """Explains the effect of the probes' queue on LeoCC's delay, and of start times on BBR's."""

    def run(cc: str, n: int, column: str = "delay") -> str:
        return f"{frames.average(t['runs'], column, cc=cc, flows=n).value:.2f}"

    def of(name: str, n: int, column: str = "delay") -> str:
        return frames.in_words(frames.average(variants["runs"], column, variant=name, flows=n))

    one, other = PROBED_FLOWS
    per_run = sorted(frames.pick(t["runs"], cc="leocc_omnet", flows=other)["delay"])
    leocc = (
        "LeoCC's probes decide it. In a store of their own, as the study's code has it, they measure an empty path "
        f"after each outage, and all flows stay near it: {run('leocc_omnet', one)} with {one} flows, "
        f"{run('leocc_omnet', other)} with {other} (by run {per_run[0]:.2f} to {per_run[-1]:.2f}). Where they wait "
        f"among the data (`port.all.probe_priority = false`), outages and a full queue look alike: {of(AMONG, one)} and"
        f" {of(AMONG, other)}. With notices of the true outages {of(TOLD, one)} and {of(TOLD, other)} "
        f"(95 % intervals). Both BBRs have {run('bbr', one)} and {run('bbr3', one)} with {one} flows: the published "
        "order is that of probes among the data."
    )
    late = (
        "Flows that join a standing queue take its RTT for their path's: BBR sees the empty path only while all wait "
        f"in PROBE_RTT at once. Where the 20 start within a second it is {of(TOGETHER, 20)} (Jain's index "
        f"{of(TOGETHER, 20, 'jain')}), joining over 100 s {run('bbr', 20)} ({run('bbr', 20, 'jain')})."
    )
    return {**{f"leocc-{n}": leocc for n in (*PROBED_FLOWS, 20)}, "bbr-20": late}
