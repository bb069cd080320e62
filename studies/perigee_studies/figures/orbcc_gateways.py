# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Connections split at gateways: Cubic or BBR from hosts, OrbCC between gateways.

They are compared with OrbCC, Cubic and BBR from end to end, over the changing LEO path of the
responsiveness experiment and over a geostationary path. Goodput is the data that reaches the
receiving host. Delay is the sum of the RTTs of all legs and of the waiting times in the proxies
(their buffer over the goodput), over the base RTT of the entire path; for flows from end to end, it
is the RTT alone. Retransmissions are those of all legs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import Estimate, mean
from perigee_studies import frames, style
from perigee_studies.beside import varied
from perigee_studies.decided import Decided, by_share, gap
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Evidence, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound, order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

FILES = {"LEO": "orbcc/gateways.toml", "GEO": "orbcc/gateways-geo.toml"}
BUFFERS = {"LEO": "4 MB", "GEO": "16 MB"}
SPLITS = ("cubic", "bbr")
END_TO_END = ("orbcc-repro", "cubic", "bbr")
KEEP = Keep(("goodput_bps", "delivered_bytes", "rtt_ns", "base_rtt_ns"))
OBJECT_MB = 10


def cases(ask: Ask) -> list[Case]:
    """Schemes from end to end, and schemes of hosts with OrbCC between gateways, on both paths."""
    out = []
    for run in range(1, ask.count(2, 5, 20) + 1):
        for path, file in FILES.items():
            length = ask.count(60, 150, 300) if path == "LEO" else ask.count(60, 120, 120)
            sets: Mapping[str, object] = {"run.duration": f"{length} s"}
            if path == "GEO" and run > 1:
                # The path has no random draws; runs differ only in the start time.
                sets = {**sets, "flow.0.start": f"{(run - 1) * 37} ms"}
            hosts = ask.schemes(END_TO_END)
            out += [Case(file, cc, {"path": path, "run": run, "how": "end to end"}, run, sets, KEEP) for cc in hosts]
            for cc in (c for c in ask.schemes(SPLITS) if "orbcc" not in c):
                split = {
                    "flow.0.via": ["r1", "r2"],
                    "flow.0.via_cc": ["*", "orbcc-repro", "*"],
                    "flow.0.via_buffer": BUFFERS[path],
                }
                out.append(Case(file, cc, {"path": path, "run": run, "how": "split"}, run, {**sets, **split}, KEEP))
    return out


def tables(found: Sequence[Outcome]) -> Tables:
    """Runs, one per row, and arrivals over time in the first run."""
    first = [o for o in found if o.case.seed == 1]
    return {"runs": frames.table(found, _row), "starts": frames.series(first, _start)}


def _row(o: Outcome) -> dict[str, Any]:
    d = o.digest
    got = np.maximum.accumulate(np.nan_to_num(d.columns["delivered_bytes"]), axis=1)
    later = d.t_s > d.t_s[-1] / 3
    goodput = np.nan_to_num(d.mbps(-1))[later].mean()
    with np.errstate(invalid="ignore"):
        rtt = np.nanmean(d.columns["rtt_ns"][:, later], axis=1).sum() / 1e6
        base = np.nanmean(d.columns["base_rtt_ns"][:, later], axis=1).sum() / 1e6
    held = (got[:-1] - got[1:])[:, later].mean(axis=1).sum() if len(got) > 1 else 0.0
    wait = held * 8e-3 / max(goodput, 1e-9)
    satellite = d.flows[1] if len(got) > 1 else d.flows[0]
    return {
        "goodput_mbps": goodput,
        "inflation": (rtt + wait) / base,
        "wait_ms": wait,
        "first_10_mb_s": _when(d.t_s, got[-1], d.flows[0]["started_ns"] / 1e9),
        "retransmit_pct": 100 * sum(f["retransmits"] for f in d.flows) / max(1, sum(f["data_sent"] for f in d.flows)),
        "satellite_retransmits": satellite["retransmits"],
    }


def _when(t_s: Any, got: Any, begin_s: float) -> float:
    return float(np.interp(OBJECT_MB * 1e6, got, t_s)) - begin_s if got[-1] >= OBJECT_MB * 1e6 else float("nan")


def _start(o: Outcome) -> list[dict[str, Any]]:
    d = o.digest
    got = np.maximum.accumulate(np.nan_to_num(d.columns["delivered_bytes"][-1])) / 1e6
    keep = d.t_s <= 20
    return [{"t_s": float(t), "mb": float(mb)} for t, mb in zip(d.t_s[keep], got[keep], strict=True)]


def _names(runs: Any) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(runs["how"], runs["cc"], strict=True)))


def _name(how: str, cc: str) -> str:
    return style.label(cc) if how == "end to end" else f"{style.label(cc)} | OrbCC | {style.label(cc)}"


