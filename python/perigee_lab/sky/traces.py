# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Export of a path as traces for other testbeds.

The formats are those of mahimahi and LeoReplayer, and scripts for `tc` of Linux.

mahimahi: one line per opportunity to deliver 1500 bytes, in integer milliseconds (man page
mm-link(1)); the delay is constant. LeoReplayer: the same, and a file with the one-way delay in
milliseconds every 10 ms. `tc`: netem(8), changed over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perigee_lab.common import quoting
from perigee_lab.common.files import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from perigee_lab.sky.timeline import Timeline

Floats = npt.NDArray[np.float64]
FORMATS = ("mahimahi", "leoreplayer", "tc")
STEP_S = {"mahimahi": 0.01, "leoreplayer": 0.01, "tc": 0.1}
OPPORTUNITY_BITS = 1500 * 8
# Changes of the rate below this fraction, and of the delay below this many ms, are omitted from a
# script.
RATE_SHARE, DELAY_MS = 0.01, 0.1
# Maximum number of ports named in a note.
NAMED = 4


@dataclass(frozen=True)
class Way:
    """One direction of a path, with one sample per step; the rate is 0 during outages."""

    rate_mbps: Floats
    delay_ms: Floats
    """Half of the propagation RTT; before the first path, that of the first path."""


def ways(timeline: Timeline, origin: str, target: str, step_s: float) -> tuple[Way, Way]:
    """The forward and return path of a pair. Raises KeyError if there is no such pair."""
    ends = [(p["from"], p["to"]) for p in timeline.facts["pairs"]]
    if (origin, target) not in ends and (target, origin) not in ends:
        raise KeyError(f"no pair {origin} to {target}; there are {', '.join(f'{a} to {b}' for a, b in ends[:8])}")
    turned = (origin, target) not in ends
    index = ends.index((target, origin) if turned else (origin, target))
    there, back = _way(timeline, index, step_s, turned=False), _way(timeline, index, step_s, turned=True)
    return (back, there) if turned else (there, back)


def _way(timeline: Timeline, index: int, step_s: float, *, turned: bool) -> Way:
    seen = timeline.pair(index, step_s=step_s, turned=turned)
    rate, rtt = np.nan_to_num(seen.rate_mbps, nan=0.0), seen.base_rtt_ms.copy()
    for begin, end in seen.outages_s:
        rate[(seen.t_s >= begin) & (seen.t_s < end)] = 0.0
    known = np.flatnonzero(~np.isnan(rtt))
    if not len(known):
        raise KeyError(f"{seen.origin} to {seen.target}: there is never a path")
    # While there is no path, the last delay is kept.
    last = np.maximum.accumulate(np.where(np.isnan(rtt), -1, np.arange(len(rtt))))
    rtt = rtt[np.where(last < 0, known[0], last)]
    return Way(rate, rtt / 2)


def opportunities(rate_mbps: Floats, step_s: float) -> list[int]:
    """The milliseconds at which 1500 bytes may leave: crossings of the integrated rate.

    The last one is the length of the trace in ms (mahimahi repeats it from there).
    """
    gathered = np.concatenate([[0.0], np.cumsum(rate_mbps * 1e6 * step_s)]) / OPPORTUNITY_BITS
    times = np.arange(len(gathered)) * step_s * 1e3
    # Opportunity k occurs when the integral reaches k + 1 packets; flat intervals have none.
    wanted = np.arange(1, int(np.floor(gathered[-1] + 1e-9)) + 1)
    at = np.searchsorted(gathered, wanted - 1e-9)
    share = (wanted - gathered[at - 1]) / (gathered[at] - gathered[at - 1])
    found = np.ceil(times[at - 1] + share * (times[at] - times[at - 1]) - 1e-6).astype(int)
    return [int(ms) for ms in found]


