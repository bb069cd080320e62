# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs of the figures on congestion control in LEO networks (Mazilu et al.), by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies.figures import leo_cc_moments as moments
from perigee_studies.figures import orbcc_responsiveness as orbcc
from perigee_studies.figures.leo_cc_common import SCHEMES, bdp_bytes
from perigee_studies.model import Ask, Case, Keep

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCHEDULES = "leo-cc/responsiveness.toml"
PAIR_KEEP = Keep(("goodput_bps",))
RTTS_MS = tuple(range(20, 201, 20))
FLOWS = (5, 10, 20)
SHALLOW_RTT_MS = 120
"""RTT at which the parking lot is also run with shallow queues."""
RECORDED, COMPAT, SKY = "leo-cc/leoem.toml", "leo-cc/leoem-compat.toml", "leo-cc/leoem-sky.toml"
PATH_KEEP = Keep(("goodput_bps", "srtt_ns", "base_rtt_ns", "cwnd_bytes"))
LOGS = {
    "SEA-NY ISL": ("Starlink_SEA_NY_15_ISL_path.log", 388),
    "SEA-NY BP": ("Starlink_SEA_NY_15_BP_path.log", 326),
    "SD-NY ISL": ("Starlink_SD_NY_15_ISL_path.log", 522),
    "SD-NY BP": ("Starlink_SD_NY_15_BP_path.log", 408),
    "NY-LDN ISL": ("Starlink_NY_LDN_15_ISL_path.log", 696),
    "SD-SHA ISL": ("Starlink_SD_Shanghai_15_ISL_path.log", 740),
    "SD-SEA BP": ("Starlink_SD_SEA_15_BP_path.log", 219),
}
"""File, and length of the queue in packets, of each path; the last path is not in the study."""
ENDS = {"SEA": "seattle", "NY": "new-york", "SD": "san-diego", "LDN": "london", "SHA": "shanghai"}