def draw(t: Tables) -> dict[str, Any]:
    """Plots goodput against delay, and the first 20 s, for each path."""
    runs = t["runs"]
    figure, axes = style.panels(4, 1, width=2.1, height=2.6)
    for j, path in enumerate(FILES):
        for how, cc in _names(runs):
            one = frames.pick(runs, path=path, how=how, cc=cc)
            whole = how == "end to end"
            look = {**style.look(cc), "linestyle": "none", "markersize": 6, "fillstyle": "full" if whole else "none"}
            axes[0][2 * j].plot(one["inflation"].mean(), one["goodput_mbps"].mean(), **look)
            start = frames.pick(t["starts"], path=path, how=how, cc=cc)
            dashes = {**style.line(cc), "linestyle": "-" if whole else (0, (3, 1.5))}
            axes[0][2 * j + 1].plot(start["t_s"], start["mb"], **dashes)
            axes[0][2 * j].plot([], [], label=_name(how, cc), **{**look, **dashes, "markersize": 5})
        axes[0][2 * j].set_title(path, loc="left")
        axes[0][2 * j + 1].set_title(f"{path}, begin of run 1", loc="left")
        axes[0][2 * j].set_xlabel("delay / base RTT")
        axes[0][2 * j].set_ylabel("goodput, Mbit/s")
        axes[0][2 * j].set_ylim(0, 1.1 * runs["goodput_mbps"].max())
        axes[0][2 * j].margins(x=0.12)
        axes[0][2 * j + 1].set_xlabel("time, s")
        axes[0][2 * j + 1].set_ylabel("arrived, MB")
    style.shared_legend(figure, axes[0])
    return {"gateways": figure}


def check(t: Tables) -> list[Verdict]:
    """Claims on the benefit of gateways for hosts with other schemes."""
    runs, out = t["runs"], []
    source = "claimed of OrbCC, not measured"
    for path in FILES:
        for cc in (c for c in SPLITS if c in set(runs["cc"])):
            name = style.label(cc)
            split = frames.average(runs, "goodput_mbps", path=path, how="split", cc=cc).value
            alone = frames.average(runs, "goodput_mbps", path=path, how="end to end", cc=cc).value
            words = f"{path}: split, {name} at the hosts, against {name} from end to end"
            out.append(
                order(
                    f"gain-{path}-{cc}",
                    words,
                    source,
                    [("split", split), (name, alone)],
                    unit="Mbit/s",
                    kind=Kind.UNPUBLISHED,
                )
            )
            words = f"{path}: split, {name} at the hosts, of OrbCC's goodput from end to end"
            share = _share(runs[runs["path"] == path], cc)
            out.append(bound(f"share-{path}-{cc}", words, source, "OrbCC's", share, low=95, unit="%"))
            slow = frames.average(runs, "inflation", path=path, how="end to end", cc=cc).value
            quick = frames.average(runs, "inflation", path=path, how="split", cc=cc).value
            words = (
                f"{path}: delay of {name} from end to end at least that of the split flow, waits in proxies included"
            )
            out.append(
                order(f"delay-{path}-{cc}", words, source, [(name, slow), ("split", quick)], kind=Kind.UNPUBLISHED)
            )
    return out


def _share(here: pd.DataFrame, cc: str) -> Estimate:
    """Goodput of the split flow relative to OrbCC from end to end, run by run, %."""
    split = frames.pick(here, how="split", cc=cc).set_index("run")["goodput_mbps"]
    whole = frames.pick(here, how="end to end", cc="orbcc-repro").set_index("run")["goodput_mbps"]
    return mean((100 * split / whole).dropna().to_numpy())


METHOD = """One flow. LEO: the schedules of `orbcc/responsiveness`, a third of the RTT on each of host - gateway,
gateway - gateway, gateway - host; proxies hold 4 MB. GEO: 560 ms between the gateways, 10 ms from each to its host,
100 Mbit/s with a queue of one bandwidth-delay product; proxies hold 16 MB. Goodput and delay after the first third.
Proxies answer SYNs at once. OrbCC with the profile `orbcc-repro`."""
METRICS = """Goodput: what reaches the receiving host, Mbit/s. Delay: RTTs of the legs together and the time that data
waits in the proxies (what they hold over the goodput; `wait_ms`), over the base RTT of the whole path; from end to end
the RTT alone. In the table also the time until 10 MB have arrived (`first_10_mb_s`, s) and the packets of all legs
that were sent again (`retransmit_pct`, %)."""
CAPTIONS = {
    "gateways": "Filled points and solid lines: one connection from end to end; open and dashed: Cubic or BBRv1 "
    "between host and gateway, OrbCC between the gateways. Points are means over runs."
}
DEVIATIONS = ("Nobody published this set-up: paths, buffers and the bound of 95 % are ours.",)
QUARTER, FULL = "a quarter of the buffer", "target of 1"
YOUNG, OLD = "minimum RTT of 2 s", "minimum RTT of 60 s"
WINDOWS_S = {YOUNG: 2, OLD: 60}
"""Windows of BBR's minimum RTT; the default is 10 s."""
QUARTERS = {"LEO": "1 MB", "GEO": "4 MB"}
VARIANT_RUNS = 4


