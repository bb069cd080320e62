# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Evidence on cells of the Hypatia study that are not reproduced.

It consists of variants of their runs, evaluated as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies import frames, style
from perigee_studies.beside import varied
from perigee_studies.figures import hypatia_cases as figure
from perigee_studies.figures import hypatia_published as published
from perigee_studies.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pandas as pd

    from perigee_studies.model import Ask, Case, Tables
    from perigee_studies.verdicts import Verdict

EACH, WHOLE, FLIGHT, LINUX, SAMPLES = "an ACK for each segment", "whole paths", "outstanding", "Linux's", "samples"
EXACT, THREE = "exact RTTs", "alpha 3"
NEWRENO: Mapping[str, Mapping[str, object]] = {
    WHOLE: {"source.constellation.routing": "per-path"},
    FLIGHT: {"cc.newreno.reduce_from": "flight"},
}
VEGAS: Mapping[str, Mapping[str, object]] = {
    EXACT: {"tcp.rtt_granularity": "0 ns"},
    THREE: {"cc.vegas.alpha": 3, "cc.vegas.beta": 3},
    LINUX: {"cc.vegas.variant": "linux"},
}
BBR: Mapping[str, Mapping[str, object]] = {
    LINUX: {"cc.bbr.variant": "linux"},
    SAMPLES: figure.BBR_OF[figure.LATER],
}
OFTEN = "Sao Paulo"


def table_cases(ask: Ask) -> list[Case]:
    """The affected cells under other rules of ns-3 or Linux."""
    known = [c for c in figure.throughput_cases(ask) if c.labels["town"] in published.WIRED_TABLE]
    wires = [c for c in known if c.labels["network"] == "wired"]
    sky = [c for c in known if c.labels["network"] != "wired" and c.labels["what"] != "ping"]
    out: list[Case] = []
    reno = [c for c in sky if c.cc == "newreno" and c.labels["strategy"] == "nearest" and c.labels["town"] == OFTEN]
    for name, sets in NEWRENO.items():
        out += varied(reno, name, sets)
    for name, sets in VEGAS.items():
        out += varied([c for c in sky if c.cc == "vegas" and c.labels["strategy"] == "shortest"], name, sets)
    return out + varied([c for c in [*sky, *wires] if c.cc == "bbr"], LINUX, BBR[LINUX])


def _each(cases: Iterable[Case]) -> list[Case]:
    """The cases with an ACK for each segment."""
    return varied(cases, EACH, {"tcp.delayed_ack": 1})


def rtt_cases(ask: Ask) -> list[Case]:
    """The path of Fig. 5 with an ACK for each segment; for BBR, also under other rules."""
    where = {"town": OFTEN, "km": 11000, "strategy": "shortest"}
    mine = [c for c in figure.throughput_cases(ask) if where.items() <= c.labels.items() and c.labels["what"] != "ping"]
    out = _each(mine)
    for name, sets in BBR.items():
        out += varied([c for c in mine if c.cc == "bbr"], name, sets)
    return out


def vegas_case(cases: Callable[[Ask], list[Case]], check: Callable[[Tables], list[Verdict]]) -> Evidence:
    """The case study of Vegas with an ACK for each segment."""

    def words(t: Tables, variants: Tables) -> dict[str, str]:
        other = {v.key: v for v in check(variants)}
        return {
            v.key: (
                "With ns-3's default, an ACK for every second segment, the last segment of a round waits for the "
                "receiver's timer, which Vegas takes for a queue. With an ACK for each segment: "
                f"{other[v.key].ours} ({other[v.key].verdict})."
            )
            for v in check(t)
            if v.key in other
        }

    return Evidence(lambda ask: _each(cases(ask)), words, (EACH,))


def explain_tables(t: Tables, variants: Tables) -> dict[str, str]:
    """For each scheme, the effect of the rules and the remaining difference from the totals."""
    runs, other = t["runs"], variants["runs"]
    vegas, bbr, newreno = _vegas(runs, other), _bbr(runs, other), _newreno(runs, other)
    said = dict.fromkeys((f"acks-{cc}" for cc in ("newreno", "cubic", "vegas", "bbr")), _acks(runs))
    for cell in (f"{km}-{strategy}-{town}" for km, strategy in published.TABLES for town in figure.TOWNS):
        said |= {f"{cell}-bbr": bbr, f"{cell}-vegas": vegas, f"{cell}-vegas-order": vegas}
        said |= dict.fromkeys((f"{cell}-newreno", f"{cell}-gap"), newreno)
    for cc in ("vegas", "bbr"):
        said |= dict.fromkeys((f"wired-{town}-{cc}" for town in figure.TOWNS), _wired(t, other, cc))
    return {**said, f"11000-nearest-{OFTEN}-lowest": _outlier(runs, other), **_montreal(runs)}


