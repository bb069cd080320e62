# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Downloads over the geostationary service with and without performance-enhancing proxies.

In the study, the provider's proxy was switched off and left to future work. Here, there are two
proxies, at the gateway and at the terminal. The server's connection (Cubic or BBR) ends at the
gateway; the connection between the proxies has a constant window of the path's bandwidth-delay
product, is paced at the peak rate, and has no slow start; the connection from the terminal to the
client uses Cubic. Goodput and times are those of the last leg, which reaches the client. Times
count from the first SYN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.statistics import mean
from perigee_studies import frames, style
from perigee_studies.kinds import Kind
from perigee_studies.model import Ask, Case, Experiment, Keep, Outcome, Tables
from perigee_studies.verdicts import Verdict, bound, count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perigee_studies.digest import Floats

FILE = "geo/proxy.toml"
SCHEMES = ("cubic", "bbr")
KEEP = Keep(("goodput_bps", "delivered_bytes", "rtt_ns", "in_flight_bytes"))
PEAK_MBPS = 144 * 1448 / 1500
"""Payload at the peak rate."""
BUFFERS_MB = (2, 4, 8, 16)
LARGE = 16
SIZES_MB = (1, 2, 5, 10, 20, 30, 50)
OBJECT_MB, START_MB = 1, 50


def cases(ask: Ask) -> list[Case]:
    """Downloads end to end, and split with buffers of 2 to 16 MB.

    With the largest buffer, also with all handshakes in sequence.
    """
    runs = range(1, ask.count(1, 5, 20) + 1)
    buffers = ask.pick((2, 16), BUFFERS_MB, BUFFERS_MB)
    out = []
    for run in runs:
        for cc in ask.schemes(SCHEMES):
            out.append(Case(FILE, cc, {"run": run, "how": "end to end", "buffer_mb": 0}, run, {}, KEEP))
            for mb in buffers:
                labels = {"run": run, "how": "split", "buffer_mb": mb}
                out.append(Case(FILE, cc, labels, run, _split(mb, spoof=True), KEEP))
            labels = {"run": run, "how": "split, all handshakes", "buffer_mb": LARGE}
            out.append(Case(FILE, cc, labels, run, _split(LARGE, spoof=False), KEEP))
    return out


def _split(megabytes: int, *, spoof: bool) -> Mapping[str, object]:
    return {
        "flow.0.via": ["r1", "r2"],
        "flow.0.via_cc": ["*", "newreno", "cubic"],
        "flow.0.via_buffer": f"{megabytes} MB",
        "flow.0.via_spoof": spoof,
        "flow.0.via_standing": spoof,
    }


def tables(found: Sequence[Outcome]) -> Tables:
    """Downloads, one per row; times by size; buffer of the first proxy over time."""
    first = [o for o in found if o.case.labels["run"] == 1]
    return {
        "runs": frames.table(found, _row),
        "times": frames.series(found, _times),
        "traces": frames.series(first, _trace),
    }


def _got(o: Outcome, leg: int = -1) -> Floats:
    """Bytes delivered in order by the end of a leg."""
    got: Floats = np.maximum.accumulate(np.nan_to_num(o.digest.columns["delivered_bytes"][leg]))
    return got


def _begin_s(o: Outcome) -> float:
    return frames.number(o.digest.flows[0]["started_ns"]) / 1e9


def _when(o: Outcome, megabytes: float) -> float:
    """Time at which this amount had reached the client, in s after the first SYN; NaN = never."""
    got = _got(o)
    if got[-1] < megabytes * 1e6:
        return float("nan")
    return float(np.interp(megabytes * 1e6, got, o.digest.t_s)) - _begin_s(o)