def responsiveness_cases(ask: Ask, losses: Sequence[bool] = (False, True)) -> list[Case]:
    """Run k of the study has seed k; without and with loss, since a figure needs both."""
    runs = sorted({*range(1, ask.count(3, 10, 50) + 1), *([2] if ask.size.value == "quick" else [moments.RUN])})
    out = []
    for loss in losses:
        sets: dict[str, object] = {"schedule.loss": True} if loss else {}
        if ask.size.value == "quick":
            sets["run.duration"] = "100 s"
        for run in runs:
            labels = {"run": run, "loss": int(loss)}
            out += [Case(SCHEDULES, cc, labels, run, sets, orbcc.KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def _rtts(ask: Ask) -> list[int]:
    return ask.pick((20, 100, 200), (20, 60, 100, 140, 200), RTTS_MS)


def inter_cases(ask: Ask) -> list[Case]:
    """RTTs x queues x runs x schemes; with and without cuts at 1 BDP."""
    out = []
    for q, cuts in ask.pick(
        [(1.0, 0)], [(0.2, 0), (1.0, 0), (4.0, 0), (1.0, 1)], [(0.2, 0), (1.0, 0), (4.0, 0), (1.0, 1)]
    ):
        for rtt_ms in _rtts(ask):
            for run in range(1, ask.count(1, 2, 5) + 1):
                sets: dict[str, object] = {
                    "source.dumbbell.rtt": ["20 ms", f"{rtt_ms} ms"],
                    "port.bottleneck.queue": f"{bdp_bytes(rtt_ms, q)} B",
                    "schedule.first": "15 s" if cuts else "199 s",
                }
                labels = {"rtt_ms": rtt_ms, "queue_bdp": q, "cuts": cuts, "run": run}
                out += [Case("leo-cc/two-flows.toml", cc, labels, run, sets, PAIR_KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def intra_cases(ask: Ask) -> list[Case]:
    """RTTs x runs x schemes, with cuts."""
    out = []
    for rtt_ms in _rtts(ask):
        for run in range(1, ask.count(1, 2, 5) + 1):
            sets = {"source.dumbbell.rtt": f"{rtt_ms} ms", "port.bottleneck.queue": f"{bdp_bytes(rtt_ms)} B"}
            labels = {"rtt_ms": rtt_ms, "queue_bdp": 1.0, "cuts": 1, "run": run}
            out += [Case("leo-cc/two-flows.toml", cc, labels, run, sets, PAIR_KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def parking_cases(ask: Ask) -> list[Case]:
    """Three and six bottlenecks.

    In addition, queues that are shallower than in the study's text, at one RTT.
    """
    out = []
    rtts = ask.pick((100,), RTTS_MS[1::2], RTTS_MS)
    points = [(n, rtt_ms, 1.0) for n in (3, 6) for rtt_ms in rtts]
    points += [(3, SHALLOW_RTT_MS, q) for q in ask.pick((), (0.2, 0.4), (0.2, 0.4, 0.6))]
    for n, rtt_ms, q in points:
        for run in range(1, ask.count(1, 2, 5) + 1):
            flows = [{"from": f"s{k}", "to": f"d{k}", "cc": "*", "start": "0 s" if k else "50 s"} for k in range(n + 1)]
            sets = {
                "source.parking_lot.bottlenecks": n,
                "source.parking_lot.rtt": f"{rtt_ms} ms",
                "port.bottleneck.queue": f"{bdp_bytes(rtt_ms, q)} B",
                "flow": flows,
            }
            labels = {"bottlenecks": n, "rtt_ms": rtt_ms, "queue_bdp": q, "run": run}
            out += [Case("leo-cc/parking-lot.toml", cc, labels, run, sets, PAIR_KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def efficiency_cases(ask: Ask) -> list[Case]:
    """5, 10 and 20 flows that start evenly over 100 s and last 150 s."""
    out = []
    for n in FLOWS:
        for run in range(1, ask.count(1, 3, 5) + 1):
            starts = [100 * k / (n - 1) for k in range(n)]
            flows = [
                {"from": f"s{k}", "to": f"d{k}", "cc": "*", "start": f"{s:.6f} s", "stop": f"{s + 150:.6f} s"}
                for k, s in enumerate(starts, 1)
            ]
            sets = {
                "source.dumbbell.pairs": n,
                "port.bottleneck.queue": f"{bdp_bytes(50, 5)} B",
                "run.duration": f"{ask.count(150, 250, 250)} s",
                "flow": flows,
            }
            if ask.size.value == "quick":
                sets["flow"] = [{k: v for k, v in f.items() if k != "stop"} for f in flows]
            keep = Keep(("goodput_bps", "srtt_ns", "rtt_ns", "retransmits"))
            labels = {"flows": n, "run": run}
            out += [Case("leo-cc/efficiency.toml", cc, labels, run, sets, keep) for cc in ask.schemes(SCHEMES)]
    return out


def log_of(path: str, data: Path | None) -> Path | None:
    """The recorded log, if it is given."""
    file = None if data is None else data / "leoem" / "paths" / LOGS[path][0]
    return file if file is not None and file.exists() else None


def _on_paths(ask: Ask, *, flows: int) -> list[Case]:
    out = []
    seconds = ask.count(120, 300, 300)
    for path in ask.pick(("SD-NY ISL", "SD-NY BP"), tuple(LOGS)[:6], tuple(LOGS)):
        for kind, file, sets in networks(path, ask):
            more: dict[str, object] = {**sets, "run.duration": f"{seconds} s"}
            ends = ["end1", "end2"] if kind == "recorded" else [ENDS[e] for e in path.split()[0].split("-")]
            more["flow"] = [
                {"from": ends[0], "to": ends[1], "cc": "*", "start": f"{k * seconds // 3} s"} for k in range(flows)
            ]
            for run in range(1, ask.count(1, 2, 5) + 1):
                labels = {"path": path, "network": kind, "run": run}
                out += [Case(file, cc, labels, run, more, PATH_KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def networks(path: str, ask: Ask) -> list[tuple[str, str, dict[str, object]]]:
    """The recorded log if it is given, otherwise a log generated by LeoEM's rules.

    And the constellation.
    """
    packets = f"{LOGS[path][1]} packets"
    found: list[tuple[str, str, dict[str, object]]] = []
    log = log_of(path, ask.data)
    if log is not None:
        found.append(("recorded", RECORDED, {"source.path_log.file": str(log), "port.hop.queue": packets}))
    elif path == "SD-NY ISL" and ask.size.value == "quick":
        found.append(("recorded", RECORDED, {"port.hop.queue": packets}))
    else:
        sets: dict[str, object] = {"port.hop.queue": packets}
        if path.endswith("BP"):
            sets["source.constellation.isls"] = "none"
        found.append(("leoem-compat", COMPAT, sets))
    ends = [ENDS.get(e) for e in path.split(maxsplit=1)[0].split("-")]
    if path.endswith("ISL") and None not in ends and ask.size.value != "quick":
        found.append(("constellation", SKY, {"port.all.queue": packets}))
    return found


def one_cases(ask: Ask) -> list[Case]:
    """One flow for 300 s."""
    return _on_paths(ask, flows=1)


def two_cases(ask: Ask) -> list[Case]:
    """The second flow joins after a third of the run."""
    return _on_paths(ask, flows=2)