def _mbit(runs: pd.DataFrame, **where: object) -> float:
    return frames.average(runs, "received_mbit", **where).value


def deviations(
    runs: pd.DataFrame, cc: str, strategy: str = "", per_ack: int = figure.PER_ACK, version: str = figure.ASSUMED
) -> list[float]:
    """Deviation of our totals from those of Tables 1 to 4 in percent, cell by cell."""
    found = []
    runs = frames.pick(runs, ns3=version)
    for (km, how), table in published.TABLES.items():
        for town, row in table.items():
            if strategy in {"", how}:
                ours = _mbit(runs, town=town, km=km, strategy=how, what=cc, per_ack=per_ack)
                found.append(100 * (ours / row[published.SCHEMES.index(cc)] - 1))
    return found


def _range(each: list[float]) -> str:
    known = [x for x in each if x == x]  # noqa: PLR0124 (cells that were not run)
    return f"{min(known):+.1f} to {max(known):+.1f} %" if known else "not run"


def _acks(runs: pd.DataFrame) -> str:
    parts = []
    for cc in ("newreno", "cubic", "vegas", "bbr"):
        off = [sum(map(abs, deviations(runs, cc, per_ack=n))) / 16 for n in (1, 2)]
        parts.append(f"{style.label(cc)} {off[0]:.1f} and {off[1]:.1f} %")
    return (
        "Mean deviation from the tables with an ACK for each and for every second segment: "
        f"{', '.join(parts)}. All figures have the latter, ns-3's default."
    )


def _newreno(runs: pd.DataFrame, other: pd.DataFrame) -> str:
    def by_distance(frame: pd.DataFrame, **where: object) -> str:
        found = [_mbit(frame, town=OFTEN, km=km, strategy="nearest", what="newreno", **where) for km in (11000, 5500)]
        return " and ".join(f"{x:.0f}" for x in found)

    return (
        "Over the nearest satellites the RTT falls at a stroke; what is sent later arrives first, NewReno takes that "
        "for loss, and with a part of a packet more per round it is slow to return. Three facts of ns-3 decide how "
        "slow: nodes forward by their newest tables, what is halved is the pipe, from which all overtaken packets are "
        "gone, and congestion avoidance adds per ACK, not per packet, so that an ACK for every second segment halves "
        f"its growth. {OFTEN} at 11,000 and 5,500 km: {by_distance(runs, per_ack=2)} Mbit; with an ACK for each segment"
        f" {by_distance(runs, per_ack=1)}, with whole paths {by_distance(other, variant=WHOLE)}, halving what is "
        f"outstanding {by_distance(other, variant=FLIGHT)}."
    )


def _vegas(runs: pd.DataFrame, other: pd.DataFrame) -> str:
    def of(name: str) -> str:
        return _range(deviations(frames.pick(other, variant=name), "vegas", "shortest"))

    return (
        "Vegas keeps some segments queued by its count, so that its window is small once the path is longer than its "
        "shortest. Over shortest paths its totals are "
        f"{_range(deviations(runs, 'vegas', 'shortest'))} from the published ones with an ACK for every second segment "
        f"(as compared), {_range(deviations(runs, 'vegas', 'shortest', 1))} with one for each; with exact RTTs in place"
        f" of milliseconds {of(EXACT)}, with alpha and beta of 3 {of(THREE)}, with Linux's Vegas {of(LINUX)}."
    )


def _bbr(runs: pd.DataFrame, other: pd.DataFrame) -> str:
    def of(name: str) -> str:
        return _range(deviations(frames.pick(other, variant=name), "bbr"))

    return (
        "Neither the ACKs nor the version: BBR's totals are "
        f"{_range(deviations(runs, 'bbr'))} from the published ones with an ACK for every second segment (as compared),"
        f" {_range(deviations(runs, 'bbr', per_ack=1))} with one for each, {of(LINUX)} with Linux's BBR, "
        f"{_range(deviations(runs, 'bbr', version=figure.LATER))} with the RTT as sampled (ns-3 {figure.LATER}). The "
        "study's version of ns-3 is unknown; what its BBR did otherwise is open."
    )