def _row(o: Outcome) -> dict[str, Any]:
    d, got = o.digest, _got(o)
    begin, end = (int(np.searchsorted(got, got[-1] * part)) for part in (0.5, 0.98))
    steady = (got[end] - got[begin]) * 8e-6 / (d.t_s[end] - d.t_s[begin])
    satellite = 1 if len(d.flows) > 1 else 0
    return {
        "steady_mbps": steady,
        "start_mbps": START_MB * 8 / _when(o, START_MB),
        "small_s": _when(o, OBJECT_MB),
        "satellite_rtt_ms": float(np.nanmean(d.columns["rtt_ns"][satellite])) / 1e6,
        "held_mb": float((_got(o, 0) - _got(o, 1)).max()) / 1e6 if satellite else 0.0,
        "retransmits": sum(f["retransmits"] for f in d.flows),
        "conserved": d.info["conserved"],
    }


def _times(o: Outcome) -> list[dict[str, Any]]:
    return [{"mb": mb, "time_s": _when(o, mb)} for mb in SIZES_MB]


def _trace(o: Outcome) -> list[dict[str, Any]]:
    got, t = _got(o), o.digest.t_s
    keep = slice(9, 600, 10)
    held = (_got(o, 0) - _got(o, 1)) / 1e6 if len(o.digest.flows) > 1 else np.zeros(len(t))
    rate = np.diff(got, prepend=0)[: len(t) // 10 * 10].reshape(-1, 10).sum(axis=1) * 8e-6
    rows = zip(t[keep], rate[:60], held[keep], strict=False)
    return [{"t_s": float(a), "goodput_mbps": float(b), "held_mb": float(c)} for a, b, c in rows]


LINES: dict[str, Any] = {"end to end": "-", "split": "--", "split, all handshakes": ":"}


def draw(t: Tables) -> dict[str, Any]:
    """Plots time by size; steady rate by buffer; goodput and the first proxy's buffer over time."""
    figure, axes = style.panels(3, 1, width=2.7, height=2.5)
    ccs = frames.schemes(t["runs"])
    for cc in ccs:
        for how, dashes in LINES.items():
            one = frames.pick(t["times"], cc=cc, how=how)
            one = one[one["buffer_mb"].isin((0, LARGE))].groupby("mb")["time_s"].mean()
            look = {**style.line(cc), "linestyle": dashes}
            axes[0][0].plot(one.index, one, label=f"{style.label(cc)}, {how}", **look)
        style.over(axes[0][1], frames.pick(t["runs"], cc=cc, how="split"), "buffer_mb", "steady_mbps", cc)
        for how in ("end to end", "split"):
            one = frames.pick(t["traces"], cc=cc, how=how)
            one = one[one["buffer_mb"].isin((0, LARGE))]
            axes[0][2].plot(one["t_s"], one["goodput_mbps"], **{**style.line(cc), "linestyle": LINES[how]})
    buffers = np.linspace(1, 16, 50)
    axes[0][1].plot(buffers, np.minimum(buffers * 8 / 0.6, PEAK_MBPS), color=style.SOFT, linewidth=0.8)
    axes[0][0].set_xlabel("object, MB")
    axes[0][0].set_ylabel("time from the first SYN, s")
    axes[0][1].set_xlabel("buffer of a proxy, MB")
    axes[0][1].set_ylabel("steady goodput, Mbit/s")
    axes[0][1].set_title("line: buffer / 600 ms", loc="left")
    axes[0][1].set_ylim(0, 150)
    axes[0][2].set_xlabel("time, s")
    axes[0][2].set_ylabel("goodput at the client, Mbit/s")
    style.shared_legend(figure, axes[0])
    return {"proxy": figure}


def check(t: Tables) -> list[Verdict]:
    """Claims on the changes expected from a splitting proxy, and on the bounds of its buffer."""
    runs, out = t["runs"], []
    source = "expected, not published"
    split = frames.pick(runs, how="split", buffer_mb=LARGE)
    for cc in (c for c in SCHEMES if c in set(runs["cc"])):
        name = style.label(cc)
        small = frames.average(split, "small_s", cc=cc)
        out.append(bound(f"small-{cc}", f"{name}: 1 MB through the proxies", source, "< 3 s", small, high=3, unit="s"))
        steady = frames.average(split, "steady_mbps", cc=cc)
        words = f"{name}: steady goodput through the proxies"
        peak = f"{PEAK_MBPS:.1f} Mbit/s"
        out.append(bound(f"steady-{cc}", words, source, peak, steady, round(0.95 * PEAK_MBPS, 1), unit="Mbit/s"))
    start = split.pivot_table(index="run", columns="cc", values="start_mbps")
    if set(SCHEMES) <= set(start):
        apart = mean((100 * (start["cubic"] / start["bbr"] - 1)).to_numpy())
        words = "start-up (first 50 MB) of Cubic at the server above that of BBR by"
        out.append(bound("start", words, source, "< 10 %", apart, -10, 10, "%", places=1))
    quick, late = (
        frames.pick(runs, how=how, buffer_mb=LARGE).pivot_table(index="run", columns="cc", values="small_s")
        for how in ("split", "split, all handshakes")
    )
    if len(late) and len(quick):
        words = "answering SYNs early, over a standing connection, saves"
        saved = mean((1e3 * (late - quick).mean(axis=1)).to_numpy())
        out.append(bound("spoof", words, source, "one RTT", saved, 500, 700, "ms"))
    bounded = {f"{r.how} {r.cc} run {r.run}, {r.buffer_mb} MB": r.held_mb <= r.buffer_mb for r in split.itertuples()}
    words = "what the first proxy holds stays within its buffer"
    out.append(count("held", words, "by construction", "always", bounded, kind=Kind.UNPUBLISHED))
    shallow = frames.pick(runs, how="split", buffer_mb=2)
    if len(shallow):
        words = "steady goodput with buffers of 2 MB (2 MB / 600 ms = 26.7 Mbit/s)"
        ours = mean(shallow.groupby("run")["steady_mbps"].mean().to_numpy())
        out.append(bound("window", words, "2 to 8 MB suggested in 5.5", "near the peak", ours, 131.9, 140, "Mbit/s"))
    return out


METHOD = """The download of `geo/downloads` (Cubic or BBR) end to end, and split at a gateway and a terminal, 10 ms
from server and client (assumed). Between the proxies: window of 7,459 segments (144 Mbit/s x 600 ms) from the start,
paced, no slow start. A proxy holds at most its buffer, keeps what the next leg has not acknowledged, and offers the
rest as receive window. SYNs are answered at once and the proxies keep a standing connection; "all handshakes":
neither. The 1 MB, start-up and steady checks are with buffers of 16 MB."""
EXPLAINED = {
    "window": "A proxy's buffer is the receive window of the satellite segment (what it has not passed on must fit): "
    "a window W over 600 ms carries W / 600 ms at most, the line in the figure. Of the suggested sizes "
    "even the largest carries less than the service gives; the bandwidth-delay product is what the segment takes."
}

EXPERIMENTS = [
    Experiment(
        name="geo/proxy",
        title="Downloads through performance-enhancing proxies",
        figure="announced as further work",
        schemes=SCHEMES,
        cases=cases,
        tables=tables,
        verdicts=check,
        draw=draw,
        method=METHOD,
        explained=EXPLAINED,
        metrics="""Goodput: what reaches the client in order, Mbit/s; steady: from the half to 98 % of the bytes.
Times: from the first SYN until so much has arrived, s. Start-up: 50 MB over the time they take, at the server.""",
        captions={
            "proxy": "Left: means over runs; both schemes' times through proxies coincide. Middle: means over "
            "runs of the split downloads, dots: runs; grey: what a window of the buffer's size can "
            "carry. Right: run 1, by second; what waited for a packet sent again counts when that arrives, hence "
            "peaks above 144."
        },
    )
]