def variants(ask: Ask) -> list[Case]:
    """Proxies with a quarter of the buffer, and OrbCC with a target of 1 over GEO.

    In addition, other windows of BBR's minimum RTT.
    """
    split = [c for c in cases(ask) if c.labels["how"] == "split" and int(c.labels["run"]) <= VARIANT_RUNS]
    out = []
    for path, buffer in QUARTERS.items():
        out += varied([c for c in split if c.labels["path"] == path], QUARTER, {"flow.0.via_buffer": buffer})
    geo = [c for c in split if (c.labels["path"], c.cc) == ("GEO", "cubic")]
    bbr = [c for c in cases(ask) if (c.labels["how"], c.labels["path"], c.cc) == ("split", "LEO", "bbr")]
    for name, window_s in WINDOWS_S.items():
        out += varied(bbr, name, {"cc.bbr.min_rtt_window": f"{window_s} s"})
    return out + varied(geo, FULL, {"cc.orbcc-repro.eta": 1.0})


def explain(t: Tables, variants: Tables) -> dict[str, str]:
    """Explains the queue's position, smaller buffers, and the cost of OrbCC's target."""

    def of(runs: pd.DataFrame, column: str, digits: int, **where: object) -> str:
        return frames.in_words(frames.average(runs[runs["run"] <= VARIANT_RUNS], column, **where), digits)

    runs, other = t["runs"], variants["runs"]
    out = {}
    for path in FILES:
        for cc in SPLITS:
            here: dict[str, object] = {"path": path, "how": "split", "cc": cc}
            less = {**here, "variant": QUARTER}
            out[f"delay-{path}-{cc}"] = (
                "The queue moves into the proxy: the hosts' links are a hundred times as fast as the path between the "
                f"gateways. With {BUFFERS[path]} data waits {of(runs, 'wait_ms', 0, **here)} ms in the proxies, the "
                f"delay is {of(runs, 'inflation', 2, **here)} base RTTs at {of(runs, 'goodput_mbps', 1, **here)} "
                f"Mbit/s; with a quarter of the buffer {of(other, 'wait_ms', 0, **less)} ms, "
                f"{of(other, 'inflation', 2, **less)} base RTTs at {of(other, 'goodput_mbps', 1, **less)} Mbit/s "
                "(95 % intervals)."
            )
    where: dict[str, object] = {"path": "GEO", "how": "split", "cc": "cubic"}
    out["gain-GEO-cubic"] = (
        f"Between the gateways OrbCC's target of its rate governs: {of(runs, 'goodput_mbps', 2, **where)} Mbit/s as "
        f"run, {of(other, 'goodput_mbps', 2, **where, variant=FULL)} with a target of 1 (`cc.orbcc-repro.eta`; "
        "95 % intervals)."
    )
    leo: dict[str, object] = {"path": "LEO", "how": "split", "cc": "bbr"}
    slow = frames.in_words(frames.average(runs, "goodput_mbps", **leo), 1)
    young, old = (frames.in_words(frames.average(other, "goodput_mbps", **leo, variant=v), 1) for v in WINDOWS_S)
    out["share-LEO-bbr"] = (
        f"After the RTT has risen BBR holds two products of the old one in flight until its minimum expires: {slow} "
        f"Mbit/s with its 10 s, {young} with {WINDOWS_S[YOUNG]} s, {old} with {WINDOWS_S[OLD]} s (95 % intervals)."
    )
    return out


def decide(t: Tables, variants: Tables) -> list[Decided]:
    """Verdict on the age of BBR's minimum RTT as the cause of its loss with gateways."""
    leo: dict[str, object] = {"path": "LEO", "cc": "bbr"}
    split = frames.average(t["runs"], "goodput_mbps", how="split", **leo)
    whole = frames.average(t["runs"], "goodput_mbps", how="end to end", path="LEO", cc="orbcc-repro")
    young = frames.average(variants["runs"], "goodput_mbps", variant=YOUNG, **leo)
    return [
        Decided(
            "BBRv1 at the hosts has less than OrbCC from end to end because its minimum RTT is older than the path",
            by_share(whole.value - split.value, gap(young, split)),
            f"OrbCC from end to end has {frames.in_words(whole, 1)} Mbit/s, BBRv1 behind gateways "
            f"{frames.in_words(split, 1)}, and {frames.in_words(young, 1)} with a minimum of {WINDOWS_S[YOUNG]} s.",
        )
    ]


EXPERIMENTS = [
    Experiment(
        name="orbcc/gateway-split",
        title="Connections split at gateways",
        figure="claimed, never measured",
        schemes=("cubic", "bbr", "orbcc-repro"),
        cases=cases,
        tables=tables,
        verdicts=check,
        draw=draw,
        method=METHOD,
        deviations=DEVIATIONS,
        evidence=Evidence(variants, explain, (QUARTER, FULL, YOUNG, OLD), decide),
        metrics=METRICS,
        captions=CAPTIONS,
    )
]