def write(what: str, timeline: Timeline, origin: str, target: str, folder: Path) -> list[str]:
    """Writes the files of a format into a folder; returns notes on them.

    An OSError names a file.
    """
    step_s = STEP_S[what]
    there, back = ways(timeline, origin, target, step_s)
    folder.mkdir(parents=True, exist_ok=True)
    if what == "tc":
        write_text(folder / "path.sh", script(there, back, step_s, f"{origin} to {target}"))
        return [
            f"run as root: sh {quoting.shell(str(folder / 'path.sh'))} DEV_OF_{_shout(origin)} DEV_OF_{_shout(target)}"
        ]
    for name, way in (("up.trace", there), ("down.trace", back)):
        lines = opportunities(way.rate_mbps, step_s)
        if not lines:
            raise KeyError(f"{origin} to {target}: nothing ever gets through")
        write_text(folder / name, "".join(f"{ms}\n" for ms in lines))
    if what == "leoreplayer":
        write_text(folder / "delay.trace", "".join(f"{d:.3f}\n" for d in there.delay_ms))
        return ["up.trace and down.trace: opportunities of 1500 bytes; delay.trace: one-way delay in ms, each 10 ms"]
    low, mean, high = there.delay_ms.min(), there.delay_ms.mean(), there.delay_ms.max()
    lost = f"delays from {low:.1f} to {high:.1f} ms are lost: mahimahi has one" if high - low > DELAY_MS else ""
    files = quoting.shell_words([str(folder / "up.trace"), str(folder / "down.trace")])
    return [f"mm-delay {mean:.0f} mm-link {files}", *([lost] if lost else [])]


def not_carried(what: str, ports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Properties of ports (from `World.describe`) that such files cannot represent."""
    asking = [p["name"] for p in ports if "dama" in p]
    kinds: dict[str, list[str]] = {}
    for p in ports:
        # The discipline is a name, or a name with parameters.
        kind = p["discipline"] if isinstance(p["discipline"], str) else next(iter(p["discipline"]))
        if kind != "drop-tail":
            kinds.setdefault(kind, []).append(p["name"])
    remarks = []
    if asking:
        remarks.append(
            f"{what} has no demand assignment: what {_some(asking)} waits for grants (dama_delay) is lost, so RTTs are "
            "shorter than in a run"
        )
    remarks += [f"{what} has no queue discipline: {kind} of {_some(names)} is lost" for kind, names in kinds.items()]
    return remarks


def _some(names: Sequence[str]) -> str:
    few = ", ".join(names[:NAMED])
    return few if len(names) <= NAMED else f"{few} and {len(names) - NAMED} more"


def _shout(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name).upper()


def script(there: Way, back: Way, step_s: float, title: str) -> str:
    """A script for `tc` that applies the path to the outgoing packets of two interfaces."""
    head = [
        "#!/bin/sh",
        f"# {quoting.shell_comment(title)}: made by perigee export tc. Two interfaces as arguments; needs root.",
        "set -e",
        ': "${1:?interface of the sender}" "${2:?interface of the receiver}"',
        "begin=$(date +%s%N)",
        "until_ms() { now=$(( ($(date +%s%N) - begin) / 1000000 )); "
        '[ "$1" -le "$now" ] || sleep "$(awk "BEGIN{print ($1 - $now) / 1000}")"; }',
    ]
    lines: list[str] = []
    for argument, way in (("$1", there), ("$2", back)):
        lines += [f'tc qdisc replace dev "{argument}" root handle 1: {_netem(way, 0)}']
    for k in range(1, len(there.rate_mbps)):
        changed = [(a, w) for a, w in (("$1", there), ("$2", back)) if _differs(w, k)]
        if changed:
            lines.append(f"until_ms {round(k * step_s * 1e3)}")
            lines += [f'tc qdisc change dev "{a}" root handle 1: {_netem(w, k)}' for a, w in changed]
    lines += [f"until_ms {round(len(there.rate_mbps) * step_s * 1e3)}", 'tc qdisc del dev "$1" root']
    return "\n".join([*head, *lines, 'tc qdisc del dev "$2" root', ""])


def _netem(way: Way, k: int) -> str:
    rate = way.rate_mbps[k]
    if rate <= 0:
        return f"netem delay {way.delay_ms[k]:.3f}ms loss 100%"
    return f"netem delay {way.delay_ms[k]:.3f}ms loss 0% rate {rate * 1e3:.0f}kbit"


def _differs(way: Way, k: int) -> bool:
    before, now = float(way.rate_mbps[k - 1]), float(way.rate_mbps[k])
    delay = abs(float(way.delay_ms[k]) - float(way.delay_ms[k - 1]))
    return abs(now - before) > RATE_SHARE * max(before, now) or delay >= DELAY_MS
