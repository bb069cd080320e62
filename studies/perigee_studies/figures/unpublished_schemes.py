# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Congestion controls and starts over the geostationary service, alone and competing.

Question: which schemes and starts use the service that the study measured with Cubic and BBR, alone
and with 2 to 16 concurrent flows, and how much of the difference remains behind a splitting proxy?

Set-up, fixed before the runs: the service of `geo/downloads` (144 Mbit/s, 36 MB of queue, RTTs and
losses of the pings). *Alone*: one download of 1 GB by scheme, end to end and through the proxies of
`geo/proxy` (buffers of 16 MB), and end to end with a constant RTT in place of the measured jitter.
*Starts*: 100 MB by window schemes and BBRs with each start that they accept; `careful` remembers the
path's BDP. *Shared*: 2, 4, 8 or 16 flows of one scheme, one more every 2 s, end to end and through
proxies whose connections divide one BDP; from 60 s on. *Beside Cubic*: half of 4 or 16 flows use
Cubic, in turns. Added after the first runs, to tell why shares differ: 16 flows that start together.

Bounds, fixed before the runs: 115 Mbit/s and an RTT of at most 1,500 ms are those of
`geo/competing`, a Jain's index of at least 0.9, and a share of 0.4 to 0.6 beside as many flows of
Cubic; through proxies, times of schemes within 10 %; starts: an order of 30 MB within 10 % of the
scheme's own start, and at most 1 % of the packets sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_studies import frames
from perigee_studies.beside import varied
from perigee_studies.figures import unpublished_schemes_views as views
from perigee_studies.model import Ask, Case, Evidence, Experiment, Keep, Outcome, Tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perigee_studies.digest import Floats

FILE, PROXY_FILE = "geo/download.toml", "geo/proxy.toml"
SCHEMES = ("newreno", "cubic", "hybla", "bbr", "bbr3", "leocc", "vivace", "copa", "orbcc", "orbcc-next")
METERED = ("orbcc", "orbcc-next")
"""Schemes that need telemetry, and are run end to end only: no port between server and proxy has it."""
WINDOWS, RATES = ("newreno", "cubic", "hybla"), ("bbr", "bbr3")
STARTS = ("own", "hystart++", "search", "rapid", "careful")
REMEMBERED: Mapping[str, object] = {
    "slow_start.careful.saved_window": "10800 kB",
    "slow_start.careful.saved_rtt": "600 ms",
    "slow_start.careful.then": "saved",
}
BDP_SEGMENTS = 7459
CONSTANT_FILE = "geo/service.toml"
CONSTANT: Mapping[str, object] = {"source.dumbbell.rtt": "598 ms"}
"""The median of the measured RTTs, without jitter and loss."""
FLOWS, MIXED = (2, 4, 8, 16), (4, 16)
APART_S, BEGIN_S = 2.0, 60.0
ORDER = "order of arrival"
"""Runs of *shared* that are also stored flow by flow."""
KEEP = Keep(("goodput_bps", "delivered_bytes", "rtt_ns"))


def cases(ask: Ask) -> list[Case]:
    """The four parts, by run."""
    ccs, out = ask.schemes(SCHEMES), []
    for run in range(1, ask.count(1, 5, 10) + 1):
        out += [*_starts(ask, ccs, run), *_beside(ask, ccs, run)]
        if run <= ask.count(1, 3, 10):
            out += [*_alone(ask, ccs, run), *_shared(ask, ccs, run)]
    return out


def _case(file: str, cc: str, run: int, sets: Mapping[str, object], **labels: object) -> Case:
    plain = {"part": "", "how": "end to end", "start": "own", "flows": 1, "run": run}
    return Case(file, cc, {**plain, **labels}, run, sets, KEEP)


def _alone(ask: Ask, ccs: Sequence[str], run: int) -> list[Case]:
    length = {"run.duration": f"{ask.count(60, 180, 180)} s"}
    split = {"flow": [_split(0, 1)], **length}
    out = []
    for cc in ccs:
        out.append(_case(FILE, cc, run, length, part="alone"))
        if cc not in METERED:
            out.append(_case(PROXY_FILE, cc, run, split, part="alone", how="proxies"))
        out.append(_case(CONSTANT_FILE, cc, run, {**CONSTANT, **length}, part="alone", how="constant RTT"))
    return out


def _starts(ask: Ask, ccs: Sequence[str], run: int) -> list[Case]:
    pairs = [(cc, start) for cc in WINDOWS for start in STARTS if cc in ccs]
    pairs += [(cc, start) for cc in RATES for start in ("own", "careful") if cc in ccs]
    out = []
    for cc, start in pairs:
        sets: dict[str, object] = {"flow.0.bytes": "100 MB", "run.duration": "60 s"}
        if start != "own":
            sets["run.slow_start"] = start
        if start == "careful":
            sets |= REMEMBERED
        out.append(_case(FILE, cc, run, sets, part="starts", start=start))
    return ask.pick(out[:3], out, out)