def _outlier(runs: pd.DataFrame, other: pd.DataFrame) -> str:
    cell = {"town": OFTEN, "km": 11000, "strategy": "nearest", "what": "bbr", "ns3": figure.ASSUMED}
    each = [_mbit(runs, **cell, per_ack=n) for n in (2, 1)]
    linux = _mbit(other, town=OFTEN, km=11000, strategy="nearest", what="bbr", variant=LINUX)
    return (
        "The published total of BBR here is half of its other cells and unexplained in the study; ours has "
        f"{each[0]:.0f} Mbit, {each[1]:.0f} with an ACK for each segment, {linux:.0f} with Linux's BBR. ns-3's BBR had "
        "two defects then (its minimum RTT among them) that were repaired later."
    )


def _wired(t: Tables, other: pd.DataFrame, cc: str) -> str:
    def off(runs: pd.DataFrame, **where: object) -> str:
        each = []
        where = {"ns3": figure.ASSUMED} | where
        for town, row in published.WIRED_TABLE.items():
            ours = (
                _mbit(runs, town=town, strategy="wired", what=cc, **where)
                * published.LINE_MBIT
                / published.CEILING_MBIT
            )
            each.append(100 * (ours / row[published.SCHEMES.index(cc)] - 1))
        return _range(each)

    found = f"{off(t['runs'], per_ack=2)} with an ACK for every second segment (as compared), "
    found += f"{off(t['runs'], per_ack=1)} with one for each"
    found += f", {off(other, variant=LINUX)} with Linux's BBR" if cc == "bbr" else ""
    return f"On wires {style.label(cc)}'s totals are from the published ones: {found}."


def _montreal(runs: pd.DataFrame) -> dict[str, str]:
    each = [_mbit(runs, town="Montreal", km=11000, strategy="shortest", what="newreno", per_ack=n) for n in (1, 2)]
    why = (
        f"Montreal's NewReno has {each[1]:.0f} Mbit over lasers with an ACK for every second segment, and "
        f"{each[0]:.0f} with one for each."
    )
    return {"11000-shortest-Montreal-newreno": why, "accounting": why}


def explain_rtts(t: Tables, variants: Tables) -> dict[str, str]:
    """Compares queues with paths; for BBR, also under other rules."""
    runs, other = t["runs"], variants["runs"]
    base = frames.pick(runs, km=5500, strategy="shortest", what="ping").set_index("town")["rtt_mean_ms"]
    far = str(base.idxmax())
    full = _rtt(runs, far, "cubic") - base[far]
    of = {name: frames.pick(other, variant=name, what="bbr")["rtt_mean_ms"].mean() for name in (EACH, *BBR)}
    where = {"town": OFTEN, "km": 11000, "strategy": "shortest"}
    return {
        "rtt-bbr": f"BBR's mean RTT is {frames.average(runs, 'rtt_mean_ms', what='bbr', **where).value:.0f} ms here, "
        f"{of[EACH]:.0f} with an ACK for each segment, {of[LINUX]:.0f} with Linux's BBR, {of[SAMPLES]:.0f} with the "
        f"RTT as sampled (ns-3 {figure.LATER}). The window that ns-3's BBR keeps after a recovery lengthens it. The "
        "study's version is unknown.",
        "rtt-three": f"A full queue adds some {full:.0f} ms at most ({far}, Cubic), so that loss-based schemes cannot "
        f"have three times the RTT where the path alone has as much: {far} {base[far]:.0f} ms. The shortest path, "
        f"{base.idxmin()}'s, has {base.min():.0f} ms.",
        "rtt-lowest": "Where reordering keeps NewReno's window below the path's capacity it has no queue, and over the "
        "largest RTTs it sends least, so that its mean RTT falls below BBR's. The published totals of NewReno on these "
        "cells are lower still than ours.",
    }


def _rtt(runs: pd.DataFrame, town: str, what: str) -> float:
    return frames.average(runs, "rtt_mean_ms", town=town, km=5500, strategy="shortest", what=what).value


TABLES = Evidence(table_cases, explain_tables, (*NEWRENO, *VEGAS, LINUX))
RTTS = Evidence(rtt_cases, explain_rtts, (EACH, *BBR))
