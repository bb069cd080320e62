# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A fitted path as a scenario and its schedule."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path as File
from typing import TYPE_CHECKING

import numpy as np

from perigee_lab.common import names, quoting
from perigee_lab.common.files import write_text
from perigee_lab.measure.fit.model import Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.measure.series import Grid

SCENARIO, SCHEDULE = "replay.toml", "path.csv"
ACCESS_BPS = 10e9
CONTINUED_S = 3600.0
"""Time for which a schedule with a grid continues after the end of its record."""
FEWEST_SLOTS = 4
LEAD_S = 0.25
"""Steps are detected at most this early; slots therefore start this much before the grid."""
LEAST_GAP_S = 1e-6


def write_scenario(path: Path, folder: File, *, title: str, command: str) -> File:
    """Writes the scenario and its schedule into a folder; returns the scenario."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = schedule_rows(path)
    write_text(folder / SCHEDULE, "\n".join(rows) + "\n")
    write_text(folder / SCENARIO, _scenario(path, title, command, scheduled=len(rows) > 2))
    return folder / SCENARIO


def schedule_rows(path: Path) -> list[str]:
    """The schedule: a line for each change of RTT or rate, and each outage."""
    changes: dict[float, dict[str, float]] = {}
    for t, ms in path.base:
        changes.setdefault(round(t, 6), {})["rtt_ms"] = ms
    for t, bps in path.rates:
        changes.setdefault(round(t, 6), {})["rate_mbps"] = bps / 1e6
    for t, length in path.outages:
        changes.setdefault(round(t, 6), {})["outage_ms"] = length * 1e3
    if path.grid is not None and path.grid.found:
        changes |= _continued(path, path.grid, changes)
    columns = ["rate_mbps", "rtt_ms", *(["outage_ms"] if path.outages else [])]
    # A rate of zero blocks the port and keeps its queue.
    now = {"rate_mbps": path.rates[0][1] / 1e6, "rtt_ms": path.base[0][1]}
    rows = ["t_s," + ",".join(columns)]
    for t in sorted(changes):
        now |= {k: v for k, v in changes[t].items() if k != "outage_ms"}
        full = now | {"outage_ms": changes[t].get("outage_ms", 0.0)}
        rows.append(f"{t:.6f}," + ",".join(f"{full[c]:.6g}" for c in columns))
    return rows


def _continued(path: Path, grid: Grid, changes: Mapping[float, Mapping[str, float]]) -> dict[float, dict[str, float]]:
    """Continuation of the schedule on the record's grid.

    Slots are drawn at random from the record, so that longer replays vary.
    """
    slots = np.arange(grid.phase_s % grid.period_s, path.duration_s + 1e-9, grid.period_s) - LEAD_S
    whole = slots[(slots >= 0) & (slots + grid.period_s <= path.duration_s)]
    if len(whole) < FEWEST_SLOTS:
        return {}
    rng, times = np.random.default_rng(1), sorted(changes)
    found: dict[float, dict[str, float]] = {}
    for at in np.arange(whole[-1] + grid.period_s, path.duration_s + CONTINUED_S, grid.period_s):
        begin = float(rng.choice(whole))
        one = np.array([begin])
        own: dict[float, dict[str, float]] = {
            begin: {"rtt_ms": float(path.base_at(one)[0]), "rate_mbps": float(path.rate_at(one)[0]) / 1e6}
        }
        for t in times[bisect_left(times, begin) : bisect_left(times, begin + grid.period_s)]:
            own[t] = own.get(t, {}) | dict(changes[t])
        for t, values in own.items():
            moved = round(float(at) + t - begin, 6)
            # Changes within the record are kept.
            if moved > path.duration_s:
                found[moved] = values
    return found


def _scenario(path: Path, title: str, command: str, *, scheduled: bool) -> str:
    rate, rtt = path.usual_bps, path.base[0][1]
    queue = queue_bytes(path)
    lines = [
        f"# Fitted to a record: {names.visible(command)}",
        "# What cannot be known of it:",
        *(f"#   {names.visible(u)}" for u in path.unknown),
        f"title = {quoting.toml(names.visible(title))}",
        "",
        "[run]",
        f'duration = "{path.duration_s:.3f} s"',
        'sample = "100 ms"',
        "",
        "[source.dumbbell]",
        f'rtt = "{rtt:.6g} ms"',
        'rtt_at = "access"',
        f"loss = {path.loss:.6g}",
        "",
        "[port.all]",
        f'rate = "{max(ACCESS_BPS, 10 * rate) / 1e6:.0f} Mbit"',
        'queue = "1 GB"',
        # No router of a real path writes telemetry.
        "metered = false",
        "",
        "[port.bottleneck]",
        f'rate = "{rate / 1e6:.6g} Mbit"',
        *_queue(path, queue),
        "",
        "[port.reverse]",
        f'rate = "{(path.reverse_bps or rate) / 1e6:.6g} Mbit"',
        f'queue = "{max(1500.0, queue):.0f} B"',
    ]
    if scheduled:
        lines += ["", "[schedule]", f'file = "{SCHEDULE}"', *([f'mode = "{path.mode}"'] if path.outages else [])]
    lines += _jitter(path) + _bursts(path)
    return "\n".join([*lines, "", "[[flow]]", 'cc = "*"', ""])


def queue_bytes(path: Path) -> float:
    """Size of the queue.

    If unknown, two bandwidth-delay products at the usual rate and the median RTT.
    """
    if path.queue_bytes is not None:
        return path.queue_bytes
    return 2 * path.usual_bps / 8 * float(np.median([ms for _, ms in path.base])) / 1e3


def _queue(path: Path, bytes_: float) -> list[str]:
    """Keys of the queue.

    A queue with early drops has twice the threshold as its size; above the threshold, the drop
    probability increases as observed.
    """
    if path.early is None:
        return [f'queue = "{max(1500.0, bytes_):.0f} B"']
    low = path.early.threshold_bytes
    share = min(1.0, path.early.share_per_byte * low)
    return [
        f'queue = "{2 * low:.0f} B"',
        'discipline = "red"',
        f'red_min = "{low:.0f} B"',
        f'red_max = "{2 * low:.0f} B"',
        f"red_p = {share:.6g}",
    ]


def _jitter(path: Path) -> list[str]:
    if not path.added and path.events is None:
        return []
    added: Sequence[tuple[float, float]] = path.added or [(0.0, 0.0), (100.0, 0.0)]
    quantiles = ", ".join(f'"{q:g} % {ms:.4f} ms"' for q, ms in added)
    lines = ["", "[jitter]", f"added = [{quantiles}]", f'step = "{path.jitter_step_s * 1e3:.3f} ms"']
    lines.append(f'correlation = "{max(path.correlation_s, 0.001) * 1e3:.3f} ms"')
    if path.events is not None:
        every, single, mean, longest = path.events
        lines += [f'loss_every = "{every:.3f} s"', f"loss_single = {single:.4f}", f"loss_mean = {mean:.2f}"]
        lines += [f"loss_longest = {longest}", f'loss_slot = "{path.slot_s * 1e3:.3f} ms"']
    return lines


def _bursts(path: Path) -> list[str]:
    if path.bursts is None:
        return []
    apart, length, inside = path.bursts
    return [
        "",
        "[bursts]",
        f'apart = "{apart:.3f} s"',
        f'length = "{length * 1e3:.3f} ms"',
        f"loss_inside = {inside:.3f}",
    ]