def _shared(ask: Ask, ccs: Sequence[str], run: int) -> list[Case]:
    out = []
    for n in ask.pick((2,), FLOWS, FLOWS):
        pairs = _pairs(ask, n)
        # Proxies divide one BDP, so that their connections together never exceed the service.
        window = {f"tcp.newreno.{key}": BDP_SEGMENTS // n for key in ("init_cwnd", "init_ssthresh")}
        whole, split = [_flow(k, "*") for k in range(n)], [_split(k, n) for k in range(n)]
        together = [{**flow, "start": "0 s"} for flow in whole]
        for cc in ccs:
            out.append(_case(FILE, cc, run, {**pairs, "flow": whole}, part="shared", flows=n))
            if n == FLOWS[-1]:
                out.append(_case(FILE, cc, run, {**pairs, "flow": together}, part="shared", how="together", flows=n))
            if cc not in METERED:
                proxied = {**pairs, **window, "flow": split}
                out.append(_case(PROXY_FILE, cc, run, proxied, part="shared", how="proxies", flows=n))
    return out


def _beside(ask: Ask, ccs: Sequence[str], run: int) -> list[Case]:
    out = []
    for n in ask.pick((), MIXED, MIXED):
        flows = [_flow(k, "cubic" if k % 2 else "*") for k in range(n)]
        sets = {**_pairs(ask, n), "flow": flows}
        out += [_case(FILE, cc, run, sets, part="beside", flows=n) for cc in ccs if cc != "cubic"]
    return out


def _pairs(ask: Ask, n: int) -> dict[str, object]:
    return {"source.dumbbell.pairs": n, "run.duration": f"{ask.count(80, 150, 300)} s"}


def _flow(k: int, cc: str) -> dict[str, object]:
    return {"from": f"s{k + 1}", "to": f"d{k + 1}", "cc": cc, "start": f"{APART_S * k:g} s"}


def _split(k: int, n: int) -> dict[str, object]:
    via = {"via": ["r1", "r2"], "via_cc": ["*", "newreno", "cubic"], "via_buffer": "16 MB"}
    whole = {"bytes": "1 GB"} if n == 1 else {}
    return {**_flow(k, "*"), **via, "via_spoof": True, "via_standing": True, **whole}


def tables(found: Sequence[Outcome]) -> Tables:
    """One table per part, a row per run; of runs of the variant `ORDER`, also a row per flow."""
    rows = {"alone": _download, "starts": _download, "shared": _share, "beside": _share}
    parts = {part: frames.table([o for o in found if o.case.labels["part"] == part], row) for part, row in rows.items()}
    ordered = [o for o in found if o.case.labels.get("variant") == ORDER]
    return parts | ({"arrivals": frames.series(ordered, _arrivals)} if ordered else {})


def _order_cases(ask: Ask) -> list[Case]:
    """The runs of the figure with most flows of one scheme, end to end, to be stored flow by flow."""
    ccs = ask.schemes(SCHEMES)
    every = [c for run in range(1, ask.count(1, 3, 10) + 1) for c in _shared(ask, ccs, run)]
    most = max(int(c.labels["flows"]) for c in every)
    return varied([c for c in every if c.labels["flows"] == most and c.labels["how"] != "proxies"], ORDER, {})


def _arrivals(o: Outcome) -> list[dict[str, Any]]:
    """Goodput of each flow, in the order of their starts."""
    mbps = o.digest.mean_mbps(BEGIN_S, o.digest.info["duration_ns"] / 1e9)
    return [{"order": k + 1, "mbps": x} for k, x in enumerate(mbps)]


def _legs(o: Outcome) -> int:
    """Connections of a flow: three through proxies."""
    return 3 if o.case.labels["how"] == "proxies" else 1


def _got(o: Outcome) -> Floats:
    """Bytes in order at the client of a single download."""
    got: Floats = np.maximum.accumulate(np.nan_to_num(o.digest.columns["delivered_bytes"][-1]))
    return got


def _when(o: Outcome, megabytes: float) -> float:
    """Time from the first SYN until this amount had arrived, s; NaN = never."""
    got = _got(o)
    return float(np.interp(megabytes * 1e6, got, o.digest.t_s)) if got[-1] >= megabytes * 1e6 else float("nan")


def _download(o: Outcome) -> dict[str, Any]:
    d, got = o.digest, _got(o)
    begin, end = (int(np.searchsorted(got, got[-1] * part)) for part in (0.5, 0.98))
    satellite = d.flows[1 if _legs(o) == 3 else 0]
    return {
        "steady_mbps": (got[end] - got[begin]) * 8e-6 / (d.t_s[end] - d.t_s[begin]),
        "rtt_ms": frames.number(satellite["rtt_mean_ms"]),
        "get_1_s": _when(o, 1),
        "get_30_s": _when(o, 30),
        "get_100_s": _when(o, 100),
        "resent_pct": 100 * satellite["retransmits"] / max(1, satellite["sent_packets"]),
    }


def _share(o: Outcome) -> dict[str, Any]:
    d, legs = o.digest, _legs(o)
    end_s = d.info["duration_ns"] / 1e9
    mbps = d.mean_mbps(BEGIN_S, end_s)[legs - 1 :: legs]
    satellite = slice(1 if legs == 3 else 0, None, legs)
    weight = mbps / mbps.sum()
    carried = d.flows[satellite]
    return {
        "goodput_mbps": mbps.sum(),
        "jain": mbps.sum() ** 2 / (len(mbps) * (mbps**2).sum()),
        "least_mbps": mbps.min(),
        "share": mbps[::2].sum() / mbps.sum(),
        "rtt_ms": float(np.nansum(d.mean_rtt_ms(BEGIN_S, end_s)[satellite] * weight)),
        "resent_pct": 100 * sum(f["retransmits"] for f in carried) / sum(f["sent_packets"] for f in carried),
    }


EXPERIMENTS = [
    Experiment(
        name="geo/schemes",
        title="Schemes and starts over the geostationary service",
        figure="left open: other schemes, starts and more than two flows",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=views.check,
        draw=views.draw,
        finding=views.finding,
        summary=views.summary,
        explain=views.explain,
        evidence=Evidence(_order_cases, views.in_order, (ORDER,)),
        method=views.METHOD,
        metrics=views.METRICS,
        captions=views.CAPTIONS,
        changes=views.CHANGES,
        columns=views.COLUMNS,
    )
]
